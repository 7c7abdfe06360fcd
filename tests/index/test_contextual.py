"""Late interaction with token vectors equals its definition, rounding apart; the last slab of an owner speaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.contextual import ContextIndex, decode_rows, encode_rows, fit_basis
from memhop.index.slabs import SMALL

DIM = 12


def unit_rows(count: int, seed: int, dim: int = DIM) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def identity(owners: NDArray[np.uint64]) -> NDArray[np.int64]:
    return owners.astype(np.int64) - 1


def put(
    index: ContextIndex, key: int, rows: dict[int, NDArray[np.float32]], basis: NDArray[np.float32] | None = None
) -> None:
    """A slab of these units' token vectors; the id of a token is its place in the unit."""
    vectors = np.concatenate([np.zeros((0, DIM), np.float32), *rows.values()])
    tokens = np.concatenate([np.zeros(0, np.uint16), *(np.arange(len(row), dtype=np.uint16) for row in rows.values())])
    offsets = np.cumsum([0, *map(len, rows.values())])
    owners = np.array(list(rows), np.uint64)
    index.put(key, owners, offsets, tokens.astype(np.uint16), encode_rows(vectors, basis), basis)


def defined(asked: NDArray[np.float32], units: list[NDArray[np.float32] | None]) -> list[list[float]]:
    return [[float((row @ unit.T).max()) if unit is not None and len(unit) else 0.0 for unit in units] for row in asked]


class TestRows:
    def test_a_row_survives_in_a_byte_per_number(self) -> None:
        rows = unit_rows(200, 1)
        back = decode_rows(encode_rows(rows, None), None)
        assert np.vecdot(rows, back).min() > 0.9995

    def test_directions_in_which_the_rows_lie_lose_nothing_more(self) -> None:
        basis = np.linalg.qr(unit_rows(4, 2).T)[0].T.astype(np.float32)
        rows = unit_rows(100, 3, dim=4) @ basis
        assert np.vecdot(rows, decode_rows(encode_rows(rows, basis), basis)).min() > 0.9995

    def test_no_direction_stays_none(self) -> None:
        rows = np.zeros((2, DIM), np.float32)
        assert not encode_rows(rows, None).any()
        assert not decode_rows(np.zeros((2, DIM), np.int8), None).any()
        outside = np.eye(DIM, dtype=np.float32)[1:2]
        assert not encode_rows(outside, np.eye(1, DIM, dtype=np.float32)).any()
        assert encode_rows(rows[:0], None).shape == (0, DIM)


class TestBasis:
    def test_it_finds_the_plane_the_rows_lie_in(self) -> None:
        plane = np.linalg.qr(unit_rows(3, 5).T)[0].T
        rows = (unit_rows(50, 6, dim=3) @ plane).astype(np.float32)
        basis = fit_basis(rows, 3)
        assert np.allclose(basis @ basis.T, np.eye(3), atol=1e-5)
        assert np.allclose((rows @ basis.T) @ basis, rows, atol=1e-5)

    def test_the_main_directions_come_first_and_the_same_rows_give_the_same(self) -> None:
        rows = unit_rows(300, 7) * np.linspace(1, 3, DIM, dtype=np.float32)
        basis = fit_basis(rows, DIM)
        spread = np.square(rows @ basis.T).sum(axis=0)
        assert (np.diff(spread) <= 1e-3).all()
        assert np.array_equal(basis, fit_basis(rows.copy(), DIM))


slab = st.dictionaries(st.integers(1, 6), st.integers(0, 4), max_size=6)
steps = st.lists(st.tuples(st.sampled_from(["put", "drop"]), st.integers(0, 3), st.booleans(), slab), max_size=8)


@given(steps, st.integers(0, 3))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_the_slab_put_last_speaks_for_its_owners(steps: list[tuple[str, int, bool, dict[int, int]]], q: int) -> None:
    """Slabs of several bases, joined or not, against a plain dict."""
    basis = np.ascontiguousarray(np.linalg.qr(unit_rows(DIM, 8).T)[0].T[:DIM], np.float32)  # turns, loses nothing
    index = ContextIndex()
    slabs: dict[int, dict[int, NDArray[np.float32]]] = {}
    speaking: dict[int, int] = {}  # owner -> key
    for number, (step, key, on_basis, sizes) in enumerate(steps):
        for owner in [owner for owner, at in speaking.items() if at == key]:
            del speaking[owner]
        slabs.pop(key, None)
        if step == "put":
            rows = {owner: unit_rows(size, 100 * number + owner) for owner, size in sizes.items()}
            put(index, key, rows, basis if on_basis else None)
            slabs[key] = rows
            speaking.update(dict.fromkeys(rows, key))
        else:
            index.drop(key)
    asked = unit_rows(q, 9)
    units = [slabs[speaking[owner]][owner] if owner in speaking else None for owner in range(1, 8)]
    found = index.best_similarities(asked, np.arange(7), identity, 7, version=1)
    assert found.shape == (q, 7)
    assert np.allclose(found, np.array(defined(asked, units)).reshape(q, 7), atol=0.02)
    assert sorted(owner for owner, _ in index.contents()) == sorted(speaking) == index.owners().tolist()
    assert index.contains(np.arange(1, 8, dtype=np.uint64)).tolist() == [unit is not None for unit in units]
    holders = sum(1 for unit in units if unit is not None and len(unit) > 1)
    assert index.idf(np.array([1]))[0] == pytest.approx(np.log1p((len(speaking) - holders + 0.5) / (holders + 0.5)))


def test_candidates_in_any_number_and_slabs_in_place() -> None:
    """More tokens than fit one matrix product, in slabs large enough to be used in place."""
    units = {owner: unit_rows(9, owner) for owner in range(1, 4 * SMALL + 1)}
    index = ContextIndex()
    owners = list(units)
    for key in range(4):
        put(index, key, {owner: units[owner] for owner in owners[key::4]})
    asked = unit_rows(300, 0)
    chosen = np.array([0, 5, 6, 7, 3 * SMALL, 4 * SMALL - 1])
    found = index.best_similarities(asked, chosen, identity, len(units), version=1)
    assert np.allclose(found, defined(asked, [units[place + 1] for place in chosen.tolist()]), atol=0.02)
    everyone = index.best_similarities(asked, np.arange(len(units)), identity, len(units), version=1)
    assert np.allclose(everyone[:, chosen], found, atol=1e-6)


@pytest.mark.parametrize("dim", [DIM, 384, 2_000])
def test_where_a_unit_stands_does_not_show(dim: int) -> None:
    """A matrix product adds in an order that depends on the place of a row: the last digit of a score differed between
    a running and a rebuilt index."""
    rows = unit_rows(9, 1, dim)
    asked = unit_rows(7, 2, dim)
    seen = set()
    for others in range(0, 40, 3):
        index = ContextIndex()
        codes = encode_rows(np.concatenate([unit_rows(others, 3, dim), rows]), None)
        tokens = np.arange(len(codes), dtype=np.uint16)
        index.put(1, np.array([1, 2], np.uint64), np.array([0, others, others + 9]), tokens, codes, None)
        found = index.best_similarities(asked, np.arange(2), identity, 2, version=1)
        seen.add(found[:, 1].tobytes())
        assert np.allclose(found[:, 1], (asked @ rows.T).max(axis=1), atol=0.03)
    assert len(seen) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"codes": np.zeros((2, DIM), np.int8)},
        {"codes": np.zeros((3, DIM), np.float32)},
        {"codes": np.zeros(3, np.int8)},
        {"offsets": np.array([0, 2])},
        {"owners": np.array([1, 1], np.uint64), "offsets": np.array([0, 1, 3])},
        {"basis": np.zeros((DIM + 1, 40), np.float32)},
    ],
)
def test_what_does_not_fit_changes_nothing(change: dict[str, Any]) -> None:
    index = ContextIndex()
    put(index, 1, {1: unit_rows(3, 1)})
    before = list(index.contents())
    arguments: dict[str, Any] = {
        "owners": np.array([1], np.uint64),
        "offsets": np.array([0, 3]),
        "tokens": np.zeros(3, np.uint16),
        "codes": np.zeros((3, DIM), np.int8),
        "basis": None,
    }
    with pytest.raises(InvalidRequest):
        index.put(1, **(arguments | change))
    assert list(index.contents()) == before
    with pytest.raises(InvalidRequest, match="asked"):
        index.best_similarities(unit_rows(1, 1, dim=5), np.arange(1), identity, 1, version=1)
