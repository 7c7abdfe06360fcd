"""Rows 69 and 70: whatever a model says and a model service does, no word is lost and no write stops."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

from memhop import DB, ChatError, OllamaEmbedder, OpenAIChat
from memhop.api.results import DreamReport
from memhop.common.clock import ManualClock
from tests.support.embedding_server import EmbeddingServer
from tests.support.memories import DAY, MINUTE, NOW, every, memory
from tests.support.model_server import Script, closed, html, model_server, silent, status
from tests.support.scripted_chat import ScriptedChat

GROUPS = '{"groups": [{"topics": ["t1", "t2"], "statements": [{"text": "x", "sources": ["m1"]}], "keywords": ["x"]}]}'
REPLIES = {
    "in a fence": f"```json\n{GROUPS}\n```",
    "a fence without JSON": "```\nnothing to do\n```",
    "backticks in a string": '{"a": "```x```"}',
    "prose behind it": f"{GROUPS} See [1] and {{braces}}.",
    "two objects": f"{GROUPS}\n{GROUPS}",
    "half an object": GROUPS[: len(GROUPS) // 2],
    "a refusal": "I cannot help with that request.",
    "empty": "",
    "ten megabytes": "x" * 10_000_000,
    "wrong types": '{"groups": "all", "items": 7, "lines": {"name": 1}}',
    "ids that do not exist": GROUPS.replace("t1", "t999").replace("m1", "m999"),
}
CODE = 'std::map<std::string, int> m = {{"a", 1}}; // ``` [x] {y}'


def talk(db: DB) -> list[str]:
    """Two conversations on one thing, code among it; gives what was said."""
    said = []
    for number in range(12):
        more = f" {CODE}" if number == 5 else ""
        said.append(f"the oven of the bakery, part {number % 3}, was set to {200 + number} degrees{more}")
        db.search(said[-1], NOW - DAY + number * MINUTE, session=f"s{number // 6}", token_budget=0)
    return said


@pytest.mark.parametrize("reply", REPLIES)
def test_row_69_whatever_a_model_says_no_word_is_lost_and_nothing_is_half_done(tmp_path: Path, reply: str) -> None:
    """Fences, prose, half an object, code in the memory: a parse error, and the text was gone."""
    with memory(tmp_path / "a.meh", llm=ScriptedChat(REPLIES[reply])) as db:
        said = talk(db)
        report: DreamReport = db.dream()
        assert report.state == "done"
        assert [message.text for message in every(db.archive.list)] == said
        for stage in report.stages:
            assert stage.failure is None or len(stage.failure) < 500, "told in a line"
        db.trajectory.append_many("s0", [{"type": "tool_call", "payload": CODE}] * 6)
        with suppress(ChatError):  # told, where the model cost all that the day allows
            db.crystallize("s0")
        assert db.verify(deep=True).ok
        if report.number is not None and report.undoable:
            db.dreams.undo(report.number)
            assert [message.text for message in every(db.archive.list)] == said


SERVICES: dict[str, tuple[str, Script]] = {
    "sleeps": ("slow", silent),
    "429": ("http_429", status(429, "rate limit", retry_after="60")),
    "closes the socket": ("closed", closed),
    "HTML": ("html", html),
}


@pytest.mark.parametrize("kind", SERVICES)
def test_row_70_writing_never_waits_for_a_model_service(tmp_path: Path, kind: str) -> None:
    """The queue grew, "failed: 0" was shown, and nothing was ever stored; the configured time limit was ignored."""
    path = tmp_path / "a.meh"
    fault, script = SERVICES[kind]
    with EmbeddingServer() as vectors, model_server(script) as texts:
        vectors.faults = [fault] * 1_000
        embedder = OllamaEmbedder(vectors.url, "m", timeout=0.3, retries=0)
        llm = OpenAIChat("stub", base_url=f"{texts.url}/v1", timeout=0.3, retries=0)
        with memory(path, embedder=embedder, llm=llm) as db:
            note = db.remember("the kayak leaks")
            turn = db.search("where is the kayak?", NOW)
            assert not vectors.requests
            assert texts.connections == 0, "not for a write"
            with memory(path, mode="read") as other:
                assert other.notes.get(note.id).text == "the kayak leaks", "it is on the disk"
                assert other.archive.get(turn.message_id).text == "where is the kayak?"
            start = time.monotonic()
            report = db.backfill()
            assert time.monotonic() - start < 20, "the time limit of 0.3 s is kept, not one of a minute"
            assert (report.embedded, report.remaining) == (0, 2)
            assert report.reason
            assert db.pending().without_vector == 2
            assert db.recall("kayak").hits, "and words answer"
        vectors.faults = []
        with memory(path, embedder=embedder, clock=ManualClock(NOW + DAY)) as db:
            assert db.backfill().remaining == 0
