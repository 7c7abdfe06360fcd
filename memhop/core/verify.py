"""Verify: check every byte that means something, change nothing, say what is wrong and where.

The handle's lock is held for a moment only, to keep what is known of the log; the file is read without it, up to the
published end of that moment, while others go on reading and writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from memhop.common.errors import Corrupt
from memhop.core.format import HEADER_OFFSETS, HEADER_SIZE, LOG_START, MANIFEST, SEGMENT
from memhop.core.frame import Window, examine, sync_marks
from memhop.core.header import decode_header
from memhop.core.log_state import LogState
from memhop.core.manifest import Manifest, decode_manifest
from memhop.core.records import RecordIndex
from memhop.core.replay import Replay, last_byte
from memhop.core.segment import Segment

MOST_PROBLEMS = 1000  # listed; `problem_count` counts all of them


@dataclass(frozen=True, slots=True)
class Problem:
    """Damage at a byte offset. Kind and id are 0 where none is known."""

    offset: int
    what: str
    kind: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What verify found. `records` are live ones; sizes in bytes; `head_digest` is hex: equal digest, equal history."""

    problems: tuple[Problem, ...]
    problem_count: int
    commits: int
    records: int
    live_bytes: int
    dead_bytes: int
    head_digest: str

    @property
    def ok(self) -> bool:
        """True if nothing was found."""
        return self.problem_count == 0


def verify(
    state: LogState, *, deep: bool, lock: AbstractContextManager[object] | None = None, alone: bool = True
) -> VerifyReport:
    """Check headers, genesis, the chain, every frame, the manifest and every section.

    Args:
        deep: Also the sections of older manifests, and the record index row by row against the log.
        lock: Of the handle whose state this is, taken while the state is kept. None: nobody else uses it.
        alone: No other process writes to the file: what stands behind the published end is residue, and not a commit on
            its way.

    Raises:
        OSError: as the disk does.

    Cost: reads the file once, from its first byte to its last; no more memory than the record index.
    """
    with lock or nullcontext():
        state = state.frozen()
        file_end = state.file.size()
        halves = [_half(state, offset, alone) for offset in HEADER_OFFSETS]
        residue = alone and last_byte(Window(state.file, file_end), state.end) > state.end
    problems: list[Problem] = []
    blank = state.header is not None and state.header.sequence == 1
    for offset, half in zip(HEADER_OFFSETS, halves, strict=True):
        if decode_header(half[:HEADER_SIZE]) is None and not (blank and not any(half)):
            problems.append(Problem(offset, "header"))
    if state.genesis_lost:
        problems.append(Problem(LOG_START, "genesis frame"))
    if state.checkpoint_lost:
        offset = state.header.manifest if state.header else 0
        problems.append(Problem(offset, state.checkpoint_lost, MANIFEST))
    if residue:
        problems.append(Problem(state.end, "bytes behind the last commit"))
    window = Window(state.file, min(state.end, file_end))
    durable = state.header.durable if state.header else state.identity.base
    replay = Replay(window, state.identity.salt, state.identity.base, durable, strict=True)
    index = RecordIndex((), state.reader.size_of)
    for batch in replay:
        index.apply(batch.frames)
    problems += [Problem(d.offset, d.what, d.kind, d.id) for d in replay.damage]
    if replay.shortened:
        problems.append(Problem(window.end, "the file is shorter than it was"))
    if replay.head != state.head:
        problems.append(Problem(replay.head.end, "the log does not lead to the newest commit"))
    manifests = [state.manifest] if state.manifest else []
    if deep:
        manifests += _older_manifests(window, state)
        problems += _index_problems(index, state)
    problems += _section_problems(manifests, window)
    problems.sort(key=lambda problem: problem.offset)
    rows = sum(1 for kind, _ in index.delta.values() if kind)
    views = sum(segment.bytes for segment in state.records.segments)
    return VerifyReport(
        tuple(problems[:MOST_PROBLEMS]),
        len(problems),
        state.head.number - state.identity.base.number,
        rows,
        index.live_bytes,
        max(0, state.end - LOG_START - index.live_bytes - views),
        state.head.digest.hex(),
    )


def _half(state: LogState, offset: int, alone: bool) -> bytes:
    """A header and what lies behind it; read again if another process may have been at it."""
    half = state.file.pread(LOG_START // 2, offset)
    if alone or decode_header(half[:HEADER_SIZE]) is not None:
        return half
    return state.file.pread(LOG_START // 2, offset)


def _older_manifests(window: Window, state: LogState) -> list[Manifest]:
    """Manifests in the log that are not the live one; damaged ones have been reported by the replay."""
    found = []
    for offset in sync_marks(window, LOG_START):
        if offset == state.manifest_offset or window.view(offset + 10, 1) != bytes([MANIFEST]):
            continue
        sight = examine(window, state.identity.salt, offset, mend=False)
        if not sight.fault and (manifest := decode_manifest(sight.payload, offset=offset)) is not None:
            found.append(manifest)
    return found


def _section_problems(manifests: list[Manifest], window: Window) -> Iterator[Problem]:
    """Sections whose bytes do not hash, each named once."""
    seen = set()
    for manifest in manifests:
        for info in manifest.segments:
            if info.offset in seen:
                continue
            seen.add(info.offset)
            for section in info.sections:
                shifted = section._replace(offset=0)
                only = info._replace(sections=(shifted,))
                try:
                    Segment(only, window.view(section.offset, section.bytes)).view(section.name)
                except Corrupt:
                    yield Problem(section.offset, f"section {section.name}", SEGMENT)
            yield from _gap_problems(info.offset, info.bytes, window, [(s.offset, s.bytes) for s in info.sections])


def _gap_problems(offset: int, size: int, window: Window, used: list[tuple[int, int]]) -> Iterator[Problem]:
    """Bytes between sections that are not zero."""
    position = offset + 24
    for start, length in [*sorted(used), (offset + size, 0)]:
        if start > position and any(window.view(position, start - position)):
            yield Problem(position, "padding", SEGMENT)
        position = max(position, start + length)


def _index_problems(index: RecordIndex, state: LogState) -> Iterator[Problem]:
    """Rows of the record index that differ from the log."""
    try:
        stored = {id_: (kind, offset) for id_, kind, offset in state.records.rows()}
    except Corrupt as error:
        yield Problem(error.offset, error.what, SEGMENT)
        return
    replayed = {id_: row for id_, row in index.delta.items() if row[0]}
    for id_ in sorted(stored.keys() | replayed.keys()):
        if stored.get(id_) != replayed.get(id_):
            kind, offset = stored.get(id_) or replayed[id_]
            yield Problem(offset, "the record index differs from the log", kind, id_)
