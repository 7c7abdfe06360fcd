"""An export says all that the layers hold, and nothing that depends on when or how it was written."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from memhop import InvalidRequest, StorageError
from memhop.repo.codec import RECORD_TYPES
from memhop.repo.record import Kind
from tests.support.every_kind import every_kind
from tests.support.memories import DAY, NOW, memory


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    every_kind(tmp_path / "a.meh")
    return tmp_path / "a.meh"


def test_every_record_of_every_layer_is_in_it_with_every_field(tmp_path: Path, path: Path) -> None:
    with memory(path) as db:
        done = db.export(tmp_path / "e.jsonl")
        live = {(kind, id_) for id_, kind, _ in db._file.live() if kind < Kind.SPACE}
    head, *rest = lines_of(tmp_path / "e.jsonl")
    assert head == {"format": "memhop-export", "version": 1}
    assert [(Kind[line["kind"].upper()], int(line["id"], 16)) for line in rest] == sorted(live)
    assert {line["kind"] for line in rest} == {kind.name.lower() for kind in Kind if kind < Kind.SPACE}
    for line in rest:
        fields = RECORD_TYPES[Kind[line["kind"].upper()]].__struct_fields__
        assert set(line["record"]) == set(fields) - {"id"}
        assert list(line) == sorted(line)
        assert list(line["record"]) == sorted(line["record"])
    topic = next(line["record"] for line in rest if line["kind"] == "topic" and line["record"]["messages"])
    assert all(len(id_) == 16 for id_ in (topic["scene"], *topic["messages"]))
    data = (tmp_path / "e.jsonl").read_bytes()
    assert (done.records, done.bytes, done.damaged) == (len(rest), len(data), 0)
    assert done.digest == hashlib.sha256(data).hexdigest()
    assert stat.S_IMODE((tmp_path / "e.jsonl").stat().st_mode) == 0o600


def test_it_does_not_depend_on_the_file(tmp_path: Path, path: Path) -> None:
    """Neither on compaction, checkpoints, reopening, nor on whether it is written down."""
    with memory(path) as db:
        digest = db.export().digest
        db.checkpoint()
        assert db.export().digest == digest
        db.compact()
        assert db.export(tmp_path / "e").digest == digest
    with memory(path, mode="read") as db:
        assert db.export().digest == digest
        assert db.export().path is None
        commit = db.stats().commit
    with memory(path) as db:
        db.remember("one more")
        assert db.export().digest != digest
        with db.at(commit) as past:
            assert past.export().digest == digest


def test_the_same_calls_give_the_same_export(tmp_path: Path) -> None:
    digests = set()
    for name in ("a", "b"):
        with memory(tmp_path / f"{name}.meh") as db:
            for number in range(9):
                found = db.search(f"the kayak leaks at seam {number}", NOW - DAY + number, session="one")
                db.update(found.new_topic_id, f"varnish {number}", NOW - DAY + number)
            db.dream()
            digests.add(db.export().digest)
    assert len(digests) == 1


def test_fields_of_a_newer_build_are_in_it(tmp_path: Path) -> None:
    import msgspec

    from memhop.core.batch import Write

    with memory(tmp_path / "a.meh") as db:
        db.remember("a note")
        (id_, kind, offset), *_ = [row for row in db._file.live() if row[1] == Kind.NOTE]
        raw = msgspec.msgpack.decode(db._file.read(offset)[2])
        db._file.append([Write(kind, id_, msgspec.msgpack.encode(raw | {"mood_of_tomorrow": [1, "x"]}))])
        db.export(tmp_path / "e")
    assert [line["record"]["mood_of_tomorrow"] for line in lines_of(tmp_path / "e")[1:]] == [[1, "x"]]


def test_a_damaged_record_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember_many(["a sound note", "a note that rots"])
    data = bytearray(path.read_bytes())
    at = data.index(b"a note that rots")
    data[at] ^= 1
    path.write_bytes(data)
    with memory(path) as db:
        done = db.export(tmp_path / "e")
    assert (done.records, done.damaged) == (1, 1)
    assert "sound" in (tmp_path / "e").read_text()


def test_nothing_is_overwritten_that_is_no_export(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.remember("a note")
        target = tmp_path / "e.jsonl"
        db.export(target)
        before = target.read_bytes()
        with pytest.raises(InvalidRequest, match="exists"):
            db.export(target)
        db.remember("another")
        assert db.export(target, overwrite=True).records == 2
        assert target.read_bytes() != before
        letter = tmp_path / "letter.txt"
        letter.write_text("dear Ann")
        for wrong in (letter, tmp_path / "a.meh", tmp_path / "a.meh.lock", tmp_path, "", "a\0b", 7):
            with pytest.raises(InvalidRequest) as error:
                db.export(wrong, overwrite=True)  # type: ignore[arg-type]
            assert error.value.field == "path"
        assert letter.read_text() == "dear Ann"
        with pytest.raises(StorageError):
            db.export(tmp_path / "nowhere" / "e")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.meh", "a.meh.lock", "e.jsonl", "letter.txt"]


def test_an_export_that_fails_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    with memory(tmp_path / "a.meh") as db:
        db.remember("a note")
        db.export(tmp_path / "e")
        before = (tmp_path / "e").read_bytes()
        db.remember("another")

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", full)
            with pytest.raises(StorageError, match="No space left"):
                db.export(tmp_path / "e", overwrite=True)
        assert (tmp_path / "e").read_bytes() == before
        assert not list(tmp_path.glob("*.exporting"))
