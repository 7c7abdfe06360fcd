"""What users of such stores report about files and processes, as tests.

Servers and hooks stand for what they are here: processes that have the file open in mode "shared" for as long as they
live, or for one call; parallel calls of one server are threads of one handle.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import threading
import time
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB, BadFormat, Corrupt, HashEmbedder, Locked, StorageError
from memhop.common.clock import ManualClock
from memhop.core.format import HEADER_CRC_OFFSET, HEADER_OFFSETS, HEADER_SIZE, VERSION
from memhop.core.meh_file import MehFile
from tests.support.make_fixture import FIXTURES
from tests.support.memories import NOW, every
from tests.support.processes import HANG_S, Starter
from tests.support.seeds import NIGHTLY, seeds
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_disk import fill, refused, run_on_small_disk, whole
from tests.support.workload import PATH

ROWS = {1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30}
SHORT_S = 20.0 if NIGHTLY else 3.0  # how long processes work side by side


def texts(db: DB) -> list[str]:
    return sorted(note.text for note in every(db.notes.list))


def sound(path: Path) -> list[str]:
    """The texts of a memory that nobody holds, with nothing to mend."""
    with DB.open(path, wait=0.0) as db:
        assert db.recovery.clean
        assert db.verify(deep=True).ok
        return texts(db)


def test_row_1_two_hundred_puts_of_random_length_reopened_every_ten(tmp_path: Path) -> None:
    """The sixteenth ordinary put of another store failed with a checksum mismatch, at one unlucky position in its log.

    Here each put is a commit of its own, and the file is read and verified wherever the log happens to end."""
    path = tmp_path / "a.meh"
    for seed in seeds(1, nightly=20):
        rng = random.Random(seed)
        path.unlink(missing_ok=True)
        put: list[str] = []
        for _ in range(20):
            with DB.open(path) as db:
                assert db.recovery.clean, f"seed {seed}"
                assert texts(db) == sorted(put)
                for _ in range(10):
                    put.append(f"{len(put)} " + "".join(rng.choices("abc dé機", k=rng.randrange(100, 3000))))
                    db.remember(put[-1])
                    assert db.verify().ok, f"seed {seed}, put {len(put)}"
        assert sound(path) == sorted(put)


def remember_for_ever(link: Connection, path: Path, mode: str, name: str, threads: int = 1) -> None:
    """Sends each text once it was acknowledged."""
    sending = threading.Lock()
    with DB.open(path, mode=mode, wait=HANG_S) as db:

        def work(which: int) -> None:
            number = 0
            while True:
                text = f"{name} {which} wrote {number} {'x' * (number * 37 % 500)}"
                db.remember(text)
                with sending:
                    link.send(text)
                number += 1

        others = [threading.Thread(target=work, args=(which,), daemon=True) for which in range(1, threads)]
        for thread in others:
            thread.start()
        work(0)


def test_row_2_a_file_always_opens_after_a_kill_during_commit(tmp_path: Path, start: Starter) -> None:
    """After an interrupted run people had to delete a log by hand before their store would open again."""
    path = tmp_path / "a.meh"
    rng = random.Random(2)
    acknowledged: list[str] = []
    for turn in range(300 if NIGHTLY else 12):
        writer = start(remember_for_ever, path, "exclusive", f"life {turn}")
        acknowledged += [writer.hear() for _ in range(rng.randrange(1, 8))]
        writer.kill()
        acknowledged += writer.rest()
        writer.discard()
        with DB.open(path, wait=0.0) as db:
            there = Counter(texts(db))
            assert not Counter(acknowledged) - there, "acknowledged and gone"
            assert there.total() <= len(acknowledged) + turn + 1, "at most the call that was cut short"
            assert max(there.values()) == 1


def read_only(link: Connection, path: Path) -> None:
    with DB.open(path, mode="read") as db:
        link.send((texts(db), len(db.recall("wrote", limit=1000).hits), db.verify(deep=True).problem_count))


def test_row_5_reading_after_a_killed_writer_replays_nothing_into_the_file(tmp_path: Path, start: Starter) -> None:
    """A plain read-only open crashed the process, because it replayed the log of a dead writer into the store."""
    path = tmp_path / "a.meh"
    writer = start(remember_for_ever, path, "exclusive", "the dead")
    acknowledged = [writer.hear() for _ in range(40)]
    writer.kill()
    acknowledged += writer.rest()
    with open(path, "r+b") as raw, DB.open(path, mode="read") as db:  # and half a batch behind all that
        raw.seek(db._file.published_end)
        raw.write(b"\xf5meh half a batch")
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(tmp_path))
    for _ in range(3):
        ((there, found, problems),) = start(read_only, path).finish()
        assert problems == 0
        assert set(there) >= set(acknowledged)
        assert found == len(there)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(tmp_path))) == before


@pytest.mark.parametrize("name", ["v1.meh", "v1-chained.meh", "v1-full.meh"])
def test_row_8_files_of_each_earlier_version_open_and_a_later_one_is_refused(tmp_path: Path, name: str) -> None:
    """When the engine changed its version, nothing could read the data any more, and the attempt crashed.

    The one version there is has fixtures; each change of the format adds one. More: tests/cli/test_future.py."""
    path = Path(shutil.copyfile(FIXTURES / name, tmp_path / "a.meh"))
    with DB.open(path) as db:
        assert db.recovery.clean
        assert db.verify().ok
        db.remember("written by this version")
    with DB.open(path) as db:
        assert db.recall("written by this version").hits
    later = bytearray(path.read_bytes())
    for start in HEADER_OFFSETS:
        later[start + 8 : start + 10] = (VERSION + 1).to_bytes(2, "little")
        crc = zlib.crc32(later[start : start + HEADER_CRC_OFFSET])
        later[start + HEADER_CRC_OFFSET : start + HEADER_SIZE] = crc.to_bytes(4, "little")
    path.write_bytes(later)
    for mode in ("exclusive", "shared", "read"):
        with pytest.raises(BadFormat, match=f"version {VERSION + 1}") as refused:
            DB.open(path, mode=mode)
        assert "\n" not in str(refused.value)
    assert path.read_bytes() == later, "left as it is"


@pytest.mark.parametrize("mode", ["exclusive", "shared", "read"])
def test_row_11_one_damaged_record_does_not_keep_a_server_from_starting(tmp_path: Path, mode: str) -> None:
    """One malformed line stopped a server at its start. Here it starts, serves the rest, and names the bad one."""
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        notes = [db.remember(f"note {number} on kayaks") for number in range(9)]
    content = bytearray(path.read_bytes())
    content[content.index(b"note 4 on kayaks")] ^= 1
    path.write_bytes(content)
    with DB.open(path, mode=mode) as db:
        assert len(db.recall("kayaks", limit=50).hits) == 8
        assert {note.text for note in every(db.notes.list)} == {f"note {n} on kayaks" for n in range(9) if n != 4}
        with pytest.raises(Corrupt):
            db.notes.get(notes[4].id)
        assert notes[4].id in [problem.id for problem in db.verify().problems]
        if mode != "read":
            db.remember("written after the damage")
            assert db.recall("written after the damage").hits


def serve(link: Connection, path: Path, name: str, pause: float) -> None:
    """Open for life: writes and recalls until told to end. Sends what it was promised."""
    kept: list[str] = []
    with DB.open(path, mode="shared", wait=HANG_S) as db:
        link.send("ready")
        while not link.poll(pause):
            kept.append(db.remember(f"{name} wrote {len(kept)} on kayaks").text)
            assert db.recall("kayaks", limit=3).hits
        link.recv()
    link.send(kept)


def call_again_and_again(link: Connection, path: Path, name: str) -> None:
    """A command or a hook: opens, does one thing, closes."""
    kept: list[str] = []
    link.send("ready")
    while not link.poll(0):
        with DB.open(path, mode="shared", wait=HANG_S) as db:
            kept.append(db.remember(f"{name} wrote {len(kept)} on kayaks").text)
    link.recv()
    link.send(kept)


def side_by_side(start: Starter, seconds: float, *beginnings: tuple[object, ...]) -> list[str]:
    """Let processes work at the same time. Returns what they were promised."""
    running = [start(*beginning) for beginning in beginnings]
    for worker in running:
        assert worker.hear() == "ready"
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not any(worker.has_said() for worker in running):
        time.sleep(0.01)
    for worker in running:
        if not worker.has_said():
            worker.tell("end")
    return sorted(text for worker in running for text in worker.finish()[0])


def test_row_6_a_server_a_command_and_a_hook_write_to_one_file(tmp_path: Path, start: Starter) -> None:
    """Three kinds of processes wrote one store at once: the index broke, and 300 KB of data took 362 GB on the disk."""
    path = tmp_path / "a.meh"
    kept = side_by_side(
        start,
        SHORT_S,
        (serve, path, "the server", 0.0),
        (call_again_and_again, path, "the command"),
        (call_again_and_again, path, "the hook"),
    )
    assert {text.split(" wrote")[0] for text in kept} == {"the server", "the command", "the hook"}
    assert sound(path) == kept
    assert path.stat().st_size < 8 * 1024 * len(kept) + 256 * 1024
    assert sorted(os.listdir(tmp_path)) == ["a.meh", "a.meh.lock"]


def create(link: Connection, path: Path, name: str, count: int) -> None:
    with DB.open(path, mode="shared", wait=HANG_S) as db:
        link.send("ready")
        link.recv()
        for number in range(count):
            db.remember(f"{name} created {number}")


def test_row_9_two_servers_on_one_file_keep_each_others_writes(tmp_path: Path, start: Starter) -> None:
    """Each of two servers rewrote the file from what it had in memory, and the last one won. Forty must survive."""
    path = tmp_path / "a.meh"
    servers = [start(create, path, name, 20) for name in ("one", "two")]
    for server in servers:
        assert server.hear() == "ready"
    for server in servers:
        server.tell("go")
    for server in servers:
        server.finish()
    assert sound(path) == sorted(f"{name} created {number}" for name in ("one", "two") for number in range(20))


def test_row_10_twenty_parallel_calls_are_all_stored_in_a_defined_order(tmp_path: Path) -> None:
    """Several tool calls in one turn of a model corrupted the file, and each later call failed until it was mended."""
    path = tmp_path / "a.meh"
    with DB.open(path, mode="shared") as db:
        barrier = threading.Barrier(20)

        def call(number: int) -> str:
            barrier.wait(HANG_S)
            return db.remember(f"call {number}").id

        with ThreadPoolExecutor(20) as pool:
            ids = list(pool.map(call, range(20)))
        assert db.stats().commit == 20
        order: list[str] = []
        for commit in range(1, 21):
            with db.at(commit) as past:
                there = {note.id for note in every(past.notes.list)}
            (new,) = there - set(order)
            assert len(there) == commit, "one call, one commit"
            order.append(new)
        assert sorted(order) == sorted(ids)
    assert len(sound(path)) == 20


def test_row_12_a_second_client_starts_reads_and_writes(tmp_path: Path, start: Starter) -> None:
    """The second client on the same path could not even start: the first one had the lock."""
    path = tmp_path / "a.meh"
    with DB.open(path, mode="shared") as first:
        first.remember("by the first client")
        second = start(serve, path, "the second client", 0.0)
        assert second.hear() == "ready"
        for number in range(20):
            first.remember(f"by the first client {number}")
        second.tell("end")
        (kept,) = second.finish()
        assert kept
        assert set(texts(first)) >= set(kept), "the first one sees them without reopening"
        assert len(texts(first)) == 21 + len(kept)


def hold_and_stop(link: Connection, path: Path, mode: str) -> None:
    with DB.open(path, mode=mode, purpose="an old server") as db:
        db.remember("said before")
        with db._file.writing():
            link.send("holding")
            link.recv()
    link.send("done")


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_row_13_a_stopped_server_is_waited_for_then_named_with_its_age(
    tmp_path: Path, start: Starter, mode: str
) -> None:
    """Old servers kept the file busy, and the facts of a whole session were lost with "database is locked"."""
    path = tmp_path / "a.meh"
    server = start(hold_and_stop, path, mode)
    assert server.hear() == "holding"
    server.stop()
    with DB.open(path, mode="shared", wait=0.2) as db:
        begun = time.monotonic()
        with pytest.raises(Locked) as caught:
            db.remember("a fact of this session")
        assert time.monotonic() - begun >= 0.2
        said = str(caught.value)
        assert f"process {server.pid}" in said
        assert "an old server" in said
        assert re.search(r"since 20\d\d-\d\d-\d\dT", said)
        assert "stopped" in said
        server.go_on()
        server.tell("end it")
        assert server.finish() == ["done"]
        db.remember("a fact of this session")
    assert sound(path) == ["a fact of this session", "said before"]


def test_row_17_eight_threads_and_twenty_restarts_double_nothing(tmp_path: Path, start: Starter) -> None:
    """Threads and restarts left zero bytes in the file, or everything in it twice."""
    path = tmp_path / "a.meh"
    acknowledged: list[str] = []
    for turn in range(20):
        writer = start(remember_for_ever, path, "exclusive", f"life {turn}", 8)
        acknowledged += [writer.hear() for _ in range(12)]
        writer.kill()
        acknowledged += writer.rest()
        writer.discard()
        with DB.open(path, wait=0.0) as db:
            there = Counter(texts(db))
            assert not Counter(acknowledged) - there, "acknowledged and gone"
            assert max(there.values()) == 1, "doubled"
            assert there.total() <= len(acknowledged) + 8 * (turn + 1)
            assert db.verify(deep=turn == 19).ok


def compact_on_a_full_disk(folder: Path) -> None:
    path = folder / "a.meh"
    kept = [f"note {number} " + "x" * 1000 for number in range(400)]
    with DB.open(path) as db:
        db.remember_many(kept)
        before = path.read_bytes()
        ballast = fill(folder, leave=200_000)
        refused(db.compact)
        assert sorted(os.listdir(folder)) == ["a.meh", "a.meh.lock", "ballast"], "the temporary copy is gone"
        assert path.read_bytes() == before, "the old file is as it was"
        whole(db, kept)
        kept.append("there is space for this one")
        db.remember(kept[-1])
        whole(db, kept)
        ballast.unlink()
        db.compact()
        whole(db, kept)


def test_row_18_compaction_on_a_full_disk_leaves_the_file_usable(tmp_path: Path, start: Starter) -> None:
    """Packing a store filled the disk, left its temporary copy there, and with 0 bytes free nothing worked any more."""
    run_on_small_disk(start, compact_on_a_full_disk, tmp_path)


def simulated(disk: SimulatedDisk, mode: str) -> DB:
    clock = ManualClock(NOW)
    return DB(MehFile.open(PATH, disk=disk, mode=mode, now_ms=clock.now_ms), embedder=None, clock=clock)


def live(db: DB, kept: list[str]) -> None:
    """Public calls of all kinds; `kept` follows what was acknowledged."""
    for number in range(3):
        db.remember(f"note {number}")
        kept.append(f"note {number}")
    db.remember_many(["of one call 1", "of one call 2"])
    kept += ["of one call 1", "of one call 2"]
    db.checkpoint()
    db.remember("y" * 70_000)
    kept.append("y" * 70_000)
    db.forget(next(note.id for note in every(db.notes.list) if note.text == "note 1"), hard=True)
    kept.remove("note 1")
    db.compact()
    db.remember("after the compaction")
    kept.append("after the compaction")


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_row_20_a_full_disk_at_any_write_or_fsync_is_told_and_changes_nothing(mode: str) -> None:
    """The disk was full at the commit, not at the put, where nobody had expected an error.

    ENOSPC at each call that changes something, in turn. After a failed fsync the handle must be opened anew, else
    writing goes on as soon as there is space."""
    calm = SimulatedDisk()
    with simulated(calm, mode) as db:
        begin = len(calm.calls)
        live(db, [])
        steps = len(calm.calls)
    told = 0
    for step in range(begin, steps):
        disk = SimulatedDisk(fault="enospc", fault_at=step)
        db = simulated(disk, mode)
        kept: list[str] = []
        hint = None
        try:
            live(db, kept)
        except StorageError as error:
            told += 1
            hint = error.hint
        assert hint or kept[-1] == "after the compaction", f"{disk.calls[step]} at step {step}"
        assert texts(db) == sorted(kept), f"{disk.calls[step]} at step {step}"
        if db._file.refused:
            db.close()
            db = simulated(disk, mode)
        db.remember("there is space again")
        assert texts(db) == sorted([*kept, "there is space again"]), f"{disk.calls[step]} at step {step}"
        db.close()
        with simulated(disk, "exclusive") as db:
            assert db.verify(deep=True).ok, f"{disk.calls[step]} at step {step}"
    assert told > 20


def read_until_killed(link: Connection, path: Path, mode: str) -> None:
    db = DB.open(path, mode=mode, wait=0.0)
    while True:
        assert db.notes.list(limit=1).items
        link.send("read")


def test_row_21_two_hundred_killed_readers_cost_nothing_while_the_file_grows(tmp_path: Path, start: Starter) -> None:
    """Growing a memory map from two processes ruined pages, and killed readers filled up a table of slots.

    That bytes under a map never change while others make the file grow: tests/processes/test_growth.py."""
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember_many([f"note {number} on kayaks" for number in range(100)])
        db.checkpoint()
        for batch in range(10):
            readers = [start(read_until_killed, path, ["read", "shared"][number % 2]) for number in range(20)]
            for reader in readers:
                assert reader.hear() == "read"
            size = path.stat().st_size
            db.remember(f"while twenty read {batch} " + "x" * 60_000)
            assert path.stat().st_size >= size
            for reader in readers:
                assert reader.hear() == "read"
                reader.kill()
                reader.discard()
        assert path.stat().st_size > 10 * 60_000
        db.checkpoint()
        db.compact()
        assert path.stat().st_size < 10 * 70_000 + 200_000
    assert len(sound(path)) == 110
    assert sorted(os.listdir(tmp_path)) == ["a.meh", "a.meh.lock"]


def test_row_22_the_lock_of_a_killed_holder_is_gone_at_once(tmp_path: Path, start: Starter) -> None:
    """A lock left by a crash had to be removed by hand."""
    path = tmp_path / "a.meh"
    for mode in ("exclusive", "shared"):
        holder = start(hold_and_stop, path, mode)
        assert holder.hear() == "holding"
        with pytest.raises(Locked):
            DB.open(path)
        holder.kill()
        assert sound(path) == ["said before"]


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_row_22_an_error_in_a_flush_is_an_error_and_not_a_hang(mode: str) -> None:
    """One failing flush made all writers wait for ever. Here each of eight is answered, and told the truth."""
    disk = SimulatedDisk()
    db = simulated(disk, mode)
    db.remember("before")
    kept, refusals = ["before"], []
    barrier = threading.Barrier(8)

    def write(number: int) -> None:
        barrier.wait(HANG_S)
        for step in range(20):
            try:
                db.remember(f"thread {number} wrote {step}")
            except StorageError as error:
                refusals.append(error)
                return
            kept.append(f"thread {number} wrote {step}")

    disk.fault, disk.fault_at = "fsync", len(disk.calls) + 30
    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
        assert not thread.is_alive(), "it hangs"
    assert len(refusals) == 8
    assert "Input/output error" in str(refusals[0])
    disk.fault = None
    db.close()
    with simulated(disk.after_crash("nothing"), "exclusive") as db:
        assert set(texts(db)) >= set(kept), "acknowledged and gone"
        db.remember("after it was opened again")


def test_row_23_upkeep_from_the_command_line_while_a_server_is_up(tmp_path: Path, start: Starter) -> None:
    """A server held the lock all its life, so that nobody could ever index."""
    path = tmp_path / "a.meh"
    server = start(serve, path, "the server", 0.002)
    assert server.hear() == "ready"
    for number in range(5):
        with DB.open(path, mode="shared", wait=HANG_S, embedder=HashEmbedder(16)) as db:
            db.remember(f"by the command {number}")
            db.checkpoint()
            db.compact(keep_history=number % 2 == 0)
            assert db.backfill().reason is None
    assert not server.has_said(), "it is still at work"
    server.tell("end")
    (kept,) = server.finish()
    assert sound(path) == sorted([*kept, *(f"by the command {number}" for number in range(5))])


def held_by_us(path: Path) -> list[str]:
    """Descriptors and memory maps of this process that belong to the file or its side files."""
    found = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{entry}")
        except FileNotFoundError:  # the one that lists
            continue
        if target.startswith(str(path)):
            found.append(f"descriptor {target}")
    maps = Path("/proc/self/maps").read_text().splitlines()
    return found + [f"map {line}" for line in maps if str(path) in line]


@pytest.mark.parametrize("mode", ["exclusive", "shared", "read"])
def test_row_24_nothing_is_held_after_close_and_after_the_block(tmp_path: Path, mode: str) -> None:
    """Where open files cannot be removed, a closed store still could not be deleted or replaced: something held it.

    A closed handle that is still referred to once kept its memory map, and with it the space of a deleted file."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("this system does not tell what a process holds")
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember_many([f"note {number} on kayaks" for number in range(100)])
        db.checkpoint()
    assert held_by_us(path) == []
    opened = DB.open(path, mode=mode)
    with DB.open(path, mode=mode) if mode != "exclusive" else opened as db:
        assert db.recall("kayaks").hits
        db.stats()
        if mode != "read":
            db.remember("one more")
            db.checkpoint()
            db.compact()
            db.remember("yet another")
        assert any("map" in held for held in held_by_us(path))
    opened.close()
    assert held_by_us(path) == []
    assert db.closed
    os.replace(path, tmp_path / "b.meh")
    with DB.open(tmp_path / "b.meh") as again:
        assert again.recall("kayaks").hits
    os.unlink(tmp_path / "b.meh")


def test_row_25_no_shared_writable_map_is_relied_on(tmp_path: Path) -> None:
    """Shared memory on network mounts gave pages of zeros. Maps are read-only here, and all writing is pwrite.

    That a network mount is noticed is a matter of `memhop doctor`."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("this system does not tell what a process holds")
    path = tmp_path / "a.meh"
    for mode in ("exclusive", "shared"):
        with DB.open(path, mode=mode) as db:
            for number in range(30):
                db.remember(f"note {number} on kayaks, {mode}")
                if number % 10 == 0:
                    db.checkpoint()
                db.recall("kayaks")
                maps = [held.split()[2] for held in held_by_us(path) if held.startswith("map")]
                assert all(permissions[:2] == "r-" for permissions in maps), maps
            assert maps
    assert not list(tmp_path.glob("*-shm"))


def write_and_vanish(link: Connection, path: Path, mode: str) -> None:
    db = DB.open(path, mode=mode)
    db.remember("written, and then no close")
    os._exit(7)


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_row_30_what_was_written_is_there_without_a_close_and_reading_takes_no_lock(
    tmp_path: Path, start: Starter, mode: str
) -> None:
    """Writes were visible in the process and not on the disk; pure reads failed with errors about locks."""
    path = tmp_path / "a.meh"
    start(write_and_vanish, path, mode).finish(7)
    ((there, _, problems),) = start(read_only, path).finish()
    assert (there, problems) == (["written, and then no close"], 0)
    with DB.open(path) as db:
        assert db.recovery.clean
        ((there, _, _),) = start(read_only, path).finish()
        assert there == ["written, and then no close"], "read while another one holds the lock"


def test_every_row_that_needs_no_other_platform_has_a_test() -> None:
    """By name, in whatever file of this folder."""
    named = re.compile(r"^def test_row_(\d+)_\w+\(", re.MULTILINE)
    files = Path(__file__).parent.glob("test_*.py")
    assert {int(row) for file in files for row in named.findall(file.read_text("utf-8"))} & ROWS == ROWS
