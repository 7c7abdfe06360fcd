"""Open-time decisions: what to do about what `load` found. Only here is a torn tail cut.

The case table is in core/format.py. A file that could not be put in order (no space to save the torn tail, say) is
still opened for reading; the handle then refuses writes and says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from memhop.core.disk import Disk, DiskFile, quietly, write_all
from memhop.core.log_state import LogState
from memhop.core.replay import Damage
from memhop.core.side_files import beside

MOST_DAMAGES = 1000  # listed in a report; `damaged` counts all of them
_CHUNK = 1024 * 1024
LEFTOVERS = (".new", ".compact", ".restore")  # suffixes of temporary files that a crash may leave


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What open found and did.

    Attributes:
        replayed_commits: Commits behind the checkpoint.
        cut_bytes: Of the torn tail that was cut, reserved zeros not counted.
        torn_file: Where the cut bytes were saved; None if they held only zeros or views, or nothing was cut.
        damage: Proven damage in the part that was read, at most 1,000 places. Nothing of it was cut.
        damaged: How many places there were.
        headers_lost: Headers that did not check out; 1 after a crash while one was written (or in a file that
            never had a second), 2 if the file was read from its genesis frame.
        checkpoint_lost: Why the newest checkpoint could not be used and the log was replayed; "" otherwise.
        shortened: The file is shorter than it once was on disk: commits are missing.
        removed: Temporary files of a create, compaction or restore that did not finish.
        refused: Why this handle takes no writes; "" if it does.
    """

    replayed_commits: int = 0
    cut_bytes: int = 0
    torn_file: Path | None = None
    damage: tuple[Damage, ...] = ()
    damaged: int = 0
    headers_lost: int = 0
    checkpoint_lost: str = ""
    shortened: bool = False
    removed: tuple[Path, ...] = ()
    refused: str = ""

    @property
    def clean(self) -> bool:
        """True if nothing was lost, cut or in doubt."""
        lost = self.cut_bytes or self.damaged or self.checkpoint_lost or self.shortened or self.refused
        return not lost and self.headers_lost == 0


def recover(disk: Disk, path: Path, state: LogState, *, now_ms: int, removed: tuple[Path, ...]) -> RecoveryReport:
    """Cut the torn tail behind `state.end`, after saving what is worth saving. Needs the lock.

    Never raises for what the disk does; see `RecoveryReport.refused`.
    """
    replay, file = state.replay, state.file
    torn_file, refused = None, ""
    cut = max(0, replay.residue_end - state.end)
    try:
        if cut:
            worth_saving = max(state.end, replay.views_end)
            if replay.residue_end > worth_saving:
                torn_file = _save(disk, path, file, worth_saving, replay.residue_end, now_ms)
            file.truncate(state.end)
            file.fsync()  # before anything is written there: stale bytes must not come back behind it
        elif state.head.number > replay.durable:
            file.fsync()  # the tail of a killed process may be in memory alone, and others will build on it
    except OSError as error:
        refused = f"the torn tail could not be saved and cut: {error}"
    return replace(found(state), cut_bytes=cut, torn_file=torn_file, removed=removed, refused=refused)


def found(state: LogState) -> RecoveryReport:
    """What there is to say of a file that was opened and left as it is."""
    replay = state.replay
    blank = state.header is not None and state.header.sequence == 1
    return RecoveryReport(
        replayed_commits=state.head.number - state.covered.number,
        damage=tuple(replay.damage[:MOST_DAMAGES]),
        damaged=len(replay.damage),
        headers_lost=0 if blank else state.headers.count(None),
        checkpoint_lost=state.checkpoint_lost,
        shortened=replay.shortened,
    )


def remove_leftovers(disk: Disk, path: Path) -> tuple[Path, ...]:
    """Remove temporaries of a create, compaction or restore that a crash cut short. Needs the lock."""
    removed = []
    for suffix in LEFTOVERS:
        leftover = beside(path, suffix)
        try:
            disk.remove(leftover)
        except FileNotFoundError:
            continue
        removed.append(leftover)
    return tuple(removed)


def _save(disk: Disk, path: Path, source: DiskFile, start: int, stop: int, now_ms: int) -> Path:
    """Copy bytes start..stop of the log into a new file beside it, durably."""
    target = beside(path, f".torn-{now_ms}")
    attempt = 0
    while True:
        try:
            file = disk.open(target, create=True)
            break
        except FileExistsError:
            attempt += 1
            target = beside(path, f".torn-{now_ms}-{attempt}")
    try:
        for offset in range(start, stop, _CHUNK):
            write_all(file, source.pread(min(_CHUNK, stop - offset), offset), offset - start)
        file.fsync()
        disk.sync_directory(path.parent)
    except OSError:
        quietly(lambda: disk.remove(target))
        raise
    finally:
        file.close()
    return target
