"""What one handle knows of the log at one moment, how that is loaded from the file, and how it is kept up.

Loading is the same after a clean close, a crash and a failed fsync: newest good header, its checkpoint, and a
replay of what lies behind. Following what other processes append is the same replay, begun at the head. Nothing is
written here; core/recovery.py decides what to do about what was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memhop.common.errors import BadFormat, Corrupt
from memhop.core.commit import decode_commit
from memhop.core.disk import DiskFile
from memhop.core.format import (
    COMMIT_FRAME_SIZE,
    COMMIT_PAYLOAD,
    GENESIS,
    HEAD,
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
from memhop.core.replay import Batch, Replay
from memhop.core.segment import Segment

_MOST_LOOKS = 20  # at a file that others write to, until two agree about what is wrong with it


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
        mark: The bytes of the head's commit frame, b"" without one. While they stand there, the head is in the log.
        tail: Entries behind the checkpoint, in log order.
        replay: What the newest walk over the tail found.
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
    mark: bytes
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
        b"",
        [],
        replay,
    )
    for batch in replay:
        take_in(state, batch)
    # Views behind the head stay when no header says how far the published bytes go.
    state.end = max(replay.head.end, published if header else replay.views_end)
    state.mark = _mark(state)
    return state


def take_in(state: LogState, batch: Batch) -> None:
    """Apply one batch of a replay: records, tail and head."""
    try:
        entries = state.records.apply(batch.frames)
    except Corrupt:
        rebuild_base(state)
        entries = state.records.apply(batch.frames)
    state.tail += entries
    state.head = batch.point


def load_calmly(file: DiskFile) -> LogState:
    """`load` while another process may be writing: what looks like damage is looked at again.

    A batch that was seen half written, next to a later commit that was seen a moment after, looks like rot. Bytes that
    a proven commit covers are complete when they are read again, so damage is believed once it has been seen twice. So
    is a head whose commit frame is not as it should be: its writer has taken it back meanwhile, or it is rot.
    """
    state = load(file)
    for _ in range(_MOST_LOOKS):
        if not (state.replay.damage or None in state.headers or state.checkpoint_lost) and _stands(state):
            break
        before, state = state, load(file)
        if _found(before) == _found(state) and (
            _stands(state) or (before.head, before.mark) == (state.head, state.mark)
        ):
            break
    return state


def follow(state: LogState) -> LogState | None:
    """Take in what another handle has appended to the same file.

    Returns:
        None if there is nothing new; `state`, grown in place; or another state, where the file had to be read anew: a
        checkpoint was written, or the head was taken back by the process that wrote it.

    Raises: as `load`. Cost: about 3 us when there is nothing new, else as replaying what is.
    """
    file = state.file
    if _mark(state) != state.mark:
        return load_calmly(file)
    if not any(file.pread(HEAD.size, state.end)):
        return None
    headers = read_headers(file)
    header = newest(headers)
    if header is not None and header != state.header and header.manifest != state.manifest_offset:
        return load_calmly(file)  # but not for a manifest that was found to be damaged before
    durable = header.durable if header is not None else state.covered
    replay = Replay(Window(file, file.size()), state.identity.salt, state.head, durable, live=True)
    batches = list(replay)
    if replay.damage:
        return load_calmly(file)
    if not batches:
        return None  # a batch that is being written, or was torn
    for batch in batches:
        take_in(state, batch)
    if header is not None:
        state.headers, state.slot = headers, headers.index(header)
    state.replay = replay
    state.end = max(state.end, replay.head.end)
    state.mark = _mark(state)
    return state if _stands(state) else load_calmly(file)


def _found(state: LogState) -> tuple[object, ...]:
    """What is wrong, so that two looks can agree about it while others go on writing."""
    return state.replay.damage, state.headers.count(None), state.checkpoint_lost


def _stands(state: LogState) -> bool:
    """Whether `mark` is the commit frame of the head. If not, it is rot, or the head was taken back meanwhile."""
    head = state.head
    if head.number == state.identity.base.number:
        return True
    record = decode_commit(memoryview(state.mark)[HEAD.size : HEAD.size + COMMIT_PAYLOAD.size])
    return record is not None and (record.number, record.digest) == (head.number, head.digest)


def _mark(state: LogState) -> bytes:
    if state.head.number == state.identity.base.number:
        return b""
    return state.file.pread(COMMIT_FRAME_SIZE, state.head.end - COMMIT_FRAME_SIZE)


def rebuild_base(state: LogState) -> None:
    """Replace the damaged core sections of the checkpoint by an index replayed from the log in front of it."""
    covered = state.covered
    index = RecordIndex((), lambda offset: 0)
    window = Window(state.file, covered.end)
    for batch in Replay(window, state.identity.salt, state.identity.base, covered):
        index.apply(batch.frames)
    state.records.replace({id_: row for id_, row in index.delta.items() if row[0]})


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
    headers = read_headers(file)
    header = newest(headers)
    sight = examine(window, 0, LOG_START, mend=False)
    genesis = None
    if not sight.fault and sight.ref is not None and sight.ref.kind == GENESIS:
        genesis = decode_genesis(sight.payload)
    if header is None:
        if genesis is None:
            raise BadFormat(explain_foreign(file.pread(16, 0)), hint="check the path, or restore a backup")
        return headers, None, genesis, False
    if genesis is not None and (genesis.uuid, genesis.salt) == (header.uuid, header.salt):
        return headers, header, genesis, False
    base = header.covered if not header.manifest else _first_base(window, header)
    identity = Identity(header.uuid, header.salt, header.generation, header.created_ms, base)
    return headers, header, identity, True


def read_headers(file: DiskFile) -> tuple[Header | None, Header | None]:
    """Both headers, None where the bytes do not check out. Raises BadFormat for those of a newer version."""
    first, second = (decode_header(file.pread(HEADER_SIZE, offset)) for offset in HEADER_OFFSETS)
    return first, second


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
