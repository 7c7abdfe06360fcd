"""Rows that arrive in slabs, each row belonging to an owner: the bookkeeping shared by vectors and token lists.

A slab is put under a key and dropped by it. An owner's rows all stand in one slab, and the slab that was put last
speaks for it: putting a new slab silences what older ones hold for the same owners, so text that was edited and
embedded again is never compared by its old vector. Dropping a slab does not give silenced rows their voice back.

Slabs of `SMALL` rows or more are kept as they are, in place. Smaller ones would make a search walk through thousands
of pieces; they are copied into *blocks*, and two neighbouring blocks become one while the older is less than twice as
large (the logarithmic method of Bentley and Saxe 1980): n single rows make at most log2(n) blocks, and each row is
copied at most log2(n) times. Rows keep the order in which they were put. What a put costs does not depend on how many
slabs there are, unless it speaks for owners that had rows before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from memhop.index.owners import Owners

SMALL: Final = 64


class Payload(Protocol):
    """What the rows of a block hold."""

    def join(self, other: Self) -> Self:
        """The rows of both, these first, in new arrays."""
        ...

    def take(self, rows: NDArray[np.bool_]) -> Self:
        """Only the marked rows, in new arrays."""
        ...


P = TypeVar("P", bound=Payload)


class Block(Generic[P]):
    """Some rows: their keys, owners and payload, and which of them still speak."""

    def __init__(self, keys: NDArray[np.uint64], owners: NDArray[np.uint64], payload: P, *, small: bool) -> None:
        self.keys = keys
        self.owners = owners
        self.payload = payload
        self.small = small
        self.active = np.ones(len(owners), np.bool_)
        self.derived: object = None  # whatever the holder computed from the rows that speak; None: not yet
        self.whole = False  # whether `ordinals` last gave every row one
        self._by_owner: NDArray[np.int64] | None = None
        self._ordinals: NDArray[np.int64] | None = None
        self._version: object = None

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def by_owner(self) -> NDArray[np.int64]:
        """Row numbers in ascending order of owner."""
        if self._by_owner is None:
            self._by_owner = np.argsort(self.owners, kind="stable")
        return self._by_owner

    def ordinals(
        self, ordinals_of: Callable[[NDArray[np.uint64]], NDArray[np.int64]], version: object
    ) -> NDArray[np.int64]:
        """The ordinal of each row, -1 for rows that are silent or whose owner has none.

        The mapping is asked for again when `version` is another than last time. It need not change when units come
        or die, only when the ordinals of units that owned rows at the last call are others now.
        """
        if self._ordinals is None or self._version != version:
            self._ordinals = np.where(self.active, ordinals_of(self.owners), np.int64(-1))
            self._version = version
            self.whole = bool(np.all(self._ordinals >= 0))
        return self._ordinals

    def silence(self, rows: NDArray[np.int64]) -> None:
        """These rows speak no more."""
        if len(rows) == 0:
            return
        self.active[rows] = False
        self.derived = None
        self.whole = False
        if self._ordinals is not None:
            self._ordinals[rows] = -1

    def rows_of(self, owners: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The rows of any of these owners; `owners` ascend."""
        mine = self.owners[self.by_owner]
        left, right = np.searchsorted(mine, owners, "left"), np.searchsorted(mine, owners, "right")
        hits = np.flatnonzero(right > left)
        return np.concatenate([self.by_owner[left[i] : right[i]] for i in hits.tolist()] or [self.by_owner[:0]])


class Slabs(Generic[P]):
    """All blocks, in the order of arrival."""

    def __init__(self, alike: Callable[[P, P], bool] = lambda one, other: True) -> None:
        """`alike`: whether two payloads can be joined."""
        self._blocks: list[Block[P]] = []
        self._alike = alike
        self._owners = Owners()  # those with a row that speaks
        self._places: tuple[object, NDArray[np.int64]] | None = None
        self.changes = 0  # goes up with every put and drop, for callers that cache something over all rows

    def __iter__(self) -> Iterator[Block[P]]:
        return iter(self._blocks)

    def put(self, key: int, owners: NDArray[np.uint64], payload: P) -> Block[P]:
        """Add a slab; one that has the same key is dropped first. Returns the block it went into."""
        self.drop(key)
        distinct = np.unique(owners)
        known = distinct[self._owners.contains(distinct)]
        if len(known):
            for block in self._blocks:
                block.silence(block.rows_of(known))
            self._forget_silent()
        self._owners.add(distinct)
        small = len(owners) < SMALL
        self._blocks.append(Block(np.full(len(owners), key, np.uint64), owners, payload, small=small))
        while len(self._blocks) > 1 and self._may_join(*self._blocks[-2:]):
            newer, older = self._blocks.pop(), self._blocks.pop()
            self._blocks.append(_joined(older, newer))
        self.changes += 1
        return self._blocks[-1]

    def drop(self, key: int) -> bool:
        """Remove the slab; says whether any of its rows still spoke. Cost: O(rows of small slabs)."""
        wanted = np.uint64(key)
        found = False
        for block in self._blocks:
            if block.small:
                rows = np.flatnonzero((block.keys == wanted) & block.active)
            elif block.keys[0] == wanted:  # all rows have the same key
                rows = np.flatnonzero(block.active)
            else:
                continue
            if len(rows):
                self._owners.remove(np.unique(block.owners[rows]))
                block.silence(rows)
                found = True
        if found:
            self._forget_silent()
            self.changes += 1
        return found

    def owners(self) -> NDArray[np.uint64]:
        """Owners that have a row which speaks, ascending, each once. Cost: O(owners)."""
        return self._owners.all()

    def contains(self, owners: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these owners have a row which speaks; see `Owners.contains`."""
        return self._owners.contains(owners)

    def rows(self) -> Iterator[tuple[NDArray[np.uint64], P]]:
        """(owners, payload) of the rows that speak, block by block."""
        for block in self._blocks:
            if np.all(block.active):
                yield block.owners, block.payload
            else:
                yield block.owners[block.active], block.payload.take(block.active)

    def places(
        self, ordinals_of: Callable[[NDArray[np.uint64]], NDArray[np.int64]], size: int, version: object
    ) -> NDArray[np.int64]:
        """For each ordinal below `size` the number of its row, counted through all blocks; -1 without one.

        For slabs in which an owner has one row. Arguments as for `Block.ordinals`. Cost: O(size) after a change.
        """
        known = self._places
        if known is None or known[0] != (version, self.changes) or len(known[1]) != size:
            places = np.full(size, -1, np.int64)
            base = 0
            for block in self._blocks:
                ordinals = block.ordinals(ordinals_of, version)
                rows = np.flatnonzero(ordinals >= 0)
                places[ordinals[rows]] = rows + base
                base += len(block)
            known = self._places = ((version, self.changes), places)
        return known[1]

    def _forget_silent(self) -> None:
        self._blocks = [block for block in self._blocks if np.any(block.active)]

    def _may_join(self, older: Block[P], newer: Block[P]) -> bool:
        if not (older.small and newer.small and len(older) < 2 * len(newer)):
            return False
        return self._alike(older.payload, newer.payload)


def _joined(older: Block[P], newer: Block[P]) -> Block[P]:
    """One small block with the rows of both that speak."""
    halves = [(block, block.payload.take(block.active)) for block in (older, newer)]
    return Block(
        np.concatenate([block.keys[block.active] for block, _ in halves]),
        np.concatenate([block.owners[block.active] for block, _ in halves]),
        halves[0][1].join(halves[1][1]),
        small=True,
    )


class SlabIndex(Generic[P]):
    """What the indexes over slabs have in common. One thread at a time; the caller holds the lock."""

    def __init__(self, slabs: Slabs[P]) -> None:
        self._slabs = slabs

    def drop(self, key: int) -> bool:
        """Remove the slab; says whether any of its rows still counted."""
        return self._slabs.drop(key)

    def owners(self) -> NDArray[np.uint64]:
        """Owners that have a row, ascending, each once. Cost: O(rows log rows)."""
        return self._slabs.owners()

    def contains(self, owners: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these owners have a row. Cost: O(len(owners) log rows)."""
        return self._slabs.contains(owners)
