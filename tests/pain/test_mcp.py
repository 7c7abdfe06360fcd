"""Rows of section 5 of what users of such memories suffer from, where a client starts the server itself: what is
printed breaks the protocol, what is loaded first comes too late, and what JavaScript makes of numbers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

from memhop.server.mcp.protocol import tool
from memhop.server.operations import OPERATIONS
from tests.support.mcp_server import HANDSHAKE, Served
from tests.support.memories import memory
from tests.support.processes import HANG_S, Starter

SAFE = 2**53  # the largest number that JavaScript keeps whole


def asked(
    path: Path, requests: list[dict[str, Any]], *options: str, prelude: str = "", python: tuple[str, ...] = ()
) -> tuple[bytes, bytes]:
    """What a server that is started cold says on both of its streams when it is asked all of it at once."""
    argv = ["memhop", "mcp", "--file", str(path), *options]
    code = f"{prelude}\nfrom tests.support.mcp_server import main\nmain({argv})"
    lines = [{"jsonrpc": "2.0", "id": number, **one} for number, one in enumerate(requests, 1)]
    with subprocess.Popen(
        [sys.executable, *python, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        limit = Timer(HANG_S, server.kill)
        limit.start()
        server.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in lines))
        server.stdin.flush()
        output = b"".join(server.stdout.readline() for _ in requests)
        rest, errors = server.communicate()
        limit.cancel()
    assert server.returncode == 0, errors
    return output + rest, errors


def answers(output: bytes) -> dict[int, Any]:
    """The answers by id. Every line must be a message of JSON-RPC."""
    found = [json.loads(line) for line in output.splitlines()]
    assert all(one["jsonrpc"] == "2.0" for one in found)
    return {one["id"]: one.get("result", one.get("error")) for one in found}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}


def test_row_81_nothing_but_the_protocol_on_standard_output(tmp_path: Path) -> None:
    """With all warnings and all logging on, a file that is made at the first write, and libraries that print from
    Python, from C, by descriptor and from a child, which also must not eat the requests."""
    requests = [
        {"method": "initialize", "params": HANDSHAKE},
        call("memhop_remember", text="我们住在鼓浪屿: tea"),
        *(call("test_noise") for _ in range(3)),
        call("test_fault"),
        call("memhop_recall", query="鼓浪屿"),
    ]
    options = ("--tools", "full", "--debug")
    output, errors = asked(tmp_path / "a.meh", requests, *options, python=("-W", "always", "-X", "dev"))
    found = answers(output)
    assert found.keys() == set(range(1, len(requests) + 1))
    for number in (3, 4, 5):
        assert found[number]["structuredContent"]["read"] == "", "standard input is empty for everybody else"
        inherited = set(found[number]["structuredContent"]["of_a_child"])
        assert inherited <= {"0", "1", "2", "3"}, "3 is that of the listing itself"
    assert found[6]["isError"]
    for noise in (b"printed", b"by descriptor", b"from C", b"from a child", b"a warning", b"memhop mcp: "):
        assert noise in errors
        assert noise not in output


def test_row_83_nothing_is_opened_or_loaded_before_the_client_is_answered(tmp_path: Path) -> None:
    """The file is a pipe that nobody writes to: whoever opens it waits for ever. No address is looked up, and neither
    the indexes nor a model is loaded."""
    path = tmp_path / "a.meh"
    os.mkfifo(path)
    watch = (
        "import os, sys\n"
        "def watch(event, args):\n"
        "    bad = event in ('socket.connect', 'socket.getaddrinfo', 'socket.bind')\n"
        "    bad |= event == 'open' and str(args[0]).endswith('.meh')\n"
        "    bad |= event == 'import' and args[0] in ('numpy', 'msgspec', 'jieba', 'rapidfuzz', 'openai')\n"
        "    if bad: os.write(2, f'{event} {args[0]}\\n'.encode())\n"
        "sys.addaudithook(watch)"
    )
    requests: list[dict[str, Any]] = [
        {"method": "initialize", "params": HANDSHAKE},
        {"method": "tools/list"},
        {"method": "resources/list"},
        {"method": "prompts/list"},
    ]
    output, errors = asked(path, requests, "--embedder", "local", prelude=watch)
    found = answers(output)
    assert found[1]["serverInfo"]["name"] == "memhop"
    assert len(found[2]["tools"]) == 12
    assert found.keys() == {1, 2, 3, 4}
    assert errors == b""
    _, seen = asked(tmp_path / "b.meh", [*requests, call("memhop_remember", text="tea")], prelude=watch)
    assert b"open" in seen, "the watch works"
    assert b"import msgspec" in seen


def numbers(value: Any) -> Iterator[int]:
    """All whole numbers in it."""
    if isinstance(value, int):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from numbers(one)


def fields(value: Any) -> Iterator[tuple[str, Any]]:
    """All named values in it."""
    if isinstance(value, dict):
        yield from value.items()
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from fields(one)


def test_row_85_ids_are_text_and_every_tool_has_a_schema_of_its_arguments(start: Starter, tmp_path: Path) -> None:
    """Ids have 64 bits: as numbers their last digits are lost in JavaScript. A tool without arguments must say that it
    has none, or strict clients refuse all tools of the server."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        notes = [db.remember(f"note {number} on tea", links=()).id for number in range(30)]
        assert any(int(one, 16) > SAFE for one in notes)
        turn = db.search("where are the kayaks?", session="a")
        db.update(turn.new_topic_id, "in the shed")
        scene = db.scenes.list().items[0].id
    with Served(start, path) as server:
        server.handshake()
        for name, arguments in (
            ("memhop_recall", {"query": "tea kayaks"}),
            ("memhop_note_list", {"limit": 30}),
            ("memhop_note_get", {"id": notes[0]}),
            ("memhop_scene_list", {}),
            ("memhop_scene_topics", {"scene_id": scene}),
            ("memhop_archive_list", {}),
            ("memhop_brief", {}),
        ):
            result = server.call(name, **arguments)
            assert not result.get("isError"), (name, result)
            data = result.get("structuredContent", {})
            assert max(numbers(data), default=0) <= SAFE, name
            for field, value in fields(data):
                if value is not None and (field == "id" or field.endswith("_id")):
                    assert isinstance(value, str), (name, field)
        refused = server.call("memhop_note_get", id=int(notes[0], 16))
        assert "as text" in refused["content"][0]["text"]
        assert server.answer(server.ask("ping", id=2**64 - 1))["result"] == {}
    for operation in OPERATIONS.values():
        schema = tool(operation).input_schema
        assert schema["type"] == "object"
        assert isinstance(schema["properties"], dict)
        for name, one in schema["properties"].items():
            if re.search(r"(^|_)ids?$", name):
                assert one["type"] in ("string", "array"), (operation.name, name)
