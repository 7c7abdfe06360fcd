"""Which record is live, and where: the record index over segments and the delta since the last checkpoint.

The delta is a dict; the segments' arrays are searched in place with bisect, newest first, and never turned into a
dict when the file is opened. Should a core section turn out to be damaged, `base` takes the place of all of them:
a dict rebuilt from the log.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memhop.core.format import DELETED
from memhop.core.frame import FrameRef
from memhop.core.segment import MAX_SEGMENTS, TOMBSTONE_KIND, IndexArrays, Segment, merge_indexes

TIER = 4_096  # rows of a segment that is not small
FULL = 120_000  # rows of a segment that is merged no more by itself


_MOST_WAITING = 48  # segments
_MOST_ABSENT = 4_096


class Entry(NamedTuple):
    """One applied frame. `previous` is the offset of the live frame it replaced, 0 if there was none."""

    kind: int
    id: int
    offset: int
    flags: int
    previous: int


class RecordIndex:
    """id -> (kind, offset of its newest frame). Not safe from several threads by itself.

    Args:
        segments: Live, oldest first.
        size_of: Bytes of the frame at an offset, for `live_bytes`.
        live_bytes: Of the record frames live in the segments.
    """

    def __init__(self, segments: Sequence[Segment], size_of: Callable[[int], int], live_bytes: int = 0) -> None:
        self.segments = tuple(segments)
        self.delta: dict[int, tuple[int, int]] = {}
        self.base: dict[int, tuple[int, int]] | None = None
        self._absent: set[int] = set()  # ids that no segment has: a new one is asked for several times
        self.live_bytes = live_bytes
        self._size_of = size_of

    def copy(self) -> RecordIndex:
        """The same rows, unmoved by what is applied later. Cost: O(delta)."""
        copied = RecordIndex(self.segments, self._size_of, self.live_bytes)
        copied.delta, copied.base = dict(self.delta), self.base
        return copied

    def locate(self, id_: int) -> tuple[int, int] | None:
        """(kind, offset) of the live record, or None.

        Raises:
            Corrupt: a core section of a segment fails its checksum; see `base`.

        Cost: O(segments * log records).
        """
        row = self.delta.get(id_)
        if row is None:
            if id_ in self._absent:
                return None
            row = self._settled(id_)
            if row is None:
                if len(self._absent) >= _MOST_ABSENT:
                    self._absent.clear()
                self._absent.add(id_)
        return row if row is not None and row[0] != TOMBSTONE_KIND else None

    def replace(self, base: dict[int, tuple[int, int]]) -> None:
        """Use these rows in place of those in the segments."""
        self.base = base
        self._absent.clear()

    def _settled(self, id_: int) -> tuple[int, int] | None:
        if self.base is not None:
            return self.base.get(id_)
        for segment in reversed(self.segments):
            ids, offsets, kinds = segment.index()
            at = bisect_left(ids, id_)
            if at < len(ids) and ids[at] == id_:
                return kinds[at], offsets[at]
        return None

    def apply(self, frames: Iterable[FrameRef]) -> tuple[Entry, ...]:
        """Take frames in, in log order, and say what each of them replaced."""
        entries = []
        for frame in frames:
            if not frame.id:
                continue  # 0 is no id, and nothing that is asked for by it
            before = self.locate(frame.id)
            previous = 0
            if before is not None:
                previous = before[1]
                self.live_bytes -= self._size_of(previous)
            if frame.flags & DELETED:
                self.delta[frame.id] = (TOMBSTONE_KIND, frame.offset)
            else:
                self.delta[frame.id] = (frame.kind, frame.offset)
                self.live_bytes += frame.end - frame.offset
            entries.append(Entry(frame.kind, frame.id, frame.offset, frame.flags, previous))
        return tuple(entries)

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """(id, kind, offset) of every live record, ids ascending, as of now. Cost: O(records), 1 us each."""
        parts: list[Iterable[tuple[int, int, int, int]]] = [_dict_rows(0, self.delta)]
        if self.base is not None:
            parts.append(_dict_rows(1, self.base))
        else:
            parts += [_array_rows(age, part) for age, part in enumerate(reversed(self.segments), 1)]
        return _newest(heapq.merge(*parts))

    def plan(self, *, everything: bool) -> tuple[Segment, ...]:
        """The newest segments that the next checkpoint merges with the delta.

        Small segments by the logarithmic method: going back in time, take one in while it is at most twice as large as
        what has been gathered; each row is rewritten O(log n) times. Those of `TIER` rows and more wait until they make
        up a full one together, see `waiting`. Who never merges those sees them merged here when there are too many.
        """
        if everything or self.base is not None or len(self.segments) >= MAX_SEGMENTS // 2:
            return self.segments
        waiting = self.waiting()
        if len(waiting) >= _MOST_WAITING:
            return waiting
        gathered = len(self.delta)
        first = len(self.segments)
        while first and self.segments[first - 1].records < TIER and self.segments[first - 1].records <= 2 * gathered:
            first -= 1
            gathered += self.segments[first].records
        return self.segments[first:]

    def waiting(self) -> tuple[Segment, ...]:
        """The newest segments if they make up a full one, of `FULL` rows: it is time to merge them. Else ().

        A full one is left alone from then on: merging everything again and again would fill the file with dead
        segments. So each row is rewritten once more, N / FULL full segments stay, and FULL / TIER others at most.
        """
        first, rows = len(self.segments), 0
        while first and self.segments[first - 1].records < FULL // 2:
            first -= 1
            rows += self.segments[first].records
        return self.segments[first:] if rows >= FULL and self.base is None else ()

    def merged_alone(self, suffix: Sequence[Segment]) -> IndexArrays:
        """The record index of `suffix`, the newest segments, as one."""
        drop = len(suffix) == len(self.segments)
        return merge_indexes([segment.index() for segment in suffix], {}, drop_tombstones=drop)

    def swap(self, suffix: Sequence[Segment], merged: Segment) -> None:
        """Use `merged` in place of `suffix`, the newest segments. What is newer stays as it is."""
        self.segments = (*self.segments[: len(self.segments) - len(suffix)], merged)

    def merged(self, suffix: Sequence[Segment]) -> IndexArrays:
        """The record index of `suffix` (from `plan`) and the delta as one."""
        drop = len(suffix) == len(self.segments)
        if self.base is not None:
            return merge_indexes([], {**self.base, **self.delta}, drop_tombstones=drop)
        return merge_indexes([segment.index() for segment in suffix], self.delta, drop_tombstones=drop)


def _dict_rows(age: int, rows: Mapping[int, tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    return sorted((id_, age, kind, offset) for id_, (kind, offset) in rows.items())


def _array_rows(age: int, segment: Segment) -> Iterator[tuple[int, int, int, int]]:
    ids, offsets, kinds = segment.index()
    return ((id_, age, kind, offset) for id_, offset, kind in zip(ids, offsets, kinds, strict=True))


def _newest(rows: Iterable[tuple[int, int, int, int]]) -> Iterator[tuple[int, int, int]]:
    last = 0
    for id_, _, kind, offset in rows:
        if id_ not in (0, last):  # 0 is no id
            last = id_
            if kind != TOMBSTONE_KIND:
                yield id_, kind, offset
