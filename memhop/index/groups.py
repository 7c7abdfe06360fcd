"""Who belongs to whom: a multimap from a key to ids in a given order, as a log-structured merge tree.

An *entry* is (key, order, id); the members of a key are sorted by order (a time, usually), then id. Each part and the
delta is a set of differences to what is older: an added entry counts +1, a removed one -1. Adding what is there and
removing what is not do nothing, so the signs of an entry alternate from source to source, and its sum over all is 1
where it is a member and 0 where it is not. Therefore counting is adding up, and merging is adding and dropping zeros:
an entry that was added and removed within the merged parts leaves no trace, and a -1 stays as long as an older part
may hold the +1 it takes back.

Sections of a part with `K` keys and `E` entries:

    keys     u8[K]    ascending
    offsets  u8[K+1]  into the three below
    counts   i8[K]    sum of the key's signs
    orders   i8[E]    ascending within a key, then by id
    ids      u8[E]
    removed  u1[E]    1: sign -1
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import groupby
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.parts import Part, Sections, damaged, lengths_of, offsets, section, to_offsets

Member: TypeAlias = tuple[int, int]  # (order, id)
_Signed: TypeAlias = tuple[int, int, int]  # order, id, +1 or -1

_CHUNK: Final = 64  # entries taken from a mapped part at a time


class Groups:
    """key u64 -> members (order i64, id u64), ascending. One thread at a time; the caller holds the lock."""

    def __init__(self) -> None:
        self.attach(())

    def attach(self, parts: Sequence[Part]) -> None:
        """Replace all parts (oldest first) and empty the delta. Cost: O(parts); sections are fetched at first use."""
        self._parts = [_EntryPart(part) for part in parts]
        self._delta: dict[int, list[_Signed]] = {}

    def check(self) -> None:
        """Raises Corrupt if a part could not have been made by `seal`. Cost: reads every section once."""
        for part in self._parts:
            part.check()
        if self._parts and np.any(self._parts[0].table()[3] < 0):
            raise damaged("an entry was removed but never added")

    def add(self, key: int, order: int, id_: int) -> bool:
        """Make it a member; says whether it was none. Cost: O(parts * log entries)."""
        return not self.contains(key, order, id_) and self._change(key, order, id_, 1)

    def remove(self, key: int, order: int, id_: int) -> bool:
        """Make it no member; says whether it was one. Cost: as `add`."""
        return self.contains(key, order, id_) and self._change(key, order, id_, -1)

    def contains(self, key: int, order: int, id_: int) -> bool:
        """Whether it is a member. Cost: O(parts * log entries)."""
        entries = self._delta.get(key)
        if entries is not None:
            at = bisect_left(entries, (order, id_))
            if at < len(entries) and entries[at][:2] == (order, id_):
                return entries[at][2] > 0
        for part in reversed(self._parts):
            sign = part.sign(key, order, id_)
            if sign:
                return sign > 0
        return False

    def count(self, key: int) -> int:
        """How many members. Cost: O(parts * log keys), and the key's entries in the delta."""
        delta = sum(sign for _, _, sign in self._delta.get(key, ()))
        return delta + sum(part.count(key) for part in self._parts)

    def page(self, key: int, *, after: Member | None = None, limit: int, descending: bool = False) -> list[Member]:
        """The next members, in order.

        Args:
            after: Only members behind this place, which need not be one itself: greater, or smaller when
                `descending`. None: from the beginning.
            limit: At most this many, >= 0.
            descending: From the last to the first.

        Cost: O(parts * log entries) and the members returned; removed ones on the way count too.
        """
        if limit < 0:
            raise InvalidRequest(f"{limit} is out of range", field="limit", allowed=">= 0")
        page: list[Member] = []
        for member in self._members(key, after, descending):
            if len(page) == limit:
                break
            page.append(member)
        return page

    def first(self, key: int) -> Member | None:
        """The member with the lowest order; None when there are none."""
        return next(self._members(key, None, False), None)

    def last(self, key: int) -> Member | None:
        """The member with the highest order; None when there are none."""
        return next(self._members(key, None, True), None)

    def seal(self, first_part: int) -> Sections:
        """Merge parts[first_part:] and the delta into the sections of one part.

        Changes nothing here: the caller stores the sections and attaches anew. Cost: sorting what is merged.
        """
        tables = [part.table() for part in self._parts[first_part:]]
        tables.append(
            (
                np.array([key for key, entries in self._delta.items() for _ in entries], np.uint64),
                np.array([entry[0] for entries in self._delta.values() for entry in entries], np.int64),
                np.array([entry[1] for entries in self._delta.values() for entry in entries], np.uint64),
                np.array([entry[2] for entries in self._delta.values() for entry in entries], np.int64),
            )
        )
        keys, orders, ids, signs = (np.concatenate(columns) for columns in zip(*tables, strict=True))
        sorting = np.lexsort((ids, orders, keys))
        keys, orders, ids, signs = keys[sorting], orders[sorting], ids[sorting], signs[sorting]
        starts = np.flatnonzero(_changes(keys) | _changes(orders) | _changes(ids))
        sums = np.add.reduceat(signs, starts) if len(starts) else signs
        kept = starts[sums != 0]
        sums = sums[sums != 0]
        if np.any(np.abs(sums) > 1):
            raise damaged("an entry was added or removed twice")
        if first_part == 0 and np.any(sums < 0):
            raise damaged("an entry was removed but never added")
        keys = keys[kept]
        key_starts = np.flatnonzero(_changes(keys))
        return {
            "keys": keys[key_starts],
            "offsets": to_offsets(np.diff(np.append(key_starts, len(keys)))),
            "counts": np.add.reduceat(sums, key_starts) if len(key_starts) else sums,
            "orders": orders[kept],
            "ids": ids[kept],
            "removed": (sums < 0).astype(np.uint8),
        }

    def _change(self, key: int, order: int, id_: int, sign: int) -> bool:
        entries = self._delta.setdefault(key, [])
        at = bisect_left(entries, (order, id_))
        if at < len(entries) and entries[at][:2] == (order, id_):
            del entries[at]  # the opposite sign: together they are nothing
            if not entries:
                del self._delta[key]
        else:
            entries.insert(at, (order, id_, sign))
        return True

    def _members(self, key: int, after: Member | None, descending: bool) -> Iterator[Member]:
        sources = [part.entries(key, after, descending) for part in self._parts]
        sources.append(_delta_entries(self._delta.get(key, []), after, descending))
        merged = merge(*sources, key=_place, reverse=descending)
        for place, entries in groupby(merged, key=_place):
            if sum(entry[2] for entry in entries) > 0:
                yield place


def _place(entry: _Signed) -> Member:
    return entry[:2]


def _delta_entries(entries: list[_Signed], after: Member | None, descending: bool) -> Iterator[_Signed]:
    if descending:
        end = len(entries) if after is None else bisect_left(entries, after)
        return reversed(entries[:end])
    begin = 0 if after is None else bisect_left(entries, (*after, 2))
    return iter(entries[begin:])


def _changes(column: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.bool_]:
    """True where a value differs from the one before; the first always does."""
    changes = np.ones(len(column), np.bool_)
    np.not_equal(column[1:], column[:-1], out=changes[1:])
    return changes


class _EntryPart:
    """One attached part; sections are fetched and checked at first use.

    Single values are found with `bisect` on memoryviews: several times faster than `np.searchsorted`, which also would
    compare u64 with a Python int as floats.
    """

    def __init__(self, part: Part) -> None:
        self._part = part

    @cached_property
    def _keys(self) -> memoryview[int]:
        return section(self._part, "keys", "u8").data

    @cached_property
    def _offsets(self) -> memoryview[int]:
        return offsets(self._part, "offsets", rows=len(self._keys), end=len(self._ids)).data

    @cached_property
    def _counts(self) -> memoryview[int]:
        counts = section(self._part, "counts", "i8")
        if len(counts) != len(self._keys):
            raise damaged(f"{len(counts)} counts for {len(self._keys)} keys of a multimap")
        return counts.data

    @cached_property
    def _orders(self) -> memoryview[int]:
        return self._column("orders", "i8")

    @cached_property
    def _ids(self) -> memoryview[int]:
        return section(self._part, "ids", "u8").data

    @cached_property
    def _removed(self) -> memoryview[int]:
        return self._column("removed", "u1")

    def check(self) -> None:
        """Raises Corrupt if keys or their entries are out of order, repeated, or miscounted."""
        rows = np.asarray(self._offsets)
        if np.any(rows[1:] < rows[:-1]) or np.any(np.asarray(self._removed) > 1):
            raise damaged("a multimap whose rows run backwards, or whose signs are none")
        keys, orders, ids, signs = self.table()
        if len(keys) != len(ids) or not np.array_equal(keys[_changes(keys)], np.asarray(self._keys)):
            raise damaged("a multimap whose rows do not fit its entries")
        same = ~_changes(keys)[1:]
        later = (orders[1:] > orders[:-1]) | ((orders[1:] == orders[:-1]) & (ids[1:] > ids[:-1]))
        if np.any(np.where(same, ~later, keys[1:] <= keys[:-1])):
            raise damaged("a multimap that is out of order")
        starts = np.flatnonzero(_changes(keys))
        if not np.array_equal(np.add.reduceat(signs, starts) if len(starts) else signs, np.asarray(self._counts)):
            raise damaged("a multimap that is miscounted")

    def _column(self, suffix: str, dtype: str) -> memoryview[int]:
        column = section(self._part, suffix, dtype)
        if len(column) != len(self._ids):
            raise damaged("columns differ in length")
        return column.data

    def count(self, key: int) -> int:
        row = self._row(key)
        return 0 if row is None else self._counts[row]

    def sign(self, key: int, order: int, id_: int) -> int:
        """+1, -1, or 0 when the part says nothing about the entry."""
        row = self._row(key)
        if row is None:
            return 0
        at = self._position((order, id_), *self._range(row))
        if at == self._range(row)[1] or (self._orders[at], self._ids[at]) != (order, id_):
            return 0
        return -1 if self._removed[at] else 1

    def entries(self, key: int, after: Member | None, descending: bool) -> Iterator[_Signed]:
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
        while begin < end:
            if descending:
                chunk = slice(max(begin, end - _CHUNK), end)
                end = chunk.start
            else:
                chunk = slice(begin, min(end, begin + _CHUNK))
                begin = chunk.stop
            orders, ids, removed = (column[chunk].tolist() for column in (self._orders, self._ids, self._removed))
            signed = [(order, id_, -1 if gone else 1) for order, id_, gone in zip(orders, ids, removed, strict=True)]
            yield from reversed(signed) if descending else signed

    def table(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
        """(key, order, id, sign) of each entry."""
        lengths = lengths_of(np.asarray(self._offsets))
        signs = 1 - 2 * np.asarray(self._removed).astype(np.int64)
        return (
            np.repeat(np.asarray(self._keys), lengths),
            np.asarray(self._orders),
            np.asarray(self._ids),
            signs,
        )

    def _row(self, key: int) -> int | None:
        row = bisect_left(self._keys, key)
        return row if row < len(self._keys) and self._keys[row] == key else None

    def _range(self, row: int) -> tuple[int, int]:
        begin, end = self._offsets[row], self._offsets[row + 1]
        if not begin <= end <= len(self._ids):
            raise damaged(f"row {row} is out of range")
        return begin, end

    def _position(self, place: Member, begin: int, end: int) -> int:
        """First entry in the range that is not below `place`."""
        order, id_ = place
        begin = bisect_left(self._orders, order, begin, end)
        end = bisect_right(self._orders, order, begin, end)
        return bisect_left(self._ids, id_, begin, end)
