"""Runs the real command in a process of its own, with an environment that is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

COMMAND = (sys.executable, "-m", "memhop.cli.main")
_OURS = (
    "MEMHOP_FILE",
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


def memhop(*args: str | Path, stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """Run `memhop ARGS` with pipes for all three streams."""
    done = subprocess.run(
        [*COMMAND, *map(str, args)], input=stdin, capture_output=True, cwd=cwd, env=environment(env), timeout=120
    )
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    assert "Traceback" not in err, err
    return Ran(done.returncode, out, err)
