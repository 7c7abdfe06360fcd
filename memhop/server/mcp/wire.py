"""The two descriptors on which a client talks to this process, and lines on them.

They are taken away from the rest of the process first: what a library or a child prints afterwards, even from C, goes
to standard error, and nothing but the protocol reaches the client. Only the standard library is needed for that, so
that it can be done before anything else is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

MOST_LINE: Final = 32 << 20  # bytes; a longer line is dropped, and said so
_CHUNK: Final = 1 << 16


class Wire(NamedTuple):
    """Where the client is.

    Attributes:
        incoming, outgoing: Descriptors.
        parent: The process that started this one, noted before much is loaded: it may die in the meantime.
    """

    incoming: int
    outgoing: int
    parent: int


def claim() -> Wire:
    """Take standard input and output for the protocol. To be called once, before anything that might print is loaded.

    Standard input becomes empty and standard output becomes standard error, for this process and its children.

    Raises:
        OSError: one of them is closed.
    """
    parent = os.getppid()
    incoming, outgoing = _above_standard(0), _above_standard(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    for descriptor in (incoming, outgoing):
        os.set_blocking(descriptor, True)
    return Wire(incoming, outgoing, parent)


def _above_standard(descriptor: int) -> int:
    """A copy that children do not inherit and that cannot be mistaken for a standard stream."""
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def lines(descriptor: int, most: int = MOST_LINE) -> Iterator[bytes | None]:
    """The lines of a descriptor, without their ends and without blank ones. None stands for one that was too long.

    What follows the last line end counts as a line, too: a request may be piped in without one.
    """
    held = bytearray()
    too_long = False
    while chunk := _read(descriptor):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            held += part
            if too_long or len(held) > most:
                yield None
            elif held.strip():
                yield bytes(held)
            held, too_long = bytearray(), False
        held += rest
        if len(held) > most:
            held, too_long = bytearray(), True
    if too_long:
        yield None
    elif held.strip():
        yield bytes(held)


def write(descriptor: int, data: bytes) -> None:
    """Write all of it. Raises OSError when nobody reads any more."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:  # the terminal or the pipe is gone
        return b""
