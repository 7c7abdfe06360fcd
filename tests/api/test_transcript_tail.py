"""The end of a transcript says what the whole one says, however much of it is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memhop import DB, StorageError
from memhop.api.transcript_tail import keep, tail
from tests.support.hooks import transcript


def long_answer(path: Path, answer: str, *parts: str) -> None:
    """Several lines that are one answer, with a tool call between them."""
    with path.open("a", encoding="utf-8") as file:
        for number, part in enumerate(parts):
            for content in ({"type": "text", "text": part}, {"type": "tool_use", "id": "t", "name": "x", "input": {}}):
                line = {
                    "type": "assistant",
                    "uuid": f"{answer}-{number}-{content['type']}",
                    "sessionId": "s1",
                    "timestamp": "2026-05-01T09:00:00.000Z",
                    "message": {"id": answer, "role": "assistant", "content": [content]},
                }
                file.write(json.dumps(line) + "\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = transcript(tmp_path / "log.jsonl", ("a", "user", "Which database?"))
    long_answer(found, "m1", "Let me look.", "SQLite, it seems.", "Yes: 鼓浪屿.")
    transcript(found, ("c", "user", "And the indentation?"))
    long_answer(found, "m2", "Tabs.", "In every file.")
    return found


def test_no_part_of_an_answer_is_taken_for_the_whole(path: Path) -> None:
    """Cut anywhere, also within a line or a character: what comes is the end of what the whole one says."""
    whole = list(tail(path, 1 << 20))
    assert [(one["role"], one["external_id"]) for one in whole] == [
        ("user", "claude_code:a"),
        ("agent", "claude_code:m1-0-text"),
        ("user", "claude_code:c"),
        ("agent", "claude_code:m2-0-text"),
    ]
    assert whole[3]["text"] == "Tabs.\n\nIn every file."
    sizes = set()
    for last_bytes in range(path.stat().st_size + 2):
        part = list(tail(path, last_bytes))
        assert part == whole[len(whole) - len(part) :]
        sizes.add(len(part))
    assert sizes == {0, 2, 4}


def test_what_is_known_stays_and_the_rest_comes(path: Path, tmp_path: Path) -> None:
    """An answer that was stored while it was being written stays as it was: messages are not edited."""
    with DB.open(tmp_path / "agent.meh") as db:
        assert keep(db, tail(path, 1 << 20)) == 4
        assert keep(db, tail(path, 1 << 20)) == 0
        long_answer(path, "m2", "And in the tests.")
        transcript(path, ("d", "user", "Thanks"))
        assert keep(db, tail(path, 1 << 20)) == 1
        texts = [one.text for one in db.archive.list(session="s1").items]
    assert {"Tabs.\n\nIn every file.", "Thanks"} <= set(texts)
    assert len(texts) == 5


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path, Path("/dev/zero")):
        with pytest.raises(StorageError):
            list(tail(path, 1 << 20))
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 100)
    assert list(tail(tmp_path / "noise", 1 << 20)) == []
