"""A question about who asks, and the words in which such things are told: "what do I work as?" · "I am a midwife".

People tell an assistant where they live, what they do, whom they love, and seldom in the words in which it is asked
for later. `relation_words` lists such relations, how each is asked for and the words it is told in. If a question in
the first or second person has one of them, its words stand in for one of the question's terms, with the weight
`EVIDENCE.related`: less than any word of the question itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from memhop.index.tokenizer import piece_terms, query_terms

_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|you|your|yours|the user(?:['’]s)?)\b|[我咱俺你您]|用户")
_NONE: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Relation(NamedTuple):
    """How a relation is asked for, and the words it is told in."""

    name: str
    asked: re.Pattern[str]
    words: str

    def terms(self, *, han: bool) -> tuple[str, ...]:
        """The index terms of its Chinese words, or of the others."""
        return _terms(self.words, han=han)


class Related(NamedTuple):
    """The terms of a question, and for some of them others in which the answer may be told."""

    terms: tuple[str, ...]
    told: Mapping[str, tuple[str, ...]]


def related(text: str, terms: Sequence[str]) -> Related:
    """What a question asks for, and in which other terms it may be told; for most questions there are none.

    Of the words with which a relation is asked for one is kept, which stands for it: "get" of "how do I get to work"
    says nothing.

    Args:
        text: The question, as asked.
        terms: Its index terms.

    Cost: about 20 us for a question in the first or second person.
    """
    folded = text.casefold()
    if _PERSON.search(folded) is None:
        return Related(tuple(terms), _NONE)
    found: dict[str, tuple[str, ...]] = {}
    part: set[str] = set()
    for relation in relations():
        match = relation.asked.search(folded)
        if match is None:
            continue
        named = [term for term in query_terms(match[0]) if term in terms] or list(terms)
        anchor = max(named, key=lambda term: (len(term), term))
        others = relation.terms(han=not anchor.isascii())
        part.update(named)
        found[anchor] = tuple(dict.fromkeys((*found.get(anchor, ()), *others)))
    return Related(tuple(term for term in terms if term in found or term not in part), found)


@cache
def relations() -> tuple[Relation, ...]:
    """All of them."""
    from memhop.search.relation_words import RELATIONS

    return tuple(Relation(name, re.compile(asked), words) for name, asked, words in RELATIONS)


@cache
def _terms(words: str, *, han: bool) -> tuple[str, ...]:
    """A Chinese word of three characters or more is a term only if the dictionary has it, which English never loads."""
    chosen = [word for word in words.split() if word.isascii() is not han]
    if han:
        return tuple(word for word in chosen if len(word) < 3 or word in query_terms(word))
    return tuple(dict.fromkeys(term for word in chosen for term in piece_terms(word)[:1]))
