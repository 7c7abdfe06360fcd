"""Rows about the command line: words that are syntax elsewhere, and terminals that lack signs."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop import DB
from tests.cli.running import here, memhop

VERY_STRINGS = ("it's", "gateway/run.py", "user@host", "a,b", "why?", "e=mc2", "#tag", "[x]")
SYNTAX = ("status: done", 'timeout "error', "retry OR", "pre-edit", "AND", "NEAR(", "*", "-x", "a:b")


@pytest.mark.parametrize("text", VERY_STRINGS)
def test_row_33_a_very_string_is_found_from_the_command_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        wanted = db.remember(f"we spoke of {text} at length").id
        db.remember_many([f"another matter {number}" for number in range(20)])
    ran = here("recall", text, "--json", "--file", path)
    assert ran.code == 0
    assert ran.json()["hits"][0]["id"] == wanted


@pytest.mark.parametrize("text", SYNTAX)
def test_row_34_signs_of_query_languages_are_words_from_the_command_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember("a timeout error made us retry; the status is done; pre-edit x near a b and more")
    ran = here("recall", "--json", "--file", path, "--", text)
    assert ran.code in (0, 1)
    assert ran.json()["query"] == text
    assert ran.code == (1 if text == "*" else 0) or text in ("AND", "a:b")


@pytest.mark.parametrize("text", ["main.py", "main", "src/ma", "src/main.py"])
def test_row_35_a_path_is_found_by_its_parts_from_the_command_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember("the entry point is src/main.py")
    assert here("recall", text, "--file", path).code == 0


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "cp1251"},
        {"PYTHONIOENCODING": "cp950"},
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_row_51_what_a_terminal_lacks_is_replaced(env: dict[str, str], tmp_path: Path) -> None:
    """Decorative signs crashed the printing after the long work. `tests/cli/test_every_command.py` tries them all."""
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember("✓ 鼓浪屿 → café 🎉 ready")
    for args in (("recall", "ready", "--explain"), ("show", "000000")):
        ran = memhop(*args, "--file", path, env=env)
        assert ran.code == (0 if args[0] == "recall" else 1)
        assert "ready" in ran.out or args[0] == "show"
