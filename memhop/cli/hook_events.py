"""What each event of a session is answered with, in the words of each client.

session-start                   where the project stands
prompt                          what bears on it; nothing where little is sure
stop, pre-compact, session-end  nothing: they store, as `prompt` does for clients that tell a turn in two halves
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final

from memhop.cli.hook_call import STORE, Call

if TYPE_CHECKING:
    from memhop.common.settings import Config

ERROR_SUFFIX: Final = ".hook-error"

_NAMES: Final[dict[str, dict[str, str]]] = {
    "session-start": {"claude": "SessionStart", "codex": "SessionStart", "gemini": "SessionStart"},
    "prompt": {"claude": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"},
}
_TELLS_HALVES: Final = frozenset({"codex", "cursor"})  # their event of a reply does not repeat the prompt
_NAME_CHARS: Final = 200


def answer(call: Call, payload: dict[str, Any]) -> tuple[str, str]:
    """What is printed, and what is complained of; "" where there is nothing to say. Raises what goes wrong."""
    if call.event not in _NAMES or _is_foreign(call, payload):
        return "", ""
    if call.client == "cursor" and call.event == "prompt":
        return json.dumps({"continue": True}), ""  # it takes no context here
    config = call.settings()
    path = call.path(config)
    missed = _missed(path) if call.event == "session-start" else ""
    return _wrapped(call, _told(call, payload, path, config), missed), missed


def stores(call: Call, payload: dict[str, Any]) -> bool:
    """Whether something of the event is to be stored."""
    halves = call.event == "prompt" and call.client in _TELLS_HALVES
    return (call.event not in _NAMES or halves) and not _is_foreign(call, payload)


def _is_foreign(call: Call, payload: dict[str, Any]) -> bool:
    """Whether this is not for us: a sub-agent's session, or Cursor, which runs hooks of Claude Code beside its own."""
    return bool(payload.get("agent_id")) or (call.client == "claude" and "cursor_version" in payload)


def error_file(path: Path) -> Path:
    """Where the process that stores notes that it could not."""
    return path.with_name(path.name + ERROR_SUFFIX)


def _missed(path: Path) -> str:
    """Why nothing is stored: the newest failure, "" if it succeeded since."""
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    try:
        with error_file(path).open(encoding="utf-8", errors="replace") as file:
            return f"what was said was not stored: {file.read(300).strip()}"
    except OSError:
        return ""


def _told(call: Call, payload: dict[str, Any], path: Path, config: Config) -> str:
    prompt = text_of(payload, "prompt")
    if payload.get("source") == "resume" or (call.event == "prompt" and not prompt.strip()):
        return ""  # the transcript has it; there is no question
    if not path.exists():
        return ""  # nothing is stored yet
    from memhop import DB
    from memhop.api.session_text import brief_text, prompt_text

    with DB.open(path, mode="read", config=config) as db:
        project = project_of(call, payload)
        if call.event == "session-start":
            return brief_text(db, project)
        return prompt_text(db, prompt, project, session_of(payload))


def _wrapped(call: Call, text: str, missed: str) -> str:
    if call.client == "cursor":
        return json.dumps({"additional_context": text}) if text else ""
    name = _NAMES[call.event][call.client]
    told = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}} if text else {}
    shown = {"systemMessage": f"memhop: {missed}"} if missed and call.client == "claude" else {}
    return json.dumps({**told, **shown}) if told or shown else ""


def store_apart(call: Call, payload: dict[str, Any]) -> None:
    """Start the process that stores. It belongs to no terminal and no group of this one, and outlives it."""
    import subprocess

    data = json.dumps(payload | {"memhop_cwd": _cwd()}).encode()
    if hasattr(os, "memfd_create"):
        held = os.memfd_create("memhop-hook")  # a file in memory: the disk may be full
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            held = os.dup(file.fileno())
    while data:
        data = data[os.write(held, data) :]
    os.lseek(held, 0, os.SEEK_SET)
    subprocess.Popen(
        [sys.executable, "-P", "-m", "memhop.cli.hook", STORE, *call.arguments],
        stdin=held,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


# -- what a payload says -------------------------------------------------------------------------------------


def text_of(payload: dict[str, Any], *names: str) -> str:
    """The first of these that is a text, "" if none is. Half surrogate pairs, which JSON may hold, are replaced."""
    found = next((payload[name] for name in names if isinstance(payload.get(name), str) and payload[name]), "")
    return found.encode("utf-8", "replace").decode() if not found.isascii() else str(found)


def session_of(payload: dict[str, Any]) -> str:
    """The client's name of the session, "" if it has none that would do."""
    name = text_of(payload, "session_id", "conversation_id", "sessionId").strip()
    return name if len(name) <= _NAME_CHARS and name.isprintable() else ""


def project_of(call: Call, payload: dict[str, Any]) -> str:
    """The project: what was asked for, else the last part of the folder the client works in."""
    if call.project:
        return call.project
    roots = payload.get("workspace_roots")
    folders = (
        os.environ.get("CLAUDE_PROJECT_DIR", ""),
        text_of(payload, "cwd"),
        roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else "",
        text_of(payload, "memhop_cwd") or _cwd(),
    )
    for folder in folders:
        pure = PureWindowsPath(folder) if "\\" in folder else PurePosixPath(folder)
        name = pure.name.strip()
        if name and len(name) <= _NAME_CHARS and name.isprintable():
            return name
    return "default"


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
