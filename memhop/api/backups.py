"""Copies of a memory: `memhop.backups.list`, `verify` and `restore`, and the settings of automatic ones.

    with memhop.DB.open("agent.meh", backups=memhop.Backups(every_hours=6)) as db:
        db.backup("~/agent-before-the-move.meh")
    for copy in memhop.backups.list("agent.meh"):
        print(copy.path, copy.commit)
    memhop.backups.restore("~/agent-before-the-move.meh", "agent.meh")

A copy in a folder is named `<stem>-<UTC time>-c<commit>.meh`; times sort as text. No file says more about a copy than
its name and the copy itself, so that nothing can disagree.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.api import reports, results
from memhop.common.clock import stamp
from memhop.common.config import check_int, check_path, check_seconds
from memhop.common.errors import InvalidRequest, StorageError
from memhop.core import backup as copying
from memhop.core.restore import restore as put_back
from memhop.core.side_files import beside

if TYPE_CHECKING:
    from memhop.core.meh_file import MehFile

FOLDER = ".backups"  # of `agent.meh`: `agent.meh.backups`
_NAME = re.compile(r"(?P<stem>.+)-(?P<time>\d{8}T\d{9}Z)-c(?P<commit>\d{1,20})\.meh", re.ASCII | re.DOTALL)
_STEM_BYTES = 180  # of the memory's name that go into a copy's, so that it fits into the 255 of a file name
_MOST_HOURS = 24 * 366


@dataclass(frozen=True, slots=True)
class Backups:
    """When a memory copies itself, and which copies it keeps. For `DB.open(..., backups=)`.

    After a commit, a copy is due when there is none, when `every_commits` commits came since the newest one, or when
    it is `every_hours` old. One background thread makes it; no call fails or waits because of it, and `close()` waits
    for one that is being made. A failure is kept in `db.backups.last_error`; the next try is made a minute later, then
    two, four, … up to an hour. Then copies are removed, except the newest `keep`, the newest of each of the last
    `daily` days, and the newest of each of the last `weekly` weeks (UTC, weeks begin on Monday).

    Attributes:
        folder: Where copies go. None: `<file>.backups` beside the file. Created with mode 0700.
        every_commits: 1..1,000,000,000.
        every_hours: More than 0, up to 8,784 (a year); fractions are fine.
        keep: 1..1,000.
        daily: 0..366.
        weekly: 0..520.

    Raises:
        InvalidRequest: a value does not do.
    """

    folder: str | os.PathLike[str] | None = None
    every_commits: int = 1000
    every_hours: float = 24
    keep: int = 5
    daily: int = 7
    weekly: int = 4

    def __post_init__(self) -> None:
        if self.folder is not None:
            check_path(self.folder, field="folder")
        check_int(self.every_commits, field="every_commits", low=1, high=1_000_000_000)
        hours = self.every_hours
        if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 < hours <= _MOST_HOURS:
            allowed = f"more than 0, at most {_MOST_HOURS:,}"
            raise InvalidRequest(f"{hours!r:.40} is not allowed", field="every_hours", allowed=allowed)
        check_int(self.keep, field="keep", low=1, high=1000)
        check_int(self.daily, field="daily", low=0, high=366)
        check_int(self.weekly, field="weekly", low=0, high=520)


def verify(path: str | os.PathLike[str]) -> results.Verified:
    """Check a copy from its first byte to its last. Takes no lock and changes nothing.

    Raises:
        BadFormat: not a .meh file, or one of a newer version. StorageError: it cannot be read.
    """
    return reports.verified(copying.verify_file(check_path(path, field="path")), None)


def restore(
    backup: str | os.PathLike[str], to: str | os.PathLike[str], *, wait: float = 0.0, another: bool = False
) -> results.Restored:
    """Put a copy in the place of a memory. What was there is kept as `<name>.replaced-<UTC time>` beside it.

    Args:
        backup: The copy; it stays as it is.
        to: The memory. If there is none it is created.
        wait: Seconds to wait for whoever has `to` open, 0..3600.
        another: Also replace a memory of which `backup` is no copy, or a file that no longer tells whose it is.

    Raises:
        InvalidRequest: both are one file, `to` is a folder, or another memory.
        BadFormat, Corrupt: `backup` is no memory, cut short or damaged.
        Locked: `to` is open somewhere; close it there. StorageError: the disk is full, …
        Whatever is raised, `to` is as it was.
    """
    source, target = check_path(backup, field="backup"), check_path(to, field="to")
    if source.is_dir():
        raise InvalidRequest(f"{source} is a folder", field="backup", allowed="one of the copies in it")
    return reports.restored(
        put_back(source, target, wait=check_seconds(wait, field="wait", high=3600), another=another)
    )


def backup(file: MehFile, path: str | os.PathLike[str], *, now_ms: int, overwrite: bool) -> results.Backup:
    """`DB.backup`."""
    target = check_path(path, field="path")
    begun = time.perf_counter()
    with file.original() as original:
        temporary = None
        if target.is_dir():
            temporary = temporary_in(target, file.path)
            target /= name_of(file.path, now_ms, original.head.number)
        report = copying.backup(original, target, temporary=temporary, overwrite=overwrite)
    return reports.backup(report, seconds=time.perf_counter() - begun)


def stem_of(path: Path) -> str:
    """What the names of copies of a memory begin with."""
    return path.stem.encode("utf-8", "surrogateescape")[:_STEM_BYTES].decode("utf-8", "ignore")


def name_of(path: Path, now_ms: int, commit: int) -> str:
    """The name of a copy of the memory at `path`."""
    return f"{stem_of(path)}-{stamp(now_ms)}-c{commit}.meh"


def temporary_in(folder: Path, path: Path) -> Path:
    """Where a copy grows that is to be named: one name for all, so that two processes see each other."""
    return folder / f"{stem_of(path)}{copying.TEMPORARY}"


def folder_of(path: Path) -> Path:
    """Where the automatic copies of a memory are, unless told otherwise."""
    return beside(path, FOLDER)


def default_folder(path: str | os.PathLike[str]) -> Path:
    """`folder_of` a memory, created unless it is there. Raises StorageError."""
    return copying.make_folder(folder_of(Path(path)))


def copies_in(folder: Path, *, stem: str | None = None) -> Iterator[results.BackupFile]:
    """Files in a folder that are named like copies, in no order. Raises OSError; a missing folder is FileNotFoundError.

    Args:
        stem: Only those of memories of this name.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found is None or (stem is not None and found["stem"] != stem) or not entry.is_file():
                continue
            with suppress(ValueError, FileNotFoundError):  # no date after all; removed by another process
                made = datetime.strptime(found["time"][:-4], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
                yield results.BackupFile(
                    path=entry.path,
                    memory=found["stem"],
                    made_at=int(made.timestamp()) * 1000 + int(found["time"][-4:-1]),
                    commit=int(found["commit"]),
                    bytes=entry.stat().st_size,
                )


def list(path: str | os.PathLike[str]) -> tuple[results.BackupFile, ...]:
    """The copies in a folder, or the automatic ones of a memory; the newest first. Does not look into them.

    Args:
        path: A folder, or a memory: then `<file>.backups` is meant, whether or not the memory itself is still there.

    Raises:
        StorageError: the folder cannot be read. A missing one holds no copies and is no error.
    """
    given = check_path(path, field="path")
    folder = given if given.is_dir() else folder_of(given)
    try:
        found = sorted(copies_in(folder), key=lambda copy: (copy.made_at, copy.commit, copy.path), reverse=True)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StorageError(f"cannot read {folder}: {error.strerror}", hint="check its permissions") from error
    return tuple(found)
