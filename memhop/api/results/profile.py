"""Who the agent is, and whom it serves."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result


@dataclass(frozen=True, slots=True)
class ProfileLine(Result):
    """One thing that dreams derived: `confidence` in 0..1, `evidence` the ids of messages it was drawn from.

    `name` is mood.… or trait.… with a number in -1..1 as value, term.… with the number of messages that hold the word,
    or preference.… or fact.… with what a model read in the messages. `at` is the time of the dream.
    """

    name: str
    value: str
    confidence: float
    evidence: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class ProfileChange(Result):
    """`field` got another value, "" meaning none. `by` is host or dream. Values over 500 characters are cut."""

    field: str
    before: str
    after: str
    by: str
    at: int


@dataclass(frozen=True, slots=True)
class Profile(Result):
    """What the host set, and apart from it what dreams derived.

    Attributes:
        name, role, personality, preferences, lexicon, style_traits: The host's; no dream writes them.
        updated_at: When the host last did; None: never.
        brief: All of it in a few lines, see `profile.brief`.
        derived: Lines with their evidence, by name.
        mood: valence, arousal and dominance, each in -1..1, of the user's newest messages. None: too little was said
            to tell; so for single axes, which are absent.
        traits: openness, conscientiousness, extraversion, agreeableness and neuroticism, in the same way.
    """

    name: str
    role: str
    personality: str
    preferences: dict[str, str]
    lexicon: dict[str, str]
    style_traits: tuple[str, ...]
    updated_at: int | None
    brief: str
    derived: tuple[ProfileLine, ...]
    mood: dict[str, float] | None
    traits: dict[str, float] | None
