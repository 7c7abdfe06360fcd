"""What dreams did, read from the journal and from the log: each change, with the records before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from memhop.repo.dreams import Dream, DreamStep, steps_of
from memhop.repo.past import Past
from memhop.repo.plain import plain
from memhop.repo.record import Kind, Record, all_of

if TYPE_CHECKING:
    from memhop.repo.store import Store

ALL_STEPS = 10**9
ERASED = "something of it was erased since, and with it what it was before"


class Version(NamedTuple):
    """A record on both sides of a change. `before` None: it was new; `after` None: it was deleted.

    Both None: neither can be read any more, since the record was erased.
    """

    id: int
    before: Record | None
    after: Record | None


class PastChange(NamedTuple):
    """One change of a dream, at place `number` of its step. No versions: see `ERASED`."""

    step: int
    number: int
    stage: str
    why: str
    versions: tuple[Version, ...]


class FieldChange(NamedTuple):
    """A field of a record, as `plain` shows it. `before` or `after` is None where the record was not there."""

    name: str
    before: Any
    after: Any


def steps(store: Store, dream: Dream, *, after: int = 0, limit: int = ALL_STEPS) -> list[DreamStep]:
    """The steps of a dream in order, from the one behind number `after` on."""
    place = (after, 2**64 - 1) if after else None
    return [step for _, step in store.listed(DreamStep, steps_of(dream.id), after=place, limit=limit)]


def why_not_undoable(store: Store, dream: Dream) -> str:
    """Why a dream cannot be taken back, newer ones left aside; "" if it can."""
    if dream.state == "undone":
        return "it was undone"
    return "it changed nothing" if not dream.changed else why_not_readable(store, dream)


def why_not_readable(store: Store, dream: Dream) -> str:
    """Why what was before a dream can no longer be read; "" if it can."""
    if not dream.changed:
        return ""
    first = steps(store, dream, limit=1)
    if not first:
        return "its steps are no longer kept"
    begins = store.file.history_begins
    if first[0].base < begins:
        return f"compaction has dropped what was before it, the past begins at commit {begins}"
    return ""


def of_number(store: Store, number: int) -> Dream | None:
    """The dream of this number."""
    for (order, _), dream in store.listed(Dream, all_of(Kind.DREAM), after=(number, 0), limit=1):
        if order == number:
            return dream
    return None


def changes(store: Store, step: DreamStep, begin: int = 0) -> Iterator[PastChange]:
    """The changes of a step from the `begin`-th on, in order.

    Raises:
        InvalidRequest: compaction has dropped that time.

    Cost: opens the file as it was twice.
    """
    with Past(store.file.path, step.base) as before, Past(store.file.path, step.base + 1) as after:
        for number, (why, ids) in enumerate(step.changes[begin:], begin):
            versions = tuple(Version(id_, before.record(id_), after.record(id_)) for id_ in ids)
            yield PastChange(step.seq, number, step.stage, why, versions)


def fields(version: Version) -> list[FieldChange]:
    """What differs between both sides, field by field."""
    before = plain(version.before) if version.before is not None else {}
    after = plain(version.after) if version.after is not None else {}
    names = dict.fromkeys((*before, *after))
    return [
        FieldChange(name, before.get(name), after.get(name))
        for name in names
        if name not in before or name not in after or before[name] != after[name]
    ]


def kind_of(version: Version) -> Kind | None:
    """Of the record; None: nobody knows any more."""
    record = version.after or version.before
    return record.KIND if record is not None else None
