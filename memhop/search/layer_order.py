"""One layer's candidates in order: channels weighed and fused, priors added, the best few read again.

fuse -> usage -> association -> read again (`rerank`) -> periods (`force`), succession -> sessions in turn
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from memhop.common.config import LIMITS
from memhop.repo.l3_facts import Fact
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import ASKS, Layer, label
from memhop.search import channels, fusion
from memhop.search.association import Spreading
from memhop.search.diversity import spread_out
from memhop.search.force import in_force
from memhop.search.query import Query
from memhop.search.reading import Candidate, question
from memhop.search.rerank import rerank
from memhop.search.scoring import Records, Scored
from memhop.search.succession import succeeded
from memhop.search.tuning import EVIDENCE, RERANK, Weights, weights_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.store import Store
    from memhop.repo.views import Views

_SPEAK_FOR_THEMSELVES = 10  # best units of a layer, which are not passed by what is only brought to mind
_BRINGING = 3  # best units of a layer, whose scenes bring others to mind
_USAGE_POOL = 30  # candidates whose usage is looked up
_USAGE_FULL = math.log1p(20)


class LayerOrder:
    """How one question orders the candidates of a layer. Hold the store's lock."""

    def __init__(self, query: Query, store: Store, records: Records, spreading: Spreading) -> None:
        self._query = query
        self._store = store
        self._views = store.views
        self._records = records
        self._spreading = spreading

    def fused(self, layer: Layer, scored: Scored, units: int) -> fusion.Fused:
        """The layer's candidates with all that moves them.

        Args:
            units: How many units of the layer pass the filters, where there are few candidates; else 0.
        """
        weights = weights_of(layer, contextual=scored.contextual)
        ids = self._views.units.ids[scored.docs]
        fused = self._fuse(weights, scored, units)
        fused = self._with_usage(weights, fused, ids)
        fused = self._with_association(weights, fused, scored.docs)
        fused = self._reread(weights, fused, scored, ids)
        if layer is Layer.KNOWLEDGE:
            return _in_force(fused, self._query, ids, self._records)
        if layer is Layer.NOTES and not self._query.about_the_past:
            return succeeded(fused, scored.docs, self._views, self._records.get)
        return fused

    def evidence(self, layer: Layer, scored: Scored) -> dict[str, tuple[float, NDArray[np.float64]]]:
        """What speaks for the candidates, channel by channel, with the weights of the layer; time among it."""
        weights = weights_of(layer, contextual=scored.contextual)
        return {**_weighted(weights, scored, self._query.alpha), "time": (weights.time, scored.time)}

    def rows(self, layer: Layer, fused: fusion.Fused, scored: Scored) -> NDArray[np.int64]:
        """The rows to return, best first, with sessions taken in turn as far as the weights say."""
        weights, query = weights_of(layer, contextual=scored.contextual), self._query
        order = _best_first(fused, self._views.units.ids[scored.docs], max(query.limit, fusion.TOP))
        if weights.again and len(order):
            best = order[: fusion.TOP]  # however many are asked for, so that the first ones are always the same
            totals = fused.total[best]
            step = (weights.again + query.several * EVIDENCE.several) * fusion.spread_of(totals)
            sessions = self._views.units.column("session")[scored.docs[best]]
            if "current" in fused.parts:  # the state that holds is not set behind the one that held
                sessions = np.where(fused.parts["current"][best] > 0, 0, sessions)
            first = best[spread_out(totals.tolist(), sessions.tolist(), step, query.limit)]
            order = np.concatenate([first, order[fusion.TOP :]])
        return order[: query.limit]

    def _fuse(self, weights: Weights, scored: Scored, units: int) -> fusion.Fused:
        query, views = self._query, self._views
        evidence, lent = _lend(_weighted(weights, scored, query.alpha), scored.unseen, _trust(scored))
        if query.present:
            weights = weights._replace(recency=weights.recency + EVIDENCE.present)
        priors = _priors(weights, scored, views)
        side = {"session": (weights.session, scored.session)} if weights.session else {}
        if query.fusion == "zscore":
            fused = fusion.zscore(evidence, priors, side, units)
        else:
            fused = fusion.rrf(evidence, priors, side)
        if query.fusion == "rrf" and "time" in priors:  # ranks give a unit nothing that only its time speaks for
            alone = np.where(fused.total > 0, 0.0, fusion.LAST * priors["time"])
            fused = fusion.Fused(fused.total + alone, fused.parts | {"time": alone}, fused.evidence)
        both = scored.evidence["lexical"]
        share = np.divide(scored.entity, both, out=np.zeros(len(both)), where=both > 0)
        parts = dict(fused.parts)
        for name, rows in lent.items():
            parts["lexical"] = parts["lexical"] + np.where(rows, parts[name], 0.0)
            parts[name] = np.where(rows, 0.0, parts[name])
        parts["entity"] = parts["lexical"] * share
        parts["lexical"] = parts["lexical"] * (1.0 - share)
        return fusion.Fused(fused.total, parts, fused.evidence | (scored.time > 0))

    def _with_usage(self, weights: Weights, fused: fusion.Fused, ids: NDArray[np.uint64]) -> fusion.Fused:
        if not weights.usage:
            return fused
        usage = np.zeros(len(ids))
        for row in _best_first(fused, ids, _USAGE_POOL):
            counted = self._store.readable(Usage, usage_id(int(ids[row])))
            if counted is not None:
                usage[row] = weights.usage * min(1.0, math.log1p(counted.hits) / _USAGE_FULL)
        return fusion.Fused(fused.total + usage, fused.parts | {"usage": usage}, fused.evidence)

    def _with_association(self, weights: Weights, fused: fusion.Fused, docs: NDArray[np.int64]) -> fusion.Fused:
        """The layer with a little more for units of the scenes which those of its best units bring to mind most."""
        scenes = self._views.units.column("scene")[docs]
        if not weights.association or not scenes.any():
            return fused
        ids = self._views.units.ids[docs]
        start: dict[int, float] = {}
        best = _best_first(fused, ids, _SPEAK_FOR_THEMSELVES).tolist()
        for row in best[:_BRINGING]:
            record = self._records.get(int(ids[row]))
            if isinstance(record, Message) and record.scene:
                start.setdefault(record.scene, float(fused.total[row] / fused.total[best[0]]))
        strongest = self._spreading.strongest(start, LIMITS.associated)
        if not strongest:
            return fused
        reached = {label("scene", id_): activation / strongest[0][1] for id_, activation in strongest}
        labels = np.array(sorted(reached), np.uint64)
        places = np.minimum(np.searchsorted(labels, scenes), len(labels) - 1)
        activation = np.where(
            labels[places] == scenes, np.array([reached[one] for one in sorted(reached)])[places], 0.0
        )
        prior = np.where(fused.evidence, weights.association * activation, 0.0)
        if self._query.fusion == "rrf":  # priors are factors there, see `fusion.rrf`
            prior = fused.total * np.expm1(prior / 3)
        if len(best) == _SPEAK_FOR_THEMSELVES:  # what speaks for itself is not passed by what is only brought to mind
            prior = np.minimum(prior, np.maximum(0.0, fused.total[best[-1]] * (1 - 1e-9) - fused.total))
            prior[best] = 0.0
        return fusion.Fused(fused.total + prior, fused.parts | {"association": prior}, fused.evidence)

    def _reread(self, weights: Weights, fused: fusion.Fused, scored: Scored, ids: NDArray[np.uint64]) -> fusion.Fused:
        """The layer with its best candidates read again, see `rerank`; all of them stay before the others."""
        query, views = self._query, self._views
        if not (weights.value or weights.exact or weights.order or (weights.current and query.when is not None)):
            return fused
        rows, candidates = [], []
        best = _best_first(fused, ids, RERANK.candidates)
        if len(best) and views.units.count >= RERANK.least_units:
            best = best[fused.total[best] >= RERANK.within * fused.total[best[0]]]
        for row in best.tolist():
            record = self._records.get(int(ids[row]))
            if isinstance(record, Note | Message):
                rows.append(row)
                candidates.append(_candidate(record, float(fused.total[row])))
        if len(rows) < 2:
            return fused
        uses = scored.words.uses
        worth = {use.term: _worth(use, views) for use in uses}
        asked = question(query.text, worth, {use.term: _stand_ins(use) for use in uses}, told=bool(query.told))
        total, parts = fused.total.copy(), dict(fused.parts)
        for name, values in rerank(asked, query.when, candidates, weights).items():
            parts[name] = np.zeros(len(total))
            parts[name][rows] = values
            total += parts[name]
        return fusion.Fused(total, parts, fused.evidence)


def _in_force(fused: fusion.Fused, query: Query, ids: NDArray[np.uint64], records: Records) -> fusion.Fused:
    """The layer with its best dated facts in the order of their periods, see `in_force`."""
    if query.when is None:
        return fused
    rows, dated = [], []
    for row in _best_first(fused, ids, max(query.limit, RERANK.candidates)).tolist():
        record = records.get(int(ids[row]))
        if isinstance(record, Fact):
            rows.append(row)
            dated.append((record, float(fused.total[row])))
    added = in_force(query.when, query.asked_at, dated)
    if not any(added):
        return fused
    current = np.zeros(len(fused.total))
    current[rows] = added
    return fusion.Fused(fused.total + current, fused.parts | {"current": current}, fused.evidence)


def _candidate(record: Note | Message, score: float) -> Candidate:
    if isinstance(record, Note):
        return Candidate(record.text, record.at, score)
    return Candidate(record.text, record.at, score, record.speaker or record.role, record.session)


def _worth(use: channels.TermUse, views: Views) -> float:
    """How telling a term is. Of four notes, two about one person, her name says no less for being in half of them."""
    if not use.frequency or views.units.count >= RERANK.least_units:
        return use.idf
    return views.bm25.idf(RERANK.least_units, use.frequency)


def _trust(scored: Scored) -> float:
    """How far words are believed, 0..1: less where a model reads the question and no unit holds much of it."""
    doubt = 1.0 - min(1.0, scored.words.coverage / EVIDENCE.trust)
    return 1.0 - doubt * scored.reads if scored.with_model else 1.0


def _stand_ins(use: channels.TermUse) -> list[str]:
    """The variants that are read as a term. Of one that texts have, its beginning is not: "pass" is no passport."""
    return [other for other in use.variants if not use.frequency or not use.term.startswith(other)]


def _weighted(weights: Weights, scored: Scored, alpha: float | None) -> dict[str, tuple[float, NDArray[np.float64]]]:
    """Evidence channels with their weights in a layer, or with those asked for: words 1 - alpha, vectors alpha."""
    if alpha is None:
        factor = {
            "lexical": weights.lexical * _trust(scored),
            "pooled": weights.pooled * scored.reads,
            "late": weights.late * scored.reads,
            "feedback": weights.pooled * EVIDENCE.feedback_weight,
        }
    else:
        vectors = sum(getattr(weights, name) for name in ("pooled", "late") if name in scored.evidence) or 1.0
        factor = {name: alpha * getattr(weights, name) / vectors for name in ("pooled", "late")}
        factor["feedback"] = alpha
        factor["lexical"] = 1.0 - alpha
    return {name: (factor[name], scores) for name, scores in scored.evidence.items()}


def _lend(
    evidence: dict[str, tuple[float, NDArray[np.float64]]], unseen: NDArray[np.bool_], trust: float
) -> tuple[dict[str, tuple[float, NDArray[np.float64]]], dict[str, NDArray[np.bool_]]]:
    """Let words speak in the semantic channels for units that have no vector yet, as well as they do in their own.

    Else what was remembered a moment ago would lose to anything the model has seen: among a few notes some vector is
    always the nearest, however unrelated it is. Returns the evidence, and the rows lent to by channel.
    """
    lent: dict[str, NDArray[np.bool_]] = {}
    words = evidence["lexical"][1]
    if not unseen.any() or not words.any():
        return evidence, lent
    standing = np.where(unseen, trust * words / words.max(), 0.0)
    filled = dict(evidence)
    for name, (weight, scores) in evidence.items():
        if name != "lexical" and scores.any():
            loan = standing * scores.max()
            lent[name] = loan > scores
            filled[name] = (weight, np.maximum(scores, loan))
    return filled, lent


def _priors(weights: Weights, scored: Scored, views: Views) -> dict[str, NDArray[np.float64]]:
    units, docs = views.units, scored.docs
    priors: dict[str, NDArray[np.float64]] = {}
    if weights.named and scored.named.any():
        priors["named"] = weights.named * scored.named
    if weights.statement:
        asks = (units.column("flags")[docs] & ASKS) != 0
        priors["statement"] = weights.statement * ~asks
    if weights.detail:
        lengths = views.bm25.lengths[docs].astype(np.int64)
        detail = np.log1p(lengths.astype(np.float64))
        detail -= detail.min()
        deviation = _deviation_of_logs(lengths)
        priors["detail"] = weights.detail * (detail / deviation if deviation > 1e-9 else detail)
    if weights.time and scored.time.any():
        priors["time"] = weights.time * scored.time
    if weights.recency:
        at = units.column("at")[docs].astype(np.float64)
        span = float(at.max() - at.min())
        priors["recency"] = weights.recency * ((at - at.min()) / (span or 1.0))
    return priors


def _deviation_of_logs(lengths: NDArray[np.int64]) -> float:
    """Population standard deviation of log(1 + length), added up by length so that the order of units does not show."""
    counts = np.bincount(np.minimum(lengths, LIMITS.text_bytes))  # a forged length may be beyond what a text can have
    there = np.flatnonzero(counts)
    values, weights = np.log1p(there.astype(np.float64)), counts[there] / len(lengths)
    mean = float((values * weights).sum())
    return float(np.sqrt((weights * (values - mean) ** 2).sum()))


def _best_first(fused: fusion.Fused, ids: NDArray[np.uint64], limit: int) -> NDArray[np.int64]:
    """Rows with evidence, best first, equal totals by id; at most `limit`."""
    rows = np.flatnonzero(fused.evidence)
    if len(rows) > limit:
        totals = fused.total[rows]
        bar = np.partition(totals, len(rows) - limit)[len(rows) - limit]
        rows = rows[totals >= bar]
    order = np.lexsort((ids[rows], -fused.total[rows]))
    return rows[order][:limit]
