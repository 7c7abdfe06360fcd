"""Repair: everything readable of a damaged file, written into a clean new one. The source is only read."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memhop.common.errors import Corrupt, MemhopError, StorageError
from memhop.core.batch import Write
from memhop.core.compaction import Rewriter, successor
from memhop.core.disk import Disk, FileDisk, quietly, reason
from memhop.core.format import DELETED, HEADER_OFFSETS, HEADER_SIZE, LOG_START, MANIFEST
from memhop.core.frame import Window, examine
from memhop.core.log_state import LogState, load_calmly, rebuild_base, rows_healing
from memhop.core.replay import Damage, Replay
from memhop.core.side_files import beside

Usable = Callable[[int, int, bytes], str]  # (kind, id, payload) -> why the record cannot be used, "" if it can
_UNREADABLE = "unreadable bytes"


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did.

    Attributes:
        records: Live records in the new file.
        lost: Live records that could not be read, and bytes of records of which not even the id could be read
            (id 0); empty if every record was saved. Kinds and ids as the frame states them.
        older: For each lost id that has them, how many earlier versions the source holds. They were not brought back:
            what has been replaced does not become true again because its successor was lost.
        damage: All damage found in the source, harmless or not.
        tail_bytes: Behind the newest commit, left out: the residue of a crash.
        head_digest: Hex, of the new file. Its history begins with the old head.
    """

    records: int
    lost: tuple[Damage, ...]
    older: Mapping[int, int]
    damage: tuple[Damage, ...]
    tail_bytes: int
    head_digest: str


def repair(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    usable: Usable = lambda kind, id_, payload: "",
    disk: Disk | None = None,
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> RepairReport:
    """Write the live records of `source` into a new file `target`.

    The new file has the same UUID, the next generation, one commit and no checkpoint: views are rebuilt when it
    is opened. It continues the chain of the source. No lock is taken: of a file that is being written, the commits
    of one moment are saved.

    Args:
        usable: Says what is wrong with a record whose bytes check out; such records are lost like damaged ones.

    Raises:
        BadFormat: neither header nor genesis frame of the source can be read, or a newer version wrote it.
        StorageError: the disk failed, or `target` exists.

    Cost: reads the source three times, four times if records were lost.
    """
    disk = disk or FileDisk()
    old_path, new_path = Path(os.path.realpath(source)), Path(os.path.realpath(target))
    try:
        file = disk.open(old_path, write=False)
        try:
            return _repair(disk, load_calmly(file), new_path, usable, now_ms)
        finally:
            file.close()
    except MemhopError:
        raise
    except OSError as error:
        raise _failed(old_path, new_path, error) from error


@contextmanager
def staging(target: Path, *, disk: Disk | None = None) -> Iterator[Path]:
    """A path to build a file at, which gets the name `target` when the block ends without an error.

    If the block raises, `target` stays what it was: nothing. After a crash it is nothing too, and what was built goes
    away at the next attempt.

    Raises:
        Locked: another process builds the same target, or has it open.
        StorageError: `target` exists, or the disk failed.
    """
    disk = disk or FileDisk()
    stage = beside(target, ".repair")
    beside_it = [stage, *(beside(stage, suffix) for suffix in (".new", ".lock"))]

    def clear() -> None:
        for path in beside_it:
            quietly(lambda path=path: disk.remove(path))  # type: ignore[misc]

    try:
        if disk.identity(target) is not None:
            raise FileExistsError(f"{target} exists")
        side = beside(target, ".lock")
        lock = disk.lock(side, purpose="memhop repair")
        lock.acquire(0.0)
        try:
            clear()
            yield stage
            disk.rename(stage, target, replace=False)
            disk.sync_directory(target.parent)
        finally:
            clear()
            quietly(lambda: disk.remove(side))
            lock.release()
    except MemhopError:
        raise
    except OSError as error:
        raise _failed(None, target, error) from error


def _failed(source: Path | None, target: Path, error: OSError) -> StorageError:
    hint = "give the path of a file that does not exist yet" if isinstance(error, FileExistsError) else None
    what = f"cannot repair {source} to {target}" if source else f"cannot write {target}"
    return StorageError(f"{what}: {reason(error)}", hint=hint)


def _repair(disk: Disk, state: LogState, target: Path, usable: Usable, now_ms: Callable[[], int]) -> RepairReport:
    if disk.identity(target) is not None:
        raise FileExistsError(f"{target} exists")
    window = Window(state.file, state.file.size())
    durable = state.header.durable if state.header else state.identity.base
    replay = Replay(window, state.identity.salt, state.identity.base, durable)
    proven: set[int] = set()  # damaged frames of batches that hash to their digest: the damage is in no content
    seen = 0
    for batch in replay:
        if batch.whole:  # what lies in front of its frames is of a commit that was lost, and nothing vouches for it
            proven.update({ref.offset for ref in batch.frames} & {damage.offset for damage in replay.damage[seen:]})
        seen = len(replay.damage)
    if any(_contradicted(state, *row) for row in rows_healing(state)):
        rebuild_base(state)  # a record index that names other records than stand there is of no use
    rows = sorted((offset, id_, kind) for id_, kind, offset in rows_healing(state))
    lost = [damage for damage in replay.damage if damage.what == _UNREADABLE and _may_hold_records(state, damage)]
    if replay.shortened:
        lost.append(Damage(window.end, durable.end - window.end, "the file is shorter than it was", 0, 0))
    records = 0

    def readable() -> Iterator[Write]:
        nonlocal records
        for write in _salvage(state, rows, proven, usable, lost):
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
        _earlier_versions(state, {damage.id: damage.offset for damage in lost if damage.id}),
        tuple(_damage(state, replay)),
        max(0, replay.residue_end - state.end),
        rewriter.head.digest.hex(),
    )


def _may_hold_records(state: LogState, damage: Damage) -> bool:
    """Whether live records of which nothing else is known may have stood in unreadable bytes.

    Those behind the checkpoint may; in front of it the record index knows each of them. A view is no record.
    """
    manifest = state.manifest
    if manifest is None or state.records.base is not None:
        return True
    end = damage.offset + damage.length
    views = [(segment.offset, segment.offset + segment.bytes) for segment in manifest.segments]
    of_a_view = any(start <= damage.offset and end <= stop for start, stop in views)
    return end > manifest.covered.end and not of_a_view and damage.offset != state.manifest_offset


def _salvage(
    state: LogState,
    rows: Collection[tuple[int, int, int]],
    proven: Collection[int],
    usable: Usable,
    lost: list[Damage],
) -> Iterator[Write]:
    """The live records that can be read, in log order; the others are added to `lost`."""
    for offset, id_, kind in rows:
        try:
            _, payload = state.reader.frame(offset, state.end)
        except Corrupt as error:
            sight = examine(Window(state.file, state.end), state.identity.salt, offset)
            legible = sight.fault == "mended" or (sight.fault == "payload" and offset in proven)
            if not legible or sight.ref is None or (sight.ref.kind, sight.ref.id) != (kind, id_):
                size = state.reader.size_of(offset) if sight.ref else 0
                lost.append(Damage(offset, size, error.what, kind, id_))
                continue
            payload = sight.payload
        found = bytes(payload)
        fault = usable(kind, id_, found)
        if fault:
            lost.append(Damage(offset, state.reader.size_of(offset), fault, kind, id_))
        else:
            yield Write(kind, id_, found)


def _earlier_versions(state: LogState, lost: Mapping[int, int]) -> Mapping[int, int]:
    """How many versions of these records stand in front of the given offsets, since they were last deleted."""
    if not lost:
        return {}
    counted: Counter[int] = Counter()
    for batch in Replay(Window(state.file, state.end), state.identity.salt, state.identity.base, state.head):
        for ref in batch.frames:
            if ref.offset < lost.get(ref.id, 0):
                counted[ref.id] = 0 if ref.flags & DELETED else counted[ref.id] + 1
    return {id_: count for id_, count in counted.items() if count}


def _damage(state: LogState, replay: Replay) -> Iterator[Damage]:
    blank = state.header is not None and state.header.sequence == 1
    for offset, header in zip(HEADER_OFFSETS, state.headers, strict=True):
        if header is None and not blank:
            yield Damage(offset, HEADER_SIZE, "header", 0, 0)
    if state.genesis_lost:
        yield Damage(LOG_START, 0, "genesis frame", 0, 0)
    if state.checkpoint_lost:
        yield Damage(state.header.manifest if state.header else 0, 0, state.checkpoint_lost, MANIFEST, 0)
    yield from replay.damage


def _contradicted(state: LogState, id_: int, kind: int, offset: int) -> bool:
    """Whether a whole frame stands where the record index says, but of another record, or none at all."""
    try:
        ref, _ = state.reader.frame(offset, state.end)
    except Corrupt as error:
        return error.what not in ("frame head", "frame checksum")
    return (ref.kind, ref.id) != (kind, id_)
