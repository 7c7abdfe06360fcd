"""Whether a sentence that a model wrote can be believed of the messages it cites.

It cannot say whether the sentence is true to them. It refuses what is known to go wrong in summaries: a number, a date,
a name or a quotation that none of the messages has, a "not" that nobody said, and a sentence about something else.

    numbers     digits with thousands' commas dropped; months by name or number; two to twelve and tens also as words
    names       words with a capital, also the first of a sentence unless it is a function word
    Han         has no capitals, so every word of two characters or more counts, if not all its characters are there
    katakana    whole runs, mostly foreign names
    quotations  what stands in quotation marks, word for word
    the rest    at least half of the words with meaning, by their stems

Of 1,210 observations on single turns of LoCoMo's development half, each true but often with the turns around in mind,
it lets 78 in a hundred pass; cited against another turn of the same conversation, 1.5 in a hundred.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from memhop.common import han
from memhop.models.material import Said
from memhop.models.stop_words import STOP_WORDS
from memhop.models.words import content, normal, plain_number, words

_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_DAY: Final = re.compile(
    r"(?<!\d)(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?|(?<!\d)(\d{1,2})月|(?<!\d)(\d{1,2})/(\d{1,2})(?!\d)"
)
_CAPITAL: Final = re.compile(r"[^\W\d_]*[A-ZÀ-ÖØ-ÞΑ-ΩА-Я][^\W_]*(?:['’&.-][^\W_]+)*")
_HAN_RUN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}")
_HAN_NUMBER: Final = re.compile(r"[二两三四五六七八九十百千万亿]+")
_KATAKANA: Final = re.compile(r"[\u30a0-\u30ff]{2,}")
_QUOTED: Final = re.compile(r"\"([^\"]{1,400})\"|“([^”]{1,400})”|「([^」]{1,400})」|『([^』]{1,400})』|«([^»]{1,400})»")
_MONTHS: Final = (
    "january february march april may june july august september october november december".split(),
    "jan feb mar apr may jun jul aug sep oct nov dec".split(),
)
_MONTH: Final = {name: number for names in _MONTHS for number, name in enumerate(names, 1)} | {"sept": 9}
_NUMERALS: Final = {
    word: str(number)
    for row in (
        zip(range(2, 13), "two three four five six seven eight nine ten eleven twelve".split(), strict=True),
        zip(range(20, 100, 10), "twenty thirty forty fifty sixty seventy eighty ninety".split(), strict=True),
    )
    for number, word in row
}
# Words of telling that a summary adds and nobody said.
_TELLING: Final = frozenset(
    "用户 表示 提到 认为 说道 喜欢 计划 打算 目前 双方 他们 讨论 分享 其中 并且 最近 之后".split()
)
_TELLING_ENGLISH: Final = frozenset("user assistant".split())
_NEGATIONS: Final = frozenset("not no never none nobody nothing neither nor without cannot".split())
_HAN_NEGATIONS: Final = frozenset("不没无未非")
_OWN_WORDS: Final = 0.5  # share of the words with meaning that may be the model's own


def unsupported(sentence: str, sources: Iterable[Said]) -> list[str]:
    """What of a sentence its sources do not bear out, in a fixed order; empty if it may be kept."""
    told = [f"{said.speaker}\n{said.text}" for said in sources]
    source = _Source(unicodedata.normalize("NFKC", "\n".join(told)))
    text = unicodedata.normalize("NFKC", sentence)
    missing = [number for number in sorted(_numbers(text)) if number not in source.numbers]
    missing += [name for name in _CAPITAL.findall(text) if not source.has_name(name)]
    missing += [word for word in _han_words(text) if not source.has_han(word)]
    missing += [run for pattern in (_HAN_NUMBER, _KATAKANA) for run in pattern.findall(text) if run not in source.text]
    quotes = ["".join(groups) for groups in _QUOTED.findall(text)]
    missing += [quote for quote in quotes if " ".join(quote.casefold().split()) not in source.folded]
    if _negates(text) and not _negates(source.text):
        missing.append("not")
    own = [word for word in content(text) if word not in source.stems]
    if len(own) > _OWN_WORDS * len(content(text)):
        missing += own
    return missing


class _Source:
    """The cited messages, ready to be looked things up in."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = " ".join(text.casefold().split())
        self.numbers = _numbers(text)
        self.words = set(words(text))
        self.stems = {normal(word) for word in self.words} | set(content(text))

    def has_name(self, name: str) -> bool:
        folded = name.casefold().replace("’", "'")
        if folded in STOP_WORDS or folded in _MONTH or folded in _NUMERALS or folded in _TELLING_ENGLISH:
            return True  # months and numerals are looked at as numbers
        return folded in self.words or normal(folded) in self.stems or (not folded.isalpha() and folded in self.folded)

    def has_han(self, word: str) -> bool:
        return word in self.text or all(sign in self.text for sign in word)


def _numbers(text: str) -> set[str]:
    """All numbers, months as "month 5"."""
    folded = text.casefold()
    plain = _NUMBER.findall(_DAY.sub(" ", folded))
    found = {plain_number(number).lstrip("0") or "0" for number in plain}
    for day in _DAY.finditer(folded):
        year, month, date, lone, one, two = day.groups()
        found |= {number.lstrip("0") for number in (year, date, one, two) if number}
        found |= {f"month {int(number)}" for number in (month, lone, one, two) if number}
        if not year and not lone:
            found.add(day.group())
    for word in words(text):
        if word in _MONTH and word != "may":
            found.add(f"month {_MONTH[word]}")
        elif word in _NUMERALS:
            found.add(_NUMERALS[word])
    if re.search(r"\bMay\b", text):
        found.add("month 5")
    return found


def _han_words(text: str) -> list[str]:
    return [
        word
        for run in _HAN_RUN.findall(text)
        for word in han.cut(run)
        if len(word) > 1 and word not in STOP_WORDS and word not in _TELLING
    ]


def _negates(text: str) -> bool:
    return any(word in _NEGATIONS or word in _HAN_NEGATIONS or word.endswith("n't") for word in words(text))
