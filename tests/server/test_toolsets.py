"""What a client is shown: sets that hold together."""

from __future__ import annotations

import json
import re

import pytest

from memhop.common.errors import InvalidRequest
from memhop.server.toolsets import TOOLSETS, toolset


@pytest.mark.parametrize("name", TOOLSETS)
def test_no_tool_speaks_of_one_that_is_not_shown(name: str) -> None:
    shown = toolset(name)
    for tool, operation in shown.items():
        text = operation.about + json.dumps(operation.parameters.schema())
        spoken = set(re.findall(r"\b(?:memhop|memory|project)_[a-z_]+[a-z]\b", text)) & every_tool()
        assert spoken <= set(shown), f"{tool} speaks of {sorted(spoken - set(shown))}"


def every_tool() -> set[str]:
    return {tool for name in TOOLSETS for tool in toolset(name)}


def test_the_sets_grow_and_begin_alike() -> None:
    core, notes, full = (list(toolset(name)) for name in ("core", "notes", "full"))
    assert len(core) <= 12
    assert notes[: len(core)] == core
    assert full[: len(notes)] == notes
    assert len(toolset("hemisphere")) == 17


def test_a_set_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="core"):
        toolset("everything")
