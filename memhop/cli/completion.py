"""`memhop completion SHELL`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from memhop.common.config import check_choice

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_MEMHOP_COMPLETE"  # set by the script, when the shell wants to know how a line may go on


def prepare() -> None:
    """Let the command line answer a shell that asks."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print a script to be read by the shell, such as: source <(memhop completion bash)"""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    from memhop.cli.exit_codes import reporting

    with reporting(as_json=False):
        check_choice(shell, field="SHELL", choices=SHELLS)
        print(get_completion_script(prog_name="memhop", complete_var=VARIABLE, shell=shell))
