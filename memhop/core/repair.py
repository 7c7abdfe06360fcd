"""Repair: everything readable of a damaged file, written into a clean new one. The source is only read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memhop.common.errors import Corrupt, MemhopError, StorageError
from memhop.core.batch import Write
from memhop.core.compaction import Rewriter, successor
from memhop.core.disk import Disk, FileDisk, quietly
from memhop.core.frame import Window, examine
from memhop.core.log_state import LogState, load, rebuild_base, rows_healing
from memhop.core.recovery import beside
from memhop.core.replay import Damage, Replay


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did.

    Attributes:
        records: Live records in the new file.
        lost: Live records that could not be read, and bytes of records of which not even the id could be read
            (id 0); empty if every record was saved. Kinds and ids as the frame states them.
        damage: All damage found in the source, harmless or not.
        tail_bytes: Behind the newest commit, left out: the residue of a crash.
        head_digest: Hex, of the new file. Its history begins with the old head.
    """

    records: int
    lost: tuple[Damage, ...]
    damage: tuple[Damage, ...]
    tail_bytes: int
    head_digest: str


def repair(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    disk: Disk | None = None,
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> RepairReport:
    """Write the live records of `source` into a new file `target`.

    The new file has the same UUID, the next generation, one commit and no checkpoint: views are rebuilt when it
    is opened. It continues the chain of the source.

    Raises:
        BadFormat: neither header nor genesis frame of the source can be read, or a newer version wrote it.
        StorageError: the disk failed, or `target` exists.

    Cost: reads the source twice.
    """
    disk = disk or FileDisk()
    old_path, new_path = Path(os.path.realpath(source)), Path(os.path.realpath(target))
    try:
        file = disk.open(old_path, write=False)
        try:
            return _repair(disk, load(file), new_path, now_ms)
        finally:
            file.close()
    except MemhopError:
        raise
    except OSError as error:
        hint = "give the path of a file that does not exist yet" if isinstance(error, FileExistsError) else None
        raise StorageError(f"cannot repair {old_path} to {new_path}: {error}", hint=hint) from error


def _repair(disk: Disk, state: LogState, target: Path, now_ms: Callable[[], int]) -> RepairReport:
    if disk.identity(target) is not None:
        raise FileExistsError(f"{target} exists")
    window = Window(state.file, state.file.size())
    durable = state.header.durable if state.header else state.identity.base
    replay = Replay(window, state.identity.salt, state.identity.base, durable)
    for _ in replay:
        pass
    lost = [damage for damage in replay.damage if damage.what == "unreadable bytes"]
    records = 0

    def readable() -> Iterator[Write]:
        nonlocal records
        for write in _salvage(state, lost):
            records += 1
            yield write

    temporary = beside(target, ".new")
    fresh = disk.open(temporary, create=True)
    try:
        rewriter = Rewriter(fresh, successor(state, disk, keep_history=False))
        rewriter.batch(readable(), number=state.head.number + 1, time_ms=max(now_ms(), state.head.time_ms))
        rewriter.finish()
        disk.rename(temporary, target, replace=False)
        disk.sync_directory(target.parent)
    except BaseException:
        quietly(lambda: disk.remove(temporary))
        raise
    finally:
        fresh.close()
    return RepairReport(
        records,
        tuple(sorted(lost)),
        tuple(replay.damage),
        max(0, replay.residue_end - state.end),
        rewriter.head.digest.hex(),
    )


def _salvage(state: LogState, lost: list[Damage]) -> Iterator[Write]:
    """The live records that can be read, in log order; the others are added to `lost`."""
    if any(_contradicted(state, *row) for row in rows_healing(state)):
        rebuild_base(state)  # a record index that names other records than stand there is of no use
    for offset, id_, kind in sorted((offset, id_, kind) for id_, kind, offset in rows_healing(state)):
        try:
            _, payload = state.reader.frame(offset, state.end)
        except Corrupt as error:
            sight = examine(Window(state.file, state.end), state.identity.salt, offset)
            if sight.fault != "mended" or sight.ref is None or (sight.ref.kind, sight.ref.id) != (kind, id_):
                size = state.reader.size_of(offset) if sight.ref else 0
                lost.append(Damage(offset, size, error.what, kind, id_))
                continue
            payload = sight.payload
        yield Write(kind, id_, bytes(payload))


def _contradicted(state: LogState, id_: int, kind: int, offset: int) -> bool:
    """Whether a whole frame stands where the record index says, but of another record, or none at all."""
    try:
        ref, _ = state.reader.frame(offset, state.end)
    except Corrupt as error:
        return error.what not in ("frame head", "frame checksum")
    return (ref.kind, ref.id) != (kind, id_)
