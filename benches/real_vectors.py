"""Vectors of real sentences, for benches in which it matters where vectors lie.

Random vectors flatter or punish an approximate search: no two of them are close. So real sentences are embedded by a
real model: those of the documentation strings of Python's standard library, some 13,000, which every machine has. Some
are held out as queries. Where more rows are wanted than there are sentences, the rest are mixtures of a sentence's
vector with one of its two nearest neighbours, in shares of 30 to 70 %, scaled to unit length: new points between real
ones. What was done is said in `Vectors.about`.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memhop.models.embed import Embedder

SEED: Final = 20_261_202
_LEFT_OUT: Final = frozenset({"site-packages", "test", "tests", "idlelib", "lib2to3"})
_LEAST_WORDS, _MOST_WORDS = 5, 40
_PLAIN: Final = 0.7  # of a sentence's words are letters only: else it is code or a table
_BLOCK: Final = 2_048


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit rows, float32."""

    base: NDArray[np.float32]
    queries: NDArray[np.float32]
    about: str
    """Which model, how many real rows, how many mixtures."""


def real_vectors(rows: NDArray[np.float32], model: str, count: int, queries: int) -> Vectors:
    """`count` rows to search in and `queries` to search for, out of the vectors of real texts.

    Args:
        rows: Unit rows of distinct texts, more than 2 * `queries`.
        model: Their model's name.

    Cost: about 2 s for 13,000 rows of 384 dimensions.
    """
    chance = np.random.default_rng(SEED)
    order = chance.permutation(len(rows))
    asked, real = rows[order[:queries]], rows[order[queries:]][:count]
    base = np.empty((count, rows.shape[1]), np.float32)
    base[: len(real)] = real
    missing = count - len(real)
    if missing:
        nearest = _nearest_two(real)
        first = chance.integers(0, len(real), missing)
        second = nearest[first, chance.integers(0, 2, missing)]
        share = chance.uniform(0.3, 0.7, (missing, 1)).astype(np.float32)
        mixed = share * real[first] + (1 - share) * real[second]
        base[len(real) :] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        base = base[chance.permutation(count)]
    about = f"{model}, {rows.shape[1]} dimensions: {len(real):,} real sentences"
    return Vectors(base, asked, about + (f" and {missing:,} mixtures of two neighbouring ones" if missing else ""))


def embedded(texts: Sequence[str], embedder: Embedder, cache: Path) -> NDArray[np.float32]:
    """The vectors of the texts, rows of zeros left out. Kept in the folder `cache`, and taken from there again.

    Cost: with MiniLM on one core about 3 ms a sentence.
    """
    key = hashlib.sha256("\n".join([embedder.name, embedder.digest, *texts]).encode()).hexdigest()[:16]
    path = cache / f"{key}.npy"
    if path.exists():
        kept: NDArray[np.float32] = np.load(path, allow_pickle=False)
        return kept
    parts = [
        embedder.embed(texts[start : start + embedder.max_batch]) for start in range(0, len(texts), embedder.max_batch)
    ]
    rows = np.concatenate(parts)
    rows = rows[np.any(rows != 0, axis=1)]
    cache.mkdir(parents=True, exist_ok=True)
    np.save(path, rows)
    return rows


def sentences(root: Path | None = None) -> list[str]:
    """The distinct sentences of the documentation strings below `root`, in order of files. None: the standard library.

    Cost: about 7 s for the standard library.
    """
    return list(dict.fromkeys(_sentences(root or Path(sysconfig.get_paths()["stdlib"]))))


def _sentences(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*.py")):
        if _LEFT_OUT.intersection(path.relative_to(root).parts):
            continue
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, ValueError):  # templates, and files in old encodings
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                    for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())):
                        words = sentence.split()
                        plain = sum(word.isalpha() for word in words)
                        if _LEAST_WORDS <= len(words) <= _MOST_WORDS and plain >= _PLAIN * len(words):
                            yield sentence


def _nearest_two(rows: NDArray[np.float32]) -> NDArray[np.int64]:
    """The two nearest other rows of each row."""
    found = np.empty((len(rows), 2), np.int64)
    for start in range(0, len(rows), _BLOCK):
        cosines = rows[start : start + _BLOCK] @ rows.T
        own = np.arange(len(cosines))
        cosines[own, start + own] = -np.inf
        found[start : start + _BLOCK] = np.argpartition(-cosines, 2, axis=1)[:, :2]
    return found
