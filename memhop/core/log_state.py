"""What one handle knows of the log at one moment, and how that is loaded from the file.

Loading is the same after a clean close, a crash and a failed fsync: newest good header, its checkpoint, and a
replay of what lies behind. Nothing is written here; core/recovery.py decides what to do about what was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memhop.common.errors import BadFormat, Corrupt
from memhop.core.commit import decode_commit
from memhop.core.disk import DiskFile
from memhop.core.format import (
    GENESIS,
    HEADER_OFFSETS,
    HEADER_SIZE,
    LOG_START,
    MANIFEST,
    Point,
)
from memhop.core.frame import Window, commit_marks, examine
from memhop.core.header import (
    FIRST_BATCH,
    Header,
    Identity,
    decode_genesis,
    decode_header,
    explain_foreign,
    newest,
)
from memhop.core.manifest import Manifest, decode_manifest
from memhop.core.reader import LogReader
from memhop.core.records import Entry, RecordIndex
from memhop.core.replay import Replay
from memhop.core.segment import Segment


@dataclass(slots=True)
class LogState:
    """The log as one handle sees it.

    Attributes:
        headers: Both headers, None where the bytes do not check out.
        slot: Which of them is live; the other one is overwritten next.
        genesis_lost: The genesis frame does not check out.
        checkpoint_lost: Why the checkpoint the header names was not used; "" if it was, or there is none.
        manifest: Of the checkpoint in use, None without one.
        head: The newest commit.
        end: The published end: just past the newest commit or view.
        tail: Entries behind the checkpoint, in log order.
        replay: What the walk over the tail found.
    """

    file: DiskFile
    identity: Identity
    headers: tuple[Header | None, Header | None]
    slot: int
    genesis_lost: bool
    checkpoint_lost: str
    manifest: Manifest | None
    manifest_offset: int
    reader: LogReader
    records: RecordIndex
    head: Point
    end: int
    tail: list[Entry]
    replay: Replay

    @property
    def header(self) -> Header | None:
        """The live header."""
        return self.headers[self.slot]

    @property
    def covered(self) -> Point:
        """What the checkpoint in use covers; the base of the log without one."""
        return self.manifest.covered if self.manifest else self.identity.base

    def frozen(self) -> LogState:
        """This moment, kept: published bytes never change, so it can be read without the lock that this call needs.

        Cost: O(entries behind the checkpoint).
        """
        return replace(self, records=self.records.copy(), tail=list(self.tail))


def load(file: DiskFile, *, end: int | None = None) -> LogState:
    """Read headers, checkpoint and tail.

    Args:
        end: Take the file to end here. None: at its size.

    Raises:
        BadFormat: not a .meh file, or one of a newer version.
        OSError: as the disk does.

    Cost: O(segments + frames behind the checkpoint).
    """
    window = Window(file, file.size() if end is None else min(end, file.size()))
    headers, header, identity, genesis_lost = read_identity(file, window)
    slot = headers.index(header) if header else len(headers) - 1
    reader = LogReader(file, identity.salt)
    manifest, views_end, lost = _checkpoint(window, identity, header)
    published = header.published if header and header.published <= window.end else views_end
    if manifest is not None and header is not None:
        reader.remap(min(header.published, window.end))
    segments = tuple(Segment(info, reader.mapping) for info in manifest.segments) if manifest else ()
    records = RecordIndex(segments, reader.size_of, manifest.live_bytes if manifest else 0)
    start = manifest.covered if manifest else identity.base
    replay = Replay(window, identity.salt, start, header.durable if header else start)
    state = LogState(
        file,
        identity,
        headers,
        slot,
        genesis_lost,
        lost,
        manifest,
        header.manifest if header and manifest else 0,
        reader,
        records,
        start,
        start.end,
        [],
        replay,
    )
    for batch in replay:
        try:
            entries = records.apply(batch.frames)
        except Corrupt:
            rebuild_base(state)
            entries = records.apply(batch.frames)
        state.tail += entries
    state.head = replay.head
    # Views behind the head stay when no header says how far the published bytes go.
    state.end = max(replay.head.end, published if header else replay.views_end)
    return state


def rebuild_base(state: LogState) -> None:
    """Replace the damaged core sections of the checkpoint by an index replayed from the log in front of it."""
    covered = state.covered
    index = RecordIndex((), lambda offset: 0)
    window = Window(state.file, covered.end)
    for batch in Replay(window, state.identity.salt, state.identity.base, covered):
        index.apply(batch.frames)
    state.records.base = {id_: row for id_, row in index.delta.items() if row[0]}


def locate_healing(state: LogState, id_: int) -> tuple[int, int] | None:
    """`RecordIndex.locate`, replacing damaged core sections on the way. Needs the lock of the handle."""
    try:
        return state.records.locate(id_)
    except Corrupt:
        rebuild_base(state)
        return state.records.locate(id_)


def rows_healing(state: LogState) -> Iterator[tuple[int, int, int]]:
    """`RecordIndex.rows`, replacing damaged core sections on the way. Needs the lock of the handle."""
    try:
        return state.records.rows()
    except Corrupt:
        rebuild_base(state)
        return state.records.rows()


def read_identity(
    file: DiskFile, window: Window
) -> tuple[tuple[Header | None, Header | None], Header | None, Identity, bool]:
    """Both headers, the live one, who the file is, and whether its genesis frame is lost. Raises BadFormat."""
    first, second = (decode_header(file.pread(HEADER_SIZE, offset)) for offset in HEADER_OFFSETS)
    header = newest((first, second))
    sight = examine(window, 0, LOG_START, mend=False)
    genesis = None
    if not sight.fault and sight.ref is not None and sight.ref.kind == GENESIS:
        genesis = decode_genesis(sight.payload)
    if header is None:
        if genesis is None:
            raise BadFormat(explain_foreign(file.pread(16, 0)), hint="check the path, or restore a backup")
        return (None, None), None, genesis, False
    if genesis is not None and (genesis.uuid, genesis.salt) == (header.uuid, header.salt):
        return (first, second), header, genesis, False
    base = header.covered if not header.manifest else _first_base(window, header)
    identity = Identity(header.uuid, header.salt, header.generation, header.created_ms, base)
    return (first, second), header, identity, True


def _first_base(window: Window, header: Header) -> Point:
    """Where the chain begins, told by the first commit frame because the genesis frame is gone."""
    for payload in commit_marks(window, header.salt, FIRST_BATCH):
        record = decode_commit(payload)
        if record is not None:
            return Point(max(record.number - 1, 0), 0, FIRST_BATCH, record.previous)
    raise BadFormat("the headers are there, the log is gone", hint="restore a backup")


def _checkpoint(window: Window, identity: Identity, header: Header | None) -> tuple[Manifest | None, int, str]:
    """The manifest the header names if every byte of it checks out, the end of its frame, and why not otherwise."""
    if header is None:
        return None, 0, "both headers are damaged"
    if not header.manifest:
        return None, 0, ""
    sight = examine(window, identity.salt, header.manifest)
    if sight.fault not in ("", "mended") or sight.ref is None or sight.ref.kind != MANIFEST:
        return None, 0, f"the manifest at byte {header.manifest} is damaged"
    manifest = decode_manifest(sight.payload, offset=header.manifest)
    if manifest is None or manifest.covered != header.covered or sight.ref.end > header.published:
        return None, 0, f"the manifest at byte {header.manifest} does not fit its header"
    return manifest, sight.ref.end, ""
