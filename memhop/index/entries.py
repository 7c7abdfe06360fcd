"""Entries of the multimap in arrays: one part of it as it lies in the file, and several sorted into one.

The layout, and what the signs mean, is told in `groups`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memhop.index.columns import Column
from memhop.index.parts import Part, Sections, damaged, lengths_of, narrow_section, offsets, section, to_offsets

Member: TypeAlias = tuple[int, int]  # (order, id)
Signed: TypeAlias = tuple[int, int, int]  # order, id, +1 or -1

_CHUNK: Final = 64  # entries taken from a mapped part at a time, in the end: at first
_FIRST: Final = 4  # so many, then twice as many each time, for many look at the first few only


class EntryPart:
    """One attached part; sections are fetched and checked at first use.

    Single values are found with `bisect` on memoryviews: several times faster than `np.searchsorted`, which also would
    compare u64 with a Python int as floats.
    """

    def __init__(self, part: Part) -> None:
        self.sections = part

    @cached_property
    def _keys(self) -> memoryview[int]:
        return section(self.sections, "keys", "u8").data

    @cached_property
    def _offsets(self) -> memoryview[int]:
        return offsets(self.sections, "offsets", rows=len(self._keys), end=self._size).data

    @cached_property
    def _size(self) -> int:
        """How many entries, as the rows state it."""
        found = narrow_section(self.sections, "offsets", widest=8)
        return int(found[-1]) if len(found) else 0

    @cached_property
    def _orders(self) -> Column:
        return Column(self.sections, "orders", "i8", self._size)

    @cached_property
    def _ids(self) -> Column:
        return Column(self.sections, "ids", "u8", self._size)

    @cached_property
    def _removed(self) -> memoryview[int] | None:
        removed = section(self.sections, "removed", "u1")
        if len(removed) not in (0, self._size) or (len(self._counts) > 0) != (len(removed) > 0):
            raise damaged("columns differ in length")
        return removed.data if len(removed) else None

    @cached_property
    def _counts(self) -> memoryview[int]:
        counts = section(self.sections, "counts", "i8")
        if len(counts) not in (0, len(self._keys)):
            raise damaged(f"{len(counts)} counts for {len(self._keys)} keys of a multimap")
        return counts.data

    @property
    def removes(self) -> bool:
        """Whether an entry takes one of an older part back."""
        return self._removed is not None and any(self._removed)

    def check(self) -> None:
        """Raises Corrupt if keys or their entries are out of order, repeated, or miscounted."""
        rows = np.asarray(self._offsets)
        if np.any(rows[1:] <= rows[:-1]):
            raise damaged("a multimap with a row that is empty or runs backwards")
        keys = np.asarray(self._keys)
        if np.any(keys[1:] <= keys[:-1]):
            raise damaged("a multimap whose keys are out of order")
        orders, ids = self._orders.codes, self._ids.codes  # greater codes are greater values
        later = (orders[1:] > orders[:-1]) | ((orders[1:] == orders[:-1]) & (ids[1:] > ids[:-1]))
        if len(later):
            later[rows[1:-1].astype(np.int64) - 1] = True  # from one row to the next
        if not np.all(later):
            raise damaged("a multimap that is out of order")
        if self._removed is not None:
            removed = np.asarray(self._removed)
            signs = 1 - 2 * removed.astype(np.int64)
            if np.any(removed > 1) or not np.array_equal(
                np.add.reduceat(signs, rows[:-1].astype(np.int64)), np.asarray(self._counts)
            ):
                raise damaged("a multimap that is miscounted")

    def has(self, key: int) -> bool:
        """Whether there are entries of the key."""
        return self._row(key) is not None

    def keys(self, low: int, high: int) -> list[int]:
        """The keys from `low` to `high`, both included, whether or not they still have members."""
        return self._keys[bisect_left(self._keys, low) : bisect_right(self._keys, high)].tolist()

    def count(self, key: int, *, since: int | None = None) -> int:
        """Entries added less entries removed, of all orders or those of at least `since`."""
        row = self._row(key)
        if row is None:
            return 0
        begin, end = self._range(row)
        if since is not None:
            begin = self._orders.bisect(since, begin, end)
            return end - begin - (2 * sum(self._removed[begin:end]) if self._removed is not None else 0)
        return end - begin if self._removed is None else self._counts[row]

    def sign(self, key: int, order: int, id_: int) -> int:
        """+1, -1, or 0 when the part says nothing about the entry."""
        row = self._row(key)
        if row is None:
            return 0
        at = self._position((order, id_), *self._range(row))
        if at == self._range(row)[1] or (self._orders[at], self._ids[at]) != (order, id_):
            return 0
        return -1 if self._removed is not None and self._removed[at] else 1

    def last(self, key: int) -> Signed | None:
        """The key's last entry."""
        row = self._row(key)
        if row is None:
            return None
        begin, end = self._range(row)
        if begin == end:
            return None
        sign = -1 if self._removed is not None and self._removed[end - 1] else 1
        return self._orders[end - 1], self._ids[end - 1], sign

    def entries(self, key: int, after: Member | None, descending: bool) -> Iterator[Signed]:
        """The key's entries behind `after`, in order."""
        row = self._row(key)
        if row is None:
            return
        begin, end = self._range(row)
        if after is not None:
            at = self._position(after, begin, end)
            if descending:
                end = at
            else:
                begin = at + (at < end and (self._orders[at], self._ids[at]) == after)
        size = _FIRST
        while begin < end:
            if descending:
                chunk = slice(max(begin, end - size), end)
                end = chunk.start
            else:
                chunk = slice(begin, min(end, begin + size))
                begin = chunk.stop
            size = min(2 * size, _CHUNK)
            orders = self._orders.slice(chunk.start, chunk.stop)
            ids = self._ids.slice(chunk.start, chunk.stop)
            gone = self._removed[chunk].tolist() if self._removed is not None else [0] * len(ids)
            signed = [(order, id_, -1 if lost else 1) for order, id_, lost in zip(orders, ids, gone, strict=True)]
            yield from reversed(signed) if descending else signed

    def table(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
        """(key, order, id, sign) of each entry."""
        keys = np.repeat(np.asarray(self._keys), lengths_of(np.asarray(self._offsets)))
        signs = np.ones(self._size, np.int64)
        if self._removed is not None:
            signs -= 2 * np.asarray(self._removed).astype(np.int64)
        return keys, self._orders.array(), self._ids.array(), signs

    def _row(self, key: int) -> int | None:
        row = bisect_left(self._keys, key)
        return row if row < len(self._keys) and self._keys[row] == key else None

    def _range(self, row: int) -> tuple[int, int]:
        begin, end = self._offsets[row], self._offsets[row + 1]
        if not begin <= end <= self._size:
            raise damaged(f"row {row} is out of range")
        return begin, end

    def _position(self, place: Member, begin: int, end: int) -> int:
        """First entry in the range that is not below `place`."""
        order, id_ = place
        begin = self._orders.bisect(order, begin, end)
        end = self._orders.bisect(order + 1, begin, end)
        return self._ids.bisect(id_, begin, end)


def joined(
    tables: Sequence[tuple[NDArray[Any], ...]], *, oldest: bool
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
    """(key, order, id, sum of signs) of what is left of several tables, in order. `oldest`: nothing is older."""
    keys, orders, ids, signs = (np.concatenate(columns) for columns in zip(*tables, strict=True))
    sorting = np.argsort(keys, kind="stable")
    keys, orders, ids, signs = keys[sorting], orders[sorting], ids[sorting], signs[sorting]
    if not np.all(_ascend(keys, orders, ids)):  # what was added later was not always of a later time
        sorting = np.lexsort((ids, orders, keys))
        keys, orders, ids, signs = keys[sorting], orders[sorting], ids[sorting], signs[sorting]
    starts = np.flatnonzero(_changes(keys) | _changes(orders) | _changes(ids))
    sums = np.add.reduceat(signs, starts) if len(starts) else signs
    kept = starts[sums != 0]
    sums = sums[sums != 0]
    if np.any(np.abs(sums) > 1):
        raise damaged("an entry was added or removed twice")
    if oldest and np.any(sums < 0):
        raise damaged("an entry was removed but never added")
    return keys[kept], orders[kept], ids[kept], sums


def rows_of(keys: NDArray[np.uint64], sums: NDArray[np.int64]) -> Sections:
    """The sections of a part but for its columns."""
    starts = np.flatnonzero(_changes(keys))
    sections = {"keys": keys[starts], "offsets": to_offsets(np.diff(np.append(starts, len(keys))))}
    if np.any(sums < 0):
        sections["removed"] = (sums < 0).astype(np.uint8)
        sections["counts"] = np.add.reduceat(sums, starts)
    return sections


def _ascend(keys: NDArray[np.uint64], orders: NDArray[np.int64], ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Of each entry but the first: whether it does not stand before the one in front of it. Keys ascend."""
    same_key, same_order = keys[1:] == keys[:-1], orders[1:] == orders[:-1]
    ascend: NDArray[np.bool_] = ~same_key | (orders[1:] > orders[:-1]) | (same_order & (ids[1:] >= ids[:-1]))
    return ascend


def _changes(column: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.bool_]:
    """True where a value differs from the one before; the first always does."""
    changes = np.ones(len(column), np.bool_)
    np.not_equal(column[1:], column[:-1], out=changes[1:])
    return changes
