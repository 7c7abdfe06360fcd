"""What does a brief cost, and how does it grow?

    python -m benches.briefs [--sizes 1000,50000] [--rounds 40] [--json FILE]

Ten projects, six states each, a progressive summary in the middle, checkpointed. Beside it, in the same rounds, a table
in SQLite with the same notes and an index on (project, kind, status, updated): counting by GROUP BY over it, which goes
through all of them, and nothing else of what a brief tells.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import memhop
from benches import report
from benches.timing import interleaved
from memhop.common.clock import ManualClock

PROJECTS: Final = 10
STATES: Final = (
    ("note", None), ("bug", "open"), ("bug", "fixed"), ("decision", "approved"), ("plan", "pending"), ("fact", None),
)  # fmt: skip
_BATCH: Final = 1_000
_EPOCH_MS: Final = 1_600_000_000_000


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.briefs", description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1000,50000", help="notes, separated by commas")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    environment = report.environment(seed=0, data_sha256="generated")
    report.print_environment(environment)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, options.sizes.split(",")):
            figures[str(size)] = measured(Path(folder), size, options.rounds)
    rows = [
        [f"{name}, {int(size):,} notes", str(found["cpu_p50"]), str(found["cpu_p95"]), str(found["wall_p50"])]
        for size, tasks in figures.items()
        for name, found in tasks.items()
    ]
    report.print_table("A call, milliseconds", ["call", "CPU p50", "CPU p95", "wall p50"], rows)
    if options.json:
        report.write_json(options.json, environment, {"rounds": options.rounds, "sizes": figures})
    return 0


def measured(folder: Path, size: int, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of each call on a memory of `size` notes, as `timing.Times.figures` has them."""
    path, table = folder / f"{size}.meh", sqlite3.connect(folder / f"{size}.db")
    fill(path, size)
    table.execute("CREATE TABLE note (project TEXT, kind TEXT, status TEXT, updated INTEGER, text TEXT)")
    table.executemany(
        "INSERT INTO note VALUES (?, ?, ?, ?, ?)",
        ((n["project"], n["kind"], n["status"], number, n["text"]) for number, n in enumerate(notes(size))),
    )
    table.execute("CREATE INDEX state ON note (project, kind, status, updated)")
    table.commit()
    counting = "SELECT project, kind, status, count(*), max(updated) FROM note GROUP BY project, kind, status"
    with memhop.DB.open(path) as db:
        times = interleaved(
            {
                "brief": lambda _: db.brief(),
                "projects.list": lambda _: db.projects.list(),
                "projects.count": lambda _: db.projects.count("project 3"),
                "maintain, nothing due": lambda _: db.maintain(dry_run=True),
                "SQLite GROUP BY": lambda _: table.execute(counting).fetchall(),
            },
            rounds,
        )
    table.close()
    return {name: found.figures() for name, found in times.items()}


def notes(size: int) -> Iterator[dict[str, Any]]:
    """Notes of ten projects, in turns."""
    for number in range(size):
        kind, status = STATES[number // PROJECTS % len(STATES)]
        yield {
            "text": f"note {number} about thing {number * 7919 % 1000} and what is to be done with it",
            "project": f"project {number % PROJECTS}",
            "kind": kind,
            "status": status,
        }


def fill(path: Path, size: int) -> None:
    """Make the memory."""
    clock = ManualClock(_EPOCH_MS)
    batch: list[dict[str, Any]] = []
    with memhop.DB.open(path, durability="none", clock=clock) as db:
        for number, note in enumerate(notes(size), 1):
            if number == size // 2:
                for project in range(PROJECTS):
                    db.summary.save(f"project {project}", "what is known so far " * 40)
                clock.advance(1_000)
            batch.append(note)
            if len(batch) == _BATCH or number == size:
                db.remember_many(batch)
                batch.clear()
                clock.advance(1_000)
        db.checkpoint()


if __name__ == "__main__":
    raise SystemExit(main())
