"""Tools that a server has in tests beside its own: they do what libraries and disks do on bad days."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
import warnings
from typing import TYPE_CHECKING, Annotated

from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.parameters import Number, Text

if TYPE_CHECKING:
    from memhop.api.db import DB


def add() -> None:
    """Enter them into the table."""
    from memhop.server.operations import OPERATIONS

    if "test_noise" in OPERATIONS:
        return

    @operation("test_noise", title="Print everywhere")
    def noise(host: Host, db: DB) -> Answer:
        """Print on standard output from Python, by descriptor, from C, and from a child; read standard input."""
        print("printed")
        os.write(1, b"by descriptor\n")
        libc = ctypes.CDLL(None)
        libc.puts(b"from C")
        libc.fflush(None)
        subprocess.run(["echo", "from a child"], check=True)
        warnings.warn("a warning", DeprecationWarning, stacklevel=1)
        child = subprocess.run(["ls", "/proc/self/fd"], close_fds=False, capture_output=True, check=True, text=True)
        return {"read": os.read(0, 10).decode(), "of_a_child": child.stdout.split()}

    @operation("test_wait", title="Wait and store", scope=WRITE)
    def wait(
        host: Host,
        db: DB,
        *,
        text: Annotated[str, Text("What is stored.")],
        seconds: Annotated[float, Number("First.", 0, 600)] = 0.0,
    ) -> Answer:
        """Store a note after a while."""
        time.sleep(seconds)
        return db.remember(text).to_dict()

    @operation("test_fault", title="Fail")
    def fault(host: Host, db: DB) -> Answer:
        """Fail as nobody meant it to."""
        raise RuntimeError("/a/path/nobody/should/see")

    @operation("test_surrogate", title="Answer what cannot be written")
    def surrogate(host: Host, db: DB) -> Answer:
        """Answer half of a surrogate pair."""
        return {"text": "\ud800"}, "\ud800"
