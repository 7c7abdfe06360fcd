"""What start-up does not load. Each test looks into a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memhop import DB
from tests.support.onnx_model import write_model

# The lock library asks for its own version, which brings importlib.metadata and, through email, socket along.
WITH_THE_LOCK = frozenset(("importlib.metadata", "socket"))
HEAVY = frozenset(
    (
        "numpy", "msgspec", "rapidfuzz", "jieba", "openai", "httpx", "mcp", "typer", "rich", "starlette", "pydantic",
        "xxhash", "Stemmer", "asyncio", "socket", "ssl", "wordllama", "tokenizers", "safetensors", "importlib.metadata",
        "onnxruntime",
    )
)  # fmt: skip
CLIENTS = frozenset(("openai", "httpx", "mcp", "starlette", "pydantic", "ssl", "http.client", "urllib.request"))
NO_SOCKETS = """
import socket
class NoSocket(socket.socket):
    def __init__(self, *args, **kwargs):
        raise AssertionError("a socket was opened")
socket.socket = NoSocket
socket.create_connection = socket.getaddrinfo = NoSocket
"""


def loaded_by(code: str) -> set[str]:
    """The modules in `sys.modules` after a fresh interpreter ran `code`."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    return set(json.loads(shown.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with a checkpoint and a tail behind it."""
    file = tmp_path_factory.mktemp("imports") / "agent.meh"
    with DB.open(file) as db:
        db.remember_many([f"note number {number} about tea" for number in range(50)])
        db.checkpoint()
        db.remember("one more behind the checkpoint")
    return file


def test_import_alone_loads_nothing_heavy() -> None:
    assert not loaded_by("import memhop") & HEAVY


def test_opening_loads_nothing_heavy(path: Path) -> None:
    """The lock is taken; numpy and the others wait for the first call that needs them."""
    found = loaded_by(f"import memhop\ndb = memhop.DB.open({str(path)!r})\nassert db.recovery.clean\ndb.close()")
    assert not found & HEAVY - WITH_THE_LOCK


def test_opening_with_a_model_loads_neither_it_nor_what_runs_it(path: Path, tmp_path: Path) -> None:
    """The model is loaded by the first text or question."""
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    model = write_model(tmp_path / "model")
    code = (
        f"import memhop\ndb = memhop.DB.open({str(path)!r}, embedder=memhop.OnnxEmbedder({str(model)!r}))\n"
        "assert db.recovery.clean\n"
    )
    assert not loaded_by(code + "db.close()") & HEAVY - WITH_THE_LOCK
    assert {"onnxruntime", "tokenizers"} <= loaded_by(code + "db.backfill()\ndb.close()")


def test_creating_loads_nothing_heavy(tmp_path: Path) -> None:
    found = loaded_by(f"import memhop\nmemhop.DB.open({str(tmp_path / 'new.meh')!r}).close()")
    assert not found & HEAVY - WITH_THE_LOCK


def test_help_of_the_command_line_loads_no_indexes() -> None:
    code = "import sys\nsys.argv = ['memhop', '--help']\nfrom memhop.cli.main import main\n"
    found = loaded_by(code + "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code")
    assert "memhop.cli.main" in found
    unwanted = HEAVY - {"typer", "rich", "asyncio", "socket", "importlib.metadata"}
    assert not found & unwanted, found & unwanted


def test_recall_without_an_embedder_opens_no_socket(path: Path) -> None:
    code = NO_SOCKETS + (
        f"import memhop\nwith memhop.DB.open({str(path)!r}) as db:\n"
        "    assert db.recall('tea').hits\n    db.remember('a cup of coffee')\n    found = db.search('which drinks?')\n"
        "    db.update(found.new_topic_id, 'tea and coffee')\n    db.checkpoint()\n    db.compact()\n"
    )
    found = loaded_by(code)
    assert "numpy" in found
    assert not found & CLIENTS, found & CLIENTS


def test_chinese_loads_its_dictionary_only_at_the_first_han_run(path: Path) -> None:
    code = f"import memhop\nwith memhop.DB.open({str(path)!r}) as db:\n    db.recall('tea')\n"
    assert "jieba" not in loaded_by(code)
