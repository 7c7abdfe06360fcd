"""Writing slabs: rows in, frames of a size that a file takes out.

All rows of an owner go into one slab, for the slab that was written last speaks for an owner alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from memhop.repo import vectors
from memhop.repo.record import Kind
from memhop.repo.vectors import MAX_SLAB_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.batch import Batch

_PER_OWNER = 16  # bytes beside the rows themselves: the name of the owner, and where its row ends


def put_vectors(batch: Batch, space: int, owners: NDArray[np.uint64], matrix: NDArray[np.float32], why: object) -> None:
    """Vector slabs of these rows; rows of one owner stand together.

    Args:
        why: Part of the ids of the slabs, which are made of it and of the first owner.
    """
    firsts = np.flatnonzero(np.diff(owners, prepend=owners[:1] + np.uint64(1)) != 0)
    ends = [*firsts[1:].tolist(), len(owners)]
    sizes = np.diff(np.array([0, *ends])) * (matrix.shape[1] * 4 + 8)
    for part in _parts(sizes.tolist()):
        rows = slice(int(firsts[part.start]), ends[part.stop - 1])
        payload = vectors.encode_vectors(space, owners[rows].tolist(), matrix[rows])
        batch.put_payload(Kind.VECTOR_SLAB, payload, space, why, int(owners[rows.start]))


def put_tokens(
    batch: Batch, space: int, owners: Sequence[int], rows: Sequence[NDArray[np.unsignedinteger]], why: object
) -> None:
    """Token slabs; row i belongs to owner i."""
    for part in _parts([_PER_OWNER + 4 * len(row) for row in rows]):
        payload = vectors.encode_tokens(space, owners[part], rows[part])
        batch.put_payload(Kind.TOKEN_SLAB, payload, space, why, owners[part.start])


def put_contexts(
    batch: Batch,
    space: int,
    basis: int,
    owners: Sequence[int],
    tokens: Sequence[NDArray[np.unsignedinteger]],
    codes: Sequence[NDArray[np.int8]],
    why: object,
) -> None:
    """Context slabs; tokens and codes of row i belong to owner i."""
    for part in _parts([_PER_OWNER + 4 * len(row) + row.size for row in codes]):
        payload = vectors.encode_contexts(space, basis, owners[part], tokens[part], codes[part])
        batch.put_payload(Kind.CONTEXT_SLAB, payload, space, basis, why, owners[part.start])


def _parts(sizes: Sequence[int]) -> Iterator[slice]:
    """Consecutive rows of at most MAX_SLAB_BYTES together; a larger row by itself."""
    start = total = 0
    for row, size in enumerate(sizes):
        if row > start and total + size > MAX_SLAB_BYTES:
            yield slice(start, row)
            start, total = row, 0
        total += size
    if len(sizes) > start:
        yield slice(start, len(sizes))
