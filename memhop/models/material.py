"""What the text tasks read and what they give, with a model and without. Types only.

    keywords      Said          -> words that say what a text is about
    consolidate   Block         -> Group      neighbouring turns about one thing, and statements cited from them
    distill       Said          -> Drawn      lines about a person, with their evidence
    crystallize   Step, cards   -> CardProposal

Ids are 16 hex digits, times Unix milliseconds. A task gives back no id that it was not given.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


class Said(NamedTuple):
    """One message."""

    id: str
    at: int
    speaker: str  # "" where nobody is named
    text: str


class Block(NamedTuple):
    """One topic: its messages in time order.

    Attributes:
        terms: Its tokens as the index has them. Empty: they are made from the texts.
        vector: Of unit length, all of one space; None where there is none.
    """

    id: str
    turns: tuple[Said, ...]
    terms: frozenset[str] = frozenset()
    vector: NDArray[np.float32] | None = None


class Statement(NamedTuple):
    """One thing that was said, and the messages that say so (at least one)."""

    text: str
    sources: tuple[str, ...]


class Group(NamedTuple):
    """Blocks about one thing, in time order. Nothing is lost in it: it stands for its members, and they stay."""

    members: tuple[str, ...]
    statements: tuple[Statement, ...]
    keywords: tuple[str, ...]


class Drawn(NamedTuple):
    """A line about whom the agent serves.

    Attributes:
        name: "mood.valence", "trait.openness", "term.sailing" and the like.
        value: As text: of moods and traits a number in [-1, 1] with two decimals.
        confidence: 0..1.
        evidence: Messages it was drawn from (1..8), newest first.
    """

    name: str
    value: str
    confidence: float
    evidence: tuple[str, ...]


class Step(NamedTuple):
    """One event of a trajectory."""

    seq: int
    type: str
    payload: str


class CardProposal(NamedTuple):
    """What to do about one way of working.

    Attributes:
        action: create, reuse, merge or skip.
        target: Name of the known card that is meant; "" with create.
        card: A `memhop-capability/v2` card, to be validated before use; empty with reuse and skip.
        reason: One line for people.
    """

    action: str
    target: str
    card: dict[str, Any]
    reason: str


UNUSABLE = "unusable reply"  # counted in `Answer.refused` for each question whose reply could not be read at all


class Answer(NamedTuple, Generic[T]):
    """What a model's reply came to: what passed every check, and how much of the rest failed which."""

    value: T
    refused: Counter[str]
