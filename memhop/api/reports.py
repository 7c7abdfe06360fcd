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
    from memhop.repo.checking import Checked


def problem(offset: int, what: str, kind: int, id_: int) -> results.Problem:
    known = kind_name(kind) if kind > 0x0F else None  # below stand frames that are no records
    return results.Problem(offset=offset, what=what, kind=known, id=to_hex(id_) if id_ else None)


def kind_name(kind: int) -> str:
    """The name of a record kind; its number for one that only a newer build knows."""
    from memhop.repo.record import Kind  # msgspec: only where there is damage to name

    return Kind(kind).name.lower() if kind in set(Kind) else f"{kind:#04x}"


def layer_of(kind: int) -> str | None:
    """The layer of a record kind, None where it is not known."""
    from memhop.repo.record import Kind

    return Kind(kind).layer if kind in set(Kind) else None


def layer_named(kind: str) -> str | None:
    """`layer_of` for the name of a kind."""
    from memhop.repo.record import Kind

    return Kind[kind.upper()].layer if kind.upper() in Kind.__members__ else None


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


def verified(report: VerifyReport, checked: Checked | None) -> results.Verified:
    problems = report.problems + (checked.problems if checked else ())
    count = report.problem_count + (checked.problem_count if checked else 0)
    return results.Verified(
        ok=count == 0,
        problem_count=count,
        problems=tuple(problem(found.offset, found.what, found.kind, found.id) for found in problems),
        commits=report.commits,
        records=report.records,
        live_bytes=report.live_bytes,
        dead_bytes=report.dead_bytes,
        head_digest=report.head_digest,
        references=checked.references if checked else None,
        views=checked.views if checked else None,
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
