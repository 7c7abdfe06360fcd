"""The semantic channels: pooled vectors and late interaction, within the embedder's own vector space.

The question is embedded before any lock is taken, for a model may be slow. A failing model leaves the words to answer,
and what they find stands for the question: the units nearest to the mean of the best ones' stored vectors are the
channel `feedback` (pseudo-relevance feedback, Rocchio 1971). The reason is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from memhop.common.errors import EmbedderError, ProviderError
from memhop.models.embed import TokenVectors, check_vectors
from memhop.repo.record import Kind, all_of
from memhop.repo.vectors import Space, space_id
from memhop.search.confidence import standing_out
from memhop.search.sparse import Scores
from memhop.search.tuning import EVIDENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.models.embed import ContextualEmbedder, Embedder, ReadingEmbedder, TokenEmbedder
    from memhop.repo.store import Store
    from memhop.repo.views import Views
    from memhop.search.evidence import Neighbourhood
    from memhop.search.sparse import Sums

NEAREST: Final = 200  # units that the pooled vectors bring up, and that cosines are held against


class Asked(NamedTuple):
    """A question in a vector space. `vector` is None where the channel cannot run; `reason` says why.

    `tokens` are its distinct token ids; with a contextual model `contexts` has the vector of each of them, [q, dim].
    `reads` in 0..1 is how much of it the model can read, and so how far what its vectors find is believed.
    `failed`: the model was there once and does not answer now.
    """

    space: Space | None
    vector: NDArray[np.float32] | None
    tokens: NDArray[np.int64] | None
    reason: str | None
    contexts: NDArray[np.float32] | None = None
    reads: float = 1.0
    failed: bool = False


class Kept(Enum):
    """What is stored of a unit besides its vector: nothing, token ids, or vectors of tokens."""

    NOTHING = 0
    TOKENS = 1
    CONTEXTS = 2


def kept_by(embedder: Embedder) -> Kept:
    """What late interaction needs with this embedder."""
    if hasattr(embedder, "embed_tokens"):
        return Kept.CONTEXTS
    return Kept.TOKENS if hasattr(embedder, "tokens") else Kept.NOTHING


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


def answer_with_tokens(
    embedder: Embedder, texts: list[str], *, query: bool = False
) -> tuple[NDArray[np.float32], list[TokenVectors]]:
    """As `answer`, and the vectors of each text's telling tokens, from the same pass of a contextual model."""
    contextual = cast("ContextualEmbedder", embedder)
    with _border(embedder):
        rows, found = contextual.embed_tokens(texts, query=query)
        matrix = check_vectors(rows, len(texts), embedder.dim)[0]
        if len(found) != len(texts) or any(one.ids.dtype.kind != "u" or one.ids.ndim != 1 for one in found):
            raise EmbedderError(f"{embedder.name} gave no tokens for some texts", retryable=False)
        checked = []
        for ids, vectors in found:
            unit, good = check_vectors(vectors, len(ids), matrix.shape[1])
            checked.append(TokenVectors(ids[good], unit[good]))
        return matrix, checked


def telling_tokens(embedder: Embedder, texts: list[str]) -> list[NDArray[np.uint16] | NDArray[np.uint32]]:
    """The token ids of each text without stop tokens. Raises ProviderError as `answer` does."""
    static = cast("TokenEmbedder", embedder)
    with _border(embedder):
        stop = static.stop_tokens()
        found = [ids[~stop[ids]] for ids in static.tokens(texts)]
        if len(found) != len(texts) or any(ids.dtype.kind != "u" or ids.ndim != 1 for ids in found):
            raise EmbedderError(f"{embedder.name} gave no token ids for some texts", retryable=False)
        return found


def share_read(embedder: Embedder, text: str) -> float:
    """How much of a text the embedder reads, 0..1. Raises ProviderError as `answer` does."""
    if not hasattr(embedder, "reads"):
        return 1.0
    with _border(embedder):
        return min(1.0, max(0.0, float(cast("ReadingEmbedder", embedder).reads(text))))


def ask(text: str, store: Store, embedder: Embedder | None) -> Asked:
    """Embed a question. Never raises for what a model does."""
    if embedder is None:
        return Asked(None, None, None, "no embedder is configured")
    space = space_of(store, embedder)
    if space is None:
        return Asked(None, None, None, f"nothing was embedded with {embedder.name} yet; backfill does")
    kept = kept_by(embedder)
    tokens = contexts = None
    try:
        reads = share_read(embedder, text)
        if not reads:
            return Asked(space, None, None, f"{embedder.name} does not read the script of the question")
        if kept is Kept.CONTEXTS:
            rows, (found,) = answer_with_tokens(embedder, [text], query=True)
            vector = rows[0]
            tokens, contexts = _distinct(found)
        else:
            vector = answer(embedder, [text], query=True)[0]
        if vector.shape != (space.dim,):
            return Asked(
                space, None, None, f"{embedder.name} answered with {vector.shape[0]} dimensions, not {space.dim}"
            )
        if not vector.any():
            return Asked(space, None, None, "the question has no vector in this model")
        if kept is Kept.TOKENS:
            (ids,) = telling_tokens(embedder, [text])
            tokens = np.array(list(dict.fromkeys(ids.tolist())), dtype=np.int64)
    except ProviderError as error:
        return Asked(space, None, None, f"the embedder failed: {error.message}", failed=True)
    return Asked(space, vector, tokens, None, contexts, reads)


def _distinct(found: TokenVectors) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """A question's tokens, of several occurrences of one the first."""
    _, first = np.unique(found.ids, return_index=True)
    places = np.sort(first)
    return found.ids[places].astype(np.int64), found.vectors[places]


class Pooled(NamedTuple):
    """The pooled channel. `near`: how far the nearest vector stands out, see `confidence`."""

    scores: Scores
    near: float


def pooled(
    asked: Asked, embedder: Embedder, views: Views, around: Neighbourhood, sums: Sums, mask: NDArray[np.bool_]
) -> Pooled | None:
    """Cosine with the question, above the average of the best units, spread over neighbours. None: no vectors.

    What is no closer than the average of the 200 nearest says nothing: cosines of unrelated texts are rarely 0.
    """
    if asked.space is None or asked.vector is None:
        return None
    return _nearest(asked.space, _weighted_query(asked, embedder, views), views, around, sums, mask)


def feedback(
    asked: Asked, hits: NDArray[np.int64], views: Views, around: Neighbourhood, sums: Sums, mask: NDArray[np.bool_]
) -> Scores | None:
    """As `pooled`, with the mean of the vectors of `hits` for the question. None: they have none."""
    if asked.space is None or not len(hits):
        return None
    vector = views.vectors(asked.space.id, asked.space.dim).mean(hits, views.ordinals, version=views.version)
    found = None if vector is None else _nearest(asked.space, vector, views, around, sums, mask)
    return None if found is None else found.scores


def _nearest(
    space: Space,
    vector: NDArray[np.float32],
    views: Views,
    around: Neighbourhood,
    sums: Sums,
    mask: NDArray[np.bool_],
) -> Pooled | None:
    index = views.vectors(space.id, space.dim)
    docs, cosines = index.top(vector, NEAREST, views.ordinals, version=views.version, where=mask)
    if not len(docs):
        return None
    nearest = cosines.astype(np.float64)
    spread = float(nearest.std())
    strength = np.maximum(nearest - float(nearest.mean()), 0.0) / spread if spread > 1e-9 else np.ones(len(docs))
    near = strength > 0
    sums.add(*around.spread(docs[near], strength[near]))
    return Pooled(sums.take().among(mask), standing_out(nearest))


def embedded(asked: Asked, views: Views, docs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the units have a vector in the question's space."""
    assert asked.space is not None
    return views.vectors(asked.space.id, asked.space.dim).contains(views.units.column("owner")[docs])


def _weighted_query(asked: Asked, embedder: Embedder, views: Views) -> NDArray[np.float32]:
    """With a static model, the question's rare tokens count more: mostly the idf-weighted mean of its token vectors.

    The rest is the question as the model embeds it, for a word that is rare in a memory need not be what is asked.
    Not of unit length.
    """
    assert asked.space is not None
    assert asked.vector is not None
    if kept_by(embedder) is not Kept.TOKENS or asked.tokens is None or not len(asked.tokens):
        return asked.vector
    weights = views.tokens(asked.space.id).idf(asked.tokens)
    mixed = (cast("TokenEmbedder", embedder).table()[asked.tokens] * weights[:, None]).sum(axis=0)
    norm = float(np.linalg.norm(mixed))
    scale = EVIDENCE.rare_tokens / norm if norm > 1e-9 else 0.0
    both: NDArray[np.float32] = scale * mixed + (1.0 - EVIDENCE.rare_tokens) * asked.vector
    return both.astype(np.float32)


def late(
    asked: Asked,
    embedder: Embedder,
    views: Views,
    around: Neighbourhood,
    candidates: NDArray[np.int64],
) -> Scores | None:
    """Late interaction (MaxSim, Khattab and Zaharia 2020) of the candidates with the question.

    Per distinct token of the question: the cosine of the nearest token, to a power, in the unit or by its share in a
    neighbour, saturated, and weighted by the token's idf, as words are. Neighbours do not add up as words do: every
    unit has some token that is a little alike. None: the model gives no tokens.

    Args:
        candidates: Ordinals, ascending, each once. Neighbours among them count.
    """
    found = best_tokens(asked, embedder, views, candidates)
    if found is None:
        return None
    weights, similarity = found
    earned = around.saturated(
        around.nearest(candidates, np.maximum(similarity, 0.0).astype(np.float64) ** EVIDENCE.late_power)
    )
    scores = np.zeros(len(candidates))
    for weight, row in zip(
        weights, earned, strict=True
    ):  # one after the other: a product of matrices adds in any order
        scores += weight * row
    there = scores > 0
    return Scores(candidates[there], scores[there])


def best_tokens(
    asked: Asked, embedder: Embedder, views: Views, candidates: NDArray[np.int64]
) -> tuple[list[float], NDArray[np.float32]] | None:
    """The idf of each token of the question, and the cosine of each candidate's nearest token, [q, candidates].

    None: the model gives no tokens, or no candidate has any.
    """
    if asked.space is None or asked.tokens is None or not len(asked.tokens) or not len(candidates):
        return None
    if asked.contexts is not None:
        contexts = views.contexts(asked.space.id)
        similarity = contexts.best_similarities(
            asked.contexts, candidates, views.ordinals, views.units.size, version=views.version
        )
        return (contexts.idf(asked.tokens).tolist(), similarity) if similarity.any() else None
    from memhop.index.late import best_similarities

    index = views.tokens(asked.space.id)
    offsets, tokens = index.rows(candidates, views.ordinals, views.units.size, version=views.version)
    if not len(tokens):
        return None
    table = cast("TokenEmbedder", embedder).table()
    return index.idf(asked.tokens).tolist(), best_similarities(asked.tokens, table, offsets, tokens)
