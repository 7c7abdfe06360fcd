"""The values a text speaks of, in a form in which equal ones are equal however they are written.

    90 minutes · an hour and a half · 1h30 · 一个半小时      duration 5400 (seconds)
    1.5 GB · 1500 MB                                         size 1.5e9 (bytes)
    18:30 · half past six in the evening · 下午六点半        clock 1110 (minutes of the day)
    the 3rd of May · 2026-05-03 · 5月3日                     date
    v2.10, which is not v2.1 · Node 18 · 3.0版               version
    $1,200 · 1200 dollars; 20 % · 百分之二十; 18 °C; 三十五  other measures and plain numbers
    INV-2041 · eu-west-1                                     codes, compared with codes of the same shape

A value is a few *marks*, pairs of a dimension and an amount. What a text tells and what a question asks for differ:
"6:30" tells of two times of the day and asks for either; "2026-05-03" answers "3 May", but 3 May 2025 does not answer
"2026-05-03". So each value has the marks it `tells`, all of them true, and those it `asks` for.

Times relative to now ("last week") are no values: see `time_window`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import NamedTuple

from memhop.search import numerals as numbers
from memhop.search.measures import CURRENCIES, MONEY_BEFORE, is_counted, measured, unit_at
from memhop.search.numerals import SHARES, Numeral, han_amount
from memhop.search.time_window import MONTHS, WEEKDAYS

Mark = tuple[str, object]
Told = Mapping[str, set[object]]


class Value(NamedTuple):
    """One value of a text: what it tells, and what agrees with it, any of which will do."""

    tells: tuple[Mark, ...]
    asks: tuple[Mark, ...]


_UNSURE = "written number"  # a number without a unit may be meant in any: it can confirm, and never contradicts

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"
_DATE = re.compile(
    r"(?<![\d.])(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})(?:[-/.](?P<d1>\d{1,2}))?(?![\d.]*\d)"
    rf"|\b{_DAY.format('d2')}\s(?:of\s)?(?P<m2>{_MONTH})\b\.?(?:,?\s(?P<y2>\d{{4}})\b)?"
    rf"|\b(?P<m3>{_MONTH})\.?\s(?:the\s)?{_DAY.format('d3')}\b(?!:)(?:,?\s(?P<y3>\d{{4}})\b)?"
    rf"|\b(?:(?P<m4>(?!may\b|mar\b|march\b)(?:{_MONTH}))|(?:in|since|by|until|till|during|of|for|from|last)\s(?P<m6>may|march))"
    r"\b(?:\s(?P<y4>\d{4})\b)?"
    r"|(?:(?P<y5>\d{4})年)?(?P<m5>\d{1,2}|[一二三四五六七八九十]{1,2})月(?!前|后)"
    r"(?:份|(?P<d5>\d{1,2}|[一二三四五六七八九十]{1,3})[日号號])?"
)
_WEEKDAY = re.compile(
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
_CLOCK = re.compile(
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
_VERSION = re.compile(
    r"(?:\bv|\b(?:version|release|ver)\.?\s|版本号?\s?)\.?(?P<after>\d{1,6}(?:\.\d{1,6}){0,4})(?![\d%])"
    r"|(?<![\w.$€£¥-])(?P<dotted>\d{1,6}(?:\.\d{1,6}){2,4})(?![\d.])|(?<![\w.])(?P<before>\d{1,6}(?:\.\d{1,6}){1,3})版"
)
_CODE = re.compile(r"(?<![\w-])#?(?=\S{0,64}\d)[a-z]\w*+(?:[-./#:]\w++)*+")
_ORDINAL = re.compile(r"\b(\d{1,9})(?:st|nd|rd|th)\b|第([一二三四五六七八九十百千零〇两]{1,9}|\d{1,9})")
_DECIMAL_TAIL = re.compile(r"\.(\d+)$")
_AND_HALF = re.compile(r"\sand\sa\s(half|quarter)\b|个?半(?!天|年|个|径)")
_PER = re.compile(r"(?:\b(?:once|twice|times)|\d\S{0,6})\s$")
_JOINED = re.compile(r"[\s,]*(?:and\s)?")
_MAX_VALUES = 64  # of one text: enough for any note, and a bound for a text of nothing but numbers


def values(text: str) -> list[Value]:
    """The values of a text, at most 64. Cost: linear in its length."""
    return list(_values(text, None))


def told(text: str, asked: Iterable[Value]) -> Told:
    """What a text tells of the dimensions in which values are asked for: dimension to amounts.

    Cost: 10 to 100 us per 200 characters, by what is looked for and how many numbers there are.
    """
    wanted = {dimension.partition(":")[0] for value in asked for dimension, _ in value.asks}
    marks: dict[str, set[object]] = {}
    for value in _values(text, wanted):
        for dimension, amount in value.tells:
            marks.setdefault(dimension, set()).add(amount)
    return marks


def _values(text: str, wanted: set[str] | None) -> Iterator[Value]:
    """The values of a text; with `wanted` at least those that tell of these dimensions."""
    text = unicodedata.normalize("NFKC", numbers.normal_digits(text)).lower()
    found: list[Value] = []

    def consumed(match: re.Match[str], read: Callable[[re.Match[str]], Value | None]) -> str:
        value = read(match) if len(found) < _MAX_VALUES else None
        if value is None:
            return match.group()
        found.append(value)
        return " ; "  # what was understood is not read again, and its neighbours do not grow together

    # A plain number is what nothing else has claimed.
    everything = wanted is None or "number" in wanted
    for dimensions, sign, pattern, read in _PASSES:
        if (everything or not dimensions.isdisjoint(wanted or ())) and sign.search(text):
            text = pattern.sub(partial(consumed, read=read), text)
    yield from found
    if everything or not _READ_BEFORE.issuperset(wanted or ()):
        yield from islice(_quantities(text), _MAX_VALUES - len(found))


def agreement(asked: Value, told_marks: Told) -> float:
    """1: the text tells the value; 0: it tells another one of the same dimension; 0.5: it tells none."""
    contradicted = False
    for dimension, amount in asked.asks:
        amounts = told_marks.get(dimension)
        if amounts:
            if amount in amounts:
                return 1.0
            contradicted |= dimension != _UNSURE
    return 0.0 if contradicted else 0.5


def _same(*marks: Mark) -> Value:
    return Value(marks, marks)


def _date(match: re.Match[str]) -> Value | None:
    year, month, day = (
        next((found for form in "123456" if f"{part}{form}" in names and (found := names[f"{part}{form}"])), None)
        for names in (match.groupdict(),)
        for part in "ymd"
    )
    if month is None:
        return None
    m = MONTHS.get(month) or _whole(month)
    d = _whole(day) if day else 0
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


def _weekday(match: re.Match[str]) -> Value:
    english, han = match.groups()
    if english:
        number = next(number for name, number in WEEKDAYS.items() if name.startswith(english[:3]))
    else:
        number = "一二三四五六日".index(han.replace("天", "日")) if not han.isdigit() else int(han) - 1
    return _same(("weekday", number))


def _clock(match: re.Match[str]) -> Value | None:
    of = match.groupdict()
    if of["name"]:
        return _time_of_day(0 if of["name"] == "midnight" else 12, 0, definite=True)
    written = of["h1"] or of["h2"] or of["h3"] or of["h4"]
    hour = _HOURS.get(written) or _whole(written)
    part = next(
        (part.replace(".", "").replace("at ", "") for name in ("p1", "q1", "p2", "q2", "q3") if (part := of[name])), ""
    )
    if of["n2"]:
        minute = _MINUTES[of["n2"]] if of["n2"] in _MINUTES else _whole(of["n2"])
        if of["way"] == "to":
            hour, minute = (hour - 1) or 12, 60 - minute
    elif of["n4"]:
        minute = {"半": 30, "一刻": 15, "三刻": 45}.get(of["n4"]) or _whole(of["n4"])
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


def _version(match: re.Match[str]) -> Value:
    written = match["after"] or match["dotted"] or match["before"]
    marks = _version_marks(written)
    if "." not in written:
        marks += (("number", float(written)),)
    return _same(*marks)


def _version_marks(written: str) -> tuple[Mark, ...]:
    parts = [int(part) for part in written.split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return (("version", tuple(parts)),)


def _code(match: re.Match[str]) -> Value | None:
    code = match.group()
    if not any(map(str.isdigit, code)):
        return None
    return _same((f"code:{re.sub(r'[0-9]+', '0', code)}", code))


def _ordinal(match: re.Match[str]) -> Value:
    number = float(_whole(match[1] or match[2]))
    return Value((("ordinal", number), ("number", number)), (("ordinal", number), ("number", number)))


class _Pass(NamedTuple):
    """One kind of value: the dimensions it tells of, what a text that has any must hold, how it is found and read."""

    dimensions: frozenset[str]
    sign: re.Pattern[str]
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], Value | None]


_PASSES = (
    _Pass(
        frozenset(("date", "day", "day only", "month", "month only", "year and month")),
        re.compile(rf"\d[-/.]\d|\b(?:{_MONTH})\b|月"),
        _DATE,
        _date,
    ),
    _Pass(frozenset(("weekday",)), re.compile("day|mon|tue|wed|thu|fri|[周期拜]"), _WEEKDAY, _weekday),
    _Pass(
        frozenset(("clock", "dial", "dial only")),
        re.compile(r"\d[:h]\d|\d\s?[ap]\.?m|\b(?:past|to|noon|midday|midnight)\b|[点时時]|clock|teen|ty\b|in the"),
        _CLOCK,
        _clock,
    ),
    _Pass(frozenset(("version",)), re.compile(r"\d\.\d|v\.?\d|ver|release|版"), _VERSION, _version),
    _Pass(frozenset(("code",)), re.compile(r"\d"), _CODE, _code),
    _Pass(frozenset(("ordinal",)), re.compile(r"\d(?:st|nd|rd|th)|第"), _ORDINAL, _ordinal),
)
_READ_BEFORE = frozenset().union(*(each.dimensions for each in _PASSES)) - {"version", "ordinal"} | {"dial only"}


class _Quantity(NamedTuple):
    start: int
    end: int
    marks: tuple[tuple[str, float], ...]  # readings of the unit; empty for a plain number
    number: Numeral


def _quantities(text: str) -> Iterator[Value]:
    """Numbers with their units; what is said in two steps ("2 hours 15 minutes", 八斤二两) is one."""
    pending: _Quantity | None = None
    for number in numbers.numerals(text):
        if pending is not None and number.start < pending.end:
            continue
        quantity = _quantity(text, number)
        if quantity is None:
            continue
        if pending is not None:
            joined = _sum(pending, quantity, text)
            if joined is not None:
                pending = joined
                continue
            yield _value(pending)
        pending = quantity
    if pending is not None:
        yield _value(pending)


def _quantity(text: str, number: Numeral) -> _Quantity | None:
    """A number with the unit that follows it or stands before it. None: nothing that is worth comparing."""
    start, end = number.start, number.end
    amount = number.amount
    if number.percent:
        return _Quantity(start, end, (("percent", amount),), number)
    if number.text == "a" and _PER.search(text, max(0, start - 16), start):
        return None  # "5 a week" tells no week
    half = _AND_HALF.match(text, end)
    if half:  # two and a half hours, 一个半小时
        amount += 0.25 if half[1] == "quarter" else 0.5
        end = half.end()
    unit = unit_at(text, end)
    if unit is not None and not (number.text == "a" and len(unit[0]) == 1 and unit[0].isascii()):
        name, end = unit
        if half is None and (half := _AND_HALF.match(text, end)):  # an hour and a half, 两年半
            amount += 0.25 if half[1] == "quarter" else 0.5
            end = half.end()
        return _measured(start, end, amount, name, number)
    if money := MONEY_BEFORE.search(text, max(0, start - 2), start):
        return _measured(start, end, amount, money[1], number)
    if number.bare or (number.text not in ("a", "半", *SHARES) and is_counted(text, end)):
        return _Quantity(start, end, (), number._replace(amount=amount))
    return None


def _measured(start: int, end: int, amount: float, unit: str, number: Numeral) -> _Quantity:
    return _Quantity(start, end, _rounded(measured(amount, unit)), number._replace(amount=amount))


def _sum(first: _Quantity, then: _Quantity, text: str) -> _Quantity | None:
    """Two quantities side by side of one dimension, the larger unit first, as one. None: they are two."""
    gap = _JOINED.match(text, first.end)
    if not first.marks or not then.marks or gap is None or gap.end() != then.start:
        return None
    smaller = dict(then.marks)
    marks = tuple((name, amount + smaller[name]) for name, amount in first.marks if 0 < smaller.get(name, 0) < amount)
    return _Quantity(first.start, then.end, _rounded(marks), first.number) if marks else None


def _value(quantity: _Quantity) -> Value:
    number, amount = quantity.number, quantity.number.amount
    if quantity.marks:
        units: list[Mark] = [
            ("money", (name, sum_)) if name in CURRENCIES else (name, sum_) for name, sum_ in quantity.marks
        ]
        return Value((*units, ("number", amount)), (*units, (_UNSURE, amount)))
    marks: tuple[Mark, ...] = (("number", amount),)
    if decimal := _DECIMAL_TAIL.search(number.text):  # may be a version, and 2.10 is then not 2.1
        version = _version_marks(number.text)
        return (
            _same(*version)
            if decimal[1].endswith("0")
            else Value((*version, *marks, (_UNSURE, amount)), (*version, *marks))
        )
    version = _version_marks(str(int(amount))) if amount == int(amount) and 0 <= amount < 1e6 else ()
    return Value((*marks, (_UNSURE, amount), *version), marks)


def _rounded(marks: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    return tuple((name, float(f"{amount:.9g}")) for name, amount in marks)


def _whole(text: str) -> int:
    """Digits or a short Han numeral as an integer."""
    return int(text) if text.isdecimal() else int(han_amount(text))
