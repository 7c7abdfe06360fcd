"""The whole path from a question to hits. Writes nothing but buffered usage counters.

    prepare -> (embed the question) -> filters -> channels -> fusion in each layer -> merge -> records -> association

Where a project is asked for, everything from the channels to the records is done twice, for it and for the universal
project, and the two lists become one, see `along`.

One lock is held while indexes are read, never while a model is asked.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memhop.common.config import LIMITS, LOW_CONFIDENCE
from memhop.repo.l2_context import Topic
from memhop.repo.l3_facts import Fact
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import ASKS, SUPERSEDED, Layer, Record, label, project_key
from memhop.search import channels, fusion, semantics, succession
from memhop.search.along import together
from memhop.search.association import Activated, Spreading
from memhop.search.confidence import Signs, confidence
from memhop.search.diversity import spread_out
from memhop.search.evidence import Neighbourhood
from memhop.search.force import in_force
from memhop.search.held_back import held_back, nearest_words, told
from memhop.search.query import Eligible, Query, Request, eligible, prepare
from memhop.search.reading import Candidate, question
from memhop.search.rerank import rerank
from memhop.search.sparse import NOTHING, Scores, Workspace, union
from memhop.search.tuning import EVIDENCE, RERANK, WEIGHTS, Weights, weights_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.models.embed import Embedder
    from memhop.repo.store import Store
    from memhop.repo.views import Views

_WORD = re.compile(r"\w+")
_SPEAK_FOR_THEMSELVES = 10  # best units of a layer, which are not passed by what is only brought to mind
_BRINGING = 3  # best units of a layer, whose scenes bring others to mind
_START_HITS = 5  # whose scenes bring others to mind, in the reply
USED_HITS = 3  # of a recall: the first ones count as used
_USAGE_POOL = 30  # candidates whose usage is looked up
_USAGE_FULL = math.log1p(20)


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


class ChannelUse(NamedTuple):
    name: str
    ran: bool
    reason: str | None
    matched: int


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


class _Scored(NamedTuple):
    """All channels of one question, over its candidates `docs`: ordinals ascending, all of which pass the filters."""

    docs: NDArray[np.int64]
    evidence: dict[str, NDArray[np.float64]]
    entity: NDArray[np.float64]  # the part of the evidence of words that comes from other spellings
    session: NDArray[np.float64]
    named: NDArray[np.float64]
    time: NDArray[np.float64]
    unseen: NDArray[np.bool_]  # the model has no vector of these yet
    words: channels.Words
    uses: tuple[ChannelUse, ...]
    signs: Signs
    contextual: bool  # the model gives a token another vector in each sentence
    reads: float  # how much of the question the model can read, 0..1

    @property
    def with_model(self) -> bool:
        return "pooled" in self.evidence

    def rows(self, rows: NDArray[np.int64]) -> _Scored:
        """Only these candidates."""
        return self._replace(
            docs=self.docs[rows],
            evidence={name: scores[rows] for name, scores in self.evidence.items()},
            entity=self.entity[rows],
            session=self.session[rows],
            named=self.named[rows],
            time=self.time[rows],
            unseen=self.unseen[rows],
        )


class _Answer(NamedTuple):
    """Of one mask of units."""

    hits: list[Found]
    unreadable: int
    scored: _Scored


class _Layered(NamedTuple):
    """One layer's order over its candidates."""

    fused: fusion.Fused
    scored: _Scored


class _Records:
    """The records of one recall, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[int, Record | None] = {}

    def get(self, id_: int) -> Record | None:
        """None: it is damaged."""
        if id_ not in self._read:
            self._read[id_] = self._store.record(id_)
        return self._read[id_]


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
                explanation=_explain(query, answers[0].scored, allowed) if query.explain else {},
            )

    def _answer(
        self, query: Query, asked: semantics.Asked | None, views: Views, allowed: Eligible, spreading: Spreading
    ) -> _Answer:
        records = _Records(self.store)
        scored = self._score(query, asked, views, allowed, records)
        hits, unreadable = self._rank(query, scored, views, allowed, spreading, records)
        return _Answer(hits, unreadable, scored)

    # -- scoring ---------------------------------------------------------------------------------------------

    def _score(
        self, query: Query, asked: semantics.Asked | None, views: Views, allowed: Eligible, records: _Records
    ) -> _Scored:
        workspace = self._workspace
        around = Neighbourhood(views.units, workspace)
        words = channels.words(query.terms, views, around, workspace, allowed)
        uses = [
            _use("lexical", words.matched[0]),
            _use("entity", words.matched[1], idle="no unknown word is spelt nearly like a stored one"),
        ]
        found: dict[str, Scores] = {}
        near = None
        reason = asked.reason if asked is not None else "alpha is 0"
        if asked is not None and self.embedder is not None and asked.vector is not None:
            sums = workspace.sums("semantic", views.units.size)
            pooled = semantics.pooled(asked, self.embedder, views, around, sums, allowed.mask)
            if pooled is None:
                reason = "no unit that passes the filters has a vector yet; backfill makes them"
            else:
                found["pooled"], near = pooled
                candidates = around.widen(_to_compare(words, pooled.scores))
                late = semantics.late(asked, self.embedder, views, around, candidates)
                if late is not None:
                    found["late"] = late.among(allowed.mask)
        elif asked is not None and asked.failed:
            sums = workspace.sums("semantic", views.units.size)
            echo = semantics.feedback(asked, _best_by_words(words), views, around, sums, allowed.mask)
            if echo is not None:
                found["feedback"] = echo
            count = 0 if echo is None else len(echo.docs)
            uses.append(_use("feedback", count, idle="nothing that words find has a vector"))
        for name in ("pooled", "late"):
            if name in found:
                uses.append(_use(name, len(found[name].docs)))
            else:
                uses.append(ChannelUse(name, False, reason or "this embedder gives no token ids", 0))
        at = views.units.column("at")
        in_time = _in_time(query, at, views, allowed.mask)
        uses.append(_use("time", in_time.matched, idle="the question names no date or span"))
        signs = _signs(words, allowed, near)
        if query.alpha == 1.0:
            words = words._replace(lexical=NOTHING, entity=NOTHING, sessions=NOTHING)
            uses[:2] = [ChannelUse(use.name, False, "alpha is 1", 0) for use in uses[:2]]
        spoken_for = [words.lexical, words.entity, *found.values()]
        docs = union([in_time.docs, *(scores.docs for scores in spoken_for)])
        heirs = _heirs(docs, spoken_for, views, allowed, records)
        docs = union([docs, heirs]) if len(heirs) else docs
        lexical, entity = words.lexical.at(docs), words.entity.at(docs)
        time = in_time.among(docs, query, at)
        text_words = [word.casefold() for word in _WORD.findall(query.text)]
        return _Scored(
            docs=docs,
            evidence={"lexical": lexical + entity, **{name: scores.at(docs) for name, scores in found.items()}},
            entity=entity,
            session=words.sessions.at(docs),
            named=channels.named_speaker(text_words, views.units.column("speaker")[docs]),
            time=time * EVIDENCE.relative_time if query.relative_time else time,
            unseen=~semantics.embedded(asked, views, docs)
            if asked and "pooled" in found
            else np.zeros(len(docs), bool),
            words=words,
            uses=tuple(uses),
            signs=signs,
            contextual=asked is not None and asked.contexts is not None,
            reads=asked.reads if asked is not None else 0.0,
        )

    def _fuse(
        self,
        weights: Weights,
        weighted: dict[str, tuple[float, NDArray[np.float64]]],
        query: Query,
        scored: _Scored,
        views: Views,
        units: int,
    ) -> fusion.Fused:
        evidence, lent = _lend(weighted, scored.unseen, _trust(scored))
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

    def _rank(
        self,
        query: Query,
        scored: _Scored,
        views: Views,
        allowed: Eligible,
        spreading: Spreading,
        records: _Records,
    ) -> tuple[list[Found], int]:
        layers = views.units.column("layer")[scored.docs]
        ids = views.units.ids
        lists: dict[int, tuple[float, list[int]]] = {}
        fused_by_layer: dict[int, _Layered] = {}
        for layer in WEIGHTS:
            mine = scored.rows(np.flatnonzero(layers == layer))
            if not len(mine.docs):
                continue
            few = len(mine.docs) < fusion.TOP
            units = int(np.count_nonzero(allowed.mask & (views.units.column("layer") == layer))) if few else 0
            weights = weights_of(layer, contextual=scored.contextual)
            weighted = _weighted(weights, mine, query.alpha)
            fused = self._fuse(weights, weighted, query, mine, views, units)
            fused = self._with_usage(weights, fused, ids[mine.docs])
            fused = self._with_association(weights, fused, query, mine.docs, views, records, spreading)
            fused = self._reread(weights, fused, query, mine, ids[mine.docs], records)
            if layer is Layer.KNOWLEDGE:
                fused = _in_force(fused, query, ids[mine.docs], records)
            elif layer is Layer.NOTES:
                fused = _succeeded(fused, query, mine.docs, views, records)
            order = self._spread_out(weights, query, fused, mine.docs, views)
            if len(order):
                said = {**weighted, "time": (weights.time, mine.time)}
                standing = fusion.standing(said, {**scored.evidence, "time": scored.time})
                lists[int(layer)] = (weights.across * standing, mine.docs[order].tolist())
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

    def _spread_out(
        self, weights: Weights, query: Query, fused: fusion.Fused, docs: NDArray[np.int64], views: Views
    ) -> NDArray[np.int64]:
        """The rows to return, best first, with sessions taken in turn as far as the weights say."""
        order = _best_first(fused, views.units.ids[docs], max(query.limit, fusion.TOP))
        if weights.again and len(order):
            best = order[: fusion.TOP]  # however many are asked for, so that the first ones are always the same
            totals = fused.total[best]
            step = (weights.again + query.several * EVIDENCE.several) * fusion.spread_of(totals)
            sessions = views.units.column("session")[docs[best]]
            first = best[spread_out(totals.tolist(), sessions.tolist(), step, query.limit)]
            order = np.concatenate([first, order[fusion.TOP :]])
        return order[: query.limit]

    def _with_usage(self, weights: Weights, fused: fusion.Fused, ids: NDArray[np.uint64]) -> fusion.Fused:
        if not weights.usage:
            return fused
        usage = np.zeros(len(ids))
        for row in _best_first(fused, ids, _USAGE_POOL):
            counted = self.store.readable(Usage, usage_id(int(ids[row])))
            if counted is not None:
                usage[row] = weights.usage * min(1.0, math.log1p(counted.hits) / _USAGE_FULL)
        return fusion.Fused(fused.total + usage, fused.parts | {"usage": usage}, fused.evidence)

    def _with_association(
        self,
        weights: Weights,
        fused: fusion.Fused,
        query: Query,
        docs: NDArray[np.int64],
        views: Views,
        records: _Records,
        spreading: Spreading,
    ) -> fusion.Fused:
        """The layer with a little more for units of the scenes which those of its best units bring to mind most."""
        scenes = views.units.column("scene")[docs]
        if not weights.association or not scenes.any():
            return fused
        ids = views.units.ids[docs]
        start: dict[int, float] = {}
        best = _best_first(fused, ids, _SPEAK_FOR_THEMSELVES).tolist()
        for row in best[:_BRINGING]:
            record = records.get(int(ids[row]))
            if isinstance(record, Message) and record.scene:
                start.setdefault(record.scene, float(fused.total[row] / fused.total[best[0]]))
        strongest = spreading.strongest(start, LIMITS.associated)
        if not strongest:
            return fused
        reached = {label("scene", id_): activation / strongest[0][1] for id_, activation in strongest}
        labels = np.array(sorted(reached), np.uint64)
        places = np.minimum(np.searchsorted(labels, scenes), len(labels) - 1)
        activation = np.where(
            labels[places] == scenes, np.array([reached[one] for one in sorted(reached)])[places], 0.0
        )
        prior = np.where(fused.evidence, weights.association * activation, 0.0)
        if query.fusion == "rrf":  # priors are factors there, see `fusion.rrf`
            prior = fused.total * np.expm1(prior / 3)
        if len(best) == _SPEAK_FOR_THEMSELVES:  # what speaks for itself is not passed by what is only brought to mind
            prior = np.minimum(prior, np.maximum(0.0, fused.total[best[-1]] * (1 - 1e-9) - fused.total))
            prior[best] = 0.0
        return fusion.Fused(fused.total + prior, fused.parts | {"association": prior}, fused.evidence)

    def _reread(
        self,
        weights: Weights,
        fused: fusion.Fused,
        query: Query,
        scored: _Scored,
        ids: NDArray[np.uint64],
        records: _Records,
    ) -> fusion.Fused:
        """The layer with its best candidates read again, see `rerank`; all of them stay before the others."""
        if not (weights.value or weights.exact or weights.order or (weights.current and query.when is not None)):
            return fused
        rows, candidates = [], []
        best = _best_first(fused, ids, RERANK.candidates)
        views = self.store.views
        if len(best) and views.units.count >= RERANK.least_units:
            best = best[fused.total[best] >= RERANK.within * fused.total[best[0]]]
        for row in best.tolist():
            record = records.get(int(ids[row]))
            if isinstance(record, Note | Message):
                rows.append(row)
                candidates.append(_candidate(record, float(fused.total[row])))
        if len(rows) < 2:
            return fused
        uses = scored.words.uses
        worth = {use.term: _worth(use, views) for use in uses}
        asked = question(query.text, worth, {use.term: _stand_ins(use) for use in uses})
        total, parts = fused.total.copy(), dict(fused.parts)
        for name, values in rerank(asked, query.when, candidates, weights).items():
            parts[name] = np.zeros(len(total))
            parts[name][rows] = values
            total += parts[name]
        return fusion.Fused(total, parts, fused.evidence)

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
        return Recalled(query, (), reason, hint, held, 0, uses, 0.0, 0.0, (), query.notices, {})


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


def _heirs(
    docs: NDArray[np.int64], spoken_for: list[Scores], views: Views, allowed: Eligible, records: _Records
) -> NDArray[np.int64]:
    """The units of the notes that took the place of the best superseded ones among `docs`, as far as they may be
    returned: what answers a question about the old words need not have any of them."""
    superseded: NDArray[np.int64] = docs[(views.units.column("flags")[docs] & SUPERSEDED) != 0]
    if not len(superseded):
        return superseded
    total = np.zeros(len(superseded))
    for scores in spoken_for:
        total += scores.at(superseded) / max(1e-9, float(scores.values.max(initial=0.0)))
    found = set()
    for doc in superseded[np.lexsort((superseded, -total))[: succession.BEST]].tolist():
        for heir in reversed(succession.successors(int(views.units.ids[doc]), records.get)):
            ordinal = views.units.ordinal(heir)
            if ordinal is not None and allowed.mask[ordinal]:
                found.add(ordinal)
                break
    return np.array(sorted(found), np.int64)


def _succeeded(
    fused: fusion.Fused, query: Query, docs: NDArray[np.int64], views: Views, records: _Records
) -> fusion.Fused:
    """The layer with superseded notes behind what took their place, see `succession`."""
    units = views.units
    superseded = ((units.column("flags")[docs] & SUPERSEDED) != 0) & fused.evidence
    if not superseded.any() or query.about_the_past:
        return fused
    lost = np.where(superseded, -succession.SHARE * fused.total, 0.0)
    total = fused.total + lost
    rows = np.flatnonzero(superseded)
    chains = []
    for row in rows[np.lexsort((units.ids[docs[rows]], -total[rows]))][: succession.BEST].tolist():
        chain = succession.successors(int(units.ids[docs[row]]), records.get)
        for heir in chain:
            place = _row_of(heir, docs, views)
            if place is not None:
                chains.append((-len(chain), row, place))
                break
    gained = np.zeros(len(docs))
    for row, more in succession.gains(total.tolist(), [(row, heir) for _, row, heir in sorted(chains)]).items():
        gained[row] = more
    parts = fused.parts | {"superseded": lost, "supersedes": gained}
    return fusion.Fused(total + gained, parts, fused.evidence | (gained > 0))


def _row_of(id_: int, docs: NDArray[np.int64], views: Views) -> int | None:
    ordinal = views.units.ordinal(id_)
    row = None if ordinal is None else int(np.searchsorted(docs, ordinal))
    return row if row is not None and row < len(docs) and docs[row] == ordinal else None


def _in_force(fused: fusion.Fused, query: Query, ids: NDArray[np.uint64], records: _Records) -> fusion.Fused:
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


def _trust(scored: _Scored) -> float:
    """How far words are believed, 0..1: less where a model reads the question and no unit holds much of it."""
    doubt = 1.0 - min(1.0, scored.words.coverage / EVIDENCE.trust)
    return 1.0 - doubt * scored.reads if scored.with_model else 1.0


def _stand_ins(use: channels.TermUse) -> list[str]:
    """The variants that are read as a term. Of one that texts have, its beginning is not: "pass" is no passport."""
    return [other for other in use.variants if not use.frequency or not use.term.startswith(other)]


def _weighted(weights: Weights, scored: _Scored, alpha: float | None) -> dict[str, tuple[float, NDArray[np.float64]]]:
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


def _priors(weights: Weights, scored: _Scored, views: Views) -> dict[str, NDArray[np.float64]]:
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


def _best_by_words(words: channels.Words) -> NDArray[np.int64]:
    """The units with most evidence of words, which stand for a question that no model has read."""
    docs = union((words.lexical.docs, words.entity.docs))
    total = words.lexical.at(docs) + words.entity.at(docs)
    return docs[np.lexsort((docs, -total))[: EVIDENCE.feedback]]


def _to_compare(words: channels.Words, pooled: Scores) -> NDArray[np.int64]:
    """The units worth comparing token by token: best by words and pooled vector."""
    docs = union((words.lexical.docs, words.entity.docs, pooled.docs))
    total = np.zeros(len(docs))
    for weight, scores in ((1.0, words.lexical.at(docs) + words.entity.at(docs)), (0.5, pooled.at(docs))):
        total += weight * scores / fusion.spread_of(scores)
    most = EVIDENCE.late_candidates
    return np.sort(docs[np.lexsort((docs, -total))[:most]])


class _InTime(NamedTuple):
    docs: NDArray[np.int64]
    spoken: NDArray[np.int64]  # those of them whose text speaks of the time
    matched: int

    def among(self, docs: NDArray[np.int64], query: Query, at: NDArray[np.int64]) -> NDArray[np.float64]:
        """1 for candidates from the times the question speaks of, more for those that speak of them themselves."""
        inside = channels.in_windows(query.windows, at[docs]).astype(np.float64)
        if len(self.spoken):
            inside[np.isin(docs, self.spoken, assume_unique=True)] = EVIDENCE.spoken
        return inside


def _in_time(query: Query, at: NDArray[np.int64], views: Views, mask: NDArray[np.bool_]) -> _InTime:
    """The units from the times the question speaks of, the newest of them if they are very many, and those that speak
    of these times."""
    if not query.windows:
        nothing = np.zeros(0, np.int64)
        return _InTime(nothing, nothing, 0)
    docs = np.flatnonzero(channels.in_windows(query.windows, at) & mask)
    matched = len(docs)
    if matched > channels.CANDIDATES:
        docs = np.sort(docs[np.lexsort((docs, -at[docs]))[: channels.CANDIDATES]])
    spoken = channels.spoken_of(query.windows, views)
    spoken = spoken[mask[spoken]]
    both = union((docs, spoken))
    return _InTime(both, spoken, max(matched, len(both)))


def _use(name: str, matched: int, idle: str | None = None) -> ChannelUse:
    ran = idle is None or matched > 0
    return ChannelUse(name, ran, None if ran else idle, matched)


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


def _ranks(total: NDArray[np.float64], scored: _Scored, row: int) -> dict[str, int]:
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


def _signs(words: channels.Words, allowed: Eligible, near: float | None) -> Signs:
    docs = union((words.lexical.docs, words.entity.docs))
    best = float((words.lexical.at(docs) + words.entity.at(docs)).max(initial=0.0))
    held = best / words.mass if words.mass else 0.0
    return Signs(held, words.missing, int(np.count_nonzero(allowed.mask)), near)


def _explain(query: Query, scored: _Scored, allowed: Eligible) -> dict[str, Any]:
    return {
        "fusion": query.fusion,
        "terms": [
            {
                "term": use.term,
                "idf": round(use.idf, 4),
                "units": use.frequency,
                "variants": {name: round(weight, 3) for name, weight in sorted(use.variants.items())},
            }
            for use in scored.words.uses
        ],
        "coverage": round(scored.words.coverage, 4),
        "confidence": scored.signs._asdict(),
        "windows": [list(window) for window in query.windows],
        "filters_left_out": allowed.removed,
        "weights": {layer.label: weights_of(layer, contextual=scored.contextual)._asdict() for layer in WEIGHTS},
    }
