"""A merge of the newest segments in steps, with commits in between: so that no call waits for the whole of it.

The steps only read what never changes. Nothing is lost if a merge is given up: until `publish` the old segments are
the ones that count, and what `write` has written is a view that no header names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memhop.core.checkpoint import publish_merged, write_merged
from memhop.core.records import RecordIndex
from memhop.core.segment import IndexArrays, Segment, SegmentInfo, check_sections
from memhop.core.writer import LogWriter

if TYPE_CHECKING:
    from memhop.core.meh_file import MehFile
    from memhop.core.segment import SectionData


class Merge:
    """Made by `MehFile.plan_merge`. Call `index`, `write`, `publish`, each in a turn of the file (`MehFile.writing`).

    Attributes:
        suffix: The segments that are merged, the newest of the file.
    """

    def __init__(self, file: MehFile, writer: LogWriter, suffix: Sequence[Segment]) -> None:
        self.suffix = suffix
        self._file = file
        self._writer = writer
        self._epoch = writer.epoch
        self._index: IndexArrays | None = None
        self._info: SegmentInfo | None = None

    @property
    def stands(self) -> bool:
        """Whether these are still the newest segments of the file: no checkpoint, compaction or rollback came since."""
        segments = self._records.segments
        begin = len(segments) - len(self.suffix)
        same = begin >= 0 and all(ours is theirs for ours, theirs in zip(self.suffix, segments[begin:], strict=True))
        return same and self._epoch == self._writer.epoch and self._records.base is None

    @property
    def _records(self) -> RecordIndex:
        return self._writer.state.records

    def index(self) -> None:
        """Merge the record index."""
        self._index = self._records.merged_alone(self.suffix)

    def write(self, sections: Mapping[str, SectionData]) -> None:
        """Write the segment; `sections` are the caller's. Raises StorageError, WriteRefused."""
        check_sections(sections)
        with self._writer.lock:
            assert self._index is not None
            self._info = write_merged(self._writer, self.suffix, self._index, sections)

    def publish(self) -> None:
        """Make it the one that counts. Two fsyncs. Raises StorageError, WriteRefused."""
        with self._writer.sync.leader, self._writer.lock:
            assert self._info is not None
            publish_merged(self._writer, self.suffix, self._info)
