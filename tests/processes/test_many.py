"""Many processes on one file: every write is accounted for, commits have no gap, readers see whole calls.

The long mix takes a minute with MEMHOP_NIGHTLY=1, and a fifth of that otherwise.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB
from tests.support.memories import every
from tests.support.processes import HANG_S, Starter
from tests.support.seeds import NIGHTLY, replayable, seeds

MIX_S = 60.0 if NIGHTLY else 12.0


def remember_all(link: Connection, path: Path, name: str, count: int) -> None:
    """Sends the numbers of its commits."""
    rng = random.Random(name)
    with DB.open(path, mode="shared", wait=HANG_S) as db:
        link.send("ready")
        link.recv()
        commits = []
        for number in range(count):
            note = db.remember(f"{name} wrote {number} about {rng.choice(['kayaks', 'walnuts', 'lanterns'])}")
            commits.append(db._file.commit_number)
            assert note.created
            if number % 10 == 0:
                assert note.id in [hit.id for hit in db.recall(f"{name} wrote {number}", limit=50).hits]
    link.send(commits)


def test_three_processes_remember_five_hundred_each(tmp_path: Path, start: Starter) -> None:
    """Durability "full", no caller retries, and the order of commits is defined: numbers from 1 without a gap."""
    path = tmp_path / "a.meh"
    names = ["Ann", "Bob", "Cid"]
    writers = [start(remember_all, path, name, 500) for name in names]
    for writer in writers:
        assert writer.hear() == "ready"
    for writer in writers:
        writer.tell("begin")
    commits = [writer.finish()[-1] for writer in writers]
    assert all(mine == sorted(mine) for mine in commits)
    assert sorted(number for mine in commits for number in mine) == list(range(1, 1501))
    with DB.open(path) as db:
        assert db.recovery.clean
        counts = Counter(note.text.split()[0] for note in every(db.notes.list))
        assert counts == dict.fromkeys(names, 500)
        assert db.stats().commit == 1500, "one commit each"
        assert db.verify(deep=True).ok
        assert db.verify().commits == 1500, "the chain has every number"


def write_in_mix(link: Connection, path: Path, name: str, seed: int) -> None:
    """Whole calls only. Sends what must be there at the end, and the numbers of its commits."""
    rng = random.Random(seed)
    kept: dict[str, str] = {}
    commits: list[int] = []
    edits = 0
    with DB.open(path, mode="shared", wait=HANG_S, durability="full" if seed % 2 else "relaxed") as db:
        link.send("ready")
        while not link.poll(0):
            call = f"{name} call {len(commits)}"
            act = rng.random()
            if act < 0.35:
                kept |= {note.id: note.text for note in db.remember_many([f"{call} part {part}" for part in range(3)])}
            elif act < 0.7:
                note = db.remember(f"{call} alone " + "filler " * rng.randrange(100))
                kept[note.id] = note.text
            elif act < 0.85:
                edits += 1
                note = db.remember(f"{name} edited {edits} times", external_id=name)
                kept[note.id] = note.text
            else:
                alone = [id_ for id_, text in kept.items() if " alone " in text]
                if not alone:
                    continue
                id_ = rng.choice(alone)
                assert db.notes.get(id_).text == kept[id_]
                db.forget(id_, hard=True)
                del kept[id_]
            commits.append(db._file.commit_number)
    link.send((kept, commits))


def read_in_mix(link: Connection, path: Path, mode: str, seed: int) -> None:
    """Never an error, never backwards, never a part of a call. Sends how often it looked."""
    rng = random.Random(seed)
    looks = commit = generation = 0
    with DB.open(path, mode=mode, wait=HANG_S) as db:
        link.send("ready")
        while not link.poll(0):
            looks += 1
            for name in ("Ann", "Bob"):
                found = db.recall(f"{name} edited times", kinds=["note"], limit=1000).hits
                threes = Counter(tuple(hit.text.split()[:3]) for hit in found if " part " in hit.text)
                broken = [call for call, parts in threes.items() if parts != 3]
                assert len(found) == 1000 or not broken, f"half a call: {broken}"
            notes = db.notes.list(limit=200).items
            page_end = notes[-1].at if len(notes) == 200 else None  # it may end within a call of this millisecond
            there = [note.text.split() for note in notes if note.at != page_end]
            parts = Counter(tuple(words[:3]) for words in there if "part" in words)
            broken = [call for call, count in parts.items() if count != 3]
            assert not broken, f"half a call: {broken}"
            now = db._file.commit_number
            assert now >= commit, "backwards"
            assert db._file.generation >= generation
            commit, generation = now, db._file.generation
            if rng.random() < 0.1:
                db.stats()
            time.sleep(rng.random() * 0.02)
    link.send((looks, commit))


def upkeep_in_mix(link: Connection, path: Path, seed: int) -> None:
    """Checkpoints and compactions, with and without history. Sends the counts and the largest file seen."""
    rng = random.Random(seed)
    acts = ["checkpoint", "compact", "compact with history"]
    counts: Counter[str] = Counter()
    turn = largest = 0
    with DB.open(path, mode="shared", wait=HANG_S) as db:
        link.send("ready")
        while not link.poll(rng.random() * 0.1):
            largest = max(largest, path.stat().st_size)
            act = acts[turn % 3]
            turn += 1
            if act == "checkpoint":
                db.checkpoint()
            else:
                before = db._file.commit_number
                db.compact(keep_history=act == "compact with history")
                assert db._file.commit_number >= before
            counts[act] += 1
        db.compact()
    link.send((dict(counts), largest))


@pytest.mark.parametrize("seed", seeds(1))
def test_two_writers_two_readers_and_a_compactor(
    tmp_path: Path, start: Starter, request: pytest.FixtureRequest, seed: int
) -> None:
    with replayable(seed, request.node.nodeid):
        mix(tmp_path / "a.meh", start, seed)


def mix(path: Path, start: Starter, seed: int) -> None:
    DB.open(path).close()
    writers = [start(write_in_mix, path, name, seed + number) for number, name in enumerate(["Ann", "Bob"])]
    readers = [start(read_in_mix, path, mode, seed + number) for number, mode in enumerate(["read", "shared"])]
    upkeep = start(upkeep_in_mix, path, seed)
    everyone = [*writers, *readers, upkeep]
    for worker in everyone:
        assert worker.hear() == "ready"
    deadline = time.monotonic() + MIX_S
    while time.monotonic() < deadline and not any(worker.has_said() for worker in everyone):
        time.sleep(0.05)
    for worker in everyone:
        if not worker.has_said():
            worker.tell("end")
    kept: dict[str, str] = {}
    commits: list[int] = []
    for writer in writers:
        ((mine, numbers),) = writer.finish()
        kept |= mine
        commits += numbers
    looks = [reader.finish()[0][0] for reader in readers]
    ((counts, largest),) = upkeep.finish()
    print(f"{len(commits)} writing calls, {looks} looks, {counts}, at most {largest:,} bytes")
    with DB.open(path) as db:
        assert db.recovery.clean
        assert {note.id: note.text for note in every(db.notes.list)} == kept
        assert len(set(commits)) == len(commits), "each call has a commit of its own"
        assert max(commits) <= db.stats().commit <= len(commits) + sum(counts.values()) + 1
        assert db.verify(deep=True).ok
        db.compact()
        live = path.stat().st_size
    assert min(looks) > 5
    assert min(counts.values()) >= 3
    assert largest < 6 * live + 4 * 1024 * 1024, "the file grows with what is in it, not with the number of processes"
