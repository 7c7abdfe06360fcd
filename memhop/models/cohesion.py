"""Which neighbouring blocks of a conversation speak of the same thing.

Blocks are leaves in time order; only neighbours are joined, the most alike first (agglomeration under a constraint
of order: Grimm, "CONISS", 1987; with average linkage, so that a long run is not held together by its ends). So a
group is a run of blocks, and what was said between is in it.

Likeness of two runs is the larger of two figures, each divided by the bound at which it is taken to mean the same
subject, so that 1 joins:

    lexical   mean over pairs of blocks of the cosine of their terms, weighted ln(1 + n / df) by how few of the n blocks
              given have them. The 1 keeps the subject of the whole scene, which all of them name, from counting
              for nothing. Function words are left out.
    vectors   mean cosine c of their vectors, where all have one, as (c - m) / (1 - m) with the mean m over all pairs of
              blocks: models differ in how near unrelated texts are to each other, m is where they are in this scene.

The bounds are what one pair in thirty of unrelated blocks (taken from different conversations, two turns each) reaches:
0.10 lexical; 0.21 with static vectors, 0.25 with MiniLM. Of true neighbours half reach it by meaning, and 45 in a
hundred by words.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from memhop.models.material import Block
from memhop.models.stop_words import STOP_WORDS
from memhop.models.words import content, is_han, normal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEXICAL_BOUND: Final = 0.10
VECTOR_BOUND: Final = 0.25
MOST_BLOCKS: Final = 8  # of a run
LONGEST_GAP_MS: Final = 6 * 3_600_000  # between two blocks of a run


class Run:
    """Neighbouring blocks `start` to `end` (exclusive), and the sums of what describes them."""

    __slots__ = ("end", "first_at", "last_at", "start", "terms", "vector")

    def __init__(self, place: int, block: Block, terms: dict[str, float]) -> None:
        self.start, self.end = place, place + 1
        times = [said.at for said in block.turns]
        self.first_at, self.last_at = (times[0], times[-1]) if times else (0, 0)
        self.terms = terms
        self.vector: NDArray[np.float32] | None = block.vector

    def __len__(self) -> int:
        return self.end - self.start

    def join(self, after: Run) -> None:
        """Take in the run that follows."""
        self.end, self.last_at = after.end, after.last_at
        for term, weight in after.terms.items():
            self.terms[term] = self.terms.get(term, 0.0) + weight
        joinable = self.vector is not None and after.vector is not None
        self.vector = self.vector + after.vector if joinable else None  # type: ignore[operator]


def weights(blocks: Sequence[Block]) -> tuple[list[list[str]], dict[str, float]]:
    """The telling terms of each block in a fixed order, and what each term weighs among them."""
    telling = [sorted(term for term in _terms(block) if len(term) > 1 and term not in _stops()) for block in blocks]
    counts = Counter(term for terms in telling for term in terms)
    return telling, {term: math.log(1.0 + len(blocks) / count) for term, count in counts.items()}


def runs(blocks: Sequence[Block], telling: Sequence[Sequence[str]], weight: Mapping[str, float]) -> list[range]:
    """The runs of 2..8 neighbouring blocks that speak of the same thing, in order; blocks in none stay alone.

    Args:
        blocks: Of one scene, in time order.
        telling, weight: As `weights` gives them.

    Cost: O(n log n) likenesses, each linear in the terms of a run.
    """
    parts = [
        Run(place, block, _unit(terms, weight))
        for place, (block, terms) in enumerate(zip(blocks, telling, strict=True))
    ]
    mean = _mean_cosine(blocks)
    after = {part.start: other.start for part, other in pairwise(parts)}
    before = {there: here for here, there in after.items()}
    alive = {part.start: part for part in parts}

    queue: list[tuple[float, int, int, int]] = []

    def offer(left: int) -> None:
        if left in after:
            one, two = alive[left], alive[after[left]]
            likeness = _likeness(one, two, mean)
            if likeness >= 1.0:
                heapq.heappush(queue, (-likeness, left, one.end, two.end))

    for start in alive:
        offer(start)
    while queue:
        _, left, end, far_end = heapq.heappop(queue)
        one = alive.get(left)
        if one is None or one.end != end or left not in after or alive[after[left]].end != far_end:
            continue  # one of the two has grown since
        gone = after.pop(left)
        one.join(alive.pop(gone))
        before.pop(gone)
        if gone in after:
            after[left] = after.pop(gone)
            before[after[left]] = left
        offer(left)
        if left in before:
            offer(before[left])
    return [range(part.start, part.end) for part in alive.values() if len(part) > 1]


def _likeness(one: Run, two: Run, mean: float) -> float:
    if len(one) + len(two) > MOST_BLOCKS or two.first_at - one.last_at > LONGEST_GAP_MS:
        return 0.0
    pairs = len(one) * len(two)
    few, many = sorted((one.terms, two.terms), key=len)
    likeness = sum(weight * many[term] for term, weight in few.items() if term in many) / pairs / LEXICAL_BOUND
    if one.vector is not None and two.vector is not None and mean < 1.0:
        cosine = float(one.vector @ two.vector) / pairs
        likeness = max(likeness, (cosine - mean) / (1.0 - mean) / VECTOR_BOUND)
    return likeness


def _mean_cosine(blocks: Sequence[Block]) -> float:
    """Over all pairs of blocks with a vector, by the length of their sum: linear."""
    vectors = [block.vector for block in blocks if block.vector is not None]
    if len(vectors) < 2:
        return 1.0
    total = sum(vectors[1:], vectors[0])
    n = len(vectors)
    return (float(total @ total) - n) / (n * (n - 1))


def _unit(terms: Sequence[str], weight: Mapping[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(weight[term] ** 2 for term in terms))
    return {term: weight[term] / length for term in terms}


def _terms(block: Block) -> Set[str]:
    # The terms of Han text hold all pairs of characters beside the words, most of which two texts never share.
    if block.terms and not any(map(is_han, block.terms)):
        return block.terms
    return {term for said in block.turns for term in content(said.text)}


_stopped: frozenset[str] | None = None


def _stops() -> frozenset[str]:
    """Stop words as terms of the index: stemmed."""
    global _stopped
    if _stopped is None:
        _stopped = STOP_WORDS | {normal(word) for word in STOP_WORDS}
    return _stopped
