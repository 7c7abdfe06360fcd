"""Who belongs to whom: a multimap from a key to ids in a given order, as a log-structured merge tree.

An *entry* is (key, order, id); the members of a key are sorted by order (a time, usually), then id. Each part and the
delta is a set of differences to what is older: an added entry counts +1, a removed one -1. Adding what is there and
removing what is not do nothing, so the signs of an entry alternate from source to source, and its sum over all is 1
where it is a member and 0 where it is not. Therefore counting is adding up, and merging is adding and dropping zeros:
an entry that was added and removed within the merged parts leaves no trace, and a -1 stays as long as an older part
may hold the +1 it takes back.

Sections of a part with `K` keys and `E` entries:

    keys     u8[K]    ascending
    offsets  n8[K+1]  into the three below
    orders   i8[E]    ascending within a key, then by id; a column, see `columns`
    ids      u8[E]    a column
    removed  u1[E]    1: sign -1. Absent with `counts`: none is
    counts   i8[K]    sum of the key's signs
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import chain, groupby, islice
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.columns import Column, packed
from memhop.index.parts import Part, Sections, damaged, lengths_of, narrow_section, offsets, section, to_offsets

Member: TypeAlias = tuple[int, int]  # (order, id)
_Signed: TypeAlias = tuple[int, int, int]  # order, id, +1 or -1

_ROW: Final = np.dtype([("order", "i8"), ("id", "u8"), ("sign", "i8")])  # of the delta
_SLICE: Final = 60_000  # entries that `merging` sorts at a time
_CHUNK: Final = 64  # entries taken from a mapped part at a time


class Groups:
    """key u64 -> members (order i64, id u64), ascending. One thread at a time; the caller holds the lock."""

    def __init__(self) -> None:
        self._parts: list[EntryPart] = []
        self.attach(())

    def attach(self, parts: Sequence[Part]) -> None:
        """Replace all parts (oldest first) and empty the delta. Cost: O(parts); sections are fetched at first use.

        What was fetched of a part is kept if the same object comes again.
        """
        known = {id(part.sections): part for part in self._parts}
        self._parts = [known.get(id(part)) or EntryPart(part) for part in parts]
        self._delta: dict[int, list[_Signed]] = {}

    def check(self, *, since: int = 0, until: int | None = None) -> None:
        """Raises Corrupt if a part could not have been made by `seal`. Cost: reads every section once.

        Args:
            since, until: Look at these parts only.
        """
        for part in self._parts[since:until]:
            part.check()
        if self._parts and not since and self._parts[0].removes:
            raise damaged("an entry was removed but never added")

    def add(self, key: int, order: int, id_: int, *, new: bool = False) -> bool:
        """Make it a member; says whether it was none. Cost: O(parts * log entries).

        Args:
            new: The caller knows that it is none, which saves looking for it.
        """
        return (new or not self.contains(key, order, id_)) and self._change(key, order, id_, 1)

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
        return list(islice(self._members(key, after, descending), limit))

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
        counts = [len(entries) for entries in self._delta.values()]
        rows = np.fromiter(chain.from_iterable(self._delta.values()), _ROW, sum(counts))
        keys = np.repeat(np.fromiter(self._delta, np.uint64, len(counts)), counts)
        tables.append((keys, rows["order"], rows["id"], rows["sign"]))
        keys, orders, ids, sums = _joined(tables, oldest=first_part == 0)
        return _rows(keys, sums) | packed("orders", orders) | packed("ids", ids)

    def merging(self, first_part: int) -> Generator[None, None, Sections]:
        """Merge parts[first_part:] into the sections of one part, pausing now and then. The delta may grow meanwhile.

        The sections are for `swap`. No parts may be attached in between.
        """
        tables = [part.table() for part in self._parts[first_part:]]
        pieces = []
        slices = sum(len(table[0]) for table in tables) // _SLICE + 1
        for number in range(slices):  # keys are hashes, so equal ranges of them hold about the same
            low, high = (np.uint64((edge << 64) // slices - (edge == slices)) for edge in (number, number + 1))
            bounds = [
                (np.searchsorted(keys, low), len(keys) if number == slices - 1 else np.searchsorted(keys, high))
                for keys, *_ in tables
            ]
            cut = [tuple(column[a:b] for column in table) for table, (a, b) in zip(tables, bounds, strict=True)]
            pieces.append(_joined(cut, oldest=first_part == 0))
            yield
        keys, orders, ids, sums = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
        sections = _rows(keys, sums) | packed("orders", orders)
        yield
        return sections | packed("ids", ids)

    def swap(self, first_part: int, part: Part) -> None:
        """Use a part made by `merging` in place of parts[first_part:]."""
        self._parts[first_part:] = [EntryPart(part)]

    def _change(self, key: int, order: int, id_: int, sign: int) -> bool:
        entries = self._delta.get(key)
        if entries is None:
            self._delta[key] = [(order, id_, sign)]
            return True
        at = bisect_left(entries, (order, id_))
        if at < len(entries) and entries[at][:2] == (order, id_):
            del entries[at]  # the opposite sign: together they are nothing
            if not entries:
                del self._delta[key]
        else:
            entries.insert(at, (order, id_, sign))
        return True

    def _members(self, key: int, after: Member | None, descending: bool) -> Iterator[Member]:
        sources = [part.entries(key, after, descending) for part in self._parts if part.has(key)]
        if key in self._delta:
            sources.append(_delta_entries(self._delta[key], after, descending))
        return _merged(sources, descending) if sources else iter(())


def _joined(
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


def _rows(keys: NDArray[np.uint64], sums: NDArray[np.int64]) -> Sections:
    """The sections of a part but for its columns."""
    starts = np.flatnonzero(_changes(keys))
    sections = {"keys": keys[starts], "offsets": to_offsets(np.diff(np.append(starts, len(keys))))}
    if np.any(sums < 0):
        sections["removed"] = (sums < 0).astype(np.uint8)
        sections["counts"] = np.add.reduceat(sums, starts)
    return sections


def _merged(sources: Sequence[Iterator[_Signed]], descending: bool) -> Iterator[Member]:
    """The places whose signs add up to 1."""
    for place, entries in groupby(merge(*sources, key=_place, reverse=descending), key=_place):
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

    def count(self, key: int) -> int:
        row = self._row(key)
        if row is None:
            return 0
        if self._removed is not None:
            return self._counts[row]
        begin, end = self._range(row)
        return end - begin

    def sign(self, key: int, order: int, id_: int) -> int:
        """+1, -1, or 0 when the part says nothing about the entry."""
        row = self._row(key)
        if row is None:
            return 0
        at = self._position((order, id_), *self._range(row))
        if at == self._range(row)[1] or (self._orders[at], self._ids[at]) != (order, id_):
            return 0
        return -1 if self._removed is not None and self._removed[at] else 1

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
