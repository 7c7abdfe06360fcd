"""The operations of projects and of progressive summaries, as a client asks them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memhop.common.clock import ManualClock
from memhop.common.fence import CLOSE
from memhop.server.reply import ROOM, size_of
from tests.server.operations.asking import Client, every_page
from tests.support.memories import HOUR, NO_ID, NOW, memory


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Client]:
    with memory(tmp_path / "a.meh", clock=ManualClock(NOW), durability="none") as db:
        yield Client(db)


def pass_time(ask: Client) -> None:
    clock = ask.db._clock
    assert isinstance(clock, ManualClock)
    clock.advance(HOUR)


def test_listing_and_counting(ask: Client) -> None:
    assert ask.text("memhop_project_list") == "No projects."
    ask.noted("one", project="a", kind="bug")
    ask("memhop_forget", id=ask.noted("two", project="a"))
    ask.db.archive.append_many([{"text": "hello", "role": "user", "project": "b"}])
    assert [one["name"] for one in every_page(ask, "memhop_project_list", limit=1)] == ["a", "b"]
    assert "a: 1 notes, 1 trashed" in ask.text("memhop_project_list")
    count = ask.reply("memhop_project_count", project="A")
    assert (count.data["kinds"], count.data["total"]) == ({"bug": 1}, 1)
    assert count.text == "a: 1 bug; 0 messages"
    assert ask("memhop_project_count", project="nobody")["total"] == 0


def test_the_kinds_of_a_project(ask: Client) -> None:
    kinds = {one["kind"]: one for one in ask("memhop_project_schema")["kinds"]}
    assert kinds["bug"]["default_status"] == "open"
    assert "fixed" in kinds["bug"]["terminal"]
    assert "note: any status" in ask.text("memhop_project_schema", project="web")


def test_renaming_and_merging(ask: Client) -> None:
    one = ask.noted("one", project="web-app")
    two = ask.noted("two", project="web")
    assert ask.refusal("memhop_project_rename", old="web-app", new="web")["field"] == "new"
    assert ask.refusal("memhop_project_rename", old="wep", new="x")["field"] == "old"
    assert "1 notes went to shop" in ask.text("memhop_project_rename", old="web-app", new="shop")
    assert ask("memhop_project_merge", source="shop", into="web")["notes"] == 1
    assert {ask.db.notes.get(id_).project for id_ in (one, two)} == {"web"}
    assert ask.refusal("memhop_project_merge", source="web", into="web")["field"] == "into"


def test_moving_notes(ask: Client) -> None:
    ids = [ask.noted(f"note {number}", project="a") for number in range(30)]
    other = ask.noted("elsewhere", project="b")
    planned = ask.reply("memhop_project_reassign", ids=[ids[0], other], to_project="c", from_project="a", dry_run=True)
    assert planned.data["notes"] == 1
    assert planned.data["stayed"] == [[other, "it is in 'b'"]]
    assert planned.data["stayed_count"] == 1
    assert "would go to c" in planned.text
    assert ask.db.notes.get(ids[0]).project == "a"
    moved = ask("memhop_project_reassign", ids=ids[:3], to_project="c")
    assert sorted(moved["ids"]) == sorted(ids[:3])
    moved = ask("memhop_project_reassign", all=True, from_project="a", to_project="c")
    assert moved["notes"] == 27
    assert len(moved["ids"]) == 20, "the first ones; the others are counted"
    assert ask("memhop_project_count", project="c")["total"] == 30


def test_b9_an_empty_list_of_ids_moves_nothing(ask: Client) -> None:
    """An empty list of ids, and one of which nothing could be read, moved the whole project."""
    ask.noted("one", project="a")
    wrong: tuple[dict[str, Any], ...]
    wrong = ({"ids": []}, {"ids": ["abc"]}, {"ids": "abc"}, {}, {"ids": [NO_ID]}, {"ids": [None]})
    for given in wrong:
        error = ask.refusal("memhop_project_reassign", to_project="b", from_project="a", **given)
        assert error["field"].startswith("ids")
    assert ask.refusal("memhop_project_reassign", to_project="b", all=True)["field"] == "from_project"
    error = ask.refusal("memhop_project_reassign", to_project="b", all=True, from_project="a", ids=[NO_ID])
    assert error["field"] == "all"
    assert ask.refusal("memhop_project_reassign", all=True, from_project="a", to_project=" ")["field"] == "to_project"
    assert ask("memhop_project_count", project="a")["total"] == 1


def test_trashing_and_erasing(ask: Client) -> None:
    ids = [ask.noted(f"note {number}", project="old") for number in range(25)]
    assert ask.refusal("memhop_project_trash", project="odl")["field"] == "project"
    assert ask.refusal("memhop_project_purge", project="old")["field"] == "force"
    done = ask("memhop_project_trash", project="old")
    assert (done["count"], len(done["ids"])) == (25, 20)
    assert ask("memhop_restore", id=ids[0])["changed"] is True
    assert ask("memhop_project_trash", project="old")["count"] == 1
    assert ask("memhop_project_purge", project="old")["count"] == 25
    assert ask.refusal("memhop_note_get", id=ids[0])["error"] == "NotFound"
    ask.noted("new", project="old")
    assert ask("memhop_project_purge", project="old", force=True)["count"] == 1


# -- summaries -----------------------------------------------------------------------------------------------


def test_a_summary_from_first_to_next(ask: Client) -> None:
    assert ask("memhop_summary_latest", project="web") == {"summary": None}
    assert ask.text("memhop_summary_latest", project="web") == "There is no summary of web yet."
    bug = ask.noted("the page flickers", kind="bug", project="web")
    due = ask.reply("memhop_summary_check", project="web")
    assert (due.data["needed"], due.data["trigger"]) == (True, "first_summary")
    assert "template" not in due.data, "the text has it"
    assert "## Open" in due.text
    assert "memhop_summary_save" in due.text
    assert f"the page flickers ({bug})" in due.text
    pass_time(ask)
    saved = ask("memhop_summary_save", project="web", text="# web\n\nIt flickers.", tags=["weekly"])
    assert saved["kind"] == "progressive_summary"
    quiet = ask.reply("memhop_summary_check", project="web")
    assert quiet.data["needed"] is False
    assert "It flickers." in quiet.text
    pass_time(ask)
    ask("memhop_note_update", id=bug, status="fixed")
    again = ask.reply("memhop_summary_check", project="web", turns=12)
    assert again.data["trigger"] == "turn_interval"
    (change,) = again.data["changes"]
    assert (change["id"], change["status_before"], change["status"]) == (bug, "open", "fixed")
    assert "(open -> fixed)" in again.text
    newer = ask("memhop_summary_save", project="web", text="It is fixed.")
    assert ask("memhop_summary_latest", project="web")["summary"]["id"] == newer["id"]
    assert ask("memhop_note_get", id=saved["id"])["superseded_by"] == newer["id"]


def test_b17_no_context_left_is_the_most_urgent_of_all(ask: Client) -> None:
    """Nought percent left was read as a hundred."""
    ask.noted("one", project="web")
    ask("memhop_summary_save", project="web", text="All is well.")
    for left in (0, 0.0, "0", 20):
        assert ask("memhop_summary_check", project="web", context_pct=left)["trigger"] == "context_pressure"
    assert ask("memhop_summary_check", project="web", context_pct=21)["needed"] is False
    for wrong in (-1, 101, "low", True):
        assert ask.refusal("memhop_summary_check", project="web", context_pct=wrong)["field"] == "context_pct"


def test_a_check_of_many_changes_has_room_and_says_how_many(ask: Client) -> None:
    ask("memhop_summary_save", project="web", text="Long ago. " + "Much was said. " * 2_000)
    pass_time(ask)
    items = [{"text": f"decision {n} {'w' * 110}\n{'more ' * 2_000}", "kind": "decision"} for n in range(80)]
    ask("memhop_remember", items=items, project="web")
    for limit in (20, 50):
        reply = ask.reply("memhop_summary_check", project="web", force=True, limit=limit)
        assert size_of(reply.data) <= ROOM
        assert len(reply.text) <= ROOM
        assert reply.text.count(CLOSE) >= 2
        assert reply.text.endswith(CLOSE)
        assert reply.data["total"] == 80
        assert reply.data["truncated"] is True
        assert "(80 changes since)" in reply.text
        assert "## Next" in reply.text
        assert "- and " in reply.text
        assert "more characters]" in reply.data["text"]


def test_a_saved_summary_is_masked_and_said(ask: Client) -> None:
    text = "the token is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert "1 secrets" in ask.text("memhop_summary_save", project="web", text=text)
