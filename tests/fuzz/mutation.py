"""From a number to a damaged file: raw damage, and forgeries whose checksums are right.

`damaged(sources, seed)` is a function: the same sources and seed give the same bytes.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from memhop.common.errors import MemhopError
from memhop.core.format import COMMIT, GENESIS, HEAD, HEADER_OFFSETS, LOG_START
from memhop.core.meh_file import DELETED, Write
from memhop.core.segment import ITEM_SIZES
from memhop.repo.codec import RECORD_TYPES
from tests.fuzz import hostile
from tests.fuzz.layout import (
    COMMIT_FIELDS,
    FRAME_FIELDS,
    GENESIS_FIELDS,
    HEADER_FIELDS,
    Content,
    Field,
    contents,
    frames,
    get,
    manifest_of,
    put,
    put_manifest,
    reseal,
)
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import PATH, open_file

LARGEST = 256 * 1024  # bytes; what is inserted and doubled stops there


class Damaged(NamedTuple):
    """An input.

    Attributes:
        said: Every record that a frame with a right checksum has held on the way: all that may ever be served.
        forged: Checksums were put right again, so the file may say what nobody wrote.
        recipe: What was done, for a person.
    """

    data: bytes
    said: frozenset[Content]
    forged: bool
    recipe: tuple[str, ...]


def damaged(sources: Mapping[str, bytes], known: Set[Content], seed: int) -> Damaged:
    """The input of a seed: one of the sources, changed at one to eight places. Forging comes first.

    Args:
        known: What all sources say; a piece of one may bring it into another.
    """
    rng = random.Random(seed)
    name = rng.choice(sorted(sources))
    data, recipe = bytearray(sources[name]), [name]
    said = contents(data)
    forged = rng.random() < 0.6 and len(data) > LOG_START + HEAD.size
    if forged:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            way = rng.choice(_FORGERIES)
            recipe.append(way.__name__)
            way(data, rng)
            said |= contents(data)
    if not forged or rng.random() < 0.2:
        for _ in range(rng.choice((1, 1, 2, 5))):
            other = rng.choice(sorted(sources))
            done, spliced = _raw(data, sources[other], rng)
            recipe.append(f"{done} of {other}" if spliced else done)
            said |= known if spliced else contents(data)  # what is moved can land where it belongs
    return Damaged(bytes(data), frozenset(said), forged, tuple(recipe))


# -- raw damage --------------------------------------------------------------------------------------------------


def _raw(data: bytearray, other: bytes, rng: random.Random) -> tuple[str, bool]:
    """One change that asks nobody, and whether the other file came in.

    Most of them behind the headers, whose bytes are nearly all zeros.
    """
    start = 0 if rng.random() < 0.25 or len(data) <= LOG_START else LOG_START
    at = rng.randrange(start, len(data) + 1)
    if rng.random() < 0.5:
        at &= ~7
    length = min(rng.choice((1, 2, 4, 8, 24, 64, 128, 512, 4_096)), len(data) - at)
    to = rng.randrange(len(data) - length + 1) & (~7 if rng.random() < 0.7 else ~0)
    block = bytes(data[at : at + length])
    way = rng.choice(
        ("flip", "flip", "set", "zero", "number", "insert", "delete", "repeat", "copy", "swap", "cut", "splice", "grow")
    )
    if way == "flip" and length:
        data[at] ^= 1 << rng.randrange(8)
    elif way == "set":
        data[at : at + length] = rng.randbytes(length)
    elif way == "zero":
        data[at : at + length] = bytes(length)
    elif way == "number":
        size = min(rng.choice((2, 4, 8)), len(data) - at)
        put(data, at, Field("", 0, size), hostile.integer(rng))
    elif way == "insert":
        data[at:at] = rng.randbytes(length)
    elif way == "delete":
        del data[at : at + length]
    elif way == "repeat":
        data[at:at] = block
    elif way == "copy":
        data[to : to + length] = block
    elif way == "swap":
        data[at : at + length], data[to : to + length] = data[to : to + length], block
    elif way == "cut":
        del data[at:]
    elif way == "splice":
        data[at:] = other[min(at, len(other)) :] if rng.random() < 0.5 else other[rng.randrange(len(other) + 1) :]
    else:
        data += bytes(rng.choice((1, 8, 4_096)))
    del data[LARGEST:]
    return f"{way} {at}+{length}", way == "splice"


# -- forgeries ---------------------------------------------------------------------------------------------------


def _header(data: bytearray, rng: random.Random) -> None:
    offset = rng.choice(HEADER_OFFSETS)
    place = rng.choice(HEADER_FIELDS)
    near = rng.choice((get(data, offset, place), *frames(data), len(data)))
    put(data, offset, place, hostile.integer(rng, near) if rng.random() < 0.7 else near)
    reseal(data, (), rechain=False)


def _older_header(data: bytearray, rng: random.Random) -> None:
    a, b = HEADER_OFFSETS
    way = rng.randrange(3)
    if way == 0:
        data[a:b], data[b:LOG_START] = data[b:LOG_START], data[a:b]
    elif way == 1:
        data[a:b] = data[b:LOG_START]
    else:
        lost = rng.choice((slice(a, b), slice(b, LOG_START), slice(a, LOG_START)))
        data[lost] = bytes(lost.stop - lost.start)


def _frame(data: bytearray, rng: random.Random) -> None:
    offsets = frames(data)
    if not offsets:
        return
    offset = rng.choice(offsets)
    place = rng.choice(FRAME_FIELDS[3:])
    put(data, offset, place, hostile.integer(rng, rng.choice((get(data, offset, place), len(data) - offset))))
    reseal(data, offsets, rechain=rng.random() < 0.5)


def _payload(data: bytearray, rng: random.Random) -> None:
    offsets = frames(data)
    if not offsets:
        return
    offset = rng.choice(offsets)
    *_, kind, _, length, _ = HEAD.unpack_from(data, offset)
    start = offset + HEAD.size
    if kind in (COMMIT, GENESIS):
        place = rng.choice(COMMIT_FIELDS if kind == COMMIT else GENESIS_FIELDS)
        put(data, start, place, hostile.integer(rng, get(data, start, place)))
    elif start < len(data) and length:
        at = start + rng.randrange(min(length, len(data) - start))
        data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
    reseal(data, offsets, rechain=rng.random() < 0.5)


def _manifest(data: bytearray, rng: random.Random) -> None:
    manifest = manifest_of(data)
    if manifest is None:
        return
    for _ in range(rng.choice((1, 1, 2))):
        changed = hostile.mutated(manifest, rng)
        manifest = changed if isinstance(changed, dict) else manifest
    text = json.dumps(manifest).encode()
    if rng.random() < 0.1:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice((b"[" * 20_000, b"9" * 6_000, b"\xff", b"{", b"1e999,")) + text[at + 1 :]
    put_manifest(data, text)


def _sections(manifest: dict[str, Any], size: int) -> list[list[Any]]:
    """The sections a manifest names that lie within the file; they may be changed in place."""
    found = []
    infos = manifest.get("segments")
    for info in infos if isinstance(infos, list) else ():
        sections = info.get("sections") if isinstance(info, dict) else None
        for section in sections if isinstance(sections, list) else ():
            match section:
                case [_, str(typecode), int(start), int(count), _] if (
                    typecode in ITEM_SIZES and count > 0 <= start and start + count * ITEM_SIZES[typecode] <= size
                ):
                    found.append(section)
    return found


def _section(data: bytearray, rng: random.Random) -> None:
    """Change numbers of a section, and its checksum in the manifest."""
    manifest = manifest_of(data) or {}
    sections = _sections(manifest, len(data))
    if not sections:
        return
    for section in rng.sample(sections, min(rng.choice((1, 1, 3)), len(sections))):
        _, typecode, start, count, _ = section
        size = ITEM_SIZES[typecode]
        for _ in range(rng.choice((1, 1, 3))):
            place = Field("", rng.randrange(count) * size, size)
            put(data, start, place, hostile.integer(rng, rng.choice((get(data, start, place), count))))
        section[4] = zlib.crc32(data[start : start + count * size])
    put_manifest(data, json.dumps(manifest).encode())


def _records(data: bytearray, rng: random.Random) -> None:
    """Append records nobody would write, through the front door of the log."""
    known = sorted(contents(data))
    if not known:
        return
    writes = []
    for _ in range(rng.choice((1, 1, 3))):
        kind, id_, payload = rng.choice(known)
        flags = DELETED if rng.random() < 0.05 else 0
        way = rng.random()
        if kind in RECORD_TYPES and way < 0.8:
            payload = hostile.message_pack(payload, rng)
        elif payload:
            changed = bytearray(payload)
            place = Field("", rng.randrange(min(len(changed), 64)) & ~3, 4)
            if rng.random() < 0.5:
                put(changed, 0, place, hostile.integer(rng, get(changed, 0, place)))
            elif rng.random() < 0.5:
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            else:
                del changed[rng.randrange(len(changed)) :]
            payload = bytes(changed)
        if rng.random() < 0.3:
            id_ = rng.choice((1, 2**63, 2**64 - 1, id_ ^ 1, rng.choice(known).id))
        writes.append(
            Write(kind if rng.random() < 0.95 else rng.randrange(16, 256), id_, b"" if flags else payload, flags)
        )
    disk = SimulatedDisk.holding(PATH, bytes(data))
    try:
        with open_file(disk) as file:
            file.append(writes)
    except MemhopError:
        return  # a live id of another kind, or the file is refused by now
    data[:] = disk.bytes_of(PATH)


def _shift_times(data: bytearray, rng: random.Random) -> None:
    """Move a numbered field of every commit alike, so that the chain still follows."""
    offsets = frames(data)
    place = rng.choice(COMMIT_FIELDS[:3])
    by = hostile.integer(rng)
    for offset in offsets:
        if HEAD.unpack_from(data, offset)[3] == COMMIT:
            put(data, offset + HEAD.size, place, get(data, offset + HEAD.size, place) + by)
    reseal(data, offsets, rechain=True)


_FORGERIES: Sequence[Callable[[bytearray, random.Random], None]] = (
    _header, _older_header, _frame, _payload, _payload, _manifest, _manifest, _section, _section, _section,
    _records, _records, _records, _shift_times,
)  # fmt: skip
