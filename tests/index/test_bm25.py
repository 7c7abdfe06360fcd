"""BM25 equals its formula written out, however the index was sealed, merged and attached again."""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common.errors import InvalidRequest, StorageError
from memhop.index import bm25
from memhop.index.bm25 import Bm25Index
from memhop.index.parts import Part, Sections
from tests.index.mapped import frozen

VOCABULARY = ["a", "b", "c", "dé", "猫", "\ud800", "e" * 70]


def by_the_formula(
    units: Sequence[Sequence[str]], live: Sequence[bool], weights: Mapping[str, float], k1: float = 0.9, b: float = 0.4
) -> list[float]:
    counted = [unit for unit, alive in zip(units, live, strict=True) if alive and unit]
    mean = sum(map(len, counted)) / len(counted) if counted else 1.0
    scores = [0.0] * len(units)
    for term, weight in weights.items():
        frequency = sum(term in unit for unit in counted)
        idf = math.log(1 + (len(counted) - frequency + 0.5) / (frequency + 0.5))
        for ordinal, (unit, alive) in enumerate(zip(units, live, strict=True)):
            tf = unit.count(term)
            if alive and tf:
                scores[ordinal] += weight * idf * tf / (tf + k1 * (1 - b + b * len(unit) / mean))
    return scores


def scores(
    index: Bm25Index, weights: Mapping[str, float], live: np.ndarray[Any, np.dtype[np.bool_]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What the postings add up to; read whole, read near some units, and looked up, they say the same."""
    total = np.zeros(len(live))
    near = np.arange(len(live)) % 2 == 0
    for found in index.postings(list(weights), live):
        docs, tfs = found.read()
        strength = found.strength(docs, tfs)
        assert (np.diff(docs) > 0).all()
        assert found.frequency == len(docs) <= found.size
        assert [part.tolist() for part in found.read(near)] == [
            docs[docs % 2 == 0].tolist(),
            tfs[docs % 2 == 0].tolist(),
        ]
        one = np.zeros(len(live))
        one[docs] = strength
        alive = np.flatnonzero(live)
        assert found.at(alive).tolist() == one[alive].tolist()
        total += weights[found.term] * found.idf * one
    return total


class Store:
    """An index beside the plain lists it should agree with."""

    def __init__(self) -> None:
        self.index = Bm25Index()
        self.units: list[list[str]] = []
        self.live: list[bool] = []
        self.parts: list[tuple[int, Part]] = []

    def add(self, terms: list[str]) -> None:
        if terms:
            self.index.add(len(self.units), terms)
        self.units.append(terms)
        self.live.append(True)

    @property
    def mask(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.array(self.live, np.bool_)

    def seal(self, first_part: int) -> None:
        first_part = min(first_part, len(self.parts))
        if first_part < len(self.parts):
            start = self.parts[first_part][0]
        else:
            start = sum(len(part["lengths"]) for _, part in self.parts)
        self.parts[first_part:] = [(start, frozen(self.index.seal(first_part, self.mask)))]
        self.units[start:] = [unit for unit, alive in zip(self.units[start:], self.live[start:], strict=True) if alive]
        self.live[start:] = [True] * (len(self.units) - start)
        self.index.attach(self.parts)


units = st.lists(st.sampled_from(VOCABULARY), max_size=6)
steps = st.one_of(
    st.tuples(st.just("add"), units),
    st.tuples(st.just("add"), units),
    st.tuples(st.just("delete"), st.integers(0, 30)),
    st.tuples(st.just("seal"), st.integers(0, 3)),
)
queries = st.dictionaries(st.sampled_from([*VOCABULARY, "absent"]), st.floats(0.1, 3), max_size=4)


@given(st.lists(st.tuples(steps, queries), max_size=25))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_it_agrees_with_the_formula(script: list[tuple[Any, dict[str, float]]]) -> None:
    store = Store()
    for step, query in script:
        match step:
            case ("add", terms):
                store.add(terms)
            case ("delete", ordinal) if ordinal < len(store.live):
                store.live[ordinal] = False
            case ("seal", first):
                store.seal(first)
        expected = by_the_formula(store.units, store.live, query)
        np.testing.assert_allclose(scores(store.index, query, store.mask), expected, rtol=0, atol=1e-9)
        for term in query:
            expected_frequency = sum(term in unit for unit, alive in zip(store.units, store.live, strict=True) if alive)
            assert store.index.document_frequency(term, store.mask) == expected_frequency
        words = list(store.index.terms())
        assert len(words) == len(set(words))
        assert {term for unit, alive in zip(store.units, store.live, strict=True) if alive for term in unit} <= set(
            words
        )


def test_dead_units_do_not_count_in_the_statistics() -> None:
    store = Store()
    for terms in (["a", "b"], ["a"], ["b", "b", "c"]):
        store.add(terms)
    store.live[2] = False
    alone = Store()
    for terms in (["a", "b"], ["a"]):
        alone.add(terms)
    query = {"a": 1.0, "b": 1.0, "c": 1.0}
    np.testing.assert_array_equal(scores(store.index, query, store.mask)[:2], scores(alone.index, query, alone.mask))


def test_statistics_of_two_sets_of_units_are_not_mixed_up() -> None:
    """Both leave out one unit of three, so that the counts by which statistics are kept are the same."""
    index = Bm25Index()
    for ordinal, unit in enumerate((["a"], ["a", "b", "b", "b"], ["b"])):
        index.add(ordinal, unit)
    first, last = np.array([True, True, False]), np.array([False, True, True])
    (of_first,) = index.postings(["b"], first, of="first")
    (of_last,) = index.postings(["b"], last, of="last")
    assert (of_first.frequency, of_last.frequency) == (1, 2)
    units = [["a"], ["a", "b", "b", "b"], ["b"]]
    for found, live in ((of_first, first), (of_last, last)):
        docs, tfs = found.read()
        expected = by_the_formula(units, live.tolist(), {"b": 1.0})
        assert (found.idf * found.strength(docs, tfs)).tolist() == pytest.approx([expected[doc] for doc in docs])


def test_counts_past_the_limit_of_a_part_saturate() -> None:
    index = Bm25Index()
    index.add(0, ["a"] * 70_000 + ["b"])
    live = np.ones(1, np.bool_)
    before = scores(index, {"a": 1.0}, live)
    assert before[0] == pytest.approx(math.log(1 + 0.5 / 1.5) * 65_535 / (65_535 + 0.9))
    index.attach([(0, index.seal(0, live))])
    assert scores(index, {"a": 1.0}, live) == before
    assert index.lengths.tolist() == [70_001]


def test_terms_of_dead_units_go_when_their_part_is_merged() -> None:
    store = Store()
    store.add(["a", "b"])
    store.add(["b"])
    store.live[0] = False
    assert sorted(store.index.terms()) == ["a", "b"]
    store.seal(0)
    assert list(store.index.terms()) == ["b"]


def test_an_empty_index_answers() -> None:
    index = Bm25Index()
    none = np.zeros(0, np.bool_)
    assert scores(index, {"a": 1.0}, none).tolist() == []
    sections = index.seal(0, none)
    index.attach([(0, sections)])
    assert list(index.terms()) == []
    assert scores(index, {}, none).tolist() == []


def test_bad_arguments_are_named() -> None:
    index = Bm25Index()
    index.add(3, ["a"])
    live = np.ones(4, np.bool_)
    with pytest.raises(InvalidRequest, match="ordinal"):
        index.add(3, ["b"])
    with pytest.raises(InvalidRequest, match="live"):
        index.postings(["a"], live[:2])
    with pytest.raises(InvalidRequest, match="k1"):
        Bm25Index(k1=-1)
    with pytest.raises(InvalidRequest, match="b"):
        Bm25Index(b=1.5)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("docs", np.array([9, 9], np.uint32)),
        ("docs", np.array([0], np.uint32)),
        ("counts", np.array([1], np.uint8)),
        ("counts", np.array([1, 2], np.uint8)),
        ("counts", np.array([2**64 - 1, 3], np.uint64)),
        ("repeats", np.array([1], np.uint8)),
        ("hashes", np.array([1, 2], np.int64)),
        ("texts", np.array([1, 9], np.uint8)),
    ],
)
def test_sections_that_do_not_fit_are_refused(name: str, array: Any) -> None:
    index = Bm25Index()
    index.add(0, ["a", "b"])
    live = np.ones(1, np.bool_)
    index.attach([(0, {**index.seal(0, live), name: array})])
    with pytest.raises(StorageError):
        scores(index, {"a": 1.0, "b": 1.0}, live)


def test_parts_with_a_gap_are_refused() -> None:
    index = Bm25Index()
    index.add(0, ["a"])
    part = index.seal(0, np.ones(1, np.bool_))
    for first in (1, 2):
        index.attach([(first, part)] if first == 1 else [(0, part), (first, part)])
        with pytest.raises(StorageError):
            _ = index.lengths


def test_sealed_and_unsealed_scores_are_equal_to_the_last_bit() -> None:
    """Otherwise a checkpoint could change the order of two results."""
    random = np.random.default_rng(7)
    store = Store()
    for _ in range(300):
        store.add([f"w{rank}" for rank in random.integers(0, 20, size=random.integers(1, 9)).tolist()])
    query = {"w1": 1.0, "w2": 0.3, "w3": 0.7}
    before = scores(store.index, query, store.mask)
    store.seal(0)
    np.testing.assert_array_equal(scores(store.index, query, store.mask), before)


def last(steps: Generator[None, None, Sections]) -> Sections:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            found: Sections = stop.value
            return found


def test_units_beyond_a_block_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above 65,536 units postings of one part are stored in blocks, whose numbers begin anew; so are merged ones."""
    monkeypatch.setattr(bm25, "_SLICE", 1000)
    chance = random.Random(3)
    index = Bm25Index()
    weights = {"a": 1.0, "b": 2.0, "c": 1.0}
    for ordinal in range(0, 150_000, 10):
        index.add(ordinal, chance.choices("abc", [9, 3, 0.1], k=3))
    index.add(150_000, ["a"])
    live = np.ones(150_001, np.bool_)
    before = scores(index, weights, live)
    whole = index.seal(0, live)
    assert whole["docs"].dtype == np.uint16
    assert len(whole["counts"]) == 3 * len(whole["hashes"])
    index.attach([(0, frozen(whole))])
    assert scores(index, weights, live).tolist() == before.tolist()
    index.check(150_001)

    parts: list[tuple[int, Part]] = []
    for first in range(0, 150_000, 50_000):
        index.attach(parts)
        for ordinal in range(first, first + 50_000, 10):
            index.add(ordinal, ["a", "b"] if ordinal % 30 else ["a", "a"])
        parts.append((first, frozen(index.seal(len(parts), np.ones(first + 50_000, np.bool_)))))
    index.attach(parts)
    live = np.ones(150_000, np.bool_)
    before = scores(index, weights, live)
    merged = last(index.merging(0))
    assert merged["docs"].dtype == np.uint16
    index.swap(0, frozen(merged))
    index.check(150_000)
    assert scores(index, weights, live).tolist() == before.tolist()
