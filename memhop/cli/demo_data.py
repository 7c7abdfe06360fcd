"""The conversation of the demo: 246 turns of Mara and her agent Juno in 17 sessions, and questions about it.

It was written for this purpose and is fiction. Each question names the lines that answer it, so that what recall
finds can be judged.
"""

from __future__ import annotations

import json
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from memhop.common.clock import Clock, ManualClock, SystemClock, to_ms

if TYPE_CHECKING:
    from memhop import DB

_DATA = files("memhop.cli") / "data"


class Turn(NamedTuple):
    """One message. `at` is in Unix milliseconds."""

    session: str
    speaker: str
    role: str
    at: int
    text: str


class Question(NamedTuple):
    """A question. `evidence` are the line numbers (from 0) that answer it, none when nothing does."""

    text: str
    asked_at: int
    shows: str
    evidence: tuple[int, ...]
    answer: str


def load_turns() -> tuple[Turn, ...]:
    """The turns in order; a user's turn is always followed by the agent's reply."""
    lines = (_DATA / "demo_conversation.jsonl").read_text("utf-8").splitlines()
    return tuple(Turn(**(values | {"at": _at(values["at"])})) for values in map(json.loads, lines))


def load_questions() -> tuple[Question, ...]:
    """The questions in the order they are asked."""
    listed = json.loads((_DATA / "demo_questions.json").read_text("utf-8"))
    return tuple(
        Question(item["question"], _at(item["asked_at"]), item["shows"], tuple(item["evidence"]), item["answer"])
        for item in listed
    )


def _at(text: str) -> int:
    return to_ms(datetime.fromisoformat(text), field="at")


def demo_clock() -> Clock:
    """The machine's clock, unless it is behind the story, whose turns would then lie in the future."""
    asked = max(question.asked_at for question in load_questions())
    clock = SystemClock()
    return clock if clock.now_ms() >= asked else ManualClock(asked)


def store_turn(db: DB, turn: Turn, topic_id: str) -> tuple[str, str]:
    """Store one turn as an agent would: `search` for the user's message, `update` for the reply to it.

    Args:
        topic_id: Of the user's turn before; "" if there is none.

    Returns:
        The message's id, and the topic's for the reply.
    """
    if turn.role == "user":
        found = db.search(turn.text, turn.at, session=turn.session, speaker=turn.speaker)
        return found.message_id, found.new_topic_id
    return db.update(topic_id, turn.text, turn.at, role=turn.role, speaker=turn.speaker).id, topic_id
