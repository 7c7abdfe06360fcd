"""Records and payloads: round trips, fields of newer builds, and bytes that pass their checksum and are still wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import Corrupt, NotFound
from memhop.common.ids import from_hex
from memhop.core.batch import Write
from memhop.repo import codec
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.record import Kind, Layer, Role, Tier
from tests.support.memories import NOW, every, memory, texts

EXAMPLES = [
    msgspec.convert(
        {
            "name": "n", "scene": 1, "relation": "temporal", "scenes": [1, 2], "weight": 0.5, "graph": 1, "title": "t",
            "text": "t", "type": "mcp", "target": 1, "session": "s", "seq": 1, "model": "m", "dim": 3, "owner": 2,
            "space": 3, "attempts": 1, "retry_at": 5, "units": 1, "width": 1, "matrix": b"\xff\x00\x80",
            "value": "b", "field": "c", "nodes": [1, 2], "subject": "d", "predicate": "e", "number": 1,
            "dream": 1, "stage": "f", "base": 1, "day": 1, "note": 1, "rev": 1, "batch": 1, "format": "g",
        },
        record_type,
    )
    for record_type in codec.RECORD_TYPES.values()
]  # fmt: skip


@pytest.mark.parametrize("record", EXAMPLES, ids=lambda record: type(record).__name__)
def test_every_kind_comes_back(record: Any) -> None:
    stored = msgspec.structs.replace(record, id=2**64 - 1)
    payload = codec.encode(stored)
    assert codec.decode(int(record.KIND), 2**64 - 1, payload, 0) == stored
    assert b"\xff" * 8 not in payload, "the id is left to the frame"
    assert codec.unknown_fields(int(record.KIND), payload) == {}


def test_kinds_are_numbered_once_and_all_in_the_table() -> None:
    assert len(set(Kind)) == len(Kind.__members__)
    assert all(kind >= 0x10 for kind in Kind)
    assert set(codec.RECORD_TYPES) | codec.SLAB_KINDS == set(map(int, Kind))


def test_the_limits_of_fields_are_those_of_the_enumerations() -> None:
    for role in Role:
        if role is not Role.NONE:
            Message(text="a", role=role.name.lower()).unit()
    for tier in Tier:
        payload = codec.encode(Note(text="a", tier=int(tier)))
        assert codec.decode(Kind.NOTE, 1, payload, 0).unit() is not None
    assert len({layer.label for layer in Layer}) == len(Layer)


HOSTILE: list[tuple[Kind, Any]] = [
    (Kind.NOTE, b""),
    (Kind.NOTE, b"\xc1"),
    (Kind.NOTE, b"\x81"),
    (Kind.NOTE, b"\x91" * 2_000),
    (Kind.NOTE, b"\xdf\xff\xff\xff\xff"),
    (Kind.NOTE, b"\xdb\xff\xff\xff\xff" + b"a" * 10),
    (Kind.NOTE, b"\x81\xa4text\xa1\xff"),
    (Kind.NOTE, None),
    (Kind.NOTE, []),
    (Kind.NOTE, {}),
    (Kind.NOTE, {"text": 5}),
    (Kind.NOTE, {"text": b"bytes"}),
    (Kind.NOTE, {"text": "a", "tier": 9}),
    (Kind.NOTE, {"text": "a", "tier": -1}),
    (Kind.NOTE, {"text": "a", "at": -1}),
    (Kind.NOTE, {"text": "a", "at": 2**63}),
    (Kind.NOTE, {"text": "a", "at": 1.5}),
    (Kind.NOTE, {"text": "a", "links": [-1]}),
    (Kind.NOTE, {"text": "a", "tags": "abc"}),
    (Kind.NOTE, {"text": "a", "metadata": [1]}),
    (Kind.MESSAGE, {"text": "a", "role": "king"}),
    (Kind.MESSAGE, {"text": "a", "role": "user\n"}),
    (Kind.MESSAGE, {"text": "a", "at": 253_402_300_800_000}),
    (Kind.MESSAGE, {"text": "a", "scene": -5}),
    (Kind.EVENT, {"session": "s", "seq": -1, "type": "t"}),
    (Kind.HYPEREDGE, {"relation": "temporal", "scenes": [1, 2], "weight": 2.0}),
    (Kind.HYPEREDGE, {"relation": "temporal", "scenes": [1, 2], "weight": float("nan")}),
]


def _payload(value: Any) -> bytes:
    return value if isinstance(value, bytes) else msgspec.msgpack.encode(value)


@pytest.mark.parametrize(("kind", "value"), HOSTILE, ids=lambda value: ascii(value)[:40])
def test_hostile_payloads_are_corrupt(kind: Kind, value: Any) -> None:
    with pytest.raises(Corrupt) as raised:
        codec.decode(kind, 1, _payload(value), 4711)
    assert raised.value.offset == 4711
    codec.unknown_fields(kind, _payload(value))


@settings(max_examples=400, derandomize=True, deadline=None)
@given(st.sampled_from(sorted(codec.RECORD_TYPES)), st.binary(max_size=60), st.integers(0, 40), st.integers(0, 255))
def test_any_bytes_are_a_record_or_corrupt(kind: int, junk: bytes, at: int, value: int) -> None:
    good = bytearray(codec.encode(next(record for record in EXAMPLES if kind == record.KIND)))
    good[at % len(good)] = value
    for payload in (junk, bytes(good), bytes(good[: at % len(good)])):
        try:
            record = codec.decode(kind, 1, payload, 0)
        except Corrupt:
            continue
        record.listings()
        record.unit()


@pytest.mark.parametrize(("kind", "value"), HOSTILE, ids=lambda value: ascii(value)[:40])
def test_a_memory_with_a_hostile_record_goes_on(tmp_path: Path, kind: Kind, value: Any) -> None:
    """A role or tier this build does not know, or a time beyond the calendar, made every later call raise KeyError,
    ValueError or OverflowError: one record took the whole memory with it."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember("a kayak in the shed")
        db._store.file.append([Write(int(kind), 5, _payload(value))])
        assert texts(db.recall("kayak")) == ["a kayak in the shed"]
        assert db.stats().unreadable == 1
        note = db.remember("slugs in the lettuce")
        db.checkpoint()
        assert texts(db.recall("slugs lettuce")) == ["slugs in the lettuce"]
    with memory(path) as db:
        assert {item.id for item in every(db.notes.list)} >= {note.id}
        assert texts(db.recall("kayak")) == ["a kayak in the shed"]
        with pytest.raises((Corrupt, NotFound)):
            db.notes.get(f"{5:016x}")


class TestNewerBuilds:
    def test_fields_this_build_does_not_know_survive_a_rewrite(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            note = db.remember("a kayak", external_id="x")
            store = db._store
            located = store.file.locate(from_hex(note.id))
            assert located is not None
            fields = msgspec.msgpack.decode(store.file.read(located[1])[2])
            fields |= {"mood": "calm", "nested": {"a": [1, None]}, "blob": b"\x00\xff"}
            store.file.append([Write(int(Kind.NOTE), from_hex(note.id), msgspec.msgpack.encode(fields))])
            assert db.notes.get(note.id).text == "a kayak"
            db.remember("a green kayak", external_id="x", tags=["boat"])
            db.forget(note.id)
            db.checkpoint()
            db.compact()
        with memory(path) as db:
            located = db._store.file.locate(from_hex(note.id))
            assert located is not None
            kept = msgspec.msgpack.decode(db._store.file.read(located[1])[2])
            assert (kept["mood"], kept["nested"], kept["blob"]) == ("calm", {"a": [1, None]}, b"\x00\xff")
            assert (kept["text"], kept["tags"]) == ("a green kayak", ["boat"])

    def test_records_of_unknown_kinds_are_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            db.remember("a kayak")
            db._store.file.append([Write(0x77, 9, b"from the future")])
            db.remember("a paddle")
            db.compact()
        with memory(path) as db:
            located = db._store.file.locate(9)
            assert located is not None
            assert db._store.file.read(located[1]) == (0x77, 9, b"from the future")
            assert texts(db.recall("paddle")) == ["a paddle"]
            with pytest.raises(NotFound):
                db.forget(f"{9:016x}", hard=True)
            assert db.why_not(f"{9:016x}", "future").returned is False

    def test_absent_fields_take_their_default(self) -> None:
        note = codec.decode(Kind.NOTE, 3, msgspec.msgpack.encode({"text": "a"}), 0)
        assert note == Note(id=3, text="a")
        assert note.unit() is not None


def test_text_lies_in_the_file_as_it_is(tmp_path: Path) -> None:
    """So that erasure can be proved with grep."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember('quote " and \\ and 猫', metadata={"k": "v 猫"}, at=NOW)
    raw = path.read_bytes()
    assert 'quote " and \\ and 猫'.encode() in raw
    assert "v 猫".encode() in raw
