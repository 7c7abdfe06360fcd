"""Rows of notes on the command line and of settings, each by its name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import memhop as package
from memhop import DB
from tests.cli.running import COMMAND, environment, here, memhop


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "agent.meh"
    with DB.open(path) as db:
        db.remember("Mara is allergic to walnuts", project="home")
        db.forget(db.remember("walnuts in the trash", project="home").id)
    return path


def test_n16_the_same_options_codes_and_short_ids(memory: Path) -> None:
    assert here("--version").out == f"memhop {package.__version__}\n"
    found = here("recall", "walnuts", "--file", memory, "--project", "home", "--limit", "1")
    assert found.code == 0
    assert "Mara is allergic" in found.out
    assert here("recall", "zebra", "--file", memory).code == 1
    assert here("recall", "--file", memory).code == 2
    note = here("recall", "walnuts", "--file", memory, "--json").json()["hits"][0]["id"]
    assert here("forget", note[:6], "--file", memory).code == 0
    assert here("recall", "walnuts", "--file", memory).code == 1


def test_n16_an_ambiguous_prefix_never_picks_the_newest(memory: Path) -> None:
    """See `tests/cli/test_layers.py::TestPrefixes` for one that several ids share; fewer than six digits are none."""
    note = here("recall", "walnuts", "--file", memory, "--json").json()["hits"][0]["id"]
    ran = here("forget", note[:5], "--file", memory)
    assert ran.code == 2
    with DB.open(memory) as db:
        assert db.notes.get(note).tier == "active"


def test_n17_nothing_matched_is_one_line_that_says_what_ran_and_what_filters_removed(memory: Path) -> None:
    ran = here("recall", "zebra", "--file", memory)
    assert (ran.code, ran.out) == (1, "")
    assert len(ran.err.splitlines()) == 1
    assert "lexical" in ran.err
    assert "no embedder is configured" in ran.err
    other = here("recall", "allergic", "--project", "work", "--file", memory)
    assert other.code == 1
    assert len(other.err.splitlines()) == 1
    assert "1" in other.err
    assert "project" in other.err
    document = here("recall", "allergic", "--project", "work", "--json", "--file", memory).json()
    assert document["held_back"]


def test_b26_limits_that_are_set_are_kept(memory: Path, tmp_path: Path) -> None:
    with DB.open(memory) as db:
        db.remember_many([f"walnut tree {number}" for number in range(9)])
        for number in range(3):
            db.search(f"turn {number}", session=f"s{number}", auto_create=True)
    settings = tmp_path / "settings.toml"
    settings.write_text("[recall]\nlimit = 2\npage = 1\n", "utf-8")
    env = {"MEMHOP_CONFIG": str(settings)}
    assert len(here("recall", "walnut", "--file", memory, "--json", env=env).json()["hits"]) == 2
    assert len(here("scenes", "list", "--file", memory, "--json", env=env).json()["items"]) == 1
    with DB.open(memory, config=package.load_config(settings)) as db:
        assert len(db.recall("walnut").hits) == 2


@pytest.mark.parametrize("word", ["--help", "-h", "no-such-word"])
def test_b36_help_and_unknown_words_start_nothing(word: str, tmp_path: Path) -> None:
    """Any word at all, `--help` included, started a server."""
    code = (
        "import socket, sys\n"
        "class Never:\n    def __init__(self, *args, **kwargs): raise AssertionError('a socket was opened')\n"
        f"socket.socket = Never\nsys.argv = ['memhop', {word!r}]\n"
        "from memhop.cli.main import main\ntry:\n    main()\nfinally:\n"
        "    assert not {'numpy', 'openai', 'msgspec', 'httpx'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment()
    )
    assert done.returncode == (2 if word == "no-such-word" else 0), done.stderr
    assert "AssertionError" not in done.stderr
    assert os.listdir(tmp_path) == []


def test_c6_a_flag_before_the_question_does_not_swallow_it(memory: Path) -> None:
    for args in (("--json", "walnuts"), ("walnuts", "--json")):
        assert here("recall", *args, "--file", memory).json()["query"] == "walnuts"
    assert here("--json", "recall", "walnuts", "--file", memory).json()["query"] == "walnuts"


def test_c12_what_was_stored_without_an_embedder_is_counted_as_pending(memory: Path) -> None:
    """Pending said 0 when the notes had been stored offline, so that nobody was told to fill in the vectors."""
    found = here("pending", "--embedder", "hash", "--file", memory, "--json").json()
    assert found["without_vector"] == 2
    done = here("backfill", "--embedder", "hash", "--file", memory, "--json").json()
    assert (done["embedded"], done["remaining"]) == (2, 0)
    assert here("pending", "--embedder", "hash", "--file", memory, "--json").json()["without_vector"] == 0


def test_n16_remember_hints_at_backfill_where_an_embedder_is_set(memory: Path) -> None:
    assert here("remember", "oak", "--file", memory).err == ""
    ran = here("remember", "elm", "--file", memory, env={"MEMHOP_MEMORY_EMBEDDER": "hash"})
    assert (ran.code, ran.err) == (0, "it has no vector yet: memhop backfill\n")


def test_n16_colour_is_for_terminals_and_may_be_declined(memory: Path) -> None:
    for env in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in here("recall", "walnuts", "--file", memory, env=env).out


def test_the_script_of_the_completion_is_one_a_shell_takes(tmp_path: Path) -> None:
    script = memhop("completion", "bash").out
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, timeout=60)
    assert (checked.returncode, checked.stderr) == (0, "")
    env = environment({"_MEMHOP_COMPLETE": "complete_bash", "COMP_WORDS": "memhop dreams un", "COMP_CWORD": "2"})
    asked = subprocess.run(list(COMMAND), capture_output=True, text=True, timeout=60, env=env, cwd=tmp_path)
    assert asked.stdout.split() == ["undo"]
    for shell in ("zsh", "fish"):
        assert "memhop" in here("completion", shell).out
    assert here("completion", "tcsh").code == 2
