"""Filters are applied before anything is ranked, on every path that reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from memhop.api.results import Hit
from tests.support.memories import DAY, HOUR, NOW, memory

WORD = "kayak"  # in every unit


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DB]:
    """Units of every layer that all hold one word, two projects apart."""
    path = tmp_path_factory.mktemp("filters") / "a.meh"
    with memory(path) as opened:
        for number in range(12):
            opened.remember(
                f"{WORD} note {number}",
                project="one" if number % 2 else "two",
                kind="fact" if number % 3 else "plan",
                tags=["Blue", "wet"] if number % 4 == 0 else ["wet"],
                at=NOW - number * DAY,
            )
        opened.archive.append_many(
            {
                "text": f"{WORD} message {number}", "project": ("two", "one")[number % 2], "session": f"s{number % 3}",
                "speaker": ("Mara", "jonas")[number % 2], "role": ("user", "agent", "tool")[number % 3],
                "at": NOW - number * DAY,
            }
            for number in range(12)
        )  # fmt: skip
        opened.checkpoint()
        found = opened.search(f"{WORD} in a scene", NOW - HOUR, session="loop", project="one")
        opened.update(found.new_topic_id, f"{WORD} reply in a scene", NOW - HOUR + 1)
        opened.knowledge.put("boats", f"{WORD} node", node_type="thing")
        trashed = opened.remember(f"{WORD} in the trash", project="one")
        opened.forget(trashed.id)
        yield opened


def _of(db: DB, **filters: Any) -> list[Hit]:
    return list(db.recall(WORD, limit=100, **filters).hits)


CASES: dict[str, tuple[dict[str, Any], Callable[[Hit], bool]]] = {
    "one layer": ({"layers": ["notes"]}, lambda hit: hit.layer == "notes"),
    "two layers": ({"layers": {"notes", "messages"}}, lambda hit: hit.layer in ("notes", "messages")),
    "a project": ({"project": "one"}, lambda hit: hit.project == "one"),
    "projects": ({"project": ["one", "two"]}, lambda hit: hit.project in ("one", "two")),
    "a kind": ({"kinds": ["plan"]}, lambda hit: hit.kind == "plan"),
    "messages as a kind": ({"kinds": ("message",)}, lambda hit: hit.layer == "messages"),
    "roles": ({"roles": ["agent", "tool"]}, lambda hit: hit.role in ("agent", "tool")),
    "a speaker in another case": ({"speakers": ["MARA"]}, lambda hit: hit.speaker == "Mara"),
    "a session": ({"session": "s1"}, lambda hit: hit.session == "s1"),
    "since": ({"since": NOW - 3 * DAY}, lambda hit: hit.at >= NOW - 3 * DAY),
    "until": ({"until": NOW - 3 * DAY}, lambda hit: hit.at < NOW - 3 * DAY),
    "a span": ({"since": NOW - 5 * DAY, "until": NOW - 4 * DAY}, lambda hit: hit.at == NOW - 5 * DAY),
    "the trash": ({"tier": "trashed"}, lambda hit: hit.tier == "trashed"),
    "all at once": (
        {"layers": ["messages"], "project": "one", "speakers": ["jonas"], "session": "s0", "since": NOW - 10 * DAY},
        lambda hit: (hit.layer, hit.project, hit.session) == ("messages", "one", "s0") and hit.at >= NOW - 10 * DAY,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_only_and_all_that_pass(db: DB, name: str) -> None:
    filters, passes = CASES[name]
    everything = [*_of(db), *_of(db, tier="trashed")]
    tier = filters.get("tier", "active")
    expected = {hit.id for hit in everything if passes(hit) and hit.tier == tier}
    found = _of(db, **filters)
    assert expected, "the case tests nothing"
    assert {hit.id for hit in found} == expected
    assert all(passes(hit) for hit in found)


def test_tags_must_all_be_there_and_ignore_case(db: DB) -> None:
    blue = {note.id for note in db.notes.list(limit=100).items if "Blue" in note.tags}
    assert {hit.id for hit in _of(db, tags=["blue"])} == blue
    assert {hit.id for hit in _of(db, tags=["WET", "BLUE"])} == blue
    assert _of(db, tags=["wet", "no such tag"]) == []


def test_a_scene(db: DB) -> None:
    scene = db.scenes.list().items[0]
    found = _of(db, scene=scene.id)
    assert len(found) == 2
    assert {hit.scene_id for hit in found} == {scene.id}


@pytest.mark.parametrize(
    "filters",
    [{"project": "elsewhere"}, {"speakers": ["nobody"]}, {"session": "none"}, {"kinds": ["none"]}, {"tags": ["none"]},
     {"since": NOW + DAY // 2}, {"until": 5}, {"tier": "archived"}, {"scene": "f" * 16}, {"layers": ["topics"]}],
    ids=str,
)  # fmt: skip
def test_filters_that_leave_nothing_are_named(db: DB, filters: dict[str, Any]) -> None:
    found = db.recall(WORD, **filters)
    assert found.hits == ()
    assert next(iter(filters)) in str(found.reason)


def test_no_neighbour_leaks_through_a_filter(tmp_path: Path) -> None:
    """Evidence is handed to neighbours in a session; a neighbour of another project is still another project's."""
    with memory(tmp_path / "a.meh") as db:
        db.archive.append_many(
            {"text": text, "session": "shared", "project": project, "at": NOW - HOUR + number}
            for number, (project, text) in enumerate(
                [("mine", "where is the kayak?"), ("theirs", "SECRET: in the harbour"), ("mine", "thanks")] * 3
            )
        )
        for query in ("where is the kayak?", "harbour", "SECRET", "kayak secret harbour"):
            for fusion in ("zscore", "rrf"):
                found = db.recall(query, project="mine", fusion=fusion, explain=True)
                assert {hit.project for hit in found.hits} <= {"mine"}
                assert "SECRET" not in found.context


def test_a_filter_does_not_crowd_out(tmp_path: Path) -> None:
    """A hundred better hits of another project leave room for the one asked for."""
    with memory(tmp_path / "a.meh", durability="none") as db:
        db.remember_many([{"text": f"kayak kayak kayak {number}", "project": "loud"} for number in range(100)])
        quiet = db.remember("a long remark in which a kayak is mentioned once", project="quiet")
        assert [hit.id for hit in db.recall("kayak", project="quiet", limit=1).hits] == [quiet.id]


def test_since_and_until_touch_and_do_not_overlap(db: DB) -> None:
    edge = NOW - 4 * DAY
    before = {hit.id for hit in _of(db, until=edge)}
    after = {hit.id for hit in _of(db, since=edge)}
    assert not before & after
    assert before | after == {hit.id for hit in _of(db)}
