"""A column reads as what was packed, and a sorted one is searched in any shape."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common.errors import StorageError
from memhop.index.columns import Column, packed

LOW, HIGH = -(2**63), 2**63 - 1
_near = st.integers(-300, 300).map(lambda value: 1_700_000_000_000 + 1000 * value)
values = st.lists(st.integers(LOW, HIGH)) | st.lists(_near) | st.lists(st.sampled_from([LOW, 0, 7, HIGH]), max_size=80)


@given(values, st.sampled_from(["i8", "u8"]))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_a_column_reads_as_what_was_packed(numbers: list[int], dtype: str) -> None:
    if dtype == "u8":
        numbers = [number % 2**64 for number in numbers]
    array = np.array(sorted(numbers), dtype)
    sections = packed("x", array)
    assert all(len(section) for section in sections.values())
    assert sum(section.nbytes for section in sections.values()) <= array.nbytes
    column = Column(sections, "x", dtype, len(numbers))
    assert column.array().tolist() == array.tolist()
    assert column.array().dtype == array.dtype
    assert column.slice(0, len(numbers)) == array.tolist()
    for wanted in {*numbers, *(number + 1 for number in numbers), LOW, 0, HIGH}:
        assert column.bisect(wanted, 0, len(numbers)) == bisect_left(array.tolist(), wanted)


def test_each_shape_is_taken_where_it_is_smallest() -> None:
    shapes = {
        "constant": np.full(1000, 5, np.uint64),
        "palette": np.array([2**60 + 1, 7] * 500, np.uint64),
        "range": np.arange(1000, dtype=np.int64) * 60_000,
        "plain": np.arange(1000, dtype=np.uint64) * np.uint64(2**54 - 1),
    }
    sizes = {name: sum(section.nbytes for section in packed("x", array).values()) for name, array in shapes.items()}
    assert sizes == {"constant": 8, "palette": 1016, "range": 2016, "plain": 8000}


@pytest.mark.parametrize(
    "sections",
    [
        {"x": np.array([0, 2], np.uint8), "x.values": np.array([3, 4])},
        {"x": np.array([0, 1], np.uint8), "x.values": np.array([4, 3])},
        {"x": np.array([0, 1], np.uint8), "x.values": np.array([3, 4]), "x.range": np.array([0, 1])},
        {"x": np.array([0, 1], np.uint8), "x.range": np.array([0, 0])},
        {"x": np.array([0, 9], np.uint8), "x.range": np.array([HIGH - 5, 1])},
        {"x": np.array([0], np.uint8), "x.range": np.array([0, 1])},
        {"x": np.array([0, 1], np.uint8)},
        {},
    ],
)
def test_sections_that_do_not_fit_are_refused(sections: dict[str, Any]) -> None:
    with pytest.raises(StorageError):
        Column(sections, "x", "i8", 2)
