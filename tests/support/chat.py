"""A chat model in this process, for tests of what asks one: it says what it is told to, and can be held."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from memhop.models.chat import Reply

Says = str | Exception | Callable[[str, str], str]


class Chat:
    """Says the same each time, raises, or works it out from the two messages.

    Attributes:
        asked: (system, user) of every question.
        waiting: Set while somebody waits for a reply; `release` lets it come. Only with `held`.
    """

    name = "stub"

    def __init__(self, says: Says = "{}", *, held: bool = False, prompt_tokens: int = 10) -> None:
        self.says = says
        self.asked: list[tuple[str, str]] = []
        self.waiting = threading.Event()
        self.release = threading.Event()
        self._prompt_tokens = prompt_tokens
        if not held:
            self.release.set()

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        self.asked.append((system, user))
        self.waiting.set()
        assert self.release.wait(60), "nobody let the reply come"
        if isinstance(self.says, Exception):
            raise self.says
        text = self.says if isinstance(self.says, str) else self.says(system, user)
        return Reply(text, self._prompt_tokens, 5)


def keywords_of(_: str, user: str) -> str:
    """A reply to the keywords task: the first long word of each text."""
    import json
    import re

    items = []
    for alias, text in re.findall(r"\b(t\d+)\b[^\n]*\n(.*?)(?=\n[^\n]*\bt\d+\b|\Z)", user, re.DOTALL):
        items.append({"id": alias, "keywords": re.findall(r"\b[a-z]{5,}\b", text)[:1]})
    return json.dumps({"items": items})
