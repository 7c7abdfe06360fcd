"""The stages of a dream, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memhop.dream.stage import Stage


def stages_of(*, model: bool) -> tuple[Stage, ...]:
    """All stages; those that a model alone can do only where there is one."""
    return ()
