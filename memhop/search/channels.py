"""The channels: each looks at a question in its own way and gives every unit a number >= 0.

    lexical   words of the question, and words that begin alike            `words`
    entity    for words nobody wrote: words spelt nearly so                `words`
    session   BM25 of the whole session a unit belongs to                  `sessions`
    pooled    cosine of the question's vector and the unit's               `Semantics`
    late      each token of the question finds its nearest token           `Semantics`

Arrays run over all ordinals. Statistics (idf, mean length) are those of all live units, whatever the filters, so that
a filter changes what may be returned and not how it is judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memhop.search.tuning import EVIDENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.index.bm25 import TermEvidence
    from memhop.repo.views import Views
    from memhop.search.evidence import Neighbourhood


class TermUse(NamedTuple):
    """How a query term was used. `idf` is what it can earn; `variants` are other terms that stood in, with weights."""

    term: str
    idf: float
    frequency: int
    variants: dict[str, float]


class Words(NamedTuple):
    """Evidence of words. `coverage` in 0..1: the largest share of the question's idf mass that one unit holds."""

    lexical: NDArray[np.float64]
    entity: NDArray[np.float64]
    coverage: float
    uses: tuple[TermUse, ...]


def words(evidence: Sequence[TermEvidence], views: Views, around: Neighbourhood) -> Words:
    """The lexical and entity channels.

    Args:
        evidence: Of the question's terms, as `Bm25Index.evidence` gives it.

    A term's variants are the indexed terms that begin with it, or with which it begins; and, for a term that no unit
    holds, terms within edit distance (see `index/fuzzy.py`). In a unit the best variant counts, not their sum.
    Cost: a few ns per posting of the terms.
    """
    live = views.units.live
    size = len(live)
    scores = {"lexical": np.zeros(size), "entity": np.zeros(size)}
    held = np.zeros(size)
    mass = 0.0
    uses = []
    for found in evidence:
        known = len(found.docs) > 0
        weights = _variants(found.term, frequency=len(found.docs), views=views)
        variants = views.bm25.evidence(list(weights), live) if weights else []
        variants = [variant for variant in variants if len(variant.docs)]
        pieces = [(found, 1.0)] if known else []
        pieces += [(variant, weights[variant.term]) for variant in variants]
        mass += found.idf
        worth = found.idf if known else max((weight * variant.idf for variant, weight in pieces), default=0.0)
        uses.append(
            TermUse(found.term, worth, len(found.docs), {variant.term: weights[variant.term] for variant in variants})
        )
        if not pieces:
            continue
        docs, strength, presence = _best(pieces)
        held[docs] += found.idf * presence
        reached, values = around.spread(docs, strength)
        channel = scores["lexical" if known else "entity"]
        channel[reached] += worth * around.saturated(values)
    coverage = float(held.max()) / mass if mass and size else 0.0
    return Words(scores["lexical"], scores["entity"], min(1.0, coverage), tuple(uses))


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
    if frequency <= settings.fuzzy_frequency:
        for other, distance in views.vocabulary().misspelt(term, settings.fuzzy_terms):
            # Two edits in a short word, or from its first letter on, make another word.
            near = distance == 1 or (len(term) >= settings.fuzzy_two_chars and other[0] == term[0])
            if near and other.isalpha():
                weights[other] = max(weights.get(other, 0.0), settings.fuzzy / distance)
    return weights


def _best(
    pieces: list[tuple[TermEvidence, float]],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Per unit the largest weighted strength, and the largest weight that is present: (docs, strength, presence)."""
    if len(pieces) == 1:
        found, weight = pieces[0]
        return found.docs, weight * found.strength, np.full(len(found.docs), weight)
    docs = np.concatenate([found.docs for found, _ in pieces])
    strength = np.concatenate([weight * found.strength for found, weight in pieces])
    presence = np.concatenate([np.full(len(found.docs), weight) for found, weight in pieces])
    order = np.argsort(docs, kind="stable")
    distinct, starts = np.unique(docs[order], return_index=True)
    return distinct, np.maximum.reduceat(strength[order], starts), np.maximum.reduceat(presence[order], starts)


def coverage_by_unit(terms: Sequence[str], views: Views, enough_terms: int) -> NDArray[np.float64]:
    """Share of the terms' idf mass that each unit holds itself, 0..1; a term nobody wrote counts in the mass.

    Args:
        enough_terms: A unit that holds fewer distinct terms has its share reduced in proportion, for one word in
            common says little however short the text is.
    """
    live = views.units.live
    held = np.zeros(len(live))
    count = np.zeros(len(live))
    mass = 0.0
    for found in views.bm25.evidence(terms, live):
        held[found.docs] += found.idf
        count[found.docs] += 1
        mass += found.idf
    held /= mass or 1.0
    held *= np.minimum(count / enough_terms, 1.0)
    return held


def sessions(evidence: Sequence[TermEvidence], views: Views) -> NDArray[np.float64]:
    """BM25 with sessions as documents: every unit has its session's score, 0 without one. Cost: O(units).

    Args:
        evidence: As for `words`.
    """
    live = views.units.live
    labels = views.units.column("session")
    inside = live & (labels != 0)
    scores = np.zeros(len(live))
    distinct, place = np.unique(labels[inside], return_inverse=True)
    if not len(distinct):
        return scores
    index = np.full(len(live), -1, dtype=np.int64)
    index[inside] = place
    session_lengths = np.bincount(place, weights=views.bm25.lengths[inside])
    k1, b = views.bm25.k1, views.bm25.b
    norm = k1 * (1 - b + b * session_lengths / max(float(session_lengths.mean()), 1e-9))
    totals = np.zeros(len(distinct))
    for found in evidence:
        at = index[found.docs]
        in_session = at >= 0
        counts = np.bincount(at[in_session], weights=found.tfs[in_session], minlength=len(distinct))
        frequency = int(np.count_nonzero(counts))
        idf = math.log(1 + (len(distinct) - frequency + 0.5) / (frequency + 0.5))
        totals += idf * counts / (counts + norm)
    scores[inside] = totals[place]
    return scores


def named_speaker(text_words: Sequence[str], views: Views) -> NDArray[np.float64]:
    """1 for the units of the one speaker whose name is in the question; 0 everywhere if none or several are named.

    Args:
        text_words: The question's words in order, casefolded.
    """
    from memhop.repo.record import label

    speakers = views.units.column("speaker")
    candidates = {
        label("speaker", " ".join(text_words[start : start + length]))
        for length in (1, 2, 3)
        for start in range(len(text_words) - length + 1)
    }
    if not candidates or not len(speakers):
        return np.zeros(len(speakers))
    hashes = np.array(sorted(candidates), dtype=np.uint64)
    spoken = np.unique(speakers[np.isin(speakers, hashes) & views.units.live])
    if len(spoken) != 1:
        return np.zeros(len(speakers))
    result: NDArray[np.float64] = (speakers == spoken[0]).astype(np.float64)
    return result


def in_windows(windows: Sequence[tuple[int, int]], views: Views) -> NDArray[np.float64]:
    """1 for units whose time lies in one of the windows."""
    at = views.units.column("at")
    inside = np.zeros(len(at), dtype=bool)
    for since, until in windows:
        inside |= (at >= since) & (at < until)
    return (inside & views.units.live).astype(np.float64)
