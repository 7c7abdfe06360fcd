"""Stage "profile": what the user's own newest messages say about them, as lines apart from what the host set.

Read are the newest 200 messages of role user, found among the newest 1,000 of all roles; where several people spoke
in that role, those of the one who said most. The messages that lines were drawn from last are marked by a digest, so
that nothing is asked or worked out again until others have come.

A line needs evidence among these messages, or it is left out. Moods and traits that moved by less than 0.05 stay as
they were. Moods, traits and terms that are no longer drawn go; preferences and facts, which only a model draws, stay
until another value is drawn or their evidence is erased, up to 32 of each. Host fields are never written. All of it is
one change: a profile is of one piece.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from memhop.common.errors import ChatError
from memhop.common.ids import from_hex, key_hash, to_hex
from memhop.dream.stage import Change, Desk
from memhop.models import offline
from memhop.models.material import UNUSABLE, Said
from memhop.repo.l0_profile import (
    AXES,
    SAMPLE,
    WORDED,
    ProfileChange,
    ProfileLine,
    derived,
    line_id,
    numbered,
)
from memhop.repo.l4_archive import Message
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    from memhop.models.material import Drawn
    from memhop.repo.store import Store

MOST_READ: Final = 200  # of one person
MOST_PASSED: Final = 1_000  # of all roles
FEWEST_FOR_MODEL: Final = 5  # messages; below, a model would guess
EVIDENCE: Final = {"mood": 3, "trait": 3, "term": 3, "preference": 1, "fact": 1}  # fewest messages
LEAST_MOVE: Final = 0.05  # of a mood or trait
MOST_TERMS: Final = 20
MOST_KEPT: Final = 32  # preferences, and facts
NAME_CHARS: Final = 80
VALUE_CHARS: Final = 200
MOST_EVIDENCE: Final = 8


class ProfileStage:
    """See the module."""

    name = "profile"

    def plan(self, desk: Desk) -> Iterator[Change]:
        """At most one change."""
        store = desk.store
        said = sample(store)
        desk.looked_at(len(said))
        by = desk.chat.name if desk.chat is not None else ""
        digest = to_hex(key_hash("sample", by, *(message.id for message in said)))
        mark = store.readable(ProfileLine, line_id(SAMPLE))
        known = {line.name: line for line in derived(store)}
        if (mark is not None and mark.value == digest) or not (said or known):
            return
        drawn = _drawn(desk, said)
        if drawn is None:
            return
        wanted = _checked(desk, drawn, said)
        put = [line for name, line in sorted(wanted.items()) if not _is_as_before(known.get(name), line)]
        gone = _outdated(known, wanted)
        changes = numbered(store, _noted(desk.now_ms, known, put, gone))
        marked = ProfileLine(id=line_id(SAMPLE), name=SAMPLE, value=digest, at=desk.now_ms)
        cited = {id_ for line in put for id_ in line.evidence}
        replaced = [known[line.name] for line in (*put, *gone) if line.name in known]
        slots = [old for change in changes if (old := store.readable(ProfileChange, change.id)) is not None]
        yield Change(
            what="profile",
            why=f"{len(put)} lines drawn from {len(said)} messages of the user, {len(gone)} no longer borne out",
            reads=(
                *replaced,
                *((mark,) if mark is not None else ()),
                *slots,
                *(message for message in said if message.id in cited),
            ),
            puts=(*put, *changes, marked),
            deletes=tuple(gone),
        )


def sample(store: Store) -> list[Message]:
    """The newest messages of the user, oldest first."""
    group = all_of(Kind.MESSAGE)
    found: list[Message] = []
    after = None
    for _ in range(MOST_PASSED // MOST_READ):
        places = store.places(group, after=after, limit=MOST_READ, descending=True)
        found += [message for _, message in store.at_places(Message, places) if message.role == "user"]
        if len(places) < MOST_READ or len(found) >= MOST_READ:
            break
        after = places[-1]
    speakers = Counter(message.speaker.casefold() for message in found if message.speaker)
    if len(speakers) > 1:  # the one who said most, of equal ones the one who spoke last
        most = speakers.most_common(1)[0][0]
        found = [message for message in found if message.speaker.casefold() == most]
    return found[:MOST_READ][::-1]


def _drawn(desk: Desk, said: Sequence[Message]) -> list[Drawn] | None:
    """Lines, a later one of the same name standing for an earlier: what the model says, for what was worked out.

    None: the model gave no answer, or none that can be read. The next dream asks again.
    """
    turns = [Said(to_hex(one.id), one.at, one.speaker, one.text) for one in said]
    drawn = list(offline.distill(turns))
    if desk.chat is None or len(turns) < FEWEST_FOR_MODEL:
        return drawn
    from memhop.models import tasks

    try:
        answer = tasks.distill(desk.chat, turns)
    except ChatError as error:
        desk.skip(f"model: {error.message}", 1)
        return None
    for reason, count in sorted(answer.refused.items()):
        desk.skip(reason, count)
    if answer.refused[UNUSABLE]:
        return None
    return [*drawn, *answer.value]


def _checked(desk: Desk, drawn: Iterable[Drawn], said: Sequence[Message]) -> dict[str, ProfileLine]:
    """What of it can be a line, by name. Nobody is trusted: a model may have answered with anything."""
    among = {message.id for message in said}
    found: dict[str, ProfileLine] = {}
    terms = 0
    for line in drawn:
        family, _, rest = line.name.partition(".")
        value = _value(family, rest, line.value)
        cited = tuple(dict.fromkeys(id_ for id_ in map(_id, line.evidence) if id_ in among))[:MOST_EVIDENCE]
        if value is None or not 0.0 <= line.confidence <= 1.0:
            desk.skip("no line of a profile", 1)
        elif len(cited) < EVIDENCE[family]:
            desk.skip("too little evidence", 1)
        elif family == "term" and terms == MOST_TERMS:
            desk.skip("more terms than are kept", 1)
        else:
            terms += family == "term"
            confidence = round(float(line.confidence), 2)
            found[line.name] = ProfileLine(
                id=line_id(line.name),
                name=line.name,
                value=value,
                confidence=confidence,
                evidence=cited,
                at=desk.now_ms,
            )
    return found


def _value(family: str, rest: str, value: str) -> str | None:
    """The value as it is kept; None: name or value does not do."""
    if family in AXES:
        number = _number(value)
        return f"{number:.2f}" if rest in AXES[family] and -1.0 <= number <= 1.0 else None
    flat = " ".join(value.split())
    name_does = family in WORDED and rest == rest.strip() and 0 < len(rest) <= NAME_CHARS and rest.isprintable()
    return flat if name_does and 0 < len(flat) <= VALUE_CHARS and flat.isprintable() else None


def _number(value: str) -> float:
    """NaN where it is none; never a negative nought."""
    try:
        return round(float(value), 2) + 0.0
    except ValueError:
        return math.nan


def _id(text: str) -> int:
    try:
        return from_hex(text)
    except ValueError:
        return 0


def _is_as_before(old: ProfileLine | None, new: ProfileLine) -> bool:
    if old is None:
        return False
    if new.name.partition(".")[0] in AXES:
        return abs(_number(old.value) - float(new.value)) < LEAST_MOVE - 1e-9
    return old.value == new.value


def _outdated(known: Mapping[str, ProfileLine], wanted: Mapping[str, ProfileLine]) -> list[ProfileLine]:
    """Lines that go, by name."""
    gone: list[ProfileLine] = []
    kept: dict[str, list[ProfileLine]] = {"preference": [], "fact": []}
    for name, line in known.items():
        family = name.partition(".")[0]
        if name not in wanted:
            kept.get(family, gone).append(line)
    for family, lines in kept.items():
        room = max(0, MOST_KEPT - sum(1 for name in wanted if name.startswith(f"{family}.")))
        gone += sorted(lines, key=lambda line: (-line.at, line.name))[room:]
    return sorted(gone, key=lambda line: line.name)


def _noted(
    now: int, known: Mapping[str, ProfileLine], put: Iterable[ProfileLine], gone: Iterable[ProfileLine]
) -> Iterator[ProfileChange]:
    """What the history keeps of it: numbers alone, no words of messages."""
    before = {name: line.value for name, line in known.items()}
    for name, after in (*((line.name, line.value) for line in put), *((line.name, "") for line in gone)):
        if name.partition(".")[0] in AXES:
            yield ProfileChange(field=name, before=before.get(name, ""), after=after, by="dream", at=now)
