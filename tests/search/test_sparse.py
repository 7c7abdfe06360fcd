"""Sums per unit: what is taken out is what was put in, and nothing of it stays behind."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.search.sparse import NOTHING, Scores, Workspace

addition = st.dictionaries(st.integers(0, 30), st.integers(1, 9), max_size=8)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(rounds=st.lists(st.tuples(st.integers(31, 60), st.lists(addition, max_size=4)), max_size=4))
def test_a_workspace_serves_one_question_after_the_other(rounds: list[tuple[int, list[dict[int, int]]]]) -> None:
    workspace = Workspace()
    for size, additions in rounds:  # sizes rise and fall, as when another file's units are asked
        sums = workspace.sums("words", size)
        expected: dict[int, float] = {}
        for one in additions:
            sums.add(np.array(list(one), np.int64), np.array(list(one.values()), np.float64))
            for doc, value in one.items():
                expected[doc] = expected.get(doc, 0.0) + value
        assert sums.count == len(expected)
        found = sums.take()
        assert found.docs.tolist() == sorted(expected)
        assert found.values.tolist() == [expected[doc] for doc in sorted(expected)]
        assert not workspace.array("words", size).any()
        assert sums.take().docs.tolist() == []


def test_scores_of_units_that_have_none_are_zero() -> None:
    scores = Scores(np.array([2, 5, 9]), np.array([1.0, 2.0, 3.0]))
    assert scores.at(np.array([0, 2, 3, 9, 10])).tolist() == [0.0, 1.0, 0.0, 3.0, 0.0]
    assert NOTHING.at(np.array([0, 7])).tolist() == [0.0, 0.0]
    assert scores.among(np.arange(10) > 4).docs.tolist() == [5, 9]
