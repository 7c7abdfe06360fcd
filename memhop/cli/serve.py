"""`memhop serve`: many memories over HTTP. `memhop status` and `memhop stop` are about such a server."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import DEFAULT_ROOT, JsonOption, RootOption, embedder_called
from memhop.cli.configuration import backups, chat_model, settings
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.output import when
from memhop.common.clock import to_iso
from memhop.common.config import check_choice, check_int, check_seconds
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
        str, typer.Option(metavar="SET", help="Shown over MCP: core (the default), notes, full or hemisphere.")
    ] = "",
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
        config = settings()
        check_choice(tools or config.server.tools, field="--tools", choices=_TOOLS)
        check_int(port, field="--port", low=0, high=65535)
        chosen = replace(
            config.server,
            host=host,
            port=port,
            tools=tools or config.server.tools,
            allow_hosts=tuple(allow_host or config.server.allow_hosts),
            allow_origins=tuple(allow_origin or config.server.allow_origins),
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
            page=config.recall.page,
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


def stop(
    root: RootOption = DEFAULT_ROOT,
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="Longest wait for its end, 0..3600.")] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Stop the server of --root: it finishes what it is doing, and closes every memory. No other process is touched."""
    with reporting(as_json=as_json) as out:
        check_seconds(wait, field="--wait", high=3600)
        from memhop.server.http.statefile import NAME
        from memhop.server.http.statefile import stop as end

        state = end(root.expanduser() / NAME, wait_s=wait)
        if as_json:
            out.json({"stopped": True, "pid": state.pid})
        else:
            out.say(f"stopped process {state.pid}, which listened at {state.host}, port {state.port}")


def status(root: RootOption = DEFAULT_ROOT, as_json: JsonOption = False) -> None:
    """Tell whether a server runs on --root, and where it listens. Exit code 1: none does."""
    with reporting(as_json=as_json) as out:
        from memhop.server.http.statefile import NAME, look

        found = look(root.expanduser() / NAME)
        state = found.state
        if as_json:
            where = {} if state is None else {"pid": state.pid, "host": state.host, "port": state.port}
            out.json({"state": found.word, **where, "since": None if state is None else to_iso(state.since)})
        elif state is None or found.word == "stale":
            out.say("no server runs" + ("; the last one was killed" if state else ""))
        else:
            said = "runs" if found.word == "running" else "is there, and does not answer as the server"
            out.say(f"process {state.pid} {said}; host {state.host}, port {state.port}, since {when(state.since)}")
        if found.word != "running":
            raise typer.Exit(FAILED)
