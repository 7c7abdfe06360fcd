"""Checkpoint: one new segment, a manifest, and a header that names them. Merging: the same without what is new.

Order on the disk: segment and manifest behind the published end, fsync, the older header, fsync. Until the header
is there the old checkpoint is the valid one, and everything new is a tail that replay steps over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memhop.common.errors import InvalidRequest
from memhop.core.manifest import Manifest
from memhop.core.records import RecordIndex
from memhop.core.segment import MAX_SEGMENTS, IndexArrays, Segment, SegmentInfo
from memhop.core.views import write_manifest, write_segment
from memhop.core.writer import LogWriter, next_header

if TYPE_CHECKING:
    from memhop.core.segment import SectionData


def checkpoint(
    writer: LogWriter,
    suffix: Sequence[Segment] | None,
    sections: Mapping[str, SectionData],
    meta: Mapping[str, Any],
) -> None:
    """Merge `suffix` with what is new, and publish. Needs leader and lock.

    Args:
        suffix: From `RecordIndex.plan`. None: nothing is new, only meta changes.

    Raises:
        StorageError: the disk failed; the old checkpoint stays in use.
    """
    writer.check()
    state, records = writer.state, writer.state.records
    salt, offset = state.identity.salt, state.end
    kept = records.segments
    infos = [segment.info for segment in kept]
    writer.wrote = True
    if suffix is not None:
        if records.base is not None and len(suffix) < len(kept):
            raise InvalidRequest(
                "the record index was rebuilt", field="sections", allowed="what a new plan_checkpoint() asks for"
            )
        kept = kept[: len(kept) - len(suffix)]
        if len(kept) >= MAX_SEGMENTS:
            raise InvalidRequest(f"{len(kept)} segments", field="sections", allowed="plan_checkpoint(everything=True)")
        number = infos[-1].number + 1 if infos else 1
        first = suffix[0].first_commit if suffix else state.covered.number + 1
        index = records.merged(suffix)
        with writer.guard():
            info = write_segment(
                state.file,
                offset,
                salt=salt,
                number=number,
                commits=(first, state.head.number),
                index=index,
                sections=sections,
            )
        infos = [*infos[: len(kept)], info]
        offset += info.bytes
    manifest = Manifest(state.head, tuple(infos), records.live_bytes, dict(meta), state.manifest_offset)
    with writer.guard():
        state.end = write_manifest(state.file, offset, salt=salt, manifest=manifest)
    writer.allocated = max(writer.allocated, state.end)
    writer.sync_all()
    writer.write_header(next_header(state, covered=state.head, manifest=offset))
    state.manifest, state.manifest_offset, state.checkpoint_lost = manifest, offset, ""
    state.reader.remap(state.end)
    made = tuple(Segment(info, state.reader.mapping) for info in infos[len(kept) :])
    if suffix is not None:
        state.records = RecordIndex((*kept, *made), state.reader.size_of, records.live_bytes)
        state.tail = []


def write_merged(
    writer: LogWriter, suffix: Sequence[Segment], index: IndexArrays, sections: Mapping[str, SectionData]
) -> SegmentInfo:
    """Write a segment that says what `suffix`, the newest segments, say. `publish_merged` makes it one that counts.

    Needs the lock. Raises StorageError: the disk failed.
    """
    writer.check()
    state = writer.state
    writer.wrote = True
    with writer.guard():
        info = write_segment(
            state.file,
            state.end,
            salt=state.identity.salt,
            number=suffix[-1].number + 1,
            commits=(suffix[0].first_commit, suffix[-1].last_commit),
            index=index,
            sections=sections,
        )
    state.end += info.bytes
    writer.allocated = max(writer.allocated, state.end)
    return info


def publish_merged(writer: LogWriter, suffix: Sequence[Segment], info: SegmentInfo) -> None:
    """Put a merged segment in place of `suffix`. The checkpoint covers what it did. Needs leader and lock.

    Raises:
        StorageError: the disk failed; the old segments stay in use.
    """
    writer.check()
    state, records = writer.state, writer.state.records
    old = state.manifest
    assert old is not None
    offset = state.end
    kept = old.segments[: len(old.segments) - len(suffix)]
    manifest = old._replace(segments=(*kept, info), previous=state.manifest_offset)
    with writer.guard():
        state.end = write_manifest(state.file, offset, salt=state.identity.salt, manifest=manifest)
    writer.allocated = max(writer.allocated, state.end)
    writer.sync_all()
    writer.write_header(next_header(state, covered=old.covered, manifest=offset))
    state.manifest, state.manifest_offset = manifest, offset
    state.reader.remap(state.end)
    records.swap(suffix, Segment(info, state.reader.mapping))
