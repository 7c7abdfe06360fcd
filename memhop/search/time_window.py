"""Dates and spans in a question, resolved against the time it is asked.

`windows("what broke last month?", asked_at)` gives half-open intervals in Unix ms. English and Chinese, in the
forms people type: days (today, 昨天, 3 days ago), weeks (last week, 上周, last Friday, 上周五), months (last month,
in March, March 2023, 上个月, 三月), seasons of the northern half of the globe (last autumn, 去年冬天), years (last
year, in 2023, 去年), dates (8 May, May 8th 2023, 2023-05-08, 5月8日). A month or date without a year means its most
recent past occurrence. All in UTC; weeks start on Monday.

What is not recognised gives no window: the words still count for the lexical channel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, tzinfo
from typing import NamedTuple

from memhop.common.clock import to_datetime
from memhop.repo.record import Span
from memhop.search import dates
from memhop.search.diversity import PARTICIPLE
from memhop.search.said import Said
from memhop.search.time_words import mentions

_BEFORE = re.compile(r"\bbefore\b", re.IGNORECASE)
_PRESENT = re.compile(
    r"\b(?:now|nowadays|currently|at the moment|at present|these days|right now|as of today|latest|current|any ?more)\b"
    r"|现在|目前|如今|眼下|当前|最新",
    re.IGNORECASE,
)

_FIRST = re.compile(
    r"\b(?:first|originally|initially|at first|used to|formerly|previously|back then|before|earlier|old|oldest|until)\b"
    r"|以前|原来|原先|最初|当初|起初|之前|从前|一开始|曾经|过去",
    re.IGNORECASE,
)

_TOLD = re.compile(
    r"\b(?:did|was|were|had|would)\b"
    # "who inspired Ann", "which team won"; the perfect, which asks for all that happened until now: "has Ann read"
    rf"|^\W*(?:who|what|which(?:\s[\w'’-]{{1,30}}){{1,3}}?)\s{PARTICIPLE}\b"
    rf"|\b(?:has|have)\s(?:(?!to\b)[\w'’]{{1,30}}\s){{0,5}}?{PARTICIPLE}\b"
    # 过 says that something happened, but not in 过年, 过期, 通过
    r"|(?<![通超经經难難路])[过過](?![寿壽年节節期敏户戶来來程滤濾夜冬海关關])"
    r"|了(?![吗嗎呢啊]?\s*[？?。]?\s*$)",
    re.IGNORECASE,
)

_ANY_DAY = date(2000, 1, 1)  # where it does not matter which


class When(NamedTuple):
    """Of which time the state of things is asked: of now, of the end of a past span, or of their beginning."""

    until: int | None = None  # Unix ms; the end of the span, exclusive
    first: bool = False


def windows(text: str, asked_at: int, zone: tzinfo = UTC) -> list[Span]:
    """Half-open [since, until) intervals named in `text`, ascending, without duplicates.

    Args:
        text: The question, any language.
        asked_at: Unix ms; what "last week" is relative to.
        zone: Where it is asked, which tells when a day begins.
    """
    said = Said(text, to_datetime(asked_at).astimezone(zone).date(), asked=True)
    return sorted({span for each in mentions(said) if (span := dates.in_ms(each.stretch, zone))})


def state_asked(text: str, named: Sequence[Span], asked_at: int) -> When | None:
    """The time whose state a question is about. None: it is about an event, of which there may be many, all true.

    Args:
        named: Its windows.
        asked_at: Unix ms.
    """
    past = [until for _, until in named if until <= asked_at]
    if past:
        return When(until=max(past))
    if asks_first(text):
        return When(first=True)
    return When() if asks_present(text) or not asks_event(text) else None


def asks_present(text: str) -> bool:
    """Whether a question says that it is about now: "these days", "currently", 现在."""
    return _PRESENT.search(text) is not None


def asks_first(text: str) -> bool:
    """Whether a question is about how things were before they changed: "originally", "used to", 以前."""
    return _FIRST.search(text) is not None


def asks_event(text: str) -> bool:
    """Whether a question is about something that happened or might, not how things are: "did", "was", "would", 去过,
    演了什么."""
    return _TOLD.search(text) is not None


def without_relative(text: str) -> str:
    """The text without "last week", 昨天 and the like: they say when, and are seldom what the text sought says.

    Absolute dates stay, because texts are indexed with theirs, and so do seasons, which texts speak of.
    """
    return _without(text, absolute=False)


def without_times(text: str) -> str:
    """The text without any date or span, nor "before the move": what it asks, not when."""
    bare = _without(text, absolute=True)
    before = _BEFORE.search(bare)
    return bare[: before.start()] if before else bare


def _without(text: str, *, absolute: bool) -> str:
    said = Said(text, _ANY_DAY, asked=True)
    for each in sorted(mentions(said), reverse=True):
        if each.relative or absolute:
            text = f"{text[: each.start]} {text[each.end :]}"
    return text
