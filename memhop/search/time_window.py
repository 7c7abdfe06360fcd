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
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from memhop.common.clock import to_datetime

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sept sep", "october oct", "november nov", "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: number for number, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
}
_ENGLISH_NUMBERS = {
    word: number for number, word in enumerate("zero one two three four five six seven eight nine ten".split())
} | {"a": 1, "an": 1, "couple": 2}
HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九十")} | {"两": 2, "〇": 0}

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_NUMBER = r"(\d{1,3}|" + "|".join(_ENGLISH_NUMBERS) + r")(?:\s+of)?"
_HAN_NUMBER = r"(\d{1,3}|[一二两三四五六七八九十]{1,3})"
_ISO = re.compile(r"\b(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b\.?(?:,?\s+(\d{{4}}))?")
_MONTH_DAY = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+(\d{{4}}))?")
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\.?,?\s+(?:of\s+)?(\d{{4}})\b")
_IN_MONTH = re.compile(rf"\b(?:in|during|since|last|this|early|late|mid|of)[\s-]+({_MONTH})\b(?!\s+\d)")
_IN_YEAR = re.compile(r"\b(?:in|during|of|year)\s+((?:19|20)\d{2})\b")
_AGO = re.compile(rf"\b{_NUMBER}\s+(day|week|month|year)s?\s+ago\b")
_PAST = re.compile(rf"\b(?:last|past|previous)\s+{_NUMBER}\s+(day|week|month|year)s?\b")
_RELATIVE = re.compile(r"\b(last|previous|past|this)\s+(week|weekend|month|year)\b")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
_SEASON = re.compile(r"\b(?:last|this past|previous|past)\s(spring|summer|autumn|fall|winter)\b")
_WEEKDAY = re.compile(r"\b(?:last|on|this past)\s+(" + "|".join(WEEKDAYS) + r")\b")
_DAYS = re.compile(r"\b(today|yesterday|tonight|last night|the day before yesterday)\b")
_HAN_DATE = re.compile(
    r"(?:(\d{4}|今|去|前)年)?([0-9]{1,2}|[一二三四五六七八九十]{1,2})月(?:([0-9]{1,2}|[一二三四五六七八九十]{1,3})[日号])?"
)
_HAN_YEAR = re.compile(r"(\d{4})年(?!\d{0,2}[一二三四五六七八九十]*月)")
_HAN_AGO = re.compile(_HAN_NUMBER + r"(?:个)?(天|周|星期|月|年)(?:以)?前")
_HAN_WEEKDAY = re.compile(r"(上|这|本)(?:个)?(?:周|星期|礼拜)([一二三四五六日天])")
_HAN_SEASON = re.compile(r"(去年|今年|前年|上个)([春夏秋冬])[天季]?")
_HAN_WORDS = {
    "今天": ("day", 0), "昨天": ("day", 1), "昨晚": ("day", 1), "前天": ("day", 2), "今年": ("year", 0),
    "去年": ("year", 1), "前年": ("year", 2),
}  # fmt: skip
_HAN_SPAN = re.compile(r"(上上|上|这|本)(?:个|一)?(周|星期|礼拜|月)(?![一二三四五六日天])")

_RELATIVE_WORDS = re.compile(
    "|".join(
        f"(?:{pattern.pattern})"
        for pattern in (
            _DAYS,
            _RELATIVE,
            _AGO,
            _PAST,
            _WEEKDAY,
            _HAN_AGO,
            _HAN_WEEKDAY,
            _HAN_SPAN,
        )
    )
    + "|(?:"
    + "|".join(sorted(_HAN_WORDS, key=len, reverse=True))
    + r")(?!\d{1,2}月)",
    re.IGNORECASE,
)

_TIMES = re.compile(
    "|".join(
        f"(?:{pattern.pattern})"
        for pattern in (
            _ISO,
            _DAY_MONTH,
            _MONTH_DAY,
            _MONTH_YEAR,
            _IN_MONTH,
            _IN_YEAR,
            _HAN_DATE,
            _HAN_YEAR,
            _SEASON,
            _HAN_SEASON,
        )
    ),
    re.IGNORECASE,
)

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
    # 过 says that something happened, but not in 过年, 过期, 通过
    r"|(?<![通超经經难難路])[过過](?![寿壽年节節期敏户戶来來程滤濾夜冬海关關])"
    r"|了(?![吗嗎呢啊]?\s*[？?。]?\s*$)",
    re.IGNORECASE,
)

Window = tuple[int, int]


class When(NamedTuple):
    """Of which time the state of things is asked: of now, of the end of a past span, or of their beginning."""

    until: int | None = None  # Unix ms; the end of the span, exclusive
    first: bool = False


def windows(text: str, asked_at: int) -> list[Window]:
    """Half-open [since, until) intervals named in `text`, ascending, without duplicates.

    Args:
        text: The question, any language.
        asked_at: Unix ms; what "last week" is relative to.
    """
    lowered = text.lower()
    today = to_datetime(asked_at).date()
    found: set[Window] = set()
    for finder in (_english_relative, _english_absolute, _han):
        for first, days_end in finder(lowered, today):
            if first < days_end:  # empty: beyond what a calendar holds
                found.add((_ms(first), _ms(days_end)))
    return sorted(found)


def state_asked(text: str, asked_at: int) -> When | None:
    """The time whose state a question is about. None: it is about an event, of which there may be many, all true."""
    past = [until for _, until in windows(text, asked_at) if until <= asked_at]
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
    return _RELATIVE_WORDS.sub(" ", text)


def without_times(text: str) -> str:
    """The text without any date or span, nor "before the move": what it asks, not when."""
    bare = without_relative(_TIMES.sub(" ", text))
    before = _BEFORE.search(bare)
    return bare[: before.start()] if before else bare


def _english_relative(text: str, today: date) -> Iterator[tuple[date, date]]:
    for match in _DAYS.finditer(text):
        back = {"today": 0, "tonight": 0, "yesterday": 1, "last night": 1}.get(match[1], 2)
        yield _span("day", back, today)
    for match in _RELATIVE.finditer(text):
        if match[2] == "weekend":
            monday, end = _span("week", 0 if match[1] == "this" else 1, today)
            yield monday + timedelta(days=5), end
        else:
            yield _span(match[2], 0 if match[1] == "this" else 1, today)
    for match in _SEASON.finditer(text):
        season = _season(_SEASONS[match[1]], today.year)
        yield season if season[1] <= today else _season(_SEASONS[match[1]], today.year - 1)
    for match in _AGO.finditer(text):
        yield _around(match[2], _english_number(match[1]), today)
    for match in _PAST.finditer(text):
        first = _span(match[2], _english_number(match[1]), today)[0]
        yield first, _span("day", 0, today)[1]
    for match in _WEEKDAY.finditer(text):
        back = (today.weekday() - WEEKDAYS[match[1]] - 1) % 7 + 1
        yield _span("day", back, today)


def _english_absolute(text: str, today: date) -> Iterator[tuple[date, date]]:
    taken: list[tuple[int, int]] = []

    def free(match: re.Match[str]) -> bool:
        if any(match.start() < end and start < match.end() for start, end in taken):
            return False
        taken.append(match.span())
        return True

    for match in _ISO.finditer(text):
        yield from _date(match[1], match[2], match[3], today)
        taken.append(match.span())
    for match in _DAY_MONTH.finditer(text):
        if free(match):
            yield from _date(match[3], MONTHS[match[2]], match[1], today)
    for match in _MONTH_YEAR.finditer(text):
        if free(match):
            yield from _date(match[2], MONTHS[match[1]], None, today)
    for match in _MONTH_DAY.finditer(text):
        if free(match):
            yield from _date(match[3], MONTHS[match[1]], match[2], today)
    for match in _IN_MONTH.finditer(text):
        if free(match):
            yield from _date(None, MONTHS[match[1]], None, today)
    for match in _IN_YEAR.finditer(text):
        if free(match):
            yield date(int(match[1]), 1, 1), date(int(match[1]) + 1, 1, 1)


def _han(text: str, today: date) -> Iterator[tuple[date, date]]:
    dates = list(_HAN_DATE.finditer(text))
    bare = _HAN_SEASON.sub(" ", _HAN_DATE.sub(" ", text))  # 去年三月 is a month, not also a year
    for word, (unit, back) in _HAN_WORDS.items():
        if word in bare:
            yield _span(unit, back, today)
    for match in _HAN_SEASON.finditer(text):
        back = {"去年": 1, "前年": 2}.get(match[1], 0)
        yield _season(_SEASONS[match[2]], today.year - back)
    for match in _HAN_SPAN.finditer(text):
        back = {"上上": 2, "上": 1}.get(match[1], 0)
        yield _span("month" if match[2] == "月" else "week", back, today)
    for match in _HAN_WEEKDAY.finditer(text):
        monday, end = _span("week", 1 if match[1] == "上" else 0, today)
        if monday < end:
            yield _span("day", 0, monday + timedelta(days="一二三四五六日".index(match[2].replace("天", "日"))))
    for match in _HAN_AGO.finditer(text):
        unit = {"天": "day", "月": "month", "年": "year"}.get(match[2], "week")
        yield _around(unit, _han_number(match[1]), today)
    for match in dates:
        ago = {"今": 0, "去": 1, "前": 2}.get(match[1])
        year = match[1] if ago is None else str(today.year - ago)
        yield from _date(year, _han_number(match[2]), match[3] and _han_number(match[3]), today)
    for match in _HAN_YEAR.finditer(text):
        if 1970 <= int(match[1]) <= 9998:
            yield date(int(match[1]), 1, 1), date(int(match[1]) + 1, 1, 1)


def _span(unit: str, back: int, today: date) -> tuple[date, date]:
    """The calendar day, week, month or year that lies `back` units before today's."""
    try:
        if unit == "day":
            first = today - timedelta(days=back)
            return first, first + timedelta(days=1)
        if unit == "week":
            first = today - timedelta(days=today.weekday() + 7 * back)
            return first, first + timedelta(days=7)
        months = today.year * 12 + today.month - 1
        if unit == "month":
            return _month_start(months - back), _month_start(months - back + 1)
        return date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1)
    except (ValueError, OverflowError):
        return date.min, date.min


def _season(month: int, year: int) -> tuple[date, date]:
    """The three months from the first of `month` in that year."""
    start = year * 12 + month - 1
    try:
        return _month_start(start), _month_start(start + 3)
    except ValueError:
        return date.min, date.min


def _around(unit: str, back: int, today: date) -> tuple[date, date]:
    """ "three weeks ago": the unit itself and half a unit either side of that day, for people round."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    try:
        middle = today - timedelta(days=days * back)
    except OverflowError:
        return date.min, date.min
    slack = timedelta(days=0 if unit == "day" else max(1, days // 2))
    return middle - slack, middle + slack + timedelta(days=1)


def _date(year: str | None, month: int | str, day: int | str | None, today: date) -> Iterator[tuple[date, date]]:
    try:
        month_number = int(month)
        if day is None:
            chosen = int(year) if year else today.year
            if not year and date(chosen, month_number, 1) > today:
                chosen -= 1
            months = chosen * 12 + month_number - 1
            yield _month_start(months), _month_start(months + 1)
            return
        first = date(int(year), month_number, int(day)) if year else _latest(month_number, int(day), today)
        yield first, first + timedelta(days=1)
    except (ValueError, OverflowError):
        return  # "31 June", month 13: not a date after all


def _latest(month: int, day: int, today: date) -> date:
    """The latest such date up to today. Raises ValueError when no year has it; 29 February may lie eight years back."""
    for year in range(today.year, today.year - 9, -1):
        with suppress(ValueError):
            if (found := date(year, month, day)) <= today:
                return found
    raise ValueError("no such date")


def _month_start(months: int) -> date:
    return date(months // 12, months % 12 + 1, 1)


def _english_number(text: str) -> int:
    return int(text) if text.isdigit() else _ENGLISH_NUMBERS[text]


def _han_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if "十" not in text:
        return HAN_DIGITS[text[0]]
    tens, _, ones = text.partition("十")  # of two digits side by side ("二三十天", 20 or 30 days) the first counts
    return (HAN_DIGITS[tens[0]] if tens else 1) * 10 + (HAN_DIGITS[ones[0]] if ones else 0)


def _ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
