"""Questions about who asks, and the words in which the answers are told: "what do I work as?", "I am a midwife".

People tell an assistant where they live, what they do and whom they love, and seldom in the words in which it is asked
for later. `relations.txt` lists such relations: how each is asked for, and the words in which it is told. Where a
question in the first or second person asks for one, these words count as well, for one term of the question that
stands for the relation: each for little (`EVIDENCE.told`), several of them for more.

Questions about others are left as they are: measured on LoCoMo, where 64 questions ask for one of the relations, their
words moved no figure by more than a tenth of a point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from memhop.index.tokenizer import piece_terms, query_terms
from memhop.search.reading import is_question

_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|you|your|yours|the user(?:['’]s)?)\b|[我咱俺你您]|用户")
_ENTRY = re.compile(r"^\[\w+\]$", re.MULTILINE)
_CHARS = 300  # of a question in which relations are looked for
_NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Related(NamedTuple):
    """The terms of a question, and for some of them others in which the answer may be told."""

    terms: tuple[str, ...]
    told: Mapping[str, tuple[str, ...]]


class _Relation(NamedTuple):
    asked: re.Pattern[str]
    words: str


def related(text: str, terms: Sequence[str]) -> Related:
    """What a question asks for, and in which other terms the answer may be told; for most questions in none.

    Of the words with which a relation is asked for, one is kept: "get" of "how do I get to work" says nothing.

    Args:
        text: The question, as asked.
        terms: Its index terms, at least one.

    Cost: 2 us for a question about others, about 100 us for one in the first or second person.
    """
    folded = text[:_CHARS].casefold()
    if _PERSON.search(folded) is None or not is_question(text):
        return Related(tuple(terms), _NOTHING)
    told: dict[str, tuple[str, ...]] = {}
    said: set[str] = set()
    for relation in _relations():
        match = relation.asked.search(folded)
        if match is not None:
            named = set(query_terms(match[0])).intersection(terms) or terms
            standing = max(named, key=lambda term: (len(term), term))
            others = _terms(relation.words, han=not standing.isascii())
            told[standing] = tuple(dict.fromkeys((*told.get(standing, ()), *others)))
            said.update(named)
    return Related(tuple(term for term in terms if term in told or term not in said), told)


@cache
def _relations() -> tuple[_Relation, ...]:
    from importlib import resources

    table = resources.files("memhop.search").joinpath("relations.txt").read_text("utf-8")
    found = []
    for entry in _ENTRY.split(table)[1:]:
        lines = entry.splitlines()
        asked = "|".join(line[2:] for line in lines if line.startswith("? "))
        found.append(_Relation(re.compile(asked), " ".join(line for line in lines if not line.startswith("? "))))
    return tuple(found)


@cache
def _terms(words: str, *, han: bool) -> tuple[str, ...]:
    """The index terms of the Chinese words, or of the others.

    A Chinese word of three characters or more is a term only if the dictionary has it, which English never loads.
    """
    chosen = [word for word in words.split() if word.isascii() is not han]
    if han:
        return tuple(word for word in chosen if len(word) < 3 or word in query_terms(word))
    return tuple(dict.fromkeys(term for word in chosen for term in piece_terms(word)[:1]))
