"""Runs the real command in a process of its own, with an environment that is known; and processes in its way."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from memhop.cli import arguments
from memhop.cli.main import main

COMMAND = (sys.executable, "-m", "memhop.cli.main")
# Root without its right to ignore permissions (capabilities 1 and 2, see capabilities(7)); others have none anyway.
UNPRIVILEGED = (
    sys.executable,
    "-c",
    "import ctypes, os, sys\n"
    "if os.geteuid() == 0 and any(ctypes.CDLL(None).prctl(24, right, 0, 0, 0) for right in (1, 2)): sys.exit(99)\n"
    "os.execv(sys.argv[1], sys.argv[1:])",
    *COMMAND,
)
_HOLDER = (
    "import sys, memhop\n"
    "with memhop.DB.open(sys.argv[1], purpose='the holder'):\n    print('ready', flush=True)\n    sys.stdin.read()"
)
_OURS = (
    "MEMHOP_FILE",
    "MEMHOP_CONFIG",
    "XDG_CONFIG_HOME",
    "NO_COLOR",
    "FORCE_COLOR",
    "TERM",
    "COLUMNS",
    "PYTHONIOENCODING",
    "LC_ALL",
    "LANG",
    "PYTHONUTF8",
)


class Ran(NamedTuple):
    """How a command ended. `out` and `err` are decoded as UTF-8; what is not UTF-8 becomes U+FFFD."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as the one JSON document it must be."""
        return json.loads(self.out)


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of this process without what the command reads, plus `changes`. Warnings end the command."""
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    return kept | {"LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "error"} | dict(changes or {})


def memhop(
    *args: str | Path,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    command: tuple[str, ...] = COMMAND,
) -> Ran:
    """Run `memhop ARGS` with pipes for all three streams."""
    done = subprocess.run(
        [*command, *map(str, args)], input=stdin, capture_output=True, cwd=cwd, env=environment(env), timeout=120
    )
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    assert "Traceback" not in err, err
    return Ran(done.returncode, out, err)


def here(*args: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None, encoding: str = "utf-8") -> Ran:
    """Run `memhop ARGS` in this process, with streams of an encoding that, as Python's own, raise at what they lack.

    A tenth of what `memhop` costs: for tests of many commands.
    """
    out, err = io.BytesIO(), io.BytesIO()
    streams = {
        "stdout": io.TextIOWrapper(out, encoding=encoding),
        "stderr": io.TextIOWrapper(err, encoding=encoding),
        "stdin": io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"),
        "argv": ["memhop", *map(str, args)],
    }
    arguments.read_stdin.cache_clear()
    code: object = 0
    with ExitStack() as stack:
        for name, value in streams.items():
            stack.enter_context(patch.object(sys, name, value))
        stack.enter_context(patch.dict(os.environ, environment(env), clear=True))
        try:
            main()
        except SystemExit as done:
            code = done.code
        sys.stderr.flush()
    assert isinstance(code, int | None)
    return Ran(code or 0, out.getvalue().decode(encoding), err.getvalue().decode(encoding))


@contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the file, exclusively, until its standard input is closed or the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a child with SIGSTOP, and return once it is."""
    process.send_signal(signal.SIGSTOP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
