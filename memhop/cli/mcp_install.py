"""`memhop mcp install | uninstall | clients`: the memory in the configuration of a client, and out of it again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from memhop.cli.arguments import DEFAULT_FILE, DryRunOption, JsonOption, YesOption, typed
from memhop.cli.edit_plan import Pieces, Plan, carry_out
from memhop.cli.edited_file import preview
from memhop.cli.exit_codes import reporting
from memhop.cli.output import Output
from memhop.cli.places import check_server_name, hook_commands, own_memory, path_of, server_command
from memhop.clients.entry import Server
from memhop.clients.hooks import HOOKED, Hooks, hooked
from memhop.clients.piece import Piece, brought
from memhop.clients.table import CLIENTS, Client, client_of, entry_of, form_of, piece_of, token_input
from memhop.common.config import check_choice, check_project
from memhop.common.errors import InvalidRequest, MemhopError

TOOLS = ("core", "notes", "full")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

ClientArgument = Annotated[str, typer.Argument(metavar="CLIENT", help="Which client; `memhop mcp clients` lists them.")]
ScopeOption = Annotated[
    str, typer.Option("--scope", metavar="SCOPE", help="user (for all projects) or project (the working folder).")
]
NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="What the server is called in the client.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="PATH", help="The client's file, in the place of its usual one.")
]


def install(
    client: ClientArgument,
    scope: ScopeOption = "user",
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="PATH",
            help="The memory, a .meh file; default: as elsewhere, but for all projects "
            "~/.local/share/memhop/memory.meh, in place of one in this folder.",
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="The project; default: where the client works.")
    ] = None,
    tools: Annotated[str | None, typer.Option("--tools", metavar="SET", help="core, notes or full.")] = None,
    name: NameOption = "memhop",
    http: Annotated[
        str | None, typer.Option("--http", metavar="URL", help="Reach a server that runs, instead of starting one.")
    ] = None,
    token_env: Annotated[
        str | None, typer.Option("--token-env", metavar="VARIABLE", help="What holds the token of --http.")
    ] = None,
    hooks: Annotated[
        bool, typer.Option("--hooks", help="Also tell and store by itself at events of a session; see `memhop hook`.")
    ] = False,
    writing: Annotated[
        bool, typer.Option("--write/--print", help="Change the file, or only print what would stand in it.")
    ] = True,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put the memory into the configuration of a client. All else in it stays; what was there is kept beside it."""
    with reporting(as_json=as_json) as out:
        chosen, server_name = client_of(client), check_server_name(name)
        memory = file or (own_memory() if scope == "user" else DEFAULT_FILE)
        server = _server(memory, project, tools, http, token_env)
        files = [_File(config, chosen.files, lambda text: _entries(chosen, server_name, server, text))]
        if hooks:
            files.append(_hook_file(client, memory, project, http))
        if not writing or not (chosen.files or config):
            _print(out, client, files)
            return
        plans = [Plan(*one) for one in _by_path(files, scope).items()]
        carry_out(out, client, plans, dry_run=dry_run, yes=yes, done="written", about=chosen.about)
        if not dry_run and not http and memory == own_memory():
            memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def uninstall(
    client: ClientArgument,
    scope: ScopeOption = "user",
    name: NameOption = "memhop",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take the memory out of the configuration of a client, with its hooks. The memory itself stays."""
    with reporting(as_json=as_json) as out:
        chosen, server_name = client_of(client), check_server_name(name)
        files = [_File(config, chosen.files, lambda text: _there(chosen, server_name, text))]
        if client in HOOKED:
            how = hooked(client)
            files.append(_File(None, how.files, lambda text: [(Hooks(how), None)]))
        plans = [Plan(*one, taking=True) for one in _by_path(files, scope).items()]
        carry_out(out, client, plans, dry_run=dry_run, yes=yes, done="taken out", about="")


def clients(name: NameOption = "memhop", as_json: JsonOption = False) -> None:
    """List the clients, the files they read here, and which of them have the memory."""
    with reporting(as_json=as_json) as out:
        found = [_Row.of(key, scope, check_server_name(name)) for key, one in CLIENTS.items() for scope in one.files]
        if as_json:
            out.json([row._asdict() | {"file": str(row.file)} for row in found])
            return
        out.table(
            ("client", "scope", "state", "file"), [(row.client, row.scope, row.state, str(row.file)) for row in found]
        )


class _Row(NamedTuple):
    client: str
    scope: str
    state: str
    file: Path

    @classmethod
    def of(cls, key: str, scope: str, name: str) -> _Row:
        """What is there of a client. A file that cannot be read is told, not raised."""
        client = CLIENTS[key]
        path = path_of(client.files, scope)
        pieces = _File(None, {}, lambda text: _there(client, name, text))
        try:
            text = preview(path, lambda old, _: old).old
            has = text is not None and any(piece.held(text) is not None for piece, _ in pieces.pieces(text))
            state = "memory" if has else "there" if text is not None or path.parent.is_dir() else "-"
        except MemhopError:
            state = "broken"
        return cls(key, scope, state, path)


# -- what goes into which file -------------------------------------------------------------------------------


class _File(NamedTuple):
    path: Path | None
    files: Mapping[str, tuple[str, ...]]
    pieces: Pieces


def _by_path(files: Sequence[_File], scope: str) -> dict[Path, Pieces]:
    """The pieces of each file; the same file may have several."""
    grouped: dict[Path, list[Pieces]] = {}
    for one in files:
        grouped.setdefault(one.path or path_of(one.files, scope), []).append(one.pieces)
    return {
        path: lambda text, made=tuple(made): [pair for pieces in made for pair in pieces(text)]  # type: ignore[misc]
        for path, made in grouped.items()
    }


def _server(file: Path, project: str | None, tools: str | None, http: str | None, token_env: str | None) -> Server:
    if tools is not None:
        check_choice(tools, field="--tools", choices=TOOLS)
    named = None if project is None else check_project(typed(project))
    if http is None:
        if token_env is not None:
            raise InvalidRequest("a server that is started needs none", field="--token-env", allowed="with --http")
        return Server(server_command(file, named, tools))
    if tools is not None or project is not None:
        raise InvalidRequest("the server that runs has its own", field="--http", allowed="no --tools and no --project")
    if not http.startswith(("http://", "https://")) or not http.isprintable() or " " in http:
        raise InvalidRequest(f"{http!r:.60} is no address", field="--http", allowed="http://... or https://...")
    if token_env is not None and not _VARIABLE.fullmatch(token_env):
        raise InvalidRequest(
            f"{token_env!r:.40} is no name of a variable", field="--token-env", allowed="letters, digits and _"
        )
    return Server((), http, token_env or "")


def _entries(client: Client, name: str, server: Server, text: str) -> Sequence[tuple[Piece, Any]]:
    form = form_of(client, text)
    asked = token_input(client, server)
    return [(piece_of(form, name), entry_of(client, form, server)), *([asked] if asked else [])]


def _there(client: Client, name: str, text: str) -> Sequence[tuple[Piece, Any]]:
    """All places where something of ours may be."""
    forms = [client.form, *([client.form_2] if client.form_2 else [])]
    pieces = [piece_of(form, name) for form in forms]
    asked = token_input(client, Server(url="-", token_env="-"))
    return [(piece, None) for piece in [*pieces, *([asked[0]] if asked else [])]]


def _hook_file(client: str, file: Path, project: str | None, http: str | None) -> _File:
    how = hooked(client)
    if http is not None:
        raise InvalidRequest("hooks work on a file of this machine", field="--hooks", allowed="without --http")
    named = None if project is None else check_project(typed(project))
    pieces = Hooks(how)
    wanted = pieces.wanted(hook_commands(how, client, file, named))
    return _File(None, how.files, lambda text: [(pieces, wanted)])


# -- doing it ------------------------------------------------------------------------------------------------


def _print(out: Output, client: str, files: Sequence[_File]) -> None:
    texts = [brought(None, one.pieces("")) for one in files]
    if out.as_json:
        out.json({"client": client, "texts": texts})
        return
    for one, text in zip(files, texts, strict=True):
        where = " or ".join(f"{path_of(one.files, scope)} ({scope})" for scope in one.files)
        out.notice(f"for {where}" if where else CLIENTS[client].about)
        out.raw(text.rstrip("\n"))
