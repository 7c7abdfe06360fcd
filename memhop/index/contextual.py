"""Late interaction with a contextual model: every token of a unit has a vector of its own, kept in a byte per number.

A vector of some hundred float32 numbers for each token would be fifty times the text. So tokens are projected on the
directions in which the memory's own tokens differ most (PCA) and rounded to int8. A row's length is not kept: only the
direction counts, so each row is scaled to fill its bytes and divided by its own length when it is compared. On LoCoMo
64 directions of 384 find what all of them find.

A slab says on which *basis* its rows were projected, and rows of different bases stand side by side: the question's
tokens are projected on each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.late import OrdinalsOf, TokenIndex, Tokens
from memhop.index.parts import ranges, to_offsets
from memhop.index.slabs import SlabIndex, Slabs

_TINY: Final = 1e-12
_EXACT: Final = 1 << 24  # integers up to here are float32 numbers
_PRODUCT: Final = 200_000  # multiplications of one matrix product: below what makes BLAS start threads


def fit_basis(vectors: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """The directions in which these vectors lie, the main ones first: principal components about the origin.

    About the origin, because tokens are compared by their cosine: the mean direction is kept like any other.

    Args:
        vectors: [n, dim], rows of length 1.
        width: Number of directions, at most dim.

    Returns:
        Orthonormal rows, [width, dim]; each with a sign of its own, but always the same for the same vectors.

    Cost: n * dim^2, and dim^3 * 10.
    """
    wide = vectors.astype(np.float64)
    _, directions = np.linalg.eigh(wide.T @ wide)  # ascending
    basis = directions[:, ::-1][:, :width].T
    largest = basis[np.arange(len(basis)), np.abs(basis).argmax(axis=1)]
    return np.ascontiguousarray(basis * np.sign(largest)[:, None], dtype=np.float32)


def encode_rows(vectors: NDArray[np.float32], basis: NDArray[np.float32] | None) -> NDArray[np.int8]:
    """Rows projected on the basis (None: as they are) and scaled to -127..127; zeros for one without a direction."""
    projected = vectors if basis is None else vectors @ basis.T
    largest = np.abs(projected).max(axis=1, keepdims=True, initial=0.0)
    scaled = projected * (127.0 / np.where(largest > _TINY, largest, 1.0))
    return np.where(largest > _TINY, np.rint(scaled), 0.0).astype(np.int8)


def decode_rows(codes: NDArray[np.int8], basis: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """The rows that `encode_rows` was given, as far as the codes tell: length 1, or zeros."""
    rows = codes.astype(np.float32)
    if basis is not None:
        rows = rows @ basis
    unit: NDArray[np.float32] = rows / _norms(rows)[:, None]
    return unit


class ContextIndex(SlabIndex["_ContextRows"]):
    """Token vectors of one space. One thread at a time; the caller holds the lock. See `slabs` for put and drop."""

    def __init__(self) -> None:
        super().__init__(Slabs(alike=lambda one, other: one.basis is other.basis))
        self._ids = TokenIndex()  # how many units hold a token

    def put(
        self,
        key: int,
        owners: NDArray[np.uint64],
        offsets: NDArray[Any],
        tokens: Tokens,
        codes: NDArray[np.int8],
        basis: NDArray[np.float32] | None,
    ) -> None:
        """Add a slab under `key`, in place of what that key had.

        Args:
            owners: Unit ids, [n], each once. Earlier slabs' rows of these owners no longer count.
            offsets: [n + 1], ascending from 0 to len(tokens).
            tokens: Ids of the tokens, u2 or u4.
            codes: Their vectors, [len(tokens), width]. A large slab is kept as it is, not copied.
            basis: On which they were projected, [width, dim]; the same object for the same basis.

        Raises:
            InvalidRequest: what is said above does not hold. Nothing was changed.

        Cost: reads the ids once, the vectors not at all.
        """
        if codes.dtype != np.int8 or codes.ndim != 2 or len(codes) != len(tokens):
            raise InvalidRequest(f"{codes.dtype}{codes.shape} for {len(tokens)} tokens", field="codes")
        if basis is not None and (basis.ndim != 2 or len(basis) != codes.shape[1]):
            raise InvalidRequest(f"{codes.shape[1]} numbers on a basis of {basis.shape}", field="basis")
        self._ids.put(key, owners, offsets, tokens)
        if len(owners):
            rows = _ContextRows(np.asarray(offsets, np.int64), tokens, codes, basis)
            self._slabs.put(key, np.asarray(owners, np.uint64), rows)
        else:
            self._slabs.drop(key)

    def drop(self, key: int) -> bool:
        """Remove the slab; says whether any of its rows still counted."""
        self._ids.drop(key)
        return super().drop(key)

    def contents(self) -> Iterator[tuple[int, bytes]]:
        """(owner, its token ids as u4 and their codes) of every row that counts, in no order of meaning."""
        for owners, rows in self._slabs.rows():
            ends = rows.offsets.tolist()
            for place, owner in enumerate(owners.tolist()):
                part = slice(ends[place], ends[place + 1])
                yield owner, rows.tokens[part].astype("<u4").tobytes() + rows.codes[part].tobytes()

    def idf(self, tokens: NDArray[Any]) -> NDArray[np.float32]:
        """ln(1 + (N - n + 0.5) / (n + 0.5)) of each token id, N units of which n hold it."""
        return self._ids.idf(tokens)

    def best_similarities(
        self,
        asked: NDArray[np.float32],
        ordinals: NDArray[np.int64],
        ordinals_of: OrdinalsOf,
        size: int,
        *,
        version: object,
    ) -> NDArray[np.float32]:
        """For each token of a question and each unit, the cosine of the unit's token that is nearest.

        Args:
            asked: The question's token vectors, [q, dim], rows of length 1.
            ordinals: Units, below `size`.
            ordinals_of, version: As for `VectorIndex.top`. size: Number of ordinals.

        Returns:
            [q, len(ordinals)], in about -1..1; 0 for a unit without a row.

        Raises:
            InvalidRequest: `asked` does not fit the slabs.

        Cost: q * width per token of the units; O(size) when `version` is a new one.
        """
        result = np.zeros((len(asked), len(ordinals)), np.float32)
        places = self._slabs.places(ordinals_of, size, version)[ordinals]
        base = 0
        for block in self._slabs:
            mine = np.flatnonzero((places >= base) & (places < base + len(block)))
            rows = places[mine] - base
            base += len(block)
            payload = block.payload
            starts = payload.offsets[rows]
            lengths = payload.offsets[rows + 1] - starts
            mine, starts, lengths = mine[lengths > 0], starts[lengths > 0], lengths[lengths > 0]
            if not len(mine):
                continue
            question = asked if payload.basis is None else asked @ payload.basis.T
            if question.shape[1] != payload.codes.shape[1]:
                raise InvalidRequest(f"{question.shape[1]} numbers, stored are {payload.codes.shape[1]}", field="asked")
            cosines = _cosines(question, payload.codes, starts, lengths)
            result[:, mine] = np.maximum.reduceat(cosines, to_offsets(lengths)[:-1].astype(np.int64), axis=1)
        return result


@dataclass(frozen=True, slots=True)
class _ContextRows:
    """Payload of a block: tokens of row i are `tokens[offsets[i] : offsets[i + 1]]`, and so are their codes."""

    offsets: NDArray[np.int64]
    tokens: Tokens
    codes: NDArray[np.int8]
    basis: NDArray[np.float32] | None

    def join(self, other: _ContextRows) -> _ContextRows:
        return _ContextRows(
            np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]),
            np.concatenate([self.tokens, other.tokens]),
            np.concatenate([self.codes, other.codes]),
            self.basis,
        )

    def take(self, rows: NDArray[np.bool_]) -> _ContextRows:
        lengths = np.diff(self.offsets)
        kept = np.repeat(rows, lengths)
        return _ContextRows(to_offsets(lengths[rows]).astype(np.int64), self.tokens[kept], self.codes[kept], self.basis)


def _cosines(
    question: NDArray[np.float32], codes: NDArray[np.int8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.float32]:
    """[q, tokens] of the rows one after the other.

    The question is rounded as well, as finely as leaves every sum of products below 2^24: then float32 holds each of
    them exactly, and a matrix product gives the same in whatever order it adds. A score must not depend on where in
    the index a unit stands.
    """
    finest = max(1, _EXACT // (127 * question.shape[1]))
    largest = np.abs(question).max(axis=1, keepdims=True, initial=0.0)
    rounded = np.rint(question * (finest / np.where(largest > _TINY, largest, 1.0))).astype(np.float32)
    asked = _norms(rounded)[:, None]
    places = ranges(starts, lengths)
    cosines = np.empty((len(question), len(places)), np.float32)
    step = max(16, _PRODUCT // max(1, question.size))
    for start in range(0, len(places), step):
        part = codes[places[start : start + step]].astype(np.float32)
        column = cosines[:, start : start + step]
        np.matmul(rounded, part.T, out=column)
        column /= asked * _norms(part)
    return cosines


def _norms(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lengths; 1 for rows without."""
    norms: NDArray[np.float32] = np.sqrt(np.vecdot(rows, rows))
    norms[norms <= _TINY] = 1.0
    return norms
