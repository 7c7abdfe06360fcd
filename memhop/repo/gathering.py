"""Joining small slabs of vectors and token ids into large ones, leaving out rows whose owner is gone.

Token vectors stored before the space had a basis are put on it on the way (`repo/contexts.py`).

Vectors arrive in as many slabs as there were backfills. A checkpoint joins them once there are enough small ones; their
frames become dead space. A compaction rewrites every slab that holds a row of nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memhop.common.errors import Corrupt
from memhop.repo import vectors
from memhop.repo.contexts import current_basis, projected
from memhop.repo.record import Kind, all_of
from memhop.repo.slabs import put_contexts, put_tokens, put_vectors
from memhop.repo.vectors import ContextSlab, EmbedFailure, Slab, Space, TokenBasis, VectorSlab

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.batch import Batch
    from memhop.repo.store import Store
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
    basis = current_basis(store, space.id)
    for kind in (Kind.VECTOR_SLAB, Kind.TOKEN_SLAB, Kind.CONTEXT_SLAB):
        small: dict[int, list[_Kept]] = {}  # by the basis the rows will be on
        for id_ in views.slabs(space.id, kind):
            located = store.file.locate(id_)
            if located is None:
                continue
            try:
                slab = vectors.decode_slab(kind, store.file.buffer(*store.file.payload_at(located[1])), located[1])
            except Corrupt:
                continue  # its units are embedded again; a checkpoint must not fail for it
            bare = isinstance(slab, ContextSlab) and not slab.basis
            if isinstance(slab, VectorSlab) and slab.matrix.shape[1] != space.dim:
                continue  # of no use to a search either, and it cannot be joined with the others
            if isinstance(slab, ContextSlab) and bare and slab.codes.shape[1] != space.dim:
                continue
            if len(slab.owners) >= GATHER_ROWS and not everything and not (bare and basis):
                continue
            rows = views.ordinals(slab.owners) >= 0
            if len(slab.owners) < GATHER_ROWS or not rows.all() or (bare and basis):
                target = (basis.id if bare and basis else slab.basis) if isinstance(slab, ContextSlab) else 0
                small.setdefault(target, []).append(_Kept(id_, slab, rows))
        for target, kept in small.items():
            outdated = any(isinstance(one.slab, ContextSlab) and one.slab.basis != target for one in kept)
            orphans = everything and any(not one.rows.all() for one in kept)
            if len(kept) >= GATHER_SLABS or outdated or orphans:
                for one in kept:
                    batch.delete(kind, one.id, purge=everything)
                _write_joined(batch, space.id, basis, kept)


class _Kept(NamedTuple):
    id: int
    slab: Slab
    rows: NDArray[np.bool_]  # those whose owner lives


def _write_joined(batch: Batch, space: int, basis: TokenBasis | None, kept: list[_Kept]) -> None:
    owners = np.concatenate([one.slab.owners[one.rows] for one in kept])
    if not len(owners):
        return
    matrices = [one.slab.matrix[one.rows] for one in kept if isinstance(one.slab, VectorSlab)]
    if matrices:
        put_vectors(batch, space, owners, np.concatenate(matrices), "joined")
        return
    target = 0
    tokens: list[Any] = []
    codes: list[Any] = []
    for _, slab, rows in kept:
        if isinstance(slab, ContextSlab) and not slab.basis and basis is not None:
            slab = projected(slab, basis)
        ends = slab.offsets.tolist()  # type: ignore[union-attr]
        for row in np.flatnonzero(rows).tolist():
            part = slice(ends[row], ends[row + 1])
            tokens.append(slab.tokens[part])  # type: ignore[union-attr]
            if isinstance(slab, ContextSlab):
                target = slab.basis
                codes.append(slab.codes[part])
    if codes:
        put_contexts(batch, space, target, owners.tolist(), tokens, codes, "joined")
    else:
        put_tokens(batch, space, owners.tolist(), tokens, "joined")
