"""What reading costs at each size: opening, the first recall of a process, recalls of every kind, threads, memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import memhop
from benches.corpus import Filled, questions
from benches.timing import Task, Times, interleaved, quantile, rounded

if TYPE_CHECKING:
    from memhop.repo.views import Views

QUESTIONS = 60
THREADS = (1, 2, 4, 8)
DIM = 64  # of the vectors that stand for a model's; what a model's dimension costs is measured in `peers`
_SEED = 20_261_201

Figures = dict[str, dict[int, dict[str, float]]]
"""Operation -> size -> figures."""

_CHILD = """
import json, sys, time
def memory():
    rows = dict(line.split(":", 1) for line in open("/proc/self/status") if line.startswith(("VmRSS", "RssAnon")))
    return {name: int(value.split()[0]) / 1024 for name, value in rows.items()}
start = time.process_time(), time.perf_counter()
import memhop
db = memhop.DB.open(sys.argv[1], mode="read")
opened = time.process_time(), time.perf_counter()
facts = {"open": memory()}
found = db.recall(sys.argv[2])
done = time.process_time(), time.perf_counter()
assert found.hits, "nothing was found"
facts |= {"recall": memory(), "open_ms": [1e3 * (b - a) for a, b in zip(start, opened)],
          "first_recall_ms": [1e3 * (b - a) for a, b in zip(opened, done)]}
print(json.dumps(facts))
"""


class Precomputed:
    """An embedder that costs next to nothing: a text's vector is the sum of two rows of a table, chosen by its hash."""

    name = "precomputed"
    digest = "0"
    dim = DIM
    max_batch = 1_000

    def __init__(self) -> None:
        self._table = np.random.default_rng(_SEED).standard_normal((1 << 12, DIM), np.float32)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """See `memhop.models.Embedder`."""
        hashes = np.array([crc32(text.encode()) for text in texts], np.uint32)
        rows = self._table[hashes & 0xFFF] + self._table[hashes >> 20]
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def opening(files: Mapping[int, Filled], rounds: int) -> Figures:
    """`DB.open` and `close` of a checkpointed file in a running process, the sizes in turns."""

    def task(path: Path) -> Task:
        return lambda _: memhop.DB.open(path, mode="read").close()

    times = interleaved({str(size): task(file.path) for size, file in files.items()}, rounds, warm=3)
    return {"open": {int(size): found.figures() for size, found in times.items()}}


def new_process(files: Mapping[int, Filled], rounds: int) -> tuple[Figures, dict[str, dict[int, dict[str, float]]]]:
    """Import and open, then the first recall, each time in a new process; and its memory in MiB after both."""
    opened = {size: Times() for size in files}
    recalled = {size: Times() for size in files}
    memory: dict[int, list[dict[str, dict[str, float]]]] = {size: [] for size in files}
    asked = questions(rounds)
    for number in range(rounds):
        for size, file in files.items():
            arguments = [sys.executable, "-c", _CHILD, str(file.path), asked[number]]
            facts = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
            cpu, wall = facts["open_ms"]
            opened[size].add(wall / 1e3, cpu / 1e3)
            cpu, wall = facts["first_recall_ms"]
            recalled[size].add(wall / 1e3, cpu / 1e3)
            memory[size].append(facts)
    resident = {
        f"after {name}": {
            size: {
                "rss_mib": rounded(quantile([fact[moment]["VmRSS"] for fact in found], 0.5)),
                "anonymous_mib": rounded(quantile([fact[moment]["RssAnon"] for fact in found], 0.5)),
            }
            for size, found in memory.items()
        }
        for name, moment in (("open", "open"), ("first recall", "recall"))
    }
    return {
        "import and open": {size: found.figures() for size, found in opened.items()},
        "first recall": {size: found.figures() for size, found in recalled.items()},
    }, resident


def recalls(files: Mapping[int, Filled], operation: str, rounds: int) -> Figures:
    """Whole recalls, limit 20: without a filter, and of notes also with one that 1 % of them pass."""
    asked = questions(QUESTIONS)
    with opened(files) as handles:
        tasks: dict[str, Task] = {}
        for size, db in handles.items():
            tasks[f"{operation}/{size}"] = _recall(db, asked)
            if operation == "recall":
                tasks[f"{operation}, 1 % filter/{size}"] = _recall(db, asked, project="p7")
        return _by_size(interleaved(tasks, rounds * QUESTIONS, warm=5))


def channels(files: Mapping[int, Filled], rounds: int) -> Figures:
    """One channel at a time, without fusion and records: words, and nearly right spelling among the words of the file.

    Meaning is measured beside its peers in `benches.peers`.
    """
    from memhop.index.fuzzy import FuzzyIndex
    from memhop.search.query import Request, prepare

    asked = [prepare(Request(text=question), 0).terms for question in questions(QUESTIONS)]
    misspelt = [_swapped(max(terms, key=len)) for terms in asked]
    with opened(files) as handles:
        tasks: dict[str, Task] = {}
        for size, db in handles.items():
            db.recall("warm")  # loads the views
            views = db._store.views
            vocabulary = FuzzyIndex(views.bm25.terms())
            tasks[f"words alone/{size}"] = _words(views, asked)
            tasks[f"spelling alone/{size}"] = _cycled(vocabulary.matches, misspelt)
        return _by_size(interleaved(tasks, rounds * QUESTIONS, warm=5))


def with_vectors(files: Mapping[int, Filled], folder: Path, rounds: int) -> Figures:
    """Whole recalls with an embedder whose answers cost nothing, so that what is left is the engine's."""
    import shutil

    embedder = Precomputed()
    asked = questions(QUESTIONS)
    with ExitStack() as stack:
        tasks: dict[str, Task] = {}
        for size, file in files.items():
            path = folder / f"{file.path.stem}-vectors.meh"
            if not path.exists():
                shutil.copyfile(file.path, path)
                with memhop.DB.open(path, embedder=embedder, durability="none") as db:
                    db.backfill()
                    db.checkpoint()
            db = stack.enter_context(memhop.DB.open(path, embedder=embedder, mode="read"))
            tasks[f"recall with vectors/{size}"] = _recall(db, asked)
            tasks[f"recall with vectors, 1 % filter/{size}"] = _recall(db, asked, project="p7")
        return _by_size(interleaved(tasks, rounds * QUESTIONS, warm=5))


def threads(file: Filled, recalls_each: int = 40) -> dict[int, dict[str, float]]:
    """Recalls of 1, 2, 4 and 8 threads through one handle: how many a second, and the CPU time of one."""
    asked = questions(QUESTIONS)
    found: dict[int, dict[str, float]] = {}
    with memhop.DB.open(file.path, mode="read") as db:
        for question in asked:
            db.recall(question)
        for count in THREADS:
            barrier = threading.Barrier(count + 1)

            def work(first: int, barrier: threading.Barrier = barrier) -> None:
                barrier.wait()
                for number in range(recalls_each):
                    db.recall(asked[(first + number) % len(asked)])

            workers = [threading.Thread(target=work, args=(7 * number,)) for number in range(count)]
            for worker in workers:
                worker.start()
            cpu, wall = time.process_time(), time.perf_counter()
            barrier.wait()
            for worker in workers:
                worker.join()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            done = recalls_each * count
            found[count] = {"recalls_per_second": rounded(done / wall), "cpu_ms_per_recall": rounded(1e3 * cpu / done)}
    return found


@contextmanager
def opened(files: Mapping[int, Filled]) -> Iterator[dict[int, memhop.DB]]:
    """All of them, for reading."""
    with ExitStack() as stack:
        yield {size: stack.enter_context(memhop.DB.open(file.path, mode="read")) for size, file in files.items()}


def _recall(db: memhop.DB, asked: Sequence[str], project: str | None = None) -> Task:
    return lambda number: db.recall(asked[number % len(asked)], limit=20, project=project)


def _words(views: Views, asked: Sequence[Sequence[str]]) -> Task:
    from memhop.search import channels
    from memhop.search.evidence import Neighbourhood
    from memhop.search.query import Eligible, judged_by
    from memhop.search.sparse import Workspace

    workspace = Workspace()
    around = Neighbourhood(views.units, workspace)
    every = Eligible(views.units.live, judged_by(views), {})
    return lambda number: channels.words(asked[number % len(asked)], views, around, workspace, every)


def _cycled(look_up: Callable[[str], object], words: Sequence[str]) -> Task:
    return lambda number: look_up(words[number % len(words)])


def _swapped(word: str) -> str:
    """The word with its second and third letter in the other order, as fast typists write it."""
    return word[:1] + word[2:3] + word[1:2] + word[3:]


def _by_size(times: Mapping[str, Times]) -> Figures:
    figures: Figures = {}
    for name, found in times.items():
        operation, _, size = name.rpartition("/")
        figures.setdefault(operation, {})[int(size)] = found.figures()
    return figures
