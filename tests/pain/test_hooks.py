"""Section 5 of what users of such memories suffer from: a hook of the memory held up the user's work."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from tests.cli.running import COMMAND, environment, held
from tests.support.hooks import MODULE, MOST_S, Client, Ended, transcript
from tests.support.processes import Starter
from tests.support.small_disk import fill, run_on_small_disk

EVENTS = ("session-start", "prompt", "stop", "pre-compact", "session-end")


def payload(event: str, log: Path) -> dict[str, Any]:
    return {
        "session_id": "s2",
        "transcript_path": str(log),
        "cwd": "/home/ada/web",
        "source": "startup",
        "prompt": "which database did we choose?",
        "last_assistant_message": "Done.",
    }


def harmless(ran: Ended) -> None:
    """What the client sees of a hook that fails: nothing but one line at most, in time."""
    assert ran.code == 0, ran
    assert ran.seconds < MOST_S, ran
    assert len(ran.err.splitlines()) <= 1, ran
    assert not ran.out or isinstance(json.loads(ran.out), dict)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Client(tmp_path, tmp_path / "agent.meh").closing() as found:
        yield found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return transcript(tmp_path / "log.jsonl", ("a", "user", "Use tabs in this repo"), ("b", "assistant", "Tabs it is."))


def remember(path: Path) -> None:
    with DB.open(path) as db:
        db.remember("We chose SQLite, because there is one writer", kind="decision", project="web")


@pytest.mark.parametrize("event", ["session-start", "prompt", "stop"])
def test_row_86_the_store_is_locked(client: Client, log: Path, event: str) -> None:
    """claude-mem: the prompt of the user was blocked while the worker of the memory was away. A memory that another
    process holds is read all the same; what is to be stored waits outside."""
    remember(client.memory)
    with held(client.memory):
        ran = client.hook(event, payload(event, log))
        harmless(ran)
        if event != "stop":
            assert "SQLite" in client.tell(event, payload(event, log)).context()
    client.settle()
    with DB.open(client.memory) as db:
        said = [one.text for one in db.archive.list().items]
    assert sorted(said) == (["Tabs it is.", "Use tabs in this repo"] if event == "stop" else [])


@pytest.mark.parametrize("event", EVENTS)
def test_row_86_the_store_is_missing(client: Client, log: Path, event: str) -> None:
    harmless(client.hook(event, payload(event, log)))
    client.settle()
    assert client.memory.exists() == (event not in ("session-start", "prompt"))


@pytest.mark.parametrize("event", ["prompt", "session-end"])
@pytest.mark.parametrize("how", ["noise", "headers", "folder", "empty", "link to itself"])
def test_row_86_the_store_is_corrupt(client: Client, log: Path, event: str, how: str) -> None:
    path = client.memory
    if how == "folder":
        path.mkdir()
    elif how == "link to itself":
        path.symlink_to(path)
    elif how == "headers":
        remember(path)
        with path.open("r+b") as file:
            file.write(b"\xa5" * 8192)
    else:
        path.write_bytes(bytes(range(256)) * 100 if how == "noise" else b"")
    harmless(client.hook(event, payload(event, log)))
    client.settle()


def test_row_86_the_disk_is_full(tmp_path: Path, start: Starter) -> None:
    run_on_small_disk(start, on_a_full_disk, tmp_path)


def on_a_full_disk(folder: Path) -> None:
    memory = folder / "agent.meh"
    remember(memory)
    log = transcript(folder / "log.jsonl", ("a", "user", "Use tabs in this repo " * 2000))
    with Client(folder, memory).closing() as client:
        ballast = fill(folder)
        for event in EVENTS:
            harmless(client.hook(event, payload(event, log)))
        client.settle()
        ballast.unlink()
        harmless(client.hook("stop", payload("stop", log)))
        client.settle()
    with DB.open(memory) as db:
        assert db.verify(deep=True).ok
        assert len(db.archive.list().items) == 1, "what could not be stored is stored at the next event"


@pytest.mark.parametrize(("event", "data"), [("prompt", b""), ("stop", b'{"session_id": "s'), ("session-end", b"?")])
def test_row_86_the_input_never_ends(client: Client, event: str, data: bytes) -> None:
    harmless(client.hook(event, data, open_input=True))


@pytest.mark.parametrize("event", ["session-start", "stop"])
def test_row_86_the_input_is_whole_but_stays_open(client: Client, log: Path, event: str) -> None:
    """Some clients do not close it: then the hook does its work all the same."""
    remember(client.memory)
    harmless(client.hook(event, payload(event, log), open_input=True))
    client.settle()
    if event == "stop":
        with DB.open(client.memory) as db:
            assert len(db.archive.list().items) == 2


HOSTILE = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{" * 100_000,
    b"[" * 100_000,
    b'{"prompt": ' + b'"x' * 1000,
    b"\xff\xfe\x00",
    b'{"prompt": "\\ud800", "session_id": "\\udfff"}',
    b'{"prompt": 5, "session_id": [], "transcript_path": {}, "cwd": 7, "source": null, "workspace_roots": [1]}',
    b'{"prompt": "x", "session_id": "' + b"s" * 100_000 + b'"}',
    b'{"transcript_path": "/dev/zero", "last_assistant_message": "x"}',
    b'{"transcript_path": "/proc/self/mem", "cwd": "/etc/../../..", "prompt": "\\u0000"}',
    b'{"prompt": "' + b"word " * 400_000 + b'"}',
    b'{"a": "' + b"x" * (9 * 1024 * 1024) + b'"}',
]


@pytest.mark.parametrize("event", ["prompt", "stop"])
def test_row_86_the_input_is_hostile(client: Client, event: str) -> None:
    remember(client.memory)
    for data in HOSTILE:
        harmless(client.hook(event, data))
    client.settle()
    with DB.open(client.memory) as db:
        assert db.verify(deep=True).ok


@pytest.mark.parametrize(
    "words",
    [(), ("stop", "prompt"), ("stop", "--client", "emacs"), ("stop", "--file"), ("stop", "--what", "x")],
)
def test_row_86_a_call_that_does_not_do(client: Client, words: tuple[str, ...]) -> None:
    """A usage error ends other commands with 2, and 2 is what blocks the prompt."""
    for command in (MODULE, (*COMMAND, "hook")):
        done = subprocess.run([*command, *words], input=b"{}", capture_output=True, env=environment(), timeout=60)
        assert done.returncode == 0, done
        assert len(done.stderr.splitlines()) == 1, done


def test_row_86_nobody_reads_what_it_says(client: Client, log: Path) -> None:
    """The pipe to the client is full, and the client gone to sleep."""
    remember(client.memory)
    read, write = os.pipe()
    os.set_blocking(write, False)
    with suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 65536)
    os.set_blocking(write, True)
    try:
        started = time.monotonic()
        done = subprocess.run(
            [*MODULE, "session-start", "--file", str(client.memory)],
            input=json.dumps(payload("session-start", log)).encode(),
            stdout=write,
            env=environment(),
            timeout=60,
        )
        assert done.returncode == 0
        assert time.monotonic() - started < MOST_S
    finally:
        os.close(read)
        os.close(write)


def test_row_86_settings_that_do_not_do(client: Client, log: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[memory\n")
    for env in ({"MEMHOP_CONFIG": str(broken)}, {"MEMHOP_RECALL_LIMIT": "many"}):
        harmless(client.hook("session-start", payload("session-start", log), env=env))
        harmless(client.hook("stop", payload("stop", log), env=env))
    client.settle()
    assert not client.memory.exists()
