"""What a client runs at events of a session: `memhop hook EVENT`, and where that is written down.

Claude Code, Codex and Gemini CLI have groups of handlers by event:
`{"hooks": {EVENT: [{"matcher": ..., "hooks": [HANDLER]}]}}`; Cursor has handlers alone. A handler is ours if its
command calls our hooks, in whatever Python it does. The command must stay the same from version to version: Codex runs
no command that the user has not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from memhop.clients import splice
from memhop.clients.jsonc import parse
from memhop.common.config import check_choice

EVENTS: Final = ("session-start", "prompt", "stop", "pre-compact", "session-end")
MODULE: Final = "memhop.cli.hook"
_OURS: Final = re.compile(rf"\bmemhop(?:\.cli\.hook|(?:\.exe)?[\"']?\s+hook)\s+(?:{'|'.join(EVENTS)})\b")
_SECONDS: Final = {"session-start": 10, "prompt": 5, "stop": 10, "pre-compact": 10, "session-end": 10}


class Hooked(NamedTuple):
    """How a client takes hooks.

    Attributes:
        files: Scope -> templates, as in `table.py`.
        events: Ours -> the client's name of it.
        matchers: Ours -> which of these events; the others all.
        per_second: Units of a timeout in a second.
        flat: Handlers alone, without groups, in a file with a version.
    """

    files: Mapping[str, tuple[str, ...]]
    events: Mapping[str, str]
    matchers: Mapping[str, str] = {}
    per_second: int = 1
    flat: bool = False


# What is told at the start of a session is in its transcript: not told again when it is resumed.
_CLAUDE_EVENTS: Final = dict(
    zip(EVENTS, ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"), strict=True)
)

HOOKED: Final[dict[str, Hooked]] = {
    "claude": Hooked(
        {"user": ("{claude}/settings.json",), "project": ("{project}/.claude/settings.local.json",)},
        _CLAUDE_EVENTS,
        {"session-start": "startup|clear|compact"},
    ),
    "codex": Hooked(
        {"user": ("{codex}/hooks.json",), "project": ("{project}/.codex/hooks.json",)},
        _CLAUDE_EVENTS,
        {"session-start": "startup|clear|compact"},
    ),
    "cursor": Hooked(
        {"user": ("{home}/.cursor/hooks.json",), "project": ("{project}/.cursor/hooks.json",)},
        {"session-start": "sessionStart", "prompt": "beforeSubmitPrompt", "stop": "afterAgentResponse"},
        flat=True,
    ),
    "gemini": Hooked(
        {"user": ("{home}/.gemini/settings.json",), "project": ("{project}/.gemini/settings.json",)},
        {"session-start": "SessionStart", "prompt": "BeforeAgent", "stop": "AfterAgent"},
        per_second=1000,
    ),
}


def hooked(client: object) -> Hooked:
    """How a client takes hooks. Raises InvalidRequest: it takes none of ours."""
    return HOOKED[check_choice(client, field="CLIENT", choices=tuple(HOOKED))]


class Hooks(NamedTuple):
    """All hooks of ours in the file of a client: `{client's event: [groups, or handlers]}`."""

    how: Hooked

    def wanted(self, commands: Mapping[str, str]) -> dict[str, list[Any]]:
        """What is put in, out of the command for each event of ours."""
        found: dict[str, list[Any]] = {}
        for event, name in self.how.events.items():
            handler: dict[str, Any] = {"command": commands[event], "timeout": _SECONDS[event] * self.how.per_second}
            if self.how.flat:
                found[name] = [handler]
                continue
            group: dict[str, Any] = {"hooks": [{"type": "command", **handler}]}
            matcher = self.how.matchers.get(event)
            found[name] = [{"matcher": matcher, **group} if matcher else group]
        return found

    def held(self, text: str) -> Any:
        """What of it is there, None if nothing is. Raises InvalidRequest: the text is no JSON."""
        found: dict[str, list[Any]] = {}
        for name, _, group in _groups(text):
            if self.how.flat:
                ours = group if _is_ours(group) else None
            else:
                handlers = [handler for handler in _handlers(group) if _is_ours(handler)]
                ours = {**group, "hooks": handlers} if handlers else None
            if ours is not None:
                found.setdefault(name, []).append(ours)
        return found or None

    def put(self, text: str, value: Any) -> str:
        """The text with these, in the place of others of ours. Raises InvalidRequest."""
        there = self.held(text)
        if there is not None and splice.same(there, value):
            return text
        text = self.take(text)
        if self.how.flat and parse(text).find(("version",)) is None:
            text = splice.put(text, ("version",), 1)
        for name, groups in value.items():
            for group in groups:
                text = splice.append(text, ("hooks", name), group)
        return text

    def take(self, text: str) -> str:
        """The text without them; handlers of others stay, also in groups with ours. Raises InvalidRequest."""
        for name, index, group in reversed(list(_groups(text))):
            if self.how.flat:
                if _is_ours(group):
                    text = splice.drop(text, ("hooks", name), index)
                continue
            handlers = _handlers(group)
            ours = [number for number, handler in enumerate(handlers) if _is_ours(handler)]
            if ours and len(ours) == len(handlers):
                text = splice.drop(text, ("hooks", name), index)
                continue
            for number in reversed(ours):
                text = splice.drop(text, ("hooks", name, index, "hooks"), number)
        return text


def _groups(text: str) -> Iterator[tuple[str, int, Any]]:
    """(client's event, place, group) of all there are, whoever's."""
    document = parse(text)
    node = document.find(("hooks",))
    for name, groups in (document.value(node) if node is not None and node.kind == "object" else {}).items():
        if isinstance(groups, list):
            for index, group in enumerate(groups):
                yield name, index, group


def _handlers(group: Any) -> list[Any]:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    return handlers if isinstance(handlers, list) else []


def _is_ours(handler: Any) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and _OURS.search(command) is not None
