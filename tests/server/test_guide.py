"""The guide has each tool of each set, with each of its parameters, their bounds and defaults, and its scope."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from memhop.server.toolsets import CORE, NOTES, TOOLSETS, toolset
from tests.server.guide import EVERY, parameter_cell, rows, scope_cell

GUIDE = (Path(__file__).resolve().parents[2] / "INTEGRATION_GUIDE.md").read_text("utf-8")
ROWS = rows(GUIDE.partition("\n## Servers\n")[2].partition("\n## ")[0])


@pytest.mark.parametrize("name", EVERY)
def test_every_tool_is_in_the_guide_as_it_is(name: str) -> None:
    assert name in ROWS, f"no row begins with | `{name}` |; `python -m tests.server.guide {name}` prints one"
    _, parameters, returns, scope = ROWS[name]
    assert parameters == (parameter_cell(EVERY[name]) or "–")
    assert scope == scope_cell(EVERY[name])
    assert len(returns) > 3, "it says what it returns"


def test_the_guide_says_what_is_in_the_small_sets() -> None:
    for name in CORE:
        assert f"**`{name}`**" in GUIDE, f"{name} is not among the core tools"
    assert GUIDE.count("**`memhop_") == len(CORE)


def test_small_sets_are_small_and_each_holds_the_one_before() -> None:
    assert len(CORE) <= 12
    assert len(set(NOTES)) == len(NOTES)
    sets = [list(toolset(name)) for name in ("core", "notes", "full")]
    for smaller, larger in pairwise(sets):
        assert larger[: len(smaller)] == smaller, "in the same order, so that a prompt that names them stays true"
    assert sorted({one for name in TOOLSETS for one in toolset(name)}) == sorted(EVERY), "each is shown by some set"


@pytest.mark.parametrize("name", EVERY)
def test_descriptions_are_written_for_a_model(name: str) -> None:
    """When to use it, when not, an example; within what clients keep of a description."""
    one = EVERY[name]
    assert 50 <= len(one.about) <= 1_000
    assert "Example: {" in one.about or not one.parameters.kinds
    assert one.about.isascii()
    for parameter, kind in one.parameters.kinds.items():
        assert len(kind.about) > 3, f"{parameter} says nothing"
        assert len(kind.about) <= 300
