"""Reading published bytes: from the memory map where it reaches, with pread where it does not.

The map is made up to a published end and never touched beyond it. Older maps live as long as someone holds a view
of them, so views survive remapping, compaction and close.
"""

from __future__ import annotations

import zlib

from memhop.common.errors import Corrupt
from memhop.core.disk import DiskFile
from memhop.core.format import (
    ALIGNMENT,
    FIELDS_OFFSET,
    FIRST_RECORD_KIND,
    HEAD,
    LOG_START,
    MAX_PAYLOAD,
    SYNC,
    frame_size,
)
from memhop.core.frame import FrameRef, seed_of

_GUESS = 1024  # bytes fetched with the head of a frame that is not mapped; most records fit


class LogReader:
    """Frames by offset. Holds no lock; every method is safe from several threads."""

    def __init__(self, file: DiskFile, salt: int) -> None:
        self._file = file
        self._salt = salt
        self.mapping = memoryview(b"")

    def remap(self, end: int) -> None:
        """Map bytes 0..end, `end` being published; less where the file was cut short since."""
        if end > len(self.mapping):
            end = min(end, self._file.size())
            if end > len(self.mapping):
                self.mapping = self._file.map(end)

    def slice(self, offset: int, length: int) -> memoryview:
        """Bytes of the file, in place if mapped, else a copy. Short at the end of the file."""
        mapping = self.mapping
        if offset + length <= len(mapping):
            return mapping[offset : offset + length]
        return memoryview(self._file.pread(length, offset))

    def size_of(self, offset: int) -> int:
        """Bytes in the file of the frame at `offset`, as its head states. 0 where there is no head.

        The offset may come from a record index that lies, and be no place any file has.
        """
        head = self.slice(offset, HEAD.size) if offset < 2**62 else b""
        return frame_size(HEAD.unpack(head)[5]) if len(head) == HEAD.size else 0

    def frame(self, offset: int, end: int) -> tuple[FrameRef, memoryview]:
        """The record frame at `offset`, checked, and its payload, in place if mapped.

        Args:
            end: The published end; a frame must lie below it.

        Raises:
            Corrupt: no frame stands there, or its CRC fails.
        """
        if offset % ALIGNMENT or not LOG_START <= offset <= end - HEAD.size:
            raise Corrupt("offset of no frame", offset=offset)
        data = self.slice(offset, min(HEAD.size + _GUESS, end - offset))
        if len(data) < HEAD.size:
            raise Corrupt("frame beyond the end of the file", offset=offset)
        sync, stored, _, kind, flags, length, id_ = HEAD.unpack_from(data)
        if sync != SYNC or length > MAX_PAYLOAD or offset + frame_size(length) > end:
            raise Corrupt("frame head", offset=offset)
        if kind < FIRST_RECORD_KIND:
            raise Corrupt("a frame that is no record", offset=offset)
        if HEAD.size + length > len(data):
            data = self.slice(offset, HEAD.size + length)
        payload = data[HEAD.size : HEAD.size + length]
        found = zlib.crc32(payload, zlib.crc32(data[FIELDS_OFFSET : HEAD.size], seed_of(self._salt, offset)))
        if found != stored:
            raise Corrupt("frame checksum", offset=offset, expected=stored, found=found)
        return FrameRef(kind, id_, flags, offset, length), payload
