"""Stretches of the calendar, as half-open pairs of local times without a zone: days, weeks, months, seasons, years.

Weeks start on Monday. Seasons are those of the northern half of the globe. Every function gives None for what no
calendar holds ("31 June", the week before the first one of year 1).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, tzinfo
from functools import wraps
from typing import Final, ParamSpec

from memhop.common.clock import LAST_MS
from memhop.repo.record import Span

Stretch = tuple[datetime, datetime]
Leaning = int  # of what is said without saying which year or week: -1 past, 1 to come, 0 unknown
SLACK: Final = {"day": 0, "week": 3, "month": 15, "year": 182}  # days by which "three units ago" may be off
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
# Hours of a day from midnight; a night goes on until the next morning.
HOURS: Final = {"morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
_P = ParamSpec("_P")


def _or_none(compute: Callable[_P, Stretch | None]) -> Callable[_P, Stretch | None]:
    @wraps(compute)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> Stretch | None:
        try:
            return compute(*args, **kwargs)
        except (ValueError, OverflowError):
            return None

    return checked


@_or_none
def unit(name: str, steps: int, today: date) -> Stretch | None:
    """The calendar day, week, month or year that lies so many steps after today's (before, if negative)."""
    if name == "day":
        return days(today + timedelta(days=steps))
    if name == "week":
        return days(today + timedelta(days=7 * steps - today.weekday()), 7)
    months = today.year * 12 + today.month - 1
    if name == "month":
        return _months(months + steps, 1)
    return _months(12 * (today.year + steps), 12)


@_or_none
def weekend(steps: int, today: date) -> Stretch | None:
    """Saturday and Sunday of a week so many weeks after this one."""
    return days(today + timedelta(days=7 * steps - today.weekday() + 5), 2)


@_or_none
def around(name: str, steps: int, today: date) -> Stretch | None:
    """ "three weeks ago": that day and half a unit either side, for people round."""
    middle = today + timedelta(days=_DAYS[name] * steps)
    return days(middle - timedelta(days=SLACK[name]), 2 * SLACK[name] + 1)


@_or_none
def since(name: str, count: int, today: date) -> Stretch | None:
    """ "the last three weeks": from the start of the unit that many back until the end of today."""
    first = unit(name, -count, today)
    return first and (first[0], _midnight(today) + timedelta(days=1))


@_or_none
def until(name: str, count: int, today: date) -> Stretch | None:
    """ "the next three weeks": from today until the end of that many units."""
    last = unit(name, count, today)
    return last and (_midnight(today), last[1])


@_or_none
def season(month: int, year: int) -> Stretch | None:
    """The three months from the first of `month` in that year."""
    return _months(year * 12 + month - 1, 3)


@_or_none
def season_near(month: int, which: str, today: date) -> Stretch | None:
    """The "last" one that is over, the "next" one that has not begun, or else "this" year's."""
    found = season(month, today.year)
    if which == "last" and found and found[1].date() > today:
        return season(month, today.year - 1)
    if which == "next" and found and found[0].date() <= today:
        return season(month, today.year + 1)
    return found


@_or_none
def weekday(number: int, leaning: Leaning, today: date) -> Stretch | None:
    """The last such day before today, Monday 0; the first one after it with `leaning` 1."""
    if leaning > 0:
        return days(today + timedelta(days=(number - today.weekday() - 1) % 7 + 1))
    return days(today - timedelta(days=(today.weekday() - number - 1) % 7 + 1))


@_or_none
def weekday_of_week(number: int, steps: int, today: date) -> Stretch | None:
    """Such a day of the week so many weeks after this one."""
    return days(today + timedelta(days=7 * steps - today.weekday() + number))


@_or_none
def dated(year: int | None, month: int, day: int | None, leaning: Leaning, today: date) -> Stretch | None:
    """A date or month. Without a year: the latest up to today, the next from today on, or the one that is nearer."""
    if year is not None:
        return days(date(year, month, day)) if day else _months(year * 12 + month - 1, 1)
    start = today if day else today.replace(day=1)
    past = _in_some_year(month, day, range(today.year, today.year - 9, -1), lambda first: first <= today)
    coming = _in_some_year(month, day, range(today.year, today.year + 9), lambda first: first >= start)
    if leaning:
        return past if leaning < 0 else coming
    if past is None or coming is None:
        return past or coming
    now = _midnight(today)
    return past if now - past[0] <= coming[0] - now else coming


@_or_none
def year(number: int) -> Stretch | None:
    return _months(number * 12, 12)


def part_of(day: Stretch, part: str) -> Stretch:
    """The hours of a day called so (`HOURS`)."""
    first, end = HOURS[part]
    return day[0] + timedelta(hours=first), day[0] + timedelta(hours=end)


def joined(one: Stretch | None, other: Stretch | None) -> Stretch | None:
    """From the beginning of the earlier to the end of the later one."""
    return one and other and (min(one[0], other[0]), max(one[1], other[1]))


def in_ms(stretch: Stretch, zone: tzinfo) -> Span | None:
    """A stretch in Unix ms, by the clocks of a zone. None: it is empty there, begins before 1970 or ends too late."""
    try:
        since, until = (int(edge.replace(tzinfo=zone).timestamp() * 1000) for edge in stretch)
    except (ValueError, OverflowError):
        return None
    return (since, until) if 0 <= since < until <= LAST_MS else None


def days(first: date, count: int = 1) -> Stretch:
    """So many days. Raises OverflowError beyond what a calendar holds."""
    start = _midnight(first)
    return start, start + timedelta(days=count)


def _in_some_year(month: int, day: int | None, years: range, fits: Callable[[date], bool]) -> Stretch | None:
    """The first of these years in which there is such a date, and it fits; 29 February may be eight years off."""
    for number in years:
        try:
            first = date(number, month, day or 1)
        except ValueError:
            continue
        if fits(first):
            return days(first) if day else _months(number * 12 + month - 1, 1)
    return None


def _months(first: int, count: int) -> Stretch:
    """Whole months, counted from year 0. Raises ValueError beyond what a calendar holds."""
    end = first + count
    return datetime(first // 12, first % 12 + 1, 1), datetime(end // 12, end % 12 + 1, 1)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)
