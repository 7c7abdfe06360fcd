"""How a bench measures: rounds in turns, CPU time beside wall time, medians, and how cost grows with size.

The tasks of one table take turns within a round, each round beginning with another one, so that a machine that is
busy for a while slows all of them alike. CPU time is that of the whole process with all its threads, which is what a
figure is judged by where other programs share the machine; wall time stands beside it.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

Task = Callable[[int], object]
"""Called with the number of the round."""


@dataclass(slots=True)
class Times:
    """Milliseconds of every call of one task."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    def add(self, wall_seconds: float, cpu_seconds: float, calls: int = 1) -> None:
        """One measurement, of so many calls together."""
        self.wall_ms.append(1e3 * wall_seconds / calls)
        self.cpu_ms.append(1e3 * cpu_seconds / calls)

    @contextmanager
    def measured(self, calls: int = 1) -> Iterator[None]:
        """Measure the block as so many calls."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.add(time.perf_counter() - wall, time.process_time() - cpu, calls)

    def figures(self) -> dict[str, float]:
        """What goes into the JSON: medians and 95th percentiles in milliseconds."""
        return {
            "cpu_p50": rounded(quantile(self.cpu_ms, 0.5)),
            "cpu_p95": rounded(quantile(self.cpu_ms, 0.95)),
            "wall_p50": rounded(quantile(self.wall_ms, 0.5)),
            "wall_p95": rounded(quantile(self.wall_ms, 0.95)),
        }


def interleaved(tasks: Mapping[str, Task], rounds: int, *, warm: int = 1, in_a_row: int = 1) -> dict[str, Times]:
    """Each task in turns, `in_a_row` calls a turn, each measured by itself; the first `warm` rounds do not count.

    Several calls in a row are for engines, of which a program uses one: else most of what is measured is how the
    processor's caches fill again after another engine has read through its whole index.

    The collector of cycles runs between rounds only, so that no task pays for what another one left.
    """
    times = {name: Times() for name in tasks}
    names = list(tasks)
    for number in range(-warm, -(-rounds // in_a_row)):
        gc.collect() if number % 10 == 0 else None
        gc.disable()
        try:
            for place in range(len(names)):
                name = names[(place + number) % len(names)]
                into = times[name] if number >= 0 else Times()
                for call in range(in_a_row):
                    with into.measured():
                        tasks[name]((number * in_a_row + call) % rounds)
        finally:
            gc.enable()
    return times


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed, share in (0, 1]; a median is one of them.

    >>> quantile([4.0, 1.0, 3.0, 2.0], 0.5), quantile([4.0, 1.0, 3.0, 2.0], 0.95)
    (2.0, 4.0)
    """
    if not values:
        raise ValueError("nothing was measured")
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def growth(costs: Mapping[int, float]) -> float | None:
    """The exponent e of cost ~ size^e: least squares through the logarithms. None with fewer than two sizes.

    >>> round(growth({1_000: 2.0, 100_000: 20.0}), 2)
    0.5
    """
    points = [(math.log(size), math.log(cost)) for size, cost in costs.items() if size > 0 and cost > 0]
    if len(points) < 2:
        return None
    middle_x = math.fsum(x for x, _ in points) / len(points)
    middle_y = math.fsum(y for _, y in points) / len(points)
    spread = math.fsum((x - middle_x) ** 2 for x, _ in points)
    return math.fsum((x - middle_x) * (y - middle_y) for x, y in points) / spread


def rounded(value: float) -> float:
    """Four significant digits: more are noise.

    >>> rounded(0.0123456), rounded(98765.4)
    (0.01235, 98770.0)
    """
    return float(f"{value:.4g}")
