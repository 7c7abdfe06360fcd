"""Dates, days of the week and times of the day, read out of a text of lower case.

    the 3rd of May · May 3, 2026 · 2026-05-03 · 5月3日        date: year, month and day, as far as they are named
    Tuesdays · 周二                                           weekday, Monday 0
    18:30 · half past six in the evening · 下午六点半         clock: minutes of the day
    half past six · 6:30                                      dial: minutes of half a day, for it may be either

Each kind is a pattern and a function that makes a value of a match, or None where it was none after all.
"""

from __future__ import annotations

import re

from memhop.search.marks import Mark, Value, same
from memhop.search.numerals import whole
from memhop.search.time_english import MONTHS, WEEKDAYS

MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"
DATE = re.compile(
    r"(?<![\d.])(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})(?:[-/.](?P<d1>\d{1,2}))?(?![\d.]*\d)"
    rf"|\b{_DAY.format('d2')}\s(?:of\s)?(?P<m2>{MONTH})\b\.?(?:,?\s(?P<y2>\d{{4}})\b)?"
    rf"|\b(?P<m3>{MONTH})\.?\s(?:the\s)?{_DAY.format('d3')}\b(?!:)(?:,?\s(?P<y3>\d{{4}})\b)?"
    rf"|\b(?:(?P<m4>(?!may\b|mar\b|march\b)(?:{MONTH}))|(?:in|since|by|until|till|during|of|for|from|last)\s(?P<m6>may|march))"
    r"\b(?:\s(?P<y4>\d{4})\b)?"
    r"|(?:(?P<y5>\d{4})年)?(?P<m5>\d{1,2}|[一二三四五六七八九十]{1,2})月(?!前|后)"
    r"(?:份|(?P<d5>\d{1,2}|[一二三四五六七八九十]{1,3})[日号號])?"
)
WEEKDAY = re.compile(
    r"\b(" + "|".join(WEEKDAYS) + r"|mon|tues?|wed|thu(?:rs?)?|fri)s?\b"
    r"|(?:周|星期|礼拜|禮拜)([一二三四五六日天1-6])"
)
_HOURS = {word: n for n, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)}
_MINUTES = {"five": 5, "ten": 10, "twenty": 20, "twenty-five": 25, "quarter": 15, "a quarter": 15, "half": 30}
_SPOKEN = {"fifteen": 15, "thirty": 30, "forty-five": 45, "ten": 10, "twenty": 20, "forty": 40, "fifty": 50}
_HOUR = r"(?P<{}>\d{{1,2}}|" + "|".join(_HOURS) + ")"
_PART_OF_DAY = (
    r"(?:\s?(?P<{}>[ap]\.?m\b\.?)"
    r"|,?\s(?:(?:in\sthe|this|every)\s)?(?P<{}>morning|afternoon|evening|at\snight|tonight)\b)"
)
CLOCK = re.compile(
    r"(?<![\d:.])(?P<h1>\d{1,2})[:h](?P<n1>[0-5]\d)(?::\d\d)?(?![\d:])"
    rf"(?:{_PART_OF_DAY.format('p1', 'q1')})?"
    rf"|\b(?:(?P<n2>half|(?:a\s)?quarter|five|ten|twenty-five|twenty|\d{{1,2}})(?:\sminutes?)?\s(?P<way>past|to)\s{_HOUR.format('h2')}"
    rf"|{_HOUR.format('h3')}\s?(?:o'?\s?clock|(?P<n3>{'|'.join(_SPOKEN)})(?=\s(?:in|at|on|this)\b|[.,?!]|$)|(?=\s?[ap]\.?m\b)|(?=\sin\sthe\s(?:mor|aft|eve))))"
    rf"(?!\d|[b-oq-z])(?:{_PART_OF_DAY.format('p2', 'q2')})?"
    r"|\b(?P<name>noon|midday|midnight)\b"
    r"|(?P<q3>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|晚|夜里|半夜)?"
    r"(?P<h4>\d{1,2}|[一二三四五六七八九十两]{1,3})[点點时時](?!间|候|間|长|刻)(?P<n4>半|一刻|三刻|(?:\d{1,2}|[一二三四五六七八九十]{1,3})(?=分)|\d\d|[二三四五]?十[一二三四五六七八九]?)?"
)
_LATE = frozenset("p pm afternoon evening tonight 下午 傍晚 晚上 晚 夜里".split())


def date(match: re.Match[str]) -> Value | None:
    year, month, day = (
        next((found for form in "123456" if f"{part}{form}" in names and (found := names[f"{part}{form}"])), None)
        for names in (match.groupdict(),)
        for part in "ymd"
    )
    if month is None:
        return None
    m = MONTHS.get(month) or whole(month)
    d = whole(day) if day else 0
    y = int(year) if year else 0
    if not (1 <= m <= 12 and d <= 31):
        return None
    if d and y:
        tells: tuple[Mark, ...] = (("date", (y, m, d)), ("day", (m, d)), ("month", m), ("year and month", (y, m)))
        return Value(tells, (("date", (y, m, d)), ("day only", (m, d))))
    if d:
        return Value((("day only", (m, d)), ("day", (m, d)), ("month", m)), (("day", (m, d)),))
    if y:
        return Value((("year and month", (y, m)), ("month", m)), (("year and month", (y, m)), ("month only", m)))
    return Value((("month", m), ("month only", m)), (("month", m),))


def weekday(match: re.Match[str]) -> Value:
    english, han = match.groups()
    if english:
        number = next(number for name, number in WEEKDAYS.items() if name.startswith(english[:3]))
    else:
        number = "一二三四五六日".index(han.replace("天", "日")) if not han.isdigit() else int(han) - 1
    return same(("weekday", number))


def clock(match: re.Match[str]) -> Value | None:
    of = match.groupdict()
    if of["name"]:
        return _time_of_day(0 if of["name"] == "midnight" else 12, 0, definite=True)
    written = of["h1"] or of["h2"] or of["h3"] or of["h4"]
    hour = _HOURS.get(written) or whole(written)
    part = next(
        (part.replace(".", "").replace("at ", "") for name in ("p1", "q1", "p2", "q2", "q3") if (part := of[name])), ""
    )
    if of["n2"]:
        minute = _MINUTES[of["n2"]] if of["n2"] in _MINUTES else whole(of["n2"])
        if of["way"] == "to":
            hour, minute = (hour - 1) or 12, 60 - minute
    elif of["n4"]:
        minute = {"半": 30, "一刻": 15, "三刻": 45}.get(of["n4"]) or whole(of["n4"])
    else:
        minute = int(of["n1"]) if of["n1"] else _SPOKEN.get(of["n3"] or "", 0)
    if hour > 24 or not 0 <= minute < 60:
        return None
    if not part:
        if written == "一" and not of["n4"]:
            return None  # 一点: "a little"
        return _time_of_day(hour % 24, minute, definite=hour > 12 or (bool(of["h1"]) and written.startswith("0")))
    if hour <= 12 and part != "中午":
        late = part in _LATE or (part in ("night", "半夜") and 5 < hour < 12)
        hour = hour % 12 + (12 if late else 0)
    return _time_of_day(hour % 24, minute, definite=True)


def _time_of_day(hour: int, minute: int, *, definite: bool) -> Value:
    at = 60 * hour + minute
    dial = at % 720
    if definite:
        return Value((("clock", at), ("dial", dial)), (("clock", at), ("dial only", dial)))
    return Value((("dial", dial), ("dial only", dial)), (("dial", dial),))
