"""What a person's own words say about them, without a model: moods, traits, words. Skipped rather than guessed.

**Mood.** Each word of feeling (`lexicon_mood`) has valence, arousal and dominance. "Very" before it counts 1.3 times,
"a bit" 0.6 times. A negation within the three words before ("not at all happy") turns valence and dominance round at
0.7 and halves arousal: who is not happy is rather sad, but less so than who says "sad". A sentence is the mean of its
words of feeling, a line the mean of the sentences that have some. Questions do not count, and a sentence that is said
again counts once.

    "I was very happy. Not bored at all!"   valence   (1.0 + 0.7 * 0.4) / 2 = 0.64

**Traits.** Only what is said in the first person and without ado: "I am (always) (quite) shy", 我比较内向. One
statement is +1 or -1, a line their mean. (`lexicon_traits`)

**Terms.** The words that come in most messages, each counted once a message; small talk and words of feeling left out.

The confidence of n statements is n / (n + k): never 1, and a half at k. Whether a person means themselves, means it
now, or means it at all (irony), none of this can tell.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from memhop.models import lexicon_mood, lexicon_traits
from memhop.models.material import Drawn, Said
from memhop.models.sentences import split
from memhop.models.stop_words import SMALL_TALK
from memhop.models.words import content_pairs, normal, words

MOOD_WORDS: Final = 8  # fewest words of feeling
MOOD_MESSAGES: Final = 5  # fewest messages they stand in
TRAIT_STATEMENTS: Final = 3  # fewest, each in a message of its own
TERM_MESSAGES: Final = 3  # fewest messages with a term
MOST_TERMS: Final = 12
MOST_EVIDENCE: Final = 8
READ_CHARS: Final = 10_000  # of one message

_MOOD_K: Final = 10  # sentences at which half is certain
_TRAIT_K: Final = 5
_TERM_K: Final = 5
AXES: Final = ("valence", "arousal", "dominance")
_TURNED: Final = (-0.7, 0.5, -0.7)  # what a negation makes of each axis
_NEAR: Final = 3  # words before a word of feeling in which a negation counts

_Feeling = tuple[float, float, float]


def distill(said: Sequence[Said]) -> tuple[Drawn, ...]:
    """Lines about the person who said all this, by name; those without enough evidence are left out.

    mood.valence, .arousal, .dominance    at least 8 words of feeling in at least 5 messages
    trait.openness, .conscientiousness, .extraversion, .agreeableness, .neuroticism    at least 3 messages that state it
    term.WORD    at most 12 words which at least 3 messages have; the value is their number

    Args:
        said: One person's own messages, in any order. Of each the first 10,000 characters are read.

    Cost: linear, about 1 ms for 100 short messages of English, 5 ms of Chinese.
    """
    ordered = sorted(said, key=lambda one: (one.at, one.id), reverse=True)
    return tuple(sorted((*_moods(ordered), *_traits(ordered), *_terms(ordered))))


def terms(said: Sequence[Said]) -> tuple[Drawn, ...]:
    """Of `distill`, the lines that are counted and need no judgement."""
    return tuple(sorted(_terms(sorted(said, key=lambda one: (one.at, one.id), reverse=True))))


def _moods(ordered: Sequence[Said]) -> Iterator[Drawn]:
    felt = [(one, found) for one, sentence in _told(ordered) if (found := feelings(sentence))]
    evidence = _evidence(one for one, _ in felt)
    if sum(len(found) for _, found in felt) < MOOD_WORDS or len({one.id for one, _ in felt}) < MOOD_MESSAGES:
        return
    for axis, name in enumerate(AXES):
        mean = sum(sum(word[axis] for word in found) / len(found) for _, found in felt) / len(felt)
        yield Drawn(f"mood.{name}", _number(mean), _confidence(len(felt), _MOOD_K), evidence)


def _traits(ordered: Sequence[Said]) -> Iterator[Drawn]:
    stated: dict[str, list[tuple[Said, int]]] = defaultdict(list)
    for one, sentence in _told(ordered):
        for axis, sign in selves(sentence):
            stated[axis].append((one, sign))
    for axis, found in stated.items():
        evidence = _evidence(one for one, _ in found)
        if len({one.id for one, _ in found}) >= TRAIT_STATEMENTS:
            mean = sum(sign for _, sign in found) / len(found)
            yield Drawn(f"trait.{axis}", _number(mean), _confidence(len(found), _TRAIT_K), evidence)


def _terms(ordered: Sequence[Said]) -> Iterator[Drawn]:
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    messages: dict[str, list[Said]] = defaultdict(list)
    for one in ordered:
        seen = dict(reversed(content_pairs(one.text[:READ_CHARS])))
        for stemmed, word in seen.items():
            if len(word) > (1 if word[0] >= "一" else 2) and word.isalpha() and word not in SMALL_TALK:
                spellings[stemmed][word] += 1
                messages[stemmed].append(one)
    often = sorted(
        (
            stemmed
            for stemmed, found in messages.items()
            if len(found) >= TERM_MESSAGES and stemmed not in _english() and stemmed not in lexicon_mood.CHINESE
        ),
        key=lambda stemmed: (-len(messages[stemmed]), stemmed),
    )
    for stemmed in often[:MOST_TERMS]:
        word = min(spellings[stemmed], key=lambda word: (-spellings[stemmed][word], word))
        found = messages[stemmed]
        yield Drawn(f"term.{word}", str(len(found)), _confidence(len(found), _TERM_K), _evidence(found))


def feelings(sentence: str) -> list[_Feeling]:
    """Valence, arousal and dominance of each word of feeling in a sentence, each in [-1, 1]."""
    row = words(sentence)
    found = []
    for at, word in enumerate(row):
        feeling = _english().get(normal(word)) if word not in lexicon_mood.INTENSIFIERS else None
        if feeling is None:
            continue
        before = row[max(0, at - _NEAR) : at]
        factor = lexicon_mood.INTENSIFIERS.get(before[-1], 1.0) if before else 1.0
        negated = any(other in lexicon_mood.NEGATIONS or other.endswith("n't") for other in before)
        found.append(_scaled(feeling, factor, negated=negated))
    text = unicodedata.normalize("NFKC", sentence)
    for match in _han_pattern(tuple(lexicon_mood.CHINESE)).finditer(text):
        before_han = text[max(0, match.start() - 4) : match.start()]
        factor = 1.0
        for word in sorted(lexicon_mood.HAN_INTENSIFIERS, key=len, reverse=True):
            if before_han.endswith(word):
                factor = lexicon_mood.HAN_INTENSIFIERS[word]
                before_han = before_han.removesuffix(word)
                break
        negated = before_han.endswith(lexicon_mood.HAN_NEGATIONS)
        found.append(_scaled(lexicon_mood.CHINESE[match.group()], factor, negated=negated))
    return found


def selves(sentence: str) -> list[tuple[str, int]]:
    """What somebody says in a sentence to be like: axis, and +1 or -1."""
    row = words(sentence)
    found = []
    for at, word in enumerate(row):
        start = at + 1 if word in ("i'm", "im") else at + 2 if row[at : at + 2] == ["i", "am"] else 0
        sign = 1
        for other in row[start : start + 8] if start else ():
            if other in lexicon_traits.ENGLISH:
                axis, end = lexicon_traits.ENGLISH[other]
                found.append((axis, end * sign))
            elif other == "not" or other == "never":
                sign = -1
            elif other not in _BETWEEN:
                break
    for match in _self_pattern().finditer(unicodedata.normalize("NFKC", sentence)):
        axis, end = lexicon_traits.CHINESE[match["word"]]
        found.append((axis, -end if match["no"] else end))
    return found


_BETWEEN: Final = frozenset(
    (
        *lexicon_mood.INTENSIFIERS,
        *"a an and or always usually generally naturally pretty quite more person by nature also".split(),
    )
)
_HAN_BETWEEN: Final = (
    "这个人|这人|一直|从小|平时|性格|比较|是个|属于|就是|特别|非常|真的|有点|有些|很|挺|是|太|都|也|就"
)


@cache
def _self_pattern() -> re.Pattern[str]:
    described = "|".join(sorted(lexicon_traits.CHINESE, key=lambda word: (-len(word), word)))
    return re.compile(f"我(?:{_HAN_BETWEEN})*(?P<no>不)?(?:{_HAN_BETWEEN})*(?P<word>{described})")


@cache
def _han_pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(sorted(known, key=lambda word: (-len(word), word))))


@cache
def _english() -> dict[str, _Feeling]:
    """By stem, so that all forms of a word are found."""
    return {normal(word): feeling for word, feeling in lexicon_mood.ENGLISH.items()}


def _told(ordered: Sequence[Said]) -> Iterator[tuple[Said, str]]:
    """Sentences that are no questions, each once, with the newest message that has it."""
    seen: set[str] = set()
    for one in ordered:
        for sentence in split(one.text[:READ_CHARS]):
            if not sentence.endswith(("?", "？")) and sentence not in seen:
                seen.add(sentence)
                yield one, sentence


def _scaled(feeling: _Feeling, factor: float, *, negated: bool) -> _Feeling:
    turn = _TURNED if negated else (1.0, 1.0, 1.0)
    valence, arousal, dominance = (
        max(-1.0, min(1.0, axis * factor * by)) for axis, by in zip(feeling, turn, strict=True)
    )
    return valence, arousal, dominance


def _evidence(found: Iterator[Said] | Sequence[Said]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.id for one in found))[:MOST_EVIDENCE]


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # + 0.0: there is no "-0.00"


def _confidence(count: int, half: int) -> float:
    return min(0.99, round(count / (count + half), 2))
