"""The order of the best few, looked at closely: texts that the channels can hardly tell apart.

Channels see which words a text holds. This stage reads the best `RERANK.candidates` texts of a layer again and asks
four things of each, answered by a number in 0..1, times a weight of the layer (`tuning.Weights`):

    value     does it tell the values the question names (`values`), or others of the same kind, or none?
    exact     how many of the question's words, and pairs of neighbouring words, stand in it letter by letter; and does
              it say no where the question says no?
    order     do the words that both hold follow one another in the same order? Ann paid Bo; Bo paid Ann
    current   among texts on the question's subject, how late is it, for a question about the present? For one about
              a time past: how close before the end of that time? And for one about a beginning: how early?

A number that all candidates share moves nothing and is left out, so that what a part shows is what it did. All are
>= 0 and bounded by their weights: the stage reorders what was nearly equal, and candidates stay above all others.

Pure functions; at most `RERANK.chars` characters of a text are read, whatever its length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from memhop.index.tokenizer import query_terms
from memhop.search.time_window import without_relative, without_times
from memhop.search.tuning import RERANK, Weights
from memhop.search.values import Value, agreement, told, values

_UNSPACED = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7ff\u0e01-\u0e4e"
MAX_TOKENS = 256  # of a question whose neighbours are looked for; the first ones count
_TOKEN = re.compile(rf"[^\W_{_UNSPACED}]+|[{_UNSPACED}]")
_HAN_PAIR = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2}")
_NEGATIONS = frozenset(
    "no not never none nobody nothing nowhere neither nor without cannot cant dont doesnt didnt isnt wont stopped "
    "stop stops t failed fails 不 没 沒 无 無 未 别 別 非 勿".split()
)
_CHANGES = frozenset(
    "now new newly since instead longer anymore again back latest moved moves switched switches changed changes "
    "replaced "
    "renamed upgraded updated raised lowered increased decreased cut doubled started starts joined left quit became "
    "becomes took handed swapped migrated rolled extended shortened postponed slips slipped delayed corrected "
    "现 新 改 换 搬 移 转 调 升 降 涨 已 交 接 变 起".split()
)
_BE = frozenset("is are was were be been being gets get got".split())
_COME = frozenset(("came", "come", "comes", "coming"))
_BEFORE = re.compile(r"\bbefore\b.*|[^，,。]+?(?:之前|以前)", re.IGNORECASE | re.DOTALL)  # "before the move", 搬家之前
_MARKS = re.compile(r"[’']")


class Candidate(NamedTuple):
    """A text, its time (Unix ms), and its score so far (> 0)."""

    text: str
    at: int
    score: float


class When(NamedTuple):
    """Which time a question is about. `until` (Unix ms) is the end of a past span; None: the present."""

    until: int | None = None
    first: bool = False


class Question(NamedTuple):
    """A question made ready for reading candidates; see `question`."""

    verbatim: str  # as asked, casefolded
    terms: Mapping[str, float]
    forms: Mapping[str, tuple[tuple[str, str], ...]]  # two letters to the word forms that begin so, each with its term
    runs: tuple[str, ...]  # the other terms, of unspaced scripts and compounds, which may stand anywhere
    subject: Mapping[str, float]  # the terms that say what is asked about, without those that only say when
    telling: frozenset[str]  # the tokens that terms were made of
    pairs: frozenset[str]  # neighbouring tokens, one of them telling at least, as `_spelt` writes them
    order: tuple[str, ...]  # the terms as they follow one another, a passive turned round
    values: tuple[Value, ...]
    negated: bool
    when: When | None


class _Reading(NamedTuple):
    """One candidate as the question sees it."""

    tokens: list[str]
    distinct: frozenset[str]
    places: dict[str, int]  # of the question's terms, by token
    covered: float  # idf of the subject's terms held
    verbatim: bool  # it holds the whole question as it was asked
    at: int


def question(
    text: str,
    terms: Mapping[str, float],
    when: When | None,
    variants: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> Question:
    """A question made ready.

    Args:
        text: As asked.
        terms: Its index terms with their idf.
        variants: Indexed terms that stand in for a term.
    """
    spaced = {variant: term for term, others in variants.items() for variant in others}
    spaced |= {term: term for term in terms if term.isalnum() and not _unspaced(term)}
    forms: dict[str, tuple[tuple[str, str], ...]] = {}
    for form in sorted(spaced, key=len, reverse=True):
        forms[form[:2]] = (*forms.get(form[:2], ()), (form, spaced[form]))
    tokens = tuple(_tokens(text.casefold()))
    unspaced = "".join(term for term in terms if _unspaced(term))
    telling = {
        token
        for token in tokens
        if (token in unspaced if _unspaced(token) else not terms.keys().isdisjoint(query_terms(token)))
    }
    turned = _active(tokens[:MAX_TOKENS])
    asked = Question(
        verbatim=text.strip().casefold(),
        terms=terms,
        forms=forms,
        runs=tuple(term for term in terms if _unspaced(term) or not term.isalnum()),
        subject=_subject(query_terms(_BEFORE.sub(" ", without_times(text))), terms) or terms,
        telling=frozenset(telling),
        pairs=frozenset(_spelt(pair) for pair in pairwise(turned) if not telling.isdisjoint(pair)),
        order=(),
        values=tuple(values(without_relative(text))),
        negated=not _NEGATIONS.isdisjoint(tokens),
        when=when,
    )
    places = _read(asked, text, 0, {}).places
    return asked._replace(order=tuple(sorted(places, key=lambda term: places[term])))


def _subject(named: Sequence[str], terms: Mapping[str, float]) -> dict[str, float]:
    """The terms among those named, with their idf, without bigrams that known words of Han cover: 表系 of 报表系统.

    A bigram that is a word itself is named twice, as either.
    """
    count = Counter(named)
    worth = {term: terms[term] for term in count if term in terms}
    joints = {term for term in worth if count[term] == 1 and _HAN_PAIR.fullmatch(term)}
    covered = {char for term, idf in worth.items() if idf > 0 and term not in joints for char in term}
    return {term: idf for term, idf in worth.items() if term not in joints or not covered.issuperset(term)}


def rerank(asked: Question, candidates: Sequence[Candidate], weights: Weights) -> dict[str, list[float]]:
    """What to add to each candidate's score, by part, in spreads; parts that would move nothing are left out.

    Cost: about 30 us per candidate of 200 characters.
    """
    stems: dict[str, str] = {}
    passages = [_passage(asked, candidate.text) for candidate in candidates]
    readings = [
        _read(asked, passage, candidate.at, stems) for passage, candidate in zip(passages, candidates, strict=True)
    ]
    looked = {
        "value": (weights.value, _value(asked, passages)),
        "exact": (weights.exact, [_exact(asked, reading) for reading in readings]),
        "order": (weights.order, [_order(asked, reading) for reading in readings]),
    }
    best = max((candidate.score for candidate in candidates), default=0.0)
    scores = [candidate.score for candidate in candidates]
    fits = [0.0] * len(scores)
    added = {}
    for name, (weight, shares) in looked.items():
        least = min(shares, default=0.0)
        fits = [fit + share for fit, share in zip(fits, shares, strict=True)]
        if weight and any(share > least for share in shares):
            added[name] = [best * weight * (share - least) for share in shares]
            scores = [score + more for score, more in zip(scores, added[name], strict=True)]
    if weights.current and asked.when is not None:
        lifts = _current(asked, asked.when, readings, scores, fits, weights.current * best)
        if any(lifts):
            added["current"] = lifts
    return added


def _tokens(folded: str) -> list[str]:
    """Words of spaced scripts without apostrophes, and single characters of others."""
    return _TOKEN.findall(_MARKS.sub("", folded))


def _spelt(tokens: Sequence[str]) -> str:
    """Tokens as one string, in which whole tokens can be sought."""
    return f" {' '.join(tokens)} "


def _unspaced(term: str) -> bool:
    return bool(term) and _TOKEN.fullmatch(term[0]) is not None and term[0] > "\u0e00"


def _passage(asked: Question, text: str) -> str:
    """At most `RERANK.chars` characters, from a little before the first word of the question on."""
    most = RERANK.chars
    if len(text) <= most:
        return text
    head = text[: RERANK.searched_chars].lower()
    places = [place for term in asked.terms if (place := head.find(term)) >= 0]
    start = max(0, min(places, default=0) - most // 8)
    return text[start : start + most]


def _read(asked: Question, passage: str, at: int, stems: dict[str, str]) -> _Reading:
    """A passage as the question sees it. `stems` remembers what a word stands for, from one passage to the next."""
    folded = passage.casefold()
    tokens = _active(_tokens(folded))
    distinct = frozenset(tokens)
    places: dict[str, int] = {}
    for token in distinct:
        term = stems.get(token)
        if term is None:
            found = (term for form, term in asked.forms.get(token[:2], ()) if _is_form(token, form))
            term = stems[token] = next(found, "")
        if term:
            place = tokens.index(token)
            places[term] = min(place, places.get(term, place))
    for term in asked.runs:
        start = folded.find(term)
        if start >= 0:
            places[term] = start if _unspaced(term) else len(tokens)
    covered = sum(asked.subject.get(term, 0.0) for term in places)
    return _Reading(tokens, distinct, places, covered, asked.verbatim in folded, at)


def _is_form(token: str, stem: str) -> bool:
    """Whether a word may have this stem; Snowball writes i for a final y."""
    if token.startswith(stem):
        return len(token) - len(stem) <= 4
    return stem.endswith("i") and token.startswith(stem[:-1]) and token[len(stem) - 1 :] in ("y", "ys")


def _active(tokens: Sequence[str]) -> list[str]:
    """Tokens with a passive turned round: "Bo was paid by Ann" as "Ann paid Bo"; "what came from Ann" too."""
    tokens = list(tokens)
    if "by" in tokens:
        place = tokens.index("by")
        for verb in range(place - 1, max(place - 4, 0), -1):
            if tokens[verb - 1] in _BE:
                return [*tokens[place + 1 :], *tokens[verb:place], *tokens[: verb - 1]]
    elif "from" in tokens and (place := tokens.index("from")) and tokens[place - 1] in _COME:
        return [*tokens[place + 1 :], *tokens[:place]]
    return tokens


def _value(asked: Question, passages: list[str]) -> list[float]:
    """Mean agreement of each text with the named values."""
    if not asked.values:
        return [0.0] * len(passages)
    marks = [told(passage, asked.values) for passage in passages]
    return [sum(agreement(value, each) for value in asked.values) / len(asked.values) for each in marks]


def _exact(asked: Question, reading: _Reading) -> float:
    """Share of the question's telling words, and of its pairs with at least one of them, that stand there as asked.

    The whole question, word for word, and saying no or not like the question, are worth one of them each.
    """
    words, pairs = asked.telling, asked.pairs
    there = _spelt(reading.tokens)
    alike = asked.negated != _NEGATIONS.isdisjoint(reading.distinct)
    there_of = len(words & reading.distinct) + sum(pair in there for pair in pairs) + alike + reading.verbatim
    return there_of / (len(words) + len(pairs) + 2)


def _order(asked: Question, reading: _Reading) -> float:
    """Share of the neighbouring terms of the question that follow one another in the text."""
    places = [reading.places[term] for term in asked.order if term in reading.places]
    if len(places) < 2:
        return 0.0
    return sum(first < then for first, then in pairwise(places)) / (len(asked.order) - 1)


def _current(
    asked: Question, when: When, readings: list[_Reading], scores: list[float], fits: list[float], most: float
) -> list[float]:
    """What lifts each text on the subject of the best one just above those that are less current, `most` at most."""
    lifts = [0.0] * len(scores)
    best = max(
        range(len(scores)), key=lambda row: (when.until is not None and readings[row].covered, scores[row], -row)
    )
    if readings[best].covered < RERANK.known * sum(asked.subject.values()):
        return lifts
    others = [row for row in range(len(scores)) if row != best and not _look_alike(readings, fits, best, row)]
    worth = {term: idf for term, idf in asked.subject.items() if term in readings[best].places}
    subject = [best]
    for member in subject:  # grows while it is read: what tells of the same as a member does so, too
        known, words = readings[member], 1 if member == best else 2
        subject += [row for row in others if row not in subject and _same_subject(worth, known, readings[row], words)]
    if len(subject) > RERANK.states:
        return lifts
    until = when.until

    def preferred(row: int) -> tuple[bool, int]:
        at = readings[row].at
        return until is None or at < until, -at if when.first else at

    reached = -1.0
    ordered = sorted(subject, key=preferred)
    for row in ordered:
        if until is not None and row == ordered[-1] and readings[row].at < until:
            reached = max(
                reached, *scores
            )  # what was so before the span, and was not changed until its end, was so in it
        lift = max(0.0, reached - scores[row])
        if until is not None and readings[row].at >= until:
            reached = max(reached, scores[row])
        elif lift <= most:
            lifts[row] = lift * 1.0000001 + (1e-9 if lift else 0.0)
            reached = max(reached, scores[row] + lifts[row])
    return lifts


def _look_alike(readings: list[_Reading], fits: list[float], best: int, row: int) -> bool:
    """Whether a text tells of something else than the best one because it fits the question less well though it is a
    near copy, or lacks the question as it was asked."""
    mine, theirs = readings[row], readings[best]
    if theirs.verbatim and not mine.verbatim:
        return True
    alike = len(mine.distinct & theirs.distinct) >= RERANK.alike * max(len(mine.distinct), len(theirs.distinct))
    return alike and fits[row] < fits[best]


def _same_subject(worth: Mapping[str, float], known: _Reading, other: _Reading, words: int) -> bool:
    """Whether another text tells of the subject of a known one, perhaps of another state of it.

    Both hold two words of the question or more, and the other most of what the known one has of it; or both begin with
    what they share, at least so many words, and the other speaks of a change.
    """
    had = known.places.keys() & worth.keys()
    shared = had & other.places.keys()
    if len(shared) < words:
        return False
    share = sum(worth[term] for term in shared) / sum(worth[term] for term in had)
    if share < RERANK.subject:
        return False
    begin = max(min(each.places[term] for term in shared) for each in (known, other)) <= RERANK.beginning
    if share < RERANK.sure_subject:
        return begin and not _CHANGES.isdisjoint(other.distinct)
    return begin or len(shared) > 1
