"""Errors as clients get them: the same fields as everywhere, in words that help a model to go on, and no secrets.

What went wrong outside our own errors is our fault: it is logged with a short number, and the client gets that number
and nothing else. A file's path is told only to whoever runs the server (`local`).
"""

from __future__ import annotations

import logging
import re
import secrets
from typing import Any

from memhop.common.errors import (
    BadFormat,
    Closed,
    Corrupt,
    Locked,
    MemhopError,
    ProviderError,
    StorageError,
    WriteRefused,
)
from memhop.server.reply import Reply

_PLACE = re.compile(r"""(?:[A-Za-z][A-Za-z0-9+.-]*://|\b[A-Za-z]:\\|(?<![\w.])[~.]{0,2}/)[^\s'"<>,;)]*[^\s'"<>,;):.]""")
log = logging.getLogger("memhop.server")
_WITHOUT_PATHS: tuple[tuple[type[MemhopError], str, str | None], ...] = (  # the first that fits
    (Locked, "the memory is being written by somebody else", "try again in a moment"),
    (Corrupt, "the memory is damaged; what is not can still be read", "whoever runs the server: memhop verify"),
    (BadFormat, "the memory cannot be read by this version", "whoever runs the server: memhop doctor"),
    (WriteRefused, "the memory takes no writes since one failed", "whoever runs the server: memhop doctor"),
    (Closed, "the memory was being closed", "try again"),
    (StorageError, "the memory cannot be opened or written", "whoever runs the server: memhop doctor"),
    (ProviderError, "a model service failed", "try again later"),
)


def told(error: BaseException, *, local: bool) -> Reply:
    """What a client is told of an error.

    Args:
        local: The client is the one who runs the server, so that paths may be named.
    """
    if not isinstance(error, MemhopError):
        number = secrets.token_hex(4)
        log.error("fault %s", number, exc_info=error)
        error = _Internal(f"a fault of the server, logged as {number}", hint="try again, or report it with this number")
    found: dict[str, Any] = error.to_dict()
    if not local:
        for kind, message, hint in _WITHOUT_PATHS:
            if isinstance(error, kind):
                found |= {"message": message, "field": None, "allowed": None, "hint": hint}
                break
    return Reply(found, sentence(found), failed=True)


def discreet(reason: str | None, *, local: bool) -> str | None:
    """Why something failed, as a client is told: without the paths and addresses in it, unless it is `local`."""
    return reason if local or reason is None else _PLACE.sub("…", reason)


def sentence(found: dict[str, Any]) -> str:
    """An error in one line."""
    field = f"{found['field']}: " if found.get("field") else ""
    allowed = f" Allowed: {found['allowed']}." if found.get("allowed") else ""
    hint = f" Hint: {found['hint']}." if found.get("hint") else ""
    return f"{field}{found['message']}.{allowed}{hint}"


class _Internal(MemhopError):
    code = 1000

    def to_dict(self) -> dict[str, object]:
        return super().to_dict() | {"error": "Internal"}
