"""`memhop serve`: many memories over HTTP. `memhop status` and `memhop stop` are about such a server."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import DEFAULT_ROOT, RootOption, embedder_called
from memhop.cli.configuration import backups, chat_model, settings
from memhop.cli.exit_codes import reporting
from memhop.common.config import check_choice, check_int
from memhop.common.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    import memhop

_TOOLS = ("core", "notes", "full", "hemisphere")


def serve(
    root: RootOption = DEFAULT_ROOT,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where it listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="The port; 0: any that is free.")] = 8377,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name it may be asked by, such as memory.example; may be given often."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="A web page that may ask it, such as https://app.example."),
    ] = None,
    tools: Annotated[
        str, typer.Option(metavar="SET", help="Shown over MCP: core, notes, full or hemisphere.")
    ] = "core",
    embedder: Annotated[
        str, typer.Option(metavar="NAME", help="none, hash, local, minilm or onnx:FOLDER, for all memories.")
    ] = "none",
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Ask for no tokens; only where nobody else uses this machine.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tell everything on standard error.")] = False,
) -> None:
    """Serve many memories over HTTP: MCP at /mcp/TENANT, REST at /api/v1, events, metrics. Ends on Ctrl-C or SIGTERM.

    Each tenant has a file in --root and tokens of its own; see `memhop token`. It listens to this machine alone unless
    told otherwise.
    """
    with reporting(as_json=False) as out:
        if find_spec("mcp") is None or find_spec("uvicorn") is None:
            raise ConfigError("the servers are not installed", hint="pip install 'memhop[mcp]'")
        check_choice(tools, field="--tools", choices=_TOOLS)
        check_int(port, field="--port", low=0, high=65535)
        chosen = replace(
            settings().server,
            host=host,
            port=port,
            tools=tools,
            allow_hosts=tuple(allow_host or settings().server.allow_hosts),
            allow_origins=tuple(allow_origin or settings().server.allow_origins),
        )
        level = logging.DEBUG if debug else logging.WARNING
        logging.basicConfig(stream=sys.stderr, level=level, format="memhop serve: %(message)s")
        from memhop import __version__
        from memhop.server.http.run import serve as run

        ended = run(
            root,
            chosen,
            _opener(embedder),
            version=__version__,
            authenticated=not no_auth,
            tell=lambda line: out.say(line),
        )
    if ended:
        raise typer.Exit(ended)


def _opener(embedder: str) -> Callable[[Path, bool], memhop.DB]:
    """Opens a tenant's file as the settings want it. All share one embedder and one chat model, loaded once.

    A file is shared with whoever else has it open, so that the command line and `memhop mcp` work beside the server.
    That costs a write some 0.2 ms for its turn, and a read nothing.
    """
    from memhop import DB

    config = settings()
    eyes, model, copies = embedder_called(embedder), chat_model(), backups()

    def opened(path: Path, create: bool) -> memhop.DB:
        return DB.open(
            path,
            mode="shared",
            wait=config.memory.wait,
            purpose="memhop serve",
            create=create,
            embedder=eyes,
            llm=model,
            durability=config.memory.durability,
            max_bytes=config.memory.max_bytes or None,
            backups=copies,
            config=config,
        )

    return opened
