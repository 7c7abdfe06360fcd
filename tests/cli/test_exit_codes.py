"""0 done, 1 nothing found or failed, 2 usage, 3 locked; and what is said beside it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memhop import DB, __version__
from memhop.cli.exit_codes import exit_code
from memhop.common.errors import ConfigError, InvalidRequest, Locked, MemhopError, NotFound, StorageError
from tests.cli.running import COMMAND, environment, memhop


@pytest.mark.parametrize("command", [("recall", "x"), ("stats",), ("verify",), ("compact",)])
def test_a_missing_file_is_not_created(command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "none.meh"
    ran = memhop(*command, "--file", path)
    assert (ran.code, ran.out) == (1, "")
    assert str(path) in ran.err
    assert "memhop remember" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
    assert memhop(*command, "--json", "--file", path).json()["error"] == "StorageError"


def test_nothing_found_says_why(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember("one two")
    ran = memhop("recall", "zebra", "--file", path)
    assert (ran.code, ran.out) == (1, "")
    assert "nothing found: no stored text" in ran.err
    document = memhop("recall", "zebra", "--json", "--file", path)
    assert (document.code, document.json()["hits"]) == (1, [])
    assert document.json()["reason"]
    assert memhop("recall", "one", "--project", "nowhere", "--file", path).code == 1
    blank = memhop("recall", "  ", "--file", path)
    assert (blank.code, blank.out) == (1, "")
    assert "blank" in blank.err


def test_low_confidence_is_told_beside_the_hits(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember_many([f"item {number}" for number in range(50)] + ["the garden wall"])
    ran = memhop("recall", "zebra crossings, quagga stripes and item wardens", "--file", path)
    assert ran.code == 0
    assert "probably not in this memory" in ran.err


@pytest.mark.parametrize("text", ["", "  \n", "\u200b"])
def test_a_blank_text_is_refused_before_a_file_is_created(text: str, tmp_path: Path) -> None:
    ran = memhop("remember", text, "--file", tmp_path / "a.meh")
    assert (ran.code, ran.out) == (2, "")
    assert "blank" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [
        ("recall",),
        ("recall", "x", "--nonsense"),
        ("recall", "x", "--limit", "many"),
        ("recall", "x", "--limit", "0"),
        ("recall", "x", "--layer", "cellar"),
        ("recall", "x", "--since", "yesterday"),
        ("recall", "x", "--since", "0001-01-01"),
        ("recall", "x", "--since", "2026-02-01", "--until", "2026-01-01"),
        ("recall", "x", "--embedder", "oracle"),
        ("recall", "x", "--backfill"),
        ("remember", "x", "--wait", "-1"),
        ("remember", "x", "--wait", "3601"),
        ("remember", "x", "--wait", "nan"),
        ("doctor", "--embedder", "oracle"),
        ("at", "yesterday", "stats"),
        ("at", "9" * 30, "stats"),
        ("at", "7", "stats"),
        ("at", "7"),
        ("at", "0", "remember", "x"),
        ("at", "0", "recall", "x", "--embedder", "hash", "--backfill"),
        ("remember", "x", "--at", "3000-01-01"),
        ("remember", "x", "--tag", ""),
        ("remember", "x" * 3, "--project", "p" * 300),
        ("nonsense",),
    ],
)
def test_usage_is_2(args: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    DB.open(path).close()
    ran = memhop(*args, env={"MEMHOP_FILE": str(path)})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err


def test_standard_input_that_is_no_utf8_is_usage(tmp_path: Path) -> None:
    ran = memhop("remember", "-", "--json", "--file", tmp_path / "a.meh", stdin=b"abc\xff")
    assert ran.code == 2
    assert ran.json()["field"] == "standard input"
    assert "byte 3" in ran.json()["message"]


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear reader, this is a letter.\n" * 1000)
    before = path.read_bytes()
    for command in (("stats",), ("remember", "x")):
        ran = memhop(*command, "--file", path, "--json")
        assert (ran.code, ran.json()["error"]) == (1, "BadFormat")
    assert path.read_bytes() == before


def test_a_locked_file_is_3_and_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path, purpose="the test") as db:
        db.remember("x")
        for command in (("remember", "y"), ("compact",), ("forget", "00000000000000ab")):
            ran = memhop(*command, "--wait", "0", "--file", path)
            assert (ran.code, ran.out) == (3, "")
            assert "the test" in ran.err
        document = memhop("remember", "y", "--wait", "0.1", "--json", "--file", path)
        assert (document.code, document.json()["code"]) == (3, Locked.code)
    assert memhop("remember", "y", "--wait", "0", "--file", path).code == 0


def test_every_error_has_a_code() -> None:
    assert exit_code(InvalidRequest("")) == exit_code(ConfigError("")) == 2
    assert exit_code(Locked("")) == 3
    assert exit_code(NotFound("")) == exit_code(StorageError("")) == exit_code(MemhopError("")) == 1


def test_help_and_version() -> None:
    bare = memhop()
    assert bare.code == 0
    assert bare.out == memhop("--help").out
    assert "Usage: memhop" in bare.out
    assert memhop("--version").out == f"memhop {__version__}\n"
    assert "--external-id" in memhop("remember", "--help").out


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['memhop', '--help']\n"
        "from memhop.cli.main import main\n"
        "heavy = {'numpy', 'msgspec', 'jieba', 'rapidfuzz', 'rich', 'memhop.api.db', 'memhop.core.meh_file'}\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.stdout.splitlines()[-1] == "loaded: []", done.stderr
