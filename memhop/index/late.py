"""Late interaction: units and questions compared token by token (MaxSim, Khattab and Zaharia 2020).

With a static model a token has the same vector wherever it stands, so a unit is fully described by its token ids, and
`TokenIndex` keeps nothing else: two bytes per token. A query needs one similarity row per query token, over the
distinct tokens of the candidates, and each unit's maximum in that row. Only distinct tokens of a unit matter, which is
why a row of tokens is kept ascending and without repeats; counting how many units hold a token is then counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.parts import ranges, to_offsets
from memhop.index.slabs import Block, SlabIndex, Slabs

OrdinalsOf: TypeAlias = Callable[[NDArray[np.uint64]], NDArray[np.int64]]
Tokens: TypeAlias = NDArray[Any]  # u2 or u4

_CHUNK = 1_024  # distinct tokens compared at a time


def best_similarities(
    query_tokens: NDArray[Any], table: NDArray[np.float32], offsets: NDArray[Any], tokens: Tokens
) -> NDArray[np.float32]:
    """For each query token and each unit, the cosine of the unit's token that is nearest.

    Args:
        query_tokens: Token ids, [q].
        table: A row of length 1 (or 0) per token of the vocabulary, [vocabulary, dim].
        offsets, tokens: The tokens of unit i are `tokens[offsets[i] : offsets[i + 1]]`.

    Returns:
        [q, units], in about -1..1; 0 for a unit without tokens.

    Raises:
        InvalidRequest: a token id is not in the table.

    Cost: q * (distinct tokens * dim + tokens).
    """
    units = len(offsets) - 1
    result = np.zeros((len(query_tokens), units), np.float32)
    if len(tokens) == 0 or len(query_tokens) == 0:
        return result
    for field, ids in (("query_tokens", query_tokens), ("tokens", tokens)):
        if int(ids.max()) >= len(table) or int(ids.min()) < 0:
            raise InvalidRequest(f"an id is outside of the {len(table)} tokens", field=field)
    present = np.zeros(len(table), np.bool_)
    present[tokens] = True
    distinct = np.flatnonzero(present)
    place = np.zeros(len(table), np.int32)
    place[distinct] = np.arange(len(distinct), dtype=np.int32)
    places = place[tokens]

    starts = np.asarray(offsets[:-1], np.int64)
    filled = np.flatnonzero(np.asarray(offsets[1:], np.int64) > starts)
    asked = table[query_tokens]
    similarity = np.empty((len(asked), len(distinct)), np.float32)
    for start in range(0, len(distinct), _CHUNK):
        chunk = table[distinct[start : start + _CHUNK]]
        np.vecdot(asked[:, None, :], chunk[None, :, :], out=similarity[:, start : start + len(chunk)])
    for row, similar in enumerate(similarity):
        result[row, filled] = np.maximum.reduceat(similar[places], starts[filled])
    return result


class TokenIndex(SlabIndex["_TokenRows"]):
    """Token ids of one vector space. One thread at a time; the caller holds the lock. See `slabs` for put and drop."""

    def __init__(self) -> None:
        super().__init__(Slabs())
        self._frequencies: tuple[int, NDArray[np.int64], int] | None = None

    def put(self, key: int, owners: NDArray[np.uint64], offsets: NDArray[Any], tokens: Tokens) -> None:
        """Add a slab under `key`, in place of what that key had.

        Args:
            owners: Unit ids, [n], each once. Earlier slabs' rows of these owners no longer count.
            offsets: [n + 1], ascending from 0 to len(tokens).
            tokens: u2 or u4. Kept as they are when each row ascends without repeats, else put in order in a copy.

        Raises:
            InvalidRequest: what is said above does not hold. Nothing was changed.

        Cost: reads the tokens once.
        """
        if tokens.dtype not in (np.dtype("u2"), np.dtype("u4")) or tokens.ndim != 1:
            raise InvalidRequest(f"{tokens.dtype}[{tokens.ndim}d]", field="tokens", allowed="u2 or u4, one-dimensional")
        ends = np.asarray(offsets, np.int64)
        lengths = np.diff(ends)
        if len(ends) != len(owners) + 1 or ends[0] != 0 or ends[-1] != len(tokens) or np.any(lengths < 0):
            raise InvalidRequest(f"{len(ends)} offsets for {len(owners)} rows of {len(tokens)} tokens", field="offsets")
        if len(np.unique(owners)) < len(owners):
            raise InvalidRequest("an owner has two rows", field="owners")
        if len(owners):
            self._slabs.put(key, np.asarray(owners, np.uint64), _TokenRows(*_in_order(ends, lengths, tokens)))
        else:
            self._slabs.drop(key)

    def contents(self) -> Iterator[tuple[int, bytes]]:
        """(owner, its token ids as u4, ascending) of every row that counts, in no order of meaning."""
        for owners, rows in self._slabs.rows():
            ends = rows.offsets.tolist()
            for place, owner in enumerate(owners.tolist()):
                yield owner, rows.tokens[ends[place] : ends[place + 1]].astype("<u4").tobytes()

    def document_frequency(self, tokens: NDArray[Any]) -> NDArray[np.int64]:
        """How many units hold each token. Cost: O(len(tokens)); after a put or drop
        also O(vocabulary), and a pass over the tokens of slabs that changed."""
        counts, _ = self._counted()
        wanted = np.asarray(tokens, np.int64)
        known = (wanted >= 0) & (wanted < len(counts))
        frequency = np.zeros(len(wanted), np.int64)
        frequency[known] = counts[wanted[known]]
        return frequency

    def idf(self, tokens: NDArray[Any]) -> NDArray[np.float32]:
        """ln(1 + (N - n + 0.5) / (n + 0.5)) of each token, N units of which n hold it."""
        frequency = self.document_frequency(tokens)
        _, units = self._counted()
        return np.log1p((units - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)

    def rows(
        self, ordinals: NDArray[np.int64], ordinals_of: OrdinalsOf, size: int, *, version: object
    ) -> tuple[NDArray[np.uint64], Tokens]:
        """The tokens of these units, as (offsets, tokens) for `best_similarities`; none for a unit without a row.

        Args:
            ordinals: Below `size`.
            ordinals_of, size, version: `ordinals_of` and `version` as for `VectorIndex.top`.

        Cost: the tokens returned; O(size) when `version` is a new one.
        """
        places = self._slabs.places(ordinals_of, size, version)[ordinals]
        lengths = np.zeros(len(ordinals), np.int64)
        found = []
        base = 0
        for block in self._slabs:
            mine = np.flatnonzero((places >= base) & (places < base + len(block)))
            rows = places[mine] - base
            base += len(block)
            starts = block.payload.offsets[rows]
            lengths[mine] = block.payload.offsets[rows + 1] - starts
            found.append((mine, starts, block.payload.tokens))
        offsets = to_offsets(lengths)
        width = np.result_type(np.uint16, *(tokens.dtype for _, _, tokens in found))
        gathered = np.zeros(int(offsets[-1]), width)
        for mine, starts, tokens in found:
            gathered[ranges(offsets[mine], lengths[mine])] = tokens[ranges(starts, lengths[mine])]
        return offsets, gathered

    def _counted(self) -> tuple[NDArray[np.int64], int]:
        """(units by token, units)."""
        if self._frequencies is None or self._frequencies[0] != self._slabs.changes:
            counted = [_count(block) for block in self._slabs]
            total = np.zeros(max((len(counts) for counts in counted), default=0), np.int64)
            for counts in counted:
                total[: len(counts)] += counts
            units = sum(int(np.count_nonzero(block.active)) for block in self._slabs)
            self._frequencies = (self._slabs.changes, total, units)
        return self._frequencies[1], self._frequencies[2]


@dataclass(frozen=True, slots=True)
class _TokenRows:
    """Payload of a block: tokens of row i are `tokens[offsets[i] : offsets[i + 1]]`, ascending, each once."""

    offsets: NDArray[np.int64]
    tokens: Tokens

    def join(self, other: _TokenRows) -> _TokenRows:
        return _TokenRows(
            np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]),
            np.concatenate([self.tokens, other.tokens]),
        )

    def take(self, rows: NDArray[np.bool_]) -> _TokenRows:
        lengths = np.diff(self.offsets)
        offsets = to_offsets(lengths[rows]).astype(np.int64)
        return _TokenRows(offsets, self.tokens[np.repeat(rows, lengths)])


def _in_order(
    offsets: NDArray[np.int64], lengths: NDArray[np.int64], tokens: Tokens
) -> tuple[NDArray[np.int64], Tokens]:
    """The rows ascending and without repeats."""
    ascending = np.ones(len(tokens), np.bool_)
    np.greater(tokens[1:], tokens[:-1], out=ascending[1:])
    ascending[offsets[:-1][lengths > 0]] = True
    if np.all(ascending):
        return offsets, tokens
    rows = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((tokens, rows))
    rows, tokens = rows[order], tokens[order]
    first = np.ones(len(tokens), np.bool_)
    first[1:] = (tokens[1:] != tokens[:-1]) | (rows[1:] != rows[:-1])
    return to_offsets(np.bincount(rows[first], minlength=len(lengths))).astype(np.int64), tokens[first]


def _count(block: Block[_TokenRows]) -> NDArray[np.int64]:
    """Units by token in one block."""
    counts = block.derived
    if not isinstance(counts, np.ndarray):
        speaking = block.payload if np.all(block.active) else block.payload.take(block.active)
        counts = block.derived = np.bincount(speaking.tokens)
    return counts
