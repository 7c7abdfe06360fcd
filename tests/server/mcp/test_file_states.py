"""Whatever state the file is in, the server starts, its tools say what is wrong, and work once that is mended."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from memhop import DB
from tests.support.mcp_server import ENVELOPE, Served, command
from tests.support.processes import HANG_S, Starter


def error_of(result: dict[str, Any]) -> dict[str, Any]:
    assert result["isError"], result
    assert "structuredContent" not in result
    found: dict[str, Any] = result["_meta"]["memhop/error"]
    assert found["message"] in result["content"][0]["text"]
    return found


def text_of(result: dict[str, Any]) -> str:
    assert not result.get("isError"), result
    found: str = result["content"][0]["text"]
    return found


def test_a_missing_file_is_empty_until_something_is_stored(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with Served(start, path) as server:
        server.handshake()
        for tool, arguments in (("memhop_recall", {"query": "tea"}), ("memhop_note_list", {}), ("memhop_brief", {})):
            said = text_of(server.call(tool, **arguments))
            assert "empty so far" in said
            assert str(path) in said
        assert "empty so far" in server.call("memhop_note_get", id="0123456789abcdef")["content"][0]["text"]
        assert not path.exists(), "reading does not write"
        server.data("memhop_remember", text="tea is hot")
        assert path.exists()
        said = text_of(server.call("memhop_recall", query="tea"))
        assert "tea is hot" in said
        assert "empty so far" not in said
        server.close_input()
        assert server.finish() == ""
    assert sorted(one.name for one in tmp_path.iterdir() if one.suffix == ".meh") == ["a.meh"]


def test_a_missing_folder_is_named_and_may_come_later(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "none" / "a.meh"
    with Served(start, path, errors=tmp_path / "stderr") as server:
        server.handshake()
        assert "empty so far" in text_of(server.call("memhop_recall", query="tea"))
        assert str(path.parent) in error_of(server.call("memhop_remember", text="tea"))["message"]
        path.parent.mkdir()
        assert server.data("memhop_remember", text="tea")["created"]


def test_a_locked_file_names_who_has_it_and_works_once_it_is_free(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with Served(start, path, "--wait", "0") as server:
        with DB.open(path, purpose="the test") as db:
            db.remember("tea")
            server.handshake()
            found = error_of(server.call("memhop_remember", text="coffee"))
            assert found["error"] == "Locked"
            assert "the test" in found["message"]
            assert "tea" in text_of(server.call("memhop_recall", query="tea")), "reading waits for nobody"
        assert server.data("memhop_remember", text="coffee")["created"]


def test_a_damaged_file_is_told_and_works_once_it_is_mended(start: Starter, tmp_path: Path) -> None:
    path, good = tmp_path / "a.meh", tmp_path / "good.meh"
    with DB.open(good) as db:
        db.remember("tea is hot")
    path.write_bytes(b"no memory at all " * 1000)
    with Served(start, path) as server:
        server.handshake()
        for tool, arguments in (("memhop_recall", {"query": "tea"}), ("memhop_remember", {"text": "coffee"})):
            assert error_of(server.call(tool, **arguments))["error"] == "BadFormat"
        assert path.read_bytes() == b"no memory at all " * 1000
        shutil.copy(good, path)
        assert "tea is hot" in text_of(server.call("memhop_recall", query="tea"))
        assert server.data("memhop_remember", text="coffee")["created"]


def test_an_empty_file_and_a_folder_are_told(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "b.meh").mkdir()
    with Served(start, tmp_path / "b.meh") as server:
        server.handshake()
        assert str(tmp_path / "b.meh") in error_of(server.call("memhop_recall", query="tea"))["message"]


def test_a_file_taken_away_under_an_open_server(start: Starter, tmp_path: Path) -> None:
    """The first write after it says so; the next ones go to a new file. What was in the old one is not written back."""
    path = tmp_path / "a.meh"
    with Served(start, path) as server:
        server.handshake()
        server.data("memhop_remember", text="tea")
        path.rename(tmp_path / "elsewhere.meh")
        assert error_of(server.call("memhop_remember", text="coffee"))["code"] in range(5000, 5100)
        assert server.data("memhop_remember", text="milk")["created"]
        server.close_input()
        assert server.finish() == ""
    with DB.open(path) as db:
        assert [note.text for note in db.notes.list().items] == ["milk"]


def test_a_broken_model_is_told_by_every_call_and_not_at_the_start(start: Starter, tmp_path: Path) -> None:
    with Served(start, tmp_path / "a.meh", "--embedder", f"onnx:{tmp_path}") as server:
        server.handshake()
        found = error_of(server.call("memhop_remember", text="tea"))
        assert found["error"] in ("ConfigError", "EmbedderError")


def test_read_only_shows_only_what_reads_and_leaves_the_file_alone(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember("tea is hot")
    before = path.read_bytes()
    with Served(start, path, "--read-only") as server:
        server.handshake()
        tools = server.answer(server.ask("tools/list"))["result"]["tools"]
        assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
        assert {"memhop_recall", "memhop_note_get"} <= {tool["name"] for tool in tools}
        assert "tea is hot" in text_of(server.call("memhop_recall", query="tea"))
        unknown = server.answer(server.start_call("memhop_remember", text="coffee"))
        assert unknown["error"]["code"] == -32602
        server.close_input()
        assert server.finish() == ""
    assert path.read_bytes() == before


def test_a_full_disk_is_told_and_what_was_stored_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    limited = ["sh", "-c", 'ulimit -f 128; exec "$@"', "sh", *command(path)]  # 64 or 128 KiB, as the shell has it
    stored, refused = [], 0
    with subprocess.Popen(limited, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answers = process.stdin, process.stdout

        def call(name: str, **arguments: object) -> dict[str, Any]:
            params = {"name": name, "arguments": arguments, "_meta": ENVELOPE}
            asked.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode())
            asked.write(b"\n")
            asked.flush()
            found: dict[str, Any] = json.loads(answers.readline())["result"]
            return found

        try:
            for number in range(40):
                text = f"note {number} " + f"word{number} " * 1_000
                answer = call("memhop_remember", text=text)
                if answer["isError"]:
                    assert "cannot write" in answer["content"][0]["text"]
                    refused += 1
                else:
                    stored.append(text)
            assert stored
            assert refused
            assert "word0" in call("memhop_recall", query="word0")["content"][0]["text"], "reading goes on"
            asked.close()
            assert process.wait(HANG_S) == 0
        finally:
            process.kill()
    with DB.open(path) as db:
        assert db.verify(deep=True).ok
        assert {note.text for note in db.notes.list(limit=1000).items} == set(stored)
