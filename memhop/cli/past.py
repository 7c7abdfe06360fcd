"""`memhop at WHEN COMMAND`: the commands that read, on the memory as it was."""

from __future__ import annotations

from typing import Annotated

import typer

from memhop.cli import commands, notes


def build_group() -> typer.Typer:
    """The group of commands."""
    group = typer.Typer(no_args_is_help=True)
    group.callback()(at)
    group.command()(commands.recall)
    group.command("explain")(commands.explain)
    group.command()(commands.stats)
    for name in ("list", "links", "history"):
        group.command(name)(notes.COMMANDS[name])
    return group


def at(
    ctx: typer.Context,
    when: Annotated[
        str, typer.Argument(metavar="WHEN", help="A commit number, or an ISO-8601 time: the newest commit up to then.")
    ],
) -> None:
    """Ask the memory as it was at an earlier commit or time. Words such as "last week" mean the week before then."""
    ctx.obj = when  # read by the command, where errors are told
