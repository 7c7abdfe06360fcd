"""How a hook was called, and what came in on its standard input. Both may be anything."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memhop.clients.hooks import EVENTS, HOOKED

if TYPE_CHECKING:
    from memhop.common.settings import Config

STORE: Final = "store"  # before an event: the process that stores, which has no one waiting for it
CLIENTS: Final = tuple(HOOKED)
_MOST_INPUT: Final = 8 * 1024 * 1024
_OPTIONS: Final = ("--client", "--file", "--project", "--config")


class Unusable(ValueError):
    """The call or its input does not do. Says why, on one line."""


class Call(NamedTuple):
    """What was called: the event, and the options, "" where one was not given."""

    event: str
    client: str
    file: str
    project: str
    config: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Call:
        """Out of the words behind `memhop hook`. Raises Unusable."""
        given = dict.fromkeys(_OPTIONS, "")
        words = list(arguments)
        events = []
        while words:
            word = words.pop(0)
            name, assigned, value = ("--file" if word == "-f" else word).partition("=")
            if name in given:
                if not assigned and not words:
                    raise Unusable(f"{name} has no value")
                given[name] = value if assigned else words.pop(0)
            else:
                events.append(word)
        if len(events) != 1 or events[0] not in EVENTS:
            raise Unusable(f"{' '.join(events)!r:.60} is no event; events: {', '.join(EVENTS)}")
        client = given["--client"] or CLIENTS[0]
        if client not in CLIENTS:
            raise Unusable(f"{client!r:.40} is no client; clients: {', '.join(CLIENTS)}")
        return cls(events[0], client, given["--file"], given["--project"], given["--config"], tuple(arguments))

    def settings(self) -> Config:
        """The settings, as every command reads them. Raises ConfigError."""
        from memhop.common.settings_file import load

        return load(self.config or None, os.environ).config

    def path(self, config: Config) -> Path:
        """The memory."""
        return Path(self.file or config.memory.file).expanduser()


def read_input(descriptor: int) -> dict[str, Any]:
    """The JSON object that comes in, read until it is whole: some clients leave the input open. Raises Unusable."""
    data = b""
    while True:
        try:
            more = os.read(descriptor, 1 << 16)
        except OSError as error:
            raise Unusable(f"standard input: {error.strerror}") from None
        data += more
        if len(data) > _MOST_INPUT:
            raise Unusable(f"standard input: more than {_MOST_INPUT:,} bytes")
        if more and not data.rstrip().endswith(b"}"):
            continue
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            if more:
                continue
            raise Unusable("standard input: not JSON") from None
        if not isinstance(value, dict):
            raise Unusable("standard input: not an object")
        return value
