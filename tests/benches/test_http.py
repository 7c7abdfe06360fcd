"""The bench of the server runs, on small memories, and keeps what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches import http


def test_it_measures_each_kind_of_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "http.json"
    small = ["--notes", "200", "--requests", "40", "--tenants", "12", "--rounds", "1", "--seconds", "0.3"]
    assert http.main([*small, "--json", str(target)]) == 0
    found = json.loads(target.read_text("utf-8"))["results"]
    kinds = {
        f"{what}, {how}" for what in ("recall", "remember") for how in ("REST", "MCP 2026-07-28", "MCP 2025-11-25")
    }
    assert set(found["load"]) == kinds | {"empty route"}
    for figures in (*found["load"].values(), found["tenants"], found["damaged"]["alone"]):
        assert 0 < figures["p50_ms"] <= figures["p95_ms"] <= figures["p99_ms"]
    assert found["tenants"]["peak_rss_mb"] > 10
    assert found["damaged"]["p95 beside a damaged one, ratio to alone"] > 0
    assert "CPU ms" in capsys.readouterr().out
