"""Several handles on one file: turns to write, catching up, moving over, and never writing over what others wrote."""

from __future__ import annotations

import os
import random
import shutil
import threading
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from memhop.common.errors import BadFormat, InvalidRequest, Locked, StorageError, WriteRefused
from memhop.core.disk import DiskFile
from memhop.core.format import COMMIT_FRAME_SIZE
from memhop.core.log_state import load_calmly
from memhop.core.meh_file import MehFile, Write
from memhop.core.turns import MODES, SHARED_WAIT_S
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, PATH, clock, records_of, text


def shared(path: Path, **options: object) -> MehFile:
    return MehFile.open(path, mode="shared", **options)  # type: ignore[arg-type]


def note(number: int, length: int = 40) -> Write:
    return Write(NOTE, number, text(number, length))


def test_two_shared_handles_see_and_extend_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with shared(path) as one, shared(path) as two:
        one.append([note(1)])
        assert two.locate(1) is None, "not before it looks"
        assert two.catch_up()
        assert not two.catch_up()
        assert records_of(two) == {1: (NOTE, text(1, 40))}
        assert two.append([note(2)]).number == 2
        assert one.append([note(3)]).number == 3, "a turn begins with what the others wrote"
        assert two.catch_up()
        assert records_of(one) == records_of(two)
        assert one.head_digest == two.head_digest
    with MehFile.open(path) as file:
        assert file.recovery.clean
        assert sorted(records_of(file)) == [1, 2, 3]
        assert file.verify(deep=True).ok


def test_a_reader_follows_through_checkpoints_and_compactions(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with shared(path) as writer, MehFile.open(path, mode="read") as reader, shared(path) as other:
        for number in range(1, 40):
            writer.append([note(number % 7 + 1, number)])
            if number % 5 == 0:
                writer.plan_checkpoint()
                writer.checkpoint({"n": ("I", array("I", [number]))}, meta={"n": number})
            if number % 11 == 0:
                writer.compact(dict, meta={}, keep_history=number % 2 == 0)
            if number % 3 == 0:
                epoch = reader.epoch
                before = reader.tail_length
                assert reader.catch_up()
                assert records_of(reader) == records_of(writer)
                assert reader.head_digest == writer.head_digest
                assert reader.epoch > epoch or reader.tail_length > before
            if number % 4 == 0:
                other.append([note(100 + number)])
                assert records_of(other).keys() >= {100 + number}
        other.catch_up(), reader.catch_up(), writer.catch_up()
        assert records_of(other) == records_of(writer) == records_of(reader)
        assert other.generation == writer.generation == reader.generation == 4
        assert other.verify(deep=True).ok


def test_an_open_read_is_not_hurt_by_a_compaction_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with shared(path) as writer:
        writer.append([note(1, 9000)])
        with MehFile.open(path, mode="read") as reader:
            row = reader.locate(1)
            assert row is not None
            view = reader.buffer(*reader.payload_at(row[1]))
            writer.append([note(2)])
            writer.compact(dict, meta={})
            assert bytes(view) == text(1, 9000)
            assert reader.fetch(1) == (NOTE, row[1], text(1, 9000))
            assert reader.catch_up()
            assert reader.locate(2) is not None


def test_reading_changes_nothing_and_writing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with pytest.raises(StorageError, match="there is no file"):
        MehFile.open(path, mode="read")
    with MehFile.open(path) as file:
        file.append([note(1)])
        os.unlink(tmp_path / "a.meh.lock")  # held all the same: the lock belongs to the open file
        (tmp_path / "a.meh.compact").write_bytes(b"of somebody at work")
        before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
        with MehFile.open(path, mode="read") as reader:
            assert reader.refused
            assert records_of(reader) == records_of(file)
            for write in (
                lambda: reader.append([note(2)]),
                lambda: reader.checkpoint({}, meta={"x": 1}),
                lambda: reader.compact(dict, meta={}),
            ):
                with pytest.raises(WriteRefused, match="read"):
                    write()
        assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


def test_an_exclusive_holder_keeps_writers_out_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with MehFile.open(path, purpose="the owner") as owner:
        owner.append([note(1)])
        with shared(path, wait=0.0) as guest:
            with pytest.raises(Locked, match=f"process {os.getpid()}.*the owner") as caught:
                guest.append([note(2)])
            assert caught.value.pid == os.getpid()
            assert records_of(guest) == {1: (NOTE, text(1, 40))}, "reading needs no lock"
            owner.append([note(3)])
            assert guest.catch_up()
            owner.close()
            assert guest.append([note(2)]).number == 3
    with pytest.raises(InvalidRequest, match="does not do"):
        MehFile.open(path, mode="write")
    assert MODES == ("exclusive", "shared", "read")
    assert SHARED_WAIT_S == 10


def test_a_shared_handle_holds_the_lock_during_its_turns_only(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with shared(path, wait=0.0) as one, shared(path, wait=0.0) as two:
        with one.writing() as begins:
            assert begins
            with one.writing() as again:
                assert not again
            one.append([note(1)])
            with pytest.raises(Locked):
                two.append([note(2)])
            with pytest.raises(Locked), two.writing(wait=0.05):
                pass
        two.append([note(2)])
        with MehFile.open(path) as file:
            assert file.commit_number == 2


def test_a_failing_turn_gives_the_lock_back(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with shared(path, wait=0.0) as one, shared(path, wait=0.0) as two:
        with suppress(ZeroDivisionError), one.writing():
            one.append([note(1)])
            raise ZeroDivisionError
        assert two.append([note(2)]).number == 2
        with pytest.raises(InvalidRequest):
            one.append([])
        assert two.append([note(3)]).number == 3


def test_what_a_killed_writer_left_is_saved_and_cut_by_the_next_turn(tmp_path: Path) -> None:
    """Whatever part of a batch it had written, and also where another handle has been open all the time."""
    path = tmp_path / "a.meh"
    with shared(path) as file:
        file.append([note(1)])
        end = file.published_end
        start = path.read_bytes()[:end]
        file.append([note(2, 3000)])
        batch = path.read_bytes()[end : file.published_end]
    for cut in (1, 23, 24, 200, len(batch) - 129, len(batch) - 1):
        for early in (True, False):
            path.write_bytes(start) if early else path.write_bytes(start + batch[:cut])
            with shared(path) as one, MehFile.open(path, mode="read") as reader:
                if early:
                    one.append([note(9)])  # it has had a turn before the other writer died
                    with open(path, "r+b") as raw:
                        raw.seek(one.published_end)
                        raw.write(batch[:cut])
                expected = records_of(one)
                assert not reader.catch_up() if not early else reader.catch_up()
                assert records_of(reader) == expected, "a reader ignores it"
                one.append([note(3)])
                assert records_of(one) == {**expected, 3: (NOTE, text(3, 40))}
                assert one.recovery.cut_bytes > 0
                assert one.recovery.torn_file is not None
                assert one.recovery.torn_file.read_bytes().startswith(b"\xf5meh"[:cut])
                reader.catch_up()
                assert records_of(reader) == records_of(one)
            with MehFile.open(path) as file:
                assert file.recovery.clean
                assert file.verify(deep=True).ok


def test_a_lost_checkpoint_does_not_make_a_reader_start_again_at_each_look(tmp_path: Path) -> None:
    """Its header names a manifest that cannot be used; something stands behind the last commit. That is no news."""
    path = tmp_path / "a.meh"
    with MehFile.open(path) as file:
        file.append([note(1)])
        file.append([note(2)])
        file.plan_checkpoint()
        file.checkpoint({}, meta={})
        file.append([note(3)])
    data = path.read_bytes()
    path.write_bytes(data.replace(b'{"commit"', b'{"comnit"')[: len(data) - 40])
    with MehFile.open(path, mode="read") as reader:
        assert reader.recovery.checkpoint_lost
        epoch, seen = reader.epoch, records_of(reader)
        for _ in range(3):
            assert not reader.catch_up()
        assert (reader.epoch, records_of(reader)) == (epoch, seen)


def test_a_commit_that_was_taken_back_is_taken_back_by_readers_too() -> None:
    """A reader saw a commit before its fsync failed. What comes after must not be glued to the ghost."""
    disk = SimulatedDisk()
    with MehFile.open(PATH, disk=disk, mode="shared", now_ms=clock()) as one:
        one.append([note(1)])
        reader = MehFile.open(PATH, disk=disk, mode="read")
        two = MehFile.open(PATH, disk=disk, mode="shared", now_ms=clock())
        with one.writing():
            commit = one.append([note(2)], wait=False)
            assert reader.catch_up()
            assert sorted(records_of(reader)) == [1, 2]
            disk.fault, disk.fault_at = "eio", len(disk.calls)
            with pytest.raises(StorageError, match="cannot sync"):
                one.sync(commit.number)
        disk.fault = None
        assert sorted(records_of(one)) == [1]
        with pytest.raises(WriteRefused):
            one.append([note(2)])
        assert two.append([note(3)]).number == 2
        assert reader.catch_up()
        assert records_of(reader) == records_of(two) == {n: (NOTE, text(n, 40)) for n in (1, 3)}
        assert reader.head_digest == two.head_digest


class WatchedDisk(SimulatedDisk):
    """Calls `before_read` at every read of a file that was opened since it was set."""

    before_read: Callable[[], None] | None = None

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> DiskFile:
        file, act = super().open(path, create=create, write=write), self.before_read
        if act is not None:
            pread = file.pread

            def read(length: int, offset: int) -> bytes:
                act()
                return pread(length, offset)

            file.pread = read  # type: ignore[method-assign]
        return file


@pytest.mark.parametrize("opening", [False, True])
def test_a_commit_that_is_taken_back_while_another_handle_reads_it(opening: bool) -> None:
    """It had replayed the commit, and looked for its mark when it was gone: it took nothing for the mark of a commit
    that was not there, saw no change afterwards, and appended behind a hole. At each read of a look or an opening."""
    reads = 0
    while taken_back_at_read(reads, opening=opening):
        reads += 1
    assert reads > 5


def taken_back_at_read(number: int, *, opening: bool) -> bool:
    """Take a commit back just before that read of another handle. False: it made fewer reads."""
    disk, reads, armed = WatchedDisk(), 0, opening
    with MehFile.open(PATH, disk=disk, mode="shared", now_ms=clock()) as one:
        one.append([note(1)])

        def before_read() -> None:
            nonlocal reads
            reads += armed
            if armed and reads == number + 1:
                disk.fault, disk.fault_at = "eio", len(disk.calls)
                with pytest.raises(StorageError, match="cannot sync"):
                    one.sync(2)
                disk.fault = None

        disk.before_read = before_read
        late = None if opening else MehFile.open(PATH, disk=disk, mode="shared", now_ms=clock())
        with one.writing():
            assert one.append([note(2)], wait=False).number == 2
            armed = True
            if late is None:
                late = MehFile.open(PATH, disk=disk, mode="shared", now_ms=clock())
            else:
                late.catch_up()
            armed = False
            if reads <= number:
                return False
    assert late.append([note(3)]).number == 2
    assert sorted(records_of(late)) == [1, 3]
    assert late.verify(deep=True).ok
    return True


def test_a_late_fsync_failure_cuts_nothing_that_others_built_on() -> None:
    """With durability "relaxed" the turn is over when the fsync fails: others may have appended."""
    disk = SimulatedDisk()
    one = MehFile.open(PATH, disk=disk, mode="shared", durability="none", now_ms=clock())
    two = MehFile.open(PATH, disk=disk, mode="shared", durability="none", now_ms=clock())
    one.append([note(1)])
    two.append([note(2)])
    disk.fault, disk.fault_at = "eio", len(disk.calls)
    with pytest.raises(StorageError, match="cannot sync"):
        one.flush()
    disk.fault = None
    with pytest.raises(WriteRefused):
        one.append([note(3)])
    assert two.append([note(4)]).number == 3
    reader = MehFile.open(PATH, disk=disk, mode="read")
    assert sorted(records_of(reader)) == [1, 2, 4]


@pytest.mark.parametrize("mode", MODES)
def test_a_file_deleted_or_replaced_under_a_handle(tmp_path: Path, mode: str) -> None:
    """What goes into a file without a name is gone at close, so it is refused. Reading goes on."""
    path, other = tmp_path / "a.meh", tmp_path / "b.meh"
    with MehFile.open(other) as file:
        file.append([note(7)])
    with MehFile.open(path) as file:
        file.append([note(1)])
    saved = path.read_bytes()
    file = MehFile.open(path, mode=mode)
    os.unlink(path)
    file.catch_up()
    assert sorted(records_of(file)) == [1]
    if mode != "read":
        with pytest.raises(StorageError, match="deleted or replaced"):
            file.append([note(2)])
    assert not path.exists(), "nothing is made in its place"
    shutil.copy(other, path)
    if mode == "exclusive":
        assert not file.catch_up()
        with pytest.raises(StorageError, match="deleted or replaced"):
            file.append([note(2)])
    else:
        with pytest.raises(StorageError, match="another memory"):
            file.catch_up()
    if mode == "shared":
        with pytest.raises(StorageError, match="another memory"):
            file.append([note(2)])
    assert sorted(records_of(file)) == [1]
    path.unlink()
    path.write_bytes(b"milk, bread\n" * 900)
    if mode != "exclusive":
        with pytest.raises(BadFormat):
            file.catch_up()
    path.unlink()
    path.write_bytes(saved)  # a backup of the same memory was put there: go on with it
    if mode == "exclusive":
        with pytest.raises(StorageError, match="deleted or replaced"):
            file.append([note(2)])
    else:
        assert file.catch_up()
        assert sorted(records_of(file)) == [1]
    if mode == "shared":
        assert file.append([note(2)]).number == 2
    file.close()


def test_an_older_copy_put_in_place_is_taken_for_what_it_is(tmp_path: Path) -> None:
    """Restored: commit numbers go back, and the next commits must be synced although higher ones were before."""
    path = tmp_path / "a.meh"
    with shared(path) as file, MehFile.open(path, mode="read") as reader:
        file.append([note(1)])
        file.flush()
        old = path.read_bytes()
        for number in range(2, 9):
            file.append([note(number)])
        reader.catch_up()
        path.unlink()
        path.write_bytes(old)
        assert file.append([note(50)]).number == 2
        assert reader.catch_up()
        assert sorted(records_of(reader)) == sorted(records_of(file)) == [1, 50]


def test_the_lock_survives_its_side_file(tmp_path: Path) -> None:
    """Removed while nobody held it, or while somebody did: handles still exclude each other afterwards."""
    path, side = tmp_path / "a.meh", tmp_path / "a.meh.lock"
    with shared(path, wait=0.0) as one, shared(path, wait=0.0) as two:
        one.append([note(1)])
        side.unlink()
        two.append([note(2)])
        with one.writing(), pytest.raises(Locked):
            two.append([note(3)])


def test_max_bytes_refuses_growth_and_lets_erase(tmp_path: Path) -> None:
    from memhop.core.meh_file import DELETED

    path = tmp_path / "a.meh"
    with MehFile.open(path, max_bytes=100_000) as file:
        for number in range(1, 17):
            file.append([note(number, 5000)])
        with pytest.raises(StorageError, match="would grow") as caught:
            file.append([note(17, 20_000)])
        assert "max_bytes=100,000" in str(caught.value.hint)
        assert len(records_of(file)) == 16
        file.append([Write(NOTE, number, b"", DELETED) for number in range(1, 5)])
        file.compact(dict, meta={})
        file.append([note(1, 4000)])
        assert file.published_end <= 100_000


@pytest.mark.parametrize("seed", range(3))
def test_many_threads_of_many_handles(tmp_path: Path, seed: int) -> None:
    """Three handles with two threads each, a reader, a compactor: all that was acknowledged is there, once."""
    path = tmp_path / "a.meh"
    MehFile.open(path).close()
    acknowledged: list[int] = []
    failures: list[BaseException] = []
    handles = [shared(path, durability="none", wait=60.0) for _ in range(3)]
    reader = MehFile.open(path, mode="read")
    done = threading.Event()

    def write(handle: MehFile, first: int) -> None:
        rng = random.Random(seed * 1000 + first)
        for number in range(first, first + 40):
            handle.append([note(number, rng.randrange(1, 300))])
            acknowledged.append(number)
            if rng.random() < 0.1:
                with handle.writing():
                    handle.plan_checkpoint()
                    handle.checkpoint({}, meta={"by": first})
            if rng.random() < 0.05:
                handle.compact(dict, meta={}, keep_history=rng.random() < 0.5)

    def read() -> None:
        seen = 0
        while not done.is_set():
            promised = list(acknowledged)
            reader.catch_up()
            there = set(reader.ids(NOTE))
            assert there >= set(promised)
            assert len(there) >= seen
            seen = len(there)

    def guarded(act: object, *arguments: object) -> None:
        try:
            act(*arguments)  # type: ignore[operator]
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=guarded, args=(write, handle, 1 + 1000 * number + 100 * half))
        for number, handle in enumerate(handles)
        for half in range(2)
    ]
    looking = threading.Thread(target=guarded, args=(read,))
    for thread in (*threads, looking):
        thread.start()
    for thread in threads:
        thread.join(120)
    done.set()
    looking.join(120)
    assert failures == [], f"seed {seed}"
    for handle in (*handles, reader):
        handle.close()
    with MehFile.open(path) as file:
        assert sorted(records_of(file)) == sorted(acknowledged)
        assert len(acknowledged) == 240
        assert file.verify(deep=True).ok


def test_a_damaged_file_that_others_write_to_can_be_opened(tmp_path: Path) -> None:
    """Two looks never saw the same head, so they never agreed about the damage, and the reader looked for ever. Neither
    did a head whose own commit frame was rotten ever look as it should."""
    path = tmp_path / "a.meh"
    with MehFile.open(path) as file:
        ends = [file.append([note(number)]).end for number in range(1, 6)]
    whole = path.read_bytes()
    for rotten in (ends[1] - COMMIT_FRAME_SIZE - 30, ends[4] - 30):  # in a record, in the digest of the head
        path.write_bytes(whole[:rotten] + b"rots" + whole[rotten + 4 :])
        with shared(path, durability="none") as writer, MehFile.open(path, mode="read") as reader:
            assert reader.recovery.damaged
            looks = 0

            def write_meanwhile(writer: MehFile = writer) -> None:
                nonlocal looks
                looks += 1
                assert looks < 50, "it would look for ever"
                writer.append([note(100 + looks)])

            state = reader._writer.state
            pread = state.file.pread

            def read(length: int, offset: int, pread: Callable[[int, int], bytes] = pread) -> bytes:
                if offset == 0:
                    write_meanwhile()
                return pread(length, offset)

            state.file.pread = read  # type: ignore[method-assign]
            assert load_calmly(state.file).replay.damage
            assert looks < 5
