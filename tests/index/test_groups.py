"""A multimap of differences behaves like a set of triples, however it was sealed and merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common.errors import InvalidRequest, StorageError
from memhop.index.groups import Groups
from memhop.index.parts import Part
from tests.index.mapped import frozen

TOP = 2**64 - 2  # u64 beyond what a float holds exactly

keys = st.sampled_from([0, 1, TOP, TOP + 1])
places = st.tuples(st.integers(-2, 2) | st.just(-(2**63)), st.sampled_from([0, 1, TOP, TOP + 1]))
steps = st.one_of(
    st.tuples(st.just("add"), keys, places),
    st.tuples(st.just("remove"), keys, places),
    st.tuples(st.just("seal"), st.integers(0, 3)),
    st.tuples(st.just("page"), keys, st.none() | places, st.integers(0, 4), st.booleans()),
)


@given(st.lists(steps, max_size=60))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_it_is_a_set_of_triples(script: list[tuple[Any, ...]]) -> None:
    groups = Groups()
    parts: list[Part] = []
    model: set[tuple[int, tuple[int, int]]] = set()
    for step in script:
        match step:
            case ("add", key, place):
                assert groups.add(key, *place) == ((key, place) not in model)
                model.add((key, place))
            case ("remove", key, place):
                assert groups.remove(key, *place) == ((key, place) in model)
                model.discard((key, place))
            case ("seal", first):
                parts[first:] = [frozen(groups.seal(min(first, len(parts))))]
                groups.attach(parts)
            case ("page", key, after, limit, descending):
                members = sorted((place for other, place in model if other == key), reverse=descending)
                behind = [
                    member for member in members if after is None or (member < after if descending else member > after)
                ]
                page = groups.page(key, after=after, limit=limit, descending=descending)
                assert page == behind[:limit]
        for key in {key for key, _ in model}:
            members = sorted(place for other, place in model if other == key)
            assert groups.count(key) == len(members)
            assert (groups.first(key), groups.last(key)) == (members[0], members[-1])
            assert all(groups.contains(key, *place) for place in members)
            for since in (members[0][0], members[-1][0], members[-1][0] + 1, -1):
                assert groups.count(key, since=since) == sum(order >= since for order, _ in members)


def test_paging_walks_through_all_members_once_in_both_directions() -> None:
    groups = Groups()
    expected = []
    for index in range(500):
        place = (index // 3, (index * 7919) % 500)
        groups.add(1, *place)
        expected.append(place)
        if index == 200:
            groups.attach([groups.seal(0)])
    expected.sort()
    for descending in (False, True):
        walked: list[tuple[int, int]] = []
        while page := groups.page(1, after=walked[-1] if walked else None, limit=7, descending=descending):
            walked.extend(page)
        assert walked == (expected[::-1] if descending else expected)
        assert groups.page(1, limit=1000, descending=descending) == walked


def test_merging_to_the_oldest_part_forgets_removals() -> None:
    groups = Groups()
    groups.add(1, 10, 100)
    groups.add(1, 11, 101)
    oldest = groups.seal(0)
    groups.attach([oldest])
    groups.remove(1, 10, 100)
    newer = groups.seal(1)
    assert newer["removed"].tolist() == [1]
    groups.attach([oldest, newer])
    assert groups.page(1, limit=9) == [(11, 101)]
    merged = groups.seal(0)
    assert merged["ids.values"].tolist() == [101]
    assert "removed" not in merged


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        Groups().page(1, limit=-1)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("keys", np.array([1], np.int64)),
        ("offsets", np.array([0, 3], np.uint64)),
        ("orders", np.array([0], np.uint8)),
        ("ids", np.array([], np.uint8)),
        ("removed", np.array([0], np.uint8)),
        ("removed", np.array([0, 0], np.uint8)),
        ("counts", np.array([1], np.uint64)),
    ],
)
def test_sections_that_do_not_fit_are_refused(name: str, array: Any) -> None:
    groups = Groups()
    groups.add(1, 1, 1)
    groups.add(1, 2, 3)
    groups.attach([{**groups.seal(0), name: array}])
    with pytest.raises(StorageError):
        groups.check()


def test_the_last_member_is_found_behind_removed_ones_of_other_parts() -> None:
    groups = Groups()
    for order in range(3):
        groups.add(1, order, order)
    groups.attach([groups.seal(0)])
    groups.remove(1, 2, 2)
    assert groups.last(1) == (1, 1)
    older, newer = Groups(), groups.seal(1)
    for order in range(3):
        older.add(1, order, order)
    groups.attach([older.seal(0), newer])
    assert groups.last(1) == (1, 1)
    groups.add(1, 2, 2)
    assert groups.last(1) == (2, 2)
    for order in range(3):
        groups.remove(1, order, order)
    assert groups.last(1) is None
