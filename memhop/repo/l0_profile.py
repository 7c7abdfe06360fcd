"""L0 Profile: who the agent is. Host fields only; what consolidation derives is kept apart from them."""

from __future__ import annotations

from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Kind, Ms, Record

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
