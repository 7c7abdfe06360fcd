"""Where clients keep their files on this machine, and how a client calls this program."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from memhop.cli.configuration import loaded
from memhop.clients.hooks import MODULE, Hooked
from memhop.clients.table import SCOPES, Files
from memhop.common.config import check_choice
from memhop.common.errors import InvalidRequest

_NAME = re.compile(r"[a-z][a-z0-9-]{0,29}")
_RESERVED = frozenset({"servers", "workspace"})  # to clients


def path_of(files: Files, scope: str) -> Path:
    """The file of a scope: the first one of its templates that exists, else the last.

    Raises:
        InvalidRequest: the client has none in this scope.
    """
    check_choice(scope, field="--scope", choices=SCOPES)
    if scope not in files:
        raise InvalidRequest(
            "this client has no such file", field="--scope", allowed=", ".join(files) or "none: see --print"
        )
    values = _values(os.environ)
    paths = [Path(template.format_map(values)) for template in files[scope]]
    return next((path for path in paths if path.is_file()), paths[-1])


def _values(env: Mapping[str, str]) -> dict[str, str]:
    """What stands for the names in templates."""
    home = str(Path.home())
    config = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
    if sys.platform == "darwin":
        app = f"{home}/Library/Application Support"
    elif sys.platform == "win32":
        app = config = env.get("APPDATA") or f"{home}/AppData/Roaming"
    else:
        app = config
    claude = env.get("CLAUDE_CONFIG_DIR")
    return {
        "home": home,
        "config": config,
        "app": app,
        "project": str(Path.cwd()),
        "claude": claude or f"{home}/.claude",
        "claude_json": f"{claude or home}/.claude.json",
        "codex": env.get("CODEX_HOME") or f"{home}/.codex",
    }


def own_memory() -> Path:
    """The memory of a user, for what serves all projects: memhop/memory.meh below $XDG_DATA_HOME or ~/.local/share."""
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if os.path.isabs(data) else Path("~/.local/share").expanduser()) / "memhop" / "memory.meh"


def check_server_name(name: str) -> str:
    """A name which every client takes for a server. Raises InvalidRequest."""
    if _NAME.fullmatch(name) and name not in _RESERVED:
        return name
    raise InvalidRequest(
        f"{name!r:.40} does not do", field="--name", allowed="a-z, 0-9 and -, at most 30, beginning with a letter"
    )


def server_command(file: Path, project: str | None, tools: str | None) -> tuple[str, ...]:
    """The words with which a client starts the server, whatever its folder and its PATH."""
    words = [*_program(), *_settings(), "mcp", "--file", absolute(file)]
    for option, value in (("--project", project), ("--tools", tools)):
        words += [option, value] if value else []
    return tuple(words)


def hook_commands(how: Hooked, client: str, file: Path, project: str | None) -> dict[str, str]:
    """The command of each event, as the shell takes it. It goes by no script, whose start takes longer."""
    end = ["--client", client, *_settings(), "--file", absolute(file), *(["--project", project] if project else [])]
    return {event: shlex.join([sys.executable, "-P", "-m", MODULE, event, *end]) for event in how.events}


def absolute(path: Path) -> str:
    """A path which holds in any folder; links in it stay."""
    return str(path.expanduser().absolute())


def _program() -> list[str]:
    """The script that runs, or the module in this Python."""
    script = Path(sys.argv[0])
    if script.is_absolute() and script.stem == "memhop" and os.access(script, os.X_OK):
        return [str(script)]
    return [sys.executable, "-P", "-m", "memhop.cli.main"]


def _settings() -> list[str]:
    """The settings, if the user named a file of them. One that lies in the working folder is not trusted by this."""
    found = loaded()
    return ["--config", absolute(found.path)] if found.path is not None and found.named else []
