"""Numbers with their units, read out of a text of lower case: 90 minutes, an hour and a half, $1,200, 八斤二两, 35."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memhop.search.marks import UNSURE, Mark, Value, same
from memhop.search.measures import CURRENCIES, MONEY_BEFORE, is_counted, measured, unit_at
from memhop.search.numerals import SHARES, Numeral, numerals

_DECIMAL = re.compile(r"\d+\.(\d+)")
_AND_HALF = re.compile(r"\sand\sa\s(half|quarter)\b|个?半(?!天|年|个|径)")
_PER = re.compile(r"(?:\b(?:once|twice|times)|\d\S{0,6})\s$")
_JOINED = re.compile(r"[\s,]*(?:and\s)?")


def version_marks(written: str) -> tuple[Mark, ...]:
    """A version as a mark. Its last zeros say nothing: 3.0 is 3."""
    parts = [int(part) for part in written.split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return (("version", tuple(parts)),)


class _Quantity(NamedTuple):
    start: int
    end: int
    marks: tuple[tuple[str, float], ...]  # readings of the unit; empty for a plain number
    number: Numeral


def quantities(text: str) -> Iterator[Value]:
    """Numbers with their units; what is said in two steps ("2 hours 15 minutes", 八斤二两) is one."""
    pending: _Quantity | None = None
    for number in numerals(text):
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
        return Value((*units, ("number", amount)), (*units, (UNSURE, amount)))
    marks: tuple[Mark, ...] = (("number", amount),)
    if decimal := _DECIMAL.fullmatch(number.text):  # may be a version, and 2.10 is then not 2.1
        version = version_marks(number.text)
        return (
            same(*version)
            if decimal[1].endswith("0")
            else Value((*version, *marks, (UNSURE, amount)), (*version, *marks))
        )
    version = version_marks(str(int(amount))) if 0 <= amount < 1e6 and amount == int(amount) else ()
    return Value((*marks, (UNSURE, amount), *version), marks)


def _rounded(marks: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    return tuple((name, float(f"{amount:.9g}")) for name, amount in marks)
