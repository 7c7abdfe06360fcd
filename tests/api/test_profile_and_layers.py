"""The other layers through their namespaces: profile, scenes, topics, knowledge."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop import InvalidRequest, NotFound
from memhop.common.clock import ManualClock
from tests.support.memories import DAY, HOUR, NOW, conversation, every, memory, texts


class TestProfile:
    def test_empty_at_first_and_kept_field_by_field(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            assert (db.profile.get().name, db.profile.get().updated_at, db.profile.get().brief) == ("", None, "")
            db.profile.update(name="Ada", style_traits=["terse", "dry"])
            clock.advance(HOUR)
            changed = db.profile.update(role="engineer", preferences={"tea": "green", "editor": "vim"})
            assert (changed.name, changed.role, changed.style_traits) == ("Ada", "engineer", ("terse", "dry"))
            assert changed.updated_at == NOW + HOUR
        with memory(tmp_path / "a.meh", clock=clock) as db:
            assert db.profile.get() == changed
            assert db.profile.update(name="").name == ""

    def test_a_refused_field_changes_nothing(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(name="Ada")
            before = db.stats().commit
            assert db.profile.update().name == "Ada"
            with pytest.raises(InvalidRequest):
                db.profile.update(name="Eve", role=5)
            assert db.stats().commit == before
            assert db.profile.get().name == "Ada"

    def test_the_brief_is_short(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = db.profile.update(
                name="Ada",
                preferences={f"key {n}": "long\nvalue " * 100 for n in range(50)},
                style_traits=[f"trait {n}" for n in range(20)],
            )
            assert len(found.brief) < 1_500
            assert len(found.brief.splitlines()) <= 4
            assert "…" in found.brief


class TestScenesAndTopics:
    def test_listings(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for number, subject in enumerate(("kayak hull", "tax return", "lettuce slugs")):
                turns = [(f"{subject} {n}", f"reply {n}") for n in range(4)]
                conversation(db, turns, session=f"s{number}", start=NOW - 5 * DAY + number * DAY)
            scenes = every(db.scenes.list)
            assert [scene.topics for scene in scenes] == [4, 4, 4]
            assert [scene.last_at for scene in scenes] == sorted((scene.last_at for scene in scenes), reverse=True)
            assert every(db.scenes.list, newest_first=False) == scenes[::-1]
            for scene in scenes:
                assert db.scenes.get(scene.id) == scene
                topics = every(lambda scene=scene, **page: db.topics.list(scene.id, **page))
                assert [topic.user_at for topic in topics] == sorted(topic.user_at for topic in topics)
                assert all(db.topics.get(topic.id) == topic for topic in topics)
                assert all(len(db.topics.messages(topic.id)) == 2 for topic in topics)

    def test_a_scene_is_named_after_its_first_turn_and_day(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = db.search("the kayak leaks at the stern", NOW)
            name = db.scenes.get(found.scene_id).name
            assert "kayak" in name
            assert "28 May 2026" in name


class TestKnowledge:
    def test_nodes_are_written_and_replaced(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            first = db.knowledge.put("boats", "kayak", "laminated", node_type="thing", keywords=["hull", "paddle"])
            clock.advance(HOUR)
            second = db.knowledge.put("boats", "kayak", "roto-moulded")
            assert (second.id, second.graph_id) == (first.id, first.graph_id)
            assert (second.created_at, second.updated_at) == (NOW, NOW + HOUR)
            assert (second.content, second.node_type, second.keywords) == ("roto-moulded", None, ())
            assert db.knowledge.get(first.id) == second
            assert texts(db.recall("roto-moulded", layers=["knowledge"])) == ["kayak\nroto-moulded"]
            assert db.recall("laminated").hits == ()
            assert db.recall("paddle").hits == ()

    def test_graphs_and_pages(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for number in range(7):
                db.knowledge.put("boats", f"part {number}")
            other = db.knowledge.put("garden", "part 1")
            graphs = {graph.name: graph.id for graph in every(db.knowledge.graphs)}
            assert set(graphs) == {"boats", "garden"}
            nodes = every(lambda **page: db.knowledge.nodes(graphs["boats"], **page))
            assert sorted(node.title for node in nodes) == [f"part {number}" for number in range(7)]
            assert db.knowledge.nodes(graphs["garden"]).items == (other,)


def test_ids_of_a_kind_that_is_asked_for_in_capitals(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("a note")
        assert db.notes.get(note.id.upper()).id == note.id
        with pytest.raises(NotFound):
            db.scenes.get(note.id.upper())
