"""Files of the Go library: bytes, records, damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop.common.errors import InvalidRequest
from memhop.readers import go_meh
from memhop.readers.item import Item
from tests.readers import samples
from tests.readers.samples import (
    edges,
    go_file,
    go_frame,
    go_frames,
    go_header,
    messages,
    nodes,
    notes,
    rejected,
    skipped,
)


def read(tmp_path: Path, data: bytes) -> list[Item]:
    path = tmp_path / "agent.meh"
    path.write_bytes(data)
    return list(go_meh.read(path))


def test_the_bytes_of_the_samples_are_those_of_the_format() -> None:
    """Golden values: a frame, its tombstone, the checksums of fresh headers of both versions."""
    assert go_frame(1, 1, b"one") == bytes.fromhex("0100030000000100000000000000a4d0971b6f6e65")
    assert go_frame(1, 1, b"", deleted=True) == bytes.fromhex("0101000000000100000000000000aa41885d")
    for version, checksum in ((6, 0xA10E5663), (7, 0x2415642D)):
        header = go_header(version, commit=0)
        assert header[:8] == bytes.fromhex(f"4d4548320{version}000004")
        assert int.from_bytes(header[4088:4092], "little") == checksum


@pytest.mark.parametrize("version", [6, 7])
@pytest.mark.parametrize("end", [True, False])
def test_every_record_is_decoded_or_counted(tmp_path: Path, version: int, *, end: bool) -> None:
    found = read(tmp_path, go_file(*go_frames(), version=version, end=end))
    assert not rejected(found)
    assert [(item.text, item.role, item.at, item.session, item.session_title) for item in messages(found)] == [
        ("hello world", "user", 1_700_000_000_000, "bfe671f6686ef56a", "1700000000000:hello worl"),
        ("hi", "agent", 1_700_000_000_005, "bfe671f6686ef56a", "1700000000000:hello worl"),
    ]
    assert messages(found)[0].source_id == "028d310aec618915"
    assert [(node.name, node.text, node.kind, node.graph) for node in nodes(found)] == [
        ("Go 内存模型", "happens before\nKeywords: memory", "concept", "go"),
        ("Channels", "", "concept", "go"),
    ]
    assert [tuple(edge) for edge in edges(found)] == [("causal", "800d84fff3efd644", "000000000000000c", "go")]
    assert [(note.kind, note.text) for note in notes(found)] == [
        ("identity", "Name: Ada"),
        ("identity", "Role: builder"),
        ("preference", "editor: vim"),
        ("note", "meh: the file"),
        ("preference", "Style: short"),
        ("capability", "memhop-guide\nHow to\nasked\nread it"),
    ]
    assert notes(found)[-1].status == "active"
    assert sorted(skipped(found)) == [
        "a step of a trajectory", "a summary made by a dream", "a vector of another model", "counters of scenes",
        "kept as the graph of its nodes", "kept as the session of its messages", "keywords of a topic, made anew",
        "no text", "the scene graph, made anew by dreams", "the scene graph, made anew by dreams", "written by a dream",
        "written by dreams", "written by dreams",
    ]  # fmt: skip


def test_the_newest_frame_counts_and_a_deleted_one_is_gone(tmp_path: Path) -> None:
    def said(text: str) -> bytes:
        return samples.go_record(0x08, 5, content=text, created_at=1)

    found = read(
        tmp_path,
        go_file(said("old"), said("new"), samples.go_record(0x08, 6, content="x"), go_frame(8, 6, b"", deleted=True)),
    )
    assert [item.text for item in messages(found)] == ["new"]


def test_a_damaged_frame_costs_itself(tmp_path: Path) -> None:
    texts = [samples.go_record(0x08, number, content=f"text {number}", created_at=number) for number in range(1, 6)]
    data = bytearray(go_file(*texts))
    at = 8192 + len(texts[0]) + len(texts[1]) + 20
    data[at] ^= 0xFF
    found = read(tmp_path, bytes(data))
    assert [item.text for item in messages(found)] == ["text 1", "text 2", "text 4", "text 5"]
    (bad,) = rejected(found)
    assert bad.place == f"byte {at - 20}"
    assert len(bad.raw) == len(texts[2])


def test_every_cut_and_every_flip_gives_what_is_whole(tmp_path: Path) -> None:
    texts = [samples.go_record(0x08, number, content=f"text {number}", created_at=number) for number in range(1, 4)]
    whole = go_file(*texts, tail=b"")
    for cut in range(8192, len(whole), 3):
        found = read(tmp_path, whole[:cut])
        good = sum(8192 + sum(map(len, texts[: number + 1])) <= cut for number in range(3))
        assert len(messages(found)) == good
        assert len(rejected(found)) <= 1
    for victim in range(8192, len(whole), 5):
        found = read(tmp_path, whole[:victim] + bytes([whole[victim] ^ 0x55]) + whole[victim + 1 :])
        assert len(messages(found)) == 2
        assert len(rejected(found)) == 1


def test_records_behind_stacked_snapshots_are_found(tmp_path: Path) -> None:
    first, second = (samples.go_record(0x08, number, content=f"text {number}") for number in (1, 2))
    data = go_header(6) * 2 + first + samples.EMPTY_SNAPSHOT * 3 + second
    found = read(tmp_path, data)
    assert len(messages(found)) == 2
    assert not rejected(found)


def test_other_versions_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"0x0005.*0x0006 or 0x0007"):
        read(tmp_path, go_file(version=5))
    with pytest.raises(InvalidRequest, match="no header that checks out"):
        read(tmp_path, b"MEH2" + bytes(8188))
    with pytest.raises(InvalidRequest, match="something else"):
        read(tmp_path, b"\x89MEH\r\n\x1a\n" + bytes(8188))


def test_one_bad_header_is_survived(tmp_path: Path) -> None:
    data = bytearray(go_file(*go_frames()))
    data[100] ^= 1
    assert len(messages(read(tmp_path, bytes(data)))) == 2


def test_looking_for_good_frames_is_bounded(tmp_path: Path) -> None:
    """Each byte could begin a frame of megabytes: checking all of them would take hours."""
    hostile = b"\x01\x00" + (3_000_000).to_bytes(4, "little") + b"\x01" * 8
    found = read(tmp_path, go_header(6) * 2 + hostile * 400_000)
    assert len(rejected(found)) == 1


def test_fields_of_wrong_types_are_rejections(tmp_path: Path) -> None:
    frames = [
        samples.go_record(0x08, 1, content=5),
        samples.go_record(0x08, 2, content="x", role="user"),
        samples.go_record(0x08, 3, content="x", context_id=-1),
        samples.go_record(0x06, 4, title=None),
        samples.go_record(0x07, 5, kind=9, node_ids=[1, 2]),
        samples.go_record(0x07, 6, kind=0, node_ids=[1]),
        go_frame(0x08, 7, b"[]"),
        go_frame(0x08, 8, b"\xff"),
    ]
    found = read(tmp_path, go_file(*frames))
    assert len(rejected(found)) == len(found) == len(frames)
