"""What one call writes, record by record, until `Store.writing` makes it one commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from memhop.common.errors import Corrupt, InvalidRequest
from memhop.common.ids import make_id
from memhop.core.batch import Write
from memhop.core.meh_file import DELETED, PURGED
from memhop.repo import codec
from memhop.repo.record import Kind, Record

if TYPE_CHECKING:
    from memhop.index.groups import Groups
    from memhop.repo.store import Store

R = TypeVar("R", bound=Record)

_KIND_NAMES = {kind: kind.name.lower() for kind in Kind}


class Batch:
    """What one public call writes. Nothing is visible before `Store.writing` ends."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: dict[int, Record] = {}
        self._payloads: dict[int, tuple[Kind, bytes]] = {}
        self._deletes: dict[int, tuple[Kind, int]] = {}
        self._struck: dict[int, Kind] = {}
        self._unknown: dict[int, dict[str, Any]] = {}
        self._new: set[int] = set()

    def __len__(self) -> int:
        return len(self._records) + len(self._payloads) + len(self._deletes)

    @property
    def deleted(self) -> Collection[int]:
        """Ids this batch writes tombstones for."""
        return self._deletes.keys()

    def new(self, record: R, *key: object) -> R:
        """Give a new record an id made from its natural key, and put it."""
        id_ = make_id(_KIND_NAMES[record.KIND], *key, taken=self._taken)
        self._new.add(id_)
        return self.put(record, id_)

    def put(self, record: R, id_: int = 0) -> R:
        """Write a record under its own id, or under `id_`. Returns it with the id filled in. The last word counts."""
        record = record if record.id and not id_ else _with_id(record, id_)
        self._records[record.id] = record
        self._deletes.pop(record.id, None)
        return record

    def put_whole(self, record: R, unknown: dict[str, Any]) -> R:
        """Put a record with fields that its type does not have, in place of those of the version before."""
        self._unknown[record.id] = unknown
        return self.put(record)

    def put_payload(self, kind: Kind, payload: bytes, *key: object) -> int:
        """Write a slab. Returns its id."""
        id_ = make_id(kind.name.lower(), *key, taken=self._taken)
        self._payloads[id_] = (kind, payload)
        return id_

    def delete(self, kind: Kind, id_: int, *, purge: bool = False) -> None:
        """Write a tombstone. The last word counts. `purge`: compaction drops every version, also of a kept history."""
        self._records.pop(id_, None)
        self._deletes[id_] = (kind, DELETED | (PURGED if purge else 0))

    def strike(self, record: R) -> R:
        """Put a record and strike out its earlier versions: compaction drops them even when it keeps history."""
        self._struck[record.id] = record.KIND
        return self.put(record)

    def find(self, record_type: type[R], id_: int) -> R | None:
        """The record as this batch leaves it. A damaged one is None: it can be replaced."""
        record = self._records.get(id_)
        if isinstance(record, record_type):
            return record
        return None if id_ in self._deletes else self._store.readable(record_type, id_)

    def record(self, id_: int) -> Record | None:
        """The record of this id, of whatever type, as this batch leaves it. A damaged one is None."""
        if (record := self._records.get(id_)) is not None:
            return record
        return None if id_ in self._deletes else self._store.record(id_)

    def kind_of(self, id_: int) -> int | None:
        """The kind of the record of this id as this batch leaves it, damaged or not; None: there is none."""
        if (record := self._records.get(id_)) is not None:
            return record.KIND
        located = None if id_ in self._deletes else self._store.file.locate(id_)
        return located[0] if located else None

    def listed(self, record_type: type[R], group: int, *, limit: int) -> list[R]:
        """The first members of a group as this batch leaves them, without those that are new to the group in it."""
        if not self._groups.has(group):
            return []
        return [
            record
            for _, id_ in self._groups.page(group, limit=limit)
            if (record := self.find(record_type, id_)) is not None
        ]

    @cached_property
    def _groups(self) -> Groups:
        return self._store.views.groups

    def _taken(self, id_: int) -> bool:
        return id_ in self._records or id_ in self._payloads or self._store.file.locate(id_) is not None

    @property
    def records(self) -> Mapping[int, Record]:
        """The records this batch puts, by id."""
        return self._records

    def writes(self) -> Iterator[Write]:
        """The frames of the batch, in order."""
        for id_, struck in self._struck.items():  # before the version that stays
            yield Write(int(struck), id_, b"", DELETED | PURGED)
        for id_, record in self._records.items():
            unknown = self._unknown.get(id_, {})
            if id_ not in self._new and id_ not in self._unknown:
                with suppress(Corrupt):  # a damaged version is replaced like any other
                    if (before := self._store.file.fetch(id_, kind=record.KIND)) is not None:
                        unknown = codec.unknown_fields(record.KIND, before[2])
            yield Write(int(record.KIND), id_, codec.encode(record, unknown))
        for id_, (kind, payload) in self._payloads.items():
            yield Write(int(kind), id_, payload)
        for id_, (kind, flags) in self._deletes.items():
            yield Write(int(kind), id_, b"", flags)


def _with_id(record: R, id_: int) -> R:
    if not id_:
        raise InvalidRequest("a record needs an id", field="id")
    return msgspec.structs.replace(record, id=id_)
