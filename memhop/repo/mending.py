"""Bringing records in order after a loss: references to what is not there are taken out, in one commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from memhop.repo import codec, vectors
from memhop.repo.record import Kind, Record
from memhop.repo.references import may_name, references, without
from memhop.repo.vectors import Space

if TYPE_CHECKING:
    from memhop.repo.store import Store


class Mended(NamedTuple):
    """A record that referred to something which is not there. It was dropped if nothing meaningful was left of it."""

    kind: int
    id: int
    gone: tuple[tuple[str, int], ...]  # (field, id)
    kept: bool


def unusable(kind: int, id_: int, payload: bytes) -> str:
    """Why a record cannot be read although its bytes are as they were written; "" if it can, or is of a newer build."""
    if kind in codec.SLAB_KINDS:
        return vectors.slab_fault(kind, memoryview(payload), {})
    return codec.fault_of(kind, payload) if kind in codec.RECORD_TYPES else ""


def mend(store: Store) -> tuple[Mended, ...]:
    """Take every reference out that does not resolve, and with it what then means nothing, and so on.

    A slab of vectors is dropped with its space or basis: its texts wait to be embedded again.

    Returns:
        What was changed or dropped, by id.

    Cost: reads every record, once more for each step of a chain of records that were dropped.
    """
    mending = _Mending(store)
    with store.writing() as batch:
        while mending.round():
            pass
        for record in mending.changed.values():
            batch.put(record)
        for id_, kind in mending.dropped.items():
            batch.delete(Kind(kind), id_)
    return tuple(mending.report())


class _Mending:
    def __init__(self, store: Store) -> None:
        self.changed: dict[int, Record] = {}
        self.dropped: dict[int, int] = {}  # id -> kind
        self._store = store
        self._gone: dict[int, dict[tuple[str, int], None]] = {}  # id -> (field, id), in the order found
        self._kinds: dict[int, int] = {}

    def round(self) -> bool:
        """Look at every record; says whether another look is needed because one was dropped."""
        before = len(self.dropped)
        spaces = {space.id: space for space in self._store.scan(Space)}
        for id_, kind, offset in self._store.file.live():
            if id_ in self.dropped:
                continue
            if kind in codec.SLAB_KINDS:
                self._slab(id_, kind, offset, spaces)
            elif kind in codec.RECORD_TYPES:
                self._record(id_, kind, offset)
        return len(self.dropped) > before

    def report(self) -> Iterator[Mended]:
        for id_, gone in sorted(self._gone.items()):
            yield Mended(self._kinds[id_], id_, tuple(gone), id_ not in self.dropped)

    def _record(self, id_: int, kind: int, offset: int) -> None:
        record = self.changed.get(id_) or codec.decode(*self._store.file.read(offset), offset)
        missing = {
            (field, target): None
            for field, target in references(record)
            if not self._resolves(type(record), field, target)
        }
        if not missing:
            return
        rest = without(record, {target for _, target in missing})
        self._note(id_, kind, missing)
        if rest is None:
            self.dropped[id_] = kind
            self.changed.pop(id_, None)
        else:
            self.changed[id_] = rest

    def _slab(self, id_: int, kind: int, offset: int, spaces: dict[int, Space]) -> None:
        payload = self._store.file.buffer(*self._store.file.payload_at(offset))
        needed = list(vectors.slab_references(kind, payload, offset))
        missing = [(field, target) for field, target, wanted in needed if not self._there(target, wanted)]
        if not missing and vectors.slab_fault(kind, payload, spaces):
            missing = [("space", vectors.slab_space(payload, offset))]
        if missing:
            self._note(id_, kind, dict.fromkeys(missing))
            self.dropped[id_] = kind

    def _there(self, target: int, kind: Kind) -> bool:
        located = self._store.file.locate(target)
        return located is not None and located[0] == kind and target not in self.dropped

    def _resolves(self, record_type: type[Record], field: str, target: int) -> bool:
        located = self._store.file.locate(target)
        return located is not None and target not in self.dropped and may_name(record_type, field, located[0])

    def _note(self, id_: int, kind: int, missing: dict[tuple[str, int], None]) -> None:
        self._kinds[id_] = kind
        self._gone.setdefault(id_, {}).update(missing)
