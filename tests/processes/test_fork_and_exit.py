"""How processes end, and what their children inherit: fork while open, exits of every kind, a parent that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB, Closed
from memhop.core.lock import SideLock
from tests.support.memories import every
from tests.support.processes import HANG_S, Starter, until

ROOT = Path(__file__).parents[2]
MODES = ["exclusive", "shared"]


def fork() -> int:
    """os.fork in a process with threads: what newer Pythons warn of is what is tested here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def run(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    """A script with the path as its argument, in a fresh interpreter in which warnings are errors."""
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", code, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, env=environment, cwd=ROOT)


def notes_of(path: Path) -> list[str]:
    """The texts, of a file that nobody holds and that has nothing to mend."""
    with DB.open(path, wait=0.0) as db:
        assert db.recovery.clean
        assert db.recovery.torn_file is None
        assert db.verify(deep=True).ok
        return sorted(note.text for note in every(db.notes.list))


def fork_while_open(link: Connection, path: Path, mode: str, durability: str) -> None:
    with DB.open(path, mode=mode, durability=durability) as db:
        db.remember("by the parent")
        db.recall("parent")
        child = fork()
        if child == 0:
            answers = []
            for call in (
                lambda: db.remember("by the child"),
                lambda: db.recall("parent"),
                lambda: db.search("by the child"),
                lambda: db.notes.list(),
                lambda: db.checkpoint(),
                lambda: db.compact(),
                lambda: db.refresh(),
                lambda: db.stats(),
                lambda: db.verify(),
                lambda: db._file.append([]),
            ):
                try:
                    call()
                    answers.append("granted")
                except Closed as error:
                    answers.append(str(error))
                except BaseException as error:
                    answers.append(repr(error))
            db.close()
            db.close()
            link.send(answers)
            os._exit(0)
        assert os.waitpid(child, 0) == (child, 0)
        db.remember("by the parent afterwards")
        db.checkpoint()
    link.send("done")


@pytest.mark.parametrize("durability", ["full", "relaxed"])
@pytest.mark.parametrize("mode", MODES)
def test_a_forked_child_is_told_closed_and_the_parent_goes_on(
    tmp_path: Path, start: Starter, mode: str, durability: str
) -> None:
    path = tmp_path / "a.meh"
    parent = start(fork_while_open, path, mode, durability)
    answers = parent.hear()
    assert all("opened by process" in answer for answer in answers[:-1]), answers
    assert parent.hear() == "done"
    parent.finish()
    assert notes_of(path) == ["by the parent", "by the parent afterwards"]


def fork_while_threads_work(link: Connection, path: Path, mode: str) -> None:
    """Children forked at any moment, while other threads hold whatever locks there are."""
    with DB.open(path, mode=mode, durability="none") as db:
        db.remember("the first")
        done = threading.Event()

        def work(name: str) -> None:
            number = 0
            while not done.is_set():
                number += 1
                db.remember(f"{name} wrote {number}")
                db.recall("wrote", limit=3)

        threads = [threading.Thread(target=work, args=(name,)) for name in ("Ann", "Bob")]
        for thread in threads:
            thread.start()
        for _ in range(15):
            child = fork()
            if child == 0:
                signal.alarm(10)  # a child that waits for a lock which no thread of it will give back
                for call in (lambda: db.recall("wrote"), lambda: db.remember("by a child"), lambda: db.refresh()):
                    try:
                        call()
                        os._exit(2)
                    except Closed:
                        pass
                    except BaseException:
                        os._exit(3)
                db.close()
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            link.send(status)
            if status:
                break
            time.sleep(0.003)
        done.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("mode", MODES)
def test_a_child_forked_amid_threads_does_not_hang(tmp_path: Path, start: Starter, mode: str) -> None:
    """A fork copies locks that other threads hold, and nobody in the child will ever release them."""
    path = tmp_path / "a.meh"
    assert start(fork_while_threads_work, path, mode).finish() == [0] * 15
    assert "by a child" not in notes_of(path)


def leave_a_child(link: Connection, path: Path, mode: str) -> None:
    """Fork inside a turn, and live on until killed."""
    db = DB.open(path, mode=mode)
    db.remember("by the parent")
    with db._file.writing():
        child = fork()
        if child == 0:
            time.sleep(HANG_S)
            os._exit(0)
        link.send(child)
        time.sleep(HANG_S)


@pytest.mark.parametrize("mode", MODES)
def test_a_child_that_outlives_its_killed_parent_does_not_keep_the_lock(
    tmp_path: Path, start: Starter, mode: str
) -> None:
    path = tmp_path / "a.meh"
    parent = start(leave_a_child, path, mode)
    child = parent.hear()
    try:
        parent.kill()
        os.kill(child, 0)  # it is there
        assert notes_of(path) == ["by the parent"]
    finally:
        os.kill(child, signal.SIGKILL)


def fork_while_waiting(link: Connection, side: Path) -> None:
    """Fork while another thread waits for the lock; then get it, and live on until killed."""
    lock = SideLock(side, purpose="the one that waits")
    got = threading.Event()

    def take() -> None:
        lock.acquire(HANG_S)
        got.set()

    threading.Thread(target=take, daemon=True).start()
    until(lambda: any(os.readlink(entry) == str(side) for entry in descriptors()), "the thread waits")
    child = fork()
    if child == 0:
        time.sleep(HANG_S)
        os._exit(0)
    link.send(child)
    assert got.wait(HANG_S)
    link.send("got it")
    time.sleep(HANG_S)


def descriptors() -> list[Path]:
    return [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]


def test_a_child_forked_while_a_thread_waits_does_not_keep_the_lock(tmp_path: Path, start: Starter) -> None:
    """The child inherits what was opened to wait with. It became the lock when the parent's wait was over, and the
    lock outlived the killed parent as long as the child ran."""
    side = tmp_path / "a.meh.lock"
    lock = SideLock(side, purpose="the first")
    lock.acquire(0.0)
    parent = start(fork_while_waiting, side)
    child = parent.hear()
    try:
        lock.release()
        assert parent.hear() == "got it"
        parent.kill()
        os.kill(child, 0)
        lock.acquire(0.0)
        lock.release()
    finally:
        os.kill(child, signal.SIGKILL)


EXITS = {
    "os._exit": "os._exit(0)",
    "an exception": "raise ValueError('a bug of the host')",
    "the end of the script": "",
    "sys.exit in a thread's sight": "threading.Thread(target=time.sleep, args=(0.1,)).start(); sys.exit(0)",
    "a handle in a cycle": "db.me = db; keep = [db]; keep.append(keep)",
    "a handle in a module that dies late": "sys.modules['held'] = db",
    "SIGTERM": "os.kill(os.getpid(), 15); time.sleep(100)",
    "closing at exit": "atexit.register(db.close)",
    "writing at exit": "atexit.register(lambda: (db.remember('at exit'), db.close()))",
    "writing at exit without closing": "atexit.register(db.remember, 'at exit')",
}
SCRIPT = """
import atexit, os, sys, threading, time
import memhop
db = memhop.DB.open(sys.argv[1], mode={mode!r}, durability={durability!r})
note = db.remember("acknowledged")
db.recall("acknowledged")
print(note.id, flush=True)
"""


@pytest.mark.parametrize("name", EXITS)
def test_a_process_that_ends_without_closing(tmp_path: Path, name: str) -> None:
    """What was acknowledged is there, nothing looks torn, nobody has to wait, nothing is said on the error stream."""
    path = tmp_path / "a.meh"
    mode, durability = ("exclusive", "full") if list(EXITS).index(name) % 2 else ("shared", "relaxed")
    ended = run(SCRIPT.format(mode=mode, durability=durability) + EXITS[name], path)
    assert ended.stdout, ended.stderr
    if name == "an exception":
        assert ended.returncode == 1
        told = [line for line in ended.stderr.splitlines() if "Error" in line and not line.startswith(" ")]
        assert told == ["ValueError: a bug of the host"]
    else:
        assert ended.returncode == (-signal.SIGTERM if name == "SIGTERM" else 0), ended.stderr
        assert ended.stderr == ""
    assert notes_of(path) == ["acknowledged", "at exit"] if "writing" in name else ["acknowledged"]
    assert not list(tmp_path.glob("a.meh.torn-*"))


def test_an_exception_inside_the_block_closes_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with suppress(ZeroDivisionError), DB.open(path) as db:
        db.remember("before the bug")
        raise ZeroDivisionError
    assert db.closed
    assert notes_of(path) == ["before the bug"]
