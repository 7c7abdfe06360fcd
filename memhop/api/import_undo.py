"""Taking an import back, in one commit.

    a record it created      is erased with all that was made of it (api/erasure.py), if it is as the import left it;
                             a scene or topic goes with its last message, a graph if it holds nothing else
    a note it updated        becomes what it was, by its revisions, if nobody has changed it since
    another record it
    updated                  the same, by the file's past, as far as compaction has kept that
    what is gone, or was
    changed since            stays as it is, and is told

Where a dream placed a message, and how often a card was used, is no change: somebody's words are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from memhop.api.erasure import Erasure
from memhop.api.import_places import straighten
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.imports import Import, of_number, state_of, steps
from memhop.repo.l2_context import Scene, Topic, topics_of
from memhop.repo.l3_knowledge import edges_in, nodes_of
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import NoteRevision, revise, revision_id
from memhop.repo.l4_supersession import settle
from memhop.repo.l7_trajectory import Event, events_of
from memhop.repo.past import Past
from memhop.repo.record import Kind, Record
from memhop.repo.references import references, without

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.schema import Schemas
    from memhop.repo.store import Store

ERASED = "it was erased since"
CHANGED = "it was changed since"
HOLDS_MORE = "it holds what the import did not bring"
NO_PAST = "what it was before is no longer in the file"
NAMES_NOTHING = "what it named before is gone"
GOES_WITH = frozenset({Kind.NOTE_REVISION})  # its note, if that goes; it is the note's history if that stays


class Stayed(NamedTuple):
    """A record that is as it was before undoing."""

    kind: Kind | None
    id: int
    reason: str


class Undone(NamedTuple):
    """What was done."""

    removed: int
    reverted: int
    stayed: list[Stayed]


class Trace(NamedTuple):
    """What an import did to one record."""

    created: bool
    times: int  # that it updated it
    base: int  # the number of the commit before it first did anything to it
    state: int  # it was left in


def traces(store: Store, batch_id: int) -> dict[int, Trace]:
    """By id, in the order in which the import came to them."""
    found: dict[int, Trace] = {}
    for step in steps(store, batch_id):
        states = iter(step.states)
        for id_ in step.created:
            found[id_] = Trace(True, 0, step.base, next(states, 0))
        for id_ in step.updated:
            known = found.get(id_, Trace(False, 0, step.base, 0))
            found[id_] = known._replace(times=known.times + 1, state=next(states, 0))
    return found


def undo(store: Store, number: int, schemas: Schemas) -> Undone:
    """Take an import back.

    Raises:
        InvalidRequest: there is no such import, or it was undone before.
    """
    found = traces(store, _chosen(store, number).id)
    before = dict(_versions_before(store, found))
    with store.writing() as batch:
        entry = _chosen(store, number)  # nobody else has undone it meanwhile
        undoing = _Undoing(store, batch, before, schemas)
        undoing.take_back(found)
        batch.put(msgspec.structs.replace(batch.find(Import, entry.id) or entry, state="undone"))
        return Undone(undoing.removed, undoing.reverted, undoing.stayed)


def _chosen(store: Store, number: int) -> Import:
    entry = of_number(store, number)
    if entry is None:
        raise InvalidRequest(f"there is no import {number}", field="number", allowed="a number from imports.list()")
    if entry.state == "undone":
        raise InvalidRequest(f"import {number} was undone before", field="number", allowed="one that was not")
    return entry


def _versions_before(store: Store, found: dict[int, Trace]) -> Iterator[tuple[int, Record]]:
    """What records other than notes were before the import changed them, as far as the file still knows."""
    wanted: dict[int, list[int]] = {}
    for id_, trace in found.items():
        located = store.file.locate(id_)
        if not trace.created and located is not None and located[0] != Kind.NOTE:
            wanted.setdefault(trace.base, []).append(id_)
    for base, ids in wanted.items():
        with suppress(InvalidRequest), Past(store.file.path, base) as past:
            yield from ((id_, record) for id_ in ids if (record := past.record(id_)) is not None)


class _Undoing:
    def __init__(self, store: Store, batch: Batch, before: dict[int, Record], schemas: Schemas) -> None:
        self.removed = self.reverted = 0
        self.stayed: list[Stayed] = []
        self._store = store
        self._batch = batch
        self._known_before = before
        self._schemas = schemas

    def take_back(self, found: dict[int, Trace]) -> None:
        """Everything at once: what refers to what goes too has not been changed by anybody."""
        going: dict[int, Record] = {}
        updated: list[tuple[Record, Trace]] = []
        for id_, trace in found.items():
            record = self._store.record(id_)
            if record is None:
                located = self._store.file.locate(id_)
                self._stays(None if located is None else Kind(located[0]), id_, CHANGED if located else ERASED)
            elif record.KIND in GOES_WITH:
                continue
            elif not isinstance(record, Scene | Topic) and state_of(record) != trace.state:
                self._stays(record.KIND, id_, CHANGED)
            elif trace.created:
                going[id_] = record
            else:
                updated.append((record, trace))
        asked = list(self._asked(going))
        erasure = Erasure(self._store, self._batch)
        erasure.erase(asked)
        self.removed = len(erasure.gone)
        for session in sorted({record.session for record in going.values() if isinstance(record, Event)}):
            self._reopen(session, erasure.gone)
        self.stayed = [stayed for stayed in self.stayed if stayed.id not in erasure.gone]
        for id_, record in going.items():
            if id_ not in erasure.gone:
                self._stays(record.KIND, id_, HOLDS_MORE)
        for record, trace in updated:
            self._revert(record, trace)
        named = {other for record, _ in updated for _, other in references(record)}
        straighten(self._batch, [*(record.id for record, _ in updated), *sorted(named)], self._replace)

    def _reopen(self, session: str, gone: Collection[int]) -> None:
        """A session whose first steps go is listed by the first one that is left."""
        for _, id_ in self._store.members(events_of(session)):
            event = None if id_ in gone else self._batch.find(Event, id_)
            if event is not None:
                if not event.opens:
                    self._batch.put(msgspec.structs.replace(event, first=True))
                return

    def _asked(self, going: dict[int, Record]) -> Iterator[int]:
        """The records to be erased; others go with them."""

        def there(other: int) -> bool:
            return self._store.file.locate(other) is not None

        for id_, record in going.items():
            match record.KIND:
                case Kind.TOPIC if isinstance(record, Topic) and any(map(there, (*record.messages, *record.children))):
                    continue
                case Kind.SCENE if self._store.places(topics_of(id_), limit=1):
                    continue
                case Kind.GRAPH:
                    inside = (*self._store.members(nodes_of(id_)), *self._store.members(edges_in(id_)))
                    if any(other not in going for _, other in inside):
                        continue
            yield id_

    def _revert(self, record: Record, trace: Trace) -> None:
        if record.id in self._batch.deleted:
            return  # it named what has gone, and nothing else
        before = self._before(record, trace)
        if before is None:
            self._stays(record.KIND, record.id, NO_PAST)
            return
        before = without(before, {id_ for _, id_ in references(before) if self._batch.kind_of(id_) is None})
        if before is None:
            self._stays(record.KIND, record.id, NAMES_NOTHING)
            return
        if isinstance(record, Note) and isinstance(before, Note):
            current = self._batch.find(Note, record.id) or record
            fields = {
                name: getattr(before, name)
                for name in Note.__struct_fields__
                if name not in ("id", "rev", "updated_at", "status_at", "act", "actor")
            }
            actor, now = self._store.actor, self._store.clock.now_ms()
            note = revise(self._batch, current, act="revert", actor=actor, now_ms=now, **fields)
            settle(self._batch, current, note, schemas=self._schemas, actor=actor, now_ms=now)
        else:
            self._batch.put(before)
        self.reverted += 1

    def _replace(self, record: Record, rest: Record | None) -> None:
        if rest is None:
            self._batch.delete(record.KIND, record.id)
        else:
            self._batch.put(rest)

    def _before(self, record: Record, trace: Trace) -> Record | None:
        if not isinstance(record, Note):
            return self._known_before.get(record.id)
        note: Note | None = record
        for _ in range(trace.times):
            note = _revision_before(self._store, note) if note is not None else None
        return note

    def _stays(self, kind: Kind | None, id_: int, reason: str) -> None:
        self.stayed.append(Stayed(kind, id_, reason))


def _revision_before(store: Store, note: Note) -> Note | None:
    """A note as it was one revision ago; None: that is not kept, or no import has ended it."""
    revision = store.readable(NoteRevision, revision_id(note.id, note.rev - 1))
    if revision is None or revision.act != "import" or revision.note != note.id:
        return None
    fields = msgspec.to_builtins(note) | revision.before | {"rev": revision.rev}
    try:
        return msgspec.convert(fields, Note)
    except msgspec.ValidationError:
        return None


def named(stayed: Stayed) -> tuple[str | None, str, str]:
    """(kind, id, reason) in words."""
    return (None if stayed.kind is None else stayed.kind.name.lower()), to_hex(stayed.id), stayed.reason
