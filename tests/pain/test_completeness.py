"""Every row of sections 2 to 5 of what users of such memories suffer from has a test named after it, or a reason."""

from __future__ import annotations

import re
from pathlib import Path

SEARCH = {31, 32, 33, 34, 35, 36, 38, 39, 40, 41, 44, 45, 46, 48, 50, 51, 53}
TRUTH = {54, 56, 57, 58, 59, 61, 62, 63, 64, 65, 68, 69, 70, 71}
SAFETY = {72, 73, 74, 76, 77, 78, 79, 80}
SERVERS = {81, 82, 83, 85, 86, 87, 88}
ELSEWHERE: dict[int, str] = {}


def named() -> set[int]:
    """The rows which tests of this folder have in their names."""
    pattern = re.compile(r"^def test_row_(\d+)_\w+\(", re.MULTILINE)
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    return {int(row) for file in files for row in pattern.findall(file.read_text("utf-8"))}


def test_every_row_has_a_test_or_a_reason() -> None:
    rows = SEARCH | TRUTH | SAFETY | SERVERS
    assert rows - ELSEWHERE.keys() - named() == set()
    assert ELSEWHERE.keys() & named() == set(), "it has a test by now"
