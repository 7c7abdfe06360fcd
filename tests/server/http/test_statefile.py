"""The state file: which process is the server of a folder, and that no other is ever touched."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memhop.common import errors
from memhop.server.http.statefile import NAME, claimed, look, started_of, stop
from tests.support.processes import Starter
from tests.support.state_process import answering, innocent, serve


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


def written(path: Path, **changes: Any) -> dict[str, Any]:
    """A state file of this very process, with changes."""
    state: dict[str, Any] = {
        "version": 1,
        "pid": os.getpid(),
        "started": started_of(os.getpid()),
        "host": "127.0.0.1",
        "port": 9,
        "nonce": "n" * 32,
        "since": 1,
    } | changes
    path.write_text(json.dumps(state), "utf-8")
    path.chmod(0o600)
    return state


@pytest.fixture
def stranger() -> Iterator[int]:
    """The port of a server that is not ours, and answers as if it were."""
    server = answering("another")
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_server_is_found_and_stopped(path: Path, start: Starter) -> None:
    assert look(path).word == "absent"
    worker = start(serve, path)
    said = worker.hear()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = look(path)
    assert found.word == "running"
    assert found.state is not None
    assert found.state._asdict() == said
    assert stop(path, wait_s=60).pid == worker.pid
    worker.finish()
    assert not path.exists()
    with pytest.raises(errors.NotFound):
        stop(path)


def test_a_second_server_of_a_folder_is_refused_and_names_the_first(path: Path, start: Starter) -> None:
    first = start(serve, path)
    first.hear()
    second = start(serve, path).hear()
    assert second["error"] == "Locked"
    assert str(first.pid) in second["message"]
    assert "memhop serve" in second["message"]
    assert look(path).word == "running", "the file of the first is left alone"


def test_a_killed_server_leaves_a_file_that_means_nothing(path: Path, start: Starter) -> None:
    worker = start(serve, path)
    worker.hear()
    worker.kill()
    assert look(path).word == "stale"
    again = start(serve, path)
    again.hear()
    assert look(path).word == "running"
    assert stop(path, wait_s=60).pid == again.pid


def test_what_a_killed_server_left_is_removed_by_stop(path: Path, start: Starter) -> None:
    worker = start(serve, path)
    worker.hear()
    worker.kill()
    with pytest.raises(errors.NotFound, match="left behind"):
        stop(path)
    assert not path.exists()


def test_a_server_that_does_not_end_is_told(path: Path, start: Starter) -> None:
    worker = start(serve, path, True)
    worker.hear()
    with pytest.raises(errors.ProviderError, match=f"{worker.pid} was told to stop"):
        stop(path, wait_s=0.3)
    assert path.exists()
    assert look(path).word == "running"


def test_a_number_that_was_given_away_is_not_touched(path: Path, start: Starter, stranger: int) -> None:
    """Same number, started at another time: even if something answers at the port."""
    other = start(innocent)
    other.hear()
    for started in ("", "0", f"{started_of(other.pid)}0", started_of(os.getpid())):
        written(path, pid=other.pid, started=started, port=stranger, nonce="another")
        assert look(path).word == "stale"
        with pytest.raises(errors.NotFound):
            stop(path)
        assert not path.exists()
    other.tell("are you there?")
    assert other.hear() == "alive"


def test_a_process_that_does_not_know_the_word_is_not_touched(path: Path, start: Starter, stranger: int) -> None:
    """Also if number and time of the file are right: somebody may have written it."""
    other = start(innocent)
    other.hear()
    for port in (stranger, 9):  # another server; nobody
        written(path, pid=other.pid, started=started_of(other.pid), port=port)
        assert look(path).word == "silent"
        with pytest.raises(errors.ProviderError, match="left alone"):
            stop(path)
        assert path.exists()
    other.tell("are you there?")
    assert other.hear() == "alive"


def test_processes_are_told_apart_by_when_they_were_started(start: Starter) -> None:
    first, second = start(innocent), start(innocent)
    first.hear(), second.hear()
    words = {started_of(os.getpid()), started_of(first.pid), started_of(second.pid)}
    assert None not in words
    assert started_of(os.getpid()) == started_of(os.getpid())
    first.kill()
    assert started_of(first.pid) is None
    assert started_of((1 << 22) + 5) is None


HOSTILE: list[dict[str, Any]] = [
    {"version": 2}, {"pid": 0}, {"pid": -1}, {"pid": 1.5}, {"pid": True}, {"pid": "1"}, {"pid": 1 << 40}, {"port": 0},
    {"port": 70_000}, {"nonce": ""}, {"nonce": None}, {"host": 5}, {"started": None}, {"since": None},
    {"host": "x" * 999},
]  # fmt: skip


@pytest.mark.parametrize("changes", HOSTILE, ids=lambda changes: str(changes)[:30])
def test_a_file_that_no_server_wrote_is_refused(path: Path, changes: dict[str, Any]) -> None:
    """A pid of 0 or -1 would be a signal to a whole group of processes."""
    written(path, **changes)
    for call in (look, stop):
        with pytest.raises(errors.ConfigError, match=NAME):
            call(path)
    assert path.exists()


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b"[" * 4000, b" " * 5000])
def test_a_file_of_nonsense_is_refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(errors.ConfigError):
        stop(path)


def test_a_file_of_somebody_elses_making_is_refused(path: Path) -> None:
    written(path)
    path.chmod(0o666)
    with pytest.raises(errors.ConfigError, match="others"):
        stop(path)


def test_the_claim_ends_with_the_block(path: Path) -> None:
    with claimed(path) as claim:
        claim.publish("127.0.0.1", 9)
        with pytest.raises(errors.Locked), claimed(path):
            pass
    assert not path.exists()
    with claimed(path):
        pass
