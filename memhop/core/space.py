"""What the bytes of a file are used for: every byte is counted once, and the parts add up to the size of the file."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from typing import NamedTuple

from memhop.common.errors import Corrupt
from memhop.core.format import COMMIT, DELETED, FIRST_RECORD_KIND, GENESIS, HEADER_OFFSETS, LOG_START
from memhop.core.frame import FrameRef, Window, heads
from memhop.core.log_state import LogState, locate_healing


class Use(NamedTuple):
    """Frames of one sort: how many, and their bytes with heads and padding."""

    frames: int
    bytes: int


class Space(NamedTuple):
    """Bytes of a file by what they are.

    live: by record kind.
    superseded: versions of records that are no longer live. tombstones, commits: frames of these sorts.
    sections: of the live segments, by name of the section.
    binding: what holds the live segments together: heads, padding, and the manifest in use.
    old_views: segments and manifests that are no longer used.
    headers: both headers and the genesis frame. reserved: behind the published end.
    unreadable: bytes that are no frame, or whose head is damaged.
    """

    live: dict[int, Use]
    superseded: Use
    tombstones: Use
    commits: Use
    sections: dict[str, int]
    binding: int
    old_views: Use
    headers: Use
    reserved: int
    unreadable: int


def measure(state: LogState, lock: AbstractContextManager[object], allocated: int) -> Space:
    """Count every byte as of now; what is written meanwhile is not looked at.

    Args:
        lock: Of the handle. Held for a moment at the beginning, so that nobody waits for the walk.
        allocated: Size of the file, as far as the handle knows.

    Cost: about 5 us per frame of the log; payloads are not read.
    """
    with lock:
        end, segments, manifest = state.end, state.records.segments, state.manifest
        views = {segment.info.offset for segment in segments}
        if manifest is not None:
            views.add(state.manifest_offset)
    counts: Counter[str | int] = Counter()
    sizes: Counter[str | int] = Counter()
    for ref in heads(Window(state.file, end), state.identity.salt, LOG_START):
        sort = _sort(state, lock, views, ref)
        counts[sort] += 1
        sizes[sort] += ref.end - ref.offset
    sections: Counter[str] = Counter()
    for segment in segments:
        for section in segment.info.sections:
            sections[section.name] += section.bytes

    def use(sort: str | int) -> Use:
        return Use(counts[sort], sizes[sort])

    return Space(
        live={kind: use(kind) for kind in sorted(sort for sort in counts if isinstance(sort, int))},
        superseded=use("superseded"),
        tombstones=use("tombstone"),
        commits=use("commit"),
        sections=dict(sections),
        binding=sizes["view"] - sections.total(),
        old_views=use("old view"),
        headers=Use(len(HEADER_OFFSETS) + counts["genesis"], LOG_START + sizes["genesis"]),
        reserved=max(0, allocated - end),
        unreadable=end - LOG_START - sizes.total(),
    )


def _sort(state: LogState, lock: AbstractContextManager[object], views: set[int], ref: FrameRef) -> str | int:
    """The kind of a live record, and a word for everything else."""
    if ref.kind < FIRST_RECORD_KIND:
        if ref.kind in (COMMIT, GENESIS):
            return "commit" if ref.kind == COMMIT else "genesis"
        return "view" if ref.offset in views else "old view"
    if ref.flags & DELETED:
        return "tombstone"
    try:
        row = state.records.locate(ref.id)
    except Corrupt:
        with lock:
            row = locate_healing(state, ref.id)
    return ref.kind if row is not None and row[1] == ref.offset else "superseded"
