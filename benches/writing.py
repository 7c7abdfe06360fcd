"""What writing costs at each size: calls, batches, checkpoints, compaction, and how long a call may wait.

Everything is written to a copy of the file, so that the same file can be measured again.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import memhop
from benches.corpus import PROJECTS, Filled, batches, questions, texts
from benches.reading import Figures
from benches.timing import Times, quantile, rounded

BATCH = 100
DELTAS = (100, 1_000, 10_000)  # notes between two checkpoints


class Fresh:
    """Notes that no file of a run has seen: the corpus continued where the largest file ends, marked with a number."""

    def __init__(self) -> None:
        self._texts = list(texts(10_000))
        self._next = 0

    def take(self, count: int) -> list[dict[str, Any]]:
        """The next so many arguments of `remember`."""
        taken = range(self._next, self._next + count)
        self._next += count
        return [
            {"text": f"{self._texts[number % len(self._texts)]} {number}", "project": f"p{number % PROJECTS}"}
            for number in taken
        ]


def remembering(files: Mapping[int, Filled], folder: Path, rounds: int) -> Figures:
    """`remember` and batches of 100, per note, synced and not, the sizes in turns.

    The first note of each handle is measured by itself: it loads what writing needs.
    """
    fresh = Fresh()
    names = [f"{call}, {sync}" for sync in ("durable", "not synced") for call in ("remember", "batch of 100, per note")]
    times = {name: {size: Times() for size in files} for name in [*names, "first remember of a handle"]}
    with ExitStack() as stack:
        for sync, durability in (("durable", "full"), ("not synced", "none")):
            handles = {size: stack.enter_context(copied(file, folder, durability)) for size, file in files.items()}
            for size, db in handles.items():
                with times["first remember of a handle"][size].measured():
                    db.remember(**fresh.take(1)[0])
            for number in range(-1, rounds):
                for size, db in handles.items():
                    singles, batch = fresh.take(10), fresh.take(BATCH)
                    for note in singles:
                        with (times[f"remember, {sync}"][size] if number >= 0 else Times()).measured():
                            db.remember(**note)
                    with (times[f"batch of 100, per note, {sync}"][size] if number >= 0 else Times()).measured(BATCH):
                        db.remember_many(batch)
            stack.close()
    return _figures(times)


def appending(folder: Path, count: int) -> Figures:
    """The log alone: records of 200 bytes, one commit each; and 8 threads that share their syncs."""
    from memhop.core.batch import Write
    from memhop.core.meh_file import MehFile

    kind, payload = 200, b"x" * 200  # a kind that no layer uses
    times: dict[str, dict[int, Times]] = {}
    for name, durability, workers in (
        ("append to the log, durable", "full", 1),
        ("append to the log, durable, 8 threads", "full", 8),
        ("append to the log, not synced", "none", 1),
    ):
        path = folder / "append.meh"
        into = times.setdefault(name, {0: Times()})[0]
        with MehFile.open(path, durability=durability) as file:

            def work(first: int, file: MehFile = file, calls: int = count // workers) -> None:
                for number in range(first * calls, (first + 1) * calls):
                    file.append([Write(kind, number + 1, payload)])

            if workers == 1:
                for number in range(count):
                    with into.measured():
                        file.append([Write(kind, number + 1, payload)])
            else:
                with into.measured(count):
                    _together(work, workers)
        _remove(path)
    return _figures(times)


def checkpoints(files: Mapping[int, Filled], folder: Path, deltas: Sequence[int]) -> dict[str, Any]:
    """Milliseconds of `checkpoint` after so many new notes, by file size and by delta."""
    fresh = Fresh()
    found: dict[str, Any] = {}
    for size, file in files.items():
        with copied(file, folder, "none") as db:
            db.remember(**fresh.take(1)[0])
            db.checkpoint()
            for delta in deltas:
                for batch in batches(fresh.take(delta), 1_000):
                    db.remember_many(batch)
                spent = Times()
                with spent.measured():
                    db.checkpoint()
                found.setdefault(str(delta), {})[str(size)] = spent.figures()
    return found


def compactions(files: Mapping[int, Filled], folder: Path) -> tuple[Figures, dict[str, dict[int, float]]]:
    """`compact` of the whole file; and file size over raw text before and after it."""
    times: dict[str, dict[int, Times]] = {"compact": {}}
    ratios: dict[str, dict[int, float]] = {"as written": {}, "after compact": {}}
    for size, file in files.items():
        with copied(file, folder, "none") as db:
            into = times["compact"].setdefault(size, Times())
            with into.measured():
                report = db.compact()
        ratios["as written"][size] = rounded(file.file_bytes / file.raw_bytes)
        ratios["after compact"][size] = rounded(report.bytes_after / file.raw_bytes)
    return _figures(times), ratios


def pauses(file: Filled, folder: Path, notes: int) -> dict[str, float]:
    """The longest calls of a handle that is written to without a break, upkeep included.

    One thread writes batches of 100, every tenth time also a single note; another one recalls every 5 ms. Milliseconds
    of wall time, which other programs on the machine lengthen; `_cpu_` is what the thread itself computed meanwhile.
    """
    fresh = Fresh()
    asked = questions(20)
    batches_taken, singles, recalled = Times(), Times(), Times()
    over = threading.Event()
    with copied(file, folder, "none") as db:
        db.remember(**fresh.take(1)[0])
        db.recall(asked[0])

        def read() -> None:
            number = 0
            while not over.wait(0.005):
                _call(recalled, partial(db.recall, asked[number % len(asked)]))
                number += 1

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for number in range(notes // BATCH):
                _call(batches_taken, partial(db.remember_many, fresh.take(BATCH)))
                if number % 10 == 0:
                    _call(singles, partial(db.remember, **fresh.take(1)[0]))
        finally:
            over.set()
            reader.join()
    found: dict[str, float] = {"notes": notes}
    for name, times in (("batch", batches_taken), ("remember", singles), ("recall", recalled)):
        found |= {
            f"{name}_wall_longest": rounded(max(times.wall_ms)),
            f"{name}_wall_p50": rounded(quantile(times.wall_ms, 0.5)),
            f"{name}_cpu_longest": rounded(max(times.cpu_ms)),
        }
    return found


@contextmanager
def copied(file: Filled, folder: Path, durability: str) -> Iterator[memhop.DB]:
    """A handle of a copy, which is removed afterwards."""
    path = folder / f"copy-{file.path.name}"
    shutil.copyfile(file.path, path)
    with path.open("rb+") as copy:
        os.fsync(copy.fileno())  # or the first fsync of the handle would wait for the whole copy
    try:
        with memhop.DB.open(path, durability=durability) as db:
            yield db
    finally:
        _remove(path)


def _call(into: Times, call: Callable[[], object]) -> None:
    wall, cpu = time.perf_counter(), time.thread_time()
    call()
    into.add(time.perf_counter() - wall, time.thread_time() - cpu)


def _together(work: Callable[[int], None], workers: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _remove(path: Path) -> None:
    for found in path.parent.glob(path.name + "*"):
        found.unlink()


def _figures(times: Mapping[str, Mapping[int, Times]]) -> Figures:
    return {name: {size: found.figures() for size, found in by_size.items()} for name, by_size in times.items()}
