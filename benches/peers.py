"""MemHop beside other engines, in one run, on the same texts, questions and vectors, call by call in turns.

    python -m benches.peers [--sizes 10000,100000] [--full] [--keep FOLDER] [--json FILE]

Three tables: durable writes (one text a commit, and a hundred) into 10,000 texts; questions at each size; the nearest
vectors at each size, on embeddings of real sentences. A peer stands where it has the operation, with the settings that
suit it best; one that is not installed has a row that says so. Ratios are of medians of CPU time, MemHop over peer.

`--full` also builds the graphs over all rows, which takes minutes. `pip install 'memhop[peers]'` brings the peers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import memhop
from benches import peer_stores, peer_vectors, peer_words, report
from benches.corpus import SEED, batches, filled, questions, texts
from benches.peer_vectors import VECTOR_PEERS
from benches.peer_words import WORD_PEERS
from benches.real_vectors import embedded, real_vectors, sentences
from benches.speed import sizes, timed, workplace
from benches.timing import Task, Times, interleaved, rounded
from memhop.cli.arguments import embedder_called
from memhop.common.errors import MemhopError

STORED = 10_000  # texts in a store before writes are measured
BATCH = 100
QUESTIONS = 60
QUERIES = 100
IN_A_ROW = 10  # calls of one engine before the next one has its turn
SLOW_CALLS = 5
OURS = "MemHop, whole recall"
MEMVID_TEXTS, MEMVID_AT = 300, 10_000  # it is shown in the tables of up to so many texts, with fewer
MODELS = ("minilm", "local", "hash")  # the best first
CACHE = report.REPOSITORY / "benches" / "cache"
NOT_INSTALLED = {"not installed": True}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.peers", description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=sizes, default=(10_000, 100_000), help="numbers of texts")
    parser.add_argument("--vectors", type=sizes, default=(10_000, 100_000), help="numbers of vectors")
    parser.add_argument("--full", action="store_true", help="build everything at every size")
    parser.add_argument("--rows", type=Path, help="unit rows of real texts (.npy), in place of embedding sentences")
    parser.add_argument("--keep", type=Path, help="as for benches.speed")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    environment = report.environment(seed=SEED, data_sha256="generated", packages=(*report.PACKAGES, *report.PEERS))
    report.print_environment(environment)
    with workplace(options.keep) as folder, tempfile.TemporaryDirectory(dir=folder) as inside:
        scratch = Path(inside)
        results: dict[str, Any] = {
            "stored": STORED,
            "writes": timed("writes", lambda: writes(scratch)),
            "words": {},
            "vectors": {},
        }
        for size in options.sizes:
            results["words"][str(size)] = timed(
                f"words, {size:,}", partial(words, folder, scratch, size, full=options.full)
            )
        rows, model = timed("embeddings", lambda: real_rows(options.rows))
        for size in options.vectors:
            results["vectors"][f"{size} x {rows.shape[1]}"] = timed(
                f"vectors, {size:,}", partial(vectors, scratch, rows, model, size, full=options.full)
            )
    show(results)
    if options.json:
        report.write_json(options.json, environment, results)
    return 0


def writes(folder: Path, rounds: int = 100) -> dict[str, Any]:
    """Milliseconds of one durable write, and of a batch of 100 per text, into stores of 10,000 texts."""
    found: dict[str, Any] = {}
    stores: dict[str, peer_stores.Store] = {}
    source = list(texts(STORED + (rounds + 10) * (BATCH + 1)))
    for peer in peer_stores.STORE_PEERS:
        if find_spec(peer.module) is None:
            found[peer.name] = NOT_INSTALLED
            continue
        store = stores[peer.name] = peer.open(folder)
        for batch in batches(source[:STORED], 1_000) if not peer.slow else ():
            store.many(batch)
    fresh = source[STORED:]
    slow = {peer.name for peer in peer_stores.STORE_PEERS if peer.slow}
    for names, calls, batch_calls, warm in (
        (stores.keys() - slow, rounds, rounds // 4, 2),
        (stores.keys() & slow, SLOW_CALLS, 1, 0),
    ):
        ordered = [name for name in stores if name in names]
        singles = interleaved({name: _one(stores[name], fresh) for name in ordered}, calls, warm=warm)
        later = fresh[calls + warm :]
        many = interleaved({name: _many(stores[name], later) for name in ordered}, batch_calls, warm=warm)
        for name in ordered:
            each = {figure: rounded(value / BATCH) for figure, value in many[name].figures().items()}
            found[name] = {"one": singles[name].figures(), "batch, per text": each}
    for store in stores.values():
        store.close()
    return {peer.name: found[peer.name] for peer in peer_stores.STORE_PEERS}


def words(folder: Path, scratch: Path, size: int, *, full: bool = False) -> dict[str, Any]:
    """Milliseconds of a question, top 20. Ours is the whole of `DB.recall`: fusion, records and context included."""
    asked = questions(QUESTIONS)
    source = list(texts(size))
    found: dict[str, Any] = {}
    with memhop.DB.open(filled(folder, "notes", size).path, mode="read") as db:
        tasks: dict[str, Task] = {OURS: _asking(lambda question: db.recall(question, limit=peer_words.TOP), asked)}
        for peer in WORD_PEERS:
            if find_spec(peer.module) is None:
                found[peer.name] = NOT_INSTALLED
            else:
                tasks[peer.name] = _asking(peer.build(scratch, source), asked)
        times = interleaved(tasks, QUESTIONS, warm=1, in_a_row=IN_A_ROW)
        found |= {name: spent.figures() for name, spent in times.items()}
        if full and size <= MEMVID_AT:
            found[f"memvid-sdk, {MEMVID_TEXTS} texts"] = _memvid(scratch, source[:MEMVID_TEXTS], asked)
    return found


def vectors(scratch: Path, rows: NDArray[np.float32], model: str, size: int, *, full: bool) -> dict[str, Any]:
    """Milliseconds of the 20 nearest vectors, and the share of the true ones among them; and what the vectors are."""
    data = real_vectors(rows, model, size, QUERIES)
    truth = [set(peer_vectors.nearest(data.base, query).tolist()) for query in data.queries]
    found: dict[str, Any] = {}
    searches: dict[str, peer_vectors.Search] = {}
    building: dict[str, Times] = {}
    for peer in VECTOR_PEERS:
        if find_spec(peer.module) is None:
            found[peer.name] = NOT_INSTALLED
        elif full or peer.most_rows is None or size <= peer.most_rows:
            with building.setdefault(peer.name, Times()).measured():
                searches[peer.name] = peer.build(scratch, data.base)
    answers: dict[str, dict[int, set[int]]] = {name: {} for name in searches}

    def task(name: str) -> Task:
        def ask(number: int) -> None:
            answers[name][number] = set(searches[name](data.queries[number]).tolist())

        return ask

    times = interleaved({name: task(name) for name in searches}, QUERIES, warm=1, in_a_row=IN_A_ROW)
    for name, spent in times.items():
        hit = sum(len(answers[name][number] & truth[number]) for number in range(QUERIES))
        found[name] = spent.figures() | {
            "recall@20": rounded(hit / (QUERIES * peer_vectors.TOP)),
            "build_cpu_s": rounded(building[name].cpu_ms[0] / 1e3),
        }
    engines = {peer.name: found[peer.name] for peer in VECTOR_PEERS if peer.name in found}
    return {"about": data.about, "engines": engines}


def real_rows(given: Path | None) -> tuple[NDArray[np.float32], str]:
    """Vectors of real sentences and their model's name: those given, or of the best model that is installed."""
    if given is not None:
        rows: NDArray[np.float32] = np.load(given, allow_pickle=False)
        return rows, given.stem
    for name in MODELS:
        with suppress(MemhopError):
            embedder = embedder_called(name)
            if embedder is not None:
                return embedded(sentences(), embedder, CACHE), embedder.name
    raise SystemExit("not one embedder is there")


def show(results: Mapping[str, Any]) -> None:
    """Print the tables."""
    for call in ("one", "batch, per text"):
        shown = {name: facts.get(call, facts) for name, facts in results["writes"].items()}
        title = f"A durable write into {results['stored']:,} texts, ms, {call}"
        report.print_table(title, ["engine", *COLUMNS], _rows(shown, peer_stores.MEMHOP))
    for size, facts in results["words"].items():
        title = f"A question to {int(size):,} texts, top 20, ms"
        report.print_table(title, ["engine", *COLUMNS], _rows(facts, OURS))
    for size, facts in results["vectors"].items():
        title = f"20 nearest of {size} vectors, ms ({facts['about']})"
        header = ["engine", *COLUMNS, "recall@20", "build CPU s"]
        report.print_table(title, header, _rows(facts["engines"], peer_vectors.MEMHOP, ("recall@20", "build_cpu_s")))


COLUMNS = ("CPU p50", "CPU p95", "wall p50", "MemHop / it, CPU", "wall")


def _rows(found: Mapping[str, Any], ours: str, more: Sequence[str] = ()) -> list[list[report.Cell]]:
    rows: list[list[report.Cell]] = []
    for name, facts in found.items():
        if "cpu_p50" not in facts:
            rows.append([name, "not installed", *[None] * (len(COLUMNS) - 1 + len(more))])
            continue
        rows.append(
            [
                name,
                *(f"{facts[figure]:.4g}" for figure in ("cpu_p50", "cpu_p95", "wall_p50")),
                *(f"{found[ours][figure] / facts[figure]:.2f}" for figure in ("cpu_p50", "wall_p50")),
                *(f"{facts[figure]:.3g}" for figure in more),
            ]
        )
    return rows


def _memvid(scratch: Path, source: Sequence[str], asked: Sequence[str]) -> Mapping[str, float | bool]:
    if find_spec("memvid_sdk") is None:
        return NOT_INSTALLED
    search = peer_words.memvid_words(scratch, source)
    return interleaved({"memvid": _asking(search, asked)}, 10)["memvid"].figures()


def _asking(search: Callable[[str], object], asked: Sequence[str]) -> Task:
    return lambda number: search(asked[number % len(asked)])


def _one(store: peer_stores.Store, source: Sequence[str]) -> Task:
    remaining = iter(source)
    return lambda _: store.one(next(remaining))


def _many(store: peer_stores.Store, source: Sequence[str]) -> Task:
    remaining = batches(source, BATCH)
    return lambda _: store.many(next(remaining))


if __name__ == "__main__":
    sys.exit(main())
