"""A bar holds, does not hold, or was not measured; nothing in between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benches import bars
from benches.bars import Bar, Figure, Place

RESULTS: dict[str, dict[str, Any]] = {
    "speed": {"recall": {"1000": 2.0, "10000": 6.0}, "points": {"ours": 70.0, "peer a": 50, "peer b": 55}},
    "odd": {"true": True, "text": "3"},
}


def figure(*keys: str, over: tuple[str, ...] | None = None, minus: tuple[str, ...] | None = None) -> Figure:
    return Figure(
        Place("speed", keys),
        over=None if over is None else Place("speed", over),
        minus=None if minus is None else Place("speed", minus),
    )


def test_a_number_a_ratio_a_difference() -> None:
    assert figure("recall", "10000").value(RESULTS) == 6.0
    assert figure("recall", "10000", over=("recall", "1000")).value(RESULTS) == 3.0
    assert figure("points", "ours", minus=("points", "peer a")).value(RESULTS) == 20.0


def test_of_several_peers_the_strictest_counts() -> None:
    assert figure("points", "ours", minus=("points", "peer *")).value(RESULTS) == 15.0
    assert figure("points", "ours", over=("points", "peer *")).value(RESULTS) == pytest.approx(1.4)


@pytest.mark.parametrize(
    "found",
    [
        figure("recall", "1000000"),
        figure("recall", "1000", over=("recall", "1000000")),
        figure("recall"),
        Figure(Place("missing", ("recall",))),
        Figure(Place("odd", ("true",))),
        Figure(Place("odd", ("text",))),
    ],
)
def test_what_is_not_there_was_not_measured(found: Figure) -> None:
    value = found.value(RESULTS)
    assert value is None
    assert not Bar("", True, 1e9, found).holds(value)


def test_a_bar_holds_up_to_its_bound() -> None:
    most, least = Bar("", True, 1.5, figure("x")), Bar("", False, 72, figure("x"))
    assert [most.holds(value) for value in (1.4, 1.5, 1.51)] == [True, True, False]
    assert [least.holds(value) for value in (71.9, 72.0, 73.0)] == [False, True, True]


def test_the_exit_code_says_whether_all_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "speed.json").write_text(json.dumps({"environment": {}, "results": RESULTS["speed"]}), "utf-8")
    held, broken = Bar("held", True, 7, figure("recall", "10000")), Bar("broken", True, 1, figure("recall", "10000"))
    absent = Bar("absent", True, 1, figure("nothing"))
    beside = broken._replace(judged=False)
    for table, code, said in (
        ((held,), 0, "holds"),
        ((held, broken), 1, "DOES NOT HOLD"),
        ((held, beside), 0, "beside"),
        ((absent,), 1, "not measured"),
    ):
        monkeypatch.setattr(bars, "BARS", table)
        assert bars.main([str(tmp_path)]) == code
        assert said in capsys.readouterr().out


def test_every_bar_reads_a_file_that_a_bench_writes() -> None:
    """A bar that names a wrong key would say "not measured" for ever: what is committed must be found."""
    results = bars.load(bars.RESULTS)
    for bar, value in zip(bars.BARS, bars.values(results, bars.BARS), strict=True):
        place = bar.figure.of
        other_model = "100000 x 384" in place.keys and "100000 x 384" not in results["peers"]["vectors"]
        if place.file in results and not other_model:
            assert value is not None, bar.what
