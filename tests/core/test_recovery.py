"""Rot and residue: what opening does about damage, beyond what the crash tests enumerate."""

from __future__ import annotations

import pytest

from memhop.common.errors import BadFormat, Corrupt, WriteRefused
from memhop.core.format import COMMIT, COMMIT_FRAME_SIZE, HEAD, HEADER_SIZE, LOG_START, frame_size
from memhop.core.frame import Window
from memhop.core.header import FIRST_BATCH, Header, decode_header
from memhop.core.log_state import load
from memhop.core.meh_file import MehFile, Write
from memhop.core.repair import repair
from memhop.core.replay import Replay
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import NOTE, PATH, open_file, records_of, text


def log_of(commits: int, *, closed: bool = True) -> tuple[bytes, list[int]]:
    """A file with two records per commit, and the published end after each commit."""
    disk = SimulatedDisk()
    file = open_file(disk)
    ends = [file.published_end]
    for number in range(1, commits + 1):
        file.append([Write(NOTE, number, text(number, 40)), Write(NOTE, 100 + number, text(number, 60))])
        ends.append(file.published_end)
    if closed:
        file.close()
    return disk.bytes_of(PATH)[: ends[-1]], ends


def opened(content: bytes) -> MehFile:
    return open_file(SimulatedDisk.holding(PATH, content))


def zeroed(content: bytes, start: int, length: int) -> bytes:
    return content[:start] + bytes(length) + content[start + length :]


def test_a_rotten_commit_frame_does_not_lose_its_batch() -> None:
    content, ends = log_of(5)
    for number in (2, 5):
        at = ends[number] - COMMIT_FRAME_SIZE
        for damaged in (zeroed(content, at, COMMIT_FRAME_SIZE), zeroed(content, at + 30, 8)):
            with opened(damaged) as file:
                assert file.commit_number == 5
                assert sorted(records_of(file)) == [1, 2, 3, 4, 5, 101, 102, 103, 104, 105]
                assert file.recovery.damaged >= 1
                assert file.append([Write(NOTE, 6, b"six")]).number == 6
                assert {p.what for p in file.verify().problems} & {
                    "frame checksum",
                    "unreadable bytes",
                    "missing commit",
                }


@pytest.mark.parametrize("genesis", [True, False])
@pytest.mark.parametrize("rotten", range(1, 5))
def test_repair_trusts_no_digest_for_frames_in_front_of_its_batch(rotten: int, genesis: bool) -> None:
    """A commit's frame and a record of it were rotten. The batch behind hashed to its digest, and the record was saved
    as it stood, altered: that digest vouches for its own frames alone. Found with the genesis frame gone too."""
    content, ends = log_of(5)
    disk = SimulatedDisk.holding(PATH, content)
    with open_file(disk) as file:
        file.checkpoint({}, meta={})
    content = disk.bytes_of(PATH)
    start = ends[rotten - 1] if rotten > 1 else FIRST_BATCH
    damaged = zeroed(content, ends[rotten] - COMMIT_FRAME_SIZE + HEAD.size, 1)
    damaged = zeroed(damaged, start + HEAD.size + 1, 1)
    if not genesis:
        damaged = zeroed(damaged, LOG_START + 4, 8)
    disk = SimulatedDisk.holding(PATH, damaged)
    target = PATH.with_name("repaired.meh")
    report = repair(PATH, target, disk=disk)
    assert rotten in {lost.id for lost in report.lost}
    with opened(disk.bytes_of(target)) as file:
        expected = records_of(opened(content))
        assert rotten not in records_of(file)
        assert records_of(file).items() <= expected.items()


def test_a_wiped_end_of_the_log_is_named_and_its_records_are_lost() -> None:
    """From the commit frame of the second commit to the end nothing could be read. Only that frame was named, and a
    repair said that nothing had been lost."""
    content, ends = log_of(4)
    start = ends[2] - 30
    damaged = (
        content[:start]
        + bytes(range(1, 201)) * ((ends[4] - start) // 200)
        + content[ends[4] - (ends[4] - start) % 200 :]
    )
    damaged = damaged[: ends[4] - 1] + b"!"
    with opened(damaged) as file:
        assert sorted(records_of(file)) == [1, 2, 101, 102]
        named = [damage for damage in file.recovery.damage if damage.what == "unreadable bytes"]
        assert sum(damage.length for damage in named) >= ends[4] - ends[2] - COMMIT_FRAME_SIZE
    disk = SimulatedDisk.holding(PATH, damaged)
    assert repair(PATH, PATH.with_name("repaired.meh"), disk=disk).lost


def test_a_rotten_commit_frame_without_later_proof_is_a_torn_tail() -> None:
    """The same damage in a file that was never closed: nobody was promised commit 5 in writing."""
    content, ends = log_of(5, closed=False)
    with opened(zeroed(content, ends[5] - COMMIT_FRAME_SIZE, 8)) as file:
        assert file.commit_number == 4
        assert file.recovery.torn_file is not None
    with opened(zeroed(content, ends[4] - COMMIT_FRAME_SIZE, 8)) as file:
        assert file.commit_number == 5, "commit 5 says that 4 was on disk"
        assert 4 in records_of(file)
        assert len(file.recovery.damage) == 1, "the batch of commit 5 itself is whole"


def test_a_zeroed_sector_in_the_middle_costs_what_lay_in_it() -> None:
    content, ends = log_of(30)
    start = ends[11] + 40
    with opened(zeroed(content, start, 512)) as file:
        assert file.commit_number == 30
        assert file.recovery.cut_bytes == 0
        lost = {n for n in range(1, 31) if ends[n] > start and ends[n - 1] < start + 512}
        kept = {id_ % 100 for id_ in file.ids(NOTE)}
        assert kept >= set(range(1, 31)) - lost
        assert file.recovery.damaged >= 1
        assert not file.verify().ok
        file.append([Write(NOTE, 31, b"on")])
    assert 2 <= len(lost) <= 3


def test_many_rotten_places_at_once() -> None:
    content, ends = log_of(40)
    damaged = bytearray(content)
    for number in (3, 9, 10, 22, 39):
        damaged[ends[number] + 30] ^= 0x5A  # in the payload of the first record of the next commit
    with opened(bytes(damaged)) as file:
        assert file.commit_number == 40
        assert [d.id for d in file.recovery.damage] == [4, 10, 11, 23, 40]
        for id_ in file.ids(NOTE):
            row = file.locate(id_)
            assert row is not None
            if id_ in (4, 10, 11, 23, 40):
                with pytest.raises(Corrupt) as caught:
                    file.read(row[1])
                assert caught.value.offset == row[1]
            else:
                assert file.read(row[1])[1] == id_


def test_a_stale_tail_never_comes_back() -> None:
    """A long batch is torn and cut, a shorter one is written over it; then the cut is undone behind its back."""
    disk = SimulatedDisk()
    file = open_file(disk)
    file.append([Write(NOTE, 1, text(1, 100))])
    start = file.published_end
    for number in range(2, 9):
        file.append([Write(NOTE, number, text(number, 100))])
    stale = disk.bytes_of(PATH)[: file.published_end]
    disk = SimulatedDisk.holding(PATH, stale[:start])
    file = open_file(disk)
    file.append([Write(NOTE, 50, text(50, 31))])
    fresh = disk.bytes_of(PATH)[: file.published_end]
    ghostly = fresh + stale[len(fresh) :]
    with opened(ghostly) as file:
        assert sorted(records_of(file)) == [1, 50]
        assert file.commit_number == 2
        assert file.recovery.cut_bytes > 0
        assert file.recovery.damaged == 0


def test_the_torn_tail_is_saved_as_it_was() -> None:
    content, ends = log_of(3, closed=False)
    disk = SimulatedDisk.holding(PATH, content[:-8] + bytes(4096))
    with open_file(disk) as file:
        saved = file.recovery.torn_file
        assert saved is not None
        assert saved.name.startswith("agent.meh.torn-")
        expected = content[ends[2] : -8].rstrip(b"\0")
        assert disk.bytes_of(saved) == expected
        assert file.recovery.cut_bytes == len(expected)
        assert len(disk.bytes_of(PATH)) == ends[2]


def test_a_tail_that_cannot_be_saved_is_kept_and_the_file_readable() -> None:
    content, _ = log_of(3, closed=False)
    disk = SimulatedDisk.holding(PATH, content[:-8])
    disk.fault, disk.fault_at = "broken", 0
    file = open_file(disk)
    assert file.recovery.refused
    assert sorted(records_of(file)) == [1, 2, 101, 102]
    with pytest.raises(WriteRefused, match="torn tail"):
        file.append([Write(NOTE, 9, b"no")])
    file.close()
    assert disk.bytes_of(PATH) == content[:-8]


def test_one_bad_header_is_survived_and_healed_by_the_next_two_checkpoints() -> None:
    disk = SimulatedDisk()
    with open_file(disk) as file:
        file.append([Write(NOTE, 1, b"one")])
        file.checkpoint({}, meta={"n": 1})
        file.append([Write(NOTE, 2, b"two")])
        file.checkpoint({}, meta={"n": 2})
    content = disk.bytes_of(PATH)
    headers = [decode_header(content[at : at + HEADER_SIZE]) for at in (0, HEADER_SIZE)]
    assert all(isinstance(header, Header) for header in headers)
    for at in (100, HEADER_SIZE + 100):
        damaged = SimulatedDisk.holding(PATH, zeroed(content, at, 8))
        with open_file(damaged) as file:
            assert sorted(records_of(file)) == [1, 2]
            assert file.recovery.headers_lost == 1
            for number in (3, 4):
                file.append([Write(NOTE, number, b"x")])
                file.checkpoint({}, meta={"n": number})
            assert file.verify(deep=True).ok


def test_what_is_not_ours_is_refused_in_one_line() -> None:
    content, _ = log_of(2)
    newer = bytearray(content)
    newer[8:10] = (7).to_bytes(2, "little")
    for at in (0, HEADER_SIZE):
        newer[at + 8 : at + 10] = (7).to_bytes(2, "little")
    newer[LOG_START : LOG_START + 200] = bytes(200)
    cases = {
        b"": "empty",
        b"PK\x03\x04" * 4000: "not a .meh file",
        content.replace(b"\r\n", b"\n"): "text mode",
        bytes(newer): "version 7, this build of MemHop reads up to 1",
        zeroed(zeroed(content, 100, 8), LOG_START, 90)[:8] + bytes(9000): "genesis frame are damaged",
    }
    for data, expected in cases.items():
        disk = SimulatedDisk.holding(PATH, data)
        with pytest.raises(BadFormat, match=expected) as caught:
            open_file(disk)
        assert "\n" not in str(caught.value)
        assert disk.calls == [], "nothing is changed"
        assert not disk.locks


def test_leftovers_of_create_and_compaction_are_removed() -> None:
    content, _ = log_of(2)
    disk = SimulatedDisk.holding(PATH, content)
    for suffix in (".new", ".compact"):
        disk.open(PATH.with_name(PATH.name + suffix), create=True)
    with open_file(disk) as file:
        assert [path.name for path in file.recovery.removed] == ["agent.meh.new", "agent.meh.compact"]
        assert sorted(path.name for path in disk.names) == ["agent.meh"]
    assert frame_size(COMMIT_FRAME_SIZE - 24) == COMMIT_FRAME_SIZE
    assert COMMIT == 2


def test_catching_up_stops_at_a_clean_end_and_goes_on_from_there() -> None:
    """A reader beside a writer replays what is committed, and later only what came since."""
    disk = SimulatedDisk()
    file = open_file(disk)
    file.append([Write(NOTE, 1, b"one"), Write(NOTE, 2, b"two")])
    state = load(disk.open(PATH))
    for number in (3, 4, 5):
        file.append([Write(NOTE, number, text(number, 100))])
    window = Window(state.file, state.file.size())
    later = Replay(window, state.identity.salt, state.head, state.head, live=True)
    assert [ref.id for batch in later for ref in batch.frames] == [3, 4, 5]
    assert (later.head.digest, later.head.end) == (file.head_digest, file.published_end)
    assert later.durable == 3, "commit 4 says that 3 was on disk"
    again = Replay(window, state.identity.salt, later.head, later.head, live=True)
    assert list(again) == []
