"""The channels: each looks at a question in its own way and gives some units a number > 0.

    lexical   words of the question, words that begin alike, and words
              in which the answer may be told                              `words`
    entity    for words nobody wrote: words spelt nearly so                `words`
    session   BM25 of the whole session a unit belongs to                  `Words.sessions`
    pooled    cosine of the question's vector and the unit's               `semantics.pooled`
    late      each token of the question finds its nearest token           `semantics.late`

Statistics (idf, mean length) are those of all live units, whatever the filters, so that a filter changes what may be
returned and not how it is judged. Fused topics count only where they are asked for, see `query.judged_by`.

**What a question of common words costs.** Terms are added up from the one that can earn most, which is the rarest, to
the commonest. Once `CANDIDATES` units of the question's filters have been reached, a term that stands in more than
`COMMON` of all units makes no further ones: it is looked up for the best candidates of each layer, and for the units
around them. So a memory of a million is not read through for a word that every third text has. A memory of fewer than
`COMMON` units is always added up whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memhop.index.tokenizer import other_forms
from memhop.repo.l4_archive import MINUTE_MS, SPAN_GROUPS, ordered_span, span_order, spans_of
from memhop.search.query import judged_by
from memhop.search.sparse import NOTHING, Scores, union
from memhop.search.tuning import EVIDENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.index.bm25 import TermPostings
    from memhop.repo.record import Span
    from memhop.repo.views import Views
    from memhop.search.evidence import Neighbourhood
    from memhop.search.query import Eligible, Judged
    from memhop.search.sparse import Workspace

CANDIDATES: Final = 1_000  # units of each layer that one channel brings up, at most
SPOKEN: Final = 250  # spans of one length that are looked at for a time that a question names
COMMON: Final = 32_768  # postings from which a term is looked up rather than read
_UNSPACED: Final = "\u2e80"  # from here on, scripts are written without blanks and cut into bigrams
_SELECTIVE: Final = 4  # a filter that leaves fewer than one unit in so many is applied to postings at once


class TermUse(NamedTuple):
    """How a query term was used. `idf` is what it can earn; `variants` are other terms that stood in, with weights."""

    term: str
    idf: float
    frequency: int
    variants: dict[str, float]


class Words(NamedTuple):
    """Evidence of words, for the units that pass the filters.

    `mass`: the idf of the question's terms, held or not. `missing` in 0..1: the share of them that nobody wrote, nor
    anything that could stand in. `coverage` in 0..1: the largest share of `mass` that one unit holds. `matched` counts
    the units that got evidence before the best were taken. `sessions`: BM25 of each unit's session, for the same units.
    """

    lexical: Scores
    entity: Scores
    sessions: Scores
    mass: float
    missing: float
    coverage: float
    matched: tuple[int, int]
    uses: tuple[TermUse, ...]


class _Piece(NamedTuple):
    """A term and one that stands in for it, or itself."""

    postings: TermPostings
    weight: float


class _Asked(NamedTuple):
    """A term of the question with all that stands in for it. `worth` is what it can earn."""

    own: TermPostings
    pieces: tuple[_Piece, ...]  # heaviest first
    worth: float
    told: tuple[_Piece, ...] = ()  # words in which the answer may be told

    @property
    def channel(self) -> str:
        return "lexical" if self.own.frequency or self.told else "entity"

    @property
    def known(self) -> bool:
        """Whether some unit holds it, or what stands in for it."""
        return bool(self.pieces or self.told)

    @property
    def size(self) -> int:
        return sum(piece.postings.size for piece in (*self.pieces, *self.told))

    def strength_at(self, docs: NDArray[np.int64]) -> NDArray[np.float64]:
        """In a unit the best variant counts, not their sum. Words in which the answer may be told add up."""
        best = np.zeros(len(docs))
        for piece in self.pieces:
            np.maximum(best, piece.weight * piece.postings.at(docs), out=best)
        for piece in self.told:
            best += piece.weight * piece.postings.at(docs)
        return best

    def presence_at(self, docs: NDArray[np.int64]) -> NDArray[np.float64]:
        """The largest weight that is present."""
        present = np.zeros(len(docs))
        for piece in self.told:
            present[piece.postings.at(docs) > 0] = EVIDENCE.told
        for piece in reversed(self.pieces):
            present[piece.postings.at(docs) > 0] = piece.weight
        return present


def words(
    terms: Sequence[str],
    views: Views,
    around: Neighbourhood,
    workspace: Workspace,
    allowed: Eligible,
    told: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Words:
    """The lexical, entity and session channels.

    Args:
        allowed: Which units pass the filters, and which ones tell how rare a word is.
        told: For some of the terms others in which the answer may be told, see `relations`.

    A term's variants are the indexed terms that begin with it, or with which it begins; other forms of an irregular
    word; and, for a term that no unit holds, terms within edit distance (see `index/fuzzy.py`).

    Cost: some tens of ns per posting of the terms that are read, and a look at one byte per unit.
    """
    size, mask = views.units.size, allowed.mask
    asked = _asked(terms, views, allowed.judged, told)
    ordered = sorted((one for one in asked if one.known), key=lambda one: (-one.worth, one.own.term))
    sums = {name: workspace.sums(name, size) for name in ("lexical", "entity", "held")}
    near = around.within_reach(mask) if np.count_nonzero(mask) * _SELECTIVE < size else None
    sessions = _Sessions(views)
    deferred = []
    for one in ordered:
        if one.size > COMMON and sums["lexical"].count + sums["entity"].count >= CANDIDATES:
            deferred.append(one)
            continue
        docs, strength, presence = _read(one, workspace.array("best", size), near, sessions)
        sums["held"].add(docs, one.own.idf * presence)
        reached, values = around.spread(docs, strength)
        sums[one.channel].add(reached, one.worth * around.saturated(values))
    found = {name: total.take().among(mask) for name, total in sums.items()}
    matched = len(found["lexical"].docs), len(found["entity"].docs)
    docs = _best_of_each_layer(found["lexical"], found["entity"], views.units.column("layer"))
    added = {name: found[name].at(docs) for name in ("lexical", "entity", "held")}
    for one in deferred:
        added["held"] += one.own.idf * one.presence_at(docs)
        added[one.channel] += one.worth * around.saturated(around.gather(docs, one.strength_at))
    telling = _without_joints(asked)
    mass = sum(one.own.idf for one in telling)
    return Words(
        lexical=_positive(docs, added["lexical"]),
        entity=_positive(docs, added["entity"]),
        sessions=sessions.scores(docs),
        mass=mass,
        missing=sum(1 for one in telling if not one.known) / max(1, len(telling)),
        coverage=min(1.0, float(added["held"].max()) / mass) if mass and len(docs) else 0.0,
        matched=matched,
        uses=tuple(_use(one) for one in asked),
    )


def _asked(terms: Sequence[str], views: Views, judged: Judged, told: Mapping[str, Sequence[str]]) -> list[_Asked]:
    """The terms of a question, all looked up together, and so what may stand in for any of them."""
    owns = views.bm25.postings(terms, judged.units, of=judged.name)
    weights = [_variants(own.term, frequency=own.frequency, views=views) for own in owns]
    distinct = list(dict.fromkeys(other for of_one in weights for other in of_one))
    others = (
        dict(zip(distinct, views.bm25.postings(distinct, judged.units, of=judged.name), strict=True))
        if distinct
        else {}
    )
    asked = []
    for own, of_one in zip(owns, weights, strict=True):
        pieces = [_Piece(own, 1.0)] if own.frequency else []
        pieces += [_Piece(others[other], weight) for other, weight in of_one.items() if others[other].frequency]
        pieces.sort(key=lambda piece: (-piece.weight, piece.postings.term))
        worth = own.idf if own.frequency else max((weight * other.idf for other, weight in pieces), default=0.0)
        if own.term in told:
            meant = [term for term in told[own.term] if term != own.term and term not in of_one]
            found = [one for one in views.bm25.postings(meant, judged.units, of=judged.name) if one.frequency]
            rarest = max((one.idf for one in found), default=0.0)
            telling = tuple(_Piece(one, EVIDENCE.told * one.idf / (rarest or 1.0)) for one in found)
            asked.append(_Asked(own, tuple(pieces), max(worth, rarest), telling))
        else:
            asked.append(_Asked(own, tuple(pieces), worth))
    return asked


def _without_joints(asked: Sequence[_Asked]) -> list[_Asked]:
    """Without the bigrams that join two known words: 子糯 in 粽子糯米 says nothing about what is not there."""
    known = [one.own.term for one in asked if one.pieces]
    begin, end = {term[0] for term in known}, {term[-1] for term in known}

    def joins(term: str) -> bool:
        return len(term) == 2 and term >= _UNSPACED and term[0] in end and term[1] in begin

    return [one for one in asked if one.known or not joins(one.own.term)]


def _use(one: _Asked) -> TermUse:
    own = one.own
    variants = {piece.postings.term: piece.weight for piece in (*one.told, *one.pieces) if piece.postings is not own}
    return TermUse(own.term, one.worth, own.frequency, variants)


def _variants(term: str, *, frequency: int, views: Views) -> dict[str, float]:
    """Other terms that stand in for a term, with their weights. Only plain words have any: the parts of a compound
    are terms of their own, and a number that is nearly right is another number."""
    settings = EVIDENCE
    weights: dict[str, float] = {}
    if not term.isalpha():
        return weights
    if len(term) >= settings.prefix_chars:
        for other in views.vocabulary().alike(term, settings.prefix_chars, settings.prefix_terms):
            if other.isalpha():
                weights[other] = settings.prefix
    for other in other_forms(term):
        weights[other] = settings.irregular
    if frequency <= settings.fuzzy_frequency:
        for other, distance in views.vocabulary().misspelt(term, settings.fuzzy_terms):
            # Two edits in a short word, or from its first letter on, make another word.
            near = distance == 1 or (len(term) >= settings.fuzzy_two_chars and other[0] == term[0])
            if near and other.isalpha():
                weights[other] = max(weights.get(other, 0.0), settings.fuzzy / distance)
    return weights


def _read(
    one: _Asked, best: NDArray[np.float64], near: NDArray[np.bool_] | None, sessions: _Sessions
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Per unit the strength and the presence, as by `_Asked.strength_at` and `presence_at`: (docs, strength, presence).

    Args:
        best: Zeros over all ordinals; left so.
    """
    found, present = [], []
    for piece in one.pieces:
        whole = piece.postings is one.own and sessions.any
        docs, tfs = piece.postings.read(None if whole else near)
        if whole:
            sessions.add(docs, tfs)
            if near is not None:
                keep = near[docs]
                docs, tfs = docs[keep], tfs[keep]
        strength = piece.weight * piece.postings.strength(docs, tfs)
        if len(one.pieces) == 1 and not one.told:
            return docs, strength, np.full(len(docs), piece.weight)
        before = best[docs]
        best[docs] = np.maximum(before, strength)
        fresh = docs[before == 0]
        found.append(fresh)
        present.append(np.full(len(fresh), piece.weight))
    for piece in one.told:
        docs, tfs = piece.postings.read(near)
        before = best[docs]
        best[docs] = before + piece.weight * piece.postings.strength(docs, tfs)
        fresh = docs[before == 0]
        found.append(fresh)
        present.append(np.full(len(fresh), EVIDENCE.told))
    docs = np.concatenate(found)
    strength = best[docs]
    best[docs] = 0.0
    return docs, strength, np.concatenate(present)


def _best_of_each_layer(lexical: Scores, entity: Scores, layers: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The units of each layer with most evidence of words, at most `CANDIDATES`; ordinals ascending."""
    docs = lexical.docs if not len(entity.docs) else union((lexical.docs, entity.docs))
    if len(docs) <= CANDIDATES:
        return docs
    total = lexical.at(docs) + entity.at(docs)
    layer = layers[docs]
    keep = np.zeros(len(docs), bool)
    for one in np.flatnonzero(np.bincount(layer)):
        rows = np.flatnonzero(layer == one)
        if len(rows) > CANDIDATES:
            bar = np.partition(total[rows], len(rows) - CANDIDATES)[len(rows) - CANDIDATES]
            above, equal = rows[total[rows] > bar], rows[total[rows] == bar]
            rows = np.concatenate([above, equal[: CANDIDATES - len(above)]])
        keep[rows] = True
    return docs[keep]


def _positive(docs: NDArray[np.int64], values: NDArray[np.float64]) -> Scores:
    keep = values > 0
    return Scores(docs[keep], values[keep])


class _Sessions:
    """BM25 with sessions as documents, whose length is their number of units. Terms that are only looked up for the
    candidates, which stand in nearly every session, are left out."""

    def __init__(self, views: Views) -> None:
        self._groups, self._sizes = views.units.neighbours("session").groups
        count = int(np.count_nonzero(self._sizes))
        self.any = count > 0
        self._count = count
        self._idf = views.bm25.idf
        if self.any:
            k1, b = views.bm25.k1, views.bm25.b
            mean = float(self._sizes.sum()) / count
            self._norm = k1 * (1 - b + b * self._sizes / mean)
            self._totals = np.zeros(len(self._sizes))

    def add(self, docs: NDArray[np.int64], tfs: NDArray[np.uint16]) -> None:
        groups = self._groups[docs]
        inside = groups >= 0
        counts = np.bincount(groups[inside], weights=tfs[inside], minlength=len(self._sizes))
        frequency = int(np.count_nonzero(counts))
        self._totals += self._idf(self._count, frequency) * counts / (counts + self._norm)

    def scores(self, docs: NDArray[np.int64]) -> Scores:
        if not self.any:
            return NOTHING
        groups = self._groups[docs]
        return _positive(docs, np.where(groups >= 0, self._totals[groups], 0.0))


def coverage_by_unit(
    terms: Sequence[str], views: Views, workspace: Workspace, enough_terms: int, mask: NDArray[np.bool_]
) -> Scores:
    """Share of the terms' idf mass that units hold themselves, 0..1; a term nobody wrote counts in the mass.

    Args:
        enough_terms: A unit that holds fewer distinct terms has its share reduced in proportion, for one word in
            common says little however short the text is.
        mask: The units that are asked for, over all ordinals.

    Common terms are treated as by `words`.
    """
    size = views.units.size
    sums = {name: workspace.sums(name, size) for name in ("lexical", "held")}
    judged = judged_by(views)
    asked = views.bm25.postings(terms, judged.units, of=judged.name)
    mass = sum(one.idf for one in asked) or 1.0
    deferred = []
    for one in sorted(asked, key=lambda one: (-one.idf, one.term)):
        if one.size > COMMON and sums["held"].count >= CANDIDATES:
            deferred.append(one)
            continue
        docs, _ = one.read(mask)
        sums["lexical"].add(docs, np.ones(len(docs)))
        sums["held"].add(docs, np.full(len(docs), one.idf))
    counts, held = sums["lexical"].take().values, sums["held"].take()
    docs, values = held
    for one in deferred:
        there = one.at(docs) > 0
        counts = counts + there
        values = values + one.idf * there
    return Scores(docs, values / mass * np.minimum(counts / enough_terms, 1.0))


def named_speaker(text_words: Sequence[str], speakers: NDArray[np.uint64]) -> NDArray[np.float64]:
    """1 for the candidates of the speaker whose name is the first in the question; 0 if none is named.

    Of two who are named, the first is the one who did it: "what did Ann recommend to Ben". Where they are named side
    by side ("both Ann and Ben") the choice is arbitrary, and measured to do no harm.

    Args:
        text_words: The question's words in order, casefolded.
        speakers: Label of each candidate's speaker. A speaker's name is among the words of what he said, so that one
            who is named has candidates.
    """
    names = np.array(_names(text_words), np.uint64)
    known = np.flatnonzero(np.isin(names, speakers))
    if not len(known):
        return np.zeros(len(speakers))
    result: NDArray[np.float64] = (speakers == names[known[0]]).astype(np.float64)
    return result


def _names(text_words: Sequence[str]) -> list[int]:
    """Labels of what may be a speaker's name, up to three words, in their order; the longest at each place first."""
    from memhop.repo.record import label

    return [
        label("speaker", " ".join(text_words[start : start + length]))
        for start in range(len(text_words))
        for length in (3, 2, 1)
        if start + length <= len(text_words)
    ]


def in_windows(windows: Sequence[Span], at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which times lie in one of the windows."""
    inside = np.zeros(len(at), dtype=bool)
    for since, until in windows:
        inside |= (at >= since) & (at < until)
    return inside


def spoken_of(windows: Sequence[Span], views: Views) -> NDArray[np.int64]:
    """The units whose text names a time that meets one of the windows; ordinals ascending.

    Of each group of spans and window the `SPOKEN` that begin last are looked at. Cost: some us for each of them.
    """
    found: set[int] = set()
    for since, until in windows:
        for longest in SPAN_GROUPS:
            first = span_order(max(0, since - longest * MINUTE_MS))
            page = views.groups.page(spans_of(longest), after=(span_order(until), 0), limit=SPOKEN, descending=True)
            for order, id_ in page:
                if order >= first and ordered_span(order)[1] > since:
                    ordinal = views.units.ordinal(id_)
                    if ordinal is not None:
                        found.add(ordinal)
    return np.array(sorted(found), np.int64)
