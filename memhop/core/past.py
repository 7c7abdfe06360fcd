"""Time travel: what a log said at an earlier commit.

Nothing below the published end changes, so the past is a prefix of the log: the newest older manifest that does not
reach beyond the moment, and a replay of what follows it up to there. Each manifest names the one before it.
"""

from __future__ import annotations

from typing import NamedTuple

from memhop.common.clock import to_iso
from memhop.common.errors import InvalidRequest
from memhop.core.format import MANIFEST, Point
from memhop.core.frame import Window, examine
from memhop.core.log_state import LogState, take_in
from memhop.core.manifest import Manifest, decode_manifest
from memhop.core.records import RecordIndex
from memhop.core.replay import Replay
from memhop.core.segment import Segment


class Moment(NamedTuple):
    """A commit by number, or the newest one at a time (Unix milliseconds); one of them is None."""

    number: int | None
    time_ms: int | None

    def reaches(self, point: Point) -> bool:
        """Whether `point` is not later than this moment."""
        if self.number is not None:
            return point.number <= self.number
        return self.time_ms is not None and point.time_ms <= self.time_ms


def state_at(state: LogState, moment: Moment) -> LogState:
    """The state of the same file at a moment. `state` is left as it is.

    Raises:
        InvalidRequest: the moment lies after the newest commit, or before what compaction has kept.

    Cost: O(checkpoints since + segments + frames behind the checkpoint before the moment).
    """
    if moment.number is not None and not 0 <= moment.number <= state.head.number:
        raise InvalidRequest(f"there is no commit {moment.number}", field="when", allowed=f"0 to {state.head.number}")
    past = anchored(state, moment)
    base = state.identity.base
    earliest = past.head
    for batch in past.replay:
        if past.head == base:
            earliest = batch.point
        if not moment.reaches(batch.point):
            break
        take_in(past, batch)
    past.end = past.head.end
    if past.head == base and base.number > 0:  # compaction has put everything older into its first commit
        raise InvalidRequest(
            "compaction has left nothing of what was before",
            field="when",
            allowed=f"commit {base.number + 1} of {to_iso(earliest.time_ms)}, or later",
        )
    return past


def anchored(state: LogState, moment: Moment) -> LogState:
    """The state at the newest checkpoint that does not reach beyond a moment; without one, at the base of the log.

    Its replay, not begun, goes on from there to the end of `state`. Cost: O(checkpoints since + segments).
    """
    window = Window(state.file, state.end)
    manifest, offset = _manifest_before(window, state, moment)
    reader = state.reader
    segments = tuple(Segment(info, reader.mapping) for info in manifest.segments) if manifest else ()
    records = RecordIndex(segments, reader.size_of, manifest.live_bytes if manifest else 0)
    start = manifest.covered if manifest else state.identity.base
    replay = Replay(window, state.identity.salt, start, state.header.durable if state.header else start)
    return LogState(
        file=state.file,
        identity=state.identity,
        headers=state.headers,
        slot=state.slot,
        genesis_lost=state.genesis_lost,
        checkpoint_lost="",
        manifest=manifest,
        manifest_offset=offset,
        reader=reader,
        records=records,
        head=start,
        end=start.end,
        mark=b"",
        tail=[],
        replay=replay,
    )


def _manifest_before(window: Window, state: LogState, moment: Moment) -> tuple[Manifest | None, int]:
    """The newest checkpoint that does not reach beyond the moment, and its offset."""
    manifest, offset = state.manifest, state.manifest_offset
    while manifest is not None and not moment.reaches(manifest.covered):
        before, offset = manifest.previous, manifest.previous
        sight = examine(window, state.identity.salt, before) if before else None
        manifest = None
        if sight is not None and sight.fault in ("", "mended") and sight.ref is not None and sight.ref.kind == MANIFEST:
            manifest = decode_manifest(sight.payload, offset=before)
    return (manifest, offset) if manifest else (None, 0)
