"""The reading half of a handle: records by id and offset, the tail, the segments, and what is known of the file.

Nothing here writes. Looking a record up takes no lock: what it needs is either immutable (segments, published
bytes) or replaced as a whole (the state). Listing takes the lock for the time of a snapshot.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memhop.common.errors import Closed, Corrupt, InvalidRequest, MemhopError, StorageError
from memhop.core.disk import reason
from memhop.core.format import HEAD, LOG_START, Point
from memhop.core.frame import FrameRef, Window, heads
from memhop.core.log_state import LogState, locate_healing, rows_healing
from memhop.core.records import Entry
from memhop.core.replay import last_byte
from memhop.core.segment import Segment
from memhop.core.writer import LogWriter

if TYPE_CHECKING:
    from memhop.core.commits import Walk
    from memhop.core.space import Space


class Reading:
    """What `MehFile` can do without writing. Safe from several threads.

    Every call raises Closed after `close`, and in a forked child: its lock belongs to the parent.

    Attributes:
        lock: Hold it to see one state over several calls: what other processes write is taken in under it alone. Taken
            before any other lock of the handle, after its turn to write.
    """

    path: Path

    def __init__(self, path: Path, writer: LogWriter) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._writer = writer
        self._pid = os.getpid()
        self._closed = False

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the one that opened the handle. Then the handle is not to be used, and
        its locks may be held by threads that do not exist here."""
        return os.getpid() != self._pid

    def check(self) -> None:
        """Raise as every call does where the handle cannot be used. Takes no lock, so it comes before every lock."""
        if os.getpid() != self._pid:
            raise Closed(f"{self.path} was opened by process {self._pid}", hint="open it again after fork")
        if self._closed:
            raise Closed(f"{self.path} is closed")
        if self._writer.broken:
            raise StorageError(f"{self.path}: {self._writer.broken}", hint="close and open it again")

    def _state(self) -> LogState:
        """The state, if this handle may be used at all."""
        self.check()
        return self._writer.state

    @property
    def uuid(self) -> bytes:
        """The file's name for life, 16 bytes."""
        return self._state().identity.uuid

    @property
    def generation(self) -> int:
        """1, and one more with each compaction."""
        return self._state().identity.generation

    @property
    def commit_number(self) -> int:
        """Of the newest commit; 0 in a new file."""
        return self._state().head.number

    @property
    def commit_time_ms(self) -> int:
        """Of the newest commit; 0 in a new file."""
        return self._state().head.time_ms

    @property
    def head_digest(self) -> bytes:
        """32 bytes: equal digest, equal history."""
        return self._state().head.digest

    @property
    def history_begins(self) -> int:
        """The earliest commit that can be looked back to: 0, or the one that a compaction without history has left."""
        base = self._state().identity.base.number
        return base + 1 if base else 0

    @property
    def published_end(self) -> int:
        """Bytes below, headers aside, never change while the generation stays."""
        return self._state().end

    @property
    def covers(self) -> int:
        """The newest commit in the checkpoint; without one, the commit in front of the first."""
        return self._state().covered.number

    @property
    def meta(self) -> Mapping[str, Any]:
        """What the caller gave to the newest checkpoint; {} without one."""
        manifest = self._state().manifest
        return manifest.meta if manifest else {}

    @property
    def live_bytes(self) -> int:
        """Of the frames of live records."""
        return self._state().records.live_bytes

    @property
    def dead_bytes(self) -> int:
        """What `compact()` would give back, about: superseded frames, tombstones, commit frames, old views."""
        state = self._state()
        views = sum(segment.bytes for segment in state.records.segments)
        return max(0, state.end - LOG_START - state.records.live_bytes - views)

    @property
    def tail_residue(self) -> int:
        """Bytes behind the published end, reserved zeros not counted: a write that is under way or was cut short.

        Cost: reads what is there.
        """
        state = self._state()
        return last_byte(Window(state.file, state.file.size()), state.end) - state.end

    @property
    def file_bytes(self) -> int:
        """Size of the file, reserved space included."""
        return max(self._state().end, self._writer.allocated)

    @property
    def epoch(self) -> int:
        """Counts how often the state was replaced: by compaction, by a failed fsync that took commits back, by what
        other processes did. Offsets and whatever was derived hold within one epoch."""
        return self._writer.epoch

    def fetch(self, id: int, *, kind: int | None = None) -> tuple[int, int, bytes] | None:
        """(kind, offset, payload) of the live record, or None: `locate` and `read` of one state.

        Args:
            kind: One of another kind is None too, and not read. None: any.

        Raises:
            Corrupt: its bytes fail their checksum.
        """
        state = self._state()
        row = self._locate(state, id)
        if row is None or kind not in (None, row[0]):
            return None
        ref, payload = self._frame(state, row[1])
        if (ref.kind, ref.id) != (row[0], id):
            raise Corrupt(f"the record index names another record than {id:016x}", offset=row[1])
        return ref.kind, ref.offset, bytes(payload)

    def locate(self, id: int) -> tuple[int, int] | None:
        """(kind, offset) of the live record, or None. Offsets hold within one `epoch`.

        Cost: O(segments * log records), without a lock.
        """
        return self._locate(self._state(), id)

    def _locate(self, state: LogState, id_: int) -> tuple[int, int] | None:
        try:
            return state.records.locate(id_)
        except Corrupt:
            with self._writer.lock:
                return locate_healing(state, id_)

    def read(self, offset: int) -> tuple[int, int, bytes]:
        """(kind, id, payload) of the record frame at `offset`.

        Raises:
            Corrupt: its bytes fail their checksum, or no record frame stands there.
        """
        ref, payload = self._frame(self._state(), offset)
        return ref.kind, ref.id, bytes(payload)

    def payload_at(self, offset: int) -> tuple[int, int]:
        """(offset, length) of the payload of the frame at `offset`, whose CRC is checked now. Raises as `read`."""
        ref, _ = self._frame(self._state(), offset)
        return offset + HEAD.size, ref.length

    def _frame(self, state: LogState, offset: int) -> tuple[FrameRef, memoryview]:
        try:
            return state.reader.frame(offset, state.end)
        except MemhopError:
            raise
        except OSError as error:
            self.check()  # closed meanwhile by another thread
            raise StorageError(f"cannot read {self.path}: {reason(error)}") from error

    def buffer(self, offset: int, length: int) -> memoryview:
        """Published bytes, unchecked: in place once they are synced, else a copy. Outlives `close`.

        Raises:
            InvalidRequest: the range passes the published end.
        """
        state = self._state()
        if offset < 0 or length < 0 or offset + length > state.end:
            allowed = f"0..{state.end}"
            raise InvalidRequest(f"bytes {offset}..{offset + length}", field="offset", allowed=allowed)
        try:
            with self._writer.lock:
                if offset + length <= self._writer.floor:
                    state.reader.remap(self._writer.floor)
            return state.reader.slice(offset, length)
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {reason(error)}") from error

    def tail(self, start: int = 0) -> Sequence[Entry]:
        """Entries behind the newest checkpoint from the `start`-th on, in log order, as of now."""
        self.check()
        with self._writer.lock:
            return tuple(self._state().tail[start:])

    @property
    def tail_length(self) -> int:
        """Entries behind the newest checkpoint."""
        return len(self._state().tail)

    @property
    def tail_bytes(self) -> int:
        """Bytes behind the newest checkpoint: what the next opening would replay."""
        state = self._state()
        return state.end - state.covered.end

    @property
    def refused(self) -> str:
        """Why this handle takes no writes; "" if it does."""
        return self._writer.refused

    def live(self) -> Iterator[tuple[int, int, int]]:
        """(id, kind, offset) of every live record, ids ascending, as of now. Cost: O(records), 1 us each."""
        self.check()
        with self._writer.lock:
            return rows_healing(self._state())

    def ids(self, kind: int) -> Iterator[int]:
        """Live ids of a kind, ascending, as of now. Cost: as `live`."""
        return (id_ for id_, row_kind, _ in self.live() if row_kind == kind)

    def frames(self) -> Iterator[FrameRef]:
        """Every frame of the log in log order, superseded ones and views too, as of now; payloads are not checked.

        Cost: about 2 us per frame.
        """
        state = self._state()
        return heads(Window(state.file, state.end), state.identity.salt, LOG_START)

    def walk(self, number: int, known: Walk | None = None) -> Walk:
        """A walk that has come to commit `number`, or to the base of the log if that is later.

        Args:
            known: An earlier walk, to go on with if that is of use.

        Cost: O(checkpoints since + frames behind the checkpoint before `number`), 5 us each; nothing where `known`
            stands there already.
        """
        from memhop.core.commits import Walk

        with self._reported():
            epoch, state = self.epoch, self._state()
            if known is None or known.epoch != epoch or not known.goes_on(state, number):
                return Walk(state, number, epoch)
            known.step(state, number)
            return known

    def commits(self, walk: Walk) -> Iterator[tuple[Point, tuple[Entry, ...]]]:
        """The commits behind a walk, as of now, and what each frame of them replaced; see core/commits.py."""
        with self._reported():
            yield from walk.commits(self._state())

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except MemhopError:
            raise
        except OSError as error:
            self.check()  # closed meanwhile by another thread
            raise StorageError(f"cannot read {self.path}: {reason(error)}") from error

    def space(self) -> Space:
        """What the bytes of the file are used for. Cost: about 5 us per frame."""
        from memhop.core.space import measure

        return measure(self._state(), self._writer.lock, self._writer.allocated)

    def segments(self) -> Sequence[Segment]:
        """The live segments, oldest first."""
        return self._state().records.segments
