"""A set of owners is a set, however it was put together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memhop.index.owners import Owners
from memhop.index.slabs import Block
from memhop.index.vectors import VectorIndex

batches = st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 12), min_size=0, max_size=6)), max_size=12)


@given(batches)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_it_is_a_set(script: list[tuple[bool, set[int]]]) -> None:
    owners, model = Owners(), set[int]()
    for adding, ids in script:
        given = np.array(sorted(ids), np.uint64)
        if adding:
            owners.add(given)
            model |= ids
        else:
            owners.remove(given)
            model -= ids
        assert owners.all().tolist() == sorted(model)
        assert len(owners) == len(model)
        asked = np.arange(13, dtype=np.uint64)[::-1]
        assert owners.contains(asked).tolist() == [id_ in model for id_ in asked.tolist()]


def test_few_arrays_hold_many_batches() -> None:
    owners = Owners()
    for number in range(500):
        owners.add(np.array([number * 7919 % 1009], np.uint64))
    assert len(owners._runs) <= math.log2(500) + 1


def test_a_slab_of_new_owners_looks_into_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every slab put walked through the rows of all before it, so that filling a memory took time with its square."""
    looked: list[int] = []
    rows_of = Block.rows_of

    def counting(self: Block[Any], owners: NDArray[np.uint64]) -> NDArray[np.int64]:
        looked.append(len(owners))
        found: NDArray[np.int64] = rows_of(self, owners)
        return found

    monkeypatch.setattr(Block, "rows_of", counting)
    index = VectorIndex(2)
    rows = np.tile(np.array([[1.0, 0.0]], np.float32), (100, 1))
    for slab in range(20):
        index.put(slab, np.arange(slab * 100, slab * 100 + 100, dtype=np.uint64), rows)
    assert looked == []
    index.put(20, np.array([150], np.uint64), rows[:1])
    assert looked == [1] * 20, "the owner that had a row is looked for"
    assert index.rows == 2_000
