"""Taking a dream back: the newest one first, in one commit.

Its changes are undone one by one, the last first; each as a whole, or, where something else has been built on it
since, not at all:

    a record it changed    each field goes back to what it was, unless somebody gave it another value since: that stays
    a record it made       goes, if it is as the dream left it and nothing else refers to it; else the change stays
    a record it deleted    comes back, if what it refers to is still there; else the change stays
    a record erased since  stays erased, and so does every word of it: a change that touched it stays (the erasure has
                           taken it out of the journal)

What stays is reported. Topics that were fused and are taken apart again are remembered with the dream, so that no
later one makes them again. Their tombstones strike out their versions: nobody could reach those words any more when
a message that they quote is erased.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from memhop.common.errors import InvalidRequest
from memhop.dream.journal import ERASED, PastChange, Version, changes, of_number, steps, why_not_undoable
from memhop.repo.dreams import Dream
from memhop.repo.l1_engram import edges_of, engram_id
from memhop.repo.l2_context import Scene, Topic, topics_of
from memhop.repo.l4_archive import messages_of
from memhop.repo.l6_usage import usage_id
from memhop.repo.record import Kind, Record, all_of, linked_to
from memhop.repo.references import references

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

MOST_STAYED = 1_000  # listed; all are counted


class Stayed(NamedTuple):
    """What was not undone: a field of a record, or a whole change (`field` is ""; `id` is what it is because of)."""

    kind: int
    id: int
    field: str
    reason: str


class Undone(NamedTuple):
    """What was done. `changes` were undone in whole or in part, of `changes_in_all`."""

    dream: Dream
    changes: int
    changes_in_all: int
    restored: int
    removed: int
    returned: int
    stayed: tuple[Stayed, ...]
    stayed_in_all: int


def undo(store: Store, number: int) -> Undone:
    """Take a dream back.

    Raises:
        InvalidRequest: there is a newer one to be undone first, or it cannot be undone (any more); says why.

    Cost: opens the file as it was for each step, and holds all versions of what the dream changed in memory.
    """
    dream = _chosen(store, number)
    history = [list(changes(store, step)) for step in steps(store, dream)]
    with store.writing() as batch:
        _chosen(store, number)  # nobody else has undone it meanwhile
        undoing = _Undoing(store, batch)
        for step in reversed(history):
            for change in reversed(step):
                undoing.take_back(change)
        batch.put(msgspec.structs.replace(batch.find(Dream, dream.id) or dream, state="undone", undone=undoing.fused()))
        return Undone(
            dream,
            undoing.changes,
            sum(map(len, history)),
            undoing.restored,
            undoing.removed,
            undoing.returned,
            tuple(undoing.stayed[:MOST_STAYED]),
            len(undoing.stayed),
        )


def _chosen(store: Store, number: int) -> Dream:
    """The dream of this number, if it is the one to be undone."""
    dream = of_number(store, number)
    if dream is None:
        raise InvalidRequest(f"there is no dream {number}", field="number", allowed="a number from db.dreams.list()")
    if why := why_not_undoable(store, dream):
        raise InvalidRequest(f"dream {number} cannot be undone: {why}", field="number")
    for newer in store.walk(Dream, all_of(Kind.DREAM), descending=True):
        if newer.number == number:
            break
        if newer.changed and newer.state != "undone":
            reason = f"dream {newer.number} is newer, and may have been built on it"
            raise InvalidRequest(reason, field="number", allowed=str(newer.number))
    return dream


class _Undoing:
    def __init__(self, store: Store, batch: Batch) -> None:
        self.changes = self.restored = self.removed = self.returned = 0
        self.stayed: list[Stayed] = []
        self._store = store
        self._batch = batch
        self._fused: list[int] = []

    def fused(self) -> tuple[int, ...]:
        """The fused topics that were removed."""
        return tuple(sorted(self._fused))

    def take_back(self, change: PastChange) -> None:
        """Undo one change, or say why it stays."""
        if not change.versions:
            self.stayed.append(Stayed(0, 0, "", ERASED))
            return
        planned: dict[int, Record | None] = {}
        kept: list[Stayed] = []
        for version in change.versions:
            now = self._batch.record(version.id)
            reason = ""
            if version.before is None and version.after is None:
                reason = ERASED
            elif version.after is None:
                if now is None:
                    planned[version.id] = version.before
                else:
                    reason = "it was made again since"
            elif version.before is None:
                if now == version.after:
                    planned[version.id] = None
                elif now is not None:
                    reason = "it was changed since"
            elif now is not None and type(now) is type(version.after):
                planned[version.id] = _merged(version, now, kept)
            if reason:
                self._stays(version, reason)
                return
        for version in change.versions:
            if version.id in planned and (reason := self._hindrance(version.id, planned)):
                self._stays(version, reason)
                return
        self.changes += 1
        self.stayed += kept
        for id_, record in planned.items():
            self._carry_out(id_, record)

    def _stays(self, version: Version, reason: str) -> None:
        record = version.after or version.before
        self.stayed.append(Stayed(record.KIND if record is not None else 0, version.id, "", reason))

    def _hindrance(self, id_: int, planned: dict[int, Record | None]) -> str:
        """Why a record cannot become what is planned for it."""
        now, then = self._batch.record(id_), planned[id_]
        if then is not None:
            known = {other for _, other in references(now)} if now is not None else set()
            for _, other in references(then):
                there = planned[other] is not None if other in planned else self._batch.kind_of(other) is not None
                if other not in known and not there:
                    return "what it refers to is gone"
            return ""
        for other in self._referring(id_, now):
            record = planned[other] if other in planned else self._batch.record(other)
            if record is not None and any(named == id_ for _, named in references(record)):
                return "something else refers to it by now"
        return ""

    def _referring(self, id_: int, record: Record | None) -> Iterator[int]:
        groups = [linked_to(id_)]
        if isinstance(record, Topic):
            groups.append(messages_of(id_))
            yield from record.children
        elif isinstance(record, Scene):
            groups += [topics_of(id_), edges_of(id_)]
            yield engram_id(id_)
        for group in groups:
            yield from (other for _, other in self._store.members(group))

    def _carry_out(self, id_: int, record: Record | None) -> None:
        now = self._batch.record(id_)
        if record is None:
            if now is None:
                return
            self._batch.delete(now.KIND, id_, purge=True)
            if self._batch.kind_of(usage_id(id_)) == Kind.USAGE:
                self._batch.delete(Kind.USAGE, usage_id(id_))
            if isinstance(now, Topic) and now.children:
                self._fused.append(id_)
            self.removed += 1
        elif record != now:
            self._batch.put(record)
            self.returned += now is None
            self.restored += now is not None


def _merged(version: Version, now: Record, kept: list[Stayed]) -> Record:
    """`now` with the fields of `before` wherever it still has what the dream gave it."""
    back = {}
    for field in now.__struct_fields__:
        was, made, there = (getattr(record, field) for record in (version.before, version.after, now))
        if was == made:
            continue
        if there == made:
            back[field] = was
        elif there != was:
            kept.append(Stayed(now.KIND, now.id, field, "it has another value since"))
    return msgspec.structs.replace(now, **back) if back else now
