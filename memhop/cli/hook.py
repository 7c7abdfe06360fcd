"""`memhop hook EVENT`: what a client runs at an event of a session. JSON comes in, JSON or nothing goes out.

It exits with 0 within a second, whatever happens: a memory that is missing, locked or damaged, a full disk, an input
that is no JSON or never ends. A thread that waits for nothing else ends the process `DEADLINE_S` after its start, for a
hook that hangs or fails stops the user's work in some clients. At most one line goes to standard error. No model is
asked. What is to be stored is stored by a process of its own, see `hook_store.py`.

Nothing is imported at the top that could take long, and this module can be run by itself: `python -P -m
memhop.cli.hook EVENT --client CLIENT --file PATH`. That is what is written into configurations; it stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final, NoReturn

from memhop.cli.hook_call import CLIENTS, STORE, Call, read_input
from memhop.common.han import do_without_dictionary

DEADLINE_S: Final = 0.8
_STRICT: Final = frozenset({"codex", "cursor", "gemini"})  # they take JSON alone


class _Answer:
    """What goes to the client, once: the answer, or at the deadline the one that says nothing."""

    def __init__(self, arguments: Sequence[str]) -> None:
        client = next((name for name in CLIENTS if name in arguments or f"--client={name}" in arguments), CLIENTS[0])
        self._nothing = "{}" if client in _STRICT else ""
        self._lock = threading.Lock()
        self._out, self._error = _aside(1), _aside(2)

    def end(self, text: str = "", complaint: str = "") -> NoReturn:
        """Write it and end the process with 0, without what Python does at its end: that could hang, too."""
        if self._lock.acquire(blocking=False):  # or the other thread writes, and hangs at it
            if complaint:
                line = "".join(char if char.isprintable() else " " for char in complaint)
                _write_all(self._error, f"memhop hook: {line[:300]}\n")
            _write_all(self._out, text or self._nothing)
        os._exit(0)

    def end_at(self, moment: float) -> None:
        time.sleep(max(0.0, moment - time.monotonic()))
        self.end(complaint=f"not done within {DEADLINE_S:g} s")


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer an event and end the process."""
    started = time.monotonic() - time.process_time()  # about when the process began
    if arguments[:1] == [STORE]:
        from memhop.cli.hook_store import store

        store(arguments[1:])
    answer = _Answer(arguments)
    threading.Thread(target=answer.end_at, args=(started + DEADLINE_S,), daemon=True).start()
    try:
        text, complaint = _answered(arguments)
    except BaseException as error:  # whatever it is: the client must not suffer from it
        text, complaint = "", str(error) or type(error).__name__
    answer.end(text, complaint)


def _answered(arguments: Sequence[str]) -> tuple[str, str]:
    call = Call.of(arguments)
    payload = read_input(0)
    from memhop.cli.hook_events import answer, store_apart, stores

    if stores(call, payload):
        store_apart(call, payload)  # first: it must not be lost where finding an answer takes too long
    do_without_dictionary()
    return answer(call, payload)


def _aside(descriptor: int) -> int:
    """The stream under another number. What libraries print from now on goes nowhere."""
    try:
        kept = os.dup(descriptor)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    except OSError:
        return -1
    return kept


def _write_all(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    with contextlib.suppress(OSError):  # nobody reads any more
        while data:
            data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main(sys.argv[1:])
