"""What does it cost to share a file, and what do several processes get done on one?

    python -m benches.sharing [--notes 300] [--json FILE]

One process: `remember` with an exclusive and with a shared handle in alternating rounds, both with an fsync per call,
and an SQLite table (WAL, synchronous=FULL) in the same rounds as the peer. Three processes: 500 remembers each on one
shared file, a recall after every tenth, and as many inserts into one SQLite file. At the end every note is counted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import memhop
from benches import report

SEED = 20261129
PROCESSES, NOTES_EACH = 3, 500
ROUNDS = 5


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.sharing", description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=300, help="per task, one process")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    environment = report.environment(seed=SEED, data_sha256="generated")
    report.print_environment(environment)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # a disk, where /tmp may be memory
        alone = one_process(Path(folder), options.notes)
        together = three_processes(Path(folder))
    rows = [[name, f"{value:.2f}"] for name, value in alone.items()]
    report.print_table("One process", ["task", "ms per write, or ratio"], rows)
    report.print_table("Three processes", ["task", "figure"], [[name, str(value)] for name, value in together.items()])
    if options.json:
        report.write_json(options.json, environment, {"one_process": alone, "three_processes": together})
    return 0


def one_process(folder: Path, notes: int) -> dict[str, float]:
    """Milliseconds per write, medians over the rounds, and ratios of them."""
    exclusive = memhop.DB.open(folder / "exclusive.meh")
    shared = memhop.DB.open(folder / "shared.meh", mode="shared")
    peer = database(folder / "peer.sqlite")
    tasks: dict[str, Callable[[str], object]] = {
        "exclusive": exclusive.remember,
        "shared": shared.remember,
        "sqlite": lambda text: insert(peer, text),
    }
    spent: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(ROUNDS):
        for name, write in tasks.items():
            start = time.perf_counter()
            for item in range(notes // ROUNDS):
                write(f"round {number}, note {item}: the kayak leaks behind the shed")
            spent[name].append(1000 * (time.perf_counter() - start) / (notes // ROUNDS))
    exclusive.close()
    shared.close()
    peer.close()
    found = {name: round(statistics.median(values[1:]), 3) for name, values in spent.items()}  # the first one warms up
    return found | {
        "shared / exclusive": round(found["shared"] / found["exclusive"], 2),
        "shared / sqlite": round(found["shared"] / found["sqlite"], 2),
    }


def three_processes(folder: Path) -> dict[str, float]:
    """Wall seconds for all writes of all processes, and what was there afterwards."""
    path, peer = folder / "three.meh", folder / "three.sqlite"
    memhop.DB.open(path).close()
    database(peer).close()
    seconds = together(remember_many, str(path))
    peer_seconds = together(insert_many, str(peer))
    with memhop.DB.open(path) as db:
        stats = db.stats()
    count = database(peer).execute("SELECT count(*) FROM notes").fetchone()[0]
    return {
        "memhop seconds": round(seconds, 2),
        "sqlite seconds": round(peer_seconds, 2),
        "memhop notes": stats.records["note"],
        "sqlite rows": count,
        "wanted": PROCESSES * NOTES_EACH,
    }


def together(work: Callable[[str, int], None], path: str) -> float:
    """Seconds until all processes have done their work."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(path, number)) for number in range(PROCESSES)]
    start = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise SystemExit("a writer failed")
    return time.perf_counter() - start


def remember_many(path: str, number: int) -> None:
    """One process of the shared file."""
    with memhop.DB.open(path, mode="shared", purpose=f"writer {number}") as db:
        for item in range(NOTES_EACH):
            db.remember(f"writer {number}, note {item}: the kayak leaks")
            if item % 10 == 0:
                db.recall("what leaks?")


def insert_many(path: str, number: int) -> None:
    """One process of the peer."""
    connection = database(Path(path))
    for item in range(NOTES_EACH):
        insert(connection, f"writer {number}, note {item}: the kayak leaks")
        if item % 10 == 0:
            connection.execute("SELECT text FROM notes WHERE text LIKE '%leaks%' LIMIT 10").fetchall()
    connection.close()


def database(path: Path) -> sqlite3.Connection:
    """The peer: one table, write-ahead log, synced at every commit."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    return connection


def insert(connection: sqlite3.Connection, text: str) -> None:
    """One row, one commit."""
    connection.execute("INSERT INTO notes (text) VALUES (?)", (text,))


if __name__ == "__main__":
    raise SystemExit(main())
