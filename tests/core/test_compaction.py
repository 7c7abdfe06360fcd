"""Compaction and repair: what they keep, what they drop, what they leave alone when something fails."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from memhop.common.errors import BadFormat, Corrupt, InvalidRequest, StorageError
from memhop.core.format import Point
from memhop.core.frame import Window
from memhop.core.log_state import load
from memhop.core.meh_file import DELETED, PURGED, MehFile, Write
from memhop.core.repair import repair
from memhop.core.replay import Replay
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, PATH, TURN, clock, open_file, records_of, text

SECRET = b"the door code is 4711"


def busy_file(disk: SimulatedDisk) -> MehFile:
    """Much superseded, something deleted, something purged."""
    file = open_file(disk)
    for number in range(1, 31):
        file.append([Write(NOTE, number % 5 + 1, text(number, 300)), Write(TURN, 100 + number, text(number, 20))])
        if number % 10 == 0:
            file.checkpoint({}, meta={})
    file.append([Write(NOTE, 90, SECRET)])
    file.append([Write(NOTE, 90, SECRET + b"!")])
    file.append([Write(TURN, 101, b"", DELETED), Write(NOTE, 90, b"", DELETED | PURGED)])
    return file


def history_of(disk: SimulatedDisk) -> list[tuple[int, int, list[tuple[int, int, int]]]]:
    state = load(disk.open(PATH))
    window = Window(state.file, state.end)
    base: Point = state.identity.base
    return [
        (batch.point.number, batch.point.time_ms, [(ref.kind, ref.id, ref.flags) for ref in batch.frames])
        for batch in Replay(window, state.identity.salt, base, state.head)
    ]


def test_without_history_one_commit_carries_on_the_chain() -> None:
    disk = SimulatedDisk()
    with busy_file(disk) as file:
        before, digest, number, uuid = records_of(file), file.head_digest, file.commit_number, file.uuid
        dead = file.dead_bytes
        report = file.compact(lambda: {"all": ("I", array("I", [1, 2]))}, meta={"fresh": 1})
        assert records_of(file) == before
        assert (report.records, report.commits, report.generation) == (len(before), 1, 2)
        assert report.bytes_after < report.bytes_before - dead // 2
        assert (file.commit_number, file.generation, file.uuid) == (number + 1, 2, uuid)
        assert file.covers == number + 1
        assert file.meta == {"fresh": 1}
        assert list(file.segments()[0].view("all")) == [1, 2]
        assert file.tail() == ()
        assert SECRET not in disk.bytes_of(PATH)
        assert load(disk.open(PATH)).identity.base.digest == digest
        assert file.verify(deep=True).ok
        file.append([Write(NOTE, 91, b"goes on")])
    with open_file(disk) as file:
        assert records_of(file) == {**before, 91: (NOTE, b"goes on")}
        assert file.recovery.clean


def test_with_history_every_commit_stays_and_purged_words_go() -> None:
    disk = SimulatedDisk()
    with busy_file(disk) as file:
        before, commits = records_of(file), history_of(disk)
        assert SECRET in disk.bytes_of(PATH)
        report = file.compact(dict, meta={}, keep_history=True)
        assert (records_of(file), report.dropped) == (before, 2)
        after = history_of(disk)
        assert [commit[:2] for commit in after] == [commit[:2] for commit in commits]
        assert after[:30] == commits[:30]
        assert [commit[2] for commit in after[30:32]] == [[], []]
        assert after[32] == commits[32]
        assert SECRET not in disk.bytes_of(PATH)
        assert file.verify(deep=True).ok


def test_readers_of_the_old_file_keep_their_views(tmp_path: Path) -> None:
    with MehFile.open(tmp_path / "a.meh") as file:
        offset = file.append([Write(NOTE, 1, SECRET)]).entries[0].offset
        file.checkpoint({"section": ("B", b"abc")}, meta={})
        where, length = file.payload_at(offset)
        payload, section = file.buffer(where, length), file.segments()[0].view("section")
        file.append([Write(NOTE, 1, b"", DELETED)])
        file.compact(dict, meta={})
        assert bytes(payload) == SECRET
        assert bytes(section) == b"abc"
        assert SECRET not in (tmp_path / "a.meh").read_bytes()


def test_a_failing_compaction_leaves_the_old_file_in_use() -> None:
    """Each boundary of the compaction fails once; the handle and the file are as before, nothing is left behind."""
    probe = SimulatedDisk()
    file = busy_file(probe)
    start = len(probe.calls)
    file.compact(dict, meta={})
    renamed = probe.calls.index("rename", start)
    for at in range(start, renamed + 1):
        disk = SimulatedDisk()
        file = busy_file(disk)
        before, digest = records_of(file), file.head_digest
        disk.fault, disk.fault_at = "enospc", at
        with pytest.raises(StorageError):
            file.compact(dict, meta={})
        assert sorted(path.name for path in disk.names) == ["agent.meh"], at
        assert (records_of(file), file.head_digest, file.generation) == (before, digest, 1)
        file.append([Write(NOTE, 95, b"still writes")])
        file.compact(dict, meta={})
        assert records_of(file) == {**before, 95: (NOTE, b"still writes")}


def test_bad_sections_and_damaged_records_stop_a_compaction() -> None:
    disk = SimulatedDisk()
    file = busy_file(disk)
    digest = file.head_digest
    with pytest.raises(InvalidRequest, match="typecode"):
        file.compact(lambda: {"x": ("Z", b"1")}, meta={})
    with pytest.raises(InvalidRequest, match="meta"):
        file.compact(dict, meta={"x": {1, 2}})
    row = file.locate(102)
    assert row is not None
    disk.names[PATH].content[row[1] + 25] ^= 1
    for keep_history in (False, True):
        fresh = open_file(SimulatedDisk.holding(PATH, disk.bytes_of(PATH)))
        with pytest.raises(Corrupt):
            fresh.compact(dict, meta={}, keep_history=keep_history)
        assert fresh.head_digest == digest
        assert fresh.locate(103) is not None


def test_repair_saves_what_is_readable_and_names_the_rest() -> None:
    disk = SimulatedDisk()
    with busy_file(disk) as file:
        before = records_of(file)
        rows = {id_: file.locate(id_) for id_ in before}
    content = bytearray(disk.bytes_of(PATH))
    for id_, at in ((102, 26), (110, 18), (3, 2)):  # in a payload, in an id, in a sync marker
        row = rows[id_]
        assert row is not None
        content[row[1] + at] ^= 0x44
    damaged = SimulatedDisk.holding(PATH, bytes(content))
    target = PATH.with_name("repaired.meh")
    report = repair(PATH, target, disk=damaged, now_ms=clock())
    assert damaged.bytes_of(PATH) == bytes(content), "the source is only read"
    assert [(lost.kind, lost.id) for lost in report.lost] == [(TURN, 102)], "one wrong byte of a head is mended"
    assert {d.id for d in report.damage} == {102, 110, 3}
    with MehFile.open(target, disk=damaged) as file:
        assert file.verify(deep=True).ok
        assert records_of(file) == {id_: row for id_, row in before.items() if id_ != 102}
        assert file.head_digest.hex() == report.head_digest
        assert report.records == len(before) - 1
        assert len(file.tail()) == report.records, "no checkpoint: views are rebuilt"
    with pytest.raises(StorageError, match="does not exist yet"):
        repair(PATH, target, disk=damaged)


def test_repair_works_from_the_genesis_frame_alone_and_refuses_what_is_not_ours(tmp_path: Path) -> None:
    source, target = tmp_path / "a.meh", tmp_path / "b.meh"
    with MehFile.open(source) as file:
        file.append([Write(NOTE, 1, b"one"), Write(NOTE, 2, b"two")])
    content = source.read_bytes()
    source.write_bytes(bytes(8192) + content[8192:])
    assert repair(source, target).records == 2
    with MehFile.open(target) as file:
        assert records_of(file) == {1: (NOTE, b"one"), 2: (NOTE, b"two")}
    source.write_bytes(bytes(len(content)))
    with pytest.raises(BadFormat):
        repair(source, tmp_path / "c.meh")
    assert not (tmp_path / "c.meh").exists()
