"""Embedders which break their promises, each in one way. They share the vectors of HashEmbedder where they behave."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import EmbedderError
from memhop.models.embed import HashEmbedder, TokenVectors

DIM = 64


class Scripted:
    """An embedder whose answers pass through `spoil(texts, rows)` before they are given.

    `calls` are the texts of each call. `dim` None: it says no dimension before its first answer.
    """

    def __init__(
        self,
        spoil: Callable[[Sequence[str], NDArray[np.float32]], Any] | None = None,
        *,
        name: str = "scripted",
        digest: str = "1",
        max_batch: int = 4,
        dim: int | None = DIM,
    ) -> None:
        self.name = name
        self.digest = digest
        self.max_batch = max_batch
        self.dim = dim
        self.spoil = spoil
        self.calls: list[list[str]] = []
        self._good = HashEmbedder(DIM)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.calls.append(list(texts))
        rows = self._good.embed(texts)
        return rows if self.spoil is None else self.spoil(texts, rows)


def refusing(word: str) -> Callable[[Sequence[str], NDArray[np.float32]], NDArray[np.float32]]:
    """Refuses for good any call in which a text holds `word`."""

    def spoil(texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        if any(word in text for text in texts):
            raise EmbedderError("the text is refused", retryable=False)
        return rows

    return spoil


def _raising(error: Exception) -> Callable[[Sequence[str], NDArray[np.float32]], Any]:
    def spoil(texts: Sequence[str], rows: NDArray[np.float32]) -> Any:
        raise error

    return spoil


MISBEHAVIOURS: dict[str, Callable[[Sequence[str], NDArray[np.float32]], Any]] = {
    "away": _raising(EmbedderError("connection refused", retryable=True)),
    "wrong key": _raising(EmbedderError("HTTP 401", retryable=False)),
    "ValueError": _raising(ValueError("a bug in foreign code")),
    "RecursionError": _raising(RecursionError("a bug in foreign code")),
    "zeros": lambda texts, rows: np.zeros_like(rows),
    "NaN": lambda texts, rows: np.full_like(rows, np.nan),
    "infinity": lambda texts, rows: np.full_like(rows, np.inf),
    "None": lambda texts, rows: None,
    "no rows": lambda texts, rows: rows[:0],
    "one row too many": lambda texts, rows: np.concatenate([rows, rows[:1]]),
    "one dimension": lambda texts, rows: rows[0],
    "a scalar": lambda texts, rows: np.float32(1.0),
    "words": lambda texts, rows: [["a"] * DIM] * len(texts),
    "ragged": lambda texts, rows: [[1.0] * (DIM + row) for row in range(len(texts))] + [[1.0]],
    "another dimension": lambda texts, rows: rows[:, :-1],
    "no dimension": lambda texts, rows: rows[:, :0],
}


class ScriptedReading(Scripted):
    """An embedder that says of every text that it reads `share` of it, or raises it."""

    def __init__(self, share: Any) -> None:
        super().__init__(name="scripted-reading")
        self.share = share

    def reads(self, text: str) -> Any:
        if isinstance(self.share, Exception):
            raise self.share
        return self.share


class ScriptedTokens(Scripted):
    """A static model of one token per word length, whose token ids pass through `spoil_tokens`."""

    vocabulary = 32

    def __init__(self, spoil_tokens: Callable[[list[NDArray[np.uint16]]], Any] | None = None) -> None:
        super().__init__(name="scripted-tokens")
        self.spoil_tokens = spoil_tokens

    def tokens(self, texts: Sequence[str]) -> Any:
        found = [np.array([min(31, len(word)) for word in text.split()], dtype=np.uint16) for text in texts]
        return found if self.spoil_tokens is None else self.spoil_tokens(found)

    def table(self) -> NDArray[np.float32]:
        return HashEmbedder(DIM).embed([f"token {number}" for number in range(self.vocabulary)])

    def stop_tokens(self) -> NDArray[np.bool_]:
        return np.arange(self.vocabulary) < 2


def _failing(found: list[NDArray[np.uint16]]) -> Any:
    raise ValueError("a bug in foreign code")


TOKEN_MISBEHAVIOURS: dict[str, Callable[[list[NDArray[np.uint16]]], Any]] = {
    "ValueError": _failing,
    "None": lambda found: None,
    "too few": lambda found: found[1:],
    "too many": lambda found: [*found, found[0]],
    "beyond the vocabulary": lambda found: [ids + np.uint16(1_000) for ids in found],
    "negative": lambda found: [-ids.astype(np.int64) for ids in found],
    "floats": lambda found: [ids.astype(np.float64) for ids in found],
    "lists": lambda found: [ids.tolist() for ids in found],
}


class ScriptedContexts(Scripted):
    """A contextual model: a word's vector leans a little towards the word before it.

    `spoil_contexts(texts, found)` may change what is said about the tokens; `spoil` goes for the rows.
    """

    def __init__(self, spoil_contexts: Callable[[list[TokenVectors]], Any] | None = None, *, dim: int = 96) -> None:
        super().__init__(name="scripted-contexts", dim=dim, max_batch=64)
        self.spoil_contexts = spoil_contexts
        self._words: dict[str, NDArray[np.float64]] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        return self.embed_tokens(texts, query=query)[0]

    def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.calls.append(list(texts))
        found = [self._tokens(text.split()) for text in texts]
        rows = np.stack([_unit(one.vectors.sum(axis=0)) for one in found])
        if self.spoil is not None:
            rows = self.spoil(texts, rows)
        return rows, found if self.spoil_contexts is None else self.spoil_contexts(found)

    def _tokens(self, words: list[str]) -> TokenVectors:
        assert self.dim is not None
        rows = [self._word(word) + 0.3 * self._word(before) for before, word in pairwise(["", *words])]
        ids = [zlib.crc32(word.encode()) % 5_000 for word in words]
        vectors = np.array([_unit(row) for row in rows], np.float32).reshape(len(words), self.dim)
        return TokenVectors(np.array(ids, np.uint16), vectors)

    def _word(self, word: str) -> NDArray[np.float64]:
        if word not in self._words:
            seeded = np.random.default_rng(zlib.crc32(word.encode()))
            self._words[word] = seeded.standard_normal(self.dim) if word else np.zeros(self.dim or 0)
        return self._words[word]


def _unit(row: NDArray[Any]) -> NDArray[np.float32]:
    norm = float(np.linalg.norm(row))
    return (row / norm if norm else row).astype(np.float32)


def _raised(found: list[TokenVectors]) -> Any:
    raise ValueError("a bug in foreign code")


CONTEXT_MISBEHAVIOURS: dict[str, Callable[[list[TokenVectors]], Any]] = {
    "ValueError": _raised,
    "None": lambda found: None,
    "too few": lambda found: found[1:],
    "no vectors": lambda found: [(one.ids, None) for one in found],
    "fewer vectors": lambda found: [TokenVectors(one.ids, one.vectors[1:]) for one in found],
    "another dimension": lambda found: [TokenVectors(one.ids, one.vectors[:, 1:]) for one in found],
    "signed ids": lambda found: [(one.ids.astype(np.int64), one.vectors) for one in found],
    "lists": lambda found: [(one.ids.tolist(), one.vectors.tolist()) for one in found],
}
