"""Recall, what explains it, the brief and what ids stand for, as a client asks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memhop.common.clock import ManualClock
from memhop.common.errors import EmbedderError
from memhop.common.fence import CLOSE, OPEN
from memhop.server.operation import Host
from memhop.server.operations import OPERATIONS
from memhop.server.reply import ROOM, size_of
from tests.server.operations.asking import Client
from tests.support.embedders import Scripted
from tests.support.memories import DAY, NO_ID, NOW, memory


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Client]:
    with memory(tmp_path / "a.meh", clock=ManualClock(NOW), durability="none") as db:
        yield Client(db)


def ids(data: dict[str, object]) -> list[str]:
    hits = data["hits"]
    assert isinstance(hits, list)
    return [hit["id"] for hit in hits]


def test_recall_gives_hits_as_data_and_a_context_as_text(ask: Client) -> None:
    id_ = ask.noted("We chose SQLite, because there is one writer", kind="decision", project="web", tags=["db"])
    reply = ask.reply("memhop_recall", query="why SQLite?")
    (hit,) = reply.data["hits"]
    assert (hit["id"], hit["kind"], hit["project"], hit["status"]) == (id_, "decision", "web", "proposed")
    assert reply.text.startswith(OPEN)
    assert reply.text.endswith(CLOSE)
    assert f"({id_})" in reply.text
    assert "context" not in reply.data, "the text has it"
    assert "ranks" not in hit
    assert "channels" not in reply.data
    explained = ask("memhop_recall", query="why SQLite?", explain=True)
    assert explained["hits"][0]["ranks"]
    assert explained["hits"][0]["parts"]
    assert explained["channels"]
    assert explained["explanation"]


def test_recall_is_not_larger_than_its_budget(ask: Client) -> None:
    """Fifty thousand tokens from one call were refused by clients, and ended conversations."""
    for number in range(30):
        ask.noted(f"the lighthouse {number} " + "has very many steps " * 500)
    for budget, limit in ((100, 10), (2000, 10), (2800, 50)):
        reply = ask.reply("memhop_recall", query="lighthouse steps", token_budget=budget, limit=limit)
        assert reply.data["context_tokens"] <= budget
        assert len(reply.text) <= 4 * budget + 200
        assert reply.text.endswith(CLOSE) or reply.text.endswith(")")
        assert size_of(reply.data) <= ROOM
    assert reply.data["cut"], "what was cut is said"
    assert ask("memhop_recall", query="lighthouse", token_budget=10**9)["remarks"]


def test_recall_that_finds_nothing_says_why(ask: Client) -> None:
    assert ask.text("memhop_recall", query="zebra").startswith("Nothing was found: ")
    ask.noted("the zebra crossing", project="town")
    reply = ask.reply("memhop_recall", query="zebra", project="country")
    assert reply.data["hits"] == []
    assert reply.data["held_back"] == {"project": 1}
    assert reply.data["hint"] in reply.text
    for blank in ("", "   ", "!!!", "\x00", "\ud800"):
        assert ask.reply("memhop_recall", query=blank).text.startswith("Nothing was found: ")


def test_each_filter_of_recall_filters(ask: Client) -> None:
    note = ask.noted("the harbour is closed", kind="decision", tags=["sea", "old"], project="a", at=NOW - 9 * DAY)
    done = ask.noted("the harbour is wide", kind="decision", status="implemented", project="b")
    gone = ask.noted("the harbour is deep", project="b")
    ask("memhop_forget", id=gone)
    (said,) = ask.db.archive.append_many(
        [{"text": "the harbour at night", "role": "user", "session": "s1", "speaker": "Ann"}]
    )

    def found(**filters: object) -> set[str]:
        return set(ids(ask("memhop_recall", query="harbour", **filters)))

    assert found() == {note, done, said}
    assert found(project=["a"]) == found(project="a") == found(project='["a"]') == {note}
    assert found(project=["a", "b"]) == {note, done}
    assert found(kinds=["decision"]) == {note, done}
    assert found(statuses=["implemented"]) == {done}
    assert found(tags=["sea", "old"]) == {note}
    assert found(tags=["sea", "new"]) == set()
    assert found(layers=["messages"]) == found(roles=["user"]) == found(speakers=["ann"]) == {said}
    assert found(session="s1") == {said}
    assert found(roles=["tool"]) == set()
    assert found(since="2026-05-28") == {done, said}
    assert found(until="2026-05-28T00:00:00Z") == {note}
    assert found(tier="trashed") == {gone}
    assert found(tier="all") == {note, done, gone, said}
    assert len(found(limit=1)) == 1
    for name in ("project", "kinds", "statuses", "tags", "layers", "roles", "speakers"):
        assert ask.refusal("memhop_recall", query="harbour", **{name: []})["field"] == name
    assert "notes" in ask.refusal("memhop_recall", query="harbour", layers=["note"])["allowed"]
    assert ask.refusal("memhop_recall", query="harbour", kind="decision")["field"] == "kind", (
        "misspelt, and not ignored"
    )


def test_why_not_answers_with_the_same_filters(ask: Client) -> None:
    id_ = ask.noted("the bakery opens at six", project="town")
    assert ask("memhop_why_not", id=id_, query="bakery") == {
        "id": id_, "returned": True, "rank": 1, "reason": "it is among the hits",
    }  # fmt: skip
    assert "project" in ask.text("memhop_why_not", id=id_, query="bakery", project="country")
    assert ask("memhop_why_not", id=id_, query="zebra")["returned"] is False
    ask("memhop_note_archive", id=id_)
    assert "tier" in ask.text("memhop_why_not", id=id_, query="bakery")
    assert ask.refusal("memhop_why_not", id=NO_ID, query="bakery")["error"] == "NotFound"


def test_the_brief_of_one_project_and_of_many(ask: Client) -> None:
    assert ask.text("memhop_brief") == "Nothing is stored yet."
    assert ask("memhop_brief")["projects"] == []
    clock = ask.db._clock
    assert isinstance(clock, ManualClock)
    for number in range(9):
        for kind, title in (("bug", "it leaks"), ("plan", "paint it"), ("decision", "in blue")):
            ask.noted(f"{title} in house {number}", kind=kind, project=f"house {number}")
            clock.advance(1000)
    ask("memhop_summary_save", project="house 3", text="# house 3\n\nThe roof is done.")
    lesson = ask.noted("measure twice", kind="insight", project="universal")
    told = ask.reply("memhop_brief", limit=3)
    assert [one["project"] for one in told.data["projects"]] == ["house 3", "universal", "house 8"]
    assert told.data["truncated"] == 7
    assert "(7 more projects: memhop_project_list)" in told.text
    assert told.data["insights"] == [{"id": lesson, "title": "measure twice"}]
    assert "measure twice" in told.text
    assert "The roof is done." in told.text
    one = ask.reply("memhop_brief", project="house 5")
    (alone,) = one.data["projects"]
    assert {of["kind"]: of["count"] for of in alone["open"]} == {"bug": 1, "decision": 1, "plan": 1}
    for words in ("it leaks", "paint it", "in blue"):
        assert one.text.count(f"{words} in house 5") == 1
    assert ask("memhop_brief", project="house 5", decisions=0)["projects"][0].get("decisions") is None
    assert "nothing" in ask.text("memhop_brief", project="nobody knows it")


def test_the_brief_of_hundreds_of_projects_has_room(ask: Client) -> None:
    items = [
        {"text": f"{kind} {'w' * 115}", "kind": kind, "project": f"project {number} {'p' * 180}"}
        for number in range(100)
        for kind in ("bug", "plan", "decision")
    ]
    for begin in range(0, len(items), 100):
        ask("memhop_remember", items=items[begin : begin + 100])
    reply = ask.reply("memhop_brief")
    assert size_of(reply.data) <= ROOM
    assert len(reply.text) <= ROOM
    assert len(reply.data["projects"]) == 5
    assert reply.data["truncated"] == 95


def test_about_tells_where_something_comes_from(ask: Client) -> None:
    old = ask.noted("we use tabs", kind="decision")
    new = ask.noted("we use spaces " + "and more " * 2_000, kind="decision", links=[f"supersedes:{old}"], source="Ann")
    reply = ask.reply("memhop_about", id=new, query="tabs or spaces?")
    assert reply.data["kind"] == "note"
    assert "text" not in reply.data["record"], "it is told once"
    assert reply.data["standing"]["returned"] is True
    assert old in reply.text
    assert len(reply.text) < 3_000
    assert new in ask.text("memhop_about", id=old)
    said = ask.db.search("hello there", NOW)
    for id_ in (said.message_id, said.scene_id, said.new_topic_id):
        assert id_ in ask.text("memhop_about", id=id_)
    assert ask.refusal("memhop_about", id=NO_ID)["error"] == "NotFound"


def test_lookup(ask: Client) -> None:
    id_ = ask.noted("the mill by the river")
    reply = ask.reply("memhop_lookup", prefix=id_[:6].upper())
    assert reply.data["items"] == [{"id": id_, "kind": "note", "text": "the mill by the river"}]
    assert "the mill" in reply.text
    assert ask("memhop_lookup", prefix=id_, kinds=["message"])["items"] == []
    for prefix in ("abcde", "xyzxyz", "0" * 17):
        assert ask.refusal("memhop_lookup", prefix=prefix)["field"] == "prefix"


class _Failing(Scripted):
    """Its complaint names a place, once it has embedded what is stored."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        if query:
            raise EmbedderError("cannot read /srv/models/secret.onnx")
        return super().embed(texts)


def test_where_a_model_lies_is_told_only_to_whoever_runs_the_server(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", embedder=_Failing()) as db:
        db.remember("We varnish the deck in spring")
        db.backfill()
        for name, asked in (
            ("memhop_recall", {"query": "when do we varnish?", "explain": True}),
            ("memhop_search", {"text": "When do we varnish?"}),
        ):
            near, far = (OPERATIONS[name].call(Host(local=local), db, asked) for local in (True, False))
            assert not near.failed
            assert name != "memhop_recall" or "secret.onnx" in f"{near.data}", "or nothing was tested"
            assert "secret" not in f"{far.data}{far.text}"
