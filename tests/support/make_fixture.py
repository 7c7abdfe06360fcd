"""Write tests/fixtures/: files as format version 1 leaves them. Those that are there already are never written again.

    python -m tests.support.make_fixture

v1-chained.meh is made of plain frames; what is in it is told by `RECORDS`, so that the test which opens it needs no
second copy. v1.meh is the same from the time when a manifest did not name the one before it. v1-contexts.meh is a
memory that holds every kind of record, in two segments and a tail; see `lives`. v1-full.meh is the same from the time
before vectors of tokens were stored. v1-dreams.meh is a memory that has dreamt, with the kinds that v1-contexts.meh
lacks. v1-notes.meh holds revisions of a note, an import and upkeep.
"""

from __future__ import annotations

import tempfile
from array import array
from pathlib import Path

from memhop.core.meh_file import DELETED, MehFile, Write
from memhop.repo.dreams import Spending, spending_id
from memhop.repo.upkeep import Maintenance, maintenance_id
from tests.support import lives
from tests.support.memories import DAY, HOUR, NOW, memory
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, PATH, TURN, Records, clock, text

FIXTURES = Path(__file__).parents[1] / "fixtures"
FIXTURE = FIXTURES / "v1-chained.meh"
FULL = FIXTURES / "v1-full.meh"
CONTEXTS = FIXTURES / "v1-contexts.meh"
DREAMS = FIXTURES / "v1-dreams.meh"
NOTES = FIXTURES / "v1-notes.meh"
BATCHES = [
    [Write(NOTE, 1, text(1, 100)), Write(TURN, 1000, "Zürich, 上周, 🎈".encode())],
    [Write(NOTE, 2, text(2, 3000)), Write(NOTE, 3, b"")],
    [Write(NOTE, 1, text(11, 80)), Write(NOTE, 3, b"", DELETED)],
    [Write(NOTE, 2**64 - 1, text(4, 10))],
    [Write(NOTE, 2, b"", DELETED), Write(TURN, 1001, text(5, 200))],
]
CHECKPOINT_AFTER = 3
SECTION = list(range(0, 90, 3))
META = {"made by": "make_fixture", "version": 1}
RECORDS: Records = {
    1: (NOTE, text(11, 80)),
    1000: (TURN, "Zürich, 上周, 🎈".encode()),
    2**64 - 1: (NOTE, text(4, 10)),
    1001: (TURN, text(5, 200)),
}


def build() -> bytes:
    """The file: a checkpoint after three commits, two commits behind it. The same bytes each time."""
    disk = SimulatedDisk(seed=1)
    with MehFile.open(PATH, disk=disk, now_ms=clock()) as file:
        for number, writes in enumerate(BATCHES, 1):
            file.append(writes)
            if number == CHECKPOINT_AFTER:
                file.checkpoint({"thirds": ("I", array("I", SECTION))}, meta=META)
    return disk.bytes_of(PATH)


def build_full() -> bytes:
    """A memory with a record of every kind, tombstones, two segments, and a tail with a note in it."""
    disk = SimulatedDisk(seed=2)
    with lives.start(disk) as db:
        lives.notes_and_turns(db)
        lives.derived(db)
        db.checkpoint()
        lives.changes(db)
        db.checkpoint()
        db.remember("in the tail", project="home")
        db.archive.append_many([{"text": "a turn in the tail", "session": "music", "at": NOW}])
    return disk.bytes_of(PATH)


def build_dreams() -> bytes:
    """A memory that has dreamt once, of a talk about two subjects; with facts, an edge, and a checkpoint in between."""
    disk = SimulatedDisk(seed=3)
    with lives.start(disk) as db:
        for number in range(14):
            subject = ("the kayak hull needs epoxy", "slugs eat the lettuce")[number // 7]
            said = f"I am happy that {subject}, say {number}"
            found = db.search(said, NOW - HOUR + number * 60_000, session="talk")
            db.update(found.new_topic_id, f"noted: {subject}, {number}", NOW - HOUR + number * 60_000 + 1_000)
        boat, hull = (db.knowledge.put("boats", title) for title in ("kayak", "hull"))
        assert boat.graph_id is not None
        db.knowledge.connect(boat.graph_id, [hull.id, boat.id], "part_of")
        db.facts.assert_("kayak", "lies in", "the shed", valid_from=NOW - 2 * HOUR, sources=[found.message_id])
        db.facts.assert_("kayak", "lies in", "the garden", valid_from=NOW - HOUR)
        db.profile.update(name="Juno")
        db.checkpoint()
        assert db.dream().changed
        with db._store.writing() as batch:
            batch.put(Spending(day=NOW // DAY, calls=2, prompt_tokens=300), spending_id(NOW // DAY))
    return disk.bytes_of(PATH)


def build_notes() -> bytes:
    """A memory with a note that was reworded, notes that were imported, and a run of upkeep, across a checkpoint."""
    disk = SimulatedDisk(seed=4)
    with tempfile.TemporaryDirectory() as folder:
        with memory(Path(folder, "other.meh")) as other:
            other.remember("a canoe in the loft", at=NOW - DAY)
            other.remember("paddles behind the door", at=NOW - DAY, kind="fact")
            other.export(Path(folder, "other.jsonl"))
        with lives.start(disk) as db:
            for place in ("garage", "shed"):
                db.remember(f"a kayak in the {place}", external_id="kayak", at=NOW - HOUR)
            db.checkpoint()
            db.import_(Path(folder, "other.jsonl"))
            with db._store.writing() as batch:
                batch.put(Maintenance(at=NOW, trashed=1), maintenance_id())
    return disk.bytes_of(PATH)


if __name__ == "__main__":
    for path, made in ((FIXTURE, build), (CONTEXTS, build_full), (DREAMS, build_dreams), (NOTES, build_notes)):
        if not path.exists():
            path.write_bytes(made())
            print(f"{path}: {path.stat().st_size} bytes")
