"""The life of a server on standard input and output: what may be sent to it, what it writes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from memhop import DB
from memhop.server.mcp.stdio import THREADS
from tests.support.mcp_server import ENVELOPE, HANDSHAKE, Served, command, is_running
from tests.support.processes import Starter, until

GONE_S = 10.0  # the server means to be gone after 2.5; the machine may be busy


def texts(path: Path) -> set[str]:
    with DB.open(path, create=False) as db:
        return {note.text for note in db.notes.list(limit=1000).items}


def test_the_end_of_the_input_ends_it(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        server.data("memhop_remember", text="tea")
        server.close_input()
        assert server.finish() == ""
    assert texts(tmp_path / "a.meh") == {"tea"}


def test_it_ends_before_a_client_said_anything(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.close_input()
        assert server.finish() == ""
    assert not (tmp_path / "a.meh").exists()


@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_a_closed_output_is_told(closed: str, tmp_path: Path) -> None:
    """Else it would store what nobody hears of."""
    ran = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *command(tmp_path / "a.meh")], capture_output=True, timeout=60, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.decode() == "memhop mcp: standard input or output is closed\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_it(number: int, start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        server.data("memhop_remember", text="tea")
        server.signal(number)
        assert server.finish() == ""
    assert texts(tmp_path / "a.meh") == {"tea"}


def test_a_hanging_call_does_not_keep_it(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        server.data("memhop_remember", text="tea")
        server.start_call("test_wait", text="never", seconds=600)
        server.answer(server.ask("ping"))
        began = time.monotonic()
        server.close_input()
        assert server.finish() == ""
        assert time.monotonic() - began < GONE_S
    assert texts(tmp_path / "a.meh") == {"tea"}


def test_a_client_that_reads_nothing_does_not_keep_it(start: Starter, tmp_path: Path) -> None:
    """Its pipe is full, and the server in the middle of a write that nobody will ever take."""
    with Served(start, tmp_path / "a.meh", reads=False) as server:
        server.ask("initialize", HANDSHAKE)
        server.start_call("memhop_remember", text="tea")
        for _ in range(10):
            server.ask("ping", id="x" * 100_000)
        until(lambda: server.unread_bytes() > 50_000, "the pipe is full")
        until(lambda: (tmp_path / "a.meh").exists(), "it is stored")
        server.signal(signal.SIGTERM)
        assert server.finish() == ""
    assert texts(tmp_path / "a.meh") == {"tea"}


def test_calls_under_way_when_the_input_ends_are_answered(start: Starter, tmp_path: Path) -> None:
    """Requests that are piped in get their answers, and what is stored is there."""
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        calls = [server.start_call("test_wait", text=f"note {number}", seconds=0.1) for number in range(12)]
        server.close_input()
        assert [server.answer(one)["result"]["structuredContent"]["text"] for one in calls] == [
            f"note {number}" for number in range(12)
        ]
        assert server.finish() == ""
    assert texts(tmp_path / "a.meh") == {f"note {number}" for number in range(12)}


def test_a_cancelled_call_is_not_answered_and_its_write_is_kept(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        server.data("memhop_remember", text="first")
        call = server.start_call("test_wait", text="cancelled", seconds=0.3)
        server.answer(server.ask("ping"))
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
        server.answer(server.ask("ping"))
        server.close_input()
        assert server.finish() == ""
        assert not server.answered(call)
    assert texts(tmp_path / "a.meh") == {"first", "cancelled"}


def test_calls_that_hang_take_no_place_once_they_are_given_up(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        server.data("memhop_remember", text="tea")
        calls = [server.start_call("test_wait", text=f"never {n}", seconds=600) for n in range(THREADS)]
        server.answer(server.ask("ping"))
        for call in calls:
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
        assert server.data("memhop_remember", text="coffee")["created"]
        server.close_input()
        assert server.finish() == ""


def test_it_ends_when_its_parent_dies(tmp_path: Path) -> None:
    """The parent is killed, and somebody else still holds the other end of its input."""
    file = tmp_path / "a.meh"
    keeper_in, keeper_out = os.pipe()  # the end that the server would see close, kept open by this process
    starter = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(sys.argv[1:], stdin=0)\nprint(child.pid, flush=True)\ntime.sleep(600)"
    )
    errors = (tmp_path / "errors").open("wb")
    parent = subprocess.Popen(
        [sys.executable, "-c", starter, *command(file)], stdin=keeper_in, stdout=subprocess.PIPE, stderr=errors
    )
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.write(keeper_out, _line("initialize", HANDSHAKE))
        assert b"memhop" in parent.stdout.readline()
        parent.kill()
        parent.wait()
        until(lambda: not is_running(child), "the server ends", GONE_S)
    finally:
        parent.kill()
        parent.wait()
        if parent.stdout is not None:
            parent.stdout.close()
        errors.close()
        os.close(keeper_in)
        os.close(keeper_out)
    assert (tmp_path / "errors").read_text("utf-8") == ""


def _line(method: str, params: Mapping[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


# ---- hostile input


def test_what_is_no_message_is_answered_and_the_server_lives(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        for line in (
            b"no json",
            b"{",
            b"nul\x00l",
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
            b"5",
            b'"text"',
            b"null",
            b'{"jsonrpc":"2.0"}',
            b'{"jsonrpc":"1.0","method":"ping"}',
            b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
            b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
            b"\xff\xfe\x00",
        ):
            server.send(line)
            answer = server.nameless()
            assert answer["id"] is None
            assert answer["error"]["code"] in (-32700, -32600), line[:40]
        server.send(b"")
        server.send(b"  \r")
        assert server.answer(server.ask("ping"))["result"] == {}
        server.close_input()
        assert server.finish() == ""


def test_a_message_that_can_be_told_from_others_is_answered_by_its_id(start: Starter, tmp_path: Path) -> None:
    """A client that waits for the answer to 7 must not wait for ever."""
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        for id, line in (
            ("bytes", b'{"jsonrpc":"2.0","id":"bytes","method":"tools/call","params":{"name":"\xff"}}'),
            ("half", b'{"jsonrpc":"2.0","id":"half","method":"tools/call","params":{"name":"\\ud800"}}'),
            ("method", b'{"jsonrpc":"2.0","id":"method","method":5}'),
            ("params", b'{"jsonrpc":"2.0","id":"params","method":"ping","params":[1]}'),
            ("unknown", b'{"jsonrpc":"2.0","id":"unknown","method":"no/such"}'),
            ("args", b'{"jsonrpc":"2.0","id":"args","method":"tools/call","params":{"name":"x","arguments":[]}}'),
            ("no name", b'{"jsonrpc":"2.0","id":"no name","method":"tools/call","params":{}}'),
        ):  # fmt: skip
            server.send(line)
            assert "error" in server.answer(id), id
        for strange in (2**70, -1, 0, "", "x" * 100_000, "\U0001f642"):
            assert server.answer(server.ask("ping", id=strange))["result"] == {}
        deep: object = 1
        for _ in range(150):
            deep = [deep]
        assert server.call("memhop_recall", query=deep)["isError"]
        server.close_input()
        assert server.finish() == ""


def test_ten_megabytes_of_text_are_refused_by_the_memory_and_too_long_a_line_by_the_wire(
    start: Starter, tmp_path: Path
) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        refused = server.call("memhop_remember", text="x" * 10_000_000)
        assert refused["isError"]
        assert refused["_meta"]["memhop/error"]["field"] == "text"
        assert len(json.dumps(refused)) < 2_000
        server.send(b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"' + b"x" * (33 << 20) + b'"}}')
        assert "32 MiB" in server.nameless()["error"]["message"]
        assert server.data("memhop_remember", text="tea")["created"]


def test_an_answer_that_cannot_be_written_is_an_error_with_the_id(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        assert "error" in server.answer(server.start_call("test_surrogate"))
        assert server.data("memhop_remember", text="tea")["created"]


def test_a_fault_of_ours_is_a_number_for_the_client_and_a_trace_in_the_log(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        server.handshake()
        result = server.call("test_fault")
        assert result["isError"]
        number = result["content"][0]["text"].partition("logged as ")[2].partition(".")[0]
        assert "nobody" not in json.dumps(result)
        server.close_input()
        said = server.finish()
        assert f"fault {number}" in said
        assert "/a/path/nobody/should/see" in said


def test_the_newer_protocol_needs_no_handshake(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh") as server:
        found = server.answer(server.ask("server/discover", {"_meta": ENVELOPE}))["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        called = server.answer(
            server.ask("tools/call", {"name": "memhop_remember", "arguments": {"text": "tea"}, "_meta": ENVELOPE})
        )["result"]
        assert called["structuredContent"]["created"]
        assert "error" in server.answer(server.ask("initialize", HANDSHAKE))
