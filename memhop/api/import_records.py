"""Taking an export in: the records of another memory, or of this one as it was, under the ids they have.

Two passes over the file. The first looks at every line and keeps the ids of those that are sound; the second, now that
it is known what a record may refer to whatever the order of the lines, writes:

    its id is not known          created
    it says the same             unchanged; nothing is written, so that its vector stays
    another version of it        the one with the later time of change wins; `on_conflict` may say otherwise
    what never changes, a
    message above all, and
    says something else          rejected
    the id is that of another
    kind of record               rejected

A reference to what is neither in the file nor in the memory is left out, or the record is, where nothing is left of it
without (`repo/references.without`). What was rejected in the second pass was counted on by others: those are gone over
once more at the end.

Memory: 10 bytes for each record of the file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.api.import_journal import Journal, Step, in_commits
from memhop.api.import_lines import BadLine, Incoming, Line, lines, record_of
from memhop.api.import_places import is_placed, straight, straighten
from memhop.common.ids import to_hex
from memhop.repo import codec
from memhop.repo.batch import Batch
from memhop.repo.l0_profile import Profile, ProfileChange, ProfileLine
from memhop.repo.l1_engram import Engram, Hyperedge
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_knowledge import Graph, KnowledgeEdge, KnowledgeNode
from memhop.repo.l4_archive import Message, external_message
from memhop.repo.l4_note import Note, external_note
from memhop.repo.l4_revision import NoteRevision, revise
from memhop.repo.l5_capability import Capability
from memhop.repo.l6_usage import Usage
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Record
from memhop.repo.references import may_name, references, without

if TYPE_CHECKING:
    from memhop.api.redaction import Guard

LOCAL_IS_NEWER = "the memory's version is the newer one"
AS_OLD = "the memory's version is as old, and says something else"
LOCAL_STAYS = "the memory has another version"
OWN_HISTORY = "a note keeps the history it has here"
DROPPED = "references to what is neither in the file nor in the memory were left out"
EMPTIED = "records of the memory that meant nothing any more were removed"
NAMES_NOTHING = "what it refers to is neither in the file nor in the memory"

# When a record was changed last; those of other types never are.
_CHANGED: dict[type[Record], Callable[[Any], int]] = {
    Profile: lambda r: r.updated_at,
    ProfileLine: lambda r: r.at,
    ProfileChange: lambda r: r.at,
    Engram: lambda r: r.active_at,
    Hyperedge: lambda r: r.updated_at,
    Scene: lambda r: r.last_at,
    Topic: lambda r: max(r.user_at, r.agent_at),
    Graph: lambda r: max(r.created_at, r.updated_at),
    KnowledgeNode: lambda r: r.updated_at,
    KnowledgeEdge: lambda r: r.updated_at,
    Fact: lambda r: max(r.recorded_at, *(belief.until for belief in r.earlier), 0),
    Note: lambda r: r.updated_at,
    Capability: lambda r: max(r.updated_at, r.last_triggered),
    Usage: lambda r: r.last_at,
}
# What changes without anybody's saying something else.
_ASIDE: dict[type[Record], dict[str, Any]] = {
    Note: {"rev": 1, "updated_at": 0, "status_at": 0, "act": "", "actor": "", "copies": 1},
    Message: {"scene": 0, "topic": 0, "spans": ()},
    Event: {"first": False},
}


_OUTCOMES = ("", "", "created", "updated")  # by number; 0: it was not met yet


class Ids:
    """The ids of sound lines with the kinds of their records; each is met once in the second pass."""

    def __init__(self) -> None:
        self._ids = array("Q")
        self._kinds = bytearray()
        self._met = bytearray()

    def add(self, id_: int, kind: int) -> None:
        """During the first pass."""
        self._ids.append(id_)
        self._kinds.append(kind)

    def seal(self) -> None:
        """The first pass is over. Of an id that came twice the first kind counts."""
        order = sorted(range(len(self._ids)), key=self._ids.__getitem__)
        self._ids = array("Q", [self._ids[index] for index in order])
        self._kinds = bytearray(self._kinds[index] for index in order)
        self._met = bytearray(len(order))

    def kind_of(self, id_: int) -> int | None:
        """None: no sound line has this id."""
        index = self._index(id_)
        return None if index < 0 else self._kinds[index]

    def meet(self, id_: int) -> bool | None:
        """Whether it is the first time; None: the first pass has not seen it."""
        index = self._index(id_)
        if index < 0:
            return None
        first = not self._met[index]
        self._met[index] = 1
        return first

    def mark(self, id_: int, outcome: str) -> None:
        """What became of it: "created", "updated" or "" (anything else)."""
        index = self._index(id_)
        if index >= 0:
            self._met[index] = max(1, _OUTCOMES.index(outcome))

    def outcome(self, id_: int) -> str:
        """As it was marked."""
        index = self._index(id_)
        return "" if index < 0 else _OUTCOMES[self._met[index]]

    def _index(self, id_: int) -> int:
        index = bisect_left(self._ids, id_)
        return index if index < len(self._ids) and self._ids[index] == id_ else -1


class RecordImport:
    """One import of an export."""

    def __init__(self, journal: Journal, guard: Guard, path: Path, *, project: str | None, on_conflict: str) -> None:
        self._journal = journal
        self._guard = guard
        self._tally = journal.tally
        self._path = path
        self._project = project
        self._on_conflict = on_conflict
        self._ids = Ids()
        self._lost: set[int] = set()  # others may have counted on them
        self._placed = array("Q")  # records to be looked at once more when all are in

    def run(self, progress: Callable[[int, int], None]) -> None:
        """See the module."""
        size = self._path.stat().st_size
        done = 0
        for line in lines(self._path):
            done += line.size
            try:
                record = record_of(line, self._guard).record
                self._ids.add(record.id, record.KIND)
            except BadLine as error:
                self._tally.reject(line.place, str(error), line.raw)
            progress(done, 2 * size)
        self._ids.seal()
        for chunk in in_commits(self._sound()):
            done += sum(line.size for line, _ in chunk)
            with self._journal.writing() as step:
                for line, incoming in chunk:
                    self._take(step, line, incoming)
            progress(done, 2 * size)
        self._mend()
        self._straighten()
        progress(2 * size, 2 * size)

    def _sound(self) -> Iterator[tuple[tuple[Line, Incoming], int]]:
        """Lines that the first pass found sound, with their bytes."""
        for line in lines(self._path):
            with suppress(BadLine):
                yield (line, record_of(line, self._guard)), line.size

    def _take(self, step: Step, line: Line, incoming: Incoming) -> None:
        record, unknown = incoming
        first = self._ids.meet(record.id)
        if not first:
            why = "the file changed while it was read" if first is None else "its id came before in the file"
            self._tally.reject(line.place, why, line.raw)
            return
        if is_placed(record):
            self._placed.append(record.id)
        if self._project is not None and isinstance(record, Note | Message | Scene | Topic):
            record = msgspec.structs.replace(record, project=self._project)
        try:
            rest = self._resolved(step.batch, record)
            local_kind = step.batch.kind_of(record.id)
            if local_kind is None:
                self._create(step, rest, unknown)
            elif local_kind != record.KIND:
                raise BadLine(f"its id is that of another kind of record here ({to_hex(record.id)})")
            else:
                self._update(step, rest, unknown)
        except BadLine as error:
            self._lost.add(record.id)
            self._tally.reject(line.place, str(error), line.raw)

    def _resolved(self, batch: Batch, record: Record) -> Record:
        """The record without references that lead nowhere."""
        gone = {id_ for field, id_ in references(record) if not self._named(batch, type(record), field, id_)}
        if not gone:
            return record
        rest = without(record, gone)
        if rest is None:
            raise BadLine(NAMES_NOTHING)
        self._tally.remarks[DROPPED] += 1
        return rest

    def _named(self, batch: Batch, record_type: type[Record], field: str, id_: int) -> bool:
        kind = batch.kind_of(id_)
        if kind is None and id_ not in self._lost:
            kind = self._ids.kind_of(id_)
        return kind is not None and may_name(record_type, field, kind)

    def _create(self, step: Step, record: Record, unknown: dict[str, Any]) -> None:
        batch = step.batch
        if isinstance(record, NoteRevision):
            note = batch.find(Note, record.note)
            if note is not None and record.rev >= note.rev:
                self._tally.skip(OWN_HISTORY)
                return
        elif isinstance(record, Note | Message) and (other := self._called(batch, record)):
            raise BadLine(f"what it calls {record.external_id[:40]!r} is {to_hex(other)} here")
        step.create(record, unknown)
        self._tally.created += 1
        self._ids.mark(record.id, "created")

    def _called(self, batch: Batch, record: Note | Message) -> int:
        """The other record that has its external id; 0: none has."""
        if not record.external_id:
            return 0
        if isinstance(record, Note):
            group = external_note(record.project, record.external_id)
        else:
            group = external_message(record.session, record.external_id)
        return next((other.id for other in batch.listed(type(record), group, limit=1) if other.id != record.id), 0)

    def _update(self, step: Step, record: Record, unknown: dict[str, Any]) -> None:
        local = step.batch.find(type(record), record.id)
        if local is not None:
            if self._says_the_same(local, record, unknown):
                self._tally.unchanged += 1
                return
            if not self._wins(local, record):
                return
            self._placed.extend(named for _, named in references(local))  # may say something it no longer says
        if isinstance(local, Note) and isinstance(record, Note):
            self._revise(step, local, record, unknown)
        else:
            step.update(record, unknown)
        self._tally.updated += 1
        self._ids.mark(record.id, "updated")

    def _says_the_same(self, local: Record, record: Record, unknown: dict[str, Any]) -> bool:
        if _essence(local) != _essence(record):
            return False
        if isinstance(record, Message) and isinstance(local, Message) and record.topic and not local.topic:
            return self._on_conflict == "skip"  # the file knows where it belongs
        found = self._journal.store.file.fetch(record.id, kind=record.KIND)
        return not unknown or found is None or codec.unknown_fields(record.KIND, found[2]) == unknown

    def _wins(self, local: Record, record: Record) -> bool:
        """Whether the file's version is taken; if not, it is counted."""
        if isinstance(record, NoteRevision):
            self._tally.skip(OWN_HISTORY)
            return False
        if self._on_conflict == "skip":
            self._tally.skip(LOCAL_STAYS)
            return False
        changed = _CHANGED.get(type(record))
        if changed is None:
            if _essence(local) == _essence(record):
                return True
            raise BadLine(
                f"{to_hex(record.id)} says something else here, and a {record.KIND.name.lower()} never changes"
            )
        if self._on_conflict == "overwrite" or changed(record) > changed(local):
            return True
        self._tally.skip(LOCAL_IS_NEWER if changed(record) < changed(local) else AS_OLD)
        return False

    def _revise(self, step: Step, local: Note, record: Note, unknown: dict[str, Any]) -> None:
        """A note becomes the file's version, and what it was is kept as a revision."""
        fields = {
            name: getattr(record, name) for name in Note.__struct_fields__ if name != "id" and name not in _ASIDE[Note]
        }
        store = self._journal.store
        note = revise(step.batch, local, act="import", actor=store.actor, now_ms=record.updated_at, **fields)
        if unknown:
            step.batch.put_whole(note, unknown)
        step.changed(local.id)

    def _mend(self) -> None:
        """Take references to what was rejected in the second pass out of what was written before that was known."""
        while self._lost:
            lost, self._lost = self._lost, set()
            lost = {id_ for id_ in lost if self._journal.store.file.locate(id_) is None}
            chunk: list[int] = []
            for id_ in list(self._journal.created_ids()) if lost else ():
                record = self._journal.store.record(id_)
                if record is not None and any(named in lost for _, named in references(record)):
                    chunk.append(id_)
            for some in in_commits((id_, 0) for id_ in chunk):
                with self._journal.writing() as step:
                    for id_ in some:
                        self._mend_one(step, id_, lost)

    def _straighten(self) -> None:
        """Take out what one record says of another that does not say it."""
        store = self._journal.store
        look = Batch(store)
        crooked = [
            id_
            for id_ in self._placed
            if (record := store.record(id_)) is not None and straight(look, record) is not record
        ]
        for some in in_commits((id_, 0) for id_ in crooked):
            with self._journal.writing() as step:
                straighten(step.batch, some, partial(self._replace, step))
        self._mend()

    def _mend_one(self, step: Step, id_: int, lost: set[int]) -> None:
        record = step.batch.record(id_)
        if record is not None:
            self._replace(step, record, without(record, lost))

    def _replace(self, step: Step, record: Record, rest: Record | None) -> None:
        """A record that is in already becomes what is left of it."""
        if rest is record:
            return
        if rest is not None:
            step.update(rest)
            self._tally.remarks[DROPPED] += 1
            return
        step.batch.delete(record.KIND, record.id)
        self._lost.add(record.id)
        if outcome := self._ids.outcome(record.id):
            self._ids.mark(record.id, "")
            self._tally.take_back(outcome)
            self._tally.reject(f"record {to_hex(record.id)}", NAMES_NOTHING, b"")
        else:
            self._tally.remarks[EMPTIED] += 1


def _essence(record: Record) -> Record:
    aside = _ASIDE.get(type(record))
    return msgspec.structs.replace(record, **aside) if aside else record
