"""A text as somebody said it: on which day, as a question or not, and whether a sentence looks back or ahead.

A question looks back, so that a month without a year is the latest one. A statement may be about what is to come; its
sentence tells ("we are going in June"), and where that says nothing, the nearer one is meant.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from memhop.search.dates import Leaning, Stretch

_AROUND = 160  # characters before and after some words, in which their sentence lies
_SENTENCE_END = re.compile(r"[.!?\n;。！？；]")
_AHEAD = re.compile(
    r"\b(?:will|won'?t|shall|gonna|going to|plan|plans|planning|hope|hopes|hoping|upcoming|coming up|scheduled|booked"
    r"|due|deadline|looking forward|can'?t wait|about to)\b|['’]ll\b"
    r"|将|將|要(?!求)|会(?!议)|會(?!議)|打算|计划|計劃|准备|準備|预定|預定|安排"
)
_BEHIND = re.compile(
    r"\b(?:was|were|did|didn'?t|had|went|came|saw|met|got|made|took|gave|bought|found|felt|said|told|ran|won|lost|ate"
    r"|left|began|wrote|sent|spent|[a-z]{2,30}ed(?<!eed))\b|[了过過]"
)


class Mention(NamedTuple):
    """Words that name a time, and the stretch they mean. `relative`: to when they are said ("last week")."""

    start: int
    end: int
    stretch: Stretch
    relative: bool


class Said(NamedTuple):
    """A text, the day on which it was said, and whether it is a question."""

    text: str
    today: date
    asked: bool

    def leaning(self, match: re.Match[str]) -> Leaning:
        """Whether the sentence around some words is about the past (-1), what is to come (1), or does not tell (0)."""
        if self.asked:
            return -1
        before = _SENTENCE_END.split(self.text[max(0, match.start() - _AROUND) : match.start()])[-1]
        after = _SENTENCE_END.split(self.text[match.end() : match.end() + _AROUND], maxsplit=1)[0]
        sentence = f"{before} {after}".lower()
        if _AHEAD.search(sentence):
            return 1
        return -1 if _BEHIND.search(sentence) else 0

    def capital(self, match: re.Match[str], group: str) -> bool:
        """Whether a group of a match begins with a capital."""
        return self.text[match.start(group)].isupper()

    def just_before(self, match: re.Match[str], count: int) -> str:
        """So many characters before a match, in lower case."""
        return self.text[max(0, match.start() - count) : match.start()].lower()
