"""Hits of several layers in one list: what answers stands first, whatever layer it is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop import DB, HashEmbedder
from tests.support.memories import MINUTE, NOW, memory

NOTES = [
    "the staging database moved to db-7.internal:5433",
    "OrderSyncWorker runs twice when the lease expires",
    "Mara is allergic to walnuts",
    "the invoice template lives in billing/templates/invoice.html",
]
TURNS = [
    "we had lunch at the harbour, it was windy",
    "do not run for two weeks, said the doctor",
    "the café near the station closes at six",
    "bring the second key when you come",
]


@pytest.fixture(params=["words", "vectors"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> DB:
    embedder = HashEmbedder() if request.param == "vectors" else None
    opened = memory(tmp_path / "a.meh", embedder=embedder)
    opened.remember_many(NOTES)
    opened.archive.append_many({"text": text, "session": "s", "at": NOW + at * MINUTE} for at, text in enumerate(TURNS))
    if embedder is not None:
        assert opened.backfill().remaining == 0
    return opened


@pytest.mark.parametrize("text", [*NOTES, *TURNS])
def test_an_exact_match_stands_before_what_has_nothing_to_do_with_it(db: DB, text: str) -> None:
    """A layer's best had the score 1 whatever it was: an unrelated turn stood beside, and often before, the note."""
    with db:
        hits = db.recall(text).hits
        assert hits[0].text == text
        assert hits[0].score == pytest.approx(1.0)
        for hit in hits[1:]:
            if (hit.text in NOTES) != (text in NOTES):
                assert hit.score < 0.9
