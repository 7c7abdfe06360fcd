"""Real hooks as a client runs them, and the processes they leave behind to store things."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from memhop.cli.hook_call import Call
from memhop.cli.hook_events import answer, stores
from memhop.cli.hook_store import store_event
from tests.cli.running import environment
from tests.support.processes import until

MODULE = (sys.executable, "-P", "-m", "memhop.cli.hook")
MOST_S = 2.0  # the hook takes a second at most; the machine is shared
_MARK = "HOOK_OF_A_TEST"


class Ended(NamedTuple):
    """How a hook ended. `seconds` counts from its start, as the client sees it."""

    code: int
    out: str
    err: str
    seconds: float

    def context(self) -> str:
        """What is put into the session, "" if nothing is."""
        said = json.loads(self.out) if self.out else {}
        return str(said.get("hookSpecificOutput", said).get("additionalContext", said.get("additional_context", "")))


class Client:
    """A client with a session in a project, whose hooks work on one memory."""

    def __init__(self, folder: Path, memory: Path, name: str = "claude") -> None:
        self.name, self.memory = name, memory
        self.project = folder / "web"
        self.project.mkdir(exist_ok=True)
        self._mark = uuid4().hex
        self._env = {"HOME": str(folder), _MARK: self._mark, "CLAUDE_PROJECT_DIR": ""}

    def hook(
        self,
        event: str,
        payload: Mapping[str, Any] | bytes,
        *options: str,
        open_input: bool = False,
        env: Mapping[str, str] | None = None,
        command: tuple[str, ...] = MODULE,
    ) -> Ended:
        """Run a hook, with its input closed behind the payload unless it is to stay open."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        words = [*command, event, "--client", self.name, "--file", str(self.memory), *options]
        started = time.monotonic()
        with subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project,
            env=environment({**self._env, **(env or {})}),
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                with suppress(BrokenPipeError):
                    process.stdin.write(data)
                    process.stdin.flush()
                    if not open_input:
                        process.stdin.close()
                code = process.wait(30)
                seconds = time.monotonic() - started
                return Ended(code, process.stdout.read().decode(), process.stderr.read().decode(), seconds)
            finally:
                process.kill()
                with suppress(BrokenPipeError):
                    process.stdin.close()

    def tell(self, event: str, payload: Mapping[str, Any], *options: str) -> Ended:
        """What the hook would answer, in this process, in its own time."""
        text, complaint = answer(self._call(event, options), dict(payload))
        return Ended(0, text, complaint, 0.0)

    def say(self, event: str, payload: Mapping[str, Any], *options: str) -> None:
        """Do what the hook leaves to another process, in this one, if there is anything to be done."""
        call = self._call(event, options)
        if stores(call, dict(payload)):
            store_event(call, dict(payload))

    def _call(self, event: str, options: tuple[str, ...]) -> Call:
        return Call.of((event, "--client", self.name, "--file", str(self.memory), *options))

    def left(self) -> list[int]:
        """The processes that this client's hooks have left."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    if f"{_MARK}={self._mark}".encode() in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
        return found

    def settle(self) -> None:
        """Return when all of them have ended."""
        until(lambda: not self.left(), "what stores ends by itself")

    @contextmanager
    def closing(self) -> Iterator[Client]:
        """None of them outlives the block."""
        try:
            yield self
        finally:
            for process in self.left():
                with suppress(ProcessLookupError):
                    os.kill(process, 9)
            self.settle()


def transcript(path: Path, *said: tuple[str, str, str]) -> Path:
    """A transcript of Claude Code, of (uuid, role, text), appended to what is there."""
    with path.open("a", encoding="utf-8") as file:
        for uuid, role, text in said:
            content: Any = text if role == "user" else [{"type": "text", "text": text}]
            line = {
                "type": role,
                "uuid": uuid,
                "sessionId": "s1",
                "timestamp": "2026-05-01T09:00:00.000Z",
                "cwd": "/home/ada/web",
                "message": {"id": f"msg-{uuid}", "role": role, "content": content},
            }
            file.write(json.dumps(line) + "\n")
    return path
