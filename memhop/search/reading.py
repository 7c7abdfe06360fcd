"""A question and a candidate, side by side: which of the question's words stand where, and as they were asked?

Terms of spaced scripts are looked for as words that begin with them, others as strings. Both texts are cut into
tokens, words or single characters of unspaced scripts, in which a passive is turned round: "Bo was paid by Ann" reads
as "Ann paid Bo". Of a candidate at most `RERANK.chars` characters are read, whatever its length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from memhop.index.tokenizer import query_terms
from memhop.search.marks import Value, agreement
from memhop.search.time_window import without_relative, without_times
from memhop.search.tuning import RERANK
from memhop.search.values import told, values

_UNSPACED = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7ff\u0e01-\u0e4e"
MAX_TOKENS = 256  # of a question whose neighbours are looked for; the first ones count
_TOKEN = re.compile(rf"[^\W_{_UNSPACED}]+|[{_UNSPACED}]")
_HAN_PAIR = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2}")
_LONG_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{3,}")
_NEGATIONS = frozenset(
    "no not never none nobody nothing nowhere neither nor without cannot cant dont doesnt didnt isnt wont stopped "
    "stop stops t failed fails 不 没 沒 无 無 未 别 別 非 勿".split()
)
_MINE = frozenset("i im ive me my mine myself 我 咱 俺".split())
_ASKS = re.compile(
    r"^\W*(?:and\s|so\s|but\s)?(?:who|whom|whose|what|whats|which|where|wheres|when|how|is|are|am|does|do|has|have|can|"
    r"may|must|should|will|did|was|were|had)\b|[?？]\s*$|谁|誰|什么|什麼|哪|多少|几|怎|吗|嗎|何",
    re.IGNORECASE,
)
_PREDICATE = re.compile(  # but "that she hosted" is a part of the subject
    r"\b(?:is|are)\s.{0,200}?\b(?!(?:i|you|he|she|it|we|they)\s)\w+\s(\w{2,30}ed(?<!eed)|kept|held|spelt|built)\W*$",
    re.IGNORECASE | re.DOTALL,
)
_BE = frozenset("is are was were be been being gets get got".split())
_NO_VERBS = frozenset("a an the in on at not near down up out there here".split())  # "is a mill by the river"
_COME = frozenset(("came", "come", "comes", "coming"))
_MARKS = re.compile(r"[’']")


class Candidate(NamedTuple):
    """A text, its time (Unix ms), its score so far (> 0); of a turn who spoke, and in which session ("" if unknown)."""

    text: str
    at: int
    score: float
    speaker: str = ""
    session: str = ""


class Question(NamedTuple):
    """A question made ready for reading candidates; see `question`."""

    verbatim: str  # as asked, casefolded
    terms: Mapping[str, float]
    forms: Mapping[str, tuple[tuple[str, str], ...]]  # two letters to the word forms that begin so, each with its term
    runs: tuple[tuple[str, str], ...]  # the others, of unspaced scripts and compounds, which may stand anywhere
    compounds: frozenset[str]  # the terms of several parts: paths, dotted names, identifiers
    subject: Mapping[str, float]  # the terms that say what is asked about, without those that only say when
    telling: frozenset[str]  # the tokens that terms were made of
    pairs: frozenset[str]  # neighbouring tokens, one of them telling at least, as `_spelt` writes them
    order: tuple[str, ...]  # the terms as they follow one another, a passive turned round
    values: tuple[Value, ...]
    negated: bool
    mine: bool  # it is about who asks: "do I", "our", 我
    asks: bool  # it is put as a question, rather than words to look for
    told: bool  # it asks for a relation that is told in words of its own, which stand in for one of its terms


class Reading(NamedTuple):
    """One candidate as the question sees it. `told`, `exact` and `order` are shares, 0..1."""

    at: int
    speaker: str
    session: str
    asks: bool  # it ends in a question mark
    passage: str  # what was read
    distinct: frozenset[str]  # its tokens
    places: dict[str, int]  # of the question's terms: the first token that is one
    begins: frozenset[str]  # those terms with which it begins, as it is written
    covered: float  # idf of the subject's terms held
    verbatim: bool  # it holds the whole question as it was asked
    denies: bool  # it says no, somewhere
    mine: bool  # it speaks of who says it
    unspaced: bool  # it begins in a script without blanks, whose languages need not say who
    told: float  # of the question's values; see `agreement`
    exact: float  # of its telling words and pairs of words that stand there as asked
    order: float  # of its neighbouring terms that follow one another here, too


def question(
    text: str,
    terms: Mapping[str, float],
    variants: Mapping[str, Iterable[str]] = MappingProxyType({}),
    *,
    told: bool = False,
) -> Question:
    """A question made ready.

    Args:
        text: As asked.
        terms: Its index terms with their idf.
        variants: Indexed terms that stand in for a term.
        told: Some of them are those of a relation that is asked for, see `relations`.
    """
    spaced = {variant: term for term, others in variants.items() for variant in others}
    runs = [(variant, term) for variant, term in spaced.items() if _unspaced(variant)]
    runs += [(term, term) for term in terms if _unspaced(term) or not term.isalnum()]
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
        runs=tuple(runs),
        compounds=frozenset(term for term in terms if not term.isalnum()),
        subject=_subject(query_terms(_without_predicate(without_times(text))), terms) or terms,
        telling=frozenset(telling),
        pairs=frozenset(_spelt(pair) for pair in pairwise(turned) if not telling.isdisjoint(pair)),
        order=(),
        values=tuple(values(without_relative(text))),
        negated=not _NEGATIONS.isdisjoint(tokens),
        mine=not _MINE.isdisjoint(tokens),
        asks=is_question(text),
        told=told,
    )
    places = Reader(asked).places(turned, text.casefold())
    return asked._replace(order=tuple(sorted(places, key=lambda term: (places[term], term))))


def is_question(text: str) -> bool:
    """Whether a text is put as a question, rather than words to look for or a statement (English, Chinese)."""
    return _ASKS.search(_MARKS.sub("", text)) is not None


def _without_predicate(text: str) -> str:
    """The text without what it asks of its subject, if that is a participle at the end: "what is our boat called"."""
    match = _PREDICATE.search(text, max(0, len(text) - 300))
    return text[: match.start(1)] if match else text


def _subject(named: Sequence[str], terms: Mapping[str, float]) -> dict[str, float]:
    """The terms among those named, with their idf, each stretch of Han once: in words of two characters where they
    cover it (报表 and 系统 of 报表系统, not 表系), else in bigrams (those of a longer word say the same).

    A bigram that is a word is named twice, as either.
    """
    count = Counter(named)
    worth = {term: terms[term] for term in count if term in terms and not _LONG_HAN.fullmatch(term)}
    joints = {term for term in worth if count[term] == 1 and _HAN_PAIR.fullmatch(term)}
    covered = {char for term, idf in worth.items() if idf > 0 and term not in joints for char in term}
    return {term: idf for term, idf in worth.items() if term not in joints or not covered.issuperset(term)}


class Reader:
    """Reads candidates for one question; what a word stands for is looked up once."""

    def __init__(self, asked: Question) -> None:
        self._asked = asked
        self._stems: dict[str, str] = {}

    def read(self, candidate: Candidate) -> Reading:
        """A candidate, read. Cost: about 30 us per 200 characters, twice that where the question
        names values; at most some milliseconds, whatever the text."""
        asked = self._asked
        passage = _passage(asked, candidate.text)
        folded = passage.casefold()
        written = _tokens(folded)
        tokens = _active(written)
        distinct = frozenset(tokens)
        places = self.places(tokens, folded)
        first = places if tokens == written else self.places(written, folded)
        verbatim = asked.verbatim in folded
        denies = not _NEGATIONS.isdisjoint(distinct)
        return Reading(
            at=candidate.at,
            speaker=candidate.speaker,
            session=candidate.session,
            asks=candidate.text.rstrip().endswith(("?", "？")),
            passage=passage,
            distinct=distinct,
            places=places,
            begins=frozenset(term for term, place in first.items() if place <= RERANK.beginning),
            covered=sum(idf for term, idf in asked.subject.items() if term in places),
            verbatim=verbatim,
            denies=denies,
            mine=not _MINE.isdisjoint(distinct),
            unspaced=bool(written) and _unspaced(written[0]),
            told=_told(asked, passage),
            exact=_exact(asked, tokens, distinct, alike=asked.negated == denies, verbatim=verbatim),
            order=_order(asked, places),
        )

    def places(self, tokens: list[str], folded: str) -> dict[str, int]:
        """Where each term of the question that is there stands first."""
        asked, stems = self._asked, self._stems
        places: dict[str, int] = {}
        for token in frozenset(tokens) if asked.forms else ():
            term = stems.get(token)
            if term is None:
                forms = (term for form, term in asked.forms.get(token[:2], ()) if _is_form(token, form))
                term = stems[token] = next(forms, "")
            if term:
                place = tokens.index(token)
                places[term] = min(place, places.get(term, place))
        for form, term in asked.runs:
            start = folded.find(form)
            if start >= 0:
                place = start if _unspaced(form) else len(tokens)
                places[term] = min(place, places.get(term, place))
        return places


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


def _is_form(token: str, stem: str) -> bool:
    """Whether a word may have this stem; Snowball writes i for a final y."""
    if token.startswith(stem):
        return len(token) - len(stem) <= 4
    return stem.endswith("i") and token.startswith(stem[:-1]) and token[len(stem) - 1 :] in ("y", "ys", "ying")


def _active(tokens: Sequence[str]) -> list[str]:
    """Tokens with a passive turned round: "Bo was paid by Ann" as "Ann paid Bo"; "what came from Ann" too."""
    tokens = list(tokens)
    if "by" in tokens:
        place = tokens.index("by")
        for verb in range(place - 1, max(place - 4, 0), -1):
            if tokens[verb - 1] in _BE and tokens[verb] not in _NO_VERBS:
                return [*tokens[place + 1 :], *tokens[verb:place], *tokens[: verb - 1]]
    elif "from" in tokens and (place := tokens.index("from")) and tokens[place - 1] in _COME:
        return [*tokens[place + 1 :], *tokens[:place]]
    return tokens


def _told(asked: Question, passage: str) -> float:
    """Mean agreement with the values the question names."""
    if not asked.values:
        return 0.0
    marks = told(passage, asked.values)
    return sum(agreement(value, marks) for value in asked.values) / len(asked.values)


def _exact(asked: Question, tokens: list[str], distinct: frozenset[str], *, alike: bool, verbatim: bool) -> float:
    """Share of the question's telling words, and of its pairs with at least one of them, that stand there as asked.

    The whole question, word for word, and saying no or not like the question, are worth one of them each.
    """
    there = _spelt(tokens)
    count = len(asked.telling & distinct) + sum(pair in there for pair in asked.pairs) + alike + verbatim
    return count / (len(asked.telling) + len(asked.pairs) + 2)


def _order(asked: Question, held: Mapping[str, int]) -> float:
    """Share of the neighbouring terms of the question that follow one another in the text."""
    places = [held[term] for term in asked.order if term in held]
    if len(places) < 2:
        return 0.0
    return sum(first < then for first, then in pairwise(places)) / (len(asked.order) - 1)
