"""Rows about storing notes: blank texts, the same words twice, what belongs to the user, and what must be gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memhop import InvalidRequest
from tests.support.memories import memory


@pytest.mark.parametrize("text", ["", "\n\t", "   ", "\u200b", None, {}])
def test_row_32_blank_text_is_refused(tmp_path: Path, text: Any) -> None:
    """It was stored, or success was reported with id null."""
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("kept")
        for write in (
            lambda: db.remember(text),
            lambda: db.remember_many(["good", {"text": text}]),
            lambda: db.remember_many([{}]),
            lambda: db.notes.update(note.id, text=text if text is not None else ""),
        ):
            with pytest.raises(InvalidRequest):
                write()
        assert db.notes.list().total == 1
        assert db.notes.get(note.id) == db.notes.list().items[0]


def test_row_53_a_line_end_does_not_make_it_another_note(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        first = db.remember("the ferry leaves at seven")
        for text in ("the ferry leaves at seven\n", "\nthe ferry leaves at seven", "the ferry leaves at seven \r\n"):
            assert db.remember(text).id == first.id
        assert db.notes.list().total == 1
        assert db.notes.get(first.id).text == "the ferry leaves at seven"


def test_row_68_what_somebody_wrote_stays_as_it_was_written(tmp_path: Path) -> None:
    """A background agent deleted what the user had written by hand. Near copies stay beside each other, dreams change
    no note, and what an agent does change can be told and taken back."""
    path = tmp_path / "a.meh"
    with memory(path, actor="user") as db:
        mine = db.remember("Mara is allergic to walnuts", tags=["mine"])
    with memory(path, actor="agent") as db:
        theirs = db.remember("Mara is allergic to walnuts and hazelnuts")
        db.dream()
        assert db.notes.list().total == 2
        assert (db.notes.get(mine.id).rev, db.notes.get(mine.id).actor) == (1, "user")
        db.notes.link(theirs.id, mine.id, "supersedes")
        db.notes.update(mine.id, text="gone")
        db.notes.trash(mine.id)
        acts = [(item.act, item.actor) for item in db.notes.history(mine.id).items]
        assert acts == [("trash", "agent"), ("edit", "agent"), ("supersede", "agent"), ("create", "user")]
        db.notes.restore(mine.id)
        db.notes.revert(mine.id, 1)
        assert db.notes.get(mine.id).text == "Mara is allergic to walnuts"
