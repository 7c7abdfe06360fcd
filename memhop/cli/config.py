"""`memhop config show | check | path`: the settings that hold, and where each comes from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import typer

from memhop.cli.arguments import JsonOption
from memhop.cli.configuration import loaded
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.groups import group_of
from memhop.common.settings_file import options, searched

if TYPE_CHECKING:
    from memhop.common.settings_file import Loaded

_HIDDEN = frozenset({"model.key_command"})  # a command line may have a secret in it


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "The settings that hold, and where each comes from: memhop.toml, then the environment, then arguments.",
        {"show": show, "check": check, "path": path},
    )


def show(as_json: JsonOption = False) -> None:
    """Every setting with its value and where that comes from."""
    with reporting(as_json=as_json) as out:
        found = loaded()
        rows = _rows(found)
        if as_json:
            settings = {name: {"value": value, "origin": origin} for name, value, origin in rows}
            out.json({"file": str(found.path) if found.path else None, "settings": settings})
        else:
            out.table(
                ("setting", "value", "comes from"), [(name, _shown(value), origin) for name, value, origin in rows]
            )


def check(as_json: JsonOption = False) -> None:
    """Read the settings, and say what is wrong with them. Exit code 2: something is."""
    with reporting(as_json=as_json) as out:
        found = loaded()
        set_ = [name for name, origin in found.origins.items() if origin != "default"]
        if as_json:
            out.json({"file": str(found.path) if found.path else None, "set": sorted(set_)})
        else:
            where = f"{found.path}" if found.path else "there is no file"
            out.say(("in order", "green"), f": {where}; {len(set_)} settings differ from the defaults")


def path(as_json: JsonOption = False) -> None:
    """The file that is read, and where one is looked for. Exit code 1: there is none."""
    with reporting(as_json=as_json) as out:
        found = loaded()
        places = [str(place) for place, _ in searched(os.environ)]
        if as_json:
            out.json({"file": str(found.path) if found.path else None, "searched": places})
        elif found.path:
            out.say(str(found.path))
        else:
            out.notice(f"there is no file; looked for: {', '.join(places)}")
        if found.path is None:
            raise typer.Exit(FAILED)


def _rows(found: Loaded) -> list[tuple[str, Any, str]]:
    rows = []
    for section, name, _ in options():
        value = getattr(getattr(found.config, section), name)
        full = f"{section}.{name}"
        if full in _HIDDEN and value:
            value = "(a command)"
        rows.append((full, list(value) if isinstance(value, tuple) else value, found.origins[full]))
    if found.config.schemas:
        rows.append(("schemas", sorted(found.config.schemas), found.origins["schemas"]))
    return rows


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(value) or "-"
    return str(value) if value not in ("", {}) else "-"
