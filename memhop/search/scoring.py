"""What the channels say of a question: their numbers for the units that pass its filters.

Pure reading: words, vectors, time, and what took the place of superseded notes, brought together over one list of
candidates. How they are weighed in each layer is in `layer_order`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memhop.repo.record import Record
from memhop.search import channels, fusion, semantics
from memhop.search.confidence import Signs
from memhop.search.evidence import Neighbourhood
from memhop.search.query import Eligible, Query
from memhop.search.sparse import NOTHING, Scores, Workspace, union
from memhop.search.succession import heirs
from memhop.search.tuning import EVIDENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.models.embed import Embedder
    from memhop.repo.store import Store
    from memhop.repo.views import Views

_WORD = re.compile(r"\w+")


class ChannelUse(NamedTuple):
    name: str
    ran: bool
    reason: str | None
    matched: int


class Scored(NamedTuple):
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

    def rows(self, rows: NDArray[np.int64]) -> Scored:
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


class Records:
    """The records of one recall, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[int, Record | None] = {}

    def get(self, id_: int) -> Record | None:
        """None: it is damaged."""
        if id_ not in self._read:
            self._read[id_] = self._store.record(id_)
        return self._read[id_]


def score(
    query: Query,
    asked: semantics.Asked | None,
    embedder: Embedder | None,
    views: Views,
    allowed: Eligible,
    records: Records,
    workspace: Workspace,
) -> Scored:
    """All channels of one question. Hold the store's lock.

    Args:
        asked: The question in the embedder's space; None: vectors are left out.
        workspace: Throw it away if this raises.
    """
    around = Neighbourhood(views.units, workspace)
    words = channels.words(query.terms, views, around, workspace, allowed, query.told)
    uses = [
        _use("lexical", words.matched[0]),
        _use("entity", words.matched[1], idle="no unknown word is spelt nearly like a stored one"),
    ]
    found: dict[str, Scores] = {}
    near = None
    reason = asked.reason if asked is not None else "alpha is 0"
    if asked is not None and embedder is not None and asked.vector is not None:
        sums = workspace.sums("semantic", views.units.size)
        pooled = semantics.pooled(asked, embedder, views, around, sums, allowed.mask)
        if pooled is None:
            reason = "no unit that passes the filters has a vector yet; backfill makes them"
        else:
            found["pooled"], near = pooled
            candidates = around.widen(_to_compare(words, pooled.scores))
            late = semantics.late(asked, embedder, views, around, candidates)
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
    more = heirs(docs, spoken_for, views, allowed.mask, records.get)
    docs = union([docs, more]) if len(more) else docs
    lexical, entity = words.lexical.at(docs), words.entity.at(docs)
    time = in_time.among(docs, query, at)
    text_words = [word.casefold() for word in _WORD.findall(query.text)]
    return Scored(
        docs=docs,
        evidence={"lexical": lexical + entity, **{name: scores.at(docs) for name, scores in found.items()}},
        entity=entity,
        session=words.sessions.at(docs),
        named=channels.named_speaker(text_words, views.units.column("speaker")[docs]),
        time=time * EVIDENCE.relative_time if query.relative_time else time,
        unseen=~semantics.embedded(asked, views, docs) if asked and "pooled" in found else np.zeros(len(docs), bool),
        words=words,
        uses=tuple(uses),
        signs=signs,
        contextual=asked is not None and asked.contexts is not None,
        reads=asked.reads if asked is not None else 0.0,
    )


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


def _signs(words: channels.Words, allowed: Eligible, near: float | None) -> Signs:
    docs = union((words.lexical.docs, words.entity.docs))
    best = float((words.lexical.at(docs) + words.entity.at(docs)).max(initial=0.0))
    held = best / words.mass if words.mass else 0.0
    return Signs(held, words.missing, int(np.count_nonzero(allowed.mask)), near)
