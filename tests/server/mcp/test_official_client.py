"""The official client over standard input and output, in both eras of the protocol."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

from memhop import DB
from memhop.server.toolsets import toolset
from tests.support.mcp_server import command

# Root without its right to ignore permissions (capabilities 1 and 2, see capabilities(7)); others have none anyway.
UNPRIVILEGED = (
    sys.executable,
    "-c",
    "import ctypes, os, sys\n"
    "if os.geteuid() == 0: [ctypes.CDLL(None).prctl(24, right, 0, 0, 0) for right in (1, 2)]\n"
    "os.execv(sys.argv[1], sys.argv[1:])",
)
TYPED = ("--file", "PATH", "--tools", "full")  # what `command` ends in
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
HANG_S = 120.0


def talk(
    path: Path, era: str, act: Callable[[Client], Awaitable[None]], *options: str, before: Sequence[str] = ()
) -> None:
    """Let a client start a server, talk with it, and end it.

    Args:
        before: What starts the server in place of the client.
    """

    async def run() -> None:
        program, *arguments = [*before, *command(path, *options)]
        parameters = StdioServerParameters(command=program, args=arguments, env=inherited())
        with anyio.fail_after(HANG_S):
            async with Client(parameters, mode=era) as client:
                await act(client)

    anyio.run(run)


def inherited() -> dict[str, str]:
    """What the server needs to find this package."""
    import memhop

    return {"PYTHONPATH": str(Path(memhop.__file__).parent.parent), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "always"}


def said(result: Any) -> str:
    """The text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("era", ERAS)
def test_a_session_of_the_official_client(era: str, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"

    async def act(client: Client) -> None:
        assert client.protocol_version == ERAS[era]
        assert client.server_info is not None
        assert client.server_info.name == "memhop"
        assert client.instructions is not None
        assert client.instructions.startswith("Long-term memory")
        listed = (await client.list_tools()).tools
        assert [one.name for one in listed] == list(toolset("core"))
        stored = await client.call_tool("memhop_remember", {"text": "We chose SQLite, one writer", "kind": "decision"})
        assert not stored.is_error
        note = stored.structured_content["id"]
        assert isinstance(note, str)
        found = await client.call_tool("memhop_recall", {"query": "which database was chosen?"})
        assert note in said(found)
        assert found.structured_content["hits"][0]["id"] == note
        refused = await client.call_tool("memhop_recall", {"query": "x", "kinds": [5], "no_such": 1})
        assert refused.is_error
        assert "no_such" in said(refused)
        for name in ("no_such_tool", ""):
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool(name, {})
        (brief,) = (await client.list_resources()).resources
        assert brief.uri == "memhop://brief"
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["memhop://note/{id}", "memhop://scene/{id}"]
        for uri in (brief.uri, f"memhop://note/{note}"):
            (content,) = (await client.read_resource(uri)).contents
            assert isinstance(content, TextResourceContents)
            assert "SQLite" in content.text
        for uri in ("memhop://note/0123456789abcdef", "memhop://note/zzz", "memhop://no", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        prompts = {one.name: one for one in (await client.list_prompts()).prompts}
        assert prompts.keys() == {"session_start", "session_end", "summarise_project"}
        (message,) = (await client.get_prompt("summarise_project", {"project": "web"})).messages
        assert isinstance(message.content, TextContent)
        assert "“web”" in message.content.text
        for name, given in (("no", {}), ("session_start", {"no": "x"}), ("session_start", {"project": "a\nb"})):
            with pytest.raises(MCPError):
                await client.get_prompt(name, given)
        await twenty_at_once(client)

    talk(path, era, act, "--tools", "core")
    with DB.open(path) as db:
        assert db.stats().records["note"] == 21


async def twenty_at_once(client: Client) -> None:
    """Twenty calls in flight at the same time; all are answered and all are stored."""
    results: dict[int, Any] = {}

    async def store(number: int) -> None:
        results[number] = await client.call_tool("memhop_remember", {"text": f"note {number} of twenty"})

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(store, number)
    assert {number for number, one in results.items() if one.structured_content["created"]} == set(range(20))
    listed = await client.call_tool("memhop_note_list", {"limit": 100})
    texts = {one["text"] for one in listed.structured_content["items"]}
    assert {f"note {number} of twenty" for number in range(20)} <= texts


def test_structured_content_is_what_the_schema_promises(tmp_path: Path) -> None:
    """The client checks each result against the schema of its tool; here it does for every tool that only reads."""
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        note = db.remember("We chose SQLite, one writer", kind="decision", tags=["db"], metadata={"why": "one writer"})
        db.remember("open", kind="bug", project="web")
        topic = db.search("where are the kayaks?").new_topic_id
        db.update(topic, "in the shed")
        scene = db.scenes.list().items[0].id
    known: dict[str, Any] = {"id": note.id, "query": "SQLite", "scene_id": scene, "topic_id": topic, "project": "web"}

    async def act(client: Client) -> None:
        checked = 0
        for one in (await client.list_tools()).tools:
            assert one.annotations is not None
            if not one.annotations.read_only_hint:
                continue
            needed = one.input_schema.get("required", [])
            if not all(name in known for name in needed):
                continue
            result = await client.call_tool(one.name, {name: known[name] for name in needed})
            if one.output_schema is not None and not result.is_error:
                Draft202012Validator(one.output_schema).validate(result.structured_content)
                checked += 1
        assert checked >= 10

    talk(path, "auto", act)


def test_a_folder_that_may_only_be_read(tmp_path: Path) -> None:
    """What is in it can be recalled, no usage is counted, and storing says which permission is missing."""
    folder = tmp_path / "closed"
    folder.mkdir()
    with DB.open(folder / "a.meh") as db:
        db.remember("tea is hot")
    (folder / "a.meh").chmod(0o444)
    before = (folder / "a.meh").read_bytes()
    folder.chmod(0o555)

    async def act(client: Client) -> None:
        assert "tea is hot" in said(await client.call_tool("memhop_recall", {"query": "tea"}))
        refused = await client.call_tool("memhop_remember", {"text": "coffee"})
        assert refused.is_error
        assert "ermission" in said(refused)
        assert "tea is hot" in said(await client.call_tool("memhop_recall", {"query": "tea"}))

    try:
        talk(folder / "a.meh", "auto", act, before=UNPRIVILEGED)
    finally:
        folder.chmod(0o755)
    assert (folder / "a.meh").read_bytes() == before


def test_settings_stand_in_for_what_is_not_typed(tmp_path: Path) -> None:
    """Clients that pass no arguments pass an environment."""
    given = {
        "MEMHOP_FILE": str(tmp_path / "a.meh"),
        "MEMHOP_MCP_TOOLS": "hemisphere",
        "MEMHOP_MCP_PROJECT": "web",
    }
    program, *arguments = command(tmp_path / "b.meh")[: -len(TYPED)]
    parameters = StdioServerParameters(command=program, args=arguments, env=inherited() | given)

    async def run() -> None:
        with anyio.fail_after(HANG_S):
            async with Client(parameters) as client:
                assert client.instructions is not None
                assert "memory_store" in client.instructions
                assert len((await client.list_tools()).tools) == 17
                await client.call_tool("memory_store", {"project": "web", "content": "tea"})

    anyio.run(run)
    with DB.open(tmp_path / "a.meh", create=False) as db:
        assert [note.project for note in db.notes.list().items] == ["web"]
