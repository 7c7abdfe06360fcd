"""The speed benches run, on a small file, and give figures for all that they name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benches import plots, reading, speed, writing
from benches.corpus import filled


def test_a_run_on_a_small_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reading, "QUESTIONS", 10)
    monkeypatch.setattr(writing, "DELTAS", (10, 100))
    target = tmp_path / "results" / "speed.json"
    assert (
        speed.main(["--sizes", "1000", "--upkeep", "300", "--keep", str(tmp_path / "files"), "--json", str(target)])
        == 0
    )
    results = json.loads(target.read_text("utf-8"))["results"]
    assert {"open", "recall", "recall, 1 % filter", "remember, durable", "compact"} <= set(results["operations"])
    for operation, by_size in results["operations"].items():
        for size, figures in by_size.items():
            assert 0 < figures["cpu_p50"] <= figures["cpu_p95"], (operation, size)
    assert results["memory"]["after open"]["1000"]["rss_mib"] > 1
    assert results["checkpoint_by_delta"].keys() == {"10", "100"}
    assert results["pauses"]["ms"]["remember_wall_longest"] >= results["pauses"]["ms"]["remember_wall_p50"]
    assert "CPU ms, median" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "files").iterdir() if path.suffix == ".meh"} == {
        "notes-1000.meh",
        "messages-1000.meh",
    }, "what was written to is not left behind"


def test_what_is_measured_is_a_copy(tmp_path: Path) -> None:
    file = filled(tmp_path, "notes", 1_000)
    before = file.path.read_bytes()
    with writing.copied(file, tmp_path, "none") as db:
        db.remember("something new")
    assert list(tmp_path.glob("copy-*")) == []
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "abc", "10", "1000,x"])
def test_sizes_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        speed.sizes(text)


def test_the_plots_show_the_fuller_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `peers` is not installed")
    figures = {"cpu_p50": 1.0}
    results: dict[str, dict[str, Any]] = {
        "speed": {"operations": {"recall": {"1000": figures, "10000": figures}}, "memory": {}},
        "peers": {"words": {"10000": {"bm25s": figures, "tantivy": {"not installed": True}}}},
    }
    assert plots.fullest(results, "speed") is results["speed"]
    assert plots.fullest(results | {"speed-full": {}}, "speed") == {}
    plots.draw(results["speed"], results["peers"], tmp_path)
    for name in ("latency.png", "memory.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
