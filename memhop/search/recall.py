"""The whole path from a question to hits. Writes nothing but buffered usage counters.

    prepare -> (embed the question) -> filters -> channels -> fusion in each layer -> merge -> records -> association

Where a project is asked for, everything from the channels to the records is done twice, for it and for the universal
project, and the two lists become one, see `along`.

One lock is held while indexes are read, never while a model is asked.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memhop.common.config import LIMITS, LOW_CONFIDENCE
from memhop.repo.l2_context import Topic
from memhop.repo.l4_archive import Message
from memhop.repo.record import Layer, Record, project_key
from memhop.search import fusion, semantics
from memhop.search.along import together
from memhop.search.association import Activated, Spreading
from memhop.search.confidence import confidence
from memhop.search.held_back import held_back, nearest_words, told
from memhop.search.layer_order import LayerOrder
from memhop.search.query import Eligible, Query, Request, eligible, prepare
from memhop.search.scoring import ChannelUse, Records, Scored, score
from memhop.search.sparse import Workspace
from memhop.search.tuning import WEIGHTS, weights_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.models.embed import Embedder
    from memhop.repo.store import Store
    from memhop.repo.views import Views

_START_HITS = 5  # whose scenes bring others to mind, in the reply
USED_HITS = 3  # of a recall: the first ones count as used


class Found(NamedTuple):
    """One hit. `parts` add up to `score` (math.fsum). `universal`: of the project that was searched along."""

    id: int
    layer: Layer
    record: Record
    score: float
    ranks: dict[str, int]
    parts: dict[str, float]
    universal: bool = False

    def scaled(self, factor: float) -> Found:
        """The same with a score this many times as high, 0 < factor <= 1."""
        if factor == 1.0:
            return self
        parts = _split(self.parts, self.score * factor)
        return self._replace(score=math.fsum(parts.values()), parts=parts)


class Recalled(NamedTuple):
    """What a recall found. `reason` is None when there are hits.

    `held_back`, where there are none: how many units with words of the question each filter keeps back, each counted
    once. `candidates`: units that a channel spoke for, of which hits are the best.
    """

    query: Query
    hits: tuple[Found, ...]
    reason: str | None
    hint: str | None
    held_back: dict[str, int]
    candidates: int
    channels: tuple[ChannelUse, ...]
    confidence: float
    coverage: float  # largest share of the question's words, by what they tell, that one unit holds
    associated: tuple[Activated, ...]
    notices: tuple[str, ...]
    explanation: dict[str, Any]


class _Answer(NamedTuple):
    """Of one mask of units."""

    hits: list[Found]
    unreadable: int
    scored: Scored


class _Layered(NamedTuple):
    """One layer's order over its candidates."""

    fused: fusion.Fused
    scored: Scored


class Recaller:
    """Recall over one store. Safe to use from several threads."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self.store = store
        self.embedder = embedder
        self._workspace = Workspace()

    def recall(self, request: Request, *, count_use: bool = True) -> Recalled:
        """Answer a request; see `DB.recall`."""
        query = prepare(request, self.store.clock.now_ms())
        asked = None
        if query.terms and query.alpha != 0.0:
            asked = semantics.ask(query.text, self.store, self.embedder)
        with self.store.lock:
            allowed = eligible(query.filters, self.store)
            views = self.store.views
            masks = [allowed] if allowed.mask.any() else []
            if allowed.along is not None:
                masks.append(allowed._replace(mask=allowed.along))
            spreading = Spreading(self.store, query.asked_at)
            try:
                answers = [self._answer(query, asked, views, one, spreading) for one in masks if query.terms]
                if not any(answer.hits for answer in answers):
                    return self._nothing(query, answers, allowed, views)
            except BaseException:
                self._workspace = Workspace()  # it may hold what a failing index had added up so far
                raise
            hits = answers[0].hits
            if allowed.along is not None:
                *own, along = answers
                beside = [hit._replace(universal=True) for hit in along.hits]
                hits = beside[: query.limit]
                if own:
                    hits = together(own[0].hits, beside, (own[0].scored.signs, along.scored.signs), query.limit)
            associated = spreading.associate(_start_scenes(hits), LIMITS.associated, _projects(query))
            if count_use:
                self._count(hits)
            notices = query.notices
            sure = round(max(confidence(answer.scored.signs) for answer in answers if answer.hits), 4)
            if sure < LOW_CONFIDENCE:
                notices += (f"confidence {sure:.2f}: the answer is probably not in this memory",)
            unreadable = sum(answer.unreadable for answer in answers)
            if unreadable:
                notices += (f"{unreadable} damaged records were left out; run `memhop verify`",)
            return Recalled(
                query=query,
                hits=tuple(hits),
                reason=None,
                hint=None,
                held_back={},
                candidates=sum(len(answer.scored.docs) for answer in answers),
                channels=_both_uses([answer.scored.uses for answer in answers]),
                confidence=sure,
                coverage=max(answer.scored.words.coverage for answer in answers),
                associated=tuple(associated),
                notices=notices,
                explanation=_explain(query, answers[0].scored, allowed, views) if query.explain else {},
            )

    def _answer(
        self, query: Query, asked: semantics.Asked | None, views: Views, allowed: Eligible, spreading: Spreading
    ) -> _Answer:
        records = Records(self.store)
        scored = score(query, asked, self.embedder, views, allowed, records, self._workspace)
        hits, unreadable = self._rank(query, scored, views, allowed, spreading, records)
        return _Answer(hits, unreadable, scored)

    def _rank(
        self,
        query: Query,
        scored: Scored,
        views: Views,
        allowed: Eligible,
        spreading: Spreading,
        records: Records,
    ) -> tuple[list[Found], int]:
        layers = views.units.column("layer")[scored.docs]
        ids = views.units.ids
        ordering = LayerOrder(query, self.store, records, spreading)
        lists: dict[int, tuple[float, list[int]]] = {}
        fused_by_layer: dict[int, _Layered] = {}
        for layer in WEIGHTS:
            mine = scored.rows(np.flatnonzero(layers == layer))
            if not len(mine.docs):
                continue
            few = len(mine.docs) < fusion.TOP
            units = int(np.count_nonzero(allowed.mask & (views.units.column("layer") == layer))) if few else 0
            fused = ordering.fused(layer, mine, units)
            rows = ordering.rows(layer, fused, mine)
            if len(rows):
                standing = fusion.standing(ordering.evidence(layer, mine), {**scored.evidence, "time": scored.time})
                weight = weights_of(layer, contextual=scored.contextual).across * standing
                lists[int(layer)] = (weight, mine.docs[rows].tolist())
                fused_by_layer[int(layer)] = _Layered(fused, mine)
        hits: list[Found] = []
        unreadable = 0
        told: set[int] = set()
        for placed in fusion.merge(lists, ids):
            if len(hits) == query.limit:
                break
            record = records.get(int(ids[placed.item]))
            if record is None:
                unreadable += 1
                continue
            if isinstance(record, Topic) and record.sources and told.issuperset(record.sources):
                continue  # all that it cites is there, word for word
            told.add(record.id)
            fused, mine = fused_by_layer[placed.layer]
            row = int(np.searchsorted(mine.docs, placed.item))
            parts = _parts(fused, row, placed.score)
            hits.append(
                Found(
                    id=int(ids[placed.item]),
                    layer=Layer(placed.layer),
                    record=record,
                    score=math.fsum(parts.values()),
                    ranks=_ranks(fused.total, mine, row),
                    parts=parts,
                )
            )
        return hits, unreadable

    def _count(self, hits: list[Found]) -> None:
        """Count what was recalled, each once: notes and cards, and of messages and topics their scene."""
        used: dict[int, None] = {}
        for hit in hits[:USED_HITS]:
            if isinstance(hit.record, Message | Topic):
                used[hit.record.scene] = None
            elif hit.layer in (Layer.NOTES, Layer.CAPABILITIES):
                used[hit.id] = None
        for target in used:
            if target:
                self.store.count_use(target)

    def _nothing(self, query: Query, answers: list[_Answer], allowed: Eligible, views: Views) -> Recalled:
        """What is said where there are no hits: why, and what would be found otherwise."""
        shown = ", ".join(query.terms[:8]) + (", …" if len(query.terms) > 8 else "")
        uses = _both_uses([answer.scored.uses for answer in answers])
        held: dict[str, int] = {}
        near: tuple[str, ...] = ()
        if not query.terms:
            reason = "the question is blank"
        elif not views.units.count:
            reason = "nothing is stored yet"
        elif not answers:
            reason = f"the filters leave nothing: {_removed(allowed)}"
        else:
            idle = [f"{use.name} did not run: {use.reason}" for use in uses if not use.ran and use.name != "time"]
            filters = [f"filters: {_removed(allowed)}"] if allowed.removed else []
            reason = "; ".join((f"no stored text that passes the filters has any of: {shown}", *filters, *idle))
            near = nearest_words(query.terms, views, allowed)
        if query.terms and views.units.count:
            held = held_back(query, self.store, self._workspace)
        if not uses:
            names = ("lexical", "entity", "pooled", "late", "time")
            uses = tuple(ChannelUse(name, False, reason, 0) for name in names)
        hint = told(held, near)
        explanation = _explain(query, answers[0].scored, allowed, views) if query.explain and answers else {}
        return Recalled(query, (), reason, hint, held, 0, uses, 0.0, 0.0, (), query.notices, explanation)


def _projects(query: Query) -> tuple[str, ...]:
    """The keys of the projects asked for, and of the one searched along; (): all."""
    filters = query.filters
    return tuple(map(project_key, (*filters.projects, *([filters.along] if filters.along else ()))))


def _both_uses(uses: list[tuple[ChannelUse, ...]]) -> tuple[ChannelUse, ...]:
    """The uses of channels as one; they are in the same order in each."""
    return tuple(
        next((use for use in same if use.ran), same[0])._replace(matched=sum(use.matched for use in same))
        for same in zip(*uses, strict=True)
    )


def _parts(fused: fusion.Fused, row: int, score: float) -> dict[str, float]:
    return _split({name: float(values[row]) for name, values in sorted(fused.parts.items())}, score)


def _split(shares: dict[str, float], score: float) -> dict[str, float]:
    """A score as parts in proportion to shares. What a superseded note loses is the only one below 0."""
    total = math.fsum(shares.values())
    grain = math.ulp(score)  # parts are whole numbers of grains, so that adding them up rounds nothing
    grains = {name: round(score * share / total / grain) for name, share in shares.items() if share}
    largest = max(grains, key=lambda name: grains[name])
    grains[largest] += round(score / grain) - sum(grains.values())
    return {name: count * grain for name, count in grains.items() if count}


def _ranks(total: NDArray[np.float64], scored: Scored, row: int) -> dict[str, int]:
    ranks = {"layer": int(np.count_nonzero(total > total[row])) + 1}
    seen = {"entity": scored.entity, "session": scored.session, **scored.evidence}
    seen["lexical"] = scored.evidence["lexical"] - scored.entity
    for name, scores in seen.items():
        if scores[row] > 0:
            ranks[name] = int(np.count_nonzero(scores > scores[row])) + 1
    return ranks


def _start_scenes(hits: list[Found]) -> dict[int, float]:
    start: dict[int, float] = {}
    for hit in hits[:_START_HITS]:
        scene = hit.record.scene if isinstance(hit.record, Message | Topic) else 0
        if scene:
            start[scene] = max(start.get(scene, 0.0), hit.score)
    return start


def _removed(allowed: Eligible) -> str:
    return ", ".join(f"{name} leaves out {count}" for name, count in allowed.removed.items()) or "no unit passes"


def _explain(query: Query, scored: Scored, allowed: Eligible, views: Views) -> dict[str, Any]:
    """What `explain=True` tells. Of variants those alone that a unit which passes the filters holds."""
    names = sorted({name for use in scored.words.uses for name in use.variants})
    mask = allowed.mask if allowed.along is None else allowed.mask | allowed.along
    postings = views.bm25.postings(names, views.units.live) if names else []
    there = {one.term for one in postings if len(one.read(mask)[0])}
    return {
        "fusion": query.fusion,
        "alpha": query.alpha,
        "terms": [
            {
                "term": use.term,
                "idf": round(use.idf, 4),
                "units": use.frequency,
                "variants": {name: round(weight, 3) for name, weight in sorted(use.variants.items()) if name in there},
            }
            for use in scored.words.uses
        ],
        "coverage": round(scored.words.coverage, 4),
        "confidence": scored.signs._asdict(),
        "windows": [list(window) for window in query.windows],
        "filters_left_out": allowed.removed,
        "weights": {layer.label: weights_of(layer, contextual=scored.contextual)._asdict() for layer in WEIGHTS},
    }
