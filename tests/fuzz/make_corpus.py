"""Write tests/fuzz/corpus/: small files from which mutations start, each with what opening it has to come to.

    python -m tests.fuzz.make_corpus

Files that are there already stay: the corpus also remembers what older builds wrote. Delete one to have it made anew.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from memhop import DB
from memhop.core.format import COMMIT, HEAD, HEADER_OFFSETS, HEADER_SIZE, LOG_START, MAX_PAYLOAD, SEGMENT, SYNC
from memhop.core.meh_file import Write
from memhop.repo.l6_usage import usage_id
from memhop.repo.record import Kind
from tests.fuzz.inputs import CORPUS
from tests.fuzz.layout import (
    COMMIT_FIELDS,
    FRAME_FIELDS,
    GENESIS_FIELDS,
    HEADER_FIELDS,
    contents,
    field,
    frames,
    manifest_of,
    put,
    put_manifest,
    reseal,
)
from tests.fuzz.oracle import Outcome
from tests.support import lives
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import PATH, open_file

Maker = Callable[[], bytes]
CASES: dict[str, tuple[Outcome, Maker]] = {}


def case(name: str, outcome: Outcome) -> Callable[[Maker], Maker]:
    """A corpus file and what opening it comes to."""

    def add(maker: Maker) -> Maker:
        CASES[name] = (outcome, maker)
        return maker

    return add


def _lived(seed: int, *chapters: Callable[[DB], object]) -> bytes:
    disk = SimulatedDisk(seed=seed)
    with lives.start(disk) as db:
        for chapter in chapters:
            chapter(db)
    return disk.bytes_of(PATH)


@cache
def _small() -> bytes:
    """Few records with a checkpoint between them: what damage is done to."""
    return _lived(
        20,
        lambda db: db.remember_many(["a kayak in the shed", "slugs in the lettuce"]),
        lambda db: db.archive.append_many([{"text": "a turn about the piano", "session": "music"}]),
        DB.backfill,
        DB.checkpoint,
        lambda db: db.remember("written last"),
    )


@cache
def _tail_only() -> bytes:
    return _lived(21, lambda db: db.remember("a kayak in the shed"), lambda db: db.remember("slugs in the lettuce"))


# -- genuine files -----------------------------------------------------------------------------------------------


@case("new", "clean")
def _new() -> bytes:
    return _lived(1)


@case("every-kind", "clean")
def _every_kind() -> bytes:
    return _lived(2, lives.notes_and_turns, lives.derived)


@case("segments", "clean")
def _segments() -> bytes:
    """Two segments, and a tail."""
    return _lived(
        3, lives.notes_and_turns, lives.derived, DB.checkpoint, DB.checkpoint, lives.changes, DB.checkpoint, _few
    )


def _few(db: DB) -> None:
    db.remember("in the tail")
    db.profile.update(role="luthier")


@case("history", "clean")
def _history() -> bytes:
    """Old versions and tombstones, through a compaction that kept them."""
    return _lived(
        4, lambda db: db.remember("first wording", external_id="x"), lives.changes,
        lambda db: db.compact(keep_history=True), lambda db: db.remember("third wording", external_id="x"),
    )  # fmt: skip


@case("compacted", "clean")
def _compacted() -> bytes:
    return _lived(5, lives.changes, DB.compact)


@case("vectors", "clean")
def _vectors() -> bytes:
    """Many slabs of one space, joined by a checkpoint."""

    def many(db: DB) -> None:
        for number in range(17):
            db.remember(f"number {number}")
            db.backfill()

    return _lived(6, many, DB.checkpoint, lambda db: db.remember("one more"), DB.backfill)


@case("reserved", "clean")
def _reserved() -> bytes:
    return _tail_only() + bytes(4_096)


# -- genuine files, damaged --------------------------------------------------------------------------------------


@case("empty", "refused")
def _empty() -> bytes:
    return b""


@case("zeros", "refused")
def _zeros() -> bytes:
    return bytes(LOG_START + 512)


@case("letter", "refused")
def _letter() -> bytes:
    return b"Dear reader, this is a letter.\n" * 300


@case("text-mode", "refused")
def _text_mode() -> bytes:
    return _tail_only().replace(b"\r\n", b"\n")


@case("half-a-header", "refused")
def _half_a_header() -> bytes:
    return _tail_only()[:3_000]


@case("headers-alone", "refused")
def _headers_alone() -> bytes:
    return _small()[:LOG_START]


@case("torn-tail", "damaged")
def _torn_tail() -> bytes:
    data = _tail_only()
    return data[:-200] + b"torn"


@case("cut-behind-published", "damaged")
def _cut() -> bytes:
    return _small()[:-600]


@case("one-header-gone", "damaged")
def _one_header_gone() -> bytes:
    return bytes(HEADER_SIZE) + _small()[HEADER_SIZE:]


@case("both-headers-gone", "damaged")
def _both_headers_gone() -> bytes:
    return bytes(LOG_START) + _small()[LOG_START:]


@case("half-written-header", "damaged")
def _half_written_header() -> bytes:
    data = bytearray(_small())
    second = HEADER_OFFSETS[1]
    data[second + 60 : second + 512] = data[60:512]
    return bytes(data)


@case("headers-swapped", "clean")
def _headers_swapped() -> bytes:
    data = _small()
    return data[HEADER_SIZE:LOG_START] + data[:HEADER_SIZE] + data[LOG_START:]


@case("genesis-gone", "damaged")
def _genesis_gone() -> bytes:
    data = bytearray(_small())
    data[LOG_START : LOG_START + 64] = bytes(64)
    return bytes(data)


@case("headers-and-genesis-gone", "refused")
def _nothing_to_go_by() -> bytes:
    return bytes(LOG_START + 64) + _small()[LOG_START + 64 :]


def _flipped(text: bytes) -> bytes:
    data = bytearray(_small())
    data[data.index(text)] ^= 4
    return bytes(data)


@case("rotten-record", "damaged")
def _rotten_record() -> bytes:
    return _flipped(b"slugs in the lettuce")


@case("rotten-manifest", "damaged")
def _rotten_manifest() -> bytes:
    return _flipped(b'"sections"')


@case("rotten-commit", "damaged")
def _rotten_commit() -> bytes:
    data = bytearray(_small())
    commit = next(offset for offset in frames(data) if data[offset + 10] == COMMIT)
    data[commit + HEAD.size + 50] ^= 1
    return bytes(data)


@case("rotten-section", "damaged")
def _rotten_section() -> bytes:
    data = bytearray(_small())
    (segment, *_) = (manifest_of(data) or {})["segments"]
    data[next(section[2] for section in segment["sections"] if section[0] == "core.ids")] ^= 1
    return bytes(data)


@case("block-twice", "damaged")
def _block_twice() -> bytes:
    data = _small()
    first = frames(data)[1]
    return data[:first] + data[first : first + 512] + data[first:]


@case("two-files-spliced", "damaged")
def _spliced() -> bytes:
    return _tail_only()[:-136] + _small()[LOG_START + 512 :]


# -- forged files: every checksum is right -----------------------------------------------------------------------


@case("hostile-version", "refused")
def _version() -> bytes:
    data = bytearray(_small())
    for start in HEADER_OFFSETS:
        put(data, start, field(HEADER_FIELDS, "version"), 2)
    reseal(data, (), rechain=False)
    return bytes(data)


@case("hostile-version-in-genesis", "refused")
def _version_in_genesis() -> bytes:
    data = bytearray(LOG_START) + _small()[LOG_START:]
    put(data, LOG_START + HEAD.size, field(GENESIS_FIELDS, "version"), 2)
    reseal(data, [LOG_START], rechain=False)
    return bytes(data)


@case("hostile-feature", "refused")
def _feature() -> bytes:
    data = bytearray(_small())
    for start in HEADER_OFFSETS:
        put(data, start, field(HEADER_FIELDS, "required"), 1 << 31)
    reseal(data, (), rechain=False)
    return bytes(data)


@case("hostile-header-ends", "damaged")
def _header_ends() -> bytes:
    """A header that knows of exabytes."""
    data = bytearray(_small())
    for start in HEADER_OFFSETS:
        put(data, start, field(HEADER_FIELDS, "published"), 2**62)
        put(data, start, field(HEADER_FIELDS, "durable.end"), 2**62 - 8)
        put(data, start, field(HEADER_FIELDS, "durable.number"), 2**62)
    reseal(data, (), rechain=False)
    return bytes(data)


@case("hostile-generation", "damaged")
def _generation() -> bytes:
    """Headers and a genesis frame of the last generation there can be: repair, which counts on, overflowed a field."""
    data = bytearray(_small())
    for start in HEADER_OFFSETS:
        put(data, start, field(HEADER_FIELDS, "generation"), 2**32 - 1)
    reseal(data, (), rechain=False)
    return bytes(data)


@case("hostile-generation-in-genesis", "refused")
def _generation_in_genesis() -> bytes:
    data = bytearray(LOG_START) + _small()[LOG_START:]
    put(data, LOG_START + HEAD.size, field(GENESIS_FIELDS, "generation"), 2**32 - 1)
    reseal(data, [LOG_START], rechain=False)
    return bytes(data)


def _with_frames(*heads: tuple[int, int, bytes]) -> bytes:
    """(kind, stated length, payload) as frames behind a genuine log, heads right."""
    data = bytearray(_tail_only())
    del data[len(data.rstrip(b"\0")) + 7 & ~7 :]
    for kind, length, payload in heads:
        offset = len(data)
        data += HEAD.pack(SYNC, 0, 0, kind, 0, length, 5) + payload + bytes(-len(payload) % 8)
        reseal(data, [offset], rechain=False)
    return bytes(data)


@case("hostile-lengths", "damaged")
def _lengths() -> bytes:
    """Frames that state more bytes than there are, up to the most that any may state."""
    most = [(kind, length, b"x" * 40) for kind in (SEGMENT, int(Kind.NOTE), 255) for length in (2**20, MAX_PAYLOAD)]
    return _with_frames(*most, (SEGMENT, 2**32 - 64, b""), (SEGMENT, 2**32 - 1, b""))


@case("hostile-markers", "damaged")
def _markers() -> bytes:
    """Sync markers wherever one can stand, so that a search for the next frame stops at each of them."""
    return _with_frames((int(Kind.NOTE), MAX_PAYLOAD, (SYNC + b"\x30\0\0\0") * 3_000))


@case("hostile-segment-over-log", "damaged")
def _segment_over_log() -> bytes:
    """A segment frame whose stated length swallows the commits behind it."""
    data = bytearray(_tail_only())
    first = frames(data)[1]
    put(data, first, field(FRAME_FIELDS, "kind"), SEGMENT)
    put(data, first, field(FRAME_FIELDS, "length"), (len(data) - first - HEAD.size) & ~7)
    reseal(data, [first], rechain=False)
    return bytes(data)


@case("hostile-commit-numbers", "damaged")
def _commit_numbers() -> bytes:
    data = bytearray(_tail_only())
    offsets = frames(data)
    for offset in offsets:
        if data[offset + 10] == COMMIT:
            put(data, offset + HEAD.size, field(COMMIT_FIELDS, "number"), 2**64 - 1)
            put(data, offset + HEAD.size, field(COMMIT_FIELDS, "length"), 2**64 - 8)
    reseal(data, offsets, rechain=True)
    return bytes(data)


@case("hostile-genesis-short", "damaged")
def _genesis_short() -> bytes:
    data = bytearray(_small())
    put(data, LOG_START, field(FRAME_FIELDS, "length"), 8)
    reseal(data, [LOG_START], rechain=False)
    return bytes(data)


def _with_manifest(change: Callable[[dict[str, Any]], object]) -> bytes:
    data = bytearray(_small())
    manifest = manifest_of(data)
    assert manifest is not None
    change(manifest)
    put_manifest(data, json.dumps(manifest).encode())
    return bytes(data)


@case("hostile-manifest-numbers", "damaged")
def _manifest_numbers() -> bytes:
    def change(manifest: dict[str, Any]) -> None:
        manifest["live_bytes"] = -1
        manifest["commit"] = 10**40

    return _with_manifest(change)


@case("hostile-segment-number", "damaged")
def _segment_number() -> bytes:
    """Beyond 32 bits, in which the units keep it."""

    def change(manifest: dict[str, Any]) -> None:
        manifest["segments"][0]["number"] = 2**53 + 1

    return _with_manifest(change)


@case("hostile-segment-without-index", "damaged")
def _segment_without_index() -> bytes:
    """A record index of which one part has another name."""

    def change(manifest: dict[str, Any]) -> None:
        for section in manifest["segments"][0]["sections"]:
            section[0] = section[0].replace("core.kinds", "core.kinks")

    return _with_manifest(change)


@case("hostile-manifest-sections", "damaged")
def _manifest_sections() -> bytes:
    """Every section has four billion items."""

    def change(manifest: dict[str, Any]) -> None:
        for info in manifest["segments"]:
            for section in info["sections"]:
                section[3] = 2**32

    return _with_manifest(change)


@case("hostile-manifest-deep", "damaged")
def _manifest_deep() -> bytes:
    data = bytearray(_small())
    put_manifest(data, b'{"meta":' + b"[" * 5_000 + b"]" * 5_000 + b"}")
    return bytes(data)


@case("hostile-manifest-meta", "clean")
def _manifest_meta() -> bytes:
    return _with_manifest(lambda manifest: manifest.update(meta={"tokenizer": [], "layout": {}}))


def _with_section(name: str, change: Callable[[bytearray], object]) -> bytes:
    data = bytearray(_small())
    manifest = manifest_of(data)
    assert manifest is not None
    (info, *_) = manifest["segments"]
    section = next(section for section in info["sections"] if section[0] == name)
    _, typecode, start, count, _ = section
    size = struct.calcsize(typecode)
    values = data[start : start + count * size]
    change(values)
    data[start : start + count * size] = values
    section[4] = zlib.crc32(values)
    put_manifest(data, json.dumps(manifest).encode())
    return bytes(data)


@case("hostile-ids-equal", "damaged")
def _ids_equal() -> bytes:
    """A record index in which all records have one id."""

    def change(values: bytearray) -> None:
        values[:] = values[:8] * (len(values) // 8)

    return _with_section("core.ids", change)


@case("hostile-offsets", "damaged")
def _offsets() -> bytes:
    """A record index whose records lie nowhere."""

    def change(values: bytearray) -> None:
        values[:] = b"\xf8" + b"\xff" * 7 + values[8:]

    return _with_section("core.offsets", change)


@case("hostile-ids-zero", "damaged")
def _ids_zero() -> bytes:
    """A record index with the id that is none, out of order."""

    def change(values: bytearray) -> None:
        values[16:24] = bytes(8)

    return _with_section("core.ids", change)


@case("hostile-offsets-superseded", "clean")
def _offsets_superseded() -> bytes:
    """A record index whose records lie beyond what a file offset can be, and a new version of each."""

    def change(values: bytearray) -> None:
        values[:] = b"\xff" * len(values)

    disk = SimulatedDisk.holding(PATH, _with_section("core.offsets", change))
    with open_file(disk) as file:
        index = file.segments()[0].index()
        file.append([Write(kind, id_, b"new", 0) for id_, kind in zip(index[0], index[2], strict=True)])
    return disk.bytes_of(PATH)


@case("hostile-kinds", "damaged")
def _kinds() -> bytes:
    """A record index that confuses kinds."""

    def change(values: bytearray) -> None:
        values.reverse()

    return _with_section("core.kinds", change)


@case("hostile-postings", "clean")
def _postings() -> bytes:
    """Postings that name units which do not exist."""

    def change(values: bytearray) -> None:
        values[:] = b"\xff" * len(values)

    return _with_section("bm25.docs", change)


@case("hostile-lengths-of-units", "clean")
def _lengths_of_units() -> bytes:
    """Units of four billion terms each: nothing is reserved for them."""

    def change(values: bytearray) -> None:
        values[:] = b"\xff" * len(values)

    return _with_section("bm25.lengths", change)


def _with_records(*writes: Write) -> bytes:
    disk = SimulatedDisk.holding(PATH, _small())
    with open_file(disk) as file:
        file.append(writes)
    return disk.bytes_of(PATH)


def _packed(**fields: object) -> bytes:
    return msgspec.msgpack.encode(fields)


@case("hostile-records", "clean")
def _records() -> bytes:
    """Records that are none: each of another kind, and none of them what its kind asks for."""
    bad = (b"", b"\xc0", b"\xc1", b"\xa5short", b"\xdd\xff\xff\xff\xff", b"\x91" * 3_000 + b"\xc0", _packed(text=5))
    kinds = sorted(Kind)
    return _with_records(*(Write(int(kind), 1_000 + at, bad[at % len(bad)]) for at, kind in enumerate(kinds)))


@case("hostile-deep-metadata", "clean")
def _deep_metadata() -> bytes:
    deep: dict[str, object] = {"text": "deep", "metadata": {"a": msgspec.Raw(b"\x91" * 900 + b"\xc0")}}
    return _with_records(Write(int(Kind.NOTE), 77, msgspec.msgpack.encode(deep)))


@case("hostile-usage", "clean")
def _usage() -> bytes:
    """A counter below zero for every note."""
    notes = sorted(content.id for content in contents(_small()) if content.kind == Kind.NOTE)
    return _with_records(*(Write(int(Kind.USAGE), usage_id(id_), _packed(target=id_, hits=-5)) for id_ in notes))


@case("hostile-space", "clean")
def _space() -> bytes:
    """A vector space of many dimensions, and slabs that count more rows than they have."""
    (space,) = (content.id for content in contents(_small()) if content.kind == Kind.SPACE)
    head = struct.Struct("<QII")
    return _with_records(
        Write(int(Kind.SPACE), space, _packed(model="hash", dim=2**40)),
        Write(int(Kind.VECTOR_SLAB), 11, head.pack(space, 2**31, 2**31)),
        Write(int(Kind.VECTOR_SLAB), 12, head.pack(space, 0, 2**32 - 1)),
        Write(int(Kind.VECTOR_SLAB), 13, head.pack(space, 1, 16) + bytes(8) + b"\xff" * 64),
        Write(int(Kind.TOKEN_SLAB), 14, head.pack(space, 2**32 - 1, 2)),
        Write(int(Kind.TOKEN_SLAB), 15, head.pack(space, 0, 4) + b"\xff" * 8),
    )


@case("hostile-contexts", "clean")
def _contexts() -> bytes:
    """Token bases that are none, and slabs of token vectors that count more than they have."""
    (space,) = (content.id for content in contents(_small()) if content.kind == Kind.SPACE)
    head = struct.Struct("<QIIQQ")
    nan = struct.pack("<f", float("nan")) * 32
    row = struct.pack("<QII", 1, 0, 1)  # an owner of one token
    return _with_records(
        Write(int(Kind.TOKEN_BASIS), 41, _packed(space=space, units=2**63 - 1, dim=16, width=2, matrix=nan)),
        Write(int(Kind.TOKEN_BASIS), 42, _packed(space=space, units=1, dim=16, width=65_535, matrix=b"")),
        Write(int(Kind.TOKEN_BASIS), 43, _packed(space=space, units=1, dim=2**40, width=2, matrix=b"x")),
        Write(int(Kind.CONTEXT_SLAB), 44, head.pack(space, 2**32 - 1, 2, 0, 16)),
        Write(int(Kind.CONTEXT_SLAB), 45, head.pack(space, 1, 2, 41, 2) + row + bytes(8) + bytes(2)),
        Write(int(Kind.CONTEXT_SLAB), 46, head.pack(space, 1, 2, 0, 2**64 - 1) + row + bytes(8)),
        Write(int(Kind.CONTEXT_SLAB), 47, head.pack(space, 1, 4, 0, 5) + row + bytes(8) + bytes(5)),
        Write(int(Kind.CONTEXT_SLAB), 48, head.pack(space, 1, 2, 99, 16) + row + bytes(8) + bytes(16)),
    )


@case("hostile-loops", "clean")
def _loops() -> bytes:
    """Notes, topics and edges that refer to themselves and to nothing."""
    return _with_records(
        Write(int(Kind.NOTE), 31, _packed(text="a kayak", links=[31, 0, 2**64 - 1])),
        Write(int(Kind.SCENE), 32, _packed(name="a scene", last_at=253_402_300_799_999)),
        Write(int(Kind.TOPIC), 33, _packed(scene=32, parent=33, children=[33], messages=[33, 31], depth=-9)),
        Write(int(Kind.ENGRAM), 34, _packed(scene=34)),
        Write(int(Kind.HYPEREDGE), 35, _packed(relation="", scenes=[32, 32, 32], weight=1.0)),
        Write(int(Kind.MESSAGE), 36, _packed(text="a piano", scene=36, topic=33)),
        Write(int(Kind.EVENT), 37, _packed(session="music", seq=2**64 - 1, type="")),
    )


def main() -> None:
    """Write what is missing."""
    CORPUS.mkdir(exist_ok=True)
    for name, (_, maker) in CASES.items():
        path = CORPUS / f"{name}.meh"
        if not path.exists():
            path.write_bytes(maker())
            print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
