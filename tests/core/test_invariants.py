"""The invariants of core/format.py, one test each, under the same names."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.core import format as layout
from memhop.core.frame import Window, encode, examine, seed_of
from memhop.core.log_state import load
from memhop.core.meh_file import MehFile, Write
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, PATH, History, open_file, records_of, run, text

if TYPE_CHECKING:
    from memhop.core.segment import SectionData


def lived() -> SimulatedDisk:
    """A disk with a file of six commits, a checkpoint behind the third."""
    disk = SimulatedDisk()
    file = open_file(disk)
    for number in range(1, 7):
        file.append([Write(NOTE, number, text(number, 50)), Write(NOTE, 1, text(number, 20))])
        if number == 3:
            file.checkpoint({"odd": ("B", b"123")}, meta={})
    file.close()
    return disk


def test_every_invariant_of_the_specification_has_a_test() -> None:
    stated = {line.split()[0] for line in (layout.__doc__ or "").splitlines() if line.startswith("    I")}
    tested = {name.split("_")[1].upper() for name in globals() if name.startswith("test_i") and name[6].isdigit()}
    assert stated == tested
    assert stated


def test_i1_bytes_below_the_published_end_are_never_overwritten_or_cut() -> None:
    disk = SimulatedDisk()
    file = open_file(disk)
    seen = b""
    for number in range(1, 20):
        file.append([Write(NOTE, number % 5 + 1, text(number, 90))])
        if number % 4 == 0:
            file.checkpoint({}, meta={"n": number})
        if number % 7 == 0:
            file.close()
            file = open_file(disk)
        log = disk.bytes_of(PATH)[layout.LOG_START : file.published_end]
        assert log.startswith(seen)
        seen = log


def test_i2_a_batch_is_all_or_nothing() -> None:
    disk = lived()
    file = open_file(disk)
    start, before = file.published_end, records_of(file)
    file.append([Write(NOTE, 6, text(26, 50)), Write(NOTE, 1, text(27, 50)), Write(NOTE, 30, text(30, 50))])
    end, content = file.published_end, disk.bytes_of(PATH)
    for cut in range(start, end):
        with open_file(SimulatedDisk.holding(PATH, content[:cut])) as file:
            assert (file.commit_number, records_of(file)) == (6, before), f"cut at {cut}"


def test_i3_views_are_never_needed() -> None:
    disk = lived()
    with open_file(disk) as file:
        expected, digest = records_of(file), file.head_digest
    content = bytearray(disk.bytes_of(PATH))
    content[: layout.LOG_START] = bytes(layout.LOG_START)
    with open_file(SimulatedDisk.holding(PATH, bytes(content))) as file:
        assert file.recovery.headers_lost == 2
        assert file.segments() == ()
        assert (records_of(file), file.head_digest) == (expected, digest)


def test_i4_what_was_acknowledged_is_there_after_any_crash() -> None:
    disk, history = SimulatedDisk(), History()
    run(disk, history)
    with open_file(disk.after_crash("nothing")) as file:
        assert records_of(file) == history.states[-1]


def test_i5_equal_history_equal_digest() -> None:
    disk = lived()
    with open_file(disk) as file:
        digest, number, end = file.head_digest, file.commit_number, file.published_end
        file.compact(dict, meta={}, keep_history=True)
        assert (file.head_digest, file.commit_number) == (digest, number)
        assert file.published_end != end
        file.compact(dict, meta={})
        assert (file.head_digest != digest, file.commit_number) == (True, number + 1)


def test_i6_a_frame_verifies_only_at_its_own_offset_of_its_own_file() -> None:
    frame = encode(NOTE, 0, 7, b"seven", seed=seed_of(1234, 8400))

    class Bytes:
        def __init__(self, offset: int) -> None:
            self.data = bytes(offset) + frame

        def pread(self, length: int, offset: int) -> bytes:
            return self.data[offset : offset + length]

    def sight(salt: int, offset: int) -> str:
        return examine(Window(Bytes(offset), offset + len(frame)), salt, offset).fault

    assert sight(1234, 8400) == ""
    assert sight(1234, 8408) == "head"
    assert sight(1235, 8400) == "head"


def test_i7_proven_damage_is_never_cut_and_brings_no_older_version_back() -> None:
    disk = lived()
    content = disk.bytes_of(PATH)
    with open_file(SimulatedDisk.holding(PATH, content)) as file:
        expected = records_of(file)
        row = file.locate(1)
        assert row is not None
    for at in range(row[1], row[1] + layout.HEAD.size + 20):
        flipped = bytearray(content)
        flipped[at] ^= 0x10
        found = SimulatedDisk.holding(PATH, bytes(flipped))
        with open_file(found) as file:
            assert file.locate(1) == row, f"byte {at}"
            assert file.recovery.damaged == 1
            assert file.recovery.cut_bytes == 0
            assert records_of_all_but(file, 1) == {k: v for k, v in expected.items() if k != 1}
            file.append([Write(NOTE, 1, b"rewritten")])
            assert file.commit_number == 7
        with open_file(found) as file:
            assert records_of(file)[1] == (NOTE, b"rewritten")


def records_of_all_but(file: MehFile, left_out: int) -> dict[int, tuple[int, bytes]]:
    found = {}
    for id_ in file.ids(NOTE):
        row = file.locate(id_)
        if id_ != left_out and row is not None:
            found[id_] = (row[0], file.read(row[1])[2])
    return found


def test_i8_closing_an_unchanged_file_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with MehFile.open(path) as file:
        file.append([Write(NOTE, 1, b"one")])
    before, modified = path.read_bytes(), path.stat().st_mtime_ns
    with MehFile.open(path) as file:
        assert file.locate(1) is not None
        file.checkpoint({}, meta={})
        covers = file.covers
    with MehFile.open(path) as file:
        assert file.covers == covers == 1
        after, later = path.read_bytes(), path.stat().st_mtime_ns
        file.checkpoint({}, meta={})
        assert list(file.ids(NOTE)) == [1]
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (after, later)
    assert (before, modified) != (after, later)
    assert len(after) % 8 == 0


def test_i9_sections_lie_at_multiples_of_64_and_frames_at_multiples_of_8() -> None:
    disk = SimulatedDisk()
    with open_file(disk) as file:
        offsets = []
        for number in range(1, 30):
            file.append([Write(NOTE, number, text(number, number))])
            sections: dict[str, SectionData] = {
                "a": ("B", bytes(number)),
                "b": ("d", array("d", [0.5] * number)),
            }
            file.checkpoint(sections, meta={})
            offsets += [section.offset for segment in file.segments() for section in segment.info.sections]
        assert offsets
        assert all(offset % layout.SECTION_ALIGNMENT == 0 for offset in offsets)
        state = load(disk.open(PATH))
        rows = list(state.records.rows())
        assert len(rows) == 29
        assert all(offset % layout.ALIGNMENT == 0 for _, _, offset in rows)
