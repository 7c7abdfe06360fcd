"""Single structures, each made by hypothesis from nothing or from a right one, checksums right where they have one.

A property is a function that fails by raising. `round_of` runs one with a number of its own; the tests in
`test_structures` run each a little, the same way every time.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec
import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memhop.api import convert
from memhop.common.errors import BadFormat, Corrupt, InvalidRequest, VectorSpaceMismatch
from memhop.core.commit import CommitRecord, decode_commit
from memhop.core.format import HEADER, HEADER_SIZE, LOG_START, MAX_NUMBER, SEGMENT, SYNC
from memhop.core.frame import Window, commit_marks, encode, encode_segment_head, examine, next_intact, seed_of
from memhop.core.header import decode_genesis, decode_header
from memhop.core.manifest import decode_manifest
from memhop.core.meh_file import MehFile, Write
from memhop.core.segment import ITEM_SIZES
from memhop.index.bm25 import Bm25Index
from memhop.index.contextual import ContextIndex
from memhop.index.groups import Groups
from memhop.index.late import TokenIndex
from memhop.index.parts import Sections
from memhop.index.tokenizer import tokenize
from memhop.index.units import UnitTable
from memhop.index.vectors import VectorIndex
from memhop.repo import codec, vectors
from memhop.repo.l0_profile import Profile
from memhop.repo.record import Kind
from tests.fuzz.hostile import INTEGERS
from tests.fuzz.layout import HEADER_FIELDS, put, reseal
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, PATH

EXAMPLES = 100  # of one round
_SLAB = struct.Struct("<QII")
Property: TypeAlias = Callable[..., None]
PROPERTIES: dict[str, tuple[Property, st.SearchStrategy[tuple[Any, ...]]]] = {}

integers = st.sampled_from([value for value in INTEGERS if value < 2**64]) | st.integers(0, 2**64 - 1)
_CONVERSIONS: dict[int, Callable[[Any], object]] = {
    Kind.NOTE: convert.note, Kind.MESSAGE: convert.message, Kind.TOPIC: convert.topic,
    Kind.PROFILE: lambda record: convert.profile(record, ()),
    Kind.PROFILE_LINE: lambda record: convert.profile(Profile(), [record]), Kind.PROFILE_CHANGE: convert.profile_change,
    Kind.GRAPH: lambda record: convert.graph(record, 0, 0), Kind.KNOWLEDGE: convert.knowledge,
    Kind.KNOWLEDGE_EDGE: convert.knowledge_edge, Kind.FACT: convert.fact, Kind.CAPABILITY: convert.capability,
    Kind.EVENT: convert.event, Kind.SCENE: lambda record: convert.scene(record, 0),
}  # fmt: skip


def structure(*arguments: st.SearchStrategy[Any]) -> Callable[[Property], Property]:
    """Register a property of these arguments under its function's name."""

    def add(function: Property) -> Property:
        PROPERTIES[function.__name__] = function, st.tuples(*arguments)
        return function

    return add


def round_of(name: str, number: int, examples: int = EXAMPLES) -> None:
    """Run a property with examples that depend on `number` alone. Raises what it raises, shrunk."""
    function, strategy = PROPERTIES[name]

    @seed(number)
    @settings(
        max_examples=examples, database=None, deadline=None, print_blob=False,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(strategy)
    def run(arguments: tuple[Any, ...]) -> None:
        function(*arguments)

    run()


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def pread(self, length: int, offset: int) -> bytes:
        return self.data[offset : offset + length]


def _window(data: bytes) -> Window:
    return Window(_Bytes(data), len(data))


def _genuine() -> bytes:
    disk = SimulatedDisk(seed=30)
    with MehFile.open(PATH, disk=disk, now_ms=lambda: 1) as file:
        file.append([Write(NOTE, 1, b"one")])
        file.checkpoint({}, meta={})
        file.append([Write(NOTE, 2, b"two")])
    return disk.bytes_of(PATH)


_FILE = _genuine()


@structure(st.lists(st.tuples(st.sampled_from(HEADER_FIELDS), integers), min_size=1, max_size=6), st.booleans())
def header(changes: list[tuple[Any, int]], both: bool) -> None:
    """Any header with a right checksum is used, disregarded or refused; the file behind it opens or is refused."""
    data = bytearray(_FILE)
    for place, value in changes:
        put(data, HEADER_SIZE, place, value)
        if both:
            put(data, 0, place, value)
    reseal(data, (), rechain=False)
    try:
        found = decode_header(bytes(data[HEADER_SIZE:LOG_START]))
        if found is not None:
            assert found.covered.end <= found.durable.end <= found.published < 2**63
            assert max(found.sequence, found.durable.number) <= MAX_NUMBER
            assert found.encode()[: HEADER.size][8:] != b""
        with MehFile.open(PATH, disk=SimulatedDisk.holding(PATH, bytes(data)), durability="none") as file:
            file.verify(deep=True)
            list(file.live())
    except BadFormat:
        pass


_payloads = st.sampled_from([b"", SYNC, b"x" * 50, SYNC * 20]) | st.binary()
_heads = st.lists(st.tuples(st.integers(0, 255), integers, integers, _payloads), max_size=8)


@structure(_heads, st.binary(max_size=40), st.booleans())
def frame(heads: list[tuple[int, int, int, bytes]], noise: bytes, mend: bool) -> None:
    """Heads with a right check state any kind and length; nothing is shown that does not lie in the window."""
    salt = 77
    data = bytearray(bytes(LOG_START) + noise + bytes(-len(noise) % 8))
    for kind, length, id_, payload in heads:
        offset = len(data)
        whole = bytearray(encode(kind, 0, id_, payload, seed=seed_of(salt, offset)))
        if kind == SEGMENT:
            whole[:24] = encode_segment_head(length % 2**32, seed=seed_of(salt, offset))
        elif length % 3:
            whole[12:16] = (length % 2**32).to_bytes(4, "little")
        data += whole
    window = _window(bytes(data))
    for offset in range(LOG_START, len(data) + 8, 8):
        sight = examine(window, salt, offset, mend=mend)
        assert (sight.ref is None) == (sight.fault in ("end", "head"))
        if sight.ref is not None and sight.fault != "short":
            assert sight.ref.offset == offset
            assert sight.ref.end <= len(data)
            assert len(sight.payload) in (0, sight.ref.length)
    found = next_intact(window, salt, LOG_START)
    assert found is None or not examine(window, salt, found, mend=False).fault
    assert all(len(payload) == 104 for payload in commit_marks(window, salt, LOG_START))


@structure(st.binary(min_size=104, max_size=104) | st.binary(max_size=200), st.lists(integers, min_size=5, max_size=5))
def commit(payload: bytes, numbers: list[int]) -> None:
    """A commit record reads back as written, or not at all."""
    assert (decode_commit(memoryview(payload)) is None) or len(payload) == 104
    number, time_ms, durable, length, frames = numbers
    record = CommitRecord(number, time_ms % 2**63, durable, length, frames % 2**32, b"p" * 32, b"d" * 32)
    read = decode_commit(memoryview(record.encode()))
    assert read == record if number <= MAX_NUMBER and record.time_ms <= MAX_NUMBER else read is None


@structure(st.binary(min_size=88, max_size=88) | st.binary(max_size=200), st.booleans())
def genesis(payload: bytes, current: bool) -> None:
    """A genesis payload tells who the file is, or nothing, or is refused."""
    if current and len(payload) >= 8:
        payload = b"\1\0\0\0\0\0\0\0" + payload[8:]
    try:
        found = decode_genesis(payload)
    except BadFormat:
        assert not current
        return
    assert found is None or (found.base.number <= MAX_NUMBER and found.generation < 2**32 - 1)


_json = st.recursive(
    st.none() | st.booleans() | integers | integers.map(lambda n: -n) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_small = st.integers(0, 40).map(lambda n: n * 64)
_section = st.tuples(
    st.sampled_from(["core.ids", "a", ""]) | _json, st.sampled_from([*ITEM_SIZES, "z"]) | _json, _small | _json,
    st.integers(0, 20) | _json, st.integers(0, 2**32 - 1) | _json,
).map(list)  # fmt: skip
_segment = st.fixed_dictionaries(
    {
        "number": st.integers(0, 5) | _json, "first_commit": st.integers(0, 9) | _json, "offset": _small | _json,
        "last_commit": st.integers(0, 9) | _json, "records": st.integers(0, 9) | _json, "bytes": _small | _json,
        "sections": st.lists(_section, max_size=3) | _json,
    }
)  # fmt: skip
_manifest = st.fixed_dictionaries(
    {
        "commit": st.just(9) | _json, "time_ms": st.just(5) | _json, "end": st.just(LOG_START) | _json,
        "digest": st.just("00" * 32) | st.text("0 aé", min_size=64, max_size=64) | _json, "meta": st.just({}) | _json,
        "live_bytes": st.integers(0, 99) | _json, "segments": st.lists(_segment, max_size=3) | _json,
    }
)  # fmt: skip


@structure(_manifest | _json | st.binary(max_size=60), st.integers(0, 20_000))
def manifest(value: Any, offset: int) -> None:
    """A manifest names places in front of itself, or it is none."""
    found = decode_manifest(value if isinstance(value, bytes) else json.dumps(value).encode(), offset=offset)
    if found is None:
        return
    assert LOG_START <= found.covered.end <= offset
    for info in found.segments:
        assert LOG_START <= info.offset <= info.offset + info.bytes <= offset
        for section in info.sections:
            assert info.offset < section.offset <= section.offset + section.bytes <= info.offset + info.bytes


# -- records and slabs -------------------------------------------------------------------------------------------

_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | integers | st.floats() | st.text(max_size=9)
    | st.binary(max_size=9) | st.sampled_from(["user", "draft", "active", "a?]", "?", "[x]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=6,
)  # fmt: skip


@structure(st.sampled_from(sorted(codec.RECORD_TYPES)), st.data(), st.integers(1, 2**64 - 1))
def record(kind: int, data: st.DataObject, id_: int) -> None:
    """Whatever fields a payload has: it is a record that all code can work with, or it is Corrupt."""
    record_type = codec.RECORD_TYPES[kind]
    fields = {}
    for item in msgspec.structs.fields(record_type):
        if item.required or data.draw(st.booleans()):
            fitting = _fitting(item.type)
            fields[item.name] = data.draw(st.one_of(fitting, fitting, fitting, _values))
    payload = msgspec.msgpack.encode(fields)
    if data.draw(st.booleans()) and payload:
        at = data.draw(st.integers(0, len(payload) - 1))
        payload = payload[:at] + data.draw(st.binary(max_size=3)) + payload[at + 1 :]
    try:
        found = codec.decode(kind, id_, payload, 8)
    except Corrupt:
        return
    for listing in found.listings():
        assert 0 <= listing.order < 2**63
        assert 0 <= listing.key < 2**64
    unit = found.unit()
    if unit is not None:
        tokenize(unit.text)
        assert 0 <= unit.at < 2**63
    if kind in _CONVERSIONS:
        repr(_CONVERSIONS[kind](found))
    again = codec.decode(kind, id_, codec.encode(found, codec.unknown_fields(kind, payload)), 8)
    assert repr(again) == repr(found)


def _fitting(kind: Any) -> st.SearchStrategy[Any]:
    """Values that a field of this type may hold, or nearly."""
    text = str(kind)
    if "int" in text and "tuple" not in text:
        return integers | st.integers(0, 3)
    if "float" in text:
        return st.floats(0, 1)
    if "bool" in text:
        return st.booleans()
    if "tuple[int" in text or "tuple[Annotated[int" in text or "tuple[typing.Annotated[int" in text:
        return st.lists(integers, max_size=3)
    if "tuple[dict" in text:
        return st.lists(st.dictionaries(st.text(max_size=5), _values, max_size=2), max_size=2)
    if "tuple" in text:
        return st.lists(st.text(max_size=5), max_size=3)
    if "dict[str, str]" in text:
        return st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)
    if "dict" in text:
        return st.dictionaries(st.text(max_size=5), _values, max_size=3)
    return st.text(max_size=12) | st.sampled_from(["user", "agent", "active"])


_counts = st.integers(0, 6) | st.integers(0, 2**32 - 1)


@structure(_counts, _counts, st.binary(max_size=200), st.booleans())
def vector_slab(rows: int, dim: int, rest: bytes, fit: bool) -> None:
    """A vector slab is Corrupt, or its counts fit it; what is not a unit vector is not searched."""
    if fit and rows * (8 + 4 * dim) < 10_000:
        rest = (rest * 200)[: rows * (8 + 4 * dim)].ljust(rows * (8 + 4 * dim), b"\0")
    try:
        slab = vectors.decode_vectors(memoryview(_SLAB.pack(5, rows, dim) + rest), 8)
    except Corrupt:
        return
    assert slab.matrix.shape == (rows, dim)
    assert len(slab.owners) == rows
    with suppress(InvalidRequest, VectorSpaceMismatch):
        VectorIndex(dim).put(1, slab.owners, slab.matrix)


@structure(_counts, st.sampled_from([2, 4, 2, 4, 0, 3]) | _counts, st.binary(max_size=200))
def token_slab(rows: int, width: int, rest: bytes) -> None:
    """A token slab is Corrupt, or every row lies within its tokens."""
    try:
        slab = vectors.decode_tokens(memoryview(_SLAB.pack(5, rows, width) + rest), 8)
    except Corrupt:
        return
    assert len(slab.owners) == rows == len(slab.offsets) - 1
    assert int(slab.offsets[-1]) == len(slab.tokens)
    index = TokenIndex()
    try:
        index.put(1, slab.owners, slab.offsets, slab.tokens)
    except InvalidRequest:
        return
    index.idf(np.arange(5))
    index.rows(np.arange(2), lambda owners: np.arange(len(owners)) % 2, 2, version=1)


@structure(_counts, st.sampled_from([2, 4, 2, 4, 0, 3]) | _counts, _counts, st.integers(0, 9), st.binary(max_size=200))
def context_slab(rows: int, width: int, basis: int, dim: int, rest: bytes) -> None:
    """A context slab is Corrupt, or every row lies within its tokens, each of which has its codes."""
    payload = memoryview(_SLAB.pack(5, rows, width) + struct.pack("<QQ", basis, dim) + rest)
    try:
        slab = vectors.decode_contexts(payload, 8)
    except Corrupt:
        return
    assert len(slab.owners) == rows == len(slab.offsets) - 1
    assert slab.codes.shape == (len(slab.tokens), dim)
    assert int(slab.offsets[-1]) == len(slab.tokens)
    index = ContextIndex()
    with suppress(InvalidRequest):  # an owner with two rows
        index.put(1, slab.owners, slab.offsets, slab.tokens, slab.codes, None)
        asked = np.ones((2, dim), np.float32)
        found = index.best_similarities(asked, np.arange(3), lambda owners: (owners % 3).astype(np.int64), 3, version=1)
        assert np.isfinite(found).all()


# -- index parts -------------------------------------------------------------------------------------------------


def _changed(data: st.DataObject, sections: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Sections of which some numbers, lengths or types are others."""
    changed = {name: array.copy() for name, array in sections.items()}
    for name in data.draw(st.lists(st.sampled_from(sorted(changed)), min_size=1, max_size=3)):
        array = changed.get(name)
        if array is None:
            continue
        way = data.draw(st.sampled_from(["value", "value", "value", "shorter", "longer", "type", "gone", "order"]))
        if way == "value" and len(array) and array.dtype.kind in "iu":
            low, high = int(np.iinfo(array.dtype).min), int(np.iinfo(array.dtype).max)
            value = st.sampled_from([low, high, 0, 1, 2, 3, high // 2]) | st.integers(low, high)
            array[data.draw(st.integers(0, len(array) - 1))] = data.draw(value)
        elif way == "shorter":
            changed[name] = array[: data.draw(st.integers(0, len(array)))]
        elif way == "longer":
            changed[name] = np.concatenate([array, array, np.zeros(1, array.dtype)])
        elif way == "type":
            kind = data.draw(st.sampled_from(["u1", "u2", "u4", "u8", "i4", "i8", "f4", "f8"]))
            with np.errstate(invalid="ignore"):  # what has no value in that type
                changed[name] = array.astype(kind)
        elif way == "gone":
            del changed[name]
        elif way == "order":
            changed[name] = array[::-1].copy()
    return changed


def _last(steps: Generator[None, None, Sections]) -> Sections:
    """What a merge comes to."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            found: Sections = stop.value
            return found


def _groups() -> dict[str, NDArray[Any]]:
    groups = Groups()
    for id_ in range(1, 9):
        groups.add(id_ % 3, 100 - id_, id_)
    return groups.seal(0)


@structure(st.data())
def groups_part(data: st.DataObject) -> None:
    """A part of a multimap is refused when it is checked, or serves every call."""
    groups = Groups()
    groups.attach([_changed(data, _groups())])
    try:
        groups.check()
    except Corrupt:
        return
    for key in range(4):
        assert len(groups.page(key, limit=99)) == groups.count(key)
        assert groups.page(key, limit=99, descending=True) == groups.page(key, limit=99)[::-1]
        for order, id_ in groups.page(key, limit=99):
            assert groups.remove(key, order, id_)
    groups.add(1, 5, 5)
    groups.seal(1)
    groups.seal(0)
    _last(groups.merging(0))


_LABELS = {"layer": "u1", "at": "i8", "session": "u8"}


def _units() -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    units = UnitTable(_LABELS)
    for id_ in range(1, 6):
        units.add(id_, layer=4, at=id_, session=id_ % 2)
    first = units.seal(0)
    units.attach([(1, first)])
    units.delete(2)
    units.set(3, "at", 77)
    units.add(9, layer=5)
    return first, units.seal(1)


@structure(st.data())
def units_part(data: st.DataObject) -> None:
    """Parts of the unit table are refused when they are checked, or serve every call."""
    first, second = _units()
    units = UnitTable(_LABELS)
    if data.draw(st.booleans()):
        units.attach([(1, _changed(data, first)), (2, second)])
    else:
        units.attach([(1, first), (2, _changed(data, second))])
    try:
        units.check()
    except Corrupt:
        return
    assert units.count <= units.size
    units.neighbours("session")
    units.ordinals(units.ids)
    for id_ in (1, 2, 5, 9):
        if units.ordinal(id_) is not None:
            units.delete(id_)
    if units.ordinal(8) is None:
        units.add(8)
    units.seal(2)
    units.seal(1)
    units.seal(0)
    first_part = data.draw(st.integers(0, 1))
    units.swap(first_part, 3, _last(units.merging(first_part)))
    units.check()
    units.seal(0)


def _postings() -> dict[str, NDArray[Any]]:
    index = Bm25Index()
    for ordinal, text in enumerate(("a kayak", "a shed", "a kayak in a shed", "上周")):
        index.add(ordinal, tokenize(text))
    return index.seal(0, np.ones(4, np.bool_))


@structure(st.data())
def postings_part(data: st.DataObject) -> None:
    """Postings are refused when they are checked, or serve every call."""
    index = Bm25Index()
    index.attach([(0, _changed(data, _postings()))])
    try:
        index.check(4)
    except Corrupt:
        return
    live = np.array([True, True, False, True, True])
    index.add(4, tokenize("a kayak"))
    for found in index.postings(["kayak", "shed", "nowhere"], live):
        assert np.isfinite(found.strength(*found.read())).all()
        assert np.isfinite(found.at(np.flatnonzero(live))).all()
    list(index.terms())
    index.seal(1, live)
    index.seal(0, live)
    index.swap(0, _last(index.merging(0)))
    index.check(5)


NAMES = tuple(sorted(PROPERTIES))
