"""A restore leaves the file alone until the new one verifies, and keeps what it replaces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memhop.common.errors import BadFormat, Corrupt, InvalidRequest, Locked, StorageError
from memhop.core.backup import backup, verify_file
from memhop.core.disk import FileDisk
from memhop.core.meh_file import MehFile, Write
from memhop.core.restore import RestoreReport, restore
from memhop.core.side_files import beside
from tests.core.test_backup import COPY, copy, fill, names
from tests.support.simulated_disk import Fault, PowerCut, SimulatedDisk, Survival
from tests.support.workload import NOTE, PATH, clock, open_file, records_of, text

SURVIVALS: list[tuple[Survival, int]] = [
    ("everything", 0),
    ("nothing", 0),
    ("renamed", 0),
    *(("sectors", seed) for seed in range(6)),
    *(("unnamed", seed) for seed in range(3)),
]


def now_ms() -> int:
    return 1_780_000_000_123


KEPT = ".replaced-20260528T202640123Z"


def two_states(folder: Path) -> tuple[Path, Path]:
    """A file, and a copy from before its newest commit."""
    path, earlier = folder / "a.meh", folder / "b.meh"
    with MehFile.open(path) as file:
        fill(file)
        copy(file, earlier)
        file.append([Write(NOTE, 5, b"newer")])
    return path, earlier


def test_the_copy_takes_the_place_and_the_file_is_kept(tmp_path: Path) -> None:
    path, earlier = two_states(tmp_path)
    live, copied = path.read_bytes(), earlier.read_bytes()
    report = restore(earlier, path, now_ms=now_ms)
    assert (report.path, report.commit, report.replaced) == (path, 3, beside(path, KEPT))
    assert path.read_bytes() == copied == earlier.read_bytes()
    assert beside(path, KEPT).read_bytes() == live
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_nlink == 1
    with MehFile.open(path) as file:
        assert file.recovery.clean
        assert 5 not in records_of(file)
        file.append([Write(NOTE, 6, b"on")])
    back = restore(beside(path, KEPT), path, now_ms=now_ms)  # and back again: what a restore replaced is a copy too
    assert back.replaced == beside(path, KEPT + "-1")
    with MehFile.open(path) as file:
        assert records_of(file)[5] == (NOTE, b"newer")
    assert names(tmp_path) == ["a.meh", "a.meh.lock", f"a.meh{KEPT}", f"a.meh{KEPT}-1", "b.meh"]


def test_without_a_file_it_is_created(tmp_path: Path) -> None:
    _, earlier = two_states(tmp_path)
    assert restore(earlier, tmp_path / "new.meh").replaced is None
    assert (tmp_path / "new.meh").read_bytes() == earlier.read_bytes()
    with pytest.raises(StorageError, match="create the directory"):
        restore(earlier, tmp_path / "no" / "new.meh")


def test_a_holder_is_named_and_waited_for(tmp_path: Path) -> None:
    path, earlier = two_states(tmp_path)
    with MehFile.open(path, purpose="the agent"):
        with pytest.raises(Locked) as caught:
            restore(earlier, path, wait=0.02)
        assert caught.value.purpose == "the agent"
        assert caught.value.pid == os.getpid()
    assert restore(earlier, path, wait=30).commit == 3


class NoLinks(FileDisk):
    """A file system such as FAT, where a file has one name."""

    def link(self, old: Path, new: Path) -> bool:
        return False


def test_where_there_are_no_links_the_file_is_kept_as_a_copy(tmp_path: Path) -> None:
    path, earlier = two_states(tmp_path)
    live = path.read_bytes()
    report = restore(earlier, path, disk=NoLinks())
    assert report.replaced is not None
    assert report.replaced.read_bytes() == live
    assert path.read_bytes() == earlier.read_bytes()


def test_another_memory_is_replaced_only_when_told_to(tmp_path: Path) -> None:
    path, earlier = two_states(tmp_path)
    other, junk = tmp_path / "other.meh", tmp_path / "junk.meh"
    MehFile.open(other).close()
    junk.write_bytes(b"x" * 9000)
    for target in (other, junk):
        before = target.read_bytes()
        with pytest.raises(InvalidRequest, match="another=True"):
            restore(earlier, target)
        assert target.read_bytes() == before
        report = restore(earlier, target, another=True)
        assert report.replaced is not None
        assert report.replaced.read_bytes() == before
        assert target.read_bytes() == earlier.read_bytes()
    assert path.exists()


@pytest.mark.parametrize("step", [997])
def test_a_copy_cut_anywhere_is_refused(tmp_path: Path, step: int) -> None:
    path, earlier = two_states(tmp_path)
    live, whole = path.read_bytes(), earlier.read_bytes()
    before = names(tmp_path)
    cuts = [*range(0, len(whole), step), len(whole) - 8, len(whole) - 1]
    for cut in cuts:
        earlier.write_bytes(whole[:cut])
        with pytest.raises((Corrupt, BadFormat)):
            restore(earlier, path)
        assert path.read_bytes() == live
        assert names(tmp_path) == before, cut
    assert len(cuts) > 10


def test_a_copy_with_a_flipped_bit_is_refused(tmp_path: Path) -> None:
    path, earlier = two_states(tmp_path)
    live, whole = path.read_bytes(), earlier.read_bytes()
    for at in (*range(8200, len(whole), 211), 40):
        flipped = bytearray(whole)
        flipped[at] ^= 4
        earlier.write_bytes(flipped)
        with pytest.raises((Corrupt, BadFormat)):
            restore(earlier, path)
        assert path.read_bytes() == live


def test_the_leftover_of_a_killed_restore_goes(tmp_path: Path) -> None:
    path, earlier = two_states(tmp_path)
    leftover = beside(path, ".restore")
    leftover.write_bytes(b"half")
    with pytest.raises(InvalidRequest):
        restore(leftover, path)
    restore(earlier, path)
    assert not leftover.exists()
    leftover.write_bytes(b"half")
    with MehFile.open(path) as file:
        assert file.recovery.removed == (leftover,)
    assert not leftover.exists()


# -- every place where a machine can die ---------------------------------------------------------------------


class LinklessDisk(SimulatedDisk):
    def link(self, old: Path, new: Path) -> bool:
        return False


def prepared() -> SimulatedDisk:
    """A disk at rest with a file, and an earlier copy of it."""
    disk = SimulatedDisk()
    with open_file(disk) as file:
        fill(file)
        copy(file, COPY)
        file.append([Write(NOTE, 5, text(5, 3000))])
    return disk.after_crash("nothing")


def fresh(base: SimulatedDisk, *, links: bool, target: bool) -> SimulatedDisk:
    disk = base.after_crash("nothing")
    if not links:
        disk.__class__ = LinklessDisk
    if not target:
        disk.remove(PATH)
        disk.sync_directory(PATH.parent)
    disk.calls.clear()
    return disk


def attempt(disk: SimulatedDisk, fault: Fault | None = None, at: int = -1) -> RestoreReport:
    disk.fault, disk.fault_at = fault, at
    try:
        return restore(COPY, PATH, disk=disk, now_ms=clock())
    finally:
        disk.fault = None


@pytest.mark.parametrize(("links", "target"), [(True, True), (False, True), (True, False)], ids=["link", "copy", "new"])
def test_a_fault_at_every_boundary_of_a_restore(monkeypatch: pytest.MonkeyPatch, links: bool, target: bool) -> None:
    """The file is the old one or the new one, whole, and the old one is never lost; an error leaves the old one."""
    monkeypatch.setattr("memhop.core.backup._CHUNK", 4096)
    monkeypatch.setattr("memhop.core.restore._CHUNK", 4096)
    base = prepared()
    old = base.bytes_of(PATH)
    disk = fresh(base, links=links, target=target)
    attempt(disk)
    total = len(disk.calls)
    new = disk.bytes_of(PATH)
    pairs = 0

    def check(disk: SimulatedDisk, where: str) -> None:
        assert disk.bytes_of(COPY) == base.bytes_of(COPY), where
        if PATH not in disk.names:
            assert not target, where
        else:
            assert disk.bytes_of(PATH) in ((old, new) if target else (new,)), where
            if target and disk.bytes_of(PATH) == new:
                kept = [path for path in disk.names if ".replaced-" in path.name]
                assert [disk.bytes_of(path) for path in kept] == [old], where
        attempt(disk)
        assert disk.bytes_of(PATH) == new, where
        with open_file(disk) as file:
            assert file.verify(deep=True).ok, where
            assert not file.recovery.removed, where

    for at in range(total):
        for fault in ("stop", "torn"):
            disk = fresh(base, links=links, target=target)
            with pytest.raises(PowerCut):
                attempt(disk, fault, at)
            for survival, seed in SURVIVALS:
                check(disk.after_crash(survival, seed), f"{fault} at {at} ({disk.calls[-1]}), {survival} {seed}")
                pairs += 1
        for error in ("eio", "enospc"):
            disk = fresh(base, links=links, target=target)
            where = f"{error} at {at} ({disk.calls[at:]})"
            before = set(disk.names)
            with pytest.raises(StorageError):
                attempt(disk, error, at)
            assert set(disk.names) == before, where
            assert PATH not in before or disk.bytes_of(PATH) == old, where
            check(disk, where)
            pairs += 1
    print(f"\n{total} boundaries of a restore, {pairs} pairs")
    assert total >= 7
    assert pairs == total * (2 * len(SURVIVALS) + 2)
    assert verify_file(PATH, disk=disk).ok


def test_a_copy_that_is_opened_twice_is_refused_as_its_own_target(tmp_path: Path) -> None:
    path, earlier = two_states(tmp_path)
    os.link(path, tmp_path / "same.meh")
    for source in (path, tmp_path / "same.meh"):
        with pytest.raises(InvalidRequest, match="to be replaced"):
            restore(source, path)
    with MehFile.open(path) as file, file.original() as original:
        backup(original, earlier, overwrite=True)
    with pytest.raises(InvalidRequest, match="regular"):
        restore(earlier, tmp_path)
