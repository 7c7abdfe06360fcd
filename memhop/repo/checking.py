"""What core cannot check: records that can be read, references that resolve, views that equal what the log says.

Everything is checked as of one moment. The store's lock is held while that moment is kept: as long as sealing the views
into one part takes, about a second per million units. Reading the records and building the views anew, which is
where the time goes, happens beside whoever is writing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memhop.common.errors import Corrupt
from memhop.common.ids import to_hex
from memhop.core.verify import MOST_PROBLEMS, Problem
from memhop.repo import codec, vectors
from memhop.repo.contents import Difference, contents, differences, rows_of, sealed, without_ids
from memhop.repo.record import Kind
from memhop.repo.references import may_name, references
from memhop.repo.vectors import Space, TokenBasis
from memhop.repo.views import Views

if TYPE_CHECKING:
    from memhop.core.snapshot import Snapshot
    from memhop.repo.store import Store

_UNFIT = (Corrupt, IndexError, ValueError)  # parts whose checksums hold and which make no sense
_HASHES = frozenset(("key", "id", "term", "text", "owner", "space", "digest"))  # columns shown as 16 hex digits


class Checked(NamedTuple):
    """What was found. `references` were followed; `views` says how many rows of each view were compared.

    A difference between views has the offset of the record it concerns, 0 where there is none.
    """

    problems: tuple[Problem, ...]  # the first MOST_PROBLEMS
    problem_count: int
    references: int
    views: dict[str, int]


def check(store: Store) -> Checked:
    """Check every record, every reference and every view of a file.

    Cost: as rebuilding all views, in time and memory, and reading every record once more.
    """
    with store.lock:
        moment = _Moment(store.views, store.file.snapshot())
    found = _Found(moment.snapshot)
    records = _Records(moment.snapshot, found)
    try:
        compared = _compare(moment, records, found)
    except _UNFIT as error:
        found.add(0, f"the views do not fit together: {error.what if isinstance(error, Corrupt) else error}")
        compared = {}
    return Checked(tuple(found.problems), found.count, records.references, compared)


class _Moment:
    """What there is to check, kept. Made under the store's lock."""

    def __init__(self, views: Views, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.vocabulary = views.vocabulary_in_use
        self.spaces = [frozenset(spaces) for spaces in views.spaces_in_use()]  # others are mapped when asked for
        self.rows = rows_of(*views.spaces_in_use())
        self.fault: Exception | None = None
        try:
            self.sealed = sealed(views)
        except _UNFIT as error:
            self.fault = error


def _compare(moment: _Moment, records: _Records, found: _Found) -> dict[str, int]:
    """Add what differs from views built anew. Returns how many rows of each view were built. Raises as `contents`."""
    if moment.fault is not None:
        raise moment.fault
    rebuilt = Views(moment.snapshot, anew=True)
    fresh = contents(sealed(rebuilt)) | rows_of(
        {id_: rebuilt.vectors(id_, space.dim) for id_, space in records.spaces.items()},
        {id_: rebuilt.tokens(id_) for id_ in records.spaces},
        {id_: rebuilt.contexts(id_) for id_ in records.spaces},
    )
    compared = {name: len(table) for name, table in fresh.items()}
    held = contents(moment.sealed) | moment.rows
    for name, spaces in zip(("vectors", "tokens", "contexts"), moment.spaces, strict=True):
        sound = () if records.slabs_damaged else spaces & records.spaces.keys()
        held[name], fresh[name] = held[name].among("space", sound), fresh[name].among("space", sound)
    held, fresh = (without_ids(tables, records.damaged) for tables in (held, fresh))
    for name, table in fresh.items():
        for difference in differences(held[name], table):
            found.add_difference(name, difference)
    if moment.vocabulary is not None:
        for term in rebuilt.bm25.terms():
            if term not in moment.vocabulary:
                found.add(0, f"vocabulary: {term!r} is missing")
    return compared


class _Found:
    """Problems, counted, and listed up to a limit."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.problems: list[Problem] = []
        self.count = 0
        self._snapshot = snapshot

    def add(self, offset: int, what: str, kind: int = 0, id_: int = 0) -> None:
        self.count += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(offset, what, kind, id_))

    def add_difference(self, view: str, difference: Difference) -> None:
        row = difference.row
        said = ", ".join(f"{name} {to_hex(value) if name in _HASHES else value}" for name, value in row.items())
        id_ = row.get("id", 0)
        kind, offset = self._snapshot.locate(id_) or (0, 0)
        self.add(offset, f"{view}: {'missing' if difference.missing else 'one too many'}: {said}", kind, id_)


class _Records:
    """Reads every record, and follows its references.

    Attributes:
        references: How many were followed.
        spaces: The vector spaces, by id.
        damaged: Ids of records that cannot be read: of no view anything is expected about them.
        slabs_damaged: Some of them are slabs.
    """

    def __init__(self, snapshot: Snapshot, found: _Found) -> None:
        self.references = 0
        self.spaces: dict[int, Space] = {}
        self.damaged: set[int] = set()
        self.slabs_damaged = False
        self._snapshot = snapshot
        self._found = found
        slabs: list[tuple[int, int, int]] = []
        for offset, kind, id_ in sorted((offset, kind, id_) for id_, kind, offset in snapshot.live()):
            if kind in codec.SLAB_KINDS:
                slabs.append((offset, kind, id_))
            elif kind in codec.RECORD_TYPES:
                self._record(offset, kind, id_)
        for offset, kind, id_ in slabs:
            self._slab(offset, kind, id_)

    def _record(self, offset: int, kind: int, id_: int) -> None:
        try:
            payload = self._snapshot.read(offset)[2]
        except Corrupt:  # the check of all bytes has named it
            self.damaged.add(id_)
            return
        try:
            record = codec.decode(kind, id_, payload, offset)
        except Corrupt as error:
            self.damaged.add(id_)
            self._found.add(offset, error.what, kind, id_)
            return
        if isinstance(record, Space):
            self.spaces[id_] = record
        elif isinstance(record, TokenBasis):
            try:
                record.rows()
            except Corrupt as error:
                self.slabs_damaged = True
                self._found.add(offset, error.what, kind, id_)
        for field, target in references(record):
            self._follow(offset, kind, id_, field, target, partial(may_name, type(record), field))

    def _slab(self, offset: int, kind: int, id_: int) -> None:
        try:
            payload = self._snapshot.buffer(*self._snapshot.payload_at(offset))
        except Corrupt:
            self.damaged.add(id_)
            self.slabs_damaged = True
            return
        fault = vectors.slab_fault(kind, payload, self.spaces)
        if fault:
            self.slabs_damaged = True
            self._found.add(offset, fault, kind, id_)
        else:
            for field, target, wanted in vectors.slab_references(kind, payload, offset):
                self._follow(offset, kind, id_, field, target, wanted.__eq__)

    def _follow(self, offset: int, kind: int, id_: int, field: str, target: int, fits: Callable[[int], bool]) -> None:
        self.references += 1
        located = self._snapshot.locate(target)
        if located is None:
            self._found.add(offset, f"{field} names {to_hex(target)}, which is not there", kind, id_)
        elif not fits(located[0]):
            is_ = Kind(located[0]).name.lower() if located[0] in set(Kind) else f"{located[0]:#04x}"
            self._found.add(offset, f"{field} names {to_hex(target)}, which is of kind {is_}", kind, id_)
