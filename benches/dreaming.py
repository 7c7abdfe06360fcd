"""What a dream with a slow model costs those who remember and recall meanwhile: `python -m benches.dreaming`.

One memory, one process: turns of the agent loop are stored, then `remember` and `recall` are timed one by one, first
with nothing else going on, then while a dream waits again and again for a model that takes two seconds for a reply. The
bar: p95 while it dreams below twice the idle p95 of the same run.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benches import report
from memhop import DB
from memhop.models.chat import Reply

REPLY_S = 2.0


class Slow:
    """A model that takes its time, and says nothing of use."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls = 0

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        """See `ChatModel`."""
        self.calls += 1
        time.sleep(self.seconds)
        return Reply('{"items": [], "groups": [], "lines": []}', 10, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    environment = report.environment(seed=0, data_sha256="generated")
    report.print_environment(environment)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder) / "agent.meh", options.turns, options.rounds)
    for name, value in figures.items():
        print(f"{name:32} {value:10.3f}")
    if options.json:
        report.write_json(options.json, environment, figures)


def measure(path: Path, turns: int, rounds: int) -> dict[str, float]:
    """Milliseconds of wall time and of CPU of this thread, p95, idle and while a dream runs."""
    model = Slow(REPLY_S)
    figures: dict[str, float] = {}
    with DB.open(path, llm=model) as db:
        for number in range(turns):
            found = db.search(f"seam {number} of the kayak leaks near rib {number % 37}", session=f"s{number // 40}")
            db.update(found.new_topic_id, f"sand rib {number % 37}, then varnish coat {number % 5}")
        timed(db, rounds, "warm")
        for name, value in timed(db, rounds, "idle").items():
            figures[f"idle {name}"] = value
        over = threading.Event()

        def dream() -> None:
            db.dream(max_seconds=60)
            over.set()

        thread = threading.Thread(target=dream)
        thread.start()
        while not model.calls:
            time.sleep(0.01)
        for name, value in timed(db, rounds, "dreaming").items():
            figures[f"dreaming {name}"] = value
        figures["the dream was still going on"] = float(not over.is_set())
        thread.join()
        figures["model calls"] = model.calls
    for call in ("remember", "recall"):
        figures[f"ratio {call} p95 ms"] = figures[f"dreaming {call} p95 ms"] / figures[f"idle {call} p95 ms"]
    return figures


def timed(db: DB, rounds: int, word: str) -> dict[str, float]:
    """Each call by itself, in turns, with a pause so that they spread over several seconds."""
    wall: dict[str, list[float]] = {"remember": [], "recall": []}
    cpu: dict[str, list[float]] = {"remember": [], "recall": []}
    for number in range(rounds):
        for name in wall:
            begun, worked = time.perf_counter(), time.thread_time()
            if name == "remember":
                db.remember(f"{word} note {number} about the harbour")
            else:
                db.recall(f"rib {number % 37} of the kayak")
            wall[name].append((time.perf_counter() - begun) * 1000)
            cpu[name].append((time.thread_time() - worked) * 1000)
        time.sleep(0.01)
    found = {f"{name} p95 ms": _p95(times) for name, times in wall.items()}
    return found | {f"{name} p95 cpu ms": _p95(times) for name, times in cpu.items()}


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    main()
