"""L7 through `db.trajectory`: steps in order, bounded payloads, sessions, retention in bounded commits."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import DB, InvalidRequest, NotFound
from memhop.common.clock import ManualClock
from memhop.repo.l7_trajectory import fitted
from tests.support.memories import DAY, HOUR, NOW, every, memory


def steps(db: DB, session: str, count: int, *, start: int = NOW - DAY) -> None:
    db.trajectory.append_many(
        session, [{"type": "tool", "payload": f"call {n}", "at": start + n * 1_000} for n in range(count)]
    )


def seqs(db: DB, session: str) -> list[int]:
    return [step.seq for step in every(db.trajectory.read, page=400, session=session)]


class TestAppend:
    def test_steps_are_numbered_per_session(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for number in range(7):
                event = db.trajectory.append("s", "tool", f"call {number}", at=NOW - DAY)
                assert (event.seq, event.at, event.session) == (number + 1, NOW - DAY, "s")
            assert db.trajectory.append("other", "note").seq == 1
        with memory(tmp_path / "a.meh") as db:
            assert db.trajectory.append("s", "tool", "again").seq == 8
            assert len(db.trajectory.append_many("s", [{"type": "a"}, {"type": "b", "payload": "\n"}])) == 2
            found = every(db.trajectory.read, session="s")
            assert [step.seq for step in found] == list(range(1, 11))
            assert [step.payload for step in found[3:4] + found[9:]] == ["call 3", "\n"]
            assert db.trajectory.read("nobody").items == ()

    def test_many_are_one_commit_or_none(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            (message,) = db.archive.append_many([{"text": "hello"}])
            before = db.stats().commit
            db.trajectory.append_many("s", [{"type": "said", "message_id": message}, {"type": "done"}])
            assert db.stats().commit == before + 1
            assert db.trajectory.read("s").items[0].message_id == message
            for wrong, field in (
                ([{"type": "ok"}, {"type": ""}], "items[1].type"),
                ([{"type": "ok"}, {"payload": "no type"}], "items[1].type"),
                ([{"type": "ok", "payload": b"bytes"}], "items[0].payload"),
                ([{"type": "ok", "payload": "\ud800"}], "items[0].payload"),
                ([{"type": "ok", "at": -5}], "items[0].at"),
                ([{"type": "ok", "colour": 1}], "items[0].colour"),
                ([5], "items[0]"),
                ({"type": "ok"}, "items"),
                ([{"type": "ok", "message_id": "x"}], "items[0].message_id"),
            ):
                with pytest.raises(InvalidRequest) as caught:
                    db.trajectory.append_many("s", wrong)  # type: ignore[arg-type]
                assert caught.value.field == field
            with pytest.raises(NotFound) as missing:
                db.trajectory.append_many("s", [{"type": "ok"}, {"type": "ok", "message_id": "00000000000000ab"}])
            assert missing.value.field == "items[1].message_id"
            assert db.stats().commit == before + 1

    def test_a_long_payload_is_cut_and_says_so(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            event = db.trajectory.append("s", "tool", "x" * 14_336)
            assert event.payload == "x" * 4_096 + "… [cut: 10,240 of 14,336 bytes]"
            assert event.cut_bytes == 10_240
            assert db.trajectory.read("s").items == (event,)
            whole = db.trajectory.append("s", "tool", "x" * 4_096)
            assert (whole.payload, whole.cut_bytes) == ("x" * 4_096, 0)
            assert db.trajectory.stats("s").cut_bytes == 10_240
            with pytest.raises(InvalidRequest):
                db.trajectory.append("s", "tool", "x" * (4 * 1024 * 1024 + 1))

    @settings(max_examples=200, derandomize=True, deadline=None)
    @given(text=st.text(max_size=30), most=st.integers(0, 40))
    def test_no_character_is_split(self, text: str, most: int) -> None:
        kept, cut = fitted(text, most)
        assert text.startswith(kept)
        assert len(kept.encode()) <= most
        assert len(kept.encode()) + cut == len(text.encode())
        if cut:
            assert len(text[: len(kept) + 1].encode()) > most, "another character would have fitted"

    def test_appending_costs_the_same_however_long_the_session_is(self, tmp_path: Path) -> None:
        """Counted in function calls, which time of a busy machine does not move."""
        with memory(tmp_path / "a.meh", durability="none") as db:
            costs = []
            for count in (1_000, 99_000):
                steps(db, "s", count)
                db.checkpoint()
                db.trajectory.append("s", "warm", "up")
                costs.append(min(calls(lambda: db.trajectory.append("s", "tool", "x")) for _ in range(3)))
            assert seqs_count(db, "s") == 100_008
            assert costs[1] < 1.5 * costs[0] + 20, costs


def calls(work: Callable[[], object]) -> int:
    """How many functions are entered, Python's and built-in ones."""
    count = 0

    def entered(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(entered)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def seqs_count(db: DB, session: str) -> int:
    return int(next(found.steps for found in db.trajectory.sessions().items if found.session == session))


class TestRead:
    def test_from_both_ends_and_from_a_number(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            steps(db, "s", 8)
            read: Any = db.trajectory.read
            forward = every(read, session="s")
            assert every(read, session="s", newest_first=True) == forward[::-1]
            for first in (0, 1, 5, 8, 9, 2**63 - 1):
                wanted = [step for step in forward if step.seq >= first]
                assert every(read, session="s", from_seq=first) == wanted, first
                assert every(read, session="s", from_seq=first, newest_first=True) == wanted[::-1], first
            with pytest.raises(InvalidRequest):
                read("s", from_seq=-1)

    def test_sessions_and_their_numbers(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for number in range(5):
                steps(db, f"run {number}", number + 1, start=NOW - (5 - number) * HOUR)
            found = every(db.trajectory.sessions, page=2)
            assert [item.session for item in found] == [f"run {n}" for n in (4, 3, 2, 1, 0)]
            assert [item.steps for item in found] == [5, 4, 3, 2, 1]
            assert (found[0].first_at, found[0].last_at) == (NOW - HOUR, NOW - HOUR + 4_000)
            assert every(db.trajectory.sessions, newest_first=False) == found[::-1]

    def test_stats(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for type_, payload, at in (("a", "xy", NOW - 5), ("b", "猫", NOW - 9), ("a", "", NOW)):
                db.trajectory.append("s", type_, payload, at=at)
            found = db.trajectory.stats("s")
            assert (found.steps, found.by_type, found.bytes) == (3, {"a": 2, "b": 1}, 5)
            assert (found.first_at, found.last_at) == (NOW - 9, NOW)
            nobody = db.trajectory.stats("nobody")
            assert (nobody.steps, nobody.by_type, nobody.first_at) == (0, {}, None)


class TestRetention:
    def test_delete_says_how_many_and_leaves_others(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            steps(db, "s", 2_500)
            steps(db, "other", 3)
            before = db.stats().commit
            assert db.trajectory.delete("s") == 2_500
            assert db.stats().commit == before + 3, "commits of at most 1,000"
            assert db.trajectory.delete("s") == 0
            assert [item.session for item in db.trajectory.sessions().items] == ["other"]
            assert db.trajectory.append("s", "tool").seq == 1
            assert db.verify(deep=True).ok

    def test_keep_last(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            steps(db, "s", 2_105)
            steps(db, "short", 3)
            preview = db.trajectory.prune(keep_last=100, dry_run=True)
            assert (preview.events, preview.sessions, preview.dry_run) == (2_005, 1, True)
            assert len(seqs(db, "s")) == 2_105
            done = db.trajectory.prune(keep_last=100)
            assert (done.events, done.sessions, done.dry_run) == (2_005, 1, False)
            assert seqs(db, "s") == list(range(2_006, 2_106))
            assert {(item.session, item.steps) for item in db.trajectory.sessions().items} == {("s", 100), ("short", 3)}
            assert db.trajectory.append("s", "tool").seq == 2_106, "numbers of those that stay do not change"
            assert db.trajectory.prune("short", keep_last=0).events == 3
            assert [item.session for item in db.trajectory.sessions().items] == ["s"]
            assert db.verify(deep=True).ok

    def test_before(self, tmp_path: Path) -> None:
        """Steps whose times are out of order go by their time, not by their place."""
        with memory(tmp_path / "a.meh") as db:
            for at in (NOW - 9 * DAY, NOW, NOW - 8 * DAY, NOW):
                db.trajectory.append("s", "tool", at=at)
            db.trajectory.append("fresh", "tool", at=NOW)
            assert db.trajectory.prune(before=NOW - DAY, dry_run=True).events == 2
            found = db.trajectory.prune(before=NOW - DAY)
            assert (found.events, found.sessions) == (2, 1)
            assert seqs(db, "s") == [2, 4]
            assert len(db.trajectory.sessions().items) == 2
            assert db.verify(deep=True).ok

    def test_pruning_costs_the_same_for_each_step(self, tmp_path: Path) -> None:
        """Each commit asked for the session's first step, and passed by all that were dropped before: 100,000 steps
        took 12 s, three quarters of it for that.
        """
        with memory(tmp_path / "a.meh", durability="none") as db:
            costs = []
            for count in (2_000, 16_000):
                steps(db, f"{count}", count)
                db.checkpoint()
                costs.append(calls(lambda count=count: db.trajectory.prune(f"{count}", keep_last=0)) / count)  # type: ignore[misc]
            assert costs[1] < 1.4 * costs[0], costs

    def test_what_is_to_be_kept_must_be_said(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            steps(db, "s", 3)
            wrong: list[dict[str, Any]] = [{}, {"before": NOW, "keep_last": 1}, {"keep_last": -1}, {"before": "monday"}]
            for arguments in wrong:
                with pytest.raises(InvalidRequest):
                    db.trajectory.prune(**arguments)
            assert seqs(db, "s") == [1, 2, 3]

    def test_a_kill_in_the_middle_leaves_a_session_that_can_be_deleted(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            steps(db, "s", 5_000)
        code = (
            f"import os, signal, memhop\ndb = memhop.DB.open({str(path)!r})\nseen = []\n"
            "def committed(number):\n    seen.append(number)\n"
            "    if len(seen) == 2:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
            "db._store.after_commit.append(committed)\ndb.trajectory.delete('s')\n"
        )
        assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == -signal.SIGKILL
        with memory(path) as db:
            (left,) = db.trajectory.sessions().items
            assert (left.session, left.steps) == ("s", 3_000)
            assert seqs(db, "s")[0] == 2_001
            assert db.verify(deep=True).ok
            assert db.trajectory.delete("s") == 3_000
            assert db.trajectory.sessions().items == ()


def test_an_erased_message_is_named_no_more(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", clock=ManualClock(NOW)) as db:
        (message,) = db.archive.append_many([{"text": "my pin is 4711"}])
        db.trajectory.append("s", "said", message_id=message)
        db.forget(message, hard=True)
        assert db.trajectory.read("s").items[0].message_id is None
        assert [item.steps for item in db.trajectory.sessions().items] == [1]
        assert db.verify(deep=True).ok
