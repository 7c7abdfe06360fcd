"""What is measured about one ranking, and how it is averaged. Pure; values are in [0, 1].

One example through the whole module. The evidence of a question is {D1:3, D4:2}; a system ranks

    D1:4  D1:3  D2:9  D4:2  D4:1

recall@3 is 1/2 (D1:3 is there, D4:2 is not), all-evidence@3 is 0, and recall@4 and all-evidence@4
are 1. The first three distinct sessions in rank order are 1, 2, 4: session recall@2 is 1/2, session
hit@1 is 1.

Recall is never accuracy: it says that the turns were found, not that a question was answered.

A figure at a k that is a large part of the haystack says nothing (twenty sessions, "recall@10": a
random order scores a half). So every figure names its haystack, and `check_k` refuses a k of a
third of it or more.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

Metric = Callable[[Sequence[str], Collection[str], int], float]
"""(ranked ids best first, evidence ids, k) -> a share in [0, 1]."""


class KTooLarge(ValueError):
    """A cut-off so large that the figure would flatter any system. Carries `k` and `haystack`."""

    def __init__(self, k: int, haystack: int) -> None:
        super().__init__(f"k = {k} is a third or more of a haystack of {haystack}: not reported")
        self.k = k
        self.haystack = haystack


def check_k(k: int, haystack: int) -> None:
    """Refuse a cut-off that makes no point.

    Args:
        k: How many results are looked at, >= 1.
        haystack: How many things could have been returned; over several conversations, the
            smallest.

    Raises:
        ValueError: k < 1.
        KTooLarge: 3 k >= haystack.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if 3 * k >= haystack:
        raise KTooLarge(k, haystack)


def recall_at_k(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """The share of `evidence` among the first k of `ranked`. ValueError when there is no evidence.

    An id ranked twice counts once.
    """
    wanted = _wanted(evidence, k)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def all_evidence_at_k(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """1.0 when all `evidence` is among the first k, else 0.0. ValueError without evidence."""
    return float(_wanted(evidence, k).issubset(ranked[:k]))


def ndcg_at_k(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Discounted gain of the first k over the best possible one, discount 1 / log2(rank + 1).

    An id ranked twice gains 1 once, at its better rank. ValueError when there is no evidence.
    """
    wanted = _wanted(evidence, k)
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))
    gained = 0.0
    for rank, found in enumerate(ranked[:k], start=1):
        if found in wanted:
            wanted.discard(found)
            gained += 1 / math.log2(rank + 1)
    return gained / best


def session_hit_at_k(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """1.0 when any evidence session is among the first k distinct sessions, else 0.0.

    The easiest figure there is, printed by several vendors as "R@5". The haystack is the number of
    sessions. ValueError without evidence.
    """
    wanted = {session_of(dia_id) for dia_id in _wanted(evidence, k)}
    return float(not wanted.isdisjoint(_first_sessions(ranked, k)))


def session_of(dia_id: str) -> int:
    """The session of a turn id: 3 for "D3:7". ValueError for anything else."""
    session, separator, turn = dia_id.removeprefix("D").partition(":")
    if not (dia_id.startswith("D") and separator and session.isdecimal() and turn.isdecimal()):
        raise ValueError(f"not a turn id: {dia_id!r}")
    return int(session)


def is_before(ranked: Sequence[str], wanted: str, others: Collection[str]) -> bool:
    """Whether `wanted` is ranked, and before every one of `others` that is. ValueError when it is among `others`."""
    if wanted in others:
        raise ValueError(f"{wanted!r} cannot be before itself")
    return next((found for found in ranked if found == wanted or found in others), None) == wanted


def covered_at_k(
    ranked: Sequence[str], sources: Mapping[str, Collection[str]], evidence: Collection[str], k: int
) -> float:
    """The share of `evidence` that the first k of `ranked` come from. ValueError without evidence.

    Args:
        ranked: Ids of things made from others, such as observations made from turns.
        sources: What each of them was made from. An id that is not there comes from nothing.
        evidence: Ids of the same kind as in the values of `sources`.
    """
    wanted = _wanted(evidence, k)
    covered = {source for found in ranked[:k] for source in sources.get(found, ())}
    return len(wanted & covered) / len(wanted)


def mean(values: Sequence[float]) -> float:
    """Plain mean over questions, every question alike. ValueError when there are none."""
    if not values:
        raise ValueError("no questions, so no mean")
    return math.fsum(values) / len(values)


def bootstrap_interval(
    values: Sequence[float],
    *,
    seed: int,
    rounds: int = 2000,
    level: float = 0.95,
) -> tuple[float, float]:
    """A percentile interval for the mean, questions resampled with replacement.

    Questions of one conversation are not independent, so the true uncertainty is wider than this.

    Args:
        values: One value per question, not empty.
        seed: >= 0; the same seed and values give the same interval.
        rounds: Resamples, >= 1.
        level: Share of resampled means inside, in (0, 1).

    Returns:
        (low, high), low <= high.

    Raises:
        ValueError: no values, rounds < 1, or level outside (0, 1).

    Cost: rounds * len(values) random draws, one round in memory at a time.
    """
    if not values:
        raise ValueError("no questions, so no interval")
    if rounds < 1 or not 0 < level < 1:
        raise ValueError(f"rounds {rounds} must be >= 1 and level {level} inside (0, 1)")
    sample = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(seed)
    size = len(sample)
    means = np.array([sample[rng.integers(0, size, size)].mean() for _ in range(rounds)])
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _wanted(evidence: Collection[str], k: int) -> set[str]:
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if not evidence:
        raise ValueError("a question without evidence cannot be scored")
    return set(evidence)


def _first_sessions(ranked: Iterable[str], k: int) -> list[int]:
    return list(dict.fromkeys(session_of(dia_id) for dia_id in ranked))[:k]
