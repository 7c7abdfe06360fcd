"""Every error MemHop raises on purpose.

    MemhopError                       base; `except MemhopError` catches all of ours
    ├── ConfigError            1001   a setting is missing or out of range
    ├── VectorSpaceMismatch    1002   a vector does not belong to the space it was offered to
    ├── InvalidRequest         1003   the caller's argument is wrong; nothing was written   (ValueError)
    ├── NotFound               3001   the id is well formed but names no live record        (LookupError)
    ├── Conflict               3002   it was changed since the caller looked; nothing was written
    ├── StorageError           5001   the file or the disk failed; see `core`               (OSError)
    │   ├── Closed             5002   the handle was closed, or belongs to a parent process
    │   ├── BadFormat          5003   not a .meh file, or a version this build cannot read
    │   ├── Corrupt            5005   bytes are there but do not check out
    │   ├── Locked             5008   another process holds the file
    │   └── WriteRefused       5009   an earlier write failed; reopen before writing again
    ├── Forbidden              4003   the caller may not do this
    ├── Busy                   6001   the server has too much to do; nothing was done, and later it may be
    ├── TimedOut               6002   the server did not finish in time; whether it was done shows only later
    └── ProviderError          9000   an outside service failed; retrying may help
        ├── EmbedderError      9001
        └── ChatError          9002

A class per *decision the caller makes*, not per place it is raised. `code` is the number hosts see over MCP
and `--json`; it never changes once released. `field` names the argument, `allowed` says what it accepts,
`hint` says what to do next; each is None where it does not apply.
"""

from __future__ import annotations


class MemhopError(Exception):
    """Base of all errors raised on purpose. `str(error)` is one line, ready to be shown to a person."""

    code = 1000

    def __init__(
        self, message: str, *, field: str | None = None, allowed: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.allowed = allowed
        self.hint = hint

    def __str__(self) -> str:
        tail = "".join(
            part
            for part in (
                f" (allowed: {self.allowed})" if self.allowed else "",
                f" [{self.hint}]" if self.hint else "",
            )
        )
        return f"{self.field}: {self.message}{tail}" if self.field else f"{self.message}{tail}"

    def to_dict(self) -> dict[str, object]:
        """The same error as JSON-ready values, for `--json`, MCP and HTTP."""
        return {
            "error": type(self).__name__,
            "code": self.code,
            "message": self.message,
            "field": self.field,
            "allowed": self.allowed,
            "hint": self.hint,
        }


class ConfigError(MemhopError):
    """A setting is missing, unreadable or out of range."""

    code = 1001


class VectorSpaceMismatch(MemhopError):
    """A vector has another model, dimension or digest than the space it was offered to."""

    code = 1002


class InvalidRequest(MemhopError, ValueError):
    """The caller's argument is wrong. Nothing was written."""

    code = 1003


class NotFound(MemhopError, LookupError):
    """The id is well formed but names no live record of the kind that was asked for."""

    code = 3001


class Conflict(MemhopError):
    """The record was changed since the caller looked at it: `rev` is what it is now. Nothing was written."""

    code = 3002

    def __init__(
        self,
        message: str,
        *,
        rev: int = 0,  # pickle makes one of the message alone, and fills in the rest
        field: str | None = "expected_rev",
        hint: str | None = "read it again, then decide",
    ) -> None:
        super().__init__(message, field=field, allowed=str(rev) if rev else None, hint=hint)
        self.rev = rev


class StorageError(MemhopError, OSError):
    """The file or the disk failed."""

    code = 5001


class Closed(StorageError):
    """The handle was closed, or it was inherited through fork and belongs to the parent."""

    code = 5002


class BadFormat(StorageError):
    """Not a .meh file, or one whose format version or feature bits this build does not know."""

    code = 5003


class Corrupt(StorageError):
    """Stored bytes failed a check. `offset` says where, so that the file can be examined by hand."""

    code = 5005

    def __init__(
        self,
        what: str,
        *,
        offset: int,
        expected: int | None = None,
        found: int | None = None,
        hint: str = "run `memhop verify`",
    ) -> None:
        detail = "" if expected is None or found is None else f": expected {expected:#x}, found {found:#x}"
        super().__init__(f"{what} at byte {offset}{detail}", hint=hint)
        self.what = what
        self.offset = offset
        self.expected = expected
        self.found = found


class Locked(StorageError):
    """Another process (or another handle of this one) holds the file. Holder values are None when unknown.

    `stopped` says that the holder is a process of this machine that does not run (SIGSTOP, Ctrl-Z).
    """

    code = 5008

    def __init__(
        self,
        path: str,
        *,
        pid: int | None = None,
        host: str | None = None,
        since: str | None = None,
        purpose: str | None = None,
        stopped: bool = False,
    ) -> None:
        known = (f"process {pid}" + (f" on {host}" if host else ""), purpose, f"since {since}" if since else None)
        holder = ", ".join(filter(None, known)) if pid else "an unknown process"
        hint = 'end that process, wait for it longer (wait=SECONDS), or let both share the file (mode="shared")'
        if stopped:
            holder += ", which is stopped"
            hint = f"let it go on with `kill -CONT {pid}`, or end it"
        super().__init__(f"{path} is held by {holder}", hint=hint)
        self.path = path
        self.pid = pid
        self.host = host
        self.since = since
        self.purpose = purpose
        self.stopped = stopped


class WriteRefused(StorageError):
    """An earlier write or fsync of this handle failed, so it takes no more writes until it is reopened."""

    code = 5009


class Forbidden(MemhopError):
    """The caller is known, but may not do this."""

    code = 4003


class Busy(MemhopError):
    """The server has too much to do. Nothing was done; the same request may succeed in a second."""

    code = 6001


class TimedOut(MemhopError):
    """The server did not finish in time, and goes on without the caller. Whether it was done shows only later."""

    code = 6002


class ProviderError(MemhopError):
    """An outside service failed. No words were lost.

    `retryable` says whether the same request may succeed later; `retry_after_s` is the pause the service asked for in
    seconds, None if it named none.
    """

    code = 9000

    def __init__(
        self, message: str, *, retryable: bool = True, retry_after_s: float | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class EmbedderError(ProviderError):
    """The embedding service failed or answered with something that is no vector."""

    code = 9001


class ChatError(ProviderError):
    """The chat service failed or its answer did not fit the schema.

    `about_content`: the service works, but not on these texts (too long, refused, an unusable answer); others may fare
    better. `tokens`: what the service counted for the failed call, 0 if it did not say.
    """

    code = 9002

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = True,
        retry_after_s: float | None = None,
        hint: str | None = None,
        about_content: bool = False,
        tokens: int = 0,
    ) -> None:
        super().__init__(message, retryable=retryable, retry_after_s=retry_after_s, hint=hint)
        self.about_content = about_content
        self.tokens = tokens
