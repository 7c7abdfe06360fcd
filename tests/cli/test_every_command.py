"""What holds for every command there is, found by looking at the command line itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import typer.main

from memhop import DB
from memhop.cli.main import build_app
from tests.cli.every_command import EXAMPLES, arguments, fill, takes_file
from tests.cli.running import here, memhop
from tests.cli.test_guide import COMMANDS

PROMISED = (
    "remember recall explain forget list show edit history search update dream dreams profile scenes knowledge "
    "messages capability trajectory projects brief summary backfill pending stats doctor export import backup "
    "verify repair compact at demo instructions config completion why-not usage purge maintain mcp hook"
).split()
ELSEWHERE: frozenset[str] = frozenset()  # commands that others are still making
RUN = sorted(name for name, example in EXAMPLES.items() if example is not None)
ON_A_FILE = [name for name in RUN if name in COMMANDS and takes_file(COMMANDS[name])]
WRITING = [name for name in ON_A_FILE if any(p.name == "wait" for p in COMMANDS[name].params)]
CREATING = frozenset(
    name for name in ON_A_FILE if name in COMMANDS and "file is created" in (COMMANDS[name].help or "")
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("every") / "agent.meh"
    return path, fill(path)


@pytest.fixture
def memory(filled: tuple[Path, dict[str, str]], tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A copy of its own."""
    original, ids = filled
    return Path(shutil.copy(original, tmp_path / "agent.meh")), ids | {"folder": str(tmp_path)}


def test_the_examples_are_those_of_all_commands() -> None:
    assert set(EXAMPLES) == set(COMMANDS)


def test_what_is_promised_is_there() -> None:
    there = set(typer.main.get_group(build_app()).commands)
    assert set(PROMISED) - there - ELSEWHERE == set()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(name: str) -> None:
    command = COMMANDS[name]
    assert len(command.help) > 15
    assert all(parameter.help for parameter in command.params if parameter.name != "help")


@pytest.mark.parametrize("name", RUN)
def test_every_command_prints_where_signs_are_lacking_and_in_eighty_columns(
    name: str, memory: tuple[Path, dict[str, str]]
) -> None:
    """Long work was done, and then printing its result ended in UnicodeEncodeError."""
    path, ids = memory
    file = ("--file", str(path)) if takes_file(COMMANDS[name]) or name == "at" else ()
    ran = here(*arguments(name, ids), *file, encoding="ascii")
    assert ran.code in (0, 1), ran
    assert ran.out or ran.err
    wide = [line for line in ran.out.splitlines() if len(line) > 80]
    assert name in WHOLE or not wide


WHOLE = frozenset(  # what shows texts, paths or figures as they are
    name.replace("_", " ")
    for name in (
        "summary_check summary_show "
        "archive at backup_list capability_show compact config_check config_show completion doctor dreams_diff edit "
        "explain export import history imports_show facts_assert forget "
        "instructions mcp_clients models_list recall remember repair revert scenes_show show stats topics_show verify "
        "backup_make"
    ).split()
)


@pytest.mark.parametrize("name", RUN)
def test_every_command_speaks_json(name: str, memory: tuple[Path, dict[str, str]]) -> None:
    """Also with the options in front of it, and where the terminal cannot show the words."""
    path, ids = memory
    if name == "completion":
        return
    file = ("--file", str(path)) if takes_file(COMMANDS[name]) or name == "at" else ()
    ran = here("--json", *file, *arguments(name, ids), encoding="cp1252")
    assert ran.code in (0, 1), ran
    assert isinstance(ran.json(), dict | list)


@pytest.mark.parametrize("name", ON_A_FILE)
def test_a_missing_file_is_told(name: str, filled: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """None is created by a command that has nothing to store."""
    _, ids = filled
    path = tmp_path / "none.meh"
    ran = here(*arguments(name, ids | {"folder": str(tmp_path)}), "--file", path)
    if name in CREATING:
        assert ran.code == 0, ran
        assert path.exists()
    else:
        assert not path.exists()
        assert ran.code == 1, ran
        assert str(path) in ran.err + ran.out


@pytest.mark.parametrize("name", WRITING)
def test_a_file_in_use_is_3_and_names_the_holder(name: str, memory: tuple[Path, dict[str, str]]) -> None:
    path, ids = memory
    if name in _READING or "--dry-run" in arguments(name, ids):
        return
    with DB.open(path, purpose="the holder"):
        ran = here(*arguments(name, ids), "--file", path, "--wait", "0")
    assert ran.code == 3, ran
    assert "the holder" in ran.err


_READING = frozenset({"recall", "explain", "stats", "verify"})  # they take --wait, and need none


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_an_option_that_is_not_there_is_usage(name: str) -> None:
    with pytest.raises(Exception, match="--no-such-option") as refused:
        COMMANDS[name].make_context(name, ["--no-such-option"])
    assert getattr(refused.value, "exit_code", None) == 2


def test_help_reads_nothing_and_starts_nothing(tmp_path: Path) -> None:
    ran = memhop(
        "--help", cwd=tmp_path, env={"MEMHOP_CONFIG": str(tmp_path / "none.toml"), "MEMHOP_RECALL_LIMIT": "no"}
    )
    assert ran.code == 0
    assert list(tmp_path.iterdir()) == []
