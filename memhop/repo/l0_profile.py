"""L0 Profile: who the agent is. What the host set and what consolidation derived are records of their own."""

from __future__ import annotations

from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Id, Kind, Listing, Ms, Record, Share, all_of, linked_to

PROFILE_ID = key_hash("profile")  # one per file


class Profile(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the host set. Absent fields are empty, never guessed."""

    KIND: ClassVar[Kind] = Kind.PROFILE
    name: str = ""
    role: str = ""
    personality: str = ""
    preferences: dict[str, str] = {}
    lexicon: dict[str, str] = {}
    style_traits: tuple[str, ...] = ()
    updated_at: Ms = 0


class ProfileLine(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One thing derived about whom the agent serves, with the records it was drawn from.

    `name` says what about, such as "mood.valence", "trait.openness" or "term.sailing"; one line per name.
    """

    KIND: ClassVar[Kind] = Kind.PROFILE_LINE
    name: str
    value: str
    confidence: Share = 0.0
    evidence: tuple[Id, ...] = ()
    at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), 0), *(Listing(linked_to(id_), 0) for id_ in self.evidence)]


class ProfileChange(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A field of the profile, or a derived line, got another value. `by` is host or dream."""

    KIND: ClassVar[Kind] = Kind.PROFILE_CHANGE
    field: str
    before: str = ""
    after: str = ""
    by: str = "host"
    at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.at)]


def line_id(name: str) -> int:
    """One line per name."""
    return key_hash("profile-line", name)


BRIEF_ENTRIES = 5  # preferences shown in a brief, first by name
BRIEF_VALUE_CHARS = 120  # a longer value is cut, and says so with an ellipsis


def brief(profile: Profile) -> str:
    """The profile in at most four short lines; empty when nothing is set."""

    def short(value: str) -> str:
        flat = " ".join(value.split())
        return flat if len(flat) <= BRIEF_VALUE_CHARS else flat[: BRIEF_VALUE_CHARS - 1] + "…"

    preferences = [f"{key}={short(value)}" for key, value in sorted(profile.preferences.items())]
    lines = [
        ("name", short(profile.name)),
        ("role", short(profile.role)),
        ("preferences", ", ".join(preferences[:BRIEF_ENTRIES])),
        ("style", ", ".join(map(short, profile.style_traits[:BRIEF_ENTRIES]))),
    ]
    return "\n".join(f"{name}: {value}" for name, value in lines if value)
