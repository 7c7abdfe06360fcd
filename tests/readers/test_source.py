"""Zips, gzips and folders that mean harm, and telling formats apart."""

from __future__ import annotations

import gzip
import json
import os
import struct
import zipfile
from pathlib import Path
from typing import cast

import pytest

from memhop.common.errors import InvalidRequest, StorageError
from memhop.readers import READERS, Reader, chatgpt, detect, mem0, source
from memhop.readers.item import Item
from tests.readers import samples
from tests.readers.samples import CHATGPT, every_source, messages, rejected, zipped


def test_every_format_is_told_by_its_content(tmp_path: Path) -> None:
    paths = every_source(tmp_path / "all")
    assert sorted(paths) == sorted(reader.NAME for reader in READERS)
    for name, path in paths.items():
        head = source.head_of(path)
        claiming = [reader.NAME for reader in READERS if reader.matches(path, head)]
        assert claiming == [name], "no other reader takes it"
        found = detect(path)
        assert found is not None
        assert name == found.NAME


def test_the_guide_lists_every_format() -> None:
    guide = (Path(__file__).parents[2] / "INTEGRATION_GUIDE.md").read_text("utf-8")
    section = guide.partition("## Import from elsewhere")[2].partition("\n## ")[0]
    assert [line.split("`")[1] for line in section.splitlines() if line.startswith("| `") and "|" in line][1:] == [
        "chatgpt", "claude_ai", "claude_code", "mcp_memory", "mem0", "hinterland", "hemisphere", "go_meh", "markdown",
    ]  # fmt: skip
    assert len(READERS) == 9


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 9000,
        b"[]",
        b"[1, 2, 3]",
        b'{"format":"memhop-export","version":1}\n{"id":"00","kind":"note","record":{}}\n',
        b'{"type":"session_meta","payload":{}}\n',
        b'[{"id":1,"name":"x","content":"y"}]',
        b'[{"mapping":{"a":1}}]',
        b'{"type":"entity"}',
        b'{"content":"x","created_at":"y"}',
        b"\x89MEH\r\n\x1a\n" + bytes(9000),
        b"%PDF-1.7\n",
        b"<html><body>- x</body></html>",
        b"SQLite format 3\0" + bytes(9000),
        b"PK\x03\x04 no zip",
        gzip.compress(b"plain", mtime=0),
        zipped({"readme.txt": b"x"}),
        zipped({"conversations.json": b"[]"}),
    ],
)
def test_look_alikes_are_nobodys(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(data)
    assert detect(path) is None
    for reader in READERS:
        with pytest.raises((InvalidRequest, StorageError)):
            reader.read(path)


def test_the_name_of_a_file_decides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text(json.dumps(CHATGPT), "utf-8")
    assert cast(Reader, detect(path)).NAME == "chatgpt"


def test_a_folder_of_transcripts_and_one_of_notes(tmp_path: Path) -> None:
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "deep" / "s.jsonl").write_bytes(samples.TRANSCRIPT)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.md").write_text("# X\n\ntext\n", "utf-8")
    (tmp_path / "c").mkdir()
    names = [found.NAME if (found := detect(tmp_path / name)) else None for name in "abc"]
    assert names == ["claude_code", "markdown", None]


def test_a_zip_bomb_is_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros pack 1,000 times: 40 KB would have become 40 MB, and 40 MB forty gigabytes."""
    monkeypatch.setattr(source, "FREE", 1_000_000)
    head = json.dumps(CHATGPT).encode()[:-1]
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped({"conversations.json": head + b',{"a":"' + b" " * 40_000_000 + b'"}]'}))
    found = list(chatgpt.read(path))
    assert len(messages(found)) == 2, "what came before it is kept"
    (bomb,) = rejected(found)
    assert "unpacks to more than" in bomb.reason


def test_many_small_members_share_one_allowance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "FREE", 100_000)
    monkeypatch.setattr(source, "RATIO", 1)
    text = json.dumps(CHATGPT).encode() + b" " * 60_000
    path = tmp_path / "many.zip"
    path.write_bytes(zipped({f"conversations-{number:03}.json": text for number in range(9)}))
    found = list(chatgpt.read(path))
    assert 2 <= len(messages(found)) <= 4
    assert rejected(found)


def test_damaged_and_encrypted_members_are_rejections(tmp_path: Path) -> None:
    good = json.dumps(CHATGPT).encode()
    data = bytearray(zipped({"a/conversations.json": good, "b/conversations.json": good * 50}))
    second = data.index(b"b/conversations.json")
    data[second + 60] ^= 0xFF
    path = tmp_path / "damaged.zip"
    path.write_bytes(data)
    found = list(chatgpt.read(path))
    assert len(messages(found)) >= 2
    assert rejected(found)
    locked = bytearray(zipped({"a/conversations.json": good, "b/conversations.json": good}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = locked.rindex(mark) + offset
        locked[at : at + 2] = struct.pack("<H", 1)
    path.write_bytes(locked)
    found = list(chatgpt.read(path))
    assert len(messages(found)) == 2
    assert [item.place for item in rejected(found)] == ["b/conversations.json"]


@pytest.mark.parametrize("harm", ["cut", "checksum", "garbled"])
def test_a_damaged_gzip_stream_gives_what_came_before(harm: str, tmp_path: Path) -> None:
    lines = [samples.OPENMEMORY_LINE | {"id": f"{number:064x}"} for number in range(2000)]
    data = bytearray(gzip.compress(samples.jsonl(*lines), mtime=0))
    if harm == "cut":
        del data[-len(data) // 3 :]
    else:
        at = len(data) - 8 if harm == "checksum" else len(data) * 2 // 3
        data[at] ^= 0xFF
    path = tmp_path / "memories.jsonl.gz"
    path.write_bytes(data)
    found = list(mem0.read(path))
    assert rejected(found)[-1].reason.startswith(("the stream is broken", "not JSON"))
    assert len(samples.notes(found)) > 100


def test_a_zip_that_is_none_raises(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped({"conversations.json": b"[]"})[:-10])
    with pytest.raises(StorageError, match="the zip is broken"):
        chatgpt.read(path)


def test_names_within_a_zip_are_labels(tmp_path: Path) -> None:
    good = json.dumps(CHATGPT).encode()
    path = tmp_path / "in" / "evil.zip"
    path.parent.mkdir()
    path.write_bytes(zipped({"../conversations.json": good, "/abs/conversations.json": good}))
    assert len(messages(chatgpt.read(path))) == 4
    assert sorted(str(found.relative_to(tmp_path)) for found in tmp_path.rglob("*")) == ["in", "in/evil.zip"]


def test_a_folder_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.md").write_text("- x", "utf-8")
    assert detect(tmp_path) is None
    with pytest.raises(InvalidRequest, match="more than 3 files"):
        source.members(tmp_path)


def test_a_folder_has_a_depth(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(source.DEEPEST + 2):
        (deep / "x.md").write_text("- x", "utf-8")
        deep /= "d"
        deep.mkdir()
    assert len(source.members(tmp_path)) == source.DEEPEST + 1


def test_symbolic_links_within_a_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "s.jsonl").write_bytes(samples.TRANSCRIPT)
    (tmp_path / "asked").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "asked" / "folder")
    os.symlink(tmp_path / "real" / "s.jsonl", tmp_path / "asked" / "s.jsonl")
    assert detect(tmp_path / "asked") is None
    os.symlink(tmp_path / "real", tmp_path / "way")
    found = detect(tmp_path / "way")
    assert found is not None, "the path itself may be one: a person named it"
    assert len(list(found.read(tmp_path / "way"))) == 6


def test_reading_twice_gives_the_same_and_leaves_no_open_file(tmp_path: Path) -> None:
    """Importers read a source a second time for its links."""
    paths = every_source(tmp_path / "all")
    archive = tmp_path / "all" / "z.zip"
    archive.write_bytes(zipped({"conversations.json": json.dumps(CHATGPT).encode()}))
    for path in (*paths.values(), archive):
        reader = cast(Reader, detect(path))
        first: list[Item] = list(reader.read(path))
        assert list(reader.read(path)) == first
        next(iter(reader.read(path)))


def test_a_stored_zip_member_that_lies_about_its_size(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("conversations.json", json.dumps(CHATGPT))
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 1 << 30)
    path.write_bytes(data)
    assert len(messages(chatgpt.read(path))) == 2
