"""The project that was asked for and the universal one: neither crowds out the other, the better one comes first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from memhop import HashEmbedder
from memhop.search.along import together
from memhop.search.confidence import Signs
from tests.support.memories import distract, memory

SURE, UNSURE = Signs(0.9, 0.0, 50, None), Signs(0.1, 0.5, 50, None)


class Scored(NamedTuple):
    """A hit as far as it matters here; ids from 100 on are of the universal project."""

    id: int
    score: float

    def scaled(self, factor: float) -> Self:
        return self._replace(score=self.score * factor)


def hits(count: int, first: int) -> list[Scored]:
    return [Scored(first + place, 1 / (1 + place)) for place in range(count)]


@pytest.mark.parametrize(
    ("limit", "own", "along", "expected"),
    [(10, 10, 10, (8, 2)), (10, 3, 10, (3, 7)), (10, 0, 10, (0, 10)), (10, 10, 1, (9, 1)), (10, 10, 0, (10, 0)),
     (3, 3, 3, (3, 0)), (3, 1, 3, (1, 2)), (4, 4, 4, (3, 1)), (1, 1, 1, (1, 0)), (1000, 400, 400, (400, 400))],
)  # fmt: skip
def test_places(limit: int, own: int, along: int, expected: tuple[int, int]) -> None:
    found = together(hits(own, 1), hits(along, 1001), (SURE, SURE), limit)
    assert (sum(hit.id < 1000 for hit in found), sum(hit.id > 1000 for hit in found)) == expected
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_what_is_surer_comes_first_and_the_other_one_is_set_back() -> None:
    own_first = together(hits(4, 1), hits(1, 101), (SURE, UNSURE), 8)
    assert [hit.id for hit in own_first] == [1, 2, 3, 4, 101]
    along_first = together(hits(4, 1), hits(1, 101), (UNSURE, SURE), 8)
    assert [hit.id for hit in along_first] == [101, 1, 2, 3, 4]
    assert along_first[0].score == 1.0
    assert along_first[1].score < 0.2


def test_a_small_project_is_not_surer_for_being_small() -> None:
    many, few = Signs(0.5, 0.0, 900, None), Signs(0.5, 0.0, 9, None)
    found = together(hits(1, 1), hits(1, 101), (many, few), 8)
    assert [(hit.id, hit.score) for hit in found] == [(1, 1.0), (101, 1.0)]


@pytest.mark.parametrize("model", [None, HashEmbedder(64)], ids=["words", "vectors"])
def test_in_a_memory(tmp_path: Path, model: HashEmbedder | None) -> None:
    """Scores in range, parts that add up, and `why_not` knows of the places."""
    with memory(tmp_path / "a.meh", embedder=model) as db:
        distract(db)
        db.remember_many([{"text": f"retry with a back-off, rule {n}", "project": "universal"} for n in range(30)])
        db.remember_many([{"text": f"the shop retries {n} times", "project": "web"} for n in range(30)])
        if model is not None:
            db.backfill()
        found = db.recall("how do we retry?", project="web", limit=8)
        assert sum(hit.universal for hit in found.hits) == 2
        for hit in found.hits:
            assert 0.0 < hit.score <= 1.0
            assert math.fsum(hit.parts.values()) == hit.score
        returned = {hit.id for hit in found.hits}
        for note in db.notes.list(project="universal", limit=100).items:
            told = db.why_not(note.id, "how do we retry?", project="web", limit=8)
            assert told.returned == (note.id in returned)
            assert told.returned or "universal project" in told.reason or "ranks" in told.reason
        assert "project" in db.why_not(note.id, "how do we retry?", project="web", universal=False).reason
