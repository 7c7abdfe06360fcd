"""How many ways to die were tried? Runs the crash sweeps with every pair of boundary and fault, and keeps the counts.

    python -m benches.crashes [--json FILE]

The sweeps are tests (tests/crash/test_public_calls.py, tests/crash/test_boundaries.py): a disk in memory that loses,
tears and refuses, a life of public calls on it, and every write, fsync, truncate, rename, removal and allocation of
that life struck by every fault. A violation fails the test, so that there are no figures with violations. Takes some
minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benches import report

ROOT = Path(__file__).resolve().parent.parent
SWEEPS = ("tests/crash/test_public_calls.py", "tests/crash/test_boundaries.py")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.crashes", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    environment = report.environment(seed=0, data_sha256="generated")
    report.print_environment(environment)
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", *SWEEPS],
            cwd=ROOT,
            env={**os.environ, "MEMHOP_NIGHTLY": "1", "MEMHOP_SWEEP_JSON": str(counts)},
            check=False,
        )
        if done.returncode:
            return done.returncode
        totals = json.loads(counts.read_text("utf-8"))
        found = {name: count for name, count in totals.items() if isinstance(count, int)}
    report.print_table("Crash sweep", ["what", "count"], [[name, f"{count:,}"] for name, count in found.items()])
    if options.json:
        report.write_json(options.json, environment, found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
