"""`Audit`: who did what to a memory as a whole, in `<root>/audit.jsonl`. One line per act, and no word of any memory.

    {"at": "2026-05-10T08:30:00.123Z", "act": "import", "outcome": "done", "token": "9f…", "tenant": "alice",
     "detail": {…}}

Acts are those that need the scope "admin", whether they were done or refused, tokens made and revoked, the start and
the end of the server. A full file is kept as audit.jsonl.1, older ones with higher numbers, and the oldest goes.

Who may not do something can try it a thousand times a second. So that this does not wash out what was done, the same
refusal is written once a minute, with how often it came since ("repeated").
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memhop.common.clock import Clock, SystemClock, to_iso
from memhop.common.errors import ConfigError, MemhopError
from memhop.core.lock import SideLock
from memhop.server.http import privatefile
from memhop.server.http.access import Access

NAME = "audit.jsonl"
log = logging.getLogger("memhop.server")
DONE = "done"
_LONGEST = 200  # characters of one value
_QUIET_MS = 60_000
_MOST_REFUSED = 1000  # kinds of refusals that are counted
_WAIT_S = 2.0


class Audit:
    """The audit file of one folder of memories. Several processes may write it at once.

    Args:
        path: The file; it need not be there.
        most_bytes: Of one file, about.
        keep: Files besides the one that is written.
    """

    def __init__(
        self, path: Path, *, most_bytes: int = 8 * 1024 * 1024, keep: int = 4, clock: Clock | None = None
    ) -> None:
        self._path, self._most_bytes, self._keep = path, most_bytes, keep
        self._clock = clock or SystemClock()
        self._refused: OrderedDict[tuple[str | None, ...], tuple[int, int]] = (
            OrderedDict()
        )  # -> when written, since then
        self._counting = threading.Lock()

    def write(
        self,
        act: str,
        *,
        access: Access | None,
        tenant: str,
        outcome: str = DONE,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a line. It never raises: a full disk does not undo what was done, or refused. It is logged then.

        Args:
            act: One word, such as "compact".
            access: Whose act; None: of whoever runs the server.
            tenant: "": of no single one.
            outcome: "done", "refused", or the class of an error.
            detail: Counts, sizes, ids. Never words of a memory.

        Cost: about 100 us, on a local disk.
        """
        now = self._clock.now_ms()
        repeated = 0
        if outcome != DONE:
            counted = self._repeated((act, outcome, access.token if access else None, tenant), now)
            if counted is None:
                return
            repeated = counted
        line: dict[str, Any] = {
            "at": to_iso(now),
            "act": _short(act),
            "outcome": _short(outcome),
            "token": access.token if access else None,
            "tenant": _short(tenant) or None,
            "detail": {_short(name): _short(value) for name, value in (detail or {}).items()},
        } | ({"repeated": repeated} if repeated else {})
        lock = SideLock(self._path.with_name(f"{self._path.name}.lock"), purpose="audit")
        try:
            lock.acquire(_WAIT_S)
            try:
                self._append(json.dumps(line).encode("ascii") + b"\n")
            finally:
                lock.release()
        except (MemhopError, OSError) as error:
            log.error("audit: %s was not written down: %s", line["act"], error)

    def _repeated(self, key: tuple[str | None, ...], now: int) -> int | None:
        """How often it was refused since it was last written down. None: that was a moment ago, and it is counted."""
        with self._counting:
            written, since = self._refused.get(key, (-_QUIET_MS, 0))
            quiet = 0 <= now - written < _QUIET_MS
            self._refused[key] = (written, since + 1) if quiet else (now, 0)
            if len(self._refused) > _MOST_REFUSED:
                self._refused.popitem(last=False)
        return None if quiet else since

    def _append(self, line: bytes) -> None:
        """Under the lock. A link in place of the file is refused: it would be led elsewhere."""
        with suppress(FileNotFoundError):
            if os.lstat(self._path).st_size + len(line) > self._most_bytes:
                self._rotate()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._path, flags, privatefile.MODE)
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                raise ConfigError(f"others than its owner can read or write {self._path}", hint="chmod 600")
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def _rotate(self) -> None:
        for number in range(self._keep, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path.with_name(f"{self._path.name}.{number - 1}") if number > 1 else self._path
            with suppress(FileNotFoundError):
                os.replace(newer, older)


def _short(value: Any) -> Any:
    """A value that cannot make a line long: numbers as they are, anything else as text that is cut."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)[:_LONGEST]
