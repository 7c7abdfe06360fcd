"""Dreams of some stages only."""

from __future__ import annotations

from memhop import DB
from memhop.api.results import DreamReport
from memhop.dream.stage import Stage


def dream_of(db: DB, *stages: Stage) -> DreamReport:
    """A dream of these stages."""
    db._dreamer.stages = lambda *, model: stages
    return db.dream()


def skipped(report: DreamReport, stage: str) -> dict[str, int]:
    """What a stage left, by reason."""
    (found,) = (one.skipped for one in report.stages if one.name == stage)
    return dict(found)
