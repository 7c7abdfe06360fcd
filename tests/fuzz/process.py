"""Runs inputs in a process of its own, so that a hang, a crash and a greedy allocation are findings like any other.

The child reports before and after each input; the parent waits for the next report only so long. Address space is
limited, once everything is imported, to what is in use by then and `SPARE_BYTES`: a buffer made to the measure of a
length field from the file fails there, however quickly it would be given back.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tests.fuzz import inputs
from tests.fuzz.inputs import WARM_UP, Job

Run: TypeAlias = Callable[[Job, Path], str]

HANG_S = 10.0  # one input; a typical one takes 50 ms
SLOW_S = 60.0  # a round over single structures: a hundred examples, and shrinking the one that fails
SPARE_BYTES = 192 * 1024 * 1024
JOBS_OF_A_CHILD = 400  # so that what leaks in one process does not add up to a finding


class Result(NamedTuple):
    """What became of an input. `failure` is "" or tells the story; `outcome` is "" then."""

    job: Job
    outcome: str
    failure: str
    seconds: float


def run_all(
    jobs: Iterable[Job], *, until: float = float("inf"), run: Run = inputs.run, hang_s: float = HANG_S
) -> Iterator[Result]:
    """The results of jobs, in order, until there are none or the monotonic clock passes `until`.

    Args:
        run: What a child does with a job, a function of a module. hang_s: How long one about a file may take.
    """
    waiting = iter(jobs)
    done = False
    while not done:
        with _Child(run, hang_s) as child:
            for _ in range(JOBS_OF_A_CHILD):
                job = next(waiting, None) if time.monotonic() < until else None
                if job is None:
                    done = True
                    break
                result = child.result(job)
                yield result
                if result.failure:
                    break  # nobody knows what it left behind


class _Child:
    """One process. Ended in any case when the block is left."""

    def __init__(self, run: Run, hang_s: float) -> None:
        self._run = run
        self._hang_s = hang_s

    def __enter__(self) -> _Child:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, self._run), daemon=True)
        self._process.start()
        there.close()
        if not self._here.poll(SLOW_S):  # imports
            raise TimeoutError("the child does not start")
        self._here.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._here.close()
        self._process.kill()
        self._process.join()

    def result(self, job: Job) -> Result:
        limit = self._hang_s if job.is_file else SLOW_S
        started = time.monotonic()
        outcome = failure = ""
        try:
            self._here.send(job)
            if self._here.poll(limit):
                outcome, failure = self._here.recv()
            else:
                failure = f"no answer within {limit:.0f} seconds"
        except (EOFError, ConnectionError):
            self._process.join()
            failure = f"the process died with exit code {self._process.exitcode}"
        return Result(job, outcome, failure, time.monotonic() - started)


def _serve(pipe: Connection, run: Run) -> None:
    warnings.simplefilter("error")
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        directory = Path(name)
        run(Job(WARM_UP), directory)
        _limit_memory()
        pipe.send("ready")
        while True:
            try:
                job: Job = pipe.recv()
            except EOFError:
                return
            try:
                answer = run(job, directory), ""
            except BaseException:
                answer = "", traceback.format_exc()
            pipe.send(answer)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    if pages:
        limit = pages * os.sysconf("SC_PAGE_SIZE") + SPARE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
