"""The metrics, on rankings small enough to score by hand."""

import math
import random

import pytest

from benches.metrics import (
    KTooLarge,
    Metric,
    all_evidence_at_k,
    bootstrap_interval,
    check_k,
    mean,
    ndcg_at_k,
    recall_at_k,
    session_hit_at_k,
    session_of,
)

RANKED = ["D1:4", "D1:3", "D2:9", "D4:2", "D4:1"]
EVIDENCE = ("D1:3", "D4:2")
METRICS = (recall_at_k, all_evidence_at_k, ndcg_at_k, session_hit_at_k)


def test_recall_is_the_share_of_evidence_found() -> None:
    assert [recall_at_k(RANKED, EVIDENCE, k) for k in (1, 2, 3, 4, 9)] == [0, 0.5, 0.5, 1, 1]


def test_all_evidence_wants_every_piece() -> None:
    assert [all_evidence_at_k(RANKED, EVIDENCE, k) for k in (1, 2, 3, 4, 9)] == [0, 0, 0, 1, 1]


def test_ndcg_discounts_by_rank_against_the_best_possible() -> None:
    gained = 1 / math.log2(3) + 1 / math.log2(5)
    best = 1 + 1 / math.log2(3)
    assert ndcg_at_k(RANKED, EVIDENCE, 5) == pytest.approx(gained / best)
    assert ndcg_at_k(RANKED, EVIDENCE, 1) == 0
    assert ndcg_at_k(["D1:3", "D4:2"], EVIDENCE, 2) == pytest.approx(1)
    assert ndcg_at_k(["D1:3"], EVIDENCE, 1) == 1, "at k = 1 one hit is all there can be"


def test_an_id_ranked_twice_counts_once() -> None:
    doubled = ["D1:3", "D1:3", "D1:3"]
    assert recall_at_k(doubled, EVIDENCE, 3) == 0.5
    assert all_evidence_at_k(doubled, EVIDENCE, 3) == 0
    assert ndcg_at_k(doubled, EVIDENCE, 3) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_sessions_count_once_in_rank_order() -> None:
    assert [session_hit_at_k(RANKED, ("D4:7",), k) for k in (1, 2, 3)] == [0, 0, 1]
    assert session_hit_at_k(RANKED, EVIDENCE, 1) == 1


@pytest.mark.parametrize("metric", METRICS)
def test_no_evidence_and_no_k_are_refused(metric: Metric) -> None:
    with pytest.raises(ValueError, match="without evidence"):
        metric(RANKED, (), 5)
    with pytest.raises(ValueError, match="at least 1"):
        metric(RANKED, EVIDENCE, 0)


@pytest.mark.parametrize("metric", METRICS)
def test_an_empty_ranking_scores_nothing(metric: Metric) -> None:
    assert metric([], EVIDENCE, 5) == 0


def test_every_metric_grows_with_k_except_ndcg_and_stays_in_0_to_1() -> None:
    rng = random.Random(7)
    ids = [f"D{session}:{turn}" for session in range(1, 9) for turn in range(1, 9)]
    for _ in range(50):
        ranked = rng.sample(ids, k=40)
        evidence = rng.sample(ids, k=rng.randint(1, 5))
        for metric in METRICS:
            values = [metric(ranked, evidence, k) for k in range(1, 41)]
            assert all(0 <= value <= 1 + 1e-12 for value in values)
            if metric is not ndcg_at_k:
                assert values == sorted(values)


@pytest.mark.parametrize(("k", "haystack"), [(1, 3), (10, 30), (10, 19), (5, 1)])
def test_k_of_a_third_of_the_haystack_is_refused(k: int, haystack: int) -> None:
    with pytest.raises(KTooLarge, match=f"haystack of {haystack}") as refusal:
        check_k(k, haystack)
    assert (refusal.value.k, refusal.value.haystack) == (k, haystack)


def test_a_smaller_k_is_accepted() -> None:
    check_k(1, 4)
    check_k(20, 369)
    with pytest.raises(ValueError, match="at least 1"):
        check_k(0, 100)


def test_session_of_reads_the_number_and_refuses_other_ids() -> None:
    assert session_of("D12:3") == 12
    for other in ("12:3", "D12", "D:3", "D12:", "Dx:1", ""):
        with pytest.raises(ValueError, match="not a turn id"):
            session_of(other)


def test_mean_of_nothing_is_refused() -> None:
    assert mean([0, 0.5, 1]) == 0.5
    with pytest.raises(ValueError, match="no questions"):
        mean([])


def test_the_interval_is_repeatable_and_holds_the_mean() -> None:
    rng = random.Random(3)
    values = [float(rng.random() < 0.7) for _ in range(400)]
    low, high = bootstrap_interval(values, seed=11)
    assert (low, high) == bootstrap_interval(values, seed=11)
    assert (low, high) != bootstrap_interval(values, seed=12)
    assert low < mean(values) < high
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.21 / 400), rel=0.15)


def test_a_wider_level_gives_a_wider_interval() -> None:
    values = [0.0, 1.0] * 50
    narrow = bootstrap_interval(values, seed=1, level=0.5)
    wide = bootstrap_interval(values, seed=1, level=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_values_all_alike_have_no_width() -> None:
    assert bootstrap_interval([0.5] * 10, seed=0) == (0.5, 0.5)


def test_senseless_intervals_are_refused() -> None:
    with pytest.raises(ValueError, match="no questions"):
        bootstrap_interval([], seed=0)
    for rounds, level in ((0, 0.95), (10, 0.0), (10, 1.0)):
        with pytest.raises(ValueError, match="must be"):
            bootstrap_interval([1.0], seed=0, rounds=rounds, level=level)
