"""A file that others have in use, or that may only be read: what reads goes on, what writes waits and says for whom."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memhop import DB
from tests.cli.running import COMMAND, UNPRIVILEGED, environment, held, memhop, stop

WALNUTS = "Mara is allergic to walnuts"
READING = (
    ("recall", "walnuts", "--json"),
    ("verify",),
    ("at", "1", "stats"),
)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "agent.meh"
    with DB.open(path) as db:
        db.remember(WALNUTS)
    return path


def test_reading_goes_on_while_another_process_holds_the_file_also_when_it_is_stopped(memory: Path) -> None:
    """A stopped server must not keep anybody from asking: a command that took the lock would wait here for an hour."""
    with held(memory) as holder:
        stop(holder)
        for command in READING:
            ran = memhop(*command, "--wait", "3600", "--file", memory)
            assert (ran.code, ran.err) == (0, ""), command
            assert command[0] != "recall" or ran.json()["hits"][0]["text"] == WALNUTS
        assert memhop("backup", "make", "--file", memory).code == 0


def test_a_write_waits_then_names_the_holder_in_words_of_the_command_line(memory: Path) -> None:
    with held(memory) as holder:
        ran = memhop("remember", "more", "--wait", "0.2", "--file", memory)
        assert (ran.code, ran.out) == (3, "")
        assert len(ran.err.splitlines()) == 1
        for said in (str(memory), f"process {holder.pid} on {socket.gethostname()}", "the holder", "since 20"):
            assert said in ran.err
        assert "[wait for it longer (--wait SECONDS), or end that process]" in ran.err
        stop(holder)
        document = memhop("remember", "more", "--wait", "0.2", "--json", "--file", memory)
        assert document.code == 3
        assert "which is stopped" in document.json()["message"]
        assert document.json()["hint"] == f"let it go on with `kill -CONT {holder.pid}`, or end it"
    with DB.open(memory) as db:
        assert db.stats().records["note"] == 1


def test_a_write_that_waits_goes_on_when_the_holder_is_done(memory: Path) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc to see that the command has come to the lock")
    with (
        held(memory) as holder,
        subprocess.Popen(
            [*COMMAND, "remember", "later", "--wait", "60", "--file", str(memory)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as writer,
    ):
        wait_until_open(writer.pid, f"{memory}.lock")
        assert holder.stdin is not None
        holder.stdin.close()
        out, err = writer.communicate(timeout=60)
    assert (writer.returncode, err) == (0, b"")
    assert out.startswith(b"remembered")


def wait_until_open(pid: int, path: str) -> None:
    """Return once a process has a file open."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(f"/proc/{pid}/fd/{descriptor}") == path:
                    return
            except FileNotFoundError:
                continue
        time.sleep(0.01)
    raise AssertionError(f"{path} was never opened")


def test_commands_write_in_turns_with_an_agent_that_shares_its_file(memory: Path) -> None:
    with DB.open(memory, mode="shared") as db:
        for number in range(2):
            db.remember(f"from the agent {number}")
            assert memhop("remember", f"typed {number}", "--wait", "30", "--file", memory).code == 0
        assert db.stats().records["note"] == 5
        assert memhop("compact", "--file", memory).code == 0
        assert db.recall("typed 1").hits[0].text == "typed 1"


def test_what_the_first_write_had_to_mend_is_told_by_the_command_that_wrote(memory: Path) -> None:
    """A shared handle cuts a torn tail in its first turn: a command that only reads leaves it, and says nothing."""
    with memory.open("ab") as file:
        file.write(b"half a write" * 8)
    size = memory.stat().st_size
    assert memhop("stats", "--file", memory).err == ""
    assert memory.stat().st_size == size
    ran = memhop("remember", "more", "--json", "--file", memory)
    assert ran.code == 0
    assert ran.json()["text"] == "more"
    (torn,) = memory.parent.glob("*.torn-*")
    assert ran.err == f"96 bytes of an unfinished write were cut off; saved as {torn}\n"


@pytest.fixture(params=["file", "folder"])
def read_only(request: pytest.FixtureRequest, memory: Path) -> Iterator[Path]:
    """A memory of which either the file or the folder may not be written, not even by root."""
    if sys.platform != "linux":
        pytest.skip("rights are dropped as on Linux")
    (memory.parent / "agent.meh.lock").unlink()
    target, mode = (memory, 0o400) if request.param == "file" else (memory.parent, 0o500)
    target.chmod(mode)
    try:
        if memhop("--version", command=UNPRIVILEGED).code == 99:
            pytest.skip("root cannot give up its rights here")
        yield memory
    finally:
        memory.parent.chmod(0o700)


def test_what_may_only_be_read_is_read_and_writing_says_why_not(read_only: Path) -> None:
    before = read_only.read_bytes()
    for command in READING:
        ran = memhop(*command, "--wait", "3600", "--file", read_only, command=UNPRIVILEGED)
        assert (ran.code, ran.err) == (0, ""), command
    ran = memhop("remember", "more", "--file", read_only, command=UNPRIVILEGED)
    assert (ran.code, ran.out) == (1, "")
    assert "Permission denied" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "mode=" not in ran.err
    assert read_only.read_bytes() == before
    assert os.listdir(read_only.parent) == ["agent.meh"]
