"""A value as marks: pairs of a dimension and an amount.

What a text tells and what a question asks for differ: "6:30" tells of a time on the dial and asks for either half of
the day; "2026-05-03" answers "3 May", but 3 May 2025 does not answer "2026-05-03". So each value has the marks it
`tells`, all of them true, and those it `asks` for, any of which will do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Mark = tuple[str, object]
Told = Mapping[str, set[object]]

UNSURE = "written number"  # a number without a unit may be meant in any: it can confirm, and never contradicts


class Value(NamedTuple):
    """One value of a text: what it tells, and what agrees with it."""

    tells: tuple[Mark, ...]
    asks: tuple[Mark, ...]


def same(*marks: Mark) -> Value:
    """A value that asks for what it tells."""
    return Value(marks, marks)


def agreement(asked: Value, told_marks: Told) -> float:
    """1: the text tells the value; 0: it tells another one of the same dimension; 0.5: it tells none."""
    contradicted = False
    for dimension, amount in asked.asks:
        amounts = told_marks.get(dimension)
        if amounts:
            if amount in amounts:
                return 1.0
            contradicted |= dimension != UNSURE
    return 0.0 if contradicted else 0.5
