"""What does it cost a new process to import MemHop and open a file?

    python -m benches.opening [--rounds 15] [--json FILE]

Starts Python anew each time, in interleaved rounds: doing nothing, importing portalocker (the lock library, which every
opening needs), and importing memhop and opening a checkpointed file of 1,000 and of 100,000 messages. Medians of wall
and CPU time, and ratios to portalocker alone.
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import memhop
from benches import report

SEED = 20260102
SIZES = (1_000, 100_000)
_WORDS = 20_000


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.opening", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    compileall.compile_dir(Path(memhop.__file__).parent, quiet=1)  # as pip leaves an installed package
    environment = report.environment(seed=SEED, data_sha256="generated")
    report.print_environment(environment)
    with tempfile.TemporaryDirectory() as folder:
        tasks = {"python alone": "pass", "import portalocker": "import portalocker"}
        for size in SIZES:
            path = Path(folder) / f"{size}.meh"
            fill(path, size)
            tasks[f"import memhop, open {size:,} messages"] = f"import memhop; memhop.DB.open({str(path)!r})"
        wall: dict[str, list[float]] = {name: [] for name in tasks}
        cpu: dict[str, list[float]] = {name: [] for name in tasks}
        for _ in range(options.rounds):
            for name, code in tasks.items():
                spent_wall, spent_cpu = timed(code)
                wall[name].append(spent_wall)
                cpu[name].append(spent_cpu)
    base = statistics.median(wall["import portalocker"])
    figures = {
        name: {
            "wall_ms": round(statistics.median(wall[name]), 1),
            "cpu_ms": round(statistics.median(cpu[name]), 1),
            "ratio_to_portalocker": round(statistics.median(wall[name]) / base, 2),
        }
        for name in tasks
    }
    rows = [[name, *(str(value) for value in figure.values())] for name, figure in figures.items()]
    report.print_table("A new process, medians", ["task", "wall ms", "CPU ms", "ratio"], rows)
    if options.json:
        report.write_json(options.json, environment, {"rounds": options.rounds, "tasks": figures})
    return 0


def timed(code: str) -> tuple[float, float]:
    """(wall, CPU) milliseconds of a new Python process that runs `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    spent = 1000 * (time.perf_counter() - start)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent, 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def fill(path: Path, messages: int) -> None:
    """A checkpointed file of made-up messages: sessions of 25 turns, 22 words each, a Zipf-like vocabulary."""
    chance = random.Random(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(_WORDS)]
    weights = [1 / rank for rank in range(1, _WORDS + 1)]
    with memhop.DB.open(path, durability="none") as db:
        for start in range(0, messages, 5_000):
            texts = chance.choices(words, weights, k=22 * min(5_000, messages - start))
            db.archive.append_many(
                {
                    "text": " ".join(texts[22 * index : 22 * index + 22]),
                    "speaker": ("Ada", "Ben")[index % 2],
                    "at": 1_600_000_000_000 + (start + index) * 60_000,
                    "session": f"session {(start + index) // 25}",
                }
                for index in range(len(texts) // 22)
            )
        db.checkpoint()


if __name__ == "__main__":
    sys.exit(main())
