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
from collections.abc import Callable, Generator, Iterator, Sequence
from heapq import merge
from itertools import chain, groupby, islice
from typing import Any, Final, TypeVar

import numpy as np

from memhop.common.errors import InvalidRequest
from memhop.index.columns import packed
from memhop.index.entries import EntryPart, Member, Signed, joined, rows_of
from memhop.index.parts import Part, Sections, damaged

T = TypeVar("T")

_ROW: Final = np.dtype([("order", "i8"), ("id", "u8"), ("sign", "i8")])  # of the delta
_SLICE: Final = 60_000  # entries that `merging` sorts at a time


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
        self._delta: dict[int, list[Signed]] = {}
        self._forget()

    def _forget(self) -> None:
        self._ranges: dict[tuple[int, int], set[int]] = {}  # asked for by `keys` -> the keys there
        self._derived: dict[int, Any] = {}

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

    def has(self, key: int) -> bool:
        """False: it has no members. True: it has, or had. Cost: O(parts * log keys)."""
        return key in self._delta or any(part.has(key) for part in self._parts)

    def count(self, key: int, *, since: int | None = None) -> int:
        """How many members, or how many of them have an order of at least `since`.

        Cost: O(parts * log keys), and the key's entries in the delta; with `since` also those in the parts it counts.
        """
        entries = self._delta.get(key, [])
        begin = 0 if since is None else bisect_left(entries, (since,))
        delta = sum(sign for _, _, sign in entries[begin:])
        return delta + sum(part.count(key, since=since) for part in self._parts)

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

    def keys(self, low: int, high: int) -> list[int]:
        """The keys from `low` to `high`, both included, that have members or had some, ascending.

        Cost: sorting them; the first time since parts were attached, a look at every key of the delta.
        """
        found = self._ranges.get((low, high))
        if found is None:
            found = {key for key in self._delta if low <= key <= high}
            for part in self._parts:
                found.update(part.keys(low, high))
            self._ranges[low, high] = found
        return sorted(found)

    def derived(self, key: int, make: Callable[[], T]) -> T:
        """What `make` makes of the key's members, made anew only after they have changed or were touched."""
        if key not in self._derived:
            self._derived[key] = make()
        found: T = self._derived[key]
        return found

    def touch(self, key: int) -> None:
        """A member has changed, though not its place."""
        self._derived.pop(key, None)

    def first(self, key: int) -> Member | None:
        """The member with the lowest order; None when there are none."""
        return next(self._members(key, None, False), None)

    def last(self, key: int) -> Member | None:
        """The member with the highest order; None when there are none."""
        ends = [end for part in self._parts if (end := part.last(key)) is not None]
        if delta := self._delta.get(key):
            ends.append(delta[-1])
        if not ends:
            return None
        place = max(ends)[:2]
        if sum(end[2] for end in ends if end[:2] == place) > 0:  # all that is said of it stands at an end
            return place
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
        keys, orders, ids, sums = joined(tables, oldest=first_part == 0)
        return rows_of(keys, sums) | packed("orders", orders) | packed("ids", ids)

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
            pieces.append(joined(cut, oldest=first_part == 0))
            yield
        keys, orders, ids, sums = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
        sections = rows_of(keys, sums) | packed("orders", orders)
        yield
        return sections | packed("ids", ids)

    def swap(self, first_part: int, part: Part) -> None:
        """Use a part made by `merging` in place of parts[first_part:]."""
        self._parts[first_part:] = [EntryPart(part)]
        self._forget()

    def _change(self, key: int, order: int, id_: int, sign: int) -> bool:
        entries = self._delta.get(key)
        if self._derived:
            self._derived.pop(key, None)
        if entries is None:
            self._delta[key] = [(order, id_, sign)]
            for (low, high), keys in self._ranges.items():
                if low <= key <= high:
                    keys.add(key)
            return True
        if entries[-1] < (order, id_):  # what comes later is of a later time, mostly
            entries.append((order, id_, sign))
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


def _merged(sources: Sequence[Iterator[Signed]], descending: bool) -> Iterator[Member]:
    """The places whose signs add up to 1."""
    for place, entries in groupby(merge(*sources, key=_place, reverse=descending), key=_place):
        if sum(entry[2] for entry in entries) > 0:
            yield place


def _place(entry: Signed) -> Member:
    return entry[:2]


def _delta_entries(entries: list[Signed], after: Member | None, descending: bool) -> Iterator[Signed]:
    if descending:
        end = len(entries) if after is None else bisect_left(entries, after)
        return reversed(entries[:end])
    begin = 0 if after is None else bisect_left(entries, (*after, 2))
    return iter(entries[begin:])
