"""The journal of imports: what each has made and changed, so that it can be taken back.

It holds ids and hashes, never words: what is erased since is gone from it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from memhop.common.ids import key_hash
from memhop.repo.l4_archive import Message
from memhop.repo.l5_capability import Capability
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Count, Id, Kind, Listing, Ms, Record, all_of, label

if TYPE_CHECKING:
    from memhop.repo.store import Store

State = Annotated[int, msgspec.Meta(ge=1)]  # a hash

# Fields that change by themselves and say nothing of what somebody did to the record: where a dream placed a message,
# whether a step is the first one left, how often a card was used.
_LIVING: dict[type[Record], dict[str, Any]] = {
    Message: {"scene": 0, "topic": 0},
    Event: {"first": False},
    Capability: {"trigger_count": 0, "success_count": 0, "last_triggered": 0},
}


class Import(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One import. `number` counts from 1; `state` is running, done, stopped (by an error) or undone."""

    KIND: ClassVar[Kind] = Kind.IMPORT
    number: Count
    format: str = ""
    source: str = ""  # the name of the file or folder, without its path
    at: Ms = 0
    state: str = "running"
    created: Count = 0
    updated: Count = 0
    skipped: Count = 0
    rejected: Count = 0
    unchanged: Count = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.number)]


class ImportStep(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One commit of an import. `base` is the number of the commit in front of it.

    `states` are the `state_of` of the records as it left them: of `created`, then of `updated`.
    """

    KIND: ClassVar[Kind] = Kind.IMPORT_STEP
    batch: Id
    seq: Count
    base: Count
    created: tuple[Id, ...] = ()
    updated: tuple[Id, ...] = ()
    states: tuple[State, ...] = ()

    def listings(self) -> list[Listing]:
        return [Listing(steps_of(self.batch), self.seq)]


def steps_of(batch: int) -> int:
    """The group of an import's steps, in order."""
    return label("import-steps", batch)


def state_of(record: Record) -> int:
    """A hash by which one can tell whether anybody has changed a record since."""
    living = _LIVING.get(type(record))
    said = _values(msgspec.structs.replace(record, **living) if living else record)
    return key_hash("state", msgspec.json.encode(said, order="deterministic").decode())


def _values(value: Any) -> Any:
    """All that a value says. Encoding a record leaves out a default, but not always one that was read from a file."""
    match value:
        case msgspec.Struct():
            return [_values(getattr(value, field)) for field in value.__struct_fields__]
        case list() | tuple():
            return [_values(item) for item in value]
        case dict():
            return {key: _values(item) for key, item in value.items()}
    return value


def newest_number(store: Store) -> int:
    """The number of the newest import; 0: there was none."""
    found = store.places(all_of(Kind.IMPORT), limit=1, descending=True)
    return found[0][0] if found else 0


def of_number(store: Store, number: int) -> Import | None:
    """The import of this number."""
    for (order, _), record in store.listed(Import, all_of(Kind.IMPORT), after=(number, 0), limit=1):
        if order == number:
            return record
    return None


def steps(store: Store, batch: int) -> Iterator[ImportStep]:
    """The steps of an import, in order; damaged ones are left out."""
    return store.walk(ImportStep, steps_of(batch))
