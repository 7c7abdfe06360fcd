"""Which clients there are: the files they read, and what an entry in them looks like.

Where a file is, is written as a template: {project}, {home}, {config} (~/.config), {app} (where applications keep
settings on this platform), {claude}, {claude_json}, {codex} (which variables of those clients move). Of several files
the first that exists is meant, else the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from memhop.clients import entry
from memhop.clients.entry import TOKEN_INPUT, Entry, Server, Shape, remote
from memhop.clients.jsonc import parse
from memhop.clients.piece import Element, Member, Piece
from memhop.clients.toml import Table
from memhop.common.config import check_choice
from memhop.common.errors import InvalidRequest

SCOPES: Final = ("user", "project")
Files = Mapping[str, tuple[str, ...]]  # scope -> templates


class Form(NamedTuple):
    """What an entry looks like.

    Attributes:
        keys: Above the name of the server.
        http: None: such servers are not reached.
        takes_token: Whether a header may name a variable, so that no token stands in the file.
    """

    keys: tuple[str, ...]
    stdio: Shape
    http: Shape | None = None
    takes_token: bool = False
    toml: bool = False


class Client(NamedTuple):
    """A client of memories.

    Attributes:
        files: Where its servers are configured; without any, what is to be entered is printed.
        form: Of an entry. form_2: the one of its next version, if it has another one.
        told: Where it reads instructions.
        about: What to do beside it, or to know.
    """

    title: str
    files: Files
    form: Form
    told: Files
    about: str = ""
    form_2: Form | None = None


_AGENTS: Final = ("{project}/AGENTS.md",)
_MCP: Final = ("mcpServers",)

CLIENTS: Final[dict[str, Client]] = {
    "claude": Client(
        "Claude Code",
        {"user": ("{claude_json}",), "project": ("{project}/.mcp.json",)},
        Form(_MCP, entry.typed, remote("url", variable="${NAME}", first={"type": "http"}), takes_token=True),
        {"user": ("{claude}/CLAUDE.md",), "project": ("{project}/CLAUDE.md",)},
        "start a new session; it asks once before it uses a project's own file",
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        {"user": ("{app}/Claude/claude_desktop_config.json",)},
        Form(_MCP, entry.plain),
        {},
        "quit the app fully and start it again",
    ),
    "cursor": Client(
        "Cursor",
        {"user": ("{home}/.cursor/mcp.json",), "project": ("{project}/.cursor/mcp.json",)},
        Form(_MCP, entry.typed, remote("url", variable="${env:NAME}"), takes_token=True),
        {"project": _AGENTS},
    ),
    "vscode": Client(
        "VS Code",
        {"user": ("{app}/Code/User/mcp.json",), "project": ("{project}/.vscode/mcp.json",)},
        Form(
            ("servers",),
            entry.typed,
            remote("url", variable=f"${{input:{TOKEN_INPUT}}}", first={"type": "http"}),
            takes_token=True,
        ),
        {"project": ("{project}/.github/copilot-instructions.md",)},
    ),
    "copilot": Client(
        "GitHub Copilot CLI",
        {"user": ("{home}/.copilot/mcp-config.json",), "project": ("{project}/.github/mcp.json",)},
        Form(
            _MCP,
            entry.copilot,
            remote("url", variable="${NAME}", first={"type": "http"}, last={"tools": ["*"]}),
            takes_token=True,
        ),
        {"project": ("{project}/.github/copilot-instructions.md",)},
    ),
    "opencode": Client(
        "OpenCode",
        {
            "user": ("{config}/opencode/opencode.jsonc", "{config}/opencode/opencode.json"),
            "project": (
                "{project}/.opencode/opencode.jsonc",
                "{project}/.opencode/opencode.json",
                "{project}/opencode.jsonc",
                "{project}/opencode.json",
            ),
        },
        Form(
            ("mcp",),
            entry.opencode_1,
            remote("url", variable="{env:NAME}", first={"type": "remote"}, last={"enabled": True}),
            takes_token=True,
        ),
        {"user": ("{config}/opencode/AGENTS.md",), "project": _AGENTS},
        form_2=Form(
            ("mcp", "servers"),
            entry.opencode_2,
            remote("url", variable="{env:NAME}", first={"type": "remote"}, last={"codemode": False}),
            takes_token=True,
        ),
    ),
    "codex": Client(
        "Codex",
        {"user": ("{codex}/config.toml",), "project": ("{project}/.codex/config.toml",)},
        Form(("mcp_servers",), entry.codex, entry.codex_http, takes_token=True, toml=True),
        {"user": ("{codex}/AGENTS.md",), "project": _AGENTS},
        "a project's own file counts where the project is trusted; hooks run when they were approved: /hooks",
    ),
    "gemini": Client(
        "Gemini CLI",
        {"user": ("{home}/.gemini/settings.json",), "project": ("{project}/.gemini/settings.json",)},
        Form(_MCP, entry.plain, remote("httpUrl", variable="${NAME}"), takes_token=True),
        {"user": ("{home}/.gemini/GEMINI.md",), "project": ("{project}/GEMINI.md",)},
    ),
    "antigravity": Client(
        "Antigravity",
        {"user": ("{home}/.gemini/config/mcp_config.json",), "project": ("{project}/.agents/mcp_config.json",)},
        Form(_MCP, entry.plain, remote("serverUrl")),
        {"project": _AGENTS},
    ),
    "windsurf": Client(
        "Windsurf",
        {"user": ("{home}/.codeium/windsurf/mcp_config.json",)},
        Form(_MCP, entry.plain, remote("serverUrl", variable="${env:NAME}"), takes_token=True),
        {"project": ("{project}/.windsurfrules",)},
    ),
    "zed": Client(
        "Zed",
        {"user": ("{config}/zed/settings.json",)},
        Form(("context_servers",), entry.plain, remote("url")),
        {"project": _AGENTS},
    ),
    "cline": Client(
        "Cline",
        {"user": ("{home}/.cline/mcp.json",)},
        Form(_MCP, entry.typed, remote("url", first={"type": "streamableHttp"})),
        {"project": ("{project}/.clinerules", "{project}/.clinerules/memhop.md")},
        "the editor's extension has a file of its own: open it from its panel, and name it with --config",
    ),
    "continue": Client(
        "Continue",
        {
            "user": ("{home}/.continue/mcpServers/memhop.json",),
            "project": ("{project}/.continue/mcpServers/memhop.json",),
        },
        Form(_MCP, entry.plain, remote("url", first={"type": "streamable-http"})),
        {"project": ("{project}/.continue/rules/memhop.md",)},
    ),
    "jetbrains": Client(
        "JetBrains AI Assistant",
        {},
        Form(_MCP, entry.plain, remote("url")),
        {},
        "enter it under Settings, Tools, AI Assistant, MCP",
    ),
    "junie": Client(
        "JetBrains Junie",
        {"user": ("{home}/.junie/mcp/mcp.json",), "project": ("{project}/.junie/mcp/mcp.json",)},
        Form(_MCP, entry.plain),
        {"project": ("{project}/.junie/guidelines.md",)},
    ),
}


def client_of(name: object) -> Client:
    """The client of a name. Raises InvalidRequest, with all names."""
    return CLIENTS[check_choice(name, field="CLIENT", choices=tuple(CLIENTS))]


def form_of(client: Client, text: str) -> Form:
    """How an entry looks in a configuration: in the form of the next version, if it has servers in it.

    Raises:
        InvalidRequest: the text is no JSON.
    """
    if client.form_2 is None:
        return client.form
    document = parse(text)
    node = document.find(client.form_2.keys)
    held = document.value(node) if node is not None else None
    # An entry of the older form that happens to have this name has a type, which is a text.
    return client.form_2 if isinstance(held, dict) and not isinstance(held.get("type"), str) else client.form


def entry_of(client: Client, form: Form, server: Server) -> Entry:
    """The entry of a server.

    Raises:
        InvalidRequest: the client does not reach servers by HTTP, or not without the token in its file.
    """
    if not server.url:
        return form.stdio(server)
    if form.http is None:
        raise InvalidRequest(f"{client.title} starts servers, it reaches none", field="--http", allowed="no address")
    if server.token_env and not form.takes_token:
        raise InvalidRequest(
            f"{client.title} reads no variables in headers, and a token stands in no file",
            field="--token-env",
            allowed="a server that it starts itself",
        )
    return form.http(server)


def piece_of(form: Form, name: str) -> Piece:
    """The entry of this name as a piece of a configuration."""
    return Table((form.keys[0], name)) if form.toml else Member((*form.keys, name))


def token_input(client: Client, server: Server) -> tuple[Piece, Entry] | None:
    """How VS Code is made to ask for the token; None: it need not."""
    if client is not CLIENTS["vscode"] or not server.token_env:
        return None
    wanted = {"type": "promptString", "id": TOKEN_INPUT, "description": "Token of the memory", "password": True}
    return Element(("inputs",), "id", TOKEN_INPUT), wanted
