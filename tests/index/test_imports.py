"""The folder's modules load nothing heavy, and nothing of the layers above."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import importlib, pkgutil, sys
import memhop.index
for module in pkgutil.iter_modules(memhop.index.__path__):
    importlib.import_module("memhop.index." + module.name)
heavy = {"jieba", "rapidfuzz", "Stemmer", "xxhash", "memhop.core", "memhop.repo"} & set(sys.modules)
assert not heavy, heavy
"""


def test_libraries_are_loaded_at_first_use() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_tokenizer_does_without_numpy() -> None:
    script = "import sys, memhop.index.tokenizer as t; t.tokenize('hello'); assert 'numpy' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
