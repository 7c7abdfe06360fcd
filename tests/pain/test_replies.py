"""Replies that a client can afford. tests/server/test_bounded.py looks at each operation more closely."""

from __future__ import annotations

import json

from memhop.server.operations.hemisphere import HEMISPHERE
from memhop.server.toolsets import TOOLSETS, toolset
from tests.support.asked import ROWS
from tests.support.large_memory import World
from tests.support.mcp_server import Served
from tests.support.processes import Starter

MOST = 25_000  # characters


def test_row_82_every_tool_on_defaults_fits_and_says_what_was_cut(start: Starter, large: World) -> None:
    """One call returned 50,000 to 80,000 tokens; a client refuses more than 25,000."""
    for tools in ("full", "hemisphere"):
        with Served(start, large.path, "--tools", tools) as server:
            server.handshake()
            listed = server.answer(server.ask("tools/list"))["result"]["tools"]
            assert [name for one in listed if not (name := one["name"]).startswith("test_")] == list(toolset(tools))
            asked = [one for one in toolset(tools).values() if one.reads]
            for operation in asked:
                result = server.call(operation.name, **ROWS[operation.name](large))
                assert not result.get("isError"), result
                said = "".join(part["text"] for part in result["content"])
                structured = result.get("structuredContent")
                assert 2 < len(said) + (len(json.dumps(structured, ensure_ascii=False)) if structured else 0) < MOST
            if tools == "full":
                cut = server.data("memhop_note_list", limit=100)
                assert cut["cut"]["limit"] < 100
                assert cut["next"], "the cursor leads on"


def test_row_82_the_tools_are_those_of_the_sets() -> None:
    shown = {name for tools in TOOLSETS for name in toolset(tools)}
    assert shown == ROWS.keys()
    assert shown > HEMISPHERE.keys()
