"""What the end of a command tells the shell.

0    done
1    nothing was found, or it failed
2    usage: an option or argument does not do
3    another process holds the file
130  interrupted (Ctrl-C)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from memhop.cli.output import Output
from memhop.common.errors import ConfigError, InvalidRequest, Locked, MemhopError

DONE = 0
FAILED = 1
USAGE = 2
LOCKED = 3
INTERRUPTED = 130


def exit_code(error: MemhopError) -> int:
    """The exit code of an error."""
    if isinstance(error, Locked):
        return LOCKED
    return USAGE if isinstance(error, InvalidRequest | ConfigError) else FAILED


@contextmanager
def reporting(*, as_json: bool) -> Iterator[Output]:
    """An `Output` for one command. An error raised on purpose is told in one line and ends the command.

    Raises:
        typer.Exit: with the error's exit code.
    """
    output = Output(as_json=as_json)
    try:
        yield output
    except MemhopError as error:
        output.error(error)
        raise typer.Exit(exit_code(error)) from None
