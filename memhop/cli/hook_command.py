"""`memhop hook` as the command line shows it. What is typed right behind `memhop` goes to `hook.main` straight away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memhop.cli import hook as hooks


def hook(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="session-start, prompt, stop, pre-compact or session-end.")
    ],
    client: Annotated[
        str, typer.Option("--client", metavar="CLIENT", help="Whose words: claude, codex, cursor or gemini.")
    ] = "claude",
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="PATH", help="The memory; default: that of the settings.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="The project; default: the folder's name.")
    ] = None,
    config: Annotated[str | None, typer.Option("--config", metavar="PATH", help="The settings.")] = None,
) -> None:
    """What a client runs at an event of a session: JSON comes in, JSON or nothing goes out, within a second.

    It always ends with 0. `memhop mcp install CLIENT --hooks` sets a client up for it.
    """
    given = {"--client": client, "--file": file, "--project": project, "--config": config}
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    hooks.main([event, *words])
