"""Who a file is: its two headers and its genesis payload. Layout: core/format.py. No I/O."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from memhop.common.errors import BadFormat
from memhop.core.commit import blake2b
from memhop.core.format import (
    COMMIT_FRAME_SIZE,
    DIGEST_SIZE,
    GENESIS_PAYLOAD,
    HEADER,
    HEADER_CRC_OFFSET,
    HEADER_SIZE,
    KNOWN_REQUIRED,
    LOG_START,
    MAGIC,
    MAX_GENERATION,
    MAX_NUMBER,
    POINT,
    VERSION,
    Point,
    frame_size,
)

FIRST_BATCH = LOG_START + frame_size(GENESIS_PAYLOAD.size)
_MANGLED = (b"\x89MEH\n\x1a\n", b"\x89MEH\r\r\n\x1a", b"\x09MEH", b"\xc2\x89MEH", b"\xef\xbf\xbdMEH")

assert COMMIT_FRAME_SIZE % 8 == 0


class Identity(NamedTuple):
    """What stays the same between two compactions; `base` is where the chain of commits begins."""

    uuid: bytes
    salt: int
    generation: int
    created_ms: int
    base: Point


class Header(NamedTuple):
    """One header, checked. See core/format.py for the fields."""

    uuid: bytes
    salt: int
    generation: int
    created_ms: int
    sequence: int
    covered: Point
    manifest: int
    durable: Point
    published: int

    def encode(self) -> bytes:
        """The 4096 bytes."""
        body = HEADER.pack(
            MAGIC,
            VERSION,
            0,
            0,
            0,
            self.uuid,
            self.salt,
            self.generation,
            self.sequence,
            self.created_ms,
            POINT.pack(*self.covered),
            self.manifest,
            POINT.pack(*self.durable),
            self.published,
        ).ljust(HEADER_CRC_OFFSET, b"\0")
        return body + zlib.crc32(body).to_bytes(4, "little")


def decode_header(data: bytes) -> Header | None:
    """The header in `data`, or None where the bytes do not check out.

    Raises:
        BadFormat: the CRC is good, but a newer version or an unknown required feature wrote it.
    """
    if len(data) != HEADER_SIZE or data[: len(MAGIC)] != MAGIC:
        return None
    if zlib.crc32(data[:HEADER_CRC_OFFSET]) != int.from_bytes(data[HEADER_CRC_OFFSET:], "little"):
        return None
    _, version, _, required, _, uuid, salt, generation, sequence, created_ms, covered, manifest, durable, end = (
        HEADER.unpack_from(data)
    )
    refuse_unknown(version, required)
    header = Header(
        uuid,
        salt,
        generation,
        created_ms,
        sequence,
        Point(*POINT.unpack(covered)),
        manifest,
        Point(*POINT.unpack(durable)),
        end,
    )
    return header if _consistent(header) else None


def _consistent(header: Header) -> bool:
    """Geometry is checked here, once, before any arithmetic uses it."""
    covered, durable = header.covered, header.durable
    offsets = (covered.end, durable.end, header.published, header.manifest or LOG_START)
    return (
        all(offset % 8 == 0 and LOG_START <= offset < 2**63 for offset in offsets)
        and FIRST_BATCH <= covered.end <= durable.end <= header.published
        and header.manifest < header.published
        and covered.number <= durable.number
        and _countable(header.generation, header.sequence, durable.number, covered.time_ms, durable.time_ms)
    )


def _countable(generation: int, *numbers: int) -> bool:
    """Whether there is room behind these numbers, so that counting on never overflows a field."""
    return generation <= MAX_GENERATION and all(-MAX_NUMBER <= number <= MAX_NUMBER for number in numbers)


def refuse_unknown(version: int, required: int) -> None:
    """Raises BadFormat where this build is too old for the file."""
    if version > VERSION:
        raise BadFormat(
            f"the file has format version {version}, this build of MemHop reads up to {VERSION}",
            hint="update memhop",
        )
    if unknown := required & ~KNOWN_REQUIRED:
        raise BadFormat(
            f"the file (format version {version}) needs features {unknown:#x} which this build of MemHop "
            f"(format version {VERSION}) lacks",
            hint="update memhop",
        )


def newest(headers: tuple[Header | None, Header | None]) -> Header | None:
    """The live one of two decoded headers, or None if neither is good."""
    good = [header for header in headers if header is not None]
    return max(good, key=lambda header: header.sequence, default=None)


def first_digest(uuid: bytes) -> bytes:
    """The digest a new file's chain begins with."""
    return blake2b(uuid, digest_size=DIGEST_SIZE).digest()


def encode_genesis(identity: Identity) -> bytes:
    """The payload of the genesis frame."""
    base = identity.base
    return GENESIS_PAYLOAD.pack(
        VERSION,
        0,
        0,
        identity.uuid,
        identity.salt,
        identity.generation,
        identity.created_ms,
        base.number,
        base.time_ms,
        base.digest,
    )


def decode_genesis(payload: bytes | memoryview) -> Identity | None:
    """The identity in a genesis payload whose CRC was good, or None if it has another size or impossible numbers.

    Raises:
        BadFormat: a newer version wrote it.
    """
    if len(payload) < 8:
        return None
    refuse_unknown(
        int.from_bytes(payload[0:2], "little"), int.from_bytes(payload[4:8], "little")
    )  # before the size: a newer version may be longer
    if len(payload) != GENESIS_PAYLOAD.size:
        return None
    _, _, _, uuid, salt, generation, created_ms, number, time_ms, digest = GENESIS_PAYLOAD.unpack(payload)
    if not _countable(generation, number, time_ms):
        return None
    return Identity(uuid, salt, generation, created_ms, Point(number, time_ms, FIRST_BATCH, digest))


def explain_foreign(data: bytes) -> str:
    """Why a file with neither a good header nor a good genesis frame is refused, for a person."""
    if not data:
        return "the file is empty"
    if data.startswith(_MANGLED):
        return "the file was damaged by a transfer in text mode"
    if data.startswith(MAGIC):
        version = int.from_bytes(data[8:10], "little")
        if version > VERSION:
            return f"the file has format version {version}, this build of MemHop reads up to {VERSION}"
        return "both headers and the genesis frame are damaged"
    return "this is not a .meh file"
