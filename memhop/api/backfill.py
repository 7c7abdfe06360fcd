"""Draining the queue of units that have no vector yet.

The queue is not stored: a unit waits when it is searchable and its space has no vector of it. So it cannot be wrong,
and erasing vectors or changing the model queues everything again. Only failures are recorded: a unit which a model
refuses is tried again after 1 minute, then 2, 4, … up to a day, so that one bad text never blocks the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memhop.api.results import BackfillReport, Pending
from memhop.common.errors import ConfigError, EmbedderError, InvalidRequest, ProviderError
from memhop.models.embed import split_text
from memhop.repo import vectors
from memhop.repo.record import Kind
from memhop.repo.vectors import EmbedFailure, Space, failure_id, failures_in, space_id
from memhop.search.semantics import answer, space_of, telling_tokens, token_embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.models.embed import Embedder
    from memhop.repo.store import Store

FIRST_RETRY_MS = 60_000
LAST_RETRY_MS = 24 * 3_600_000
BATCH_UNITS = 1_000  # units of one commit; a slab of them is 1 MB at 256 dimensions
MAX_FAILURES = 10_000  # listed when the queue is made up
_HARMLESS = "memory"  # a text no model refuses, to tell a refused text from a model that refuses everything


class _Item(NamedTuple):
    unit: int  # id
    owner: int  # its name in slabs
    text: str


def pending(store: Store, embedder: Embedder | None) -> Pending:
    """See `DB.pending`."""
    if embedder is None:
        return Pending(space=None, without_vector=0, failed=0, next_retry_at=None, last_reason=None)
    space = space_of(store, embedder)
    with store.lock:
        waiting = len(_waiting(store, space))
    failures = _failures(store, space)
    latest = max(failures, key=lambda failure: failure.retry_at, default=None)
    return Pending(
        space=f"{embedder.name} ({space.dim} dimensions)" if space else embedder.name,
        without_vector=waiting,
        failed=len(failures),
        next_retry_at=min((failure.retry_at for failure in failures), default=None),
        last_reason=latest.reason if latest else None,
    )


def backfill(store: Store, embedder: Embedder | None, max_seconds: float | None) -> BackfillReport:
    """See `DB.backfill`."""
    if embedder is None:
        raise ConfigError("there is no embedder to fill with", field="embedder", allowed="an embedder given to DB.open")
    number = isinstance(max_seconds, int | float) and not isinstance(max_seconds, bool)
    if max_seconds is not None and not (number and 0 < max_seconds <= 10**7):
        raise InvalidRequest(f"{max_seconds!r:.40} is not a time", field="max_seconds", allowed="seconds > 0, or None")
    start = time.monotonic()
    embedded = failed = 0
    tried: set[int] = set()
    reason = None
    while True:
        if max_seconds is not None and time.monotonic() - start >= max_seconds:
            reason = "max_seconds is over"
            break
        space = space_of(store, embedder)
        items = _next_items(store, space, tried)
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
        remaining = len(_waiting(store, space))
    return BackfillReport(
        space=f"{embedder.name} ({space.dim} dimensions)" if space else None,
        embedded=embedded,
        failed=failed,
        remaining=remaining,
        seconds=round(time.monotonic() - start, 3),
        reason=reason,
    )


def _waiting(store: Store, space: Space | None) -> NDArray[np.int64]:
    """Ordinals of live units without a vector in the space, oldest first. Call it under the store's lock."""
    views = store.views
    live = np.flatnonzero(views.units.live)
    if space is not None:
        live = live[~views.vectors(space.id, space.dim).contains(views.units.column("owner")[live])]
    return live


def _failures(store: Store, space: Space | None) -> list[EmbedFailure]:
    if space is None:
        return []
    found = [failure for _, failure in store.listed(EmbedFailure, failures_in(space.id), limit=MAX_FAILURES)]
    with store.lock:  # a text which was edited or erased since waits for nothing
        places = store.views.ordinals(np.array([failure.owner for failure in found], dtype=np.uint64))
    return [failure for failure, place in zip(found, places.tolist(), strict=True) if place >= 0]


def _next_items(store: Store, space: Space | None, tried: set[int]) -> list[_Item]:
    now = store.clock.now_ms()
    resting = {failure.owner for failure in _failures(store, space) if failure.retry_at > now}
    items = []
    with store.lock:
        units = store.views.units
        for ordinal in _waiting(store, space).tolist():
            id_, owner = int(units.ids[ordinal]), int(units.column("owner")[ordinal])
            if owner in resting or owner in tried:
                continue
            record = store.record(id_)  # a damaged one goes on waiting, and holds up no other
            unit = record.unit() if record is not None else None
            if unit is not None:
                items.append(_Item(id_, owner, unit.plain))
            if len(items) == BATCH_UNITS:
                break
    return items


def _embed_batch(store: Store, embedder: Embedder, items: Sequence[_Item]) -> tuple[int, int]:
    """Embed and commit some units. Returns (embedded, refused). Raises ProviderError when the model is away."""
    pieces: list[str] = []
    owners: list[int] = []
    for item in items:
        for piece in split_text(item.text) or [item.text]:
            pieces.append(piece)
            owners.append(item.owner)
    matrix = _embed(embedder, pieces)
    if not matrix.shape[1]:
        raise EmbedderError(f"{embedder.name} gave no vector, so that its dimension is not known", retryable=False)
    space = space_of(store, embedder)
    if space is not None and space.dim != matrix.shape[1]:
        raise EmbedderError(f"{embedder.name} answered with {matrix.shape[1]} dimensions, not {space.dim} as before")
    good = np.linalg.norm(matrix, axis=1) > 0.5
    served = {owner for owner, fine in zip(owners, good, strict=True) if fine}
    with_tokens = token_embedder(embedder)
    tokens = None
    if with_tokens is not None:
        found = telling_tokens(with_tokens, [item.text for item in items])
        tokens = {item.owner: ids for item, ids in zip(items, found, strict=True)}
    now = store.clock.now_ms()
    with store.writing() as batch:
        dim = int(matrix.shape[1])
        id_ = space_id(embedder.name, dim, embedder.digest)
        if store.readable(Space, id_) is None:
            batch.put(Space(model=embedder.name, dim=dim, digest=embedder.digest, created_at=now), id_)
        asked = np.array([item.owner for item in items], dtype=np.uint64)
        wanted = (store.views.ordinals(asked) >= 0) & ~store.views.vectors(id_, dim).contains(asked)
        there = {item.owner for item, want in zip(items, wanted.tolist(), strict=True) if want}
        live = served & there  # what was erased, edited or embedded by another thread meanwhile keeps nothing
        rows = np.array([owner in live and fine for owner, fine in zip(owners, good.tolist(), strict=True)], dtype=bool)
        if rows.any():
            kept = [owner for owner, row in zip(owners, rows.tolist(), strict=True) if row]
            batch.put_payload(Kind.VECTOR_SLAB, vectors.encode_vectors(id_, kept, matrix[rows]), id_, kept[0], now)
            if tokens is not None:
                token_owners = sorted(live)
                payload = vectors.encode_tokens(id_, token_owners, [tokens[owner] for owner in token_owners])
                batch.put_payload(Kind.TOKEN_SLAB, payload, id_, token_owners[0], now)
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


def _embed(embedder: Embedder, pieces: list[str]) -> NDArray[np.float32]:
    """All pieces, in parts the model takes; texts of a part that is refused for good are tried one by one."""
    parts: list[NDArray[np.float32]] = []
    for start in range(0, len(pieces), embedder.max_batch):
        part = pieces[start : start + embedder.max_batch]
        try:
            rows = answer(embedder, part)
        except ProviderError as error:
            if error.retryable:
                raise
            rows = _one_by_one(embedder, part)
        if parts and rows.shape[1] != parts[0].shape[1]:
            raise EmbedderError(f"{embedder.name} answered with {rows.shape[1]} dimensions after {parts[0].shape[1]}")
        parts.append(rows)
    return np.concatenate(parts)


def _one_by_one(embedder: Embedder, texts: list[str]) -> NDArray[np.float32]:
    """Rows of single texts, zeros for those that are refused. Raises ProviderError if the model takes nothing."""
    width = answer(embedder, [_HARMLESS]).shape[1]
    rows = np.zeros((len(texts), width), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        try:
            row[:] = answer(embedder, [text])[0]
        except ProviderError as error:
            if error.retryable:
                raise
    return rows
