"""Fusion is arithmetic: parts add up, equal evidence is equal, the unit in which a channel counts does not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memhop.search import fusion

Scores = NDArray[np.float64]
VALUES = st.floats(0, 1e6, allow_nan=False).map(lambda value: value if value > 1e-3 else 0.0)


@st.composite
def channels(
    draw: st.DrawFn,
) -> tuple[dict[str, tuple[float, Scores]], dict[str, Scores], dict[str, tuple[float, Scores]]]:
    size = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))

    def scores() -> Scores:
        values = rng.random(size) * draw(st.sampled_from([1e-3, 1.0, 1e4]))
        values[rng.random(size) < draw(st.sampled_from([0.0, 0.5, 0.95, 1.0]))] = 0.0
        return np.round(values, draw(st.sampled_from([1, 6])))

    found = {name: (draw(st.sampled_from([0.25, 1.0, 2.0])), scores()) for name in ("lexical", "pooled")}
    return found, {"recency": scores() / 1e4}, {"session": (0.5, scores())}


@pytest.mark.parametrize("method", [fusion.zscore, fusion.rrf])
@settings(max_examples=60, derandomize=True, deadline=None)
@given(given_=channels())
def test_parts_add_up_and_are_not_negative(method: Any, given_: Any) -> None:
    evidence, priors, side = given_
    fused = method(evidence, priors, side)
    assert np.allclose(sum(fused.parts.values()), fused.total, rtol=1e-9, atol=1e-12)
    assert all((part >= 0).all() for part in fused.parts.values())
    assert np.isfinite(fused.total).all()
    spoken = np.any([scores > 0 for _, scores in evidence.values()], axis=0)
    assert (fused.evidence == spoken).all(), "side channels and priors alone are no evidence"


@pytest.mark.parametrize("method", [fusion.zscore, fusion.rrf])
@settings(max_examples=60, derandomize=True, deadline=None)
@given(given_=channels(), factor=st.sampled_from([1e-2, 0.5, 3.0, 1e5]))
def test_the_unit_of_a_channel_does_not_matter(method: Any, given_: Any, factor: float) -> None:
    evidence, priors, side = given_
    scaled = {**evidence, "lexical": (evidence["lexical"][0], evidence["lexical"][1] * factor)}
    if 0 < evidence["lexical"][1].std() * min(1.0, factor) < 1e-6:
        return  # a channel as flat as this counts as flat
    one, two = method(evidence, priors, side), method(scaled, priors, side)
    assert np.allclose(one.total, two.total, rtol=1e-6)
    assert (one.evidence == two.evidence).all()


@settings(max_examples=60, derandomize=True, deadline=None)
@given(given_=channels(), seed=st.integers(0, 1000))
def test_the_order_of_units_does_not_matter(given_: Any, seed: int) -> None:
    evidence, priors, side = given_
    order = np.random.default_rng(seed).permutation(len(priors["recency"]))
    for method in (fusion.zscore, fusion.rrf):
        straight = method(evidence, priors, side).total
        shuffled = method(
            {name: (weight, scores[order]) for name, (weight, scores) in evidence.items()},
            {name: value[order] for name, value in priors.items()},
            {name: (weight, scores[order]) for name, (weight, scores) in side.items()},
        ).total
        assert np.allclose(straight[order], shuffled, rtol=1e-9)


def test_ranks_are_shared_by_equals() -> None:
    assert fusion.ranks(np.array([0.5, 2.0, 0.5, 3.0, 0.0])).tolist() == [3, 2, 3, 1, 5]
    assert fusion.ranks(np.zeros(3)).tolist() == [1, 1, 1]
    assert fusion.ranks(np.zeros(0)).tolist() == []


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.lists(VALUES, max_size=50))
def test_ranks_count_what_is_better(values: list[float]) -> None:
    assert fusion.ranks(np.array(values)).tolist() == [1 + sum(other > value for other in values) for value in values]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([], 1.0), ([0.0, 0.0], 1.0), ([3.0], 3.0), ([2.0, 2.0], 2.0), ([0.0, 2.0], 1.0), ([1e-12], 1.0)],
)
def test_spread(scores: list[float], expected: float) -> None:
    assert fusion.spread_of(np.array(scores)) == expected


def test_spread_looks_at_the_best_only() -> None:
    """Else the thousands of units that have nothing to do with a question would decide what a match is worth."""
    best = np.linspace(1, 2, 200)
    assert fusion.spread_of(np.concatenate([np.zeros(10_000), best])) == pytest.approx(float(best.std()))


def test_merging_layers() -> None:
    ids = np.array([9, 8, 7, 6, 5, 4], dtype=np.uint64)
    merged = fusion.merge({4: (1.0, [0, 1, 2]), 5: (1.0, [3, 4]), 2: (0.5, [5])}, ids)
    assert [placed.item for placed in merged] == [3, 0, 4, 1, 2, 5], "equal scores by id"
    assert [placed.score for placed in merged[:2]] == [1.0, 1.0]
    assert merged[-1].score == 0.5
    assert [placed.place for placed in merged] == [1, 1, 2, 2, 3, 1]
    assert fusion.merge({}, ids) == []


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=3, max_size=3), st.integers(0, 99))
def test_merged_scores_fall_and_stay_in_range(sizes: list[int], seed: int) -> None:
    ids = np.random.default_rng(seed).permutation(200).astype(np.uint64)
    start = np.cumsum([0, *sizes])
    lists = {layer: (1.0 / (layer + 1), list(range(start[layer], start[layer + 1]))) for layer in range(3)}
    lists = {layer: entry for layer, entry in lists.items() if entry[1]}
    merged = fusion.merge(lists, ids)
    assert sorted(placed.item for placed in merged) == list(range(sum(sizes)))
    assert all(0 < placed.score <= 1 for placed in merged)
    assert merged == sorted(merged, key=lambda placed: (-placed.score, int(ids[placed.item])))
    if merged:
        assert merged[0].score == 1.0


def test_a_layer_stands_as_high_as_its_best_evidence() -> None:
    everywhere = {"lexical": np.array([4.0, 1.0]), "pooled": np.array([1.0, 2.0]), "late": np.zeros(2)}
    strong = {"lexical": (1.0, np.array([4.0])), "pooled": (1.0, np.array([1.0])), "late": (0.5, np.zeros(1))}
    weak = {"lexical": (1.0, np.array([1.0])), "pooled": (1.0, np.array([2.0])), "late": (0.5, np.zeros(1))}
    assert fusion.standing(strong, everywhere) == pytest.approx((1.0 + 0.5) / 2)
    assert fusion.standing(weak, everywhere) == pytest.approx((0.25 + 1.0) / 2)
    only_in_time = {"lexical": (1.0, np.zeros(1))}
    assert fusion.standing(only_in_time, {"lexical": np.zeros(2)}) == 1.0
    assert fusion.standing({"lexical": (1.0, np.zeros(0))}, {"lexical": np.array([3.0])}) == 0.0
