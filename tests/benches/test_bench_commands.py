"""`python -m benches.notes` and `python -m benches.multilingual` run, and keep what they print."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benches import multilingual, notes

Main = Callable[[Sequence[str] | None], int]


@pytest.mark.parametrize(("main", "systems"), [(notes.main, "notes"), (multilingual.main, "systems")])
def test_a_bench_prints_its_tables_and_writes_its_figures(
    main: Main, systems: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--json", str(tmp_path / "figures.json")]) == 0
    printed = capsys.readouterr().out
    kept = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert kept["environment"]["data_sha256"] in printed
    found = kept["results"][systems]
    assert "memhop" in found
    assert len(found) >= 5
    for name, splits in found.items():
        assert name in printed
        assert set(splits) == {"dev"}, "the held half is shown only when it is asked for"
        assert splits["dev"]["all"]["n"] >= 80
