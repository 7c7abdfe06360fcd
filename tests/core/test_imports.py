"""Opening, writing and reading need the standard library and the lock alone: start-up is a feature."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from memhop.core.meh_file import MehFile, Write
with MehFile.open(sys.argv[1]) as file:
    file.append([Write(16, 1, b"one")])
    file.checkpoint({"a": ("B", b"123")}, meta={})
with MehFile.open(sys.argv[1]) as file:
    assert file.read(file.locate(1)[1])[2] == b"one"
    assert bytes(file.segments()[0].view("a")) == b"123"
heavy = {"numpy", "msgspec", "rapidfuzz", "jieba", "xxhash", "Stemmer", "openai", "httpx", "mcp", "typer", "rich"}
print(sorted(heavy & sys.modules.keys()))
"""


def test_core_loads_nothing_heavy(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "a.meh")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
