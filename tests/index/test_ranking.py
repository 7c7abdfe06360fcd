"""The best k, with one order for ties; and arrays that grow."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.index.growable import GrowableArray
from memhop.index.parts import ranges
from memhop.index.ranking import top_k


@given(st.lists(st.integers(-2, 3)), st.integers(-1, 8))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_top_k_is_a_sort(scores: list[int], k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda position: (-scores[position], position))[: max(k, 0)]
    assert top_k(np.array(scores, np.float64), k).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4))))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_ranges_are_ranges(rows: list[tuple[int, int]]) -> None:
    starts, lengths = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.int64)
    expected = [position for start, length in rows for position in range(start, start + length)]
    assert ranges(starts, lengths).tolist() == expected


def test_an_array_grows_by_appending_and_by_size() -> None:
    growing = GrowableArray("i8", [np.array([1, 2]), np.array([3])])
    for value in range(200):
        growing.append(value)
    growing.extend_to(205)
    growing.extend_to(10)
    assert growing.view.tolist() == [1, 2, 3, *range(200), 0, 0]
