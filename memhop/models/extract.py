"""A few sentences that stand for many, word for word.

Sentences are chosen greedily for the telling terms they add, each term counting once: the coverage under a budget of
Lin & Bilmes, "A Class of Submodular Functions for Document Summarization", 2011. (They divide by the cost; on turns of
a conversation that made no difference to which messages were covered.) Two rules are added, for a memory whose facts
differ in one value:

- **Look-alikes stand or fall together.** "My favourite colour is purple" and "... is cyan" share most of their words,
  so that coverage alone would take one of them for both. What is alike but for a word or two comes in as a whole, or,
  if it does not fit, not at all; never one of them for the other.
- **Only what is said again is dropped**: a sentence whose words stand in another one in the same order without a
  gap, unless the rest of that other turns it into something else ("I do not think that ...").

Questions and greetings are no statements. What is longer than a statement may be is left to the message it stands in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import filterfalse
from typing import Final, NamedTuple

from memhop.models.material import Said
from memhop.models.sentences import split
from memhop.models.words import content, reverses, words

MOST_STATEMENTS: Final = 6
MOST_CHARS: Final = 600  # of all statements, speakers included
LONGEST: Final = 280  # characters of a sentence
_CANDIDATES: Final = 120  # sentences that are considered, the most telling
_SENTENCES: Final = 40  # of one message
_FEWEST_WORDS: Final = 3
_ALIKE: Final = 0.6  # share of the longer one's different words
_SLIGHT: Final = math.log(2.0)  # weight of a negation: as of a word that is everywhere


class _Sentence(NamedTuple):
    place: tuple[int, int]  # message, and sentence within
    text: str
    said: Said
    terms: frozenset[str]
    words: tuple[str, ...]


def telling(turns: Sequence[Said], weight: Mapping[str, float], unknown: float) -> list[tuple[Said, str]]:
    """At most 6 sentences of together at most 600 characters, each with the message it is a piece of, in their order.

    Empty where nothing is told.

    Args:
        weight: Of each term (of `words.content`), such as its idf.
        unknown: The weight of a term that has none.
    """
    found = _candidates(turns)
    often = Counter(term for sentence in found for term in sentence.terms)
    worth = {
        term: (_SLIGHT if reverses(term) else weight.get(term, unknown)) * (1.0 + math.log(count))
        for term, count in often.items()
    }
    found.sort(key=lambda sentence: (-_gain(sentence, worth, frozenset()), sentence.place))
    best = _without_repeats(found[:_CANDIDATES])
    return _chosen(best, [*best, *found[_CANDIDATES:]], worth)


def _chosen(
    open_: list[_Sentence], everyone: Sequence[_Sentence], worth: Mapping[str, float]
) -> list[tuple[Said, str]]:
    chosen: list[_Sentence] = []
    covered: set[str] = set()
    room = MOST_CHARS
    while open_ and len(chosen) < MOST_STATEMENTS:
        best = max(
            open_, key=lambda sentence: (_gain(sentence, worth, covered), -sentence.place[0], -sentence.place[1])
        )
        if not best.terms - covered:
            break
        family = _family(best, everyone)
        open_ = [sentence for sentence in open_ if sentence not in family]
        cost = sum(len(shown(sentence.said.speaker, sentence.text)) for sentence in family)
        if cost > room or len(chosen) + len(family) > MOST_STATEMENTS:
            continue
        room -= cost
        chosen += family
        covered.update(*(sentence.terms for sentence in family))
    chosen.sort(key=lambda sentence: sentence.place)
    return [(sentence.said, sentence.text) for sentence in chosen]


def _candidates(turns: Sequence[Said]) -> list[_Sentence]:
    """Sentences that state something, each wording of a speaker once, where it was said last."""
    found = {}
    for number, said in enumerate(turns):
        for place, text in enumerate(split(said.text)[:_SENTENCES]):
            if len(text) > LONGEST or text.endswith(("?", "？")):
                continue
            plain, terms = tuple(words(text)), frozenset(content(text))
            if len(plain) >= _FEWEST_WORDS and terms:
                terms |= set(filter(reverses, plain))
                found[said.speaker, plain] = _Sentence((number, place), text, said, terms, plain)
    return list(found.values())


def _without_repeats(found: list[_Sentence]) -> list[_Sentence]:
    """Without what another sentence of the same speaker says too."""
    kept: list[_Sentence] = []
    for sentence in sorted(found, key=lambda one: (-len(one.words), -one.place[0], -one.place[1])):
        if not any(_says_again(sentence, other) for other in kept):
            kept.append(sentence)
    return kept


def _says_again(short: _Sentence, long: _Sentence) -> bool:
    if short.said.speaker != long.said.speaker or not short.terms <= long.terms:
        return False
    width = len(short.words)
    for at in range(len(long.words) - width + 1):
        if long.words[at : at + width] == short.words:
            return not any(map(reverses, long.words[:at] + long.words[at + width :]))
    return False


def _family(best: _Sentence, everyone: Sequence[_Sentence]) -> list[_Sentence]:
    """The sentence and all that are alike to it, directly or through others; of too many some more than fit."""
    family, rest = [best], [sentence for sentence in everyone if sentence is not best]
    for member in family:
        if len(family) > MOST_STATEMENTS:
            break
        alike = [sentence for sentence in rest if _are_alike(member, sentence)]
        family += alike
        rest = [sentence for sentence in rest if sentence not in alike]
    return family


def _are_alike(one: _Sentence, two: _Sentence) -> bool:
    first, second = set(one.words), set(two.words)
    same_subject = {*filterfalse(reverses, one.terms)} == {*filterfalse(reverses, two.terms)}
    return same_subject or len(first & second) >= _ALIKE * max(len(first), len(second))


def _gain(sentence: _Sentence, worth: Mapping[str, float], covered: frozenset[str] | set[str]) -> float:
    # Summed exactly, for a set has no order that could be relied on.
    return math.fsum(worth[term] for term in sentence.terms - covered)


def shown(speaker: str, sentence: str) -> str:
    """A sentence as a statement: who said it, and the words."""
    return f"{speaker}: {sentence}" if speaker else sentence
