"""Cosine scores: exact below the limit, near enough above, and never a trace of rows that do not count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest, VectorSpaceMismatch
from memhop.index import vectors
from memhop.index.vectors import VectorIndex, sign_plane

Vectors = NDArray[np.float32]


def unit_rows(rows: Any) -> Vectors:
    matrix = np.asarray(rows, np.float32)
    normed: Vectors = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return normed


def power_law(count: int, dim: int, seed: int) -> Vectors:
    """Unit vectors whose spectrum falls off as those of text embeddings do, in a random basis."""
    random = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(random.standard_normal((dim, dim)))
    rows = random.standard_normal((count, dim)) * np.arange(1, dim + 1) ** -0.5
    return unit_rows(rows @ basis)


def identity(owners: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Owner n is unit n - 1."""
    return owners.astype(np.int64) - 1


def owners_of(*ids: int) -> NDArray[np.uint64]:
    return np.array(ids, np.uint64)


steps = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 5), st.lists(st.integers(1, 6), min_size=1, max_size=4)),
    st.tuples(st.just("drop"), st.integers(0, 5)),
)


@given(st.lists(steps, max_size=14), st.integers(0, 10_000), st.booleans())
@settings(max_examples=100, derandomize=True, deadline=None)
def test_it_is_the_last_slab_of_each_owner(script: list[tuple[Any, ...]], seed: int, signs: bool) -> None:
    random = np.random.default_rng(seed)
    index = VectorIndex(5)
    speaking: dict[int, tuple[int, list[Vectors]]] = {}  # owner -> (key, its rows)
    with pytest.MonkeyPatch.context() as patch:
        if signs:
            patch.setattr(vectors, "EXACT_LIMIT", 0)
        for version, step in enumerate(script):
            match step:
                case ("put", key, owners):
                    speaking = {owner: rows for owner, rows in speaking.items() if rows[0] != key}
                    matrix = unit_rows(random.standard_normal((len(owners), 5)))
                    index.put(key, owners_of(*owners), matrix)
                    for owner in set(owners):
                        rows = [row for other, row in zip(owners, matrix, strict=True) if other == owner]
                        speaking[owner] = (key, rows)
                case ("drop", key):
                    had = any(rows[0] == key for rows in speaking.values())
                    assert index.drop(key) == had
                    speaking = {owner: rows for owner, rows in speaking.items() if rows[0] != key}
            query = unit_rows(random.standard_normal((1, 5)))[0]
            units, cosines = index.top(query * 3, 7, identity, version=version // 4)
            assert (units + 1).tolist() == sorted(speaking) == index.owners().tolist()
            assert index.contains(owners_of(*range(8))).tolist() == [owner in speaking for owner in range(8)]
            assert index.rows == sum(len(rows) for _, rows in speaking.values())
            expected = {owner: max(float(row @ query) for row in rows) for owner, (_, rows) in speaking.items()}
            assert cosines.tolist() == pytest.approx([expected[owner] for owner in sorted(expected)], abs=1e-5)
            nearest = sorted(sorted(expected, key=lambda owner: -expected[owner])[:2])
            assert (index.top(query, 2, identity, version=version // 4)[0] + 1).tolist() == nearest


@pytest.mark.parametrize("dim", [256, 384])
def test_sign_bits_lose_next_to_nothing(dim: int) -> None:
    rows = power_law(24_020, dim, seed=dim)
    stored, queries = rows[:24_000], rows[24_000:]
    index = VectorIndex(dim)
    for key in range(3):
        part = slice(key * 8000, (key + 1) * 8000)
        index.put(key, np.arange(1, 24_001, dtype=np.uint64)[part], stored[part])
    recalls = []
    for query in queries:
        found, cosines = index.top(query, 20, identity, version=1)
        exact = stored @ query
        best = set(np.argsort(-exact)[:20].tolist())
        recalls.append(len(best & set(found.tolist())) / 20)
        np.testing.assert_allclose(cosines, exact[found], atol=1e-5)
        assert len(found) == 20
    assert np.mean(recalls) >= 0.98


def test_a_filter_comes_before_the_exact_look() -> None:
    """With few units eligible, all of them are scored exactly, however far they are from the query."""
    rows = power_law(21_001, 64, seed=2)
    index = VectorIndex(64)
    index.put(1, np.arange(1, 21_001, dtype=np.uint64), rows[:21_000])
    exact = rows[:21_000] @ rows[21_000]
    where = np.zeros(21_000, np.bool_)
    where[np.argsort(exact)[:50]] = True
    units, cosines = index.top(rows[21_000], 200, identity, version=1, where=where)
    assert units.tolist() == np.flatnonzero(where).tolist()
    np.testing.assert_allclose(cosines, exact[where], atol=1e-5)


def test_a_large_slab_is_kept_in_place_and_small_ones_are_gathered() -> None:
    index = VectorIndex(4)
    large = unit_rows(np.random.default_rng(0).standard_normal((100, 4)))
    index.put(1, np.arange(1, 101, dtype=np.uint64), large)
    for key in range(2, 502):
        index.put(key, owners_of(key + 1000), large[:1])
    blocks = list(index._slabs)
    assert blocks[0].payload.rows is large
    assert len(blocks) <= 11
    assert index.rows == 600


def test_the_mapping_of_owners_is_asked_for_once_per_version() -> None:
    index = VectorIndex(2)
    index.put(1, owners_of(1, 2), unit_rows([[1, 0], [0, 1]]))
    calls: list[int] = []

    def ordinals_of(owners: NDArray[np.uint64]) -> NDArray[np.int64]:
        calls.append(len(owners))
        return identity(owners) if len(calls) < 2 else np.full(len(owners), -1, np.int64)

    query = np.array([1, 0], np.float32)
    for _ in range(3):
        assert index.top(query, 5, ordinals_of, version=1)[0].tolist() == [0, 1]
    assert calls == [2]
    assert index.top(query, 5, ordinals_of, version=2)[0].tolist() == []


def test_equal_rows_score_equally() -> None:
    index = VectorIndex(3)
    row = unit_rows([[1, 2, 3]])
    for key in range(1, 70):
        index.put(key, owners_of(key), row)
    units, cosines = index.top(row[0], 69, identity, version=1)
    assert len(units) == 69
    assert len(set(cosines.tolist())) == 1
    assert index.top(row[0], 3, identity, version=1)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "row", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 0.0], [2.0, 0.0], [0.99, 0.0], [3e38, 3e38], [1e-30, 0.0]]
)
def test_a_row_that_is_no_direction_is_refused(row: list[float]) -> None:
    """Zero and NaN vectors made scores NaN, and the order of everything undefined."""
    index = VectorIndex(2)
    with pytest.raises(InvalidRequest, match="row 1"):
        index.put(1, owners_of(1, 2), np.array([[1.0, 0.0], row], np.float32))
    assert index.rows == 0


@pytest.mark.parametrize("query", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_query_without_direction_is_refused(query: list[float]) -> None:
    with pytest.raises(InvalidRequest, match="query"):
        VectorIndex(2).top(np.array(query, np.float32), 1, identity, version=1)


def test_another_dimension_is_a_mismatch() -> None:
    index = VectorIndex(2)
    with pytest.raises(VectorSpaceMismatch):
        index.put(1, owners_of(1), unit_rows([[1, 2, 3]]))
    with pytest.raises(VectorSpaceMismatch):
        index.top(np.ones(3, np.float32), 1, identity, version=1)
    with pytest.raises(InvalidRequest):
        index.put(1, owners_of(1, 2), unit_rows([[1, 2]]))
    with pytest.raises(InvalidRequest):
        VectorIndex(0)


def test_an_empty_index_has_nothing_near() -> None:
    units, cosines = VectorIndex(2).top(np.ones(2, np.float32), 3, identity, version=1)
    assert (units.tolist(), cosines.tolist()) == ([], [])


@pytest.mark.parametrize("dim", [1, 63, 64, 65, 200])
def test_the_sign_plane_counts_differing_signs(dim: int) -> None:
    matrix = np.random.default_rng(dim).standard_normal((9, dim)).astype(np.float32)
    plane = sign_plane(matrix)
    assert plane.shape == (-(-dim // 64), 9)
    for left in range(9):
        for right in range(9):
            differing = int(np.bitwise_count(plane[:, left] ^ plane[:, right]).sum())
            assert differing == int(np.count_nonzero((matrix[left] > 0) != (matrix[right] > 0)))


def test_the_mean_is_where_rows_of_units_point_together() -> None:
    index = VectorIndex(2)
    index.put(1, owners_of(1, 1, 2), unit_rows([[1, 0], [0, 1], [0, 1]]))
    index.put(2, owners_of(3, 4), unit_rows([[1, 0], [-1, 0]]))

    def mean(*units: int) -> list[float] | None:
        found = index.mean(np.array(units, np.int64), identity, version=0)
        return None if found is None else found.tolist()

    assert mean(0) == pytest.approx([0.5**0.5, 0.5**0.5])
    assert mean(2, 0, 1, 0) == pytest.approx([0.5**0.5, 0.5**0.5])  # each unit once, in whatever order
    assert mean(1) == pytest.approx([0, 1])
    assert mean(2, 3) is None  # they cancel out
    assert mean(7) is None
    assert mean() is None
    index.put(3, owners_of(1), unit_rows([[1, 0]]))
    assert mean(0) == pytest.approx([1, 0])  # the slab that was put last speaks
