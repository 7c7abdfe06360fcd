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
from memhop.repo.contents import Difference, contents, differences, rows_of, without_ids
from memhop.repo.record import Kind
from memhop.repo.references import may_name, references
from memhop.repo.vectors import Space
from memhop.repo.views import Views

if TYPE_CHECKING:
    from memhop.core.snapshot import Snapshot
    from memhop.repo.store import Store

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
        views = store.views
        snapshot = store.file.snapshot()
        spaces_in_use, vocabulary = views.spaces_in_use(), views.vocabulary_in_use
        try:
            held = contents(views) | rows_of(*spaces_in_use)
        except (Corrupt, IndexError, ValueError) as error:
            held = {}
            reason = str(error)
    found = _Found(snapshot)
    records = _Records(snapshot, found)
    if not held:
        found.add(0, f"the views do not fit together: {reason}")
        return found.checked(records.references, {})
    rebuilt = Views(snapshot, anew=True)
    fresh = contents(rebuilt) | rows_of(
        {id_: rebuilt.vectors(id_, space.dim) for id_, space in records.spaces.items()},
        {id_: rebuilt.tokens(id_) for id_ in records.spaces},
    )
    compared = {name: len(table) for name, table in fresh.items()}
    for name, used in (("vectors", [*spaces_in_use[0]]), ("tokens", [*spaces_in_use[1]])):
        used = [] if records.slabs_damaged else used  # a space that is not in use will be built when it is asked for
        fresh[name], held[name] = fresh[name].among("space", used), held[name].among("space", used)
    held, fresh = (without_ids(tables, records.damaged) for tables in (held, fresh))
    for name, table in fresh.items():
        for difference in differences(held[name], table):
            found.add_difference(name, difference)
    for term in rebuilt.bm25.terms():
        if vocabulary is not None and term not in vocabulary:
            found.add(0, f"vocabulary: {term!r} is missing")
    return found.checked(records.references, compared)


class _Found:
    """Problems, counted, and listed up to a limit."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._problems: list[Problem] = []
        self._count = 0

    def add(self, offset: int, what: str, kind: int = 0, id_: int = 0) -> None:
        self._count += 1
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(Problem(offset, what, kind, id_))

    def add_difference(self, view: str, difference: Difference) -> None:
        row = difference.row
        said = ", ".join(f"{name} {to_hex(value) if name in _HASHES else value}" for name, value in row.items())
        id_ = row.get("id", 0)
        kind, offset = self._snapshot.locate(id_) or (0, 0)
        self.add(offset, f"{view}: {'missing' if difference.missing else 'one too many'}: {said}", kind, id_)

    def checked(self, followed: int, views: dict[str, int]) -> Checked:
        return Checked(tuple(self._problems), self._count, followed, views)


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
            self._follow(offset, kind, id_, "space", vectors.slab_space(payload, offset), Kind.SPACE.__eq__)

    def _follow(self, offset: int, kind: int, id_: int, field: str, target: int, fits: Callable[[int], bool]) -> None:
        self.references += 1
        located = self._snapshot.locate(target)
        if located is None:
            self._found.add(offset, f"{field} names {to_hex(target)}, which is not there", kind, id_)
        elif not fits(located[0]):
            is_ = Kind(located[0]).name.lower() if located[0] in set(Kind) else f"{located[0]:#04x}"
            self._found.add(offset, f"{field} names {to_hex(target)}, which is of kind {is_}", kind, id_)
