"""Engines that find the nearest vectors, one thread each, behind one small interface.

All get the same unit rows and look for the greatest inner product, which is the cosine. The graphs are built with the
settings their makers recommend, and asked with a beam that gives them a fair recall.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

TOP: Final = 20
SLAB: Final = 1_000  # rows that a memory writes at once
Matrix = NDArray[np.float32]
Search = Callable[[Matrix], NDArray[np.int64]]


class VectorPeer(NamedTuple):
    """`build(folder, base)` returns the search: a query to the places of its 20 nearest rows, best first."""

    name: str
    module: str
    build: Callable[[Path, Matrix], Search]
    most_rows: int | None = None
    """More are left out of a quick run: building takes too long. None: any number."""


def memhop_vectors(folder: Path, base: Matrix) -> Search:
    """Ours: the index behind the semantic channel, filled in slabs as a memory fills it."""
    from memhop.index.vectors import VectorIndex

    index = VectorIndex(base.shape[1])
    for start in range(0, len(base), SLAB):
        owners = np.arange(start, min(start + SLAB, len(base)), dtype=np.uint64)
        index.put(start + 1, owners, base[start : start + SLAB])

    def search(query: Matrix) -> NDArray[np.int64]:
        places, cosines = index.top(query, TOP, lambda owners: owners.astype(np.int64), version=0)
        return places[np.argsort(-cosines, kind="stable")]

    return search


def faiss_flat(folder: Path, base: Matrix) -> Search:
    """faiss, all rows compared."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    return lambda query: index.search(query[None, :], TOP)[1][0]


def usearch_exact(folder: Path, base: Matrix) -> Search:
    """usearch, all rows compared."""
    from usearch.compiled import MetricKind
    from usearch.index import search

    return lambda query: _places(search(base, query, TOP, MetricKind.IP, exact=True, threads=1).keys)


def usearch_hnsw(folder: Path, base: Matrix) -> Search:
    """usearch, its graph over int8 vectors, 60 of which are looked at exactly."""
    from usearch.index import Index

    index = Index(ndim=base.shape[1], metric="cos", dtype="i8", connectivity=16, expansion_add=128, expansion_search=64)
    index.add(np.arange(len(base)), base, threads=2)

    def look(query: Matrix) -> NDArray[np.int64]:
        near = _places(index.search(query, 3 * TOP, threads=1).keys)
        return near[np.argsort(-(base[near] @ query), kind="stable")[:TOP]]

    return look


def hnswlib_graph(folder: Path, base: Matrix) -> Search:
    """hnswlib, M = 16, ef = 64."""
    import hnswlib

    index = hnswlib.Index("ip", base.shape[1])
    index.init_index(max_elements=len(base), M=16, ef_construction=200, random_seed=1)
    index.add_items(base, num_threads=2)
    index.set_ef(64)
    return lambda query: _places(index.knn_query(query, TOP, num_threads=1)[0][0])


def sqlite_vec(folder: Path, base: Matrix) -> Search:
    """sqlite-vec's vec0 table, through apsw."""
    import apsw
    import sqlite_vec as extension

    connection = apsw.Connection(str(folder / f"vectors-{len(base)}.sqlite"))
    connection.enable_load_extension(True)
    connection.load_extension(extension.loadable_path())
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA cache_size=-512000")
    connection.execute(
        f"CREATE VIRTUAL TABLE rows USING vec0(row float[{base.shape[1]}])"
    )  # unit rows: L2 orders alike
    with connection:
        connection.executemany(
            "INSERT INTO rows (rowid, row) VALUES (?, ?)",
            ((place + 1, row.tobytes()) for place, row in enumerate(base)),
        )
    statement = f"SELECT rowid FROM rows WHERE row MATCH ? ORDER BY distance LIMIT {TOP}"

    def search(query: Matrix) -> NDArray[np.int64]:
        return np.array([place - 1 for (place,) in connection.execute(statement, (query.tobytes(),))], np.int64)

    return search


def nearest(base: Matrix, query: Matrix) -> NDArray[np.int64]:
    """The truth: all cosines, sorted."""
    return np.argsort(-(base @ query), kind="stable")[:TOP]


def _places(keys: Any) -> NDArray[np.int64]:
    return np.asarray(keys).astype(np.int64).reshape(-1)


MEMHOP: Final = "MemHop"
FAISS: Final = "faiss flat"

VECTOR_PEERS: Final = (
    VectorPeer(MEMHOP, "memhop", memhop_vectors),
    VectorPeer(FAISS, "faiss", faiss_flat),
    VectorPeer("usearch, exact", "usearch", usearch_exact),
    VectorPeer("usearch, HNSW i8 + 60 exact", "usearch", usearch_hnsw, 20_000),
    VectorPeer("hnswlib, M 16, ef 64", "hnswlib", hnswlib_graph, 20_000),
    VectorPeer("sqlite-vec", "sqlite_vec", sqlite_vec),
)
