"""Joining small slabs of vectors and token ids into large ones, leaving out rows whose owner is gone.

Vectors arrive in as many slabs as there were backfills. A checkpoint joins them once there are enough small ones; their
frames become dead space. A compaction rewrites every slab that holds a row of nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memhop.common.errors import Corrupt
from memhop.repo import vectors
from memhop.repo.record import Kind, all_of
from memhop.repo.vectors import EmbedFailure, Space

if TYPE_CHECKING:
    from memhop.repo.store import Batch, Store
    from memhop.repo.views import Views

MAX_SPACES = 1_000  # of one file; each is a model it was embedded with
GATHER_SLABS = 16  # slabs smaller than GATHER_ROWS that a checkpoint joins into one
GATHER_ROWS = 4_096


def gather(store: Store, views: Views, batch: Batch, *, everything: bool, keep_history: bool = False) -> None:
    """Put the joining of small slabs into `batch`. Call it under the store's lock.

    Args:
        everything: Also rewrite large slabs that hold rows of owners that are gone, and drop their failure records:
            before a compaction, so that nothing of an erased unit stays in the file.
        keep_history: Also strike out slabs of the past that hold rows of purged records.
    """
    for _, space in store.listed(Space, all_of(Kind.SPACE), limit=MAX_SPACES):
        _gather_space(store, views, batch, space, everything=everything)
    if everything:
        for failure in store.scan(EmbedFailure):
            if not views.has_owner(failure.owner):
                batch.delete(Kind.EMBED_FAILURE, failure.id, purge=True)
    if keep_history:
        from memhop.repo.traces import orphaned_slabs

        for kind, id_ in orphaned_slabs(store):
            batch.delete(kind, id_, purge=True)


def _gather_space(store: Store, views: Views, batch: Batch, space: Space, *, everything: bool) -> None:

    def alive(owners: Any) -> Any:
        return views.ordinals(owners) >= 0

    for kind in (Kind.VECTOR_SLAB, Kind.TOKEN_SLAB):
        small: list[tuple[int, Any, Any]] = []
        for id_ in views.slabs(space.id, kind):
            located = store.file.locate(id_)
            if located is None:
                continue
            decode = vectors.decode_vectors if kind == Kind.VECTOR_SLAB else vectors.decode_tokens
            try:
                slab: Any = decode(store.file.buffer(*store.file.payload_at(located[1])), located[1])
            except Corrupt:
                continue  # its units are embedded again; a checkpoint must not fail for it
            if kind == Kind.VECTOR_SLAB and slab.matrix.shape[1] != space.dim:
                continue  # of no use to a search either, and it cannot be joined with the others
            keep = alive(slab.owners) if everything or len(slab.owners) < GATHER_ROWS else None
            if keep is not None and (len(slab.owners) < GATHER_ROWS or not keep.all()):
                small.append((id_, slab, keep))
        worth_it = len(small) >= GATHER_SLABS or (everything and any(not k.all() for _, _, k in small))
        if not worth_it:
            continue
        for id_, _, _ in small:
            batch.delete(kind, id_, purge=everything)
        _write_joined(batch, kind, space.id, small)


def _write_joined(batch: Batch, kind: Kind, space: int, slabs: list[tuple[int, Any, Any]]) -> None:
    import numpy as np

    owners = np.concatenate([slab.owners[keep] for _, slab, keep in slabs])
    if not len(owners):
        return
    if kind == Kind.VECTOR_SLAB:
        matrix = np.concatenate([slab.matrix[keep] for _, slab, keep in slabs])
        rows_per_slab = max(1, vectors.MAX_SLAB_BYTES // (matrix.shape[1] * 4 + 8))
        for start in range(0, len(owners), rows_per_slab):
            part = slice(start, start + rows_per_slab)
            payload = vectors.encode_vectors(space, owners[part].tolist(), matrix[part])
            batch.put_payload(kind, payload, space, "joined", int(owners[start]))
        return
    rows = [
        slab.tokens[slab.offsets[row] : slab.offsets[row + 1]]
        for _, slab, keep in slabs
        for row in np.flatnonzero(keep)
    ]
    sizes = np.cumsum([8 + 4 + 4 * len(row) for row in rows])
    start = 0
    while start < len(rows):
        base = int(sizes[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(sizes, base + vectors.MAX_SLAB_BYTES)))
        payload = vectors.encode_tokens(space, owners[start:stop].tolist(), rows[start:stop])
        batch.put_payload(kind, payload, space, "joined", int(owners[start]))
        start = stop
