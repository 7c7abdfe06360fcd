"""Encode and examine single frames. Layout: core/format.py. No state; reads go through a `Window`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from memhop.core.format import (
    ALIGNMENT,
    COMMIT,
    COMMIT_PAYLOAD,
    END,
    FIELDS,
    FIELDS_OFFSET,
    FIRST_RECORD_KIND,
    GENESIS,
    HEAD,
    LAST_RECORD_KIND,
    LOG_START,
    MANIFEST,
    SEGMENT,
    SYNC,
    longest_payload,
)

_CHUNK = 256 * 1024
_GOLDEN = 0x9E37_79B9_7F4A_7C15  # 2**64 / golden ratio: Fibonacci hashing
_KNOWN = {GENESIS, COMMIT, SEGMENT, MANIFEST, *range(FIRST_RECORD_KIND, LAST_RECORD_KIND + 1)}
_LIMITS = tuple(longest_payload(kind) if kind in _KNOWN else -1 for kind in range(256))
_NO_PAYLOAD = memoryview(b"")


class FrameRef(NamedTuple):
    """A frame as found in the log; `length` is that of its payload."""

    kind: int
    id: int
    flags: int
    offset: int
    length: int

    @property
    def end(self) -> int:
        """Offset of the next frame."""
        return self.offset + (HEAD.size + ALIGNMENT - 1 + self.length & -ALIGNMENT)  # frame_size, without the call


class Sight(NamedTuple):
    """What stands at an offset.

    fault: "" intact · "end" zeros or the end of the log · "head" no readable head · "payload" the head is whole,
        the payload is not · "short" the head is whole, the log ends inside the payload · "mended" one byte of the
        head was wrong and is put right in `ref`; the payload is intact.
    ref: None for "end" and "head".
    payload: empty for segments and where the fault left nothing to show.
    """

    fault: str
    ref: FrameRef | None
    payload: memoryview


class _Readable(Protocol):
    def pread(self, length: int, offset: int) -> bytes: ...


class Window:
    """A file up to `end`, read in chunks. `view` is short only where the range passes `end`."""

    def __init__(self, file: _Readable, end: int) -> None:
        self._file = file
        self.end = end
        self._start = 0
        self._data = _NO_PAYLOAD

    def view(self, offset: int, length: int) -> memoryview:
        """Bytes offset..offset+length, as far as the window goes. Stays valid after later calls."""
        length = min(length, self.end - offset)
        if length <= 0:
            return _NO_PAYLOAD
        begin = offset - self._start
        if begin < 0 or begin + length > len(self._data):
            wanted = min(max(length, _CHUNK), self.end - offset)
            self._data = memoryview(self._file.pread(wanted, offset))
            self._start = offset
            begin = 0
        return self._data[begin : begin + length]


def seed_of(salt: int, offset: int) -> int:
    """What the CRCs of the frame at `offset` start from.

    Mixed, because a CRC XORs its start into the first bytes of the data: with `salt ^ offset` as it is, a frame at a
    neighbouring offset looks like one with a wrong byte, and would be mended.
    """
    return (((salt ^ offset) & 0xFFFF_FFFF_FFFF_FFFF) * _GOLDEN >> 32) & 0xFFFF_FFFF


def _fold(crc: int) -> int:
    return (crc ^ crc >> 16) & 0xFFFF


def encode_head(kind: int, flags: int, id_: int, payload: bytes | memoryview, *, seed: int) -> bytes:
    """The 24 bytes in front of `payload`."""
    fields = FIELDS.pack(kind, flags, len(payload), id_)
    head_crc = zlib.crc32(fields, seed)
    crc = zlib.crc32(payload, head_crc)
    return HEAD.pack(SYNC, crc, _fold(head_crc), kind, flags, len(payload), id_)


def encode_segment_head(length: int, *, seed: int) -> bytes:
    """The head of a segment frame, whose CRC leaves the payload of `length` bytes out."""
    crc = zlib.crc32(FIELDS.pack(SEGMENT, 0, length, 0), seed)
    return HEAD.pack(SYNC, crc, _fold(crc), SEGMENT, 0, length, 0)


def encode(kind: int, flags: int, id_: int, payload: bytes, *, seed: int) -> bytes:
    """A whole frame with its padding."""
    head = encode_head(kind, flags, id_, payload, seed=seed)
    return head + payload + bytes(-len(payload) % ALIGNMENT)


def examine(window: Window, salt: int, offset: int, *, mend: bool = True) -> Sight:
    """Look at the frame at `offset` without trusting a byte of it.

    Args:
        mend: Try to put one wrong byte of a head right. Costs about 2 ms, only where a head is bad.
    """
    head = window.view(offset, HEAD.size)
    if len(head) < HEAD.size:
        return Sight("end" if not any(head) else "head", None, _NO_PAYLOAD)
    sync, crc, check, kind, flags, length, id_ = HEAD.unpack(head)
    seed = 0 if offset == LOG_START else seed_of(salt, offset)
    head_crc = zlib.crc32(head[FIELDS_OFFSET:], seed)
    if sync != SYNC or check != _fold(head_crc) or length > _LIMITS[kind]:
        if kind == END and not any(head):
            return Sight("end", None, _NO_PAYLOAD)
        return (_mended(window, salt, offset, head) if mend else None) or Sight("head", None, _NO_PAYLOAD)
    ref = FrameRef(kind, id_, flags, offset, length)
    if ref.end > window.end:
        return Sight("short", ref, _NO_PAYLOAD)
    if kind == SEGMENT:
        return Sight("" if crc == head_crc else "payload", ref, _NO_PAYLOAD)
    payload = window.view(offset + HEAD.size, length)
    return Sight("" if zlib.crc32(payload, head_crc) == crc else "payload", ref, payload)


def _mended(window: Window, salt: int, offset: int, head: memoryview) -> Sight | None:
    """Try each value of each byte of the head's fields; the check picks candidates, the CRC confirms one."""
    _, crc, check, *_ = HEAD.unpack(head)
    seed = seed_of(salt, offset)
    fields = bytearray(head[FIELDS_OFFSET:])
    for position in range(len(fields)):
        stated = fields[position]
        for value in range(256):
            fields[position] = value
            head_crc = zlib.crc32(fields, seed)
            # With the stated value the damage sits in sync or check, so only the CRC can tell.
            if _fold(head_crc) != check and not (position == 0 and value == stated):
                continue
            kind, flags, length, id_ = FIELDS.unpack(fields)
            ref = FrameRef(kind, id_, flags, offset, length)
            if length > _LIMITS[kind] or kind == GENESIS or ref.end > window.end:
                continue
            payload = _NO_PAYLOAD if kind == SEGMENT else window.view(offset + HEAD.size, length)
            if zlib.crc32(payload, head_crc) == crc:
                return Sight("mended", ref, payload)
        fields[position] = stated
    return None


def sync_marks(window: Window, start: int) -> Iterator[int]:
    """Offsets at or after `start`, multiples of 8, where the sync marker stands. Linear in what is read."""
    position = start
    overlap = len(SYNC) - 1
    while position < window.end:
        chunk = bytes(window.view(position, _CHUNK))
        found = chunk.find(SYNC)
        while found >= 0:
            if (position + found) % ALIGNMENT == 0:
                yield position + found
            found = chunk.find(SYNC, found + 1)
        if position + len(chunk) >= window.end or len(chunk) <= overlap:  # the file may be shorter than the window
            return
        position += len(chunk) - overlap


def next_intact(window: Window, salt: int, start: int) -> int | None:
    """Offset of the next frame at or after `start` that verifies in full, or None.

    A file made to hurt could state huge payloads behind each of many sync markers; what is hashed in vain is
    therefore limited to sixteen times the range searched, then the search gives up.
    """
    allowance = 16 * max(window.end - start, _CHUNK)
    for offset in sync_marks(window, start):
        sight = examine(window, salt, offset, mend=False)
        if not sight.fault:
            return offset
        allowance -= len(sight.payload)
        if allowance < 0:
            break
    return None


def heads(window: Window, salt: int, start: int) -> Iterator[FrameRef]:
    """Every frame from `start` on whose head is whole, in order; payloads are neither read nor checked.

    Bytes that are no frame are stepped over. Cost: about 2 us per frame, and reading what is stepped over.
    """
    position: int | None = start
    while position is not None and position < window.end:
        ref = _head_at(window, salt, position)
        if ref is None:
            marks = sync_marks(window, position + ALIGNMENT)
            position = next((mark for mark in marks if _head_at(window, salt, mark)), None)
        else:
            yield ref
            position = ref.end


def _head_at(window: Window, salt: int, offset: int) -> FrameRef | None:
    head = window.view(offset, HEAD.size)
    if len(head) < HEAD.size:
        return None
    sync, _, check, kind, flags, length, id_ = HEAD.unpack(head)
    seed = 0 if offset == LOG_START else seed_of(salt, offset)
    if sync != SYNC or length > _LIMITS[kind] or check != _fold(zlib.crc32(head[FIELDS_OFFSET:], seed)):
        return None
    ref = FrameRef(kind, id_, flags, offset, length)
    return ref if ref.end <= window.end else None


def commit_marks(window: Window, salt: int, start: int) -> Iterator[memoryview]:
    """Payloads of all commit frames at or after `start` that verify, whatever lies between them."""
    for offset in sync_marks(window, start):
        head = window.view(offset, HEAD.size)
        if len(head) < HEAD.size:
            return
        _, _, _, kind, _, length, _ = HEAD.unpack(head)
        if kind == COMMIT and length == COMMIT_PAYLOAD.size:
            sight = examine(window, salt, offset, mend=False)
            if not sight.fault:
                yield sight.payload
