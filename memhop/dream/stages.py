"""The stages of a dream, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memhop.dream.stage import Stage


def stages_of(*, model: bool) -> tuple[Stage, ...]:
    """All stages; those that only a model can do are left out without one."""
    from memhop.dream.compress import Compress
    from memhop.dream.engrams import Engrams
    from memhop.dream.placing import Placing
    from memhop.dream.profile import ProfileStage

    return Placing(), *enriching(model=model), Compress(), Engrams(), ProfileStage()


def enriching(*, model: bool) -> tuple[Stage, ...]:
    """Those that only a model can do: what `backfill` drains as well."""
    from memhop.dream.keywords import Keywords

    return (Keywords(),) if model else ()
