"""INTEGRATION_GUIDE.md documents every command and option, and each of its `memhop` lines can be typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from memhop.cli.main import build_app

GUIDE = Path(__file__).parents[2] / "INTEGRATION_GUIDE.md"
ROOT = typer.main.get_group(build_app())


def leaves(group: Any, before: str = "") -> dict[str, Any]:
    """Commands by their whole name, such as "recall" and "backup make".

    A group with arguments of its own, such as "at", counts as a command: below it are commands known from elsewhere.
    One with options of its own, such as "mcp", is a command beside those below it.
    """
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        whole = f"{before}{name}"
        nested = hasattr(command, "commands") and not any(p.param_type_name == "argument" for p in command.params)
        found |= leaves(command, f"{whole} ") if nested else {whole: command}
        if nested and any(p.name != "help" for p in command.params):
            found[whole] = command
    return found


COMMANDS = leaves(ROOT)


SHARED = "| option of many commands | meaning |"


def section(command: str) -> str:
    """What the guide says below the heading that names a command; of a heading with several, or with the name of the
    group, the row of the command. The options of many commands are described once.
    """
    guide = without_code_comments()
    for name in (command, command.split()[0]):
        found = re.search(rf"^#+ [^\n]*`memhop {name}`[^\n]*\n(.*?)(?=^#|\Z)", guide, re.DOTALL | re.MULTILINE)
        if found:
            row = re.search(rf"^\| `memhop {command}[` ].*$", found[1], re.MULTILINE)
            assert row or name == command, f"the guide has no row of `memhop {command}`"
            shared = guide.partition(SHARED)[2].partition("\n\n")[0]
            return (row[0] if row else found[1]) + shared
    raise AssertionError(f"the guide has no heading with `memhop {command}`")


def without_code_comments() -> str:
    """The guide; a `#` inside a code block is no heading."""
    blocks = re.split(r"(^```.*?^```)", GUIDE.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return "".join(block.replace("\n#", "\n #") if block.startswith("```") else block for block in blocks)


def examples() -> Iterator[list[str]]:
    """Arguments of each line of shell that calls memhop, up to a pipe or redirection."""
    for block in re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            while "|" in words:
                first, words = words[: words.index("|")], words[words.index("|") + 1 :]
                if first[:1] == ["memhop"]:
                    yield first[1:]
            cut = next((number for number, word in enumerate(words) if word[:1] in "<>"), len(words))
            if words[:1] == ["memhop"]:
                yield words[1:cut]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_and_option_is_documented(command: str) -> None:
    text = section(command)
    for parameter in COMMANDS[command].params:
        for option in parameter.opts:
            if parameter.param_type_name == "argument":
                assert option.upper() in text or (parameter.metavar or "?") in text, f"{command}: argument {option}"
            elif option.startswith("--") and option != "--help":
                assert re.search(rf"`{option}[` ]", text), f"{command}: option {option}"


def test_the_options_of_the_command_itself_are_documented() -> None:
    options = [option for parameter in ROOT.params for option in parameter.opts]
    assert "--version" in options
    assert "--config" in options
    assert all(f"`memhop {option}`" in GUIDE.read_text("utf-8") for option in options if option.startswith("--"))


def test_the_past_is_asked_with_the_same_commands() -> None:
    for name, command in COMMANDS["at"].commands.items():
        assert [(p.name, p.opts, p.default) for p in command.params] == [
            (p.name, p.opts, p.default) for p in COMMANDS[name].params
        ]
        assert f"`{name}`" in section("at"), name


def test_every_example_can_be_typed() -> None:
    typed: set[str] = set()
    for line in examples():
        for count in (1, 2):
            name = " ".join(line[:count])
            if name in COMMANDS:
                assert COMMANDS[name].make_context(name, line[count:]).params
                typed.add(name)
    assert typed == set(COMMANDS)
