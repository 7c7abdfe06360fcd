"""Fuzz whole files and single structures for a while.

    python -m tests.fuzz --seconds 900            what `make fuzz` runs
    python -m tests.fuzz --only mutation --first 4711 --count 1
    python -m tests.fuzz --file tests/fuzz/found/mutation-4711.meh

Each input is made from its number, so a run can be told by where it began: `--first` (default: by the clock). What
fails is saved in tests/fuzz/found/ with the command that runs it again. Ends with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator

from tests.fuzz import structures
from tests.fuzz.inputs import FILE, FOUND, MUTATION, Job, mutation
from tests.fuzz.process import Result, run_all

STRUCTURES_EVERY = 50  # inputs; one round over a structure in between
SAID_EVERY_S = 60.0


def jobs(only: str | None, first: int, count: int | None) -> Iterator[Job]:
    """Jobs with rising numbers; without `only`, whole files with all structures in turn between them."""
    number = first
    while count is None or number < first + count:
        if only:
            yield Job(only, number)
        else:
            yield Job(MUTATION, number)
            if number % STRUCTURES_EVERY == 0:
                turn = number // STRUCTURES_EVERY
                yield Job(structures.NAMES[turn % len(structures.NAMES)], turn)
        number += 1


def save(result: Result) -> None:
    """Keep an input that failed, and say how to run it again."""
    FOUND.mkdir(exist_ok=True)
    name = f"{result.job.what}-{result.job.seed}"
    story = f"{result.failure}\npython -m tests.fuzz {result.job.command}\n"
    if result.job.what == MUTATION:
        made = mutation(result.job.seed)
        (FOUND / f"{name}.meh").write_bytes(made.data)
        story = f"{' · '.join(made.recipe)}\n{story}python -m tests.fuzz --file {FOUND / name}.meh\n"
    if result.job.what != FILE:
        (FOUND / f"{name}.txt").write_text(story, "utf-8", "backslashreplace")
    print(f"\nFAILED {name}\n{story}", flush=True)


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=time.time_ns() // 1_000_000)
    parser.add_argument("--count", type=int)
    parser.add_argument("--only", choices=(MUTATION, *structures.NAMES))
    parser.add_argument("--file")
    chosen = parser.parse_args()
    started = time.monotonic()
    todo = iter([Job(FILE, path=chosen.file)]) if chosen.file else jobs(chosen.only, chosen.first, chosen.count)
    outcomes: Counter[str] = Counter()
    slowest, said = 0.0, started
    print(f"from number {chosen.first}, for {chosen.seconds:.0f} s", flush=True)
    for result in run_all(todo, until=started + chosen.seconds):
        outcomes["FAILED" if result.failure else result.outcome] += 1
        if result.job.is_file:
            slowest = max(slowest, result.seconds)
        if result.failure:
            save(result)
        if time.monotonic() - said > SAID_EVERY_S:
            said = time.monotonic()
            print(f"{said - started:.0f} s: {dict(outcomes)}", flush=True)
    total = sum(outcomes.values())
    print(f"{total} inputs in {time.monotonic() - started:.0f} s, slowest {slowest:.2f} s: {dict(outcomes)}")
    return 1 if outcomes["FAILED"] or not total else 0


if __name__ == "__main__":
    sys.exit(main())
