"""`memhop mcp`: the memory for one client, by the Model Context Protocol on standard input and output."""

from __future__ import annotations

import gc
import logging
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli import mcp_install
from memhop.cli.arguments import DEFAULT_FILE, DEFAULT_WAIT_S, EmbedderOption, FileOption, WaitOption
from memhop.cli.configuration import backups, chat_model, settings
from memhop.cli.exit_codes import reporting
from memhop.cli.output import is_closed
from memhop.common.config import check_choice, check_project
from memhop.common.errors import ConfigError, InvalidRequest

if TYPE_CHECKING:
    import memhop

_COMPATIBLE = ("hemisphere",)


def build_group() -> typer.Typer:
    """The command, and those that set clients up for it."""
    group = typer.Typer()
    group.callback(invoke_without_command=True)(mcp)
    for command in (mcp_install.install, mcp_install.uninstall, mcp_install.clients):
        group.command(command.__name__)(command)
    return group


def mcp(
    ctx: typer.Context,
    file: FileOption = DEFAULT_FILE,
    project: Annotated[
        str, typer.Option(metavar="NAME", help="Where notes belong and are looked for, when a call names no project.")
    ] = "",
    tools: Annotated[str, typer.Option(metavar="SET", help="core (the default), notes or full.")] = "",
    compat: Annotated[
        str,
        typer.Option(metavar="NAME", help="hemisphere: its seventeen tools instead, for instructions that use them."),
    ] = "",
    embedder: EmbedderOption = "none",
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only tools that read; the file is never written.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tell everything on standard error.")] = False,
    wait: WaitOption = DEFAULT_WAIT_S,
) -> None:
    """Serve a memory to one client, such as Claude Code or Cursor, on standard input and output.

    It ends when the client does. The file is opened by the first call, and shared with whoever else has it open; if it
    is missing, locked or damaged, the tools say so and work as soon as that is mended.
    """
    if ctx.invoked_subcommand is not None:
        with reporting(as_json=False):
            _check_none_typed(ctx)
        return
    with reporting(as_json=False):
        if find_spec("mcp") is None:
            raise ConfigError("mcp is not installed", hint="pip install 'memhop[mcp]'")
        if compat:
            check_choice(compat, field="--compat", choices=_COMPATIBLE)
            if tools:
                raise InvalidRequest("--compat is a set of its own", field="--tools", allowed="one of the two")
        chosen = compat or tools or settings().mcp.tools
        check_choice(chosen, field="--tools", choices=("core", "notes", "full", *_COMPATIBLE))
        asked = project or settings().mcp.project
        named = check_project(asked, field="--project") if asked else None
        path = file.expanduser().absolute()
    from memhop.server.mcp.wire import claim

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the server listens: no traceback
    try:
        wire = None if is_closed(sys.stdout) else claim()
    except OSError:
        wire = None
    if wire is None:
        print("memhop mcp: standard input or output is closed", file=sys.stderr)
        raise typer.Exit(1)
    logging.basicConfig(
        stream=sys.stderr, level=logging.DEBUG if debug else logging.WARNING, format="memhop mcp: %(name)s: %(message)s"
    )
    gc.disable()  # a sixth of the time until the first answer: what is being loaded stays
    from memhop import __version__
    from memhop.server.mcp.memory import Memory
    from memhop.server.mcp.stdio import serve
    from memhop.server.operation import READ, Host
    from memhop.server.toolsets import toolset

    shown = toolset(chosen)
    if read_only:
        shown = {name: one for name, one in shown.items() if one.scope == READ}

    def open_db(path: Path, create: bool) -> memhop.DB:
        return _opened(path, create, embedder=embedder, wait=wait, read_only=read_only)

    host = Host(local=True, project=named, page=settings().recall.page)
    gc.freeze()
    gc.enable()
    serve(wire, Memory(path, open_db), shown, host=host, version=__version__)


def _opened(path: Path, create: bool, *, embedder: str, wait: float, read_only: bool) -> memhop.DB:
    """The memory as the settings want it. Models are made here, too: what is wrong with one is told by every call."""
    from memhop import DB
    from memhop.cli.arguments import embedder_called

    config = settings()
    return DB.open(
        path,
        mode="read" if read_only and not create else "shared",
        wait=wait,
        purpose="memhop mcp",
        create=create,
        embedder=embedder_called(embedder),
        llm=chat_model(),
        durability=config.memory.durability,
        max_bytes=config.memory.max_bytes or None,
        backups=None if read_only else backups(),
        config=config,
    )


def _check_none_typed(ctx: typer.Context) -> None:
    """Refuse options of the server in front of another command, which would not look at them."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidRequest(
                f"`memhop mcp {ctx.invoked_subcommand}` does not look at it there",
                field=parameter.opts[0],
                allowed="options behind its name",
            )
