"""Numbers as people write them, in digits, English words and Han characters, read as amounts.

    3,000   2.5   1½   20k      digits; more than fifteen in a row are a serial, not an amount
    ninety   two and a half   half a dozen   three hundred and five
    两百   三十五   一万二   二〇二六   半

A bare "one" or 一 is hardly ever an amount ("which one", 一起), so it counts only before a unit; see `values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memhop.search.time_chinese import HAN_DIGITS

_ONES = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: 10 * number for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
SHARES = {"half": 0.5, "a quarter": 0.25, "three quarters": 0.75, "3 quarters": 0.75}
_SUFFIXES = {"k": 1e3, "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8} | {name: float(n) for name, n in _SCALES.items()}

WORDS = frozenset(_ONES | _TENS | _SCALES)
HAN = "".join(char for char in dict.fromkeys([*HAN_DIGITS, *_HAN_SCALES]) if char != "两")  # also a weight: 二两

# Each pattern begins with what is rare, so that text without numbers is passed over quickly; what may not stand before
# a number is therefore looked at afterwards.
_FRACTIONS = str.maketrans({"½": ".5", "¼": ".25", "¾": ".75", "兩": "两", "點": "点"})
_FRACTION = re.compile("[½¼¾兩點]")
_BARE_POINT = re.compile(r"\.(?<!\d\.)(?=\d)")
_DIGITS = re.compile(
    r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,15}(?!\d))(?:\.\d{1,15}(?!\d))?(?!\.\d)"
    r"(?:\s?(k|dozen|hundred|thousand|million|billion|[万萬亿億])(?![a-z]))?"
)
_ANY_WORD = "|".join(sorted(WORDS, key=len, reverse=True))
_WORDS = re.compile(
    rf"\b(?:{_ANY_WORD}|half\san?(?=\sdozen\b))(?:(?:\s|-|\sand\s){{1,2}}(?:{_ANY_WORD})){{0,12}}\b(?!\squarters)"
)
_SHARE = re.compile(rf"\b({'|'.join(SHARES)})(?:\sof)?(?:\san?)?(?=\s)")
_ARTICLE = re.compile(r"\ban?(?=\s)")
_HAN = re.compile(rf"[{HAN}半两](?:[{HAN}半]|(?<![一二三四五六七八九十百])两){{0,11}}")
_OPENING = frozenset(" \t\n([=:,")


class Numeral(NamedTuple):
    """A number in a text: where it stands, what it amounts to, and how it is written.

    `bare` says that it is an amount even without a unit: digits and unmistakable words, not "a", "one", 一 or 半.
    `percent`: 百分之二十, whose unit stands in front.
    """

    start: int
    end: int
    amount: float
    text: str
    bare: bool
    percent: bool = False


def normal_digits(text: str) -> str:
    """Vulgar fractions as decimals, for the compatibility forms of Unicode would make 11⁄2 of 1½; and .5 as 0.5."""
    return _BARE_POINT.sub("0.", text.translate(_FRACTIONS) if _FRACTION.search(text) else text)


def numerals(text: str) -> list[Numeral]:
    """The numbers in a text of lower case, from left to right; some may overlap. Cost: linear."""
    found = [*_in_digits(text)]
    if not text.isascii():
        found += _in_han(text)
    for match in _WORDS.finditer(text):
        found += _in_words(match.group(), match.start())
    found += [Numeral(*match.span(), SHARES[match[1]], match[1], bare=False) for match in _SHARE.finditer(text)]
    found += [Numeral(*match.span(), 1.0, "a", bare=False) for match in _ARTICLE.finditer(text)]
    return sorted(found, key=lambda numeral: (numeral.start, -numeral.end))


def _in_digits(text: str) -> Iterator[Numeral]:
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        before = text[start - 1] if start else " "
        if before == "." or before == "_" or "a" <= before <= "z" or before.isdecimal():
            continue  # part of a name, a version or a serial
        amount = float(match.group().removesuffix(match[1] or "").strip().replace(",", ""))
        amount *= _SUFFIXES.get(match[1] or "", 1.0)
        if before == "-":
            further = text[start - 2] if start > 1 else " "
            if "a" <= further <= "z":
                continue
            if further in _OPENING:
                amount = -amount
        yield Numeral(start, end, amount, match.group(), bare=True)


def _in_han(text: str) -> Iterator[Numeral]:
    for match in _HAN.finditer(text):
        start, end = match.span()
        written = match.group()
        if written.startswith("两") and start and text[start - 1] in "一二三四五六七八九十百":
            continue
        percent = written.startswith("百") and text.startswith("分之", start + 1)
        if percent:
            continue
        if text.startswith("百分之", max(0, start - 3)) and start >= 3:
            yield Numeral(start - 3, end, han_amount(written), written, bare=True, percent=True)
        else:
            yield Numeral(start, end, han_amount(written), written, bare=len(written) > 1)


def _in_words(text: str, start: int) -> Iterator[Numeral]:
    """English number words; a run of words that do not make one number ("two three") makes several."""
    total = part = 0.0
    begun = ended = -1
    last = 0.0  # size of the last word: what may follow is smaller, or a scale
    for match in re.finditer(r"half an?|[a-z]+", text):
        word = match.group()
        if word == "and":
            continue
        if word in _SCALES:
            scale = _SCALES[word]
            if scale >= 1000:
                total, part = total + (part or 1.0) * scale, 0.0
            else:
                part = (part or 1.0) * scale
            last = float(scale)
        else:
            size = 0.5 if word.startswith("half") else float(_ONES.get(word, _TENS.get(word, 0)))
            fits = begun < 0 or last >= 100 or (last >= 20 and 0 < size < 10)
            if not fits:
                yield _spelt(text, start, begun, ended, total + part)
                total = part = 0.0
                begun = -1
            part += size
            last = size
        begun = match.start() if begun < 0 else begun
        ended = match.end()
    yield _spelt(text, start, begun, ended, total + part)


def _spelt(text: str, start: int, begun: int, ended: int, amount: float) -> Numeral:
    written = text[begun:ended]
    return Numeral(start + begun, start + ended, amount, written, bare=written != "one")


def han_amount(text: str) -> float:
    """The amount of a Han numeral of at most a dozen characters: 三十五, 一万二, 二〇二六, 半."""
    half = text.endswith("半")
    text = text.replace("半", "")
    if not text:
        return 0.5
    if not any(char in _HAN_SCALES for char in text):
        return float("".join(str(HAN_DIGITS[char]) for char in text)) + half / 2
    total = section = digit = 0.0
    scale = last = 1.0
    for char in text:
        if char in _HAN_SCALES:
            scale = float(_HAN_SCALES[char])
            if scale >= 1e4:
                total, section = (total + section + digit) * scale, 0.0
            else:
                section += (digit or 1.0) * scale
            digit, last = 0.0, scale
        else:
            digit = float(HAN_DIGITS[char])
            last = 1.0 if digit == 0 else last
    if digit and last > 10:  # 一万二, 三百五: the digit counts the next lower scale
        digit *= last / 10
    return total + section + digit + half / 2


def whole(text: str) -> int:
    """Digits or a short Han numeral as an integer."""
    return int(text) if text.isdecimal() else int(han_amount(text))
