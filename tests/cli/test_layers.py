"""What the commands of the layers say, and that what one prints another one takes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from memhop.api.results import Note
from memhop.common.clock import ManualClock
from memhop.repo.record import Kind
from tests.cli.every_command import fill
from tests.cli.running import here
from tests.support.memories import NOW


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("layers") / "agent.meh"
    return path, fill(path)


@pytest.fixture
def memory(filled: tuple[Path, dict[str, str]], tmp_path: Path) -> tuple[Path, dict[str, str]]:
    return Path(shutil.copy(filled[0], tmp_path / "agent.meh")), filled[1]


def answer(path: Path, *args: str) -> Any:
    ran = here(*args, "--json", "--file", path)
    assert ran.code == 0, ran
    return ran.json()


def test_a_conversation_goes_through_the_commands(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    first = answer(path, "search", "Where did we want to eat?", "--session", "trip", "--speaker", "Mara")
    reply = answer(path, "update", first["new_topic_id"][:8], "At the harbour on Friday.", "--speaker", "Ben")
    assert reply["topic_id"] == first["new_topic_id"]
    again = answer(path, "search", "When at the harbour?", "--session", "trip")
    assert again["hits"][0]["id"] == reply["id"]
    assert [one["text"] for one in answer(path, "messages", "list", "--session", "trip", "--oldest")["items"]] == [
        "Where did we want to eat?",
        "At the harbour on Friday.",
        "When at the harbour?",
    ]
    assert answer(path, "messages", "show", reply["id"][:6])["text"] == reply["text"]
    said = here("update", first["new_topic_id"], "-", "--file", path, stdin="Noch etwas: Grüße".encode())
    assert said.code == 0
    assert answer(path, "topics", "show", first["new_topic_id"])["messages"][-1]["text"] == "Noch etwas: Grüße"


def test_a_dream_is_shown_compared_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        for number in range(4):
            db.search(f"we talk about the oven and bread number {number}", session="s")
    dry = answer(path, "dream", "--dry-run")
    assert dry["dry_run"]
    assert dry["changes"]
    done = answer(path, "dream")
    assert [one["number"] for one in answer(path, "dreams", "list")["items"]] == [done["number"]] == [1]
    assert answer(path, "dreams", "show", "1")["state"] == "done"
    assert answer(path, "dreams", "diff", "1")["items"]
    assert answer(path, "dreams", "undo", "1")["changes"] > 0
    assert here("dreams", "undo", "1", "--file", path).code == 2


def test_scenes_are_moved_about(memory: tuple[Path, dict[str, str]]) -> None:
    path, ids = memory
    topics = answer(path, "scenes", "show", ids["scene"])["scene"]["topics"]
    assert answer(path, "scenes", "rename", ids["scene"], "Bread")["name"] == "Bread"
    assert answer(path, "scenes", "pin", ids["scene"])["pinned"]
    assert not answer(path, "scenes", "unpin", ids["scene"])["pinned"]
    new = answer(path, "scenes", "split", ids["scene"], ids["topic"], "--name", "Rye")
    assert new["name"] == "Rye"
    assert answer(path, "scenes", "merge", ids["scene"], new["id"])["topics"] == topics
    dry = answer(path, "scenes", "delete", ids["scene"], "--dry-run")
    assert dry["erased"]["message"] > 5
    assert here("scenes", "delete", ids["scene"], "--file", path).code == 2  # nobody can be asked
    assert answer(path, "scenes", "delete", ids["scene"], "--yes")["erased"] == dry["erased"]


def test_knowledge_is_written_linked_asked_and_erased(memory: tuple[Path, dict[str, str]]) -> None:
    path, ids = memory
    made = answer(path, "knowledge", "put", "bread", "rye", "a grain", "--keyword", "Roggen", "--type", "flour")
    assert (made["keywords"], made["node_type"]) == (["Roggen"], "flour")
    edge = answer(path, "knowledge", "connect", made["id"], ids["node"], "--relation", "part_of")
    assert edge["node_ids"] == [made["id"], ids["node"]]
    around = answer(path, "knowledge", "around", made["id"][:7])
    assert {one["id"] for one in around["nodes"]} == {made["id"], ids["node"]}
    assert answer(path, "knowledge", "query", "bread", "--type", "flour")["nodes"] == [made]
    assert answer(path, "knowledge", "import", ids["nodes"])["created_ids"]
    assert answer(path, "knowledge", "delete", edge["id"], "--yes") == {"deleted": True}
    assert answer(path, "knowledge", "delete", made["id"], "--yes") == {"deleted": True}
    assert answer(path, "knowledge", "delete", "bread", "--yes") == {"deleted": True}
    gone = here("knowledge", "nodes", "bread", "--file", path)
    assert gone.code == 1
    assert "memhop knowledge graphs" in gone.err


def test_facts_have_a_history(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    answer(path, "facts", "assert", "Ann", "lives in", "Rome", "--since", "2025-01-01")
    second = answer(path, "facts", "assert", "Ann", "lives in", "Oslo", "--since", "2026-01-01")
    assert [one["value"] for one in answer(path, "facts", "list", "--as-of", "2025-06-01")["items"]] == ["Rome"]
    assert len(answer(path, "facts", "history", "Ann", "lives in")["items"]) == 2
    assert answer(path, "facts", "close", second["id"], "--until", "2026-02-01")["valid_to"]
    assert answer(path, "facts", "retract", second["id"])["retracted_at"]
    assert answer(path, "facts", "delete", second["id"], "--yes") == {"deleted": True}


def test_a_profile_is_set_word_by_word(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    answer(path, "profile", "set", "name=Ada", "preferences.tea=green=best", "style_traits=brief, dry")
    found = answer(path, "profile", "set", "lexicon.meh=a file", "preferences.milk=no")
    assert found["preferences"] == {"tea": "green=best", "milk": "no"}
    assert found["style_traits"] == ["brief", "dry"]
    assert answer(path, "profile", "set", "preferences.milk=")["preferences"] == {"tea": "green=best"}
    for bad in ("name", "nothing=x", "preferences=x", "preferences.=x", "name.x=y"):
        ran = here("profile", "set", bad, "--file", tmp_path / "b.meh")
        assert ran.code == 2, bad
    assert "green" in here("profile", "brief", "--file", path).out
    assert here("profile", "erase", "--yes", "--file", path).code == 0
    assert here("profile", "brief", "--file", path).code == 1


def test_cards_and_steps(memory: tuple[Path, dict[str, str]]) -> None:
    path, ids = memory
    assert answer(path, "capability", "show", "bake-bread")["status"] == "active"
    assert answer(path, "capability", "deprecate", "bake-bread")["status"] == "deprecated"
    assert answer(path, "capability", "activate", "bake-bread")["status"] == "active"
    assert answer(path, "capability", "match", "bake a sourdough bread")[0]["card"]["name"] == "bake-bread"
    assert answer(path, "capability", "import", ids["card"])["cards"][0]["action"] == "unchanged"
    bad = path.with_name("bad.json")
    bad.write_text("{}", "utf-8")
    assert here("capability", "import", bad, "--file", path).code == 2
    assert here("capability", "import", path.with_name("none.json"), "--file", path.with_name("new.meh")).code == 1
    assert not path.with_name("new.meh").exists()
    assert here("capability", "show", "no-such-card", "--file", path).code == 1
    step = answer(path, "trajectory", "append", "run", "turn_end", "done", "--message", ids["message"][:8])
    assert (step["seq"], step["message_id"]) == (5, ids["message"])
    assert answer(path, "trajectory", "stats", "run")["steps"] == 5
    assert answer(path, "trajectory", "list", "run", "--newest", "--limit", "1")["items"] == [step]
    assert answer(path, "trajectory", "prune", "--keep-last", "2")["events"] == 3
    assert answer(path, "trajectory", "delete", "run", "--yes") == {"session": "run", "deleted": 2}
    assert here("trajectory", "delete", "run", "--yes", "--file", path).code == 1


def test_backfill_without_an_embedder_explains_and_is_usage(memory: tuple[Path, dict[str, str]]) -> None:
    path, _ = memory
    ran = here("backfill", "--file", path, env={"HOME": str(path.parent)})
    assert ran.code == 2
    assert "--embedder" in ran.err
    waiting = answer(path, "pending", "--embedder", "hash")["without_vector"]
    assert answer(path, "backfill", "--embedder", "hash")["embedded"] == waiting > 0
    assert answer(path, "pending", "--embedder", "hash")["without_vector"] == 0


class TestShow:
    def test_everything_about_a_note(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        clock = ManualClock(NOW)
        with DB.open(path, clock=clock, actor="Ada") as db:
            said = db.search("we bake with rye", session="kitchen")
            note = db.remember("rye it is", source="kitchen talk", links=[said.message_id], external_id="flour")
            clock.advance(1000)
            db.notes.update(note.id, text="rye it is, always")
        found = answer(path, "show", note.id[:6], "--query", "rye")
        assert (found["id"], found["kind"], found["layer"], found["project"]) == (note.id, "note", "L4", "default")
        assert found["text"] == "rye it is, always"
        assert {(one["relation"], one["text"]) for one in found["origin"]} == {
            ("source", "kitchen talk"),
            ("external_id", "flour"),
        }
        assert [(one["id"], one["kind"]) for one in found["links"]] == [(said.message_id, "message")]
        assert [one["by"] for one in found["history"]][-1] == "Ada"
        assert "text" in found["history"][-1]["what"]
        assert found["standing"]["returned"]
        back = answer(path, "show", said.message_id)
        assert [(one["id"], one["relation"]) for one in back["linked_by"]] == [(note.id, "related")]
        assert {one["relation"] for one in back["origin"]} == {"session", "scene", "topic"}
        plain = here("show", note.id, "--file", path, "--query", "zebra")
        assert "not found:" in plain.out
        assert "rye it is, always" in plain.out

    def test_every_kind_of_thing_can_be_shown(self, memory: tuple[Path, dict[str, str]]) -> None:
        path, ids = memory
        kinds = {
            "note": "note",
            "message": "message",
            "scene": "scene",
            "fused": "topic",
            "node": "node",
            "fact": "fact",
        }
        for name, kind in kinds.items():
            assert answer(path, "show", ids[name])["kind"] == kind
        card = answer(path, "capability", "show", "bake-bread")
        assert answer(path, "show", card["id"])["kind"] == "card"
        step = answer(path, "trajectory", "list", "run")["items"][0]
        assert answer(path, "show", step["id"])["kind"] == "step"
        graph = answer(path, "knowledge", "graphs")["items"][0]
        shown = answer(path, "show", graph["id"])
        assert (shown["kind"], len(shown["linked_by"])) == ("graph", 3)
        topic = answer(path, "show", ids["topic"])
        assert {one["id"] for one in topic["origin"]} & {one["id"] for one in topic["linked_by"]} == set()
        scene = answer(path, "show", ids["scene"])
        assert any("dream 1" in one["what"] for one in scene["history"])
        assert scene["usage"] is not None

    def test_vectors_are_present_pending_or_absent(self, memory: tuple[Path, dict[str, str]]) -> None:
        path, ids = memory
        assert answer(path, "show", ids["note"])["vectors"] == []
        answer(path, "backfill", "--embedder", "hash")
        assert [one["state"] for one in answer(path, "show", ids["note"])["vectors"]] == ["present"]
        new = answer(path, "remember", "a new one")
        assert [one["state"] for one in answer(path, "show", new["id"])["vectors"]] == ["pending"]

    def test_what_is_not_there_is_told(self, memory: tuple[Path, dict[str, str]]) -> None:
        path, _ = memory
        assert here("show", "0123456789abcdef", "--file", path).code == 1
        with DB.open(path) as db:
            engram = next(iter(db._store.file.ids(Kind.ENGRAM)))
        assert here("show", f"{engram:016x}", "--file", path).code == 1  # nothing a caller knows


class TestPrefixes:
    def test_the_first_digits_will_do(self, memory: tuple[Path, dict[str, str]]) -> None:
        path, ids = memory
        for length in (6, 7, 15, 16):
            assert answer(path, "usage", ids["note"][:length].upper())["id"] == ids["note"]
        assert answer(path, "forget", ids["note"][:6])["id"] == ids["note"]

    @pytest.mark.parametrize("typed", ["abc", "nothing", "g" * 16, "", "0123456789abcdef0"])
    def test_what_is_no_beginning_is_usage(self, typed: str, memory: tuple[Path, dict[str, str]]) -> None:
        ran = here("usage", typed, "--file", memory[0])
        assert ran.code == 2
        assert ran.err

    def test_a_kind_that_does_not_fit_is_not_found(self, memory: tuple[Path, dict[str, str]]) -> None:
        path, ids = memory
        assert here("usage", ids["message"][:8], "--file", path).code == 1
        assert here("scenes", "show", ids["note"][:8], "--file", path).code == 1

    def test_several_are_listed_and_nothing_is_done(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with DB.open(path) as db:
            first, second = alike(db)
            assert {one.id for one in db.lookup(first.id[:6])} == {first.id, second.id}
        ran = here("forget", first.id[:6], "--file", path)
        assert ran.code == 2
        assert first.id in ran.err
        assert second.id in ran.err
        with DB.open(path) as db:
            assert {db.notes.get(first.id).tier, db.notes.get(second.id).tier} == {"active"}


def alike(db: DB) -> tuple[Note, Note]:
    """Two notes whose ids begin with the same six digits: by the birthday rule among some thousands."""
    seen: dict[str, Note] = {}
    for begin in range(0, 40_000, 4_000):
        for note in db.remember_many([f"note {number}" for number in range(begin, begin + 4_000)]):
            other = seen.setdefault(note.id[:6], note)
            if other is not note:
                return other, note
    raise AssertionError("no two of them")
