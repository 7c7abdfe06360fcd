"""Where things stand in a `.meh` file, found without `memhop`'s own readers, and how checksums are made right again.

A mutation that leaves a checksum wrong only ever tests that checksum. `reseal` puts all of them right behind a
mutation, so that what lies behind them has to hold as well: ranges, counts, offsets, types, and the chain of commits.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from memhop.core.commit import Chain
from memhop.core.format import (
    ALIGNMENT,
    COMMIT,
    COMMIT_PAYLOAD,
    DELETED,
    DIGEST_SIZE,
    FIELDS,
    FIELDS_OFFSET,
    FIRST_RECORD_KIND,
    GENESIS,
    GENESIS_PAYLOAD,
    HEAD,
    HEADER,
    HEADER_CRC_OFFSET,
    HEADER_OFFSETS,
    HEADER_SIZE,
    LOG_START,
    MAGIC,
    MANIFEST,
    SEGMENT,
    SYNC,
    align,
)
from memhop.core.frame import encode, encode_head, encode_segment_head, seed_of


class Content(NamedTuple):
    """What a record frame says."""

    kind: int
    id: int
    payload: bytes


class Field(NamedTuple):
    """An integer or digest of a structure: `size` bytes from byte `at` of it on."""

    name: str
    at: int
    size: int


def _fields(text: str) -> tuple[Field, ...]:
    """Fields that stand one behind the other, told as "name size"; "-" is a gap."""
    found, at = [], 0
    for item in text.split(","):
        name, size = item.split()
        if name != "-":
            found.append(Field(name, at, int(size)))
        at += int(size)
    return tuple(found)


_POINT = "{0}.number 8, {0}.time_ms 8, {0}.end 8, {0}.digest 32"
HEADER_FIELDS = _fields(
    "magic 8, version 2, - 2, required 4, optional 4, uuid 16, salt 4, generation 4, sequence 8, created_ms 8, "
    f"{_POINT.format('covered')}, manifest 8, {_POINT.format('durable')}, published 8"
)
FRAME_FIELDS = _fields("sync 4, crc 4, check 2, kind 1, flags 1, length 4, id 8")
COMMIT_FIELDS = _fields("number 8, time_ms 8, durable 8, length 8, count 4, - 4, previous.digest 32, own.digest 32")
GENESIS_FIELDS = _fields(
    "version 2, - 2, required 4, uuid 16, salt 4, generation 4, created_ms 8, base.number 8, base.time_ms 8, "
    "base.digest 32"
)
for _layout, _struct in (
    (HEADER_FIELDS, HEADER), (FRAME_FIELDS, HEAD), (COMMIT_FIELDS, COMMIT_PAYLOAD), (GENESIS_FIELDS, GENESIS_PAYLOAD)
):  # fmt: skip
    assert _layout[-1].at + _layout[-1].size == _struct.size


def field(fields: Iterable[Field], name: str) -> Field:
    """The field of this name."""
    return next(found for found in fields if found.name == name)


def get(data: bytes | bytearray, start: int, place: Field) -> int:
    """The integer in a field of the structure at `start`."""
    return int.from_bytes(data[start + place.at : start + place.at + place.size], "little")


def put(data: bytearray, start: int, place: Field, value: int) -> None:
    """Overwrite it, by the lowest bytes of `value`."""
    whole = value & (1 << 8 * place.size) - 1
    data[start + place.at : start + place.at + place.size] = whole.to_bytes(place.size, "little")


_SEQUENCE, _SALT = field(HEADER_FIELDS, "sequence"), field(HEADER_FIELDS, "salt")


def live_header(data: bytes | bytearray) -> int | None:
    """Offset of the header with the higher sequence among those that begin with the magic."""
    found = [offset for offset in HEADER_OFFSETS if data[offset : offset + len(MAGIC)] == MAGIC]
    return max(found, key=lambda offset: get(data, offset, _SEQUENCE), default=None)


def salt_of(data: bytes | bytearray) -> int:
    """What a reader would seed the frame checksums with."""
    header = live_header(data)
    if header is not None:
        return get(data, header, _SALT)
    return get(data, LOG_START + HEAD.size, field(GENESIS_FIELDS, "salt"))


def marks(data: bytes | bytearray) -> Iterator[int]:
    """Offsets of whole frame heads behind a sync marker."""
    at = data.find(SYNC, LOG_START)
    while at >= 0:
        if at % ALIGNMENT == 0 and at + HEAD.size <= len(data):
            yield at
        at = data.find(SYNC, at + 1)


def frames(data: bytes | bytearray) -> list[int]:
    """Offsets of frames whose checksum holds."""
    return [offset for offset in marks(data) if _intact(data, offset, salt_of(data))]


def _intact(data: bytes | bytearray, offset: int, salt: int) -> bool:
    _, crc, _, kind, _, length, _ = HEAD.unpack_from(data, offset)
    found = zlib.crc32(data[offset + FIELDS_OFFSET : offset + HEAD.size], _seed(salt, offset))
    if kind == SEGMENT:
        return bool(found == crc)
    payload = data[offset + HEAD.size : offset + HEAD.size + length]
    return len(payload) == length and bool(zlib.crc32(payload, found) == crc)


def _seed(salt: int, offset: int) -> int:
    return 0 if offset == LOG_START else seed_of(salt, offset)


def contents(data: bytes | bytearray) -> set[Content]:
    """What the record frames of a file say whose checksum holds; tombstones say nothing."""
    salt, found = salt_of(data), set()
    for offset in marks(data):
        _, _, _, kind, flags, length, id_ = HEAD.unpack_from(data, offset)
        if kind >= FIRST_RECORD_KIND and not flags & DELETED and _intact(data, offset, salt):
            found.add(Content(kind, id_, bytes(data[offset + HEAD.size : offset + HEAD.size + length])))
    return found


def reseal(data: bytearray, offsets: Sequence[int], *, rechain: bool) -> None:
    """Put the checksums of both headers and of the frames at `offsets` right.

    Args:
        rechain: Also the digests of all commits, and whatever names them.
    """
    if rechain:
        for old, new in _rechained(data, offsets).items():
            for stated, right in ((old, new), (old.hex().encode(), new.hex().encode())):
                data[:] = data.replace(stated, right)
    salt = salt_of(data)
    for offset in offsets:
        if offset + HEAD.size > len(data):
            continue
        _, _, _, kind, flags, length, id_ = HEAD.unpack_from(data, offset)
        payload = bytes(data[offset + HEAD.size : offset + HEAD.size + length])
        head = encode_head(kind, flags, id_, payload, seed=_seed(salt, offset))
        if kind == SEGMENT:
            head = encode_segment_head(length, seed=_seed(salt, offset))
        if len(payload) < length:  # beyond the end: the head alone can be right
            head = _head_alone(data, offset, _seed(salt, offset))
        data[offset : offset + HEAD.size] = head
    for offset in HEADER_OFFSETS:
        if any(data[offset : offset + HEADER_SIZE]) and len(data) >= offset + HEADER_SIZE:
            crc = zlib.crc32(data[offset : offset + HEADER_CRC_OFFSET])
            data[offset + HEADER_CRC_OFFSET : offset + HEADER_SIZE] = crc.to_bytes(4, "little")


def _head_alone(data: bytearray, offset: int, seed: int) -> bytes:
    crc = zlib.crc32(data[offset + FIELDS_OFFSET : offset + HEAD.size], seed)
    return (
        SYNC
        + crc.to_bytes(4, "little")
        + ((crc ^ crc >> 16) & 0xFFFF).to_bytes(2, "little")
        + bytes(data[offset + FIELDS_OFFSET : offset + HEAD.size])
    )


def _rechained(data: bytearray, offsets: Sequence[int]) -> dict[bytes, bytes]:
    """Stated digest -> what the digest of that commit should be."""
    right: dict[bytes, bytes] = {}
    base = LOG_START + HEAD.size + field(GENESIS_FIELDS, "base.digest").at
    previous = bytes(data[base : base + DIGEST_SIZE])
    chain = Chain(previous)
    for offset in offsets:
        if offset + HEAD.size > len(data):
            break
        _, _, _, kind, flags, length, id_ = HEAD.unpack_from(data, offset)
        payload = bytes(data[offset + HEAD.size : offset + HEAD.size + length])
        if kind >= FIRST_RECORD_KIND:
            chain.add(FIELDS.pack(kind, flags, length, id_), payload)
        elif kind == COMMIT and len(payload) == COMMIT_PAYLOAD.size:
            number, time_ms, *_, stated = COMMIT_PAYLOAD.unpack(payload)
            previous = right[stated] = chain.close(number, time_ms)
            chain = Chain(previous)
    return {old: new for old, new in right.items() if old != new and any(old)}


def manifest_of(data: bytes | bytearray) -> dict[str, Any] | None:
    """The manifest the live header names."""
    header = live_header(data)
    offset = get(data, header, field(HEADER_FIELDS, "manifest")) if header is not None else 0
    if not LOG_START <= offset <= len(data) - HEAD.size:
        return None
    _, _, _, kind, _, length, _ = HEAD.unpack_from(data, offset)
    if kind != MANIFEST or not _intact(data, offset, salt_of(data)):
        return None
    try:
        found = json.loads(data[offset + HEAD.size : offset + HEAD.size + length])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def put_manifest(data: bytearray, text: bytes) -> None:
    """Append a manifest frame and let the live header name it, all checksums right."""
    header = live_header(data)
    assert header is not None
    del data[align(len(data.rstrip(b"\0"))) :]
    offset = len(data) + -len(data) % ALIGNMENT
    data.extend(bytes(offset - len(data)))
    data += encode(MANIFEST, 0, 0, text, seed=_seed(salt_of(data), offset))
    put(data, header, field(HEADER_FIELDS, "manifest"), offset)
    put(data, header, field(HEADER_FIELDS, "published"), len(data))
    reseal(data, (), rechain=False)


def put_genesis(payload: bytes) -> bytes:
    """A genesis frame around any payload."""
    return encode(GENESIS, 0, 0, payload, seed=0)
