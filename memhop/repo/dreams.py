"""The journal of dreams, and what models were asked for.

A dream is one run of consolidation. It commits in steps; a step names the records it put and deleted, so that it can
be shown, compared with what was before, and taken back. Texts are not copied into the journal: what a record said
before is in the log, at the commit before the step.
"""

from __future__ import annotations

from typing import Any, ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Count, Id, Kind, Listing, Ms, Record, all_of, label, linked_to


class Dream(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One run. `number` counts from 1; `state` is running, done, stopped or undone.

    `changed` counts the records that were put or deleted. `undone` are the fused topics which taking the dream back
    has removed: they are not made again.
    """

    KIND: ClassVar[Kind] = Kind.DREAM
    number: Count
    started_at: Ms = 0
    finished_at: Ms = 0
    state: str = "running"
    scene: Id = 0  # the one scene it was asked for; 0: all that were fresh
    trigger: str = "call"
    stages: tuple[dict[str, Any], ...] = ()  # reports, in order
    changed: Count = 0
    undone: tuple[Id, ...] = ()

    def listings(self) -> list[Listing]:
        found = [Listing(all_of(self.KIND), self.number)]
        if self.scene:
            found.append(Listing(linked_to(self.scene), self.number))
        return found


class DreamStep(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What one commit of a dream changed. `base` is the number of the commit in front of it."""

    KIND: ClassVar[Kind] = Kind.DREAM_STEP
    dream: Id
    seq: Count
    stage: str
    base: Count
    changes: tuple[tuple[str, tuple[Id, ...]], ...] = ()  # per proposal: why, and the ids it put or deleted

    def listings(self) -> list[Listing]:
        return [Listing(steps_of(self.dream), self.seq)]


class Spending(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What models were asked for on one UTC day."""

    KIND: ClassVar[Kind] = Kind.SPENDING
    day: Count  # days since 1970
    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.day)]


def steps_of(dream: int) -> int:
    """The group of a dream's steps, in order."""
    return label("dream-steps", dream)


def spending_id(day: int) -> int:
    """One record per day."""
    return key_hash("spending", day)
