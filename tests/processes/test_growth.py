"""Processes that have the file mapped while others make it grow. Killed readers: tests/pain/test_durability.py."""

from __future__ import annotations

import random
import time
from multiprocessing.connection import Connection
from pathlib import Path

from memhop import DB, HashEmbedder
from tests.support.memories import every
from tests.support.processes import HANG_S, Starter
from tests.support.seeds import NIGHTLY


def read_mapped(link: Connection, path: Path, mode: str) -> None:
    """Hold views of the map for long, and read through it. Sends how often the map was renewed."""
    maps = 0
    seen = 0
    with DB.open(path, mode=mode, embedder=HashEmbedder(32), wait=HANG_S) as db:
        held: list[tuple[memoryview, bytes]] = []
        link.send("ready")
        while not link.poll(0):
            hits = db.recall("growing kayaks", limit=1000).hits
            assert len(hits) >= min(seen, 1000)
            seen = len(hits)
            file = db._file
            with file.lock:
                view = file.buffer(8192, file.published_end - 8192)
            held.append((view, bytes(view[-64:])))
            for old, tail in held[-20:]:
                assert old[-64:] == tail, "published bytes changed under a map"
            maps += len(held) < 2 or len(held[-1][0]) != len(held[-2][0])
            del held[:-20]
            time.sleep(0.005)
    link.send(maps)


def grow(link: Connection, path: Path, name: str, seed: int) -> None:
    rng = random.Random(seed)
    with DB.open(path, mode="shared", embedder=HashEmbedder(32), wait=HANG_S, durability="none") as db:
        link.send("ready")
        number = 0
        while not link.poll(0):
            number += 1
            db.remember(f"{name} {number} growing kayaks " + "".join(rng.choices("abcdef ", k=rng.randrange(20_000))))
            if number % 9 == 0:
                db.checkpoint()
            if number % 25 == 0:
                db.backfill(0.05)
        link.send(number)


def test_two_writers_make_it_grow_under_the_maps_of_two_readers(tmp_path: Path, start: Starter) -> None:
    """Over several steps of reserved space, with checkpoints and vectors: maps are renewed, bytes seen never change."""
    path = tmp_path / "a.meh"
    DB.open(path).close()
    writers = [start(grow, path, name, number) for number, name in enumerate(["Ann", "Bob"])]
    readers = [start(read_mapped, path, mode) for mode in ("read", "shared")]
    everyone = [*writers, *readers]
    for worker in everyone:
        assert worker.hear() == "ready"
    deadline = time.monotonic() + (20 if NIGHTLY else 4)
    while time.monotonic() < deadline and not any(worker.has_said() for worker in everyone):
        time.sleep(0.02)
    for worker in everyone:
        worker.tell("end")
    written = [writer.finish()[0] for writer in writers]
    maps = [reader.finish()[0] for reader in readers]
    assert min(maps) > 3
    with DB.open(path) as db:
        assert db.recovery.clean
        assert len(every(db.notes.list)) == sum(written)
        assert db.verify(deep=True).ok
        assert path.stat().st_size > 300_000
