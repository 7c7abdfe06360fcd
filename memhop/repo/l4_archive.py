"""L4 Archive: what was said, word for word. Notes are in `l4_note`."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar, Final

import msgspec

from memhop.common.clock import to_datetime
from memhop.repo.record import (
    ASKS,
    DEFAULT_PROJECT,
    REDACTED,
    Count,
    Id,
    Kind,
    Layer,
    Listing,
    Ms,
    Record,
    Role,
    RoleName,
    Span,
    Unit,
    all_of,
    label,
    name_label,
    project_key,
    project_label,
    said_in,
)

MOST_SPANS: Final = 8  # that one message keeps
_DAY_MS = 86_400_000
MINUTE_MS: Final = 60_000
_DAY_MINUTES = 24 * 60
# By length, in minutes: a day (25 hours long when clocks go back), a week, a month, two years. Spans that meet a window
# begin at most so long before it, so that one stretch of each group holds them all.
SPAN_GROUPS: Final = (25 * 60, 8 * _DAY_MINUTES, 32 * _DAY_MINUTES, 732 * _DAY_MINUTES)
_LENGTH_BITS = 21
_LENGTH_MASK = (1 << _LENGTH_BITS) - 1
assert SPAN_GROUPS[-1] <= _LENGTH_MASK
_MONTHS = "January February March April May June July August September October November December".split()


def dated(at: int) -> str:
    """A day in words, "8 May 2023": BM25 then answers questions that name a month or a year. UTC."""
    return _day(at // _DAY_MS)


@lru_cache(maxsize=1 << 10)
def _day(number: int) -> str:
    moment = to_datetime(number * _DAY_MS)
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


class Message(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One turn, word for word. `external_id` is the host's own name for it, unique within a session.

    `spans` are the times it speaks of, ascending, each once: "yesterday" as the day before `at`. Listed in
    `l4_archive.spans_of` by how long they are, so that recall finds what was said about a time.
    """

    KIND: ClassVar[Kind] = Kind.MESSAGE
    text: str
    role: RoleName = "user"
    speaker: str = ""
    at: Ms = 0
    session: str = ""
    project: str = "default"
    external_id: str = ""
    scene: Id = 0
    topic: Id = 0
    spans: Annotated[tuple[Span, ...], msgspec.Meta(max_length=MOST_SPANS)] = ()
    redacted: Count = 0  # secrets masked and private spans left out

    def __post_init__(self) -> None:
        if self.spans and any(since >= until for since, until in self.spans):
            raise ValueError("a span ends before it begins")

    def listings(self) -> list[Listing]:
        found = [Listing(all_of(self.KIND), self.at)]
        if self.session:
            found.append(Listing(session_group(self.session), self.at))
        if self.topic:
            found.append(Listing(messages_of(self.topic), self.at))
        else:
            found.append(Listing(LOOSE, self.at))
        if self.external_id:
            found.append(Listing(external_message(self.session, self.external_id), self.at))
        if (project := project_key(self.project)) != DEFAULT_PROJECT:
            found.append(Listing(said_in(project), self.at))
        if self.redacted:
            found.append(Listing(REDACTED, self.at))
        found += [place for span in self.spans if (place := _listed(span))]
        return found

    def unit(self) -> Unit:
        spoken = f"{self.speaker}: {self.text}" if self.speaker else self.text
        return Unit(
            text=f"({dated(self.at)}) {spoken}",
            plain=spoken,
            layer=Layer.MESSAGES,
            role=Role[self.role.upper()],
            kind=name_label("kind", "message"),
            at=self.at,
            session=session_group(self.session),
            scene=label("scene", self.scene) if self.scene else 0,
            project=project_label(self.project),
            speaker=name_label("speaker", self.speaker.casefold()) if self.speaker else 0,
            flags=ASKS if _asks(self.text) else 0,
        )


def _asks(text: str) -> bool:
    """Whether a turn ends in a question, a bracketed attachment after it left aside."""
    bare = text.rstrip()
    if bare.endswith("]"):
        bare = bare[: bare.rfind("[")].rstrip()
    return bare.endswith(("?", "？"))


def session_group(session: str) -> int:
    """The group of a session's messages; 0 for messages without a session, which are nobody's neighbours."""
    return name_label("session", session) if session else 0


LOOSE = label("messages", "loose")  # the group of messages without a topic: appended, and not placed yet


def messages_of(topic: int) -> int:
    """The group of a topic's messages."""
    return label("messages", topic)


def external_message(session: str, external_id: str) -> int:
    """The group holding the one message a host calls `external_id`."""
    return label("external", session, external_id)


def spans_of(longest: int) -> int:
    """The group of messages that speak of a span at most so many minutes long, and longer than the next shorter group's
    (`SPAN_GROUPS`). Ordered as `span_order` says."""
    return name_label("spans", str(longest))


def span_order(since: int, minutes: int = 0) -> int:
    """The place of a span in its group: by the minute in which it begins, then by how long it is. Unix ms."""
    return (since // MINUTE_MS << _LENGTH_BITS) | minutes


def ordered_span(order: int) -> Span:
    """The span, to the minute, that is listed at a place; the inverse of `span_order`."""
    since = (order >> _LENGTH_BITS) * MINUTE_MS
    return since, since + (order & _LENGTH_MASK) * MINUTE_MS


def _listed(span: Span) -> Listing | None:
    """None: the span is longer than any that can be looked for; nearly every window would meet it."""
    since, until = span
    minutes = -(-until // MINUTE_MS) - since // MINUTE_MS
    longest = next((longest for longest in SPAN_GROUPS if minutes <= longest), None)
    return None if longest is None else Listing(spans_of(longest), span_order(since, minutes))
