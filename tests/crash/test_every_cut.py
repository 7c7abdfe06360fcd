"""Cut a file at every byte, flip every byte: what opens shows nothing that was never written, and says what is wrong.

Two images of the same small life (checkpoint, then a tail): one closed cleanly, whose header proves every commit,
and one as a power cut leaves it, whose last commit nobody can vouch for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import pytest

from memhop.common.errors import Corrupt, MemhopError
from memhop.core.format import LOG_START
from memhop.core.header import FIRST_BATCH
from memhop.core.meh_file import DELETED, MehFile, Write
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, PATH, TURN, History, Records, open_file, records_of, text

BATCHES = [
    [Write(NOTE, 1, text(1, 30)), Write(TURN, 2, text(2, 60))],
    [Write(NOTE, 3, text(3, 10)), Write(NOTE, 4, text(4, 10))],
    [Write(NOTE, 1, text(11, 25)), Write(NOTE, 4, b"", DELETED)],
    [Write(NOTE, 3, text(13, 44)), Write(NOTE, 5, text(5, 9))],
    [Write(NOTE, 6, text(6, 70)), Write(NOTE, 1, text(21, 5)), Write(TURN, 2, b"", DELETED)],
]
CHECKPOINT_AFTER = 3


def life(*, closed: bool) -> tuple[bytes, History]:
    disk, history = SimulatedDisk(), History()
    file = open_file(disk)
    for number, writes in enumerate(BATCHES, 1):
        history.tried(writes)
        file.append(writes)
        if number == CHECKPOINT_AFTER:
            file.checkpoint({"numbers": ("I", array("I", range(9)))}, meta={"k": "v"})
    end = file.published_end
    if closed:
        file.close()
    return disk.bytes_of(PATH)[:end], history


@pytest.fixture(scope="module", params=[True, False], ids=["closed", "power cut"])
def image(request: pytest.FixtureRequest) -> tuple[bytes, History, bool]:
    content, history = life(closed=request.param)
    return content, history, request.param


def interesting(content: bytes) -> Iterator[int]:
    """Every byte of the log; of the two headers' zeros, only some."""
    yield from range(220)
    yield from range(220, 4085, 97)
    yield from range(4085, 4096 + 220)
    yield from range(4096 + 220, 8180, 97)
    yield from range(8180, len(content))


def readable(file: MehFile) -> tuple[Records, set[int]]:
    """What can be read, and the live ids that answer Corrupt."""
    found: Records = {}
    corrupt = set()
    for kind in (NOTE, TURN):
        for id_ in file.ids(kind):
            row = file.locate(id_)
            assert row is not None
            try:
                found[id_] = (kind, file.read(row[1])[2])
            except Corrupt:
                corrupt.add(id_)
    return found, corrupt


def test_every_cut_shows_a_committed_prefix(image: tuple[bytes, History, bool]) -> None:
    content, history, closed = image
    refused = 0
    for cut in interesting(content):
        disk = SimulatedDisk.holding(PATH, content[:cut])
        try:
            file = open_file(disk)
        except MemhopError:
            refused += 1
            assert cut < FIRST_BATCH, f"cut at {cut}"
            continue
        with file:
            assert records_of(file) == history.states[file.commit_number], f"cut at {cut}"
            if closed:
                assert file.recovery.shortened, f"cut at {cut}: header proves {len(BATCHES)} commits"
            expected = ("header", "genesis", "the file is shorter", "the manifest")
            assert all(p.what.startswith(expected) for p in file.verify(deep=True).problems), f"cut at {cut}"
            file.append([Write(NOTE, 50, b"on we go")])
        with open_file(disk) as file:
            assert not file.recovery.shortened
            assert file.locate(50) is not None
            assert {p.what for p in file.verify(deep=True).problems} <= {"header", "genesis frame"}, f"cut at {cut}"
    assert refused > 0


def test_every_flipped_byte_is_detected_and_never_served(image: tuple[bytes, History, bool]) -> None:
    content, history, closed = image
    newest = history.states[-1]
    for at in interesting(content):
        flipped = bytearray(content)
        flipped[at] ^= 1 << at % 8 if closed else 0xFF
        disk = SimulatedDisk.holding(PATH, bytes(flipped))
        file = open_file(disk)
        found, corrupt = readable(file)
        where = f"byte {at}, commit {file.commit_number}"
        if file.commit_number < len(BATCHES):
            assert not closed, f"{where}: a proven commit is gone"
            assert file.commit_number == len(BATCHES) - 1, where
            assert file.recovery.cut_bytes, where
            assert file.recovery.torn_file, where
            assert found == history.states[-2], where
            assert len([name for name in disk.names if ".torn-" in name.name]) == 1, where
            continue
        report = file.verify(deep=True)
        assert not report.ok, f"{where}: not detected"
        assert any(p.offset <= at < p.offset + 4096 for p in report.problems), f"{where}: {report.problems}"
        assert not file.recovery.cut_bytes, where
        assert found.keys() | corrupt == newest.keys(), where
        assert len(corrupt) <= 1, where
        assert all(newest[id_] == row for id_, row in found.items()), f"{where}: wrong data"
        if at < LOG_START:
            assert not corrupt, where


def test_a_flipped_section_is_named_and_the_index_rebuilt() -> None:
    content, history = life(closed=True)
    with open_file(SimulatedDisk.holding(PATH, content)) as file:
        sections = {s.name: s for s in file.segments()[0].info.sections}
    for name in ("core.ids", "core.offsets", "core.kinds", "numbers"):
        flipped = bytearray(content)
        flipped[sections[name].offset] ^= 0x40
        disk = SimulatedDisk.holding(PATH, bytes(flipped))
        with open_file(disk) as file:
            assert records_of(file) == history.states[-1], name
            assert [p.what for p in file.verify().problems] == [f"section {name}"]
            with pytest.raises(Corrupt):
                file.segments()[0].view(name)
            assert file.plan_checkpoint(everything=True) == file.segments()
            file.checkpoint({"numbers": ("I", array("I", [1]))}, meta={})
            assert file.verify(deep=False).ok, name
        with open_file(disk) as file:
            assert records_of(file) == history.states[-1], name
            assert list(file.segments()[0].view("numbers")) == [1]
