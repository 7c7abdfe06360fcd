"""L0 Profile: who the agent is. What the host set and what consolidation derived are records of their own.

Derived lines have a name of one of these families:

    mood.valence, mood.arousal, mood.dominance      how the user's newest messages sound, each in -1..1
    trait.openness, …                               five axes of character, each in -1..1
    term.sailing                                    a word that comes in many messages; the value says in how many
    preference.tea, fact.home                       what the user said of themselves, as a model read it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

import msgspec

from memhop.common.ids import key_hash
from memhop.repo.record import Count, Id, Kind, Listing, Ms, Record, Share, all_of, linked_to

if TYPE_CHECKING:
    from memhop.repo.store import Store

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
    """A field of the profile, or a mood or trait, got another value. `by` is host or dream.

    Changes count from 1 and stand in `HISTORY` places in turn, so that each new one takes the place of the oldest.
    They hold what the host wrote, and numbers: words drawn from messages are not kept here, where erasing a message
    does not look.
    """

    KIND: ClassVar[Kind] = Kind.PROFILE_CHANGE
    field: str
    before: str = ""
    after: str = ""
    by: str = "host"
    at: Ms = 0
    seq: Count = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.seq)]


HISTORY = 1_000  # changes kept
SHOWN_CHARS = 500  # of a value in the history; a longer one is cut, and says so with an ellipsis
AXES = {
    "mood": ("valence", "arousal", "dominance"),
    "trait": ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism"),
}
WORDED = ("term", "preference", "fact")  # families whose names are words of messages
SAMPLE = "sample"  # the line that says which messages the others were drawn from; it is nobody's to see


def line_id(name: str) -> int:
    """One line per name."""
    return key_hash("profile-line", name)


def change_id(seq: int) -> int:
    """The place of a change in the history."""
    return key_hash("profile-change", seq % HISTORY)


def numbered(store: Store, changes: Iterable[ProfileChange]) -> list[ProfileChange]:
    """The changes as they follow the newest one in the history, ids filled in."""
    newest = store.listed(ProfileChange, all_of(Kind.PROFILE_CHANGE), limit=1, descending=True)
    first = newest[0][1].seq + 1 if newest else 1
    return [
        msgspec.structs.replace(change, id=change_id(seq), seq=seq) for seq, change in enumerate(changes, start=first)
    ]


def derived(store: Store) -> list[ProfileLine]:
    """The derived lines, by name."""
    found = store.walk(ProfileLine, all_of(Kind.PROFILE_LINE))
    return sorted((line for line in found if line.name != SAMPLE), key=lambda line: line.name)


def shown(value: str) -> str:
    """A value as the history keeps it."""
    return value if len(value) <= SHOWN_CHARS else value[: SHOWN_CHARS - 1] + "…"


def axes(lines: Iterable[ProfileLine], family: str) -> dict[str, float]:
    """The numbers of a family, "mood" or "trait", by axis; those that were skipped are absent."""
    found: dict[str, float] = {}
    for line in lines:
        prefix, _, axis = line.name.partition(".")
        if prefix == family:
            with suppress(ValueError):
                if -1.0 <= (number := float(line.value)) <= 1.0:
                    found[axis] = number
    return {axis: found[axis] for axis in AXES[family] if axis in found}


BRIEF_CHARS = 1_000
BRIEF_ENTRIES = 5  # entries of each kind shown in a brief, preferences first by name
BRIEF_VALUE_CHARS = 120  # a longer value is cut, and says so with an ellipsis


def brief(profile: Profile, lines: Sequence[ProfileLine] = (), max_chars: int = BRIEF_CHARS) -> str:
    """The profile in a few short lines, what the host set first; empty when nothing is set or derived.

    Args:
        lines: Derived ones. They get what room the host's leave, and show how sure they are.
        max_chars: Whole lines are left out from the end until the rest fits; a first line that does not is cut.
    """
    preferences = [f"{key}={_short(value)}" for key, value in sorted(profile.preferences.items())]
    found = [
        ("name", _short(profile.name)),
        ("role", _short(profile.role)),
        ("personality", _short(profile.personality)),
        ("preferences", ", ".join(preferences[:BRIEF_ENTRIES])),
        ("style", ", ".join(map(_short, profile.style_traits[:BRIEF_ENTRIES]))),
        *_derived(lines),
    ]
    kept: list[str] = []
    left = max_chars
    for line in (f"{name}: {value}" for name, value in found if value):
        if len(line) > left:
            if not kept and max_chars > 1:
                kept.append(line[: max_chars - 1] + "…")
            break
        kept.append(line)
        left -= len(line) + 1
    return "\n".join(kept)


def _derived(lines: Sequence[ProfileLine]) -> Iterator[tuple[str, str]]:
    """Rows of a brief made of derived lines: of each family the surest first."""
    families: dict[str, list[ProfileLine]] = {}
    for line in sorted(lines, key=lambda line: (-line.confidence, line.name)):
        families.setdefault(line.name.partition(".")[0], []).append(line)
    for title, family in (("observed", "fact"), ("observed preferences", "preference")):
        chosen = families.get(family, [])[:BRIEF_ENTRIES]
        yield title, ", ".join(f"{_axis(line)}={_short(line.value)} ({line.confidence:.0%})" for line in chosen)
    for family in AXES:
        chosen = families.get(family, [])
        yield family, ", ".join(f"{_axis(line)} {_short(line.value)} ({line.confidence:.0%})" for line in chosen)
    terms = sorted(families.get("term", []), key=lambda line: (-_count(line.value), line.name))
    yield "often", ", ".join(_axis(line) for line in terms[:BRIEF_ENTRIES])


def _axis(line: ProfileLine) -> str:
    return _short(line.name.partition(".")[2])


def _count(value: str) -> int:
    return int(value[:12]) if value[:12].isdecimal() else 0


def _short(value: str) -> str:
    flat = " ".join(value.split())
    return flat if len(flat) <= BRIEF_VALUE_CHARS else flat[: BRIEF_VALUE_CHARS - 1] + "…"
