"""The bench of briefs runs, on small memories, and keeps what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches import briefs


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "briefs.json"
    assert briefs.main(["--sizes", "120,240", "--rounds", "3", "--json", str(target)]) == 0
    sizes = json.loads(target.read_text("utf-8"))["results"]["sizes"]
    assert list(sizes) == ["120", "240"]
    assert set(sizes["120"]) == {
        "brief",
        "projects.list",
        "projects.count",
        "maintain, nothing due",
        "SQLite GROUP BY",
    }
    assert all(figures["cpu_p50"] > 0 for tasks in sizes.values() for figures in tasks.values())
    assert "brief, 240 notes" in capsys.readouterr().out
