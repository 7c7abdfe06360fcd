"""The records of a file at one moment, for long work that must not keep writers waiting.

What is published never changes, so a snapshot is a copy of what the handle knew (core/log_state.py) and needs no lock.
It answers as the handle does, from the bytes of that moment: also after a compaction has put another file in place,
but not after the handle was closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memhop.common.errors import MemhopError, StorageError
from memhop.core.disk import reason
from memhop.core.format import HEAD
from memhop.core.frame import FrameRef
from memhop.core.log_state import LogState, locate_healing, rows_healing
from memhop.core.records import Entry
from memhop.core.segment import Segment


class Snapshot:
    """Made by `MehFile.snapshot`; the methods are those of `MehFile` of the same names. For one thread."""

    def __init__(self, path: Path, state: LogState) -> None:
        self._path = path
        self._state = state

    @property
    def epoch(self) -> int:
        """The state is never replaced."""
        return 0

    @property
    def meta(self) -> Mapping[str, Any]:
        """What the caller gave to the newest checkpoint; {} without one."""
        return self._state.manifest.meta if self._state.manifest else {}

    @property
    def tail_length(self) -> int:
        """Entries behind the newest checkpoint."""
        return len(self._state.tail)

    def tail(self, start: int = 0) -> Sequence[Entry]:
        """Entries behind the newest checkpoint from the `start`-th on, in log order."""
        return tuple(self._state.tail[start:])

    def segments(self) -> Sequence[Segment]:
        """The live segments, oldest first."""
        return self._state.records.segments

    def live(self) -> Iterator[tuple[int, int, int]]:
        """(id, kind, offset) of every live record, ids ascending."""
        return rows_healing(self._state)

    def locate(self, id: int) -> tuple[int, int] | None:
        """(kind, offset) of the live record, or None."""
        return locate_healing(self._state, id)

    def read(self, offset: int) -> tuple[int, int, bytes]:
        """(kind, id, payload) of the record frame at `offset`. Raises Corrupt, StorageError."""
        ref, payload = self._frame(offset)
        return ref.kind, ref.id, bytes(payload)

    def payload_at(self, offset: int) -> tuple[int, int]:
        """(offset, length) of the payload of the frame at `offset`. Raises as `read`."""
        ref, _ = self._frame(offset)
        return offset + HEAD.size, ref.length

    def buffer(self, offset: int, length: int) -> memoryview:
        """Published bytes, unchecked: in place where they are mapped, else a copy."""
        return self._state.reader.slice(offset, length)

    def _frame(self, offset: int) -> tuple[FrameRef, memoryview]:
        try:
            return self._state.reader.frame(offset, self._state.end)
        except MemhopError:
            raise
        except OSError as error:
            raise StorageError(f"cannot read {self._path}: {reason(error)}") from error
