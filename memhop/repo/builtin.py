"""Capability cards that come with MemHop: the JSON files of `capabilities/`, which the wheel carries as package data.

They are read-only and never written to a memory. A card of the file with the same name hides one, whatever its status.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import msgspec

from memhop.common.errors import ConfigError, MemhopError
from memhop.repo.card import checked
from memhop.repo.l5_capability import Capability


@cache
def builtin_cards() -> tuple[Capability, ...]:
    """All of them, by name. `id` is 0: they are in no file."""
    return tuple(_load(path) for path in sorted(_folder().glob("*.json")))


def _folder() -> Path:
    package = Path(__file__).resolve().parent.parent
    for candidate in (package / "capabilities", package.parent / "capabilities"):
        if candidate.is_dir():
            return candidate
    raise ConfigError("the built-in capability cards are missing", hint="reinstall memhop")


def _load(path: Path) -> Capability:
    try:
        return msgspec.structs.replace(checked(json.loads(path.read_bytes())).card, origin="builtin")
    except (MemhopError, OSError, ValueError) as error:
        raise ConfigError(f"the built-in card {path.name} does not do: {error}", hint="reinstall memhop") from None
