"""What recall and the agent loop return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memhop.api.results.base import Result
from memhop.api.results.procedures import Capability
from memhop.api.results.profile import Profile
from memhop.api.results.scenes import Topic


@dataclass(frozen=True, slots=True)
class Hit(Result):
    """One unit found.

    `score` is in (0, 1]: 1 is the first place of the layer that weighs most, and it falls with the place within
    the layer (reciprocal rank). Compare scores inside one result, never across results. `parts` split the score
    over the evidence that earned it and add up to it exactly; none but "superseded" is below 0. `ranks` is the place in
    each channel that saw it.

    A dated fact has a period, [valid_from, valid_to), and is `superseded` if it did not hold when the question was
    asked; `valid_to` None: no end is known. Other hits have none. A note is `superseded` if another one took its
    place, `superseded_by`. `status` and `tags` are those of a note.

    `universal`: it is not of the project that was asked for, but of the one that is searched along with all.
    `instruction_like`: the text reads like an order to a model; it is quoted data all the same. Ranks do not know it.
    """

    id: str
    layer: str
    kind: str
    text: str
    role: str | None
    speaker: str | None
    at: int
    session: str | None
    scene_id: str | None
    topic_id: str | None
    external_id: str | None
    project: str | None
    tier: str
    score: float
    ranks: dict[str, int]
    parts: dict[str, float]
    valid_from: int | None = None
    valid_to: int | None = None
    superseded: bool = False
    superseded_by: str | None = None
    status: str | None = None
    tags: tuple[str, ...] = ()
    universal: bool = False
    instruction_like: bool = False


@dataclass(frozen=True, slots=True)
class Channel(Result):
    """What one channel did. `reason` says why it did not run; `matched` counts units it gave evidence for."""

    name: str
    ran: bool
    reason: str | None
    matched: int


@dataclass(frozen=True, slots=True)
class AssociatedScene(Result):
    """A scene brought up by association, with how strongly (0..1)."""

    id: str
    name: str
    activation: float
    last_at: int


@dataclass(frozen=True, slots=True)
class Recall(Result):
    """What bears on a question.

    `confidence` in 0..1 is the chance that the answer is in memory, for a question as likely to have one as not (see
    `search/confidence.py`); below `LOW_CONFIDENCE` (0.3) a notice says so, and the hits are returned all the
    same. `reason` is None when there are hits and says why there are none otherwise. `context` is ready for a prompt:
    dated, in time order, fenced. `explanation` is filled by `explain=True`.

    `candidates` counts the units that some channel spoke for, at most some thousands: hits are the best of them, and it
    does not depend on `limit`. Where nothing was found, `held_back` counts the units that hold a word of the question
    and are kept back, by the filter that does (by tier those of another tier), and `hint` says it in a line, with words
    of the memory that are spelt nearly like those of the question; None: there is nothing to say.
    """

    query: str
    hits: tuple[Hit, ...]
    context: str
    context_tokens: int
    left_out: int
    associated: tuple[AssociatedScene, ...]
    reason: str | None
    channels: tuple[Channel, ...]
    confidence: float
    notices: tuple[str, ...]
    explanation: dict[str, Any]
    candidates: int = 0
    hint: str | None = None
    held_back: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SearchResult(Result):
    """One step of the agent loop: what was recalled, and where the turn was stored."""

    profile: Profile
    profile_brief: str
    hits: tuple[Hit, ...]
    context: str
    contexts: tuple[Topic, ...]
    associated_contexts: tuple[Topic, ...]
    capabilities: tuple[Capability, ...]
    scene_id: str
    new_scene: bool
    new_topic_id: str
    message_id: str
    recall: Recall


@dataclass(frozen=True, slots=True)
class Explanation(Result):
    """Why a unit was, or was not, returned for a query."""

    id: str
    returned: bool
    rank: int | None
    reason: str
