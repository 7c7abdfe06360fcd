"""A chat model within the process that says what a test tells it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from memhop.models.chat import Reply


class Question(NamedTuple):
    system: str
    user: str
    max_tokens: int
    schema: Mapping[str, Any] | None


Answered = str | Mapping[str, Any] | Exception


class ScriptedChat:
    """Answers in turn, the last answer again and again; or what a function of the question returns.

    A str is the text of the reply, a mapping its JSON, an exception is raised.
    """

    def __init__(
        self, script: Answered | Sequence[Answered] | Callable[[Question], Answered], name: str = "stub"
    ) -> None:
        self.name = name
        self.asked: list[Question] = []
        self._script = script

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        question = Question(system, user, max_tokens, schema)
        self.asked.append(question)
        answer = self._next(question)
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))

    def _next(self, question: Question) -> Answered:
        script = self._script
        if callable(script):
            return script(question)
        if isinstance(script, str | Mapping | Exception):
            return script
        return script[min(len(self.asked), len(script)) - 1]
