"""Draining the queue of units that have no vector yet.

The queue is not stored: a unit waits when it is searchable and its space has no vector of it. So it cannot be wrong,
and erasing vectors or changing the model queues everything again. Only failures are recorded: a unit which a model
refuses is tried again after 1 minute, then 2, 4, … up to a day, so that one bad text never blocks the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memhop.api.results import BackfillReport, DreamReport, Pending
from memhop.common.errors import ConfigError, EmbedderError, InvalidRequest, ProviderError
from memhop.models.embed import TokenVectors, split_text
from memhop.models.sentences import in_light_of, sentences
from memhop.repo import contexts, slabs
from memhop.repo.l2_context import UNREFINED
from memhop.repo.l4_archive import Message
from memhop.repo.record import REPEATS, Kind
from memhop.repo.vectors import EmbedFailure, Space, failure_id, failures_in, space_id
from memhop.search.semantics import Kept, answer, answer_with_tokens, kept_by, space_of, telling_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.models.embed import Embedder
    from memhop.repo.store import Store
    from memhop.repo.views import Views

FIRST_RETRY_MS = 60_000
LAST_RETRY_MS = 24 * 3_600_000
BATCH_UNITS = 1_000  # units of one commit; a slab of them is 1 MB at 256 dimensions
CONTEXT_TOKENS = 1_024  # of one unit that a contextual model's vectors are kept of: some 10,000 characters
MAX_FAILURES = 10_000  # listed when the queue is made up
_HARMLESS = "memory"  # a text no model refuses, to tell a refused text from a model that refuses everything


class _Item(NamedTuple):
    unit: int  # id
    owner: int  # its name in slabs
    text: str
    sentences: list[str]  # of a turn, see `models/sentences`


def pending(store: Store, embedder: Embedder | None, *, model: bool = False) -> Pending:
    """See `DB.pending`."""
    keywords = 0
    if model:
        with store.lock:
            keywords = store.views.groups.count(UNREFINED)
    if embedder is None:
        with store.lock:
            waiting = len(_waiting(store, None, Kept.NOTHING))
        nothing = Pending(space=None, without_vector=waiting, failed=0, next_retry_at=None, last_reason=None)
        return replace(nothing, keywords=keywords)
    space = space_of(store, embedder)
    with store.lock:
        waiting = len(_waiting(store, space, kept_by(embedder)))
    failures = _failures(store, space)
    latest = max(failures, key=lambda failure: failure.retry_at, default=None)
    return Pending(
        space=f"{embedder.name} ({space.dim} dimensions)" if space else embedder.name,
        without_vector=waiting,
        failed=len(failures),
        next_retry_at=min((failure.retry_at for failure in failures), default=None),
        last_reason=latest.reason if latest else None,
        keywords=keywords,
    )


def backfill(
    store: Store,
    embedder: Embedder | None,
    max_seconds: float | None,
    refine: Callable[[float | None], DreamReport] | None,
) -> BackfillReport:
    """See `DB.backfill`.

    Args:
        refine: Lets the model refine keywords, for at most so many seconds. None: there is no model.
    """
    if embedder is None and refine is None:
        raise ConfigError(
            "there is nothing to fill with", field="embedder", allowed="an embedder or llm given to DB.open"
        )
    number = isinstance(max_seconds, int | float) and not isinstance(max_seconds, bool)
    if max_seconds is not None and not (number and 0 < max_seconds <= 10**7):
        raise InvalidRequest(f"{max_seconds!r:.40} is not a time", field="max_seconds", allowed="seconds > 0, or None")
    start = time.monotonic()
    report = BackfillReport(space=None, embedded=0, failed=0, remaining=0, seconds=0.0, reason=None)
    if embedder is not None:
        report = _embed_all(store, embedder, max_seconds, start)
    if refine is not None:
        left = None if max_seconds is None else max(0.0, max_seconds - (time.monotonic() - start))
        dreamt = refine(left)
        reasons = [report.reason, *(stage.failure for stage in dreamt.stages)]
        if dreamt.state == "stopped":
            reasons.append("max_seconds is over")
        report = replace(
            report,
            keywords=sum(stage.applied for stage in dreamt.stages),
            reason=next(filter(None, reasons), None),
        )
    return replace(report, seconds=round(time.monotonic() - start, 3))


def _embed_all(store: Store, embedder: Embedder, max_seconds: float | None, start: float) -> BackfillReport:
    embedded = failed = 0
    tried: set[int] = set()
    place = 0
    reason = None
    while True:
        if max_seconds is not None and time.monotonic() - start >= max_seconds:
            reason = "max_seconds is over"
            break
        space = space_of(store, embedder)
        items, place = _next_items(store, space, kept_by(embedder), tried, place)
        if not items:
            break
        tried.update(item.owner for item in items)
        try:
            done, refused = _embed_batch(store, embedder, items)
        except ProviderError as error:  # the model is away; every unit keeps waiting
            reason = error.message
            break
        embedded += done
        failed += refused
    space = space_of(store, embedder)
    with store.lock:
        remaining = len(_waiting(store, space, kept_by(embedder)))
    return BackfillReport(
        space=f"{embedder.name} ({space.dim} dimensions)" if space else None,
        embedded=embedded,
        failed=failed,
        remaining=remaining,
        seconds=round(time.monotonic() - start, 3),
        reason=reason,
    )


def _waiting(
    store: Store, space: Space | None, kept: Kept, start: int = 0, end: int | None = None
) -> NDArray[np.int64]:
    """Ordinals of live units, from `start` up to `end`, that lack something of the space, oldest first.

    Call it under the store's lock.
    """
    views = store.views
    # What repeats others is found by their vectors; its own would only change which tokens are rare.
    wanted = views.units.live[start:end] & ((views.units.column("flags")[start:end] & REPEATS) == 0)
    waiting = np.flatnonzero(wanted) + start
    if space is not None:
        waiting = waiting[~_complete(views, space, kept, views.units.column("owner")[waiting])]
    return waiting


def _complete(views: Views, space: Space, kept: Kept, owners: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the owners have all that this kind of embedder stores for a unit."""
    there = views.vectors(space.id, space.dim).contains(owners)
    if kept is Kept.TOKENS:
        there &= views.tokens(space.id).contains(owners)
    elif kept is Kept.CONTEXTS:
        there &= views.contexts(space.id).contains(owners)
    return there


def _failures(store: Store, space: Space | None) -> list[EmbedFailure]:
    if space is None:
        return []
    found = [failure for _, failure in store.listed(EmbedFailure, failures_in(space.id), limit=MAX_FAILURES)]
    with store.lock:  # a text which was edited or erased since waits for nothing
        places = store.views.ordinals(np.array([failure.owner for failure in found], dtype=np.uint64))
    return [failure for failure, place in zip(found, places.tolist(), strict=True) if place >= 0]


def _next_items(store: Store, space: Space | None, kept: Kept, tried: set[int], start: int) -> tuple[list[_Item], int]:
    """The next units to embed, and the ordinal from which to look for more.

    It is looked for from `start` on, and where that finds none, once more from the beginning: what was written, edited
    or got another ordinal meanwhile is found all the same. So filling a memory looks at every unit twice, however many
    batches it takes. No items: nothing is left to do now.
    """
    now = store.clock.now_ms()
    resting = {failure.owner for failure in _failures(store, space) if failure.retry_at > now}
    items: list[_Item] = []
    with store.lock:
        units = store.views.units
        for begin in (start, 0):
            for low in range(begin, units.size, BATCH_UNITS):
                for ordinal in _waiting(store, space, kept, low, low + BATCH_UNITS).tolist():
                    id_, owner = int(units.ids[ordinal]), int(units.column("owner")[ordinal])
                    if owner in resting or owner in tried:
                        continue
                    record = store.record(id_)  # a damaged one goes on waiting, and holds up no other
                    unit = record.unit() if record is not None else None
                    if unit is not None:
                        told: list[str] = []
                        if isinstance(record, Message) and kept is Kept.CONTEXTS:
                            told = sentences(record.text, record.speaker)
                        items.append(_Item(id_, owner, unit.plain, told))
                    if len(items) == BATCH_UNITS:
                        return items, ordinal + 1
            if items or not begin:
                break
    return items, units.size


def _embed_batch(store: Store, embedder: Embedder, items: Sequence[_Item]) -> tuple[int, int]:
    """Embed and commit some units. Returns (embedded, refused). Raises ProviderError when the model is away."""
    answers = _ask(embedder, items)
    matrix = answers.matrix
    space = space_of(store, embedder)
    if space is not None and space.dim != matrix.shape[1]:
        raise EmbedderError(f"{embedder.name} answered with {matrix.shape[1]} dimensions, not {space.dim} as before")
    good = np.linalg.norm(matrix, axis=1) > 0.5
    served = {owner for owner, fine in zip(answers.owners, good, strict=True) if fine}
    now = store.clock.now_ms()
    with store.writing() as batch:
        dim = int(matrix.shape[1])
        id_ = space_id(embedder.name, dim, embedder.digest)
        space = store.readable(Space, id_)
        if space is None:
            space = batch.put(Space(model=embedder.name, dim=dim, digest=embedder.digest, created_at=now), id_)
        asked = np.array([item.owner for item in items], dtype=np.uint64)
        wanted = (store.views.ordinals(asked) >= 0) & ~_complete(store.views, space, kept_by(embedder), asked)
        there = {item.owner for item, want in zip(items, wanted.tolist(), strict=True) if want}
        live = served & there  # what was erased, edited or embedded by another thread meanwhile keeps nothing
        rows = np.array(
            [owner in live and fine for owner, fine in zip(answers.owners, good.tolist(), strict=True)], bool
        )
        if rows.any():
            slabs.put_vectors(batch, id_, np.array(answers.owners, np.uint64)[rows], matrix[rows], now)
            owners = [item.owner for item in items if item.owner in live]
            if answers.tokens is not None:
                slabs.put_tokens(batch, id_, owners, [answers.tokens[owner] for owner in owners], now)
            if answers.contexts is not None:
                contexts.put_units(store, batch, space, {owner: answers.contexts[owner] for owner in owners}, now)
        refused = [item for item in items if item.owner not in served]
        for item in items:
            known = store.readable(EmbedFailure, failure_id(item.owner, id_))
            if item.owner in served:
                if known is not None:
                    batch.delete(Kind.EMBED_FAILURE, known.id)
                continue
            attempts = known.attempts + 1 if known else 1
            wait = min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** min(attempts - 1, 20))
            batch.put(
                EmbedFailure(
                    owner=item.owner,
                    space=id_,
                    attempts=attempts,
                    retry_at=now + wait,
                    reason="the model gave no usable vector for this text",
                ),
                failure_id(item.owner, id_),
            )
    return len(live), len(refused)


class _Answers(NamedTuple):
    """What a model said: a row of `matrix` for each piece of a text, whose owner stands in `owners`."""

    owners: list[int]
    matrix: NDArray[np.float32]
    tokens: dict[int, NDArray[np.uint16] | NDArray[np.uint32]] | None  # by owner
    contexts: dict[int, TokenVectors] | None


def _ask(embedder: Embedder, items: Sequence[_Item]) -> _Answers:
    """Everything the embedder has to say about the units. Raises ProviderError."""
    pieces: list[str] = []
    owners: list[int] = []
    for item in items:
        for piece in split_text(item.text) or [item.text]:
            pieces.append(piece)
            owners.append(item.owner)
    kept = kept_by(embedder)
    matrix, found = _embed(embedder, pieces, with_tokens=kept is Kept.CONTEXTS)
    if not matrix.shape[1]:
        raise EmbedderError(f"{embedder.name} gave no vector, so that its dimension is not known", retryable=False)
    tokens = None
    if kept is Kept.TOKENS:
        rows = telling_tokens(embedder, [item.text for item in items])
        tokens = {item.owner: ids for item, ids in zip(items, rows, strict=True)}
    by_owner = _by_owner(owners, found) if kept is Kept.CONTEXTS else None
    return _Answers(*_with_sentences(embedder, items, owners, matrix), tokens, by_owner)


def _with_sentences(
    embedder: Embedder, items: Sequence[_Item], owners: list[int], matrix: NDArray[np.float32]
) -> tuple[list[int], NDArray[np.float32]]:
    """Owners and rows, those of a turn that is one piece replaced by those of its sentences. Raises ProviderError."""
    pieces = Counter(owners)
    texts = {item.owner: item.sentences for item in items if item.sentences and pieces[item.owner] == 1}
    if not texts:
        return owners, matrix
    found, _ = _embed(embedder, [text for listed in texts.values() for text in listed], with_tokens=False)
    if found.shape[1] != matrix.shape[1]:
        raise EmbedderError(f"{embedder.name} answered with {found.shape[1]} dimensions after {matrix.shape[1]}")
    named: list[int] = []
    rows: list[NDArray[np.float32]] = []
    start = 0
    for owner, whole in zip(owners, matrix, strict=True):
        end = start + len(texts.get(owner, ()))
        seen = end > start and bool(whole.any())  # a turn the model refuses is refused as a whole
        rows.append(in_light_of(whole, found[start:end]) if seen else whole[None])
        named += [owner] * len(rows[-1])
        start = end
    return named, np.concatenate(rows)


def _by_owner(owners: Sequence[int], found: Sequence[TokenVectors]) -> dict[int, TokenVectors]:
    """The tokens of each unit's pieces joined, the first CONTEXT_TOKENS of them."""
    pieces: dict[int, list[TokenVectors]] = {}
    for owner, one in zip(owners, found, strict=True):
        pieces.setdefault(owner, []).append(one)
    return {
        owner: TokenVectors(
            np.concatenate([one.ids for one in listed])[:CONTEXT_TOKENS],
            np.concatenate([one.vectors for one in listed])[:CONTEXT_TOKENS],
        )
        for owner, listed in pieces.items()
    }


def _embed(
    embedder: Embedder, pieces: list[str], *, with_tokens: bool
) -> tuple[NDArray[np.float32], list[TokenVectors]]:
    """All pieces, in parts the model takes; texts of a part that is refused for good are tried one by one."""

    def ask(texts: list[str]) -> tuple[NDArray[np.float32], list[TokenVectors]]:
        return answer_with_tokens(embedder, texts) if with_tokens else (answer(embedder, texts), [])

    parts: list[NDArray[np.float32]] = []
    tokens: list[TokenVectors] = []
    for start in range(0, len(pieces), embedder.max_batch):
        part = pieces[start : start + embedder.max_batch]
        try:
            rows, found = ask(part)
        except ProviderError as error:
            if error.retryable:
                raise
            rows, found = _one_by_one(ask, part)
        if parts and rows.shape[1] != parts[0].shape[1]:
            raise EmbedderError(f"{embedder.name} answered with {rows.shape[1]} dimensions after {parts[0].shape[1]}")
        parts.append(rows)
        tokens += found
    return np.concatenate(parts), tokens


def _one_by_one(
    ask: Callable[[list[str]], tuple[NDArray[np.float32], list[TokenVectors]]], texts: list[str]
) -> tuple[NDArray[np.float32], list[TokenVectors]]:
    """Rows of single texts, zeros for those that are refused. Raises ProviderError if the model takes nothing."""
    width = ask([_HARMLESS])[0].shape[1]
    rows = np.zeros((len(texts), width), dtype=np.float32)
    nothing = TokenVectors(np.zeros(0, np.uint16), np.zeros((0, width), np.float32))
    tokens = [nothing] * len(texts)
    for place, text in enumerate(texts):
        try:
            row, found = ask([text])
        except ProviderError as error:
            if error.retryable:
                raise
            continue
        rows[place] = row[0]
        tokens[place : place + 1] = found or [nothing]
    return rows, tokens
