"""A file of another program is changed while that program, or another call of ours, changes it, too."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memhop import StorageError
from memhop.cli.edited_file import edit, preview


def test_what_the_program_writes_in_between_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("old\n")
    seen = []

    def change(text: str | None, before: str | None) -> str | None:
        seen.append(text)
        if len(seen) == 1:
            path.write_text("old\nwritten in between\n")
        return f"{text}ours\n"

    done = edit(path, change, copies=lambda _: True)
    assert path.read_text() == "old\nwritten in between\nours\n" == done.new
    assert seen == ["old\n", "old\nwritten in between\n"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["settings.json", "settings.json.before-memhop"]
    assert (tmp_path / "settings.json.before-memhop").read_text() == "old\nwritten in between\n"


def test_a_program_that_never_stops_writing_wins(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("0")

    def change(text: str | None, before: str | None) -> str | None:
        path.write_text(f"{int(text or 0) + 1}")
        return "ours"

    with pytest.raises(StorageError, match="again and again"):
        edit(path, change, copies=None)
    assert path.read_text() == "5"


def test_another_call_waits(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("old\n")

    def theirs() -> None:
        edit(path, lambda text, _: f"{text}theirs\n", copies=None)

    other = threading.Thread(target=theirs)

    def change(text: str | None, before: str | None) -> str | None:
        other.start()
        other.join(0.3)
        assert other.is_alive(), "it did not wait"
        return f"{text}ours\n"

    edit(path, change, copies=None)
    other.join(60)
    assert path.read_text() == "old\nours\ntheirs\n"


def test_a_look_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "settings.json"
    shown = preview(path, lambda text, _: "new\n")
    assert shown.changed
    assert shown.diff().splitlines()[-1] == "+new"
    assert list(tmp_path.iterdir()) == []
