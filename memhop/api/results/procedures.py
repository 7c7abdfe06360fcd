"""What the agent can do and what it did: cards, their use, trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memhop.api.results.base import Result


@dataclass(frozen=True, slots=True)
class Capability(Result):
    """A capability card. What comes with MemHop has the origin "builtin" and no times.

    Attributes:
        languages: Codes of the languages it is translated to, such as "zh".
        session: The session a crystallized card was made from.
        file_hash: SHA-256 of the bytes it was imported from. None: it was changed since, or not imported.
        trigger_count, success_rate: How often it was used, and the share that succeeded; None: never used.
    """

    id: str
    name: str
    type: str
    version: str
    summary: str
    trigger: str
    resources: tuple[dict[str, Any], ...]
    workflow: dict[str, Any]
    status: str
    origin: str
    languages: tuple[str, ...]
    session: str | None
    file_hash: str | None
    trigger_count: int
    success_rate: float | None
    last_triggered_at: int | None
    created_at: int | None
    updated_at: int | None


@dataclass(frozen=True, slots=True)
class CardMatch(Result):
    """A card that fits a text. `parts` add up to `score`: "name", "words" (the rest of the card), "usage".

    `terms` are the words of the text which the card holds, in the form they are compared.
    """

    card: Capability
    score: float
    parts: dict[str, float]
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportedCard(Result):
    """A card that does. `action` is created, updated or unchanged; `source` the file, or what kind of data it was.

    `remarks`: keys that are not known and were left out.
    """

    source: str
    action: str
    card: Capability
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefusedCard(Result):
    """A file of a folder that is no card; `field` is the path in it, None where it could not be read at all."""

    source: str
    field: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedCards(Result):
    """What came of an import, files in order of their names."""

    cards: tuple[ImportedCard, ...]
    errors: tuple[RefusedCard, ...]


@dataclass(frozen=True, slots=True)
class CrystallizedCard(Result):
    """What became of one proposal. `action` is create, reuse, merge or skip; `capability_id` names the card, if any."""

    name: str
    action: str
    capability_id: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Crystallized(Result):
    """What came of crystallizing a session.

    Attributes:
        steps: How many steps were read; `left_out` how many older ones were not.
        created, reused, merged: Ids of cards. skipped: Names of proposals that changed nothing.
        details: Each proposal, in order.
        errors: Proposals that are no card, and rows of the reply that do not do, one line each.
        model_calls: Requests to the model; 0 without one.
        commit: The newest commit before this; `db.at(commit)` shows the cards as they were.
        dry_run: Nothing was written.
    """

    session: str
    steps: int
    left_out: int
    created: tuple[str, ...]
    reused: tuple[str, ...]
    merged: tuple[str, ...]
    skipped: tuple[str, ...]
    details: tuple[CrystallizedCard, ...]
    errors: tuple[str, ...]
    model_calls: int
    commit: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Event(Result):
    """One step of a trajectory. Of a payload that was too long, `cut_bytes` are missing at the end, which says so.

    `redacted`: how many secrets were masked and private spans left out.
    """

    id: str
    session: str
    seq: int
    type: str
    payload: str
    at: int
    message_id: str | None
    cut_bytes: int
    redacted: int = 0


@dataclass(frozen=True, slots=True)
class Session(Result):
    """A session that has steps."""

    session: str
    steps: int
    first_at: int
    last_at: int


@dataclass(frozen=True, slots=True)
class TrajectoryStats(Result):
    """The steps of one session. `bytes` are those of the payloads, `cut_bytes` what was left out of them."""

    session: str
    steps: int
    by_type: dict[str, int]
    first_at: int | None
    last_at: int | None
    bytes: int
    cut_bytes: int


@dataclass(frozen=True, slots=True)
class Pruned(Result):
    """What retention dropped, or would drop (`dry_run`): steps, and the sessions they were of."""

    events: int
    sessions: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Usage(Result):
    """How often a scene, a note or a card was recalled, and when last; recalls not written yet included.

    `copies`: how often the words of a note were remembered once more.
    """

    id: str
    hits: int
    last_at: int | None
    copies: int
