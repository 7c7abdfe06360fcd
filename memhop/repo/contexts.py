"""On which basis token vectors are stored, and when a memory gets another one.

While a space has fewer than `FIT_UNITS` units with token vectors, there is too little to know in which directions they
differ: their numbers are stored as the model gave them, rounded to int8. The commit that reaches `FIT_UNITS` fits a
basis to what is stored and what it brings; slabs from then on name it, and the next gathering of small slabs projects
the older rows, for which the model is not needed. Once there are `REFIT` times as many units as a basis was fitted for,
another one is fitted, to the new units and a sample of the old; rows on an older basis stay as they are, a sixteenth
of all, until their text is embedded again. A million units have seen four bases.

A basis is a mean over some hundred units or more. It outlives the erasure of one of them, of which it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from memhop.common.errors import Corrupt
from memhop.index.contextual import decode_rows, encode_rows, fit_basis
from memhop.repo import vectors
from memhop.repo.record import Kind
from memhop.repo.slabs import put_contexts
from memhop.repo.vectors import ContextSlab, Space, TokenBasis, bases_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

_T = TypeVar("_T", np.float32, np.int8)
WIDTH: Final = 64  # directions kept; models of fewer dimensions are stored as they are
FIT_UNITS: Final = 256
REFIT: Final = 16
FIT_TOKENS: Final = 16_384  # vectors a basis is fitted to, half of them new where it is fitted again


def current_basis(store: Store, space: int) -> TokenBasis | None:
    """The newest usable basis of a space."""
    for _, basis in store.listed(TokenBasis, bases_of(space), limit=100, descending=True):
        try:
            basis.rows()
        except Corrupt:
            continue
        return basis
    return None


def basis_for(
    store: Store, batch: Batch, space: Space, units: int, fresh: Sequence[NDArray[np.float32]]
) -> TokenBasis | None:
    """The basis for the token vectors of some units, put into the batch if it is a new one. None: as they are.

    Call it under the store's lock.

    Args:
        units: How many units the space has token vectors of, with these.
        fresh: The token vectors of each new unit, [tokens, dim].
    """
    if space.dim <= WIDTH:
        return None
    known = current_basis(store, space.id)
    if units < (REFIT * known.units if known else FIT_UNITS):
        return known
    new = np.concatenate(fresh)
    old = _stored(store, space, FIT_TOKENS // 2 if known else FIT_TOKENS)
    sample = np.concatenate([_every(new, FIT_TOKENS - len(old)), old])
    if len(sample) < WIDTH:
        return known
    return batch.new(
        TokenBasis(
            space=space.id,
            units=units,
            dim=space.dim,
            width=WIDTH,
            matrix=fit_basis(sample, WIDTH).astype("<f4").tobytes(),
            created_at=store.clock.now_ms(),
        ),
        space.id,
        units,
    )


def put_units(
    store: Store,
    batch: Batch,
    space: Space,
    found: Mapping[int, tuple[NDArray[np.unsignedinteger], NDArray[np.float32]]],
    why: object,
) -> None:
    """Slabs of token vectors, and their basis if it is time for one. Call it under the store's lock.

    Args:
        found: By owner: token ids, and their vectors, rows of length 1.
        why: As for `slabs.put_contexts`.
    """
    units = len(store.views.contexts(space.id).owners()) + len(found)
    basis = basis_for(store, batch, space, units, [rows for _, rows in found.values()])
    matrix = basis.rows() if basis else None
    codes = [encode_rows(rows, matrix) for _, rows in found.values()]
    tokens = [ids for ids, _ in found.values()]
    put_contexts(batch, space.id, basis.id if basis else 0, list(found), tokens, codes, why)


def projected(slab: ContextSlab, basis: TokenBasis) -> ContextSlab:
    """A slab of the model's own numbers, put on a basis."""
    codes = encode_rows(decode_rows(slab.codes, None), basis.rows())
    return slab._replace(basis=basis.id, codes=codes)


def _stored(store: Store, space: Space, most: int) -> NDArray[np.float32]:
    """A sample of the token vectors in the file, at most so many."""
    found = [np.zeros((0, space.dim), np.float32)]
    left = most
    slabs = store.views.slabs(space.id, Kind.CONTEXT_SLAB)
    for number, id_ in enumerate(slabs):
        located = store.file.locate(id_)
        if located is None:
            continue
        try:
            slab = vectors.decode_contexts(store.file.buffer(*store.file.payload_at(located[1])), located[1])
            matrix = store.views.basis(slab.basis) if slab.basis else None
        except Corrupt:
            continue
        width = space.dim if matrix is None else len(matrix)
        if slab.codes.shape[1] == width:
            codes = _every(slab.codes, left // (len(slabs) - number))
            found.append(decode_rows(codes, matrix))
            left -= len(codes)
    return np.concatenate(found)


def _every(rows: NDArray[_T], most: int) -> NDArray[_T]:
    """At most so many of the rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.arange(most) * len(rows) // max(1, most)]
