"""What the file says of itself, as results. Imports nothing that opening a file would not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.api import results
from memhop.common.ids import to_hex

if TYPE_CHECKING:
    from memhop.core.backup import CopyReport
    from memhop.core.compaction import CompactReport
    from memhop.core.recovery import RecoveryReport
    from memhop.core.restore import RestoreReport
    from memhop.core.verify import VerifyReport


def problem(offset: int, what: str, kind: int, id_: int) -> results.Problem:
    from memhop.repo.record import Kind  # msgspec: only where there is damage to name

    name = Kind(kind).name.lower() if kind in set(Kind) else None
    return results.Problem(offset=offset, what=what, kind=name, id=to_hex(id_) if id_ else None)


def recovered(report: RecoveryReport) -> results.Recovered:
    return results.Recovered(
        clean=report.clean,
        replayed_commits=report.replayed_commits,
        cut_bytes=report.cut_bytes,
        torn_file=str(report.torn_file) if report.torn_file else None,
        damaged=report.damaged,
        damage=tuple(problem(found.offset, found.what, found.kind, found.id) for found in report.damage),
        headers_lost=report.headers_lost,
        checkpoint_lost=report.checkpoint_lost or None,
        shortened=report.shortened,
        removed=tuple(map(str, report.removed)),
        refused=report.refused or None,
    )


def verified(report: VerifyReport) -> results.Verified:
    return results.Verified(
        ok=report.ok,
        problem_count=report.problem_count,
        problems=tuple(problem(found.offset, found.what, found.kind, found.id) for found in report.problems),
        commits=report.commits,
        records=report.records,
        live_bytes=report.live_bytes,
        dead_bytes=report.dead_bytes,
        head_digest=report.head_digest,
    )


def backup(report: CopyReport, *, seconds: float) -> results.Backup:
    return results.Backup(
        path=str(report.path),
        bytes=report.size,
        commit=report.commit,
        commit_at=report.time_ms,
        head_digest=report.head_digest.hex(),
        seconds=seconds,
    )


def restored(report: RestoreReport) -> results.Restored:
    return results.Restored(
        path=str(report.path),
        bytes=report.size,
        commit=report.commit,
        commit_at=report.time_ms,
        head_digest=report.head_digest.hex(),
        replaced=str(report.replaced) if report.replaced else None,
    )


def compacted(report: CompactReport) -> results.Compacted:
    return results.Compacted(
        bytes_before=report.bytes_before,
        bytes_after=report.bytes_after,
        records=report.records,
        commits=report.commits,
        dropped=report.dropped,
        generation=report.generation,
    )
