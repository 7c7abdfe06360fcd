"""The values a text speaks of, in a form in which equal ones are equal however they are written.

    90 minutes · an hour and a half · 1h30 · 一个半小时      duration 5400 (seconds)
    1.5 GB · 1500 MB                                         size 1.5e9 (bytes)
    18:30 · half past six in the evening · 下午六点半        clock 1110 (minutes of the day)
    the 3rd of May · 2026-05-03 · 5月3日                     date
    v2.10, which is not v2.1 · Node 18 · 3.0版               version
    $1,200 · 1200 dollars; 20 % · 百分之二十; 18 °C; 三十五  other measures and plain numbers
    INV-2041 · eu-west-1                                     codes, compared with codes of the same shape

Each is a few marks, see `marks`. Times relative to now ("last week") are no values: see `time_window`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from memhop.search import moments
from memhop.search.marks import Told, Value, same
from memhop.search.numerals import normal_digits, whole
from memhop.search.quantities import quantities, version_marks

_VERSION = re.compile(
    r"(?<![a-z\d_])(?:v|(?:version|release|ver)\.?\s|版本号?\s?)\.?(?P<after>\d{1,6}(?:\.\d{1,6}){0,4})(?![\d%])"
    r"|(?<![\w.$€£¥-])(?P<dotted>\d{1,6}(?:\.\d{1,6}){2,4})(?![\d.])|(?<![\w.])(?P<before>\d{1,6}(?:\.\d{1,6}){1,3})版"
)
_CODE = re.compile(r"(?<![a-z\d_-])#?(?=\S{0,64}\d)[a-z]\w*+(?:[-./#:]\w++)*+")
_ORDINAL = re.compile(r"\b(\d{1,9})(?:st|nd|rd|th)\b|第([一二三四五六七八九十百千零〇两]{1,9}|\d{1,9})")
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
    text = unicodedata.normalize("NFKC", normal_digits(text)).lower()
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
        yield from islice(quantities(text), _MAX_VALUES - len(found))


def _version(match: re.Match[str]) -> Value:
    written = match["after"] or match["dotted"] or match["before"]
    marks = version_marks(written)
    if "." not in written:
        marks += (("number", float(written)),)
    return same(*marks)


def _code(match: re.Match[str]) -> Value | None:
    code = match.group()
    if not any(map(str.isdigit, code)):
        return None
    return same((f"code:{re.sub(r'[0-9]+', '0', code)}", code))


def _ordinal(match: re.Match[str]) -> Value:
    number = float(whole(match[1] or match[2]))
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
        re.compile(rf"\d[-/.]\d|\b(?:{moments.MONTH})\b|月"),
        moments.DATE,
        moments.date,
    ),
    _Pass(frozenset(("weekday",)), re.compile("day|mon|tue|wed|thu|fri|[周期拜]"), moments.WEEKDAY, moments.weekday),
    _Pass(
        frozenset(("clock", "dial", "dial only")),
        re.compile(r"\d[:h]\d|\d\s?[ap]\.?m|\b(?:past|to|noon|midday|midnight)\b|[点时時]|clock|teen|ty\b|in the"),
        moments.CLOCK,
        moments.clock,
    ),
    _Pass(frozenset(("version",)), re.compile(r"\d\.\d|v\.?\d|ver|release|版"), _VERSION, _version),
    _Pass(frozenset(("code",)), re.compile(r"\d"), _CODE, _code),
    _Pass(frozenset(("ordinal",)), re.compile(r"\d(?:st|nd|rd|th)|第"), _ORDINAL, _ordinal),
)
_READ_BEFORE = frozenset().union(*(each.dimensions for each in _PASSES)) - {"version", "ordinal"} | {"dial only"}
