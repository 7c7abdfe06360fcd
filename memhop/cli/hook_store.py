"""What was said goes into the memory, in a process that nobody waits for: `memhop.cli.hook store EVENT`.

Claude Code writes a transcript: of its end whatever is not stored yet is stored, so that a turn that was missed once
(the memory was locked, the transcript behind) is stored at the next event. Other clients tell the prompt and the reply
in their events; these are stored by the client's id of the turn and a digest of the words. Either way an event that
comes twice stores nothing twice.

A failure is written into `<memory>.hook-error`, which the next success removes; the next session is told of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from memhop.cli.hook_call import Call, read_input
from memhop.cli.hook_events import error_file, project_of, session_of, text_of

_MOST_S: Final = 60.0
_WAIT_S: Final = 20.0
_TAIL_BYTES: Final = 4 * 1024 * 1024
_LONG_TAIL_BYTES: Final = 64 * 1024 * 1024  # where nothing may come after
_TURN = ("prompt_id", "turn_id", "generation_id")


def store(arguments: Sequence[str]) -> NoReturn:
    """Store what the event on standard input tells, and end the process."""
    threading.Thread(target=_end_after, args=(_MOST_S,), daemon=True).start()
    with contextlib.suppress(BaseException):
        store_event(Call.of(arguments), read_input(0))
    os._exit(0)


def store_event(call: Call, payload: dict[str, Any]) -> None:
    """Store what an event tells. What goes wrong is noted, and raised."""
    config = call.settings()
    path = call.path(config)
    note = error_file(path)
    try:
        messages = _messages(call, payload)
        if messages:
            from memhop import DB
            from memhop.api.transcript_tail import keep

            with DB.open(
                path,
                mode="shared",
                wait=_WAIT_S,
                purpose=f"memhop hook {call.event}",
                durability=config.memory.durability,
                max_bytes=config.memory.max_bytes or None,
                config=config,
            ) as db:
                keep(db, messages)
    except BaseException as error:
        with contextlib.suppress(OSError):
            said = error if isinstance(error, OSError) else type(error).__name__  # no words of what was said
            note.write_text(f"{time.strftime('%Y-%m-%d %H:%M')} {call.event}: {said}\n"[:400], "utf-8")
        raise
    note.unlink(missing_ok=True)


def _messages(call: Call, payload: dict[str, Any]) -> list[dict[str, Any]]:
    project = project_of(call, payload)
    transcript = text_of(payload, "transcript_path")
    if call.client == "claude" and transcript and Path(transcript).is_file():
        from memhop.api.transcript_tail import tail

        last = _TAIL_BYTES if call.event == "stop" else _LONG_TAIL_BYTES
        return [message | {"project": project} for message in tail(Path(transcript), last)]
    if call.event == "prompt":
        said = [("user", text_of(payload, "prompt"))]
    elif call.client == "gemini":
        said = [("user", text_of(payload, "prompt")), ("agent", text_of(payload, "prompt_response"))]
    else:
        said = [("agent", text_of(payload, "last_assistant_message", "text"))]
    turn = text_of(payload, *_TURN)[:80] if call.client != "gemini" else text_of(payload, "timestamp")[:40]
    return [
        {
            "text": text,
            "role": role,
            "session": session_of(payload),
            "external_id": f"{call.client}:{turn}:{role}:{hashlib.sha256(text.encode()).hexdigest()[:16]}",
            "project": project,
        }
        for role, text in said
        if text.strip()
    ]


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)
