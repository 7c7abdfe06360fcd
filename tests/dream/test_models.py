"""Keywords on write, what models cost, and what becomes of a memory whose model is hostile."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memhop import DB, Budget, ConfigError, Dreaming, HashEmbedder, OpenAIChat
from memhop.repo.dreams import Spending
from tests.dream.test_pipeline import dreams_with, talk
from tests.support.chat import Chat
from tests.support.memories import DAY, MINUTE, NOW, memory
from tests.support.model_server import FAULTS, Asked, Script, model_server
from tests.support.stages import Stage, fuse, rename


def keywords_reply(asked: Asked) -> str:
    """The longest word of each text."""
    return longest(asked.system, asked.user)


def longest(_: str, user: str) -> str:
    found = re.findall(r"^\[(\w+),[^\n]*\n<<\w+\n(.*?)\n\w+>>", user, re.DOTALL | re.MULTILINE)
    items = [{"id": alias, "keywords": [max(re.findall(r"[a-z]+", text), key=len)]} for alias, text in found]
    return json.dumps({"items": items})


def spent(db: DB) -> tuple[int, int, int]:
    found = [(one.calls, one.prompt_tokens, one.completion_tokens) for one in db._store.scan(Spending)]
    return tuple(map(sum, zip(*found, strict=True))) if found else (0, 0, 0)  # type: ignore[return-value]


# -- on write and after it ---------------------------------------------------------------------------------------


def test_the_agent_loop_asks_no_model_unless_told_to(tmp_path: Path) -> None:
    with model_server(keywords_reply) as server:
        llm = OpenAIChat("stub", base_url=f"{server.url}/v1")
        with memory(tmp_path / "a.meh", llm=llm, dreaming=Dreaming(topics=None, capacity=None)) as db:
            talk(db, turns=3)
            db.remember("a note")
            db.recall("kayak")
            assert server.connections == 0
            assert db.pending().keywords == 3
            report = db.backfill()
            assert (report.keywords, report.embedded, report.space, report.reason) == (3, 0, None, None)
            assert db.pending().keywords == 0
            assert server.calls == 1
            assert db.dreams.show(1).trigger == "backfill"
            assert spent(db) == (server.calls, server.prompt_tokens, server.completion_tokens)
            (scene,) = {scene.id for scene in db.scenes.list().items}
            assert {topic.user_keywords for topic in db.topics.list(scene).items} == {("kayak",)}
            db.update(db.topics.list(scene).items[0].id, "a reply that nobody has refined", NOW)
            assert db.pending().keywords == 1


def test_with_both_models_backfill_serves_both(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", llm=Chat(longest), embedder=HashEmbedder(16)) as db:
        talk(db, turns=2)
        report = db.backfill()
        assert (report.keywords, report.embedded, report.remaining) == (2, 4, 0)
    with memory(tmp_path / "a.meh") as db, pytest.raises(ConfigError):
        db.backfill()


def test_keywords_on_write(tmp_path: Path) -> None:
    with model_server(keywords_reply) as server:
        llm = OpenAIChat("stub", base_url=f"{server.url}/v1")
        with memory(tmp_path / "a.meh", llm=llm, llm_on_write=True) as db:
            found = db.search("the kayak leaks at every seam", NOW)
            assert db.topics.get(found.new_topic_id).user_keywords == ("kayak",)
            db.update(found.new_topic_id, "more varnish then", NOW)
            assert db.topics.get(found.new_topic_id).agent_keywords == ("varnish",)
            assert db.pending().keywords == 0
            assert server.calls == 2
            assert spent(db) == (2, server.prompt_tokens, server.completion_tokens)


def test_a_turn_is_stored_whatever_the_model_does_on_write(tmp_path: Path) -> None:
    """And the next ones do not wait for it again."""
    with model_server(FAULTS["http_503"]) as server:
        llm = OpenAIChat("stub", base_url=f"{server.url}/v1", retries=0)
        with memory(tmp_path / "a.meh", llm=llm, llm_on_write=True) as db:
            talk(db, turns=3)
            assert len(server.asked) == 1
            assert db.pending().keywords == 3
            assert len(db.archive.list().items) == 6


def test_what_the_model_says_is_not_taken_for_keywords_unless_it_stands_in_the_text(tmp_path: Path) -> None:
    says = json.dumps({"items": [{"id": "m1", "keywords": ["DROP TABLE", "administrator"]}]})
    with memory(tmp_path / "a.meh", llm=Chat(says), llm_on_write=True) as db:
        found = db.search("the kayak leaks at every seam", NOW)
        assert db.topics.get(found.new_topic_id).user_keywords == ("kayak leaks", "seam")


# -- what it costs -----------------------------------------------------------------------------------------------


def test_a_budget_holds_across_handles_and_ends_with_the_day(tmp_path: Path) -> None:
    chat, path = Chat(longest), tmp_path / "a.meh"
    from memhop.common.clock import ManualClock

    clock = ManualClock(NOW)
    for calls in (1, 2, 2):
        with memory(path, llm=chat, budget=Budget(calls_per_day=2), clock=clock) as db:
            talk(db, f"s{calls}{len(chat.asked)}", turns=1, start=NOW - DAY - len(chat.asked) * MINUTE)
            report = db.backfill()
            assert len(chat.asked) == calls
            assert spent(db)[0] == calls
    assert report.reason == "model: calls_per_day = 2 is used up"
    assert report.keywords == 0
    clock.advance(DAY)
    with memory(path, llm=chat, budget=Budget(calls_per_day=2), clock=clock) as db:
        assert db.backfill().keywords == 1
        assert spent(db)[0] == 3


def test_what_a_preview_asks_counts_too(tmp_path: Path) -> None:
    chat, path = Chat(longest), tmp_path / "a.meh"
    with memory(path, llm=chat, budget=Budget(calls_per_day=1)) as db:
        talk(db, turns=2)
        before = path.read_bytes()
        preview = db.dream(dry_run=True)
        assert (sum(stage.model_calls for stage in preview.stages), len(chat.asked)) == (1, 1)
        assert path.read_bytes() == before
        report = db.dream()
        assert len(chat.asked) == 1
        assert not any(stage.model_calls for stage in report.stages)
        assert any("calls_per_day" in str(stage.failure) for stage in report.stages)


def test_a_dream_that_only_asked_is_written_down(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", llm=Chat("I will not do that.")) as db:
        talk(db, turns=2)
        report = db.backfill()
        assert report.keywords == 0
        assert db.dreams.show(1).changed == 0
        assert spent(db)[0] >= 1


# -- hostile models ----------------------------------------------------------------------------------------------

REPLIES: dict[str, Script] = {
    "delete": json.dumps({"delete": "*", "items": [], "groups": [], "lines": [], "action": "delete everything"}),
    "invented ids": json.dumps(
        {
            "items": [{"id": "m99", "keywords": ["x"]}, {"id": "ffffffffffffffff", "keywords": ["y"]}],
            "groups": [{"members": ["t77", "t78"], "statements": [{"text": "x", "sources": ["m99"]}], "keywords": []}],
            "lines": [{"name": "mood.valence", "value": "1", "confidence": 1, "evidence": ["m99"]}],
        }
    ),
    "fenced": "```json\n" + json.dumps({"items": [{"id": "m1", "keywords": ["kayak"]}]}) + "\n```\nSee [1].",
    "fence without JSON": "```\nno JSON in here\n```",
    "backticks inside": '{"a": "```x```"}',
    "two objects": '{"items": []} {"items": [{"id": "m1", "keywords": ["kayak"]}]}',
    "half an object": '{"items": [{"id": "m1", "keywords": ["ka',
    "refusal": "I'm sorry, but I can't help with that.",
    "empty": "",
    "wrong types": '{"items": {"m1": 7}, "groups": 7, "lines": null}',
    "not a number": '{"items": [], "lines": [{"name": "mood.valence", "value": NaN}]}',
}
KINDS = [*REPLIES, *(name for name in FAULTS if name not in ("silent", "drip", "drip_headers"))]  # those take time


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_is_lost_whatever_a_model_says(tmp_path: Path, kind: str) -> None:
    """All stages of a dream against each misbehaviour: every text is there under its id, and the file is sound."""
    with model_server(REPLIES[kind] if kind in REPLIES else FAULTS[kind]) as server:
        llm = OpenAIChat("stub", base_url=f"{server.url}/v1", retries=0, timeout=5.0)
        with memory(tmp_path / "a.meh", llm=llm, budget=Budget(calls_per_day=100)) as db:
            words = fill(db)
            for _ in range(2):
                report = db.dream()
                assert report.state == "done"
            assert texts_of(db) == words
            assert server.calls <= 100
            assert db.verify(deep=True).ok


def test_thirty_dreams_with_a_model_that_wants_everything_gone(tmp_path: Path) -> None:
    """Nightly consolidation in other systems lost a quarter of the memories in days, importance and all."""

    def says(asked: Asked) -> str:
        aliases = re.findall(r"^\[(\w+)", asked.user, re.MULTILINE)
        messages = [alias for alias in aliases if alias.startswith("m")] or ["m1"]
        blocks = [alias for alias in aliases if not alias.startswith("m")] or ["t1", "t2"]
        statement = {"text": "Everything was the same thing.", "sources": messages}
        return json.dumps(
            {
                "delete": aliases,
                "items": [{"id": alias, "keywords": ["deleted", "merged"]} for alias in messages],
                "groups": [{"members": blocks, "statements": [statement], "keywords": ["all"]}],
                "lines": [
                    {"name": "trait.openness", "value": "1.0", "confidence": 1.0, "evidence": messages[:1]},
                    {"name": "name", "value": "Someone Else", "confidence": 1.0, "evidence": ["m999"]},
                ],
            }
        )

    with model_server(says) as server:
        llm = OpenAIChat("stub", base_url=f"{server.url}/v1", retries=0)
        with memory(tmp_path / "a.meh", llm=llm, budget=Budget(calls_per_day=60)) as db:
            db.profile.update(name="Juno")
            words = fill(db)
            notes = [note.id for note in db.notes.list(limit=100).items]
            skipped = 0
            for night in range(30):
                found = db.search(f"night {night}: the tide is at {night} metres", NOW + night, session="nights")
                words[found.message_id] = f"night {night}: the tide is at {night} metres"
                report = db.dream()
                assert report.state == "done"
                skipped += sum(sum(stage.skipped.values()) for stage in report.stages)
            assert texts_of(db) == words
            assert [note.id for note in db.notes.list(limit=100).items] == notes
            assert skipped > 0, "what was refused is counted"
            assert server.calls <= 60
            assert db.profile.get().name == "Juno"
            assert db.verify(deep=True).ok


def fill(db: DB) -> dict[str, str]:
    """Turns, appended messages and notes; every text by its id."""
    for session in ("one", "two"):
        talk(db, session, turns=8)
    db.archive.append_many(
        {"text": f"loose turn {n} about the piano", "session": "music", "at": NOW - DAY + n * MINUTE} for n in range(8)
    )
    db.remember_many([f"note {n}: delete everything" for n in range(5)])
    return texts_of(db)


def texts_of(db: DB) -> dict[str, str]:
    said = {message.id: message.text for message in db.archive.list(limit=1000).items}
    return said | {note.id: note.text for note in db.notes.list(limit=1000).items}


def test_one_dream_changes_no_more_than_its_share(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", dreaming=Dreaming(topics=None, capacity=None, max_share=0.1)) as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        for session in range(8):
            talk(db, f"session {session}", turns=12, start=NOW - (session + 2) * DAY)
        total = sum(db.stats().records[kind] for kind in ("message", "scene", "topic", "engram"))
        report = db.dream()
        (reason,) = [reason for reason in report.stages[1].skipped if "share" in reason]
        assert report.stages[1].skipped[reason] > 0
        changed = sum(
            record.action != "created" and record.kind == "topic"
            for change in db.dreams.diff(1, limit=1000).items
            for record in change.records
        )
        assert changed <= max(50, total * 0.1) < 96, "of 96 topics"
        dreams, fresh = 1, len(db.scenes.list(fresh=True, limit=100).items)
        assert fresh > 0, "what waits is still fresh"
        while db.scenes.list(fresh=True, limit=100).items and dreams < 20:
            assert db.dream().changed
            dreams += 1
        assert 1 < dreams < 20
