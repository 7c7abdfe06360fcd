"""The log of a `.meh` file of the Go library: which records are live, and where. All integers are little-endian.

        0  header A, 4096 bytes     magic "MEH2", version u16 (6 or 7), at 36: end of the records u64 (0: not known),
     4096  header B, 4096 bytes     at 8: commit number u64, at 4088: CRC-32 of what is before it, tail magic "2HEM"
     8192  frames                   type u8, flags u8 (1: deleted), length u32, id u64, CRC-32 u32 of these 14 bytes
                                    and the payload, payload; a head of zeros ends the log
           snapshots                indexes, of no use here

The newest frame of an id counts, whatever its type. A frame that does not check out is reported, and the next good one
is looked for byte by byte, so a damaged stretch costs what stands in it; snapshots in the way are stepped over like
that too, unreported. How many bytes that search may check is bounded, so that no file can make it quadratic.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from memhop.common.errors import InvalidRequest
from memhop.readers.item import MAX_RAW_BYTES, Rejected
from memhop.readers.source import Stream, open_file, unreadable

MAGIC: Final = b"MEH2"
_TAIL: Final = b"2HEM"
_SNAPSHOT: Final = b"PANS"
_HEADER_BYTES: Final = 4096
_START: Final = 2 * _HEADER_BYTES
_VERSIONS: Final = (6, 7)
_HEADER: Final = struct.Struct("<4xH2xQ20xQ4044xI4x")
_HEAD: Final = struct.Struct("<BBIQI")
assert _HEADER.size == _HEADER_BYTES
_MOST_BYTES: Final = 64 * 1024 * 1024  # of one payload
_STEP: Final = 1024 * 1024
_CANDIDATE: Final = re.compile(rb"[\x01-\x08\x0b\x0d-\x0f\xf0](?=[\x00\x01])")


def check(path: Path, expected: str) -> None:
    """Whether the file has a good header of a version that is read.

    Raises:
        InvalidRequest: it has not.
        StorageError: it cannot be read.
    """
    with open_file(path) as file:
        start = file.read(_START)
    headers = _headers(start)
    versions = [version for version, _, _ in headers]
    if any(version in _VERSIONS for version in versions):
        return
    if versions:
        raise InvalidRequest(f"{path.name} has version {versions[0]:#06x}", field="path", allowed=expected)
    damaged = MAGIC in (start[:4], start[_HEADER_BYTES:][:4])
    reason = "has no header that checks out" if damaged else "is something else"
    raise InvalidRequest(f"{path.name} {reason}", field="path", allowed=expected)


def _headers(start: bytes) -> list[tuple[int, int, int]]:
    """Version, commit number and end of the records of each good header."""
    found = []
    for at in (0, _HEADER_BYTES):
        header = start[at : at + _HEADER_BYTES]
        if len(header) == _HEADER_BYTES and header.startswith(MAGIC) and header.endswith(_TAIL):
            version, commit, end, crc = _HEADER.unpack(header)
            if zlib.crc32(header[:4088]) == crc:
                found.append((version, commit, end))
    return found


class Frames:
    """The live records of an open file. Memory: about 150 bytes for each."""

    def __init__(self, file: Stream) -> None:
        self.damaged: list[Rejected] = []
        self._file = file
        self._live: dict[int, tuple[int, int, int]] = {}  # id -> type, offset of the payload, length
        self._size = file.seek(0, 2)
        self._budget = 4 * self._size + _MOST_BYTES
        self._scan()

    def kinds(self) -> Iterable[int]:
        """The types that have live records."""
        return {kind for kind, _, _ in self._live.values()}

    def ids(self, kind: int) -> list[int]:
        """The live records of a type, in the order they were last written."""
        return [id_ for _, id_ in sorted((at, id_) for id_, (found, at, _) in self._live.items() if found == kind)]

    def payload(self, id_: int) -> bytes:
        """What a live record holds."""
        _, offset, length = self._live[id_]
        return self._read(offset, length)

    def _read(self, offset: int, length: int) -> bytes:
        try:
            self._file.seek(offset)
            return self._file.read(length)
        except OSError as error:
            raise unreadable(getattr(self._file, "name", "the file"), error) from error

    def _scan(self) -> None:
        good = [header for header in _headers(self._read(0, _START)) if header[0] in _VERSIONS]
        _, _, end = max(good, key=lambda header: header[1], default=(0, 0, 0))
        at = _START
        while at < self._size:
            head = self._read(at, _HEAD.size)
            if not any(head[:14]) or (end and at == end and head.startswith(_SNAPSHOT)):
                return
            if following := self._frame(at, head):
                at = following
                continue
            found = self._next_good(at + 1)
            if not head.startswith(_SNAPSHOT):
                stop = found or self._size
                raw = self._read(at, min(stop - at, MAX_RAW_BYTES))
                self.damaged.append(Rejected(f"byte {at}", f"{stop - at:,} bytes are damaged or cut off", raw))
            if not found:
                return
            at = found

    def _frame(self, at: int, head: bytes, *, note: bool = True) -> int:
        """Take the frame that begins here and return where it ends; 0 if it does not check out."""
        if len(head) < _HEAD.size:
            return 0
        kind, flags, length, id_, stored = _HEAD.unpack(head)
        end: int = at + _HEAD.size + length
        if length > _MOST_BYTES or end > self._size or flags > 1 or not _CANDIDATE.match(head):
            return 0
        checked = zlib.crc32(self._read(at + _HEAD.size, length), zlib.crc32(head[:14]))
        if checked != stored:
            self._budget -= length
            return 0
        if note:
            if flags:
                self._live.pop(id_, None)
            else:
                self._live[id_] = (kind, at + _HEAD.size, length)
        return end

    def _next_good(self, at: int) -> int:
        """Where the next good frame begins; 0 if there is none, or the search took too long."""
        while at < self._size:
            window = self._read(at, _STEP + _HEAD.size)
            for candidate in _CANDIDATE.finditer(window):
                offset = candidate.start()
                if offset >= _STEP or self._budget < 0:
                    break
                head = window[offset : offset + _HEAD.size]
                if self._frame(at + offset, head, note=False):
                    return at + offset
            if self._budget < 0:
                return 0
            at += _STEP
        return 0
