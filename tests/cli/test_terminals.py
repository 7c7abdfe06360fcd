"""What reaches which terminal: colour, encodings, control characters, pipes that close early."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from memhop import DB
from memhop.cli.output import Output, cells, clean, when
from memhop.common.sizes import file_size
from tests.cli.running import COMMAND, environment, memhop

CHINESE = "我们住在鼓浪屿 ✓"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember(CHINESE, tags=["trip"])
        db.remember("evil \x1b[31mred\x1b[0m \u202ertl\ttab")
    return path


def on_terminal(
    *args: str | Path, env: Mapping[str, str] | None = None, command: tuple[str, ...] = COMMAND, stream: str = "stdout"
) -> str:
    """What a command writes to a stream that is a terminal of 100 columns, the other one being a pipe."""
    if sys.platform == "win32":
        pytest.skip("no pseudo-terminals")
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 100))
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: theirs}
    with subprocess.Popen(
        [*command, *map(str, args)],
        stdin=theirs,
        stdout=streams["stdout"],
        stderr=streams["stderr"],
        env=environment({"TERM": "xterm-256color", **(env or {})}),
    ) as process:
        os.close(theirs)
        written = b""
        try:
            while more := os.read(ours, 65536):
                written += more
        except OSError:
            pass  # how Linux tells that the other end was closed
        finally:
            os.close(ours)
        said = b"".join(filter(None, process.communicate()))
    assert b"Traceback" not in written + said, said
    return written.decode("utf-8", "replace")


def test_colour_is_for_terminals_only(memory: Path) -> None:
    for args in (("recall", "鼓浪屿", "--explain"), ("stats",), ("verify",)):
        assert "\x1b[" in on_terminal(*args, "--file", memory)
        assert "\x1b[" not in memhop(*args, "--file", memory).out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_declined(memory: Path, env: dict[str, str]) -> None:
    written = on_terminal("recall", "鼓浪屿", "--explain", "--file", memory, env=env)
    assert CHINESE in written
    assert "\x1b" not in written


def test_json_on_a_terminal_has_no_colour(memory: Path) -> None:
    written = on_terminal("recall", "鼓浪屿", "--json", "--file", memory)
    assert written.startswith("{\r\n  ")
    assert "\x1b" not in written


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1"])
def test_what_an_encoding_lacks_is_replaced(memory: Path, encoding: str) -> None:
    """Python raises UnicodeEncodeError here by default, which ended the command after half of its output."""
    ran = memhop("recall", "trip 鼓浪屿", "--explain", "--file", memory, env={"PYTHONIOENCODING": encoding})
    assert ran.code == 0
    assert "??????? ?" in ran.out
    document = memhop("recall", "鼓浪屿", "--json", "--file", memory, env={"PYTHONIOENCODING": encoding})
    assert document.json()["hits"][0]["text"] == CHINESE


@pytest.mark.parametrize("more", [{}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_the_c_locale(memory: Path, more: dict[str, str]) -> None:
    ran = memhop("recall", "evil", "--file", memory, env={"LC_ALL": "C", **more})
    assert ran.code == 0
    assert "evil" in ran.out
    assert memhop("recall", "鼓浪屿", "--file", memory, env={"LC_ALL": "C", **more}).code == 0


def test_stored_control_characters_never_reach_a_terminal(memory: Path) -> None:
    """A stored escape sequence could retitle the window or hide lines of the person who lists what is stored."""
    for args in (("recall", "evil"), ("recall", "evil", "--context"), ("recall", "evil", "--explain")):
        written = on_terminal(*args, "--file", memory, env={"NO_COLOR": "1"})
        assert "evil" in written
        assert "\x1b" not in written
        assert "\u202e" not in written
    packed = memhop("recall", "evil", "--context", "--file", memory).out
    assert "evil" in packed
    assert "\x1b" not in packed


def test_a_reader_that_leaves_early_is_no_error(memory: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "recall", "evil", "--explain", "--file", str(memory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_error(memory: Path, closed: str) -> None:
    """Python has None for a stream that was closed before it started; every command ended in a traceback."""
    command = f'"$0" -m memhop.cli.main list --file "$1" {closed}'
    ran = subprocess.run(
        ["sh", "-c", command, sys.executable, str(memory)], capture_output=True, timeout=60, check=False
    )
    assert ran.returncode == 0
    assert b"Traceback" not in ran.stderr


@pytest.mark.parametrize("total", [3, None])
def test_progress_is_drawn_on_a_terminal_only(total: int | None) -> None:
    code = (
        "import threading\nfrom memhop.cli.output import Output\n"
        f"with Output(as_json=False).progress('storing', {total}) as step:\n"
        "    [step() for _ in range(3)]\n"
        "    [thread.join() for thread in threading.enumerate() if isinstance(thread, threading.Timer)]\n"
    )
    command = (sys.executable, "-c", code)
    written = on_terminal(command=command, stream="stderr")
    assert "storing" in written
    assert ("3/3" in written) is (total == 3)
    piped = subprocess.run(command, capture_output=True, env=environment(), timeout=60, check=True)
    assert piped.stdout + piped.stderr == b""


def test_texts_are_measured_and_cut_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(as_json=False)
    assert cells("abc") == 3
    assert cells("鼓浪") == 4
    assert cells("e\u0301") == 1
    assert out.shorten("one two three", 13) == "one two three"
    assert cells(out.shorten("鼓浪屿旅馆一晚", 8)) <= 8
    assert out.shorten("a\n b", 10) == "a b"
    out.table(("name", "n"), [("鼓浪", "1"), ("abcdef", "22")], right=(1,))
    assert capsys.readouterr().out.splitlines() == ["name     n", "鼓浪     1", "abcdef  22"]


def test_small_things() -> None:
    assert clean("a\x07b\nc\td\u202e") == "a\ufffdb\nc d\ufffd"
    assert clean("plain") == "plain"
    assert when(1_778_401_791_000) == "2026-05-10 08:29"
    assert [file_size(size) for size in (0, 812, 14_643, 3 * 1024**3)] == ["0 B", "812 B", "14.3 KiB", "3.0 GiB"]
