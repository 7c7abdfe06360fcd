"""Compaction: the live records of a file, or its whole history, rewritten without dead bytes.

Written to `<name>.meh.compact`, read back with the same replay that opens files, compared record by record with
the old file, synced, renamed over it. Until the rename the old file is untouched; whatever fails, it stays in use.

Without history the new log is one commit, number + 1, that carries the old head digest: history stays one chain.
With history every commit keeps its number and time; digests stay as well, up to the first commit that lost a
version of a purged id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memhop.common.errors import Corrupt, MemhopError, StorageError
from memhop.core.batch import Encoder, Write
from memhop.core.create import first_header, write_empty
from memhop.core.disk import Disk, DiskFile, hint_of, quietly, write_all
from memhop.core.format import DELETED, PURGED, Point
from memhop.core.frame import Window
from memhop.core.header import FIRST_BATCH, Identity
from memhop.core.log_state import LogState, load, rows_healing
from memhop.core.manifest import Manifest
from memhop.core.records import RecordIndex
from memhop.core.replay import Replay
from memhop.core.segment import check_sections
from memhop.core.side_files import beside
from memhop.core.views import write_header, write_manifest, write_segment
from memhop.core.writer import LogWriter

if TYPE_CHECKING:
    from memhop.core.segment import SectionData

_STREAMED = 1024 * 1024  # bytes gathered before they are written


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What compaction did. Sizes are of the file; `records` are live ones, `dropped` frames of purged ids."""

    bytes_before: int
    bytes_after: int
    records: int
    commits: int
    dropped: int
    generation: int


class Rewriter:
    """Writes a fresh .meh file batch by batch. The file must be empty."""

    def __init__(self, file: DiskFile, identity: Identity) -> None:
        self.identity = identity
        self.file = file
        self.head = identity.base
        write_empty(file, identity)

    def batch(self, writes: Iterable[Write], *, number: int, time_ms: int) -> None:
        """Append one commit, streaming: `writes` may be larger than memory."""
        start = position = self.head.end
        encoder = Encoder(self.identity.salt, self.head, start)
        for write in writes:
            encoder.add(write)
            if encoder.buffered >= _STREAMED:
                position = self._flush(encoder, position)
        # The whole file is synced before it gets its name, so every commit in it is known to be on disk.
        self.head = encoder.close(number, time_ms, number)
        self._flush(encoder, position)

    def _flush(self, encoder: Encoder, position: int) -> int:
        data = encoder.take()
        write_all(self.file, data, position)
        return position + len(data)

    def checkpoint(self, sections: Mapping[str, SectionData], meta: Mapping[str, Any]) -> None:
        """Close the file: one segment over everything, its manifest, the header; synced."""
        salt, base = self.identity.salt, self.identity.base
        index, live = self._read_back()
        if self.head.number == base.number:  # no commit, nothing to cover: there is only meta to keep
            end = write_manifest(self.file, self.head.end, salt=salt, manifest=Manifest(base, (), 0, dict(meta)))
            self._publish(base, self.head.end, end)
            return
        info = write_segment(
            self.file,
            self.head.end,
            salt=salt,
            number=1,
            commits=(base.number + 1, self.head.number),
            index=index.merged(()),
            sections=sections,
        )
        offset = info.offset + info.bytes
        end = write_manifest(self.file, offset, salt=salt, manifest=Manifest(self.head, (info,), live, dict(meta)))
        self._publish(self.head, offset, end)

    def finish(self) -> None:
        """Close the file without a checkpoint; synced."""
        self._read_back()
        self._publish(self.identity.base, 0, self.head.end)

    def _read_back(self) -> tuple[RecordIndex, int]:
        """Replay what was written. Returns its record index and the bytes of its live frames."""
        index = RecordIndex((), lambda offset: 0)
        sizes: dict[int, int] = {}
        replay = Replay(Window(self.file, self.head.end), self.identity.salt, self.identity.base, self.head)
        for batch in replay:
            sizes.update((ref.id, 0 if ref.flags & DELETED else ref.end - ref.offset) for ref in batch.frames)
            index.apply(batch.frames)
        if replay.head != self.head or replay.damage:
            raise Corrupt("the rewritten log does not read back", offset=replay.head.end)
        return index, sum(sizes.values())

    def _publish(self, covered: Point, manifest: int, end: int) -> None:
        """One fsync is enough: nobody sees the file before it is renamed."""
        header = first_header(self.identity)._replace(
            sequence=2, covered=covered, manifest=manifest, durable=self.head, published=end
        )
        write_header(self.file, 1, header)
        self.file.fsync()


def successor(state: LogState, disk: Disk, *, keep_history: bool) -> Identity:
    """Who the rewritten file is: same UUID, next generation, new salt."""
    old = state.identity
    salt = int.from_bytes(disk.entropy(4), "little")
    base = old.base if keep_history else state.head._replace(end=FIRST_BATCH)
    return Identity(old.uuid, salt, old.generation + 1, old.created_ms, base)


def compact(
    disk: Disk,
    path: Path,
    writer: LogWriter,
    sections_of: Callable[[], Mapping[str, SectionData]],
    meta: Mapping[str, Any],
    *,
    keep_history: bool,
    now_ms: Callable[[], int],
) -> CompactReport:
    """Rewrite the file behind `writer` and let it go on with the new one. Needs leader and lock."""
    writer.check()
    old = writer.state
    before = max(old.end, writer.allocated)
    temporary = beside(path, ".compact")
    quietly(lambda: disk.remove(temporary))
    try:
        file = disk.open(temporary, create=True)
        try:
            rewriter = Rewriter(file, successor(old, disk, keep_history=keep_history))
            dropped = 0
            if keep_history:
                dropped = _copy_history(old, rewriter)
            else:
                time_ms = max(now_ms(), old.head.time_ms)
                rewriter.batch(_live_writes(old), number=old.head.number + 1, time_ms=time_ms)
            sections = sections_of()
            check_sections(sections)
            rewriter.checkpoint(sections, meta)
            fresh = load(file)
            records = compare(old, fresh)
            if file.size() != fresh.end or disk.identity(path) != old.file.identity():
                raise StorageError(f"{path} is not the file that was opened", hint="close and open it again")
            disk.rename(temporary, path, replace=True)
        except BaseException:
            file.close()
            quietly(lambda: disk.remove(temporary))
            raise
    except Corrupt as error:
        error.hint = "save what is readable: `memhop repair --to NEW`"
        raise
    except MemhopError:
        raise
    except OSError as error:
        raise StorageError(f"cannot compact {path}: {error}", hint=hint_of(error)) from error
    # From here on the new file is the file. The old one closes when its last reader lets go of it.
    writer.adopt(fresh, on_disk=True)
    writer.moved()
    return CompactReport(
        before, fresh.end, records, fresh.head.number - fresh.identity.base.number, dropped, fresh.identity.generation
    )


def _live_writes(state: LogState) -> Iterable[Write]:
    """Every live record in log order. Raises Corrupt at a damaged one."""
    for offset in sorted(offset for _, _, offset in rows_healing(state)):
        ref, payload = state.reader.frame(offset, state.end)
        yield Write(ref.kind, ref.id, bytes(payload))


def _copy_history(state: LogState, rewriter: Rewriter) -> int:
    """Every commit, without the versions a purge has struck out. Returns how many those were."""
    purged: dict[int, int] = {}
    for batch in (replay := _history(state)):
        if not batch.whole:
            raise Corrupt(f"commit {batch.point.number}", offset=batch.point.end)
        purged.update({ref.id: ref.offset for ref in batch.frames if ref.flags & PURGED})
    if replay.head != state.head:
        raise Corrupt("the log ends early", offset=replay.head.end)
    dropped = 0
    for batch in _history(state):
        kept = [ref for ref in batch.frames if ref.flags or ref.offset > purged.get(ref.id, 0)]
        dropped += len(batch.frames) - len(kept)
        frames = (state.reader.frame(ref.offset, state.end) for ref in kept)
        writes = (Write(ref.kind, ref.id, bytes(payload), ref.flags) for ref, payload in frames)
        rewriter.batch(writes, number=batch.point.number, time_ms=batch.point.time_ms)
    return dropped


def _history(state: LogState) -> Replay:
    return Replay(Window(state.file, state.end), state.identity.salt, state.identity.base, state.head)


def compare(old: LogState, fresh: LogState) -> int:
    """Raises Corrupt unless both hold the same live records. Returns how many."""
    count = 0
    theirs = fresh.records.rows()
    for id_, kind, offset in rows_healing(old):
        row = next(theirs, None)
        if row is None or row[:2] != (id_, kind):
            raise Corrupt(f"compaction lost record {id_:016x}", offset=offset)
        _, payload = old.reader.frame(offset, old.end)
        if fresh.reader.frame(row[2], fresh.end)[1] != payload:
            raise Corrupt(f"compaction changed record {id_:016x}", offset=offset)
        count += 1
    if next(theirs, None) is not None:
        raise Corrupt("compaction brought a record back", offset=0)
    return count
