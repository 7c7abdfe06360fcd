"""The entry of a server in the configuration of a client: what it is called there differs from client to client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

TOKEN_INPUT = "memhop-token"  # how VS Code asks for a token

Entry = dict[str, Any]


class Server(NamedTuple):
    """A server as a client starts or reaches it.

    Attributes:
        command: The words that start it; empty if it is reached at `url`.
        token_env: The variable that holds the bearer token, "" for none. The token itself stands in no file.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    token_env: str = ""


Shape = Callable[[Server], Entry]


def plain(server: Server) -> Entry:
    """Most clients."""
    return {"command": server.command[0], "args": list(server.command[1:])}


def typed(server: Server) -> Entry:
    """Those that want the transport named."""
    return {"type": "stdio", **plain(server)}


def copilot(server: Server) -> Entry:
    """GitHub Copilot CLI, which also wants to know which tools."""
    return {"type": "local", **plain(server), "tools": ["*"]}


def opencode_1(server: Server) -> Entry:
    """OpenCode 1, and 2, which reads it too."""
    return {"type": "local", "command": list(server.command), "enabled": True}


def opencode_2(server: Server) -> Entry:
    """OpenCode 2; its tools are shown by themselves instead of inside a script."""
    return {"type": "local", "command": list(server.command), "codemode": False}


def codex(server: Server) -> Entry:
    """Codex; its own defaults of the times differ between versions."""
    return {**plain(server), "startup_timeout_sec": 20, "tool_timeout_sec": 60}


def codex_http(server: Server) -> Entry:
    """Codex takes the name of the variable."""
    token = {"bearer_token_env_var": server.token_env} if server.token_env else {}
    return {"url": server.url, **token, "tool_timeout_sec": 60}


def remote(key: str, *, variable: str = "", first: Entry | None = None, last: Entry | None = None) -> Shape:
    """The entry of a server that is reached by HTTP.

    Args:
        key: What the address is called.
        variable: How a value of the environment is written, with NAME in the place of its name.
        first, last: What else is in it.
    """

    def shape(server: Server) -> Entry:
        bearer = f"Bearer {variable.replace('NAME', server.token_env)}"
        headers = {"headers": {"Authorization": bearer}} if server.token_env else {}
        return {**(first or {}), key: server.url, **headers, **(last or {})}

    return shape
