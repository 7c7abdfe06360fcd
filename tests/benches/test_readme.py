"""No figure in the README was typed by hand: they are what the committed results say."""

from __future__ import annotations

from benches import readme


def test_the_readme_shows_the_committed_figures() -> None:
    assert readme.main(["--check"]) == 0, "run: python -m benches.readme"


def test_replacing_keeps_what_stands_around() -> None:
    text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n"
    assert readme.updated(text, "new") == f"before\n{readme.BEGIN}\nnew\n{readme.END}\nafter\n"
