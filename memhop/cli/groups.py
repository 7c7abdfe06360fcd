"""Groups of commands, each alike: called alone it prints its help."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import typer


def group_of(about: str, commands: Mapping[str, Callable[..., None]]) -> typer.Typer:
    """A group of commands by name."""
    group = typer.Typer(help=about)
    group.callback(invoke_without_command=True)(_alone)
    for name, command in commands.items():
        group.command(name)(command)
    return group


def _alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
