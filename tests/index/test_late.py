"""Late interaction equals its definition, and the token index is the last slab of each owner."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.late import TokenIndex, best_similarities

VOCABULARY = 12


def table() -> NDArray[np.float32]:
    rows = np.random.default_rng(0).standard_normal((VOCABULARY, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[3] = 0
    return rows


def csr(rows: list[list[int]], width: str = "u2") -> tuple[NDArray[np.uint64], NDArray[Any]]:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    return offsets, np.array([token for row in rows for token in row], width)


def identity(owners: NDArray[np.uint64]) -> NDArray[np.int64]:
    return owners.astype(np.int64) - 1


token_lists = st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=5), max_size=6)


@given(st.lists(st.integers(0, VOCABULARY - 1), max_size=4), token_lists)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_it_is_the_maximum_per_query_token(query: list[int], units: list[list[int]]) -> None:
    vectors = table()
    asked = np.array(query, np.int64)
    similarity = best_similarities(asked, vectors, *csr(units))
    assert similarity.shape == (len(query), len(units))
    for row, token in enumerate(query):
        for column, unit in enumerate(units):
            expected = max((float(vectors[token] @ vectors[other]) for other in unit), default=0.0)
            assert similarity[row, column] == pytest.approx(expected, abs=1e-6)


def test_tokens_outside_of_the_table_are_refused() -> None:
    for query, unit in (([VOCABULARY], [1]), ([1], [VOCABULARY]), ([-1], [1])):
        with pytest.raises(InvalidRequest, match="tokens"):
            best_similarities(np.array(query), table(), *csr([unit]))


steps = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 4), st.dictionaries(st.integers(1, 6), st.lists(st.integers(0, 9)))),
    st.tuples(st.just("drop"), st.integers(0, 4)),
)


@given(st.lists(steps, max_size=14))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_it_is_the_last_slab_of_each_owner(script: list[tuple[Any, ...]]) -> None:
    index = TokenIndex()
    model: dict[int, tuple[int, list[int]]] = {}
    for version, step in enumerate(script):
        key = step[1]
        model = {owner: row for owner, row in model.items() if row[0] != key}
        if step[0] == "put":
            index.put(key, np.array(list(step[2]), np.uint64), *csr(list(step[2].values())))
            model |= {owner: (key, sorted(set(tokens))) for owner, tokens in step[2].items()}
        else:
            index.drop(key)
        assert index.owners().tolist() == sorted(model)
        ordinals = np.array([5, 0, 3, 1, 2], np.int64)
        offsets, tokens = index.rows(ordinals, identity, 6, version=version // 4)
        rows = [tokens[int(begin) : int(end)].tolist() for begin, end in pairwise(offsets)]
        assert rows == [model.get(ordinal + 1, (0, []))[1] for ordinal in ordinals.tolist()]
        asked = np.arange(-1, 12)
        frequency = [sum(token in row for _, row in model.values()) for token in asked.tolist()]
        assert index.document_frequency(asked).tolist() == frequency
        expected = [math.log(1 + (len(model) - count + 0.5) / (count + 0.5)) for count in frequency]
        np.testing.assert_allclose(index.idf(asked), expected, rtol=1e-5)


def test_rows_in_order_are_kept_in_place() -> None:
    index = TokenIndex()
    rows = [[number, number + 1] for number in range(100)]
    offsets, tokens = csr(rows, "u4")
    index.put(1, np.arange(1, 101, dtype=np.uint64), offsets, tokens)
    block = next(iter(index._slabs))
    assert block.payload.tokens is tokens


@pytest.mark.parametrize(
    ("owners", "offsets", "tokens", "field"),
    [
        ([1], [0, 1], np.array([1], np.int64), "tokens"),
        ([1], [0, 2], np.array([1], np.uint16), "offsets"),
        ([1], [1, 1], np.array([1], np.uint16), "offsets"),
        ([1, 2], [0, 1], np.array([1], np.uint16), "offsets"),
        ([1, 2, 3], [0, 2, 1, 2], np.array([1, 2], np.uint16), "offsets"),
        ([1, 1], [0, 1, 2], np.array([1, 2], np.uint16), "owners"),
    ],
)
def test_slabs_that_do_not_fit_are_refused(owners: list[int], offsets: list[int], tokens: Any, field: str) -> None:
    index = TokenIndex()
    with pytest.raises(InvalidRequest) as caught:
        index.put(1, np.array(owners, np.uint64), np.array(offsets, np.uint64), tokens)
    assert caught.value.field == field
    assert len(index.owners()) == 0
