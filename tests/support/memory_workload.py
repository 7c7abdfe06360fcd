"""A scripted life of a memory through its public calls, with a note of what was promised.

A fact is one line of text that says what a caller can see: "note: …", "trash: …", "message: …", …, and, for a turn of
the agent loop, "turn: …" when the message also stands in a topic of a scene. A call brings facts and takes facts away,
all of them or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from memhop import DB, HashEmbedder
from memhop.common.clock import ManualClock
from memhop.common.errors import StorageError
from memhop.core.meh_file import MehFile
from memhop.repo.store import CLOSE_CHECKPOINT_ENTRIES
from tests.support.memories import MINUTE, NOW, every
from tests.support.simulated_disk import SimulatedDisk

PATH = Path("/memory/agent.meh")
COPY = Path("/memory/copy.meh")
COPIED = "there is a copy"
DIM = 16
QUERIES = ("where is the kayak?", "slugs, a piano and a lantern")


def open_memory(disk: SimulatedDisk, path: Path = PATH, **options: Any) -> DB:
    """The memory of the workload. Its clock stands still."""
    clock = ManualClock(NOW)
    file = MehFile.open(path, disk=disk, now_ms=clock.now_ms, **options)
    return DB(file, embedder=HashEmbedder(DIM), clock=clock)


def disk_of(db: DB) -> SimulatedDisk:
    """Where its file is."""
    disk = db._file._disk
    assert isinstance(disk, SimulatedDisk)
    return disk


def facts(db: DB) -> frozenset[str]:
    """All that can be seen, through the public reading calls."""
    messages = {message.id: message.text for message in every(db.archive.list, page=50)}
    found = {f"message: {text}" for text in messages.values()}
    for note in every(db.notes.list, tier="all", page=50):
        found.add(f"{'trash' if note.tier == 'trashed' else 'note'}: {note.text}")
    for scene in every(db.scenes.list, page=50):
        for topic in every(lambda scene=scene, **page: db.topics.list(scene.id, **page), page=50):
            found.update(f"turn: {messages.get(id_, 'nothing')}" for id_ in topic.message_ids)
    for graph in every(db.knowledge.graphs):
        found.add(f"graph: {graph.name}")
        found.update(f"node: {node.title}, {node.content}" for node in db.knowledge.nodes(graph.id).items)
        found.update(f"edge: {edge.label}" for edge in db.knowledge.edges(graph.id).items)
    for fact in db.facts.list(include_closed=True).items:
        found.add(f"fact: {fact.value} {'still' if fact.valid_to is None else 'no more'}")
    if COPY in disk_of(db).names:
        found.add(COPIED)
    found.update(f"step: {event.payload}" for event in db.trajectory.read("one").items)
    found.update(f"{key}: {value}" for key, value in db.profile.get().preferences.items())
    return frozenset(found)


def note(*texts: str) -> list[str]:
    """The facts that notes of these texts make."""
    return [f"note: {text}" for text in texts]


def message(*texts: str) -> list[str]:
    """The facts that messages of these texts make."""
    return [f"message: {text}" for text in texts]


def turn(*texts: str) -> list[str]:
    """The facts that turns of these texts make: the message, and its place in a topic."""
    return [*message(*texts), *(f"turn: {text}" for text in texts)]


@dataclass(frozen=True)
class Call:
    """A call that was begun and has not returned: all of its effects may be seen, or none."""

    name: str
    brings: frozenset[str]
    takes: frozenset[str]

    def happened(self, seen: frozenset[str]) -> bool:
        """Raises AssertionError if half of it is seen."""
        new, old = self.brings - self.takes, self.takes - self.brings
        if new <= seen and not old & seen:
            return True
        half = sorted(new & seen | (old - seen))
        assert not half, f"half of {self.name} is seen: {half}"
        return False


class Promises:
    """What must be seen, and the calls of which nobody knows yet. Calls in flight at one time touch other facts."""

    def __init__(self) -> None:
        self.kept: frozenset[str] = frozenset()
        self.open: list[Call] = []
        self.acknowledged = 0

    @contextmanager
    def call(self, name: str, brings: Iterable[str] = (), takes: Iterable[str] = ()) -> Iterator[None]:
        """Around a public call: its effects are promised once it has returned, and unknown if it raises."""
        call = Call(name, frozenset(brings), frozenset(takes))
        self.open.append(call)
        yield
        self.open.remove(call)
        self.kept = self.kept - call.takes | call.brings
        self.acknowledged += 1

    def copy(self) -> Promises:
        """As of now."""
        other = Promises()
        other.kept, other.open, other.acknowledged = self.kept, list(self.open), self.acknowledged
        return other

    def check(self, seen: frozenset[str], *, undone: bool = False) -> None:
        """Raises AssertionError where something is missing, too much, or half there.

        Args:
            undone: The calls that have not returned have failed, and must not be seen.
        """
        expected = self.kept
        for call in () if undone else self.open:
            if call.happened(seen):
                expected = expected - call.takes | call.brings
        assert not expected - seen, f"gone: {sorted(expected - seen)}"
        assert not seen - expected, f"not to be seen: {sorted(seen - expected)}"


class Morning(NamedTuple):
    """How things stood before a day: nothing is open then, so that a run may begin here as well."""

    day: int
    disk: SimulatedDisk
    promises: Promises


def mornings() -> list[Morning]:
    """Those of a run without a fault, and the one after its last day."""
    disk, promises = SimulatedDisk(), Promises()
    found = []
    for day in range(len(DAYS)):
        found.append(Morning(day, disk.copy(), promises.copy()))
        run(disk, promises, day, day + 1)
    return [*found, Morning(len(DAYS), disk, promises)]


def run(disk: SimulatedDisk, promises: Promises, first: int = 0, stop: int | None = None) -> None:
    """The script, or some days of it. Raises whatever the disk makes the memory raise."""
    for mode, day in DAYS[first:stop]:
        with open_memory(disk, mode=mode) as db:
            try:
                day(db, promises)
            except StorageError:
                after_a_failure(db, promises)
                raise


def after_a_failure(db: DB, promises: Promises) -> None:
    """The handle whose call has failed shows nothing of that call, and takes the next one or refuses it.

    Where the disk is broken for good it could not be taken back, and nobody knows: a shared handle looks at the file.
    """
    undone = disk_of(db).fault != "broken"
    promises.check(facts(db), undone=undone)
    with suppress(StorageError), promises.call("remember after a failure", note("all the same")):
        db.remember("all the same")
    promises.check(facts(db), undone=undone)


def first_day(db: DB, promises: Promises) -> None:
    """Every kind of write once, a checkpoint in between, and closing with a tail."""
    with promises.call("remember", note("a kayak leaks")):
        kayak = db.remember("a kayak leaks", tags=["boat"])
    slugs = [f"slugs eat lettuce {number}" for number in range(3)]
    with promises.call("remember_many", note(*slugs)):
        notes = db.remember_many(slugs)
    with promises.call("remember under a name", note("the shed is red")):
        db.remember("the shed is red", external_id="shed")
    with promises.call("search", turn("where is the kayak?")):
        found = db.search("where is the kayak?", NOW - 9 * MINUTE, session="one")
    with promises.call("update", turn("in the shed")):
        db.update(found.new_topic_id, "in the shed", NOW - 8 * MINUTE)
    with promises.call("recall"):
        assert db.recall("lettuce").hits
    with promises.call("backfill"):
        db.backfill()
    with promises.call("checkpoint"):
        db.checkpoint()
    with promises.call("remember again under a name", note("the shed is blue"), note("the shed is red")):
        db.remember("the shed is blue", external_id="shed")
    with promises.call("forget", ["trash: a kayak leaks"], note("a kayak leaks")):
        db.forget(kayak.id)
    with promises.call("forget for good", takes=note(slugs[0])):
        db.forget(notes[0].id, hard=True)


def second_day(db: DB, promises: Promises) -> None:
    """Appending, erasing what was said, both kinds of compaction, and writing on after each."""
    said = ["the piano is out of tune", "a tuner comes on Monday"]
    with promises.call("append_many", message(*said)):
        ids = db.archive.append_many({"text": text, "session": "two", "at": NOW - 5 * MINUTE} for text in said)
    with promises.call("search in a new scene", turn("who tunes the piano?")):
        db.search("who tunes the piano?", NOW - 4 * MINUTE, session="two")
    with promises.call("erase a message", takes=message(said[0])):
        db.forget(ids[0], hard=True)
    with promises.call("backfill"):
        db.backfill()
    with promises.call("compact with history"):
        db.compact(keep_history=True)
    with promises.call("remember", note("the kettle whistles")):
        db.remember("the kettle whistles")
    with promises.call("put knowledge", ["graph: house", "node: kettle, it is copper"]):
        db.knowledge.put("house", "kettle", "it is copper")
    with promises.call("append a step", ["step: boiled water"]):
        db.trajectory.append("one", "tool", "boiled water")
    with promises.call("set the profile", ["tea: green"]):
        db.profile.update(preferences={"tea": "green"})
    with promises.call("recall"):
        assert db.recall("kettle").hits
    with promises.call("checkpoint"):
        db.checkpoint()
    with promises.call("compact"):
        db.compact()
    with promises.call("remember", note("good night")):
        db.remember("good night")


def third_day(db: DB, promises: Promises) -> None:
    """Saying things again, in every way a host may; then so much that closing makes a checkpoint."""
    with promises.call("remember", note("a lantern")):
        lantern = db.remember("a lantern", external_id="lantern")
    for _ in range(2):
        with promises.call("remember once", note("pay the rent")):
            db.remember("pay the rent", idempotency_key="rent")
    with promises.call("forget", ["trash: a lantern"], note("a lantern")):
        db.forget(lantern.id)
    with promises.call("bring back", note("a red lantern"), ["trash: a lantern"]):
        db.remember("a red lantern", external_id="lantern")
    with promises.call("say it twice"):
        db.remember("the kettle whistles")
    for _ in range(2):
        with promises.call("search once", turn("has the rent been paid?")):
            found = db.search("has the rent been paid?", NOW - 2 * MINUTE, session="three", external_id="1")
        with promises.call("update once", turn("yes")):
            db.update(found.new_topic_id, "yes", NOW - MINUTE, external_id="2")
    with promises.call("update", turn("on the first")):
        db.update(found.new_topic_id, "on the first", NOW)
    steps = [f"step {number}" for number in range(CLOSE_CHECKPOINT_ENTRIES)]
    with promises.call("append_many", message(*steps)):
        db.archive.append_many({"text": text, "session": "four", "at": NOW} for text in steps)


def fourth_day(db: DB, promises: Promises) -> None:
    """Going on behind the checkpoint that closing made, and a copy of it all."""
    with promises.call("remember_many", note("one more", "and another")):
        db.remember_many(["one more", "and another"])
    with promises.call("assert", ["fact: on the stove still"]):
        db.facts.assert_("kettle", "is", "on the stove", valid_from=NOW - 9 * MINUTE)
    with promises.call("assert anew", ["fact: on the stove no more", "fact: off still"], ["fact: on the stove still"]):
        db.facts.assert_("kettle", "is", "off", valid_from=NOW - 2 * MINUTE)
    with promises.call("import", ["node: lid, ", "node: spout, ", "graph: garden", "node: hose, "]):
        items = [("house", "lid"), ("house", "spout"), ("garden", "hose")]
        db.knowledge.import_({"graph": graph, "title": title} for graph, title in items)
    house = next(graph for graph in every(db.knowledge.graphs) if graph.name == "house")
    with promises.call("connect", ["edge: on top"]):
        nodes = [node.id for node in db.knowledge.nodes(house.id).items]
        db.knowledge.connect(house.id, nodes, "part_of", label="on top")
    parts = ["node: kettle, it is copper", "node: lid, ", "node: spout, ", "edge: on top"]
    with promises.call("delete a graph", takes=["graph: house", *parts]):
        db.knowledge.delete_graph(house.id)
    with promises.call("backup", [COPIED]):
        db.backup(COPY)


def shared_day(db: DB, promises: Promises) -> None:
    """A second handle on the same file: they write in turns, and each sees what the other has written."""
    with open_memory(disk_of(db), mode="shared") as other:
        with promises.call("remember", note("from the first")):
            db.remember("from the first", external_id="both")
        promises.check(facts(other))
        with promises.call("edit", note("from the second"), note("from the first")):
            other.remember("from the second", external_id="both")
        with promises.call("search", turn("who was it?")):
            found = db.search("who was it?", NOW, session="five")
        with promises.call("update", turn("the second")):
            other.update(found.new_topic_id, "the second", NOW)
        with promises.call("backfill"):
            db.backfill()
        with promises.call("checkpoint"):
            other.checkpoint()
        with promises.call("remember_many", note("a pair", "of notes")):
            db.remember_many(["a pair", "of notes"])
        with promises.call("compact"):
            other.compact()
        with promises.call("forget", ["trash: from the second"], note("from the second")):
            db.forget(db.remember("from the second", external_id="both").id)
        promises.check(facts(other))


def last_day(db: DB, promises: Promises) -> None:
    """Nothing is written; closing leaves the file as it is."""
    promises.check(facts(db))


DAYS: tuple[tuple[str, Callable[[DB, Promises], None]], ...] = (
    ("exclusive", first_day),
    ("exclusive", second_day),
    ("exclusive", third_day),
    ("shared", shared_day),
    ("exclusive", fourth_day),
    ("exclusive", last_day),
)
