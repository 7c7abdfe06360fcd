"""What a command gets where nothing is typed behind its name: options typed before it, then the settings.

The root of the command line reads the settings once, before the command's own arguments are parsed, and hands them on
as defaults: argument < option before the command < environment < file, the strongest first.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memhop.common.errors import ConfigError
from memhop.common.settings import Config
from memhop.common.settings_file import Loaded, load

if TYPE_CHECKING:
    import memhop

_KEY_SECONDS = 10.0
_QUERIES = frozenset(
    {"recall", "explain", "why-not", "search", "at"}
)  # their --limit counts hits, that of others a page

_path: ContextVar[str | None] = ContextVar("path", default=None)
_loaded: ContextVar[Loaded | None] = ContextVar("loaded", default=None)


def choose(path: str | None) -> None:
    """Remember which file was asked for, and forget what was read."""
    _path.set(path)
    _loaded.set(None)


def loaded() -> Loaded:
    """The settings, read at first use. Raises ConfigError."""
    found = _loaded.get()
    if found is None:
        found = load(_path.get(), os.environ)
        _loaded.set(found)
    return found


def settings() -> Config:
    """The settings that hold for this command."""
    return loaded().config


def defaults(name: str, command: Any, typed: Mapping[str, Any], *, read: bool) -> dict[str, Any]:
    """What takes the place of a command's own defaults, as a tree by names of commands.

    Args:
        name, command: The command that was typed, or a group.
        typed: Options given before the command, by parameter; None: not given.
        read: Whether the command works by the settings. Raises ConfigError where they do not do.
    """
    return dict(_defaults({name: command}, _set() if read else {}, typed))


def _defaults(
    commands: Mapping[str, Any], chosen: Mapping[str, Any], typed: Mapping[str, Any], first: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, command in commands.items():
        top = first or name
        limit = chosen.get("limit" if top in _QUERIES else "page")
        values = {**chosen, "limit": limit} | {key: value for key, value in typed.items() if value is not None}
        found: dict[str, Any] = {}
        for parameter in command.params:
            value = values.get(parameter.name)
            if value is not None:
                found[parameter.name] = [value] if getattr(parameter, "multiple", False) else value
        if hasattr(command, "commands"):
            found |= dict(_defaults(command.commands, chosen, typed, top))
        yield name, found


def _set() -> dict[str, Any]:
    """Settings that somebody made, by the parameter they stand in for; the others keep the command's own default."""
    found = loaded()
    config = found.config
    values = {
        "memory.file": ("file", str(Path(config.memory.file).expanduser())),
        "memory.wait": ("wait", config.memory.wait),
        "memory.embedder": ("embedder", config.memory.embedder),
        "recall.token_budget": ("budget", config.recall.token_budget),
        "recall.limit": ("limit", config.recall.limit),
        "recall.page": ("page", config.recall.page),
        "server.root": ("root", str(Path(config.server.root).expanduser())),
        "server.host": ("host", config.server.host),
        "server.port": ("port", config.server.port),
    }
    return {name: None if found.origins[option] == "default" else value for option, (name, value) in values.items()}


def backups() -> memhop.Backups | None:
    """The automatic copies that the settings ask for."""
    config = settings()
    if not config.backups.folder:
        return None
    import memhop

    return memhop.Backups(
        folder=config.backups.folder,
        every_commits=config.backups.every_commits,
        every_hours=config.backups.every_hours,
        keep=config.backups.keep,
    )


def chat_model(name: str | None = None) -> memhop.OpenAIChat | None:
    """The chat model of the settings, or the one called `name` at the same service. None: there is none.

    Raises:
        ConfigError: the command that prints the key fails, or what the model needs is not installed.
    """
    config = settings()
    wanted = name or config.model.name
    if not wanted:
        return None
    import memhop

    return memhop.OpenAIChat(wanted, base_url=config.model.base_url or None, api_key=_key())


def _key() -> str | None:
    """The key of the service. That of OpenAI goes to no other one."""
    config = settings()
    if config.model.key_command:
        return _printed(config.model.key_command)
    elsewhere = bool(config.model.base_url)
    return os.environ.get("MEMHOP_API_KEY") or (None if elsewhere else os.environ.get("OPENAI_API_KEY")) or None


def _printed(command: str) -> str:
    """What a command prints, without white space around it. What it says on its streams is shown to nobody."""
    import shlex

    field = "model.key_command"
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"it cannot be split into words: {error}", field=field) from None
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_KEY_SECONDS, check=True)
        key = done.stdout.decode("ascii").strip()
    except subprocess.TimeoutExpired:
        raise ConfigError(f"it did not end within {_KEY_SECONDS:g} s", field=field) from None
    except subprocess.CalledProcessError as error:
        raise ConfigError(f"it ended with code {error.returncode}", field=field) from None
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it printed something that is no key"
        raise ConfigError(f"{what}", field=field) from None
    if not key or len(key.split()) > 1:
        raise ConfigError("it printed something that is no key", field=field, allowed="one word")
    return key
