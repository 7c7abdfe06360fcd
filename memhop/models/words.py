"""The words of a text as the text tasks see them.

They agree with the index on plain words (the same stems, the same dictionary for Han), so that a weight found for an
index term serves a word here; they are fewer, for nothing is searched by them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from memhop.common import han
from memhop.common.stems import stem
from memhop.models.stop_words import STOP_WORDS

_HAN: Final = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_HAN}]+|\d+(?:[.,:/-]\d+)*|[^\W\d_{_HAN}]+(?:['’-]?[^\W_{_HAN}]+)*")
_IS_HAN: Final = re.compile(rf"[{_HAN}]")

# What turns a statement into another one: with such a word more, a sentence does not say what it said without.
_REVERSALS: Final = frozenset(
    """
    not no never none nobody nothing neither nor without cannot hardly barely stop stopped quit longer former formerly
    instead refuse refused cancel cancelled canceled unlike except if unless maybe perhaps would could should might
    """.split()
)
_HAN_REVERSALS: Final = frozenset("不没无未非别勿停否若")


def words(text: str) -> list[str]:
    """All words in order, casefolded; of Han each character; numbers whole, without thousands' commas.

    >>> words("Ana didn't pay 1,000 in May.")
    ['ana', "didn't", 'pay', '1000', 'in', 'may']
    """
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if is_han(word):
            found.extend(word)
        else:
            found.append(plain_number(word) if word[0].isdigit() else word.replace("’", "'"))
    return found


def content(text: str) -> list[str]:
    """The words that carry meaning, in order, as stems; of Han the dictionary words, single characters only if alone.

    The first run of Han characters loads a dictionary (half a second).

    >>> content("The boats are in Oslo.")
    ['boat', 'oslo']
    """
    return [stemmed for stemmed, _ in content_pairs(text)]


def content_pairs(text: str) -> list[tuple[str, str]]:
    """As `content`, each with the word it is the stem of."""
    found: list[tuple[str, str]] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if is_han(word):
            telling = [part for part in han.cut(word) if part not in STOP_WORDS]
            found.extend((part, part) for part in [part for part in telling if len(part) > 1] or telling)
        elif word[0].isdigit():
            found.append((plain_number(word), word))
        elif len(word) > 1 and word.replace("’", "'") not in STOP_WORDS:
            found.append((normal(word), word))
    return found


@lru_cache(maxsize=1 << 14)
def normal(word: str) -> str:
    """A casefolded word's stem, or itself where it is not plain English letters; without a possessive 's."""
    bare = word.replace("’", "'").removesuffix("'s")
    return stem(bare) if bare.isascii() and bare.isalpha() else bare


def plain_number(word: str) -> str:
    """A number without the commas between thousands.

    >>> plain_number("12,500"), plain_number("3,5")
    ('12500', '3,5')
    """
    return word.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", word) else word


def is_han(word: str) -> bool:
    """Whether it begins with a Han character."""
    return _IS_HAN.match(word) is not None


def reverses(word: str) -> bool:
    """Whether a word (of `words`) can turn what is said into something else: a negation, a condition, an end."""
    return word in _REVERSALS or word in _HAN_REVERSALS or word.endswith("n't")
