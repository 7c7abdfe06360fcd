"""Headers, frames, sections and manifests one by one: what is written is read, what is hostile is refused."""

from __future__ import annotations

import json
import random
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common.errors import BadFormat, Corrupt, InvalidRequest
from memhop.core.batch import check_writes
from memhop.core.format import HEADER_SIZE, MAX_PAYLOAD, Point
from memhop.core.frame import Window, encode, examine, next_intact, seed_of, sync_marks
from memhop.core.header import FIRST_BATCH, Header, decode_header, newest
from memhop.core.manifest import Manifest, decode_manifest, encode_manifest
from memhop.core.meh_file import DELETED, PURGED, Write
from memhop.core.segment import Section, SegmentInfo, merge_indexes
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, TURN, open_file

if TYPE_CHECKING:
    from memhop.core.segment import SectionData

SALT = 0xDEADBEEF
POINT = Point(3, 1_700_000_000_000, 9000, bytes(range(32)))
HEADER = Header(b"u" * 16, SALT, 1, 5, 9, POINT, 9000, POINT._replace(number=4, end=9600), 9700 // 8 * 8)


class Bytes:
    """A file in a bytes object."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def pread(self, length: int, offset: int) -> bytes:
        return self.data[offset : offset + length]


def window(data: bytes) -> Window:
    return Window(Bytes(data), len(data))


def test_a_header_round_trips_and_no_flip_of_it_is_believed() -> None:
    data = HEADER.encode()
    assert len(data) == HEADER_SIZE
    assert decode_header(data) == HEADER
    for bit in range(0, HEADER_SIZE * 8, 7):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        assert decode_header(bytes(flipped)) is None
    assert decode_header(data[:-1]) is None


def test_a_header_whose_geometry_is_impossible_is_no_header() -> None:
    for fields in (
        {"published": 9001},
        {"manifest": 9700},
        {"manifest": 8},
        {"covered": POINT._replace(end=FIRST_BATCH - 8)},
        {"covered": POINT._replace(number=5)},
        {"durable": POINT._replace(end=8900)},
        {"published": 2**63},
    ):
        assert decode_header(HEADER._replace(**fields).encode()) is None, fields


def test_the_newest_header_wins_and_unknown_features_are_refused() -> None:
    older = HEADER._replace(sequence=8)
    assert newest((older, HEADER)) == newest((HEADER, older)) == newest((None, HEADER)) == HEADER
    assert newest((None, None)) is None
    import zlib

    body = bytearray(HEADER.encode()[:-4])
    body[12] = 4  # required feature bits
    with pytest.raises(BadFormat, match="0x4"):
        decode_header(bytes(body) + zlib.crc32(body).to_bytes(4, "little"))


def test_every_wrong_byte_of_a_frame_is_noticed_and_one_in_the_head_mended() -> None:
    frame = encode(NOTE, 0, 77, b"payload", seed=seed_of(SALT, 8304))
    data = bytes(8304) + frame
    assert examine(window(data), SALT, 8304).fault == ""
    rng = random.Random(1)
    for at in range(24 + len(b"payload")):
        flipped = bytearray(data)
        flipped[8304 + at] ^= rng.randrange(1, 256)
        sight = examine(window(bytes(flipped)), SALT, 8304)
        if at >= 24 or 4 <= at < 8:
            assert sight.fault == "payload", at
        else:
            assert sight.fault == "mended", at
        assert sight.ref is not None
        assert (sight.ref.kind, sight.ref.id, sight.ref.length) == (NOTE, 77, 7), at


def test_a_frame_that_passes_the_end_is_short_and_a_huge_length_is_not_believed() -> None:
    frame = encode(NOTE, 0, 77, bytes(100), seed=seed_of(SALT, 0x3000))
    data = bytes(0x3000) + frame
    assert examine(window(data[:-8]), SALT, 0x3000).fault == "short"
    assert examine(window(data[:-110]), SALT, 0x3000).fault == "head"
    assert examine(window(data[: 0x3000 + 9]), SALT, 0x3000).fault == "head"
    assert examine(window(bytes(0x3010)), SALT, 0x3000).fault == "end"
    seed = seed_of(SALT, 0x3000)
    huge = bytearray(encode(NOTE, 0, 1, b"", seed=seed))
    huge[12:16] = (MAX_PAYLOAD + 1).to_bytes(4, "little")
    assert examine(window(bytes(0x3000) + bytes(huge)), SALT, 0x3000, mend=False).fault == "head"


def test_the_next_intact_frame_is_found_across_chunks_and_only_at_multiples_of_8() -> None:
    for gap in (8, 4096, 256 * 1024 - 8, 256 * 1024, 600_000):
        at = 8304 + gap
        data = bytearray(random.Random(gap).randbytes(at)) + encode(NOTE, 0, 5, b"x", seed=seed_of(SALT, at))
        data[8304 + 3 : 8304 + 7] = b"\xf5meh"
        assert next_intact(window(bytes(data)), SALT, 8304) == at
        assert at in list(sync_marks(window(bytes(data)), 8304))


SECTIONS = (
    Section("core.ids", "Q", 9088, 2, 7),
    Section("core.offsets", "Q", 9152, 2, 8),
    Section("core.kinds", "B", 9216, 2, 8),
    Section("a", "B", 9280, 1, 9),
)
INFO = SegmentInfo(2, 1, 3, 2, 9024, 512, SECTIONS)
MANIFEST = Manifest(POINT, (INFO,), 64, {"k": [1, "zwei"]})


def test_a_manifest_round_trips() -> None:
    data = encode_manifest(MANIFEST)
    assert decode_manifest(data, offset=9600) == MANIFEST
    for name in ("core.ids", "core.offsets", "core.kinds"):
        assert decode_manifest(data.replace(name.encode(), b"core.other"), offset=9600) is None
    assert encode_manifest(MANIFEST) == data


@settings(max_examples=300, derandomize=True, deadline=None)
@given(data=st.data())
def test_a_manifest_with_a_wrong_field_is_refused_or_harmless(data: st.DataObject) -> None:
    value: Any = json.loads(encode_manifest(MANIFEST))
    junk: st.SearchStrategy[Any] = (
        st.none() | st.integers(-(2**70), 2**70) | st.text(max_size=3) | st.booleans() | st.just([]) | st.floats()
    )
    target = data.draw(st.sampled_from(["top", "segment", "section"]))
    if target == "top":
        value[data.draw(st.sampled_from(sorted(value)))] = data.draw(junk)
    elif target == "segment":
        fields = value["segments"][0]
        fields[data.draw(st.sampled_from(sorted(fields)))] = data.draw(junk)
    else:
        value["segments"][0]["sections"][0][data.draw(st.integers(0, 4))] = data.draw(junk)
    decoded = decode_manifest(json.dumps(value).encode(), offset=9600)
    if decoded is not None:
        for info in decoded.segments:
            assert 8192 <= info.offset < info.offset + info.bytes <= 9600
            assert all(info.offset < s.offset <= s.offset + s.bytes <= info.offset + info.bytes for s in info.sections)


@pytest.mark.parametrize("data", [b"", b"\xff", b"null", b"[]", b"[" * 100_000, b'{"commit": NaN}', b'{"commit": 1}'])
def test_a_manifest_of_another_shape_is_refused(data: bytes) -> None:
    assert decode_manifest(data, offset=9600) is None


def test_merging_with_and_without_numpy_agree() -> None:
    rng = random.Random(3)
    older = []
    for age in range(3):
        ids = sorted(rng.sample(range(1, 60_000), 9_000))
        kinds = [rng.choice([0, NOTE, TURN]) for _ in ids]
        arrays = array("Q", ids), array("Q", [id_ * 8 + age for id_ in ids]), array("B", kinds)
        older.append(tuple(memoryview(a) for a in arrays))
    delta = {rng.randrange(1, 60_000): (rng.choice([0, NOTE]), rng.randrange(8, 2**60)) for _ in range(900)}
    parts: Any = older
    for drop in (False, True):
        large = merge_indexes(parts, delta, drop_tombstones=drop)
        model: dict[int, tuple[int, int]] = {}
        for ids_, offsets, kinds_ in parts:
            model.update({i: (k, o) for i, o, k in zip(ids_, offsets, kinds_, strict=True)})
        model.update(delta)
        expected = sorted((i, row) for i, row in model.items() if row[0] or not drop)
        assert np.asarray(large.ids).tolist() == [i for i, _ in expected]
        assert np.asarray(large.offsets).tolist() == [o for _, (_, o) in expected]
        assert np.asarray(large.kinds).tolist() == [k for _, (k, _) in expected]
        few = [tuple(column[:50] for column in part) for part in parts]
        small: Any = few
        assert merge_indexes(small, {}, drop_tombstones=drop).rows <= 150


def test_sections_of_every_typecode_come_back_in_place() -> None:
    values = {code: array(code, [1, 2, 3]) for code in "BHIQiqfd"}
    with open_file(SimulatedDisk()) as file:
        file.append([Write(NOTE, 1, b"one")])
        matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
        none = np.zeros((0, 4), dtype=np.float32)
        sections: dict[str, SectionData] = {"matrix": ("f", matrix), "none": ("f", none)}
        sections |= {code: (code, data) for code, data in values.items()}
        file.checkpoint(sections, meta={"t": (1, 2)})
        (segment,) = file.segments()
        for code, data in values.items():
            assert segment.view(code).format == code
            assert list(segment.view(code)) == list(data)
        assert np.frombuffer(segment.view("matrix"), np.float32).reshape(2, 3).tolist() == matrix.tolist()
        assert len(segment.view("none")) == 0
        assert file.meta == {"t": [1, 2]}, "as it will be read back"
        with pytest.raises(KeyError):
            segment.view("missing")
        assert {"core.ids", "core.offsets", "core.kinds"} < set(segment.names())


def test_what_cannot_be_stored_is_refused_before_anything_is_written() -> None:
    disk = SimulatedDisk()
    with open_file(disk) as file:
        file.append([Write(NOTE, 1, b"one")])
        calls = len(disk.calls)
        for write in (
            Write(4, 1, b""),
            Write(256, 1, b""),
            Write(NOTE, 0, b""),
            Write(NOTE, 2**64, b""),
            Write(NOTE, 1, b"x", DELETED),
            Write(NOTE, 1, b"", PURGED),
            Write(NOTE, 1, bytes(MAX_PAYLOAD + 1)),
            Write(TURN, 1, b"another kind"),
        ):
            with pytest.raises(InvalidRequest):
                file.append([Write(NOTE, 5, b"five"), write])
        with pytest.raises(InvalidRequest):
            check_writes([])
        for name, typecode, data in (("core.x", "B", b""), ("", "B", b""), ("a", "Z", b""), ("a", "I", b"123")):
            with pytest.raises(InvalidRequest):
                file.checkpoint({name: (typecode, data)}, meta={})
        with pytest.raises(InvalidRequest):
            file.checkpoint({}, meta={"nan": float("nan")})
        assert len(disk.calls) == calls
        file.plan_checkpoint()
        file.append([Write(NOTE, 1, b"", DELETED), Write(TURN, 1, b"free again")])
        with pytest.raises(InvalidRequest, match="planned at commit 1, now at 2"):
            file.checkpoint({}, meta={})
        for offset in (0, 8192, 8304 + 4, 2**40, -8):
            with pytest.raises(Corrupt):
                file.read(offset)
        with pytest.raises(InvalidRequest):
            file.buffer(file.published_end - 1, 2)


def test_segments_stay_few() -> None:
    with open_file(SimulatedDisk(), durability="none") as file:
        for number in range(1, 201):
            file.append([Write(NOTE, number, b"x")])
            file.checkpoint({}, meta={})
            assert len(file.segments()) <= 9
        assert sum(segment.records for segment in file.segments()) == 200
        first = [segment.first_commit for segment in file.segments()]
        last = [segment.last_commit for segment in file.segments()]
        assert first == [1, *(commit + 1 for commit in last[:-1])]
