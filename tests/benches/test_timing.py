"""The arithmetic of the speed benches, on figures whose answer is known."""

from __future__ import annotations

import doctest

import pytest

from benches import timing
from benches.timing import Times, growth, interleaved, quantile


def test_the_examples() -> None:
    assert doctest.testmod(timing).failed == 0


def test_tasks_take_turns_and_each_begins_a_round_in_its_turn() -> None:
    calls: list[tuple[str, int]] = []
    tasks = {name: (lambda number, name=name: calls.append((name, number))) for name in "abc"}
    times = interleaved(tasks, 3, warm=1)
    counted = calls[3:]
    assert [name for name, _ in counted] == list("abcbcacab")
    assert [number for _, number in counted] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert {name: len(found.cpu_ms) for name, found in times.items()} == {"a": 3, "b": 3, "c": 3}


def test_calls_in_a_row_are_measured_one_by_one() -> None:
    calls: list[tuple[str, int]] = []
    tasks = {name: (lambda number, name=name: calls.append((name, number))) for name in "ab"}
    times = interleaved(tasks, 4, warm=1, in_a_row=2)
    counted = calls[4:]
    assert counted == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("b", 3), ("a", 2), ("a", 3)]
    assert {name: len(found.cpu_ms) for name, found in times.items()} == {"a": 4, "b": 4}


def test_a_measurement_of_many_calls_is_per_call() -> None:
    times = Times()
    times.add(wall_seconds=1.0, cpu_seconds=0.5, calls=100)
    assert times.figures() == {"cpu_p50": 5.0, "cpu_p95": 5.0, "wall_p50": 10.0, "wall_p95": 10.0}


def test_computing_is_cpu_time_and_waiting_is_not() -> None:
    import time

    times = Times()
    with times.measured():
        time.sleep(0.02)
    assert times.wall_ms[0] >= 20 > times.cpu_ms[0]


@pytest.mark.parametrize(("exponent"), [0.0, 0.5, 1.0])
def test_growth_finds_the_exponent(exponent: float) -> None:
    costs = {size: 3.0 * size**exponent for size in (1_000, 10_000, 100_000, 1_000_000)}
    assert growth(costs) == pytest.approx(exponent)


def test_one_size_does_not_grow() -> None:
    assert growth({1_000: 1.0}) is None


def test_a_quantile_is_one_of_the_values() -> None:
    assert quantile([5.0], 0.95) == 5.0
    assert quantile([float(value) for value in range(1, 101)], 0.95) == 95.0
    with pytest.raises(ValueError, match="nothing"):
        quantile([], 0.5)
