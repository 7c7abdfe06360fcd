"""Who came before and after: doubly linked lists through the units that share a label value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memhop.index.growable import GrowableArray

NONE = -1


class Neighbours:
    """For each unit the previous and next live unit with the same value, in order of arrival. Value 0 joins nobody."""

    def __init__(self, values: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Link all units. Cost: one stable sort, and O(distinct values)."""
        linked = np.flatnonzero(live & (values != 0))
        linked = linked[np.argsort(values[linked], kind="stable")]
        same = values[linked[1:]] == values[linked[:-1]]
        previous = np.full(len(values), NONE, np.int32)
        following = np.full(len(values), NONE, np.int32)
        previous[linked[1:][same]] = linked[:-1][same]
        following[linked[:-1][same]] = linked[1:][same]
        self._previous = GrowableArray("i4", [previous])
        self._next = GrowableArray("i4", [following])
        last = linked[np.append(~same, True)] if len(linked) else linked
        self._last: dict[int, int] = dict(zip(values[last].tolist(), last.tolist(), strict=True))

    @property
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(previous, next) by ordinal, -1 for none; valid until the next change."""
        return self._previous.view, self._next.view

    def append(self, value: int) -> None:
        """A new live unit behind all others. O(1)."""
        ordinal = len(self._previous)
        before = self._last.get(value, NONE) if value else NONE
        self._previous.append(before)
        self._next.append(NONE)
        if before != NONE:
            self._next.view[before] = ordinal
        if value:
            self._last[value] = ordinal

    def remove(self, ordinal: int, value: int) -> None:
        """A unit died: join those on both sides of it. O(1)."""
        previous, following = self.arrays
        before, after = int(previous[ordinal]), int(following[ordinal])
        if before != NONE:
            following[before] = after
        if after != NONE:
            previous[after] = before
        elif before != NONE:
            self._last[value] = before
        else:
            self._last.pop(value, None)
        previous[ordinal] = following[ordinal] = NONE
