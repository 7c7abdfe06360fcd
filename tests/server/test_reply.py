"""Replies: as they are while they fit, never larger than there is room, and what was cut is said."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.server.reply import LEAST_TEXT, compact, fitted, size_of, within, without_items

ROOM = 2000


def page(count: int, length: int) -> dict[str, Any]:
    return {
        "items": [{"id": f"{number:016x}", "text": f"note {number} " + "x" * length} for number in range(count)],
        "next": None,
    }


def test_what_fits_is_left_as_it_is() -> None:
    data = page(5, 100)
    assert fitted(data, ROOM) == (data, True)
    assert within(lambda limit: data, ROOM, 5) is data


def test_long_texts_are_clipped_to_one_length_and_short_ones_are_not() -> None:
    data = page(3, 5000)
    data["items"][0]["text"] = "short"
    found, fits = fitted(data, ROOM)
    assert fits
    assert ROOM * 0.8 < size_of(found) <= ROOM, "the room is used"
    assert found["items"][0]["text"] == "short"
    assert found["items"][1]["text"].endswith("more characters]")
    assert found["cut"]["texts"] == 2
    assert data["items"][1]["text"].endswith("x"), "what was given is left alone"


def test_ids_and_cursors_are_never_clipped() -> None:
    data = {"id": "i" * 300, "scene_id": "s" * 300, "next": "c" * 300, "text": "x" * 9000}
    found, fits = fitted(data, ROOM)
    assert fits
    assert (found["id"], found["scene_id"], found["next"]) == (data["id"], data["scene_id"], data["next"])


def test_too_many_items_are_asked_for_again_so_that_the_cursor_leads_to_the_rest() -> None:
    asked: list[int | None] = []

    def ask(limit: int | None) -> dict[str, Any]:
        asked.append(limit)
        assert limit is not None
        return page(limit, 900) | {"next": f"after {limit}"}

    found = within(ask, ROOM, 100)
    assert asked == [100, 50, 25, 12, 6]
    assert (len(found["items"]), found["next"], found["cut"]["limit"]) == (6, "after 6", 6)
    assert all(len(one["text"]) > LEAST_TEXT for one in found["items"])
    assert size_of(found) <= ROOM


def test_what_cannot_be_asked_for_in_parts_loses_items_and_says_how_many() -> None:
    found = within(lambda limit: {"nodes": [{"id": f"{number:016x}"} for number in range(500)]}, ROOM, None)
    assert len(found["nodes"]) + found["cut"]["items"] == 500
    assert size_of(found) <= ROOM
    table = without_items({"metadata": {f"key {number}": number for number in range(9000)}}, ROOM)
    assert len(table["metadata"]) + table["cut"]["items"] == 9000
    assert len(table["metadata"]) > 100


def test_ids_stay_where_nothing_else_can() -> None:
    nested: Any = "x" * 100
    for _ in range(9):
        nested = {"a": nested, "b": nested, "c": nested}
    found = without_items({"topic_id": "i" * 16, "ok": True, "metadata": nested}, ROOM)
    assert (found["topic_id"], found["ok"]) == ("i" * 16, True)
    assert found["cut"]["everything"]


def test_a_compact_text_leaves_out_what_is_empty() -> None:
    assert compact({"a": None, "b": [], "c": {"d": ""}, "e": 0, "f": False, "g": "x"}) == '{"e":0,"f":false,"g":"x"}'


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.text(min_size=400, max_size=900),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=12),
    max_leaves=60,
)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=12), st.sampled_from((None, 1, 7)))
def test_nothing_is_ever_larger_than_there_is_room(data: dict[str, Any], limit: int | None) -> None:
    before = json.dumps(data)
    found = within(lambda limit: data, ROOM, limit)
    assert size_of(found) <= ROOM
    assert json.dumps(data) == before
    assert found is data or "cut" in found


def test_the_only_item_of_a_page_is_kept_where_its_parts_can_go() -> None:
    """A page of one item with long lists lost that item, and the cursor led past it."""
    item = {"id": "a", "records": [{"id": str(number), "before": "x" * 150} for number in range(200)]}
    found = without_items({"items": [item], "next": "b"}, 12_000)
    (left,) = found["items"]
    assert left["id"] == "a"
    assert 0 < len(left["records"]) < 200
    assert found["cut"]["items"] == 200 - len(left["records"])
    assert size_of(found) <= 12_000
