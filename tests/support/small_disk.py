"""Small file systems: of this process (`mounted`), or of a process and its mount namespace, gone with it."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB, StorageError
from tests.support.memories import every
from tests.support.processes import Starter

SIZE = 2 * 1024 * 1024
_CLONE_NEWNS = 0x00020000

Act = Callable[[Path], None]  # a function of a module: it runs in the process that sees the disk


def run_on_small_disk(start: Starter, act: Act, folder: Path) -> None:
    """Mount a small disk on the folder and run `act(folder)`. Skips the test where mounting is not allowed."""
    worker = start(_on_small_disk, act, folder)
    if why_not := worker.hear():
        pytest.skip(why_not)
    worker.finish()


def fill(folder: Path, *, leave: int = 0) -> Path:
    """Take all the space but `leave` bytes. Returns what to remove to get it back."""
    ballast = folder / "ballast"
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    with open(ballast, "ab") as file:
        if free > leave:
            os.posix_fallocate(file.fileno(), 0, free - leave)
    return ballast


def refused(act: Callable[[], object]) -> StorageError:
    """The error of a call that finds the disk full."""
    with pytest.raises(StorageError, match="No space left") as caught:
        act()
    assert caught.value.hint
    return caught.value


def whole(db: DB, texts: list[str]) -> None:
    """The memory holds these notes, can be searched, and checks out."""
    assert sorted(note.text for note in every(db.notes.list)) == sorted(texts)
    if texts:
        assert texts[-1] in [hit.text for hit in db.recall(texts[-1], limit=50).hits]
    report = db.verify(deep=True)
    assert report.ok, report.problems


@contextmanager
def mounted(folder: Path, *, mebibytes: int) -> Iterator[Path]:
    """A small file system at `folder`, which is made for it. Skips the test where mounting is not allowed."""
    if os.geteuid():
        pytest.skip("only root may mount a small disk")
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _on_small_disk(link: Connection, act: Act, folder: Path) -> None:
    why_not = _mount(folder)
    link.send(why_not)
    if not why_not:
        act(folder)


def _mount(folder: Path) -> str:
    """Returns why not, "" if it is there."""
    if os.geteuid():
        return "only root may mount a small disk"
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS):
        return f"no mount namespace of its own: {os.strerror(ctypes.get_errno())}"
    for command in (
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return f"mounting is not allowed here: {done.stderr.strip()}"
    return ""
