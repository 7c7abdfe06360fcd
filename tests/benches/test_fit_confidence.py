"""The fit of confidence: logistic regression finds what made the data, AUROC is what its name says."""

from __future__ import annotations

import numpy as np
import pytest

from benches.fit_confidence import KINDS, Row, auroc, figures, fit, left_out, logistic, without
from memhop.search.confidence import Signs


def test_the_fit_finds_the_coefficients_that_made_the_data() -> None:
    chance = np.random.default_rng(3)
    table = np.column_stack([np.ones(20_000), chance.random(20_000), chance.random(20_000)])
    known = chance.random(20_000) < logistic(table @ np.array([-1.0, 4.0, -2.0]))
    assert fit(table, known, np.ones(20_000)) == pytest.approx([-1.0, 4.0, -2.0], abs=0.15)


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    said = np.array([0.9, 0.5, 0.5, 0.1])
    known = np.array([True, True, False, False])
    assert auroc(said, known) == pytest.approx((1 + 1 + 1 + 0.5) / 4)


def test_nothing_of_a_conversation_is_in_the_fit_it_is_judged_by() -> None:
    """What is said for a conversation stays the same, whatever is known of the rows it is memory or source of."""
    chance = np.random.default_rng(5)
    rows = [
        Row("talk", True, bool(chance.random() < 0.5), memory, source, Signs(chance.random(), 0.0, 10, None))
        for memory in "abc"
        for source in "abc"
        for _ in range(20)
    ]
    turned = [row._replace(known=not row.known) if "a" in (row.memory, row.source) else row for row in rows]
    mine = np.array([row.memory == "a" for row in rows])
    weights = np.ones(len(rows))
    assert np.array_equal(left_out(rows, weights)[mine], left_out(turned, weights)[mine])
    assert not np.array_equal(left_out(rows, weights)[~mine], left_out(turned, weights)[~mine])


def test_the_figures_are_of_each_kind_of_memory() -> None:
    """Known and unknown are told apart without fail in whole conversations, and not at all elsewhere."""
    chance = np.random.default_rng(7)
    rows = [
        Row(kind, named, known, memory, memory, Signs(float(known) if kind == "talk" else 0.5, 0.0, 10, None))
        for kind in KINDS
        for named in (True, False)
        for memory in "abc"
        for known in chance.random(20) < 0.5
    ]
    found = figures(rows)
    assert found["auroc"] == 1.0
    by_memory = found["by_memory"]
    assert isinstance(by_memory, dict)
    assert list(by_memory) == list(KINDS)
    assert by_memory["talk"] == {"with names": 1.0, "without names": 1.0}
    assert by_memory["few"] == pytest.approx({"with names": 0.5, "without names": 0.5}, abs=0.1)


def test_names_are_taken_out_with_what_hangs_on_them() -> None:
    assert without({"Ann", "Ben"}, "What did Ann's dog do to Ben’s Anna?") == "What did  dog do to  Anna?"
