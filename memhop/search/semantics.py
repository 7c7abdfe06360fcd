"""The semantic channels: pooled vectors and late interaction, within the embedder's own vector space.

The question is embedded before any lock is taken, for a model may be slow. A failing model leaves the words channel
to answer alone, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memhop.common.errors import EmbedderError, ProviderError
from memhop.models.embed import check_vectors
from memhop.repo.record import Kind, all_of
from memhop.repo.vectors import Space, space_id
from memhop.search.tuning import EVIDENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.models.embed import Embedder, TokenEmbedder
    from memhop.repo.store import Store
    from memhop.repo.views import Views
    from memhop.search.evidence import Neighbourhood
    from memhop.search.sparse import Scores, Sums

NEAREST: Final = 200  # units that the pooled vectors bring up, and that cosines are held against


class Asked(NamedTuple):
    """A question in a vector space. `vector` is None where the channel cannot run; `reason` says why."""

    space: Space | None
    vector: NDArray[np.float32] | None
    tokens: NDArray[np.int64] | None
    reason: str | None


def token_embedder(embedder: Embedder | None) -> TokenEmbedder | None:
    """The embedder, if it can give token ids for late interaction."""
    return embedder if embedder is not None and hasattr(embedder, "tokens") else None  # type: ignore[return-value]


def space_of(store: Store, embedder: Embedder) -> Space | None:
    """The embedder's space in this file; None before anything was embedded with it."""
    if embedder.dim is not None:
        id_ = space_id(embedder.name, embedder.dim, embedder.digest)
        if store.file.locate(id_) is None:
            return None
        return Space(id=id_, model=embedder.name, dim=embedder.dim, digest=embedder.digest)  # all there is to read
    known = store.listed(Space, all_of(Kind.SPACE), limit=1000, descending=True)
    for _, space in known:
        if (space.model, space.digest) == (embedder.name, embedder.digest):
            return space
    return None


@contextmanager
def _border(embedder: Embedder) -> Iterator[None]:
    """Around foreign code, from which anything can come: it leaves as a ProviderError, for no call may fail for it."""
    try:
        yield
    except ProviderError:
        raise
    except Exception as error:
        reason = f"{embedder.name} failed: {type(error).__name__}: {error!s:.200}"
        raise EmbedderError(reason, retryable=False) from error


def answer(embedder: Embedder, texts: list[str], *, query: bool = False) -> NDArray[np.float32]:
    """Unit rows of `texts`, zeros where there is no usable vector. The border to the model: what comes back is checked.

    Raises:
        ProviderError: whatever went wrong in the embedder, also where it forgot its own contract.
    """
    with _border(embedder):
        return check_vectors(embedder.embed(texts, query=query), len(texts), embedder.dim)[0]


def telling_tokens(embedder: TokenEmbedder, texts: list[str]) -> list[NDArray[np.uint16] | NDArray[np.uint32]]:
    """The token ids of each text without stop tokens. Raises ProviderError as `answer` does."""
    with _border(embedder):
        stop = embedder.stop_tokens()
        found = [ids[~stop[ids]] for ids in embedder.tokens(texts)]
        if len(found) != len(texts) or any(ids.dtype.kind != "u" or ids.ndim != 1 for ids in found):
            raise EmbedderError(f"{embedder.name} gave no token ids for some texts", retryable=False)
        return found


def ask(text: str, store: Store, embedder: Embedder | None) -> Asked:
    """Embed a question. Never raises for what a model does."""
    if embedder is None:
        return Asked(None, None, None, "no embedder is configured")
    space = space_of(store, embedder)
    if space is None:
        return Asked(None, None, None, f"nothing was embedded with {embedder.name} yet; backfill does")
    try:
        vector = answer(embedder, [text], query=True)[0]
        if vector.shape != (space.dim,):
            return Asked(
                space, None, None, f"{embedder.name} answered with {vector.shape[0]} dimensions, not {space.dim}"
            )
        if not vector.any():
            return Asked(space, None, None, "the question has no vector in this model")
        with_tokens = token_embedder(embedder)
        tokens = None
        if with_tokens is not None:
            (found,) = telling_tokens(with_tokens, [text])
            tokens = np.array(list(dict.fromkeys(found.tolist())), dtype=np.int64)
    except ProviderError as error:
        return Asked(space, None, None, f"the embedder failed: {error.message}")
    return Asked(space, vector, tokens, None)


def pooled(
    asked: Asked, embedder: Embedder, views: Views, around: Neighbourhood, sums: Sums, mask: NDArray[np.bool_]
) -> Scores | None:
    """Cosine with the question, above the average of the best units, spread over neighbours. None: no vectors.

    What is no closer than the average of the 200 nearest says nothing: cosines of unrelated texts are rarely 0.
    """
    if asked.space is None or asked.vector is None:
        return None
    index = views.vectors(asked.space.id, asked.space.dim)
    vector = _weighted_query(asked, embedder, views)
    docs, cosines = index.top(vector, NEAREST, views.ordinals, version=views.version, where=mask)
    if not len(docs):
        return None
    nearest = cosines.astype(np.float64)
    spread = float(nearest.std())
    strength = np.maximum(nearest - float(nearest.mean()), 0.0) / spread if spread > 1e-9 else np.ones(len(docs))
    near = strength > 0
    sums.add(*around.spread(docs[near], strength[near]))
    return sums.take().among(mask)


def embedded(asked: Asked, views: Views, docs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the units have a vector in the question's space."""
    assert asked.space is not None
    return views.vectors(asked.space.id, asked.space.dim).contains(views.units.column("owner")[docs])


def _weighted_query(asked: Asked, embedder: Embedder, views: Views) -> NDArray[np.float32]:
    """With a static model, the question's rare tokens count more (idf-weighted mean of token vectors)."""
    with_tokens = token_embedder(embedder)
    assert asked.space is not None
    assert asked.vector is not None
    if with_tokens is None or asked.tokens is None or not len(asked.tokens):
        return asked.vector
    weights = views.tokens(asked.space.id).idf(asked.tokens)
    mixed = (with_tokens.table()[asked.tokens] * weights[:, None]).sum(axis=0)
    norm = float(np.linalg.norm(mixed))
    return (mixed / norm).astype(np.float32) if norm > 1e-9 else asked.vector


def late(
    asked: Asked,
    embedder: Embedder,
    views: Views,
    around: Neighbourhood,
    sums: Sums,
    candidates: NDArray[np.int64],
) -> Scores | None:
    """Late interaction (MaxSim, Khattab and Zaharia 2020) of the candidates with the question.

    Per distinct token of the question: the cosine of the unit's nearest token, to a power, spread over neighbours,
    saturated, and weighted by the token's idf, as words are. None: the model gives no tokens.
    """
    with_tokens = token_embedder(embedder)
    if asked.space is None or asked.tokens is None or not len(asked.tokens) or with_tokens is None:
        return None
    index = views.tokens(asked.space.id)
    weights = index.idf(asked.tokens)
    offsets, tokens = index.rows(candidates, views.ordinals, views.units.size, version=views.version)
    if not len(tokens):
        return None
    from memhop.index.late import best_similarities

    similarity = best_similarities(asked.tokens, with_tokens.table(), offsets, tokens)
    for weight, row in zip(weights.tolist(), similarity, strict=True):
        strength = np.maximum(row.astype(np.float64), 0.0) ** EVIDENCE.late_power
        present = strength > 0
        reached, values = around.spread(candidates[present], strength[present])
        sums.add(reached, weight * around.saturated(values))
    return sums.take()
