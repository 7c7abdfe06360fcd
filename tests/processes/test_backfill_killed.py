"""Filling a memory with vectors, killed in the middle: what was committed stays, and the rest is embedded again."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memhop import DB
from memhop.api import backfill
from tests.support.embedders import Scripted
from tests.support.processes import Starter

NOTES = [f"note number {number}" for number in range(40)]
BATCH = 4
BEFORE = 5  # batches that are committed


def fill(link: Connection, path: Path) -> None:
    """Fills in batches of BATCH; says so when one more is about to be, and goes no further."""
    backfill.BATCH_UNITS = BATCH
    calls = 0

    def stopping(texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        nonlocal calls
        calls += 1
        if calls > BEFORE:
            link.send("here")
            link.recv()
        return rows

    with DB.open(path, embedder=Scripted(stopping, max_batch=BATCH), mode="shared") as db:
        db.backfill()


def test_the_rest_is_embedded_and_nothing_twice(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    embedder = Scripted(max_batch=BATCH)
    with DB.open(path, embedder=embedder, mode="shared") as db:
        db.remember_many(NOTES)
        worker = start(fill, path)
        assert worker.hear() == "here"
        assert db.pending().without_vector == len(NOTES) - BEFORE * BATCH, "seen from another handle"
        worker.kill()
        db.remember("one more")
        report = db.backfill()
        assert (report.embedded, report.remaining) == (len(NOTES) - BEFORE * BATCH + 1, 0)
        done = [text for call in embedder.calls for text in call]
        assert sorted(done) == sorted([*NOTES[BEFORE * BATCH :], "one more"])
        assert db.verify(deep=True).ok
