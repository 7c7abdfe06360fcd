"""Automatic copies: when one is due, the thread that makes it, and which are kept.

What is known of earlier copies is read from their folder each time one seems due, under the claim on the name where
the next one grows. So handles of several processes agree, and nothing is stored twice.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.api import reports, results
from memhop.api.backups import Backups, copies_in, folder_of, name_of, stem_of, temporary_in
from memhop.common.config import check_path
from memhop.common.errors import Locked, StorageError
from memhop.core.backup import Original, claimed, make_folder, publish, uuid_of, write_copy

if TYPE_CHECKING:
    from memhop.common.clock import Clock
    from memhop.core.meh_file import MehFile

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
FIRST_PAUSE_MS = 60_000  # after a failed copy
LONGEST_PAUSE_MS = HOUR_MS
MOST_LEFT_FREE = 64 * 1024 * 1024  # bytes; of a smaller memory, as many as it has


class Rotation:
    """The automatic copies of one handle.

    Attributes:
        folder: Where they go.
        last_error: Why the newest try failed, None if it did not. One line.
        last: The newest copy which this handle made, None before the first.
    """

    def __init__(self, file: MehFile, clock: Clock, settings: Backups) -> None:
        self.folder = folder_of(file.path) if settings.folder is None else check_path(settings.folder, field="folder")
        self.last_error: str | None = None
        self.last: results.Backup | None = None
        self._file = file
        self._clock = clock
        self._settings = settings
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._newest: results.BackupFile | None = None  # as last read from the folder
        self._resting_since_ms = 0
        self._rest_ms = 0
        self._locked_out_since_ms = 0

    def committed(self, number: int) -> None:
        """Commit `number` was made: begin a copy if one is due. Never raises, never waits for a disk."""
        now = self._clock.now_ms()
        if 0 <= now - self._resting_since_ms < self._rest_ms or not due(self._settings, self._newest, number, now):
            return
        with self._guard:
            if self._closed or self.running:
                return
            self._thread = threading.Thread(target=self._run, name="memhop backup", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # no more threads, or the interpreter is ending
                self._thread = None
                self._failed(error)

    @property
    def running(self) -> bool:
        """Whether a copy is being made, or looked for, right now."""
        return self._thread is not None and self._thread.is_alive()

    def wait(self) -> None:
        """Return once no copy is being made."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """No copy begins after this. Waits for one that is being made."""
        with self._guard:
            self._closed = True
        self.wait()

    def _run(self) -> None:
        """The thread. Whatever happens is noted and goes no further: nobody waits for this copy."""
        try:
            self._copy()
        except Locked as error:  # another process is at it; for an hour, that is no longer normal
            self._rest(FIRST_PAUSE_MS)
            self._locked_out_since_ms = self._locked_out_since_ms or self._resting_since_ms
            if self._resting_since_ms - self._locked_out_since_ms >= HOUR_MS:
                self.last_error = str(error)
        except Exception as error:
            self._failed(error)
        else:
            self.last_error, self._rest_ms, self._locked_out_since_ms = None, 0, 0

    def _failed(self, error: Exception) -> None:
        self.last_error = " ".join(str(error).split()) or type(error).__name__
        self._rest(min(max(FIRST_PAUSE_MS, self._rest_ms * 2), LONGEST_PAUSE_MS))

    def _rest(self, milliseconds: int) -> None:
        self._resting_since_ms = self._clock.now_ms()
        self._rest_ms = milliseconds

    def _copy(self) -> None:
        begun = time.perf_counter()
        path = self._file.path
        temporary = temporary_in(make_folder(self.folder), path)
        with self._file.original() as original, claimed(original.disk, temporary, wait=0) as file:
            now, commit = self._clock.now_ms(), original.head.number
            copies = self._ours(original)
            past = (copy for copy in copies if copy.made_at <= now)  # the clock may have been ahead
            self._newest = max(past, key=_age, default=None)
            if not due(self._settings, self._newest, commit, now):
                return
            _check_room(self.folder, original.end)
            write_copy(original, file)
            report = publish(original, temporary, self.folder / name_of(path, now, commit))
            self.last = reports.backup(report, seconds=time.perf_counter() - begun)
            self._newest = results.BackupFile(str(report.path), stem_of(path), now, commit, report.size)
            for copy in superseded(self._settings, [*copies, self._newest], now):
                if copy != self._newest:
                    with suppress(FileNotFoundError):
                        os.unlink(copy.path)

    def _ours(self, original: Original) -> list[results.BackupFile]:
        """Copies of this very memory in the folder; another one may have the same name."""
        found = []
        for copy in copies_in(self.folder, stem=stem_of(self._file.path)):
            with suppress(OSError):  # one that cannot be read is left alone
                if uuid_of(original.disk, Path(copy.path)) == original.identity.uuid:
                    found.append(copy)
        return found


def due(settings: Backups, newest: results.BackupFile | None, commit: int, now_ms: int) -> bool:
    """Whether it is time for a copy. A memory behind its newest copy was restored: its history is a new one."""
    if newest is None or commit < newest.commit:
        return True
    old = now_ms - newest.made_at >= settings.every_hours * HOUR_MS
    return commit - newest.commit >= settings.every_commits or (old and commit > newest.commit)


def superseded(settings: Backups, copies: Iterable[results.BackupFile], now_ms: int) -> list[results.BackupFile]:
    """The copies that need not be kept, by the rule of `Backups`."""
    ordered = sorted(copies, key=_age, reverse=True)
    kept = {copy.path for copy in ordered[: settings.keep]}
    for period, most in ((_day, settings.daily), (_week, settings.weekly)):
        newest_of: dict[int, str] = {}
        for copy in ordered:
            if period(copy.made_at) > period(now_ms) - most:
                newest_of.setdefault(period(copy.made_at), copy.path)
        kept.update(newest_of.values())
    return [copy for copy in ordered if copy.path not in kept]


def _check_room(folder: Path, size: int) -> None:
    """Raises StorageError where a copy might take the last space: a call of the memory would fail for want of it."""
    file_system = os.statvfs(folder)
    free = file_system.f_bavail * file_system.f_frsize
    needed = size + min(size, MOST_LEFT_FREE)
    if free < needed:
        raise StorageError(
            f"{folder} has {free:,} bytes left, a copy is made from {needed:,} on", hint="free some space"
        )


def _age(copy: results.BackupFile) -> tuple[int, int]:
    return copy.made_at, copy.commit


def _day(at_ms: int) -> int:
    return at_ms // DAY_MS


def _week(at_ms: int) -> int:
    return (at_ms // DAY_MS + 3) // 7  # 1 January 1970 was a Thursday; ISO weeks begin on Monday
