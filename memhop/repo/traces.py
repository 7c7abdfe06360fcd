"""What records have left in the log: every version of them, and the rows which vectors and token ids keep for each.

The owner of a row is made of a record's id and text (`views.owner_of`), so an older wording has rows of its own, also
in slabs that were joined into others and are no longer live.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memhop.common.errors import Corrupt
from memhop.core.meh_file import DELETED, PURGED
from memhop.index.tokenizer import tokenize
from memhop.repo import codec, vectors
from memhop.repo.record import Kind, Record
from memhop.repo.views import owner_of

if TYPE_CHECKING:
    from memhop.repo.store import Store


class Rows(NamedTuple):
    """The rows of some owners in one slab: the bytes of each vector, or of the token ids or codes of each unit."""

    slab: int
    kind: Kind
    space: int
    rows: tuple[bytes, ...]


class Traces(NamedTuple):
    """What was found. `versions` are oldest first; `unreadable` has the id of each version whose bytes are damaged."""

    versions: tuple[Record, ...]
    unreadable: tuple[int, ...]
    owners: frozenset[int]
    slabs: tuple[Rows, ...]

    def terms(self) -> frozenset[str]:
        """The terms under which any of the versions was found."""
        units = (version.unit() for version in self.versions)
        return frozenset(term for unit in units if unit for term in tokenize(unit.text))


def traces(store: Store, ids: Collection[int], owners: Collection[int] = ()) -> Traces:
    """Walk the log from its first frame to its last.

    Args:
        ids: Of the records.
        owners: Look for the rows of these as well.

    Cost: 2 us per frame, and reading the slabs.
    """
    versions: list[Record] = []
    unreadable: list[int] = []
    slabs: list[tuple[int, int, int]] = []
    for ref in store.file.frames():
        if ref.flags & DELETED:
            continue
        if ref.kind in codec.SLAB_KINDS:
            slabs.append((ref.offset, ref.kind, ref.id))
        elif ref.id in ids and ref.kind in codec.RECORD_TYPES:
            try:
                versions.append(codec.decode(*store.file.read(ref.offset), ref.offset))
            except Corrupt:
                unreadable.append(ref.id)
    units = ((version.id, version.unit()) for version in versions)
    wanted = frozenset(owners).union(owner_of(id_, unit) for id_, unit in units if unit is not None)
    found = tuple(rows for slab in slabs if (rows := _rows(store, *slab, wanted))) if wanted else ()
    return Traces(tuple(versions), tuple(unreadable), wanted, found)


def _rows(store: Store, offset: int, kind: int, id_: int, owners: Collection[int]) -> Rows | None:
    try:
        slab = read_slab(store, offset, kind)
    except Corrupt:
        return None  # nobody can read its rows, and compaction is refused while it is live
    at = np.flatnonzero(np.isin(slab.owners, np.array(sorted(owners), dtype=np.uint64))).tolist()
    if not at:
        return None
    if isinstance(slab, vectors.VectorSlab):
        return Rows(id_, Kind(kind), slab.space, tuple(slab.matrix[row].tobytes() for row in at))
    bounds = slab.offsets
    held = slab.tokens if isinstance(slab, vectors.TokenSlab) else slab.codes
    return Rows(id_, Kind(kind), slab.space, tuple(held[bounds[row] : bounds[row + 1]].tobytes() for row in at))


def read_slab(store: Store, offset: int, kind: int) -> vectors.Slab:
    """The slab at `offset`, live or not. Raises Corrupt."""
    return vectors.decode_slab(kind, store.file.buffer(*store.file.payload_at(offset)), offset)


def orphaned_slabs(store: Store) -> Iterator[tuple[Kind, int]]:
    """(kind, id) of slabs that are no longer live but hold rows of purged records.

    A history that is kept would carry them along, so they are struck out before. What their other owners had in them
    is then gone from the past as well; in the present it stands in the slab they were joined into.

    Cost: as `traces`.
    """
    purged = {ref.id for ref in store.file.frames() if ref.flags & PURGED and ref.kind in codec.RECORD_TYPES}
    if purged:
        for rows in traces(store, purged).slabs:
            if store.file.locate(rows.slab) is None:
                yield rows.kind, rows.slab


def remaining_terms(store: Store, terms: Collection[str]) -> tuple[int, int]:
    """How many of these terms the vocabulary no longer has, and how many it has although no live unit holds them."""
    with store.lock:
        views = store.views
        there = set(views.bm25.terms()).intersection(terms)
        live = views.units.live
        stale = sum(1 for term in there if not views.bm25.document_frequency(term, live))
    return len(terms) - len(there), stale


def unit_of_row(store: Store, kind: int, frame: int, at: int) -> tuple[int, int]:
    """Whose row of a slab covers byte `at` of the file: its owner, and the id of the live unit of that name or 0.

    Args:
        frame: Offset of the slab's frame.

    Raises:
        Corrupt: the slab cannot be read.
    """
    slab = read_slab(store, frame, kind)
    start, length = store.file.payload_at(frame)
    if isinstance(slab, vectors.VectorSlab):
        first, row_bytes = start + length - slab.matrix.nbytes, slab.matrix.strides[0]
        row = (at - first) // row_bytes
    else:
        # A find within the token ids of a context slab is in front of the codes, and laid to its first row.
        held = slab.tokens if isinstance(slab, vectors.TokenSlab) else slab.codes
        first = start + length - held.nbytes
        row = int(np.searchsorted(slab.offsets, (at - first) // max(1, held.strides[0]), side="right")) - 1
    row = min(max(row, 0), len(slab.owners) - 1)
    owner = int(slab.owners[row])
    with store.lock:
        views = store.views
        ordinal = int(views.ordinals(slab.owners[row : row + 1])[0])
        return owner, int(views.units.ids[ordinal]) if ordinal >= 0 else 0
