"""Who came before and after: doubly linked lists through the units that share a label value, and how long each is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memhop.index.growable import GrowableArray

NONE = -1


class Neighbours:
    """For each unit the previous and next live unit with the same value, in order of time. Value 0 joins nobody.

    Of equal times the one that arrived first is first. Arrival alone would not do: a record that is written again keeps
    its ordinal, and gets another one when the units are built anew.

    Units with one value are a *group*; groups are numbered from 0 in no order of meaning.
    """

    def __init__(self, values: NDArray[Any], live: NDArray[np.bool_], times: NDArray[np.int64]) -> None:
        """Link all units. Cost: one stable sort by two keys, and O(distinct values)."""
        linked = np.flatnonzero(live & (values != 0))
        linked = linked[np.lexsort((times[linked], values[linked]))]
        same = values[linked[1:]] == values[linked[:-1]]
        previous = np.full(len(values), NONE, np.int32)
        following = np.full(len(values), NONE, np.int32)
        previous[linked[1:][same]] = linked[:-1][same]
        following[linked[:-1][same]] = linked[1:][same]
        groups = np.full(len(values), NONE, np.int32)
        begins = np.append(True, ~same) if len(linked) else np.zeros(0, np.bool_)
        groups[linked] = np.cumsum(begins) - 1
        firsts = np.flatnonzero(begins)
        self._previous = GrowableArray("i4", [previous])
        self._next = GrowableArray("i4", [following])
        self._groups = GrowableArray("i4", [groups])
        self._sizes = GrowableArray("i4", [np.diff(np.append(firsts, len(linked)))])
        self._last = GrowableArray("i4", [linked[np.append(~same, True)] if len(linked) else linked])
        self._numbers: dict[int, int] = dict(zip(values[linked[firsts]].tolist(), range(len(firsts)), strict=True))

    @property
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(previous, next) by ordinal, -1 for none; valid until the next change."""
        return self._previous.view, self._next.view

    @property
    def groups(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(group by ordinal, -1 for none; live units by group); valid until the next change."""
        return self._groups.view, self._sizes.view

    def append(self, value: int, time: int, times: NDArray[np.int64]) -> None:
        """A new live unit. O(1), and the units of the same value that are newer.

        Args:
            value: Not 0.
            times: Of all units before it.
        """
        ordinal = len(self._previous)
        group = self._numbers.setdefault(value, len(self._numbers))
        if group == len(self._last):
            self._last.append(NONE)
            self._sizes.append(0)
        before, after = int(self._last.view[group]), NONE
        while before != NONE and times[before] > time:
            before, after = int(self._previous.view[before]), before
        self._previous.append(before)
        self._next.append(after)
        self._groups.append(group)
        if before != NONE:
            self._next.view[before] = ordinal
        if after != NONE:
            self._previous.view[after] = ordinal
        else:
            self._last.view[group] = ordinal
        self._sizes.view[group] += 1

    def append_alone(self) -> None:
        """A new live unit of value 0. O(1)."""
        for column in (self._previous, self._next, self._groups):
            column.append(NONE)

    def remove(self, ordinal: int) -> None:
        """A unit died: join those on both sides of it. O(1)."""
        group = int(self._groups.view[ordinal])
        if group == NONE:
            return
        previous, following = self.arrays
        before, after = int(previous[ordinal]), int(following[ordinal])
        if before != NONE:
            following[before] = after
        if after != NONE:
            previous[after] = before
        else:
            self._last.view[group] = before
        self._sizes.view[group] -= 1
        previous[ordinal] = following[ordinal] = self._groups.view[ordinal] = NONE
