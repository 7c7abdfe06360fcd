"""What the engine is measured against: plain ways to find a text.

    Grep           how many distinct words of the question a text contains
    Fts5           SQLite's full-text index, porter stemming unless told otherwise, the words of the question OR-ed
    Fts5Trigram    the same over runs of three characters
    Bm25s          the bm25s library, defaults, English stop words and Snowball stems
    Bm25sTuned     the same with constants for short texts and a longer stop list
    Bm25sJieba     the same over the words jieba cuts, for texts without spaces
    EmbedderAlone  cosine of one vector per text and one per question

Each ranks the texts of one haystack for one question. It builds an index per haystack, not per
question: it keeps that of the texts it was given last, compared by identity, so ask every question
of a haystack before the next one.

Of a conversation all read the same, `Speaker: what was said [shares caption]`. Equal scores keep the
order of the texts, and a text that matches nothing is not returned (EmbedderAlone returns k texts
always).
"""

import re
import sqlite3
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, Protocol, TypeVar

import bm25s
import numpy as np
import numpy.typing as npt
import Stemmer
from bm25s.stopwords import STOPWORDS_EN_PLUS

from benches.locomo_data import Turn

Float32Array = npt.NDArray[np.float32]
Index = TypeVar("Index")

_WORD = re.compile(r"\w+")


class Embed(Protocol):
    """Texts to float32 vectors of shape (n, dim); `query` tells questions from turns."""

    def __call__(self, texts: Sequence[str], query: bool) -> Float32Array:
        """One row per text, in order."""
        ...


def indexed_text(turn: Turn) -> str:
    """What every baseline reads of a turn."""
    return f"{turn.speaker}: {turn.text}"


def words(text: str) -> list[str]:
    """The casefolded runs of letters, digits and underscores in `text`, in order, repeats kept."""
    return _WORD.findall(text.casefold())


class Baseline(ABC, Generic[Index]):
    """A way to rank texts; holds the index of the haystack asked last. Tables print `name`."""

    name: str

    def __init__(self) -> None:
        self._held: tuple[Sequence[str], Index] | None = None
        self._read: tuple[Sequence[Turn], list[str]] | None = None

    def rank(self, turns: Sequence[Turn], question_text: str, k: int) -> list[str]:
        """The turns that bear on a question, best first.

        Args:
            turns: One conversation. Its index is built on first sight and kept until other turns
                come: the sequence must not change meanwhile.
            question_text: Any text. Without a word in it nothing matches.
            k: At most this many, >= 1.

        Returns:
            Turn ids, none twice; fewer than k when fewer match.

        Raises:
            ValueError: k < 1.
        """
        if self._read is None or self._read[0] is not turns:
            self._read = (turns, [indexed_text(turn) for turn in turns])
        return [turns[row].dia_id for row in self.rows(self._read[1], question_text, k)]

    def rows(self, texts: Sequence[str], question_text: str, k: int) -> list[int]:
        """As `rank`, over any texts: places in `texts`, best first."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        if not texts:
            return []
        if self._held is None or self._held[0] is not texts:
            self._held = (texts, self._build(list(texts)))
        return self._rows(self._held[1], question_text, min(k, len(texts)))

    @abstractmethod
    def _build(self, texts: list[str]) -> Index:
        """The index over `texts`, which is not empty; row i is texts[i]."""

    @abstractmethod
    def _rows(self, index: Index, question_text: str, k: int) -> list[int]:
        """The best rows, best first; 1 <= k <= number of texts."""


class Grep(Baseline[list[frozenset[str]]]):
    """Score: how many distinct words of the question the turn contains."""

    name = "grep"

    def _build(self, texts: list[str]) -> list[frozenset[str]]:
        return [frozenset(words(text)) for text in texts]

    def _rows(self, index: list[frozenset[str]], question_text: str, k: int) -> list[int]:
        asked = set(words(question_text))
        return _best_positive([float(len(asked & contained)) for contained in index], k)


class Fts5(Baseline[sqlite3.Connection]):
    """SQLite FTS5, any word of the question, ordered by its bm25()."""

    def __init__(self, tokenizer: str = "porter unicode61") -> None:
        """`tokenizer`: as FTS5 takes it."""
        super().__init__()
        self._tokenizer = tokenizer
        self.name = f"SQLite FTS5 {tokenizer.split()[0]}, OR"

    def _build(self, texts: list[str]) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:")
        weakref.finalize(self, connection.close)
        connection.execute(f"CREATE VIRTUAL TABLE turn USING fts5(text, tokenize = '{self._tokenizer}')")
        connection.executemany("INSERT INTO turn (rowid, text) VALUES (?, ?)", enumerate(texts))
        return connection

    def _rows(self, index: sqlite3.Connection, question_text: str, k: int) -> list[int]:
        # Every word is quoted: bare, "not" and "near" would be read as operators.
        match = " OR ".join(f'"{term}"' for term in dict.fromkeys(self._terms(question_text)))
        if not match:
            return []
        query = "SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY bm25(turn), rowid LIMIT ?"
        with closing(index.execute(query, (match, k))) as rows:
            return [int(row) for (row,) in rows]

    def _terms(self, question_text: str) -> list[str]:
        return words(question_text)


class Fts5Trigram(Fts5):
    """SQLite FTS5 over runs of three characters; the question's runs inside its words, OR-ed.

    A word of fewer than three characters, half of all Chinese words, cannot be asked for.
    """

    def __init__(self) -> None:
        super().__init__("trigram")

    def _terms(self, question_text: str) -> list[str]:
        return [word[start : start + 3] for word in words(question_text) for start in range(len(word) - 2)]


class Bm25s(Baseline[Any]):
    """The bm25s library with its defaults."""

    name = "bm25s, defaults"
    constants: Mapping[str, float] = {}
    stop_words: str | list[str] = "en"

    def __init__(self) -> None:
        super().__init__()
        self._stemmer = Stemmer.Stemmer("english")

    def _build(self, texts: list[str]) -> Any:
        retriever = bm25s.BM25(**self.constants)
        retriever.index(self._tokenize(texts), show_progress=False)
        return retriever

    def _rows(self, index: Any, question_text: str, k: int) -> list[int]:
        terms = self._tokenize([question_text], ids=False)[0]
        if not terms:
            return []
        return _best_positive(index.get_scores(terms).tolist(), k)

    def _tokenize(self, texts: list[str], *, ids: bool = True) -> Any:
        return bm25s.tokenize(
            texts,
            stopwords=self.stop_words,
            stemmer=self._stemmer,
            return_ids=ids,
            show_progress=False,
        )


class Bm25sTuned(Bm25s):
    """The bm25s library as one would set it for short texts."""

    name = "bm25s, tuned"
    constants: Mapping[str, float] = {"k1": 0.9, "b": 0.4}
    stop_words: str | list[str] = list(STOPWORDS_EN_PLUS)


class Bm25sJieba(Bm25sTuned):
    """The tuned library over jieba's words, Latin ones stemmed."""

    name = "bm25s, tuned, jieba words"

    def _tokenize(self, texts: list[str], *, ids: bool = True) -> Any:
        import jieba

        jieba.setLogLevel("ERROR")
        cut = [[word for part in jieba.cut(text.casefold()) for word in words(part)] for text in texts]
        return [self._stemmer.stemWords([word for word in found if word not in self.stop_words]) for found in cut]


class EmbedderAlone(Baseline[Float32Array]):
    """Cosine of turn and question vectors. A zero vector has cosine 0 with everything."""

    def __init__(self, embed: Embed, name: str = "embedder alone") -> None:
        """Rank by `embed`; `rank` raises ValueError when it returns another number of rows."""
        super().__init__()
        self._embed = embed
        self.name = name

    def _build(self, texts: list[str]) -> Float32Array:
        return self._unit(texts, query=False)

    def _rows(self, index: Float32Array, question_text: str, k: int) -> list[int]:
        cosine = index @ self._unit([question_text], query=True)[0]
        return [int(row) for row in np.argsort(-cosine, kind="stable")[:k]]

    def _unit(self, texts: list[str], *, query: bool) -> Float32Array:
        vectors = np.asarray(self._embed(texts, query), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ValueError(f"{len(texts)} texts gave vectors of shape {vectors.shape}")
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Float32Array = (vectors / np.where(length > 0, length, 1)).astype(np.float32)
        return unit


def _best_positive(scores: Sequence[float], k: int) -> list[int]:
    """Rows with a positive score, best first, earlier first among equals, at most k."""
    matching = (row for row, score in enumerate(scores) if score > 0)
    return sorted(matching, key=lambda row: -scores[row])[:k]
