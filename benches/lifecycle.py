"""What the life of notes costs: pages of listings, edits, and storing beside SQLite in the same run.

    python -m benches.lifecycle [--notes 50000] [--json FILE]

Two memories of 1,000 and of `--notes` notes, ten projects, four kinds with all their statuses, one in a hundred
archived. What is compared takes turns. CPU milliseconds of the process, medians; rates by wall time, for a sync waits
for the disk: these say something only where nothing else uses it. SQLite stores and indexes the words, and nothing
else: no check for the same note, no revision, no state.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import memhop
from benches import report
from benches.corpus import batches, texts
from benches.timing import Times, interleaved, quantile
from memhop.repo.schema import BUILT_IN

SMALL = 1_000
PROJECTS = 10
STATES = [(kind, status) for kind in ("bug", "plan", "decision", "note") for status in BUILT_IN[kind].statuses or ("",)]
PAGES: dict[str, dict[str, Any]] = {
    "list": {},
    "list, one project": {"project": "p3"},
    "list, open bugs of a project": {"project": "p3", "kinds": ["bug"], "statuses": ["open", "in_progress"]},
    "list, archived": {"tier": "archived"},
    "list by time": {"sort": "at"},
    "list by time, one project": {"sort": "at", "project": "p3"},
    "list as written": {"sort": "created"},
}
STORES = 200  # notes of a rate


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.lifecycle", description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    environment = report.environment(seed=0, data_sha256="generated")
    report.print_environment(environment)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.notes, options.rounds)
    calls = [[name, str(call["cpu_p50"]), str(call["cpu_p95"])] for name, call in found["calls"].items()]
    report.print_table("A call, CPU milliseconds", ["call", "p50", "p95"], calls)
    stored = [[name, f"{rate:,.0f}"] for name, rate in found["rates"].items()]
    report.print_table("Storing, wall time", ["how", "notes a second"], stored)
    if options.json:
        report.write_json(options.json, environment, found)
    return 0


def measure(folder: Path, large: int, rounds: int) -> dict[str, Any]:
    """`calls`: milliseconds of each, as `timing.Times.figures` has them; `rates`: notes a second, see `rates`."""
    fresh = Fresh()
    paths = {size: filled(folder / f"{size}.meh", size, fresh) for size in (SMALL, large)}
    with (
        memhop.DB.open(paths[SMALL], durability="none") as few,
        memhop.DB.open(paths[large], durability="none") as many,
    ):
        ids = [note.id for note in many.notes.list(limit=500).items]
        tasks: dict[str, Callable[[int], object]] = {
            "remember, few": lambda number: few.remember(**fresh.take()),
            "remember, many": lambda number: many.remember(**fresh.take()),
            "update": lambda number: many.notes.update(ids[number % 500], text=f"edited {number}"),
        }
        for name, arguments in PAGES.items():
            tasks[name] = partial(_page, many, arguments)
        tasks["list, page 21"] = partial(_page, many, {"cursor": deep(many)})
        times = interleaved(tasks, rounds, in_a_row=5)
    calls = {name: found.figures() for name, found in times.items()}
    return {"notes": large, "few": SMALL, "calls": calls, "rates": rates(folder, fresh)}


def _page(db: memhop.DB, arguments: dict[str, Any], number: int) -> object:
    return db.notes.list(limit=50, **arguments)


def deep(db: memhop.DB) -> str | None:
    """The cursor of the twenty-first page."""
    cursor = None
    for _ in range(20):
        cursor = db.notes.list(limit=50, cursor=cursor).next or cursor
    return cursor


def rates(folder: Path, fresh: Fresh) -> dict[str, float]:
    """Notes a second, wall time, ours and SQLite's in turns: each call synced, then with syncs left to a timer
    (`relaxed`; in SQLite synchronous=NORMAL), alone and in batches of 100."""
    found: dict[str, float] = {}
    for durability, synchronous in (("full", "FULL"), ("relaxed", "NORMAL")):
        ours, theirs = f"remember, {durability}", f"SQLite {synchronous}"
        spent = {name: Times() for name in (ours, theirs, f"{ours}, batches", f"{theirs}, batches")}
        with (
            memhop.DB.open(folder / f"{durability}.meh", durability=durability) as db,
            closing(sqlite3.connect(folder / f"{durability}.sqlite", isolation_level=None)) as table,
        ):
            db.remember(**fresh.take())
            table.executescript(
                f"PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous};"
                "CREATE VIRTUAL TABLE note USING fts5(text, project UNINDEXED, kind UNINDEXED, status UNINDEXED)"
            )
            insert = "INSERT INTO note VALUES (:text, :project, :kind, :status)"
            for _ in range(STORES // 20):
                singles = [fresh.take() for _ in range(20)]
                with spent[ours].measured(20):
                    for note in singles:
                        db.remember(**note)
                with spent[theirs].measured(20):
                    for note in singles:
                        table.execute(insert, note)
                many = [fresh.take() for _ in range(100)]
                with spent[f"{ours}, batches"].measured(100):
                    db.remember_many(many)
                with spent[f"{theirs}, batches"].measured(100):
                    table.execute("BEGIN")
                    table.executemany(insert, many)
                    table.execute("COMMIT")
        found |= {name: round(1e3 / quantile(times.wall_ms, 0.5)) for name, times in spent.items()}
    return found


class Fresh:
    """Arguments of `remember` that were not there before."""

    def __init__(self) -> None:
        self._texts = list(texts(5_000))
        self._next = 0

    def take(self) -> dict[str, Any]:
        number, self._next = self._next, self._next + 1
        kind, status = STATES[number // PROJECTS % len(STATES)]
        text = f"{self._texts[number % len(self._texts)]} {number}"
        return {"text": text, "project": f"p{number % PROJECTS}", "kind": kind, "status": status}

    def several(self, count: int) -> Iterator[dict[str, Any]]:
        return (self.take() for _ in range(count))


def filled(path: Path, size: int, fresh: Fresh) -> Path:
    """A memory of so many notes, sealed."""
    with memhop.DB.open(path, durability="none") as db:
        for number, batch in enumerate(batches(fresh.several(size), 1_000)):
            notes = db.remember_many(batch)
            for note in notes[:100] if number % 10 == 0 else ():
                db.notes.archive(note.id)
        db.checkpoint()
    return path


if __name__ == "__main__":
    sys.exit(main())
