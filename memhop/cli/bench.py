"""`memhop bench`: what storing and asking take on this machine and this disk, with SQLite beside it in the same run.

Made-up notes of a seeded vocabulary, in turns of both; wall time, for a synced write waits for the disk. It says how
fast, not how well things are found: that is what `benches/` in the repository measures.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from memhop.cli.arguments import JsonOption
from memhop.cli.exit_codes import reporting
from memhop.common.config import check_int
from memhop.common.errors import InvalidRequest

_BATCH, _ALONE, _QUESTIONS = 100, 100, 100  # notes of a batch, notes stored one by one, questions
_VOCABULARY, _WORDS = 20_000, 20
_SEED = 1


def bench(
    notes: Annotated[int, typer.Option(metavar="N", help="Notes in the memory, 1000..200000.")] = 5_000,
    folder: Annotated[
        Path | None, typer.Option(metavar="PATH", help="On the disk that is meant; default: the temporary folder.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure storing and recalling on this machine, beside SQLite. Works in a folder of its own."""
    with reporting(as_json=as_json) as out:
        size = check_int(notes, field="--notes", low=1_000, high=200_000)
        if folder is not None and not folder.is_dir():
            raise InvalidRequest(f"{folder} is no folder", field="--folder", allowed="a folder that exists")
        with out.progress("measuring"), tempfile.TemporaryDirectory(prefix="memhop-bench-", dir=folder) as own:
            found = measured(Path(own), size)
        if as_json:
            out.json(found)
            return
        rows = [
            (name, *(f"{figures[who]:,.{digits}f}" for who in ("memhop", "sqlite")))
            for name, digits, figures in (
                ("notes stored a second, each synced", 0, found["stored"]),
                (f"the same in batches of {_BATCH}", 0, found["batches"]),
                ("a question, milliseconds, median", 2, found["question"]),
                ("95 of 100 questions, milliseconds", 2, found["question_p95"]),
                ("opening, milliseconds", 2, found["opening"]),
            )
        ]
        out.table((f"{size:,} notes", "MemHop", "SQLite FTS5"), rows, right=(1, 2))


def measured(folder: Path, notes: int) -> dict[str, Any]:
    """Rates and milliseconds of both, by what was measured."""
    from memhop import DB

    texts = _texts(notes + 2 * _ALONE)
    path, other = folder / "a.meh", folder / "a.sqlite"
    spent: dict[str, dict[str, list[float]]] = {}

    def timed(what: str, who: str, task: Callable[[], object]) -> None:
        began = time.perf_counter()
        task()
        spent.setdefault(what, {}).setdefault(who, []).append(time.perf_counter() - began)

    with DB.open(path) as db, closing(sqlite3.connect(other, isolation_level=None)) as table:
        table.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            "CREATE VIRTUAL TABLE note USING fts5(text, tokenize = 'porter unicode61')"
        )
        for _ in range(notes // _BATCH):
            many = [next(texts) for _ in range(_BATCH)]
            timed("batches", "memhop", lambda many=many: db.remember_many(many))  # type: ignore[misc]
            timed("batches", "sqlite", lambda many=many: _insert_all(table, many))  # type: ignore[misc]
        for _ in range(_ALONE):
            text = next(texts)
            timed("stored", "memhop", lambda text=text: db.remember(text))  # type: ignore[misc]
            timed("stored", "sqlite", lambda text=text: _insert(table, text))  # type: ignore[misc]
        db.checkpoint()
        questions = [" ".join(text.split()[2:7]) for text in _texts(_QUESTIONS)]
        db.recall(questions[0])  # what is loaded at the first question is no part of one
        for question in questions:
            timed("question", "memhop", lambda asked=question: db.recall(asked))  # type: ignore[misc]
            timed("question", "sqlite", lambda asked=question: _ask(table, asked))  # type: ignore[misc]
    for _ in range(10):
        timed("opening", "memhop", lambda: DB.open(path).close())
        timed("opening", "sqlite", lambda: sqlite3.connect(other).close())
    return {
        "notes": notes,
        "stored": {who: 1 / _quantile(seconds, 0.5) for who, seconds in spent["stored"].items()},
        "batches": {who: _BATCH / _quantile(seconds, 0.5) for who, seconds in spent["batches"].items()},
        "question": {who: 1e3 * _quantile(seconds, 0.5) for who, seconds in spent["question"].items()},
        "question_p95": {who: 1e3 * _quantile(seconds, 0.95) for who, seconds in spent["question"].items()},
        "opening": {who: 1e3 * _quantile(seconds, 0.5) for who, seconds in spent["opening"].items()},
    }


def _texts(count: int) -> Iterator[str]:
    """Notes of words that are the rarer the later they stand in the vocabulary, as in any language."""
    drawn = random.Random(_SEED)
    words = [f"{chr(97 + number % 26)}{number:x}" for number in range(_VOCABULARY)]
    weights = [1 / (number + 10) for number in range(_VOCABULARY)]
    for number in range(count):
        yield " ".join((*drawn.choices(words, weights, k=_WORDS), f"n{number}"))


def _insert(table: sqlite3.Connection, text: str) -> None:
    table.execute("INSERT INTO note VALUES (?)", (text,))


def _insert_all(table: sqlite3.Connection, many: list[str]) -> None:
    table.execute("BEGIN")
    table.executemany("INSERT INTO note VALUES (?)", [(text,) for text in many])
    table.execute("COMMIT")


def _ask(table: sqlite3.Connection, question: str) -> None:
    asked = " OR ".join(f'"{word}"' for word in question.split())
    table.execute("SELECT text FROM note WHERE note MATCH ? ORDER BY rank LIMIT 10", (asked,)).fetchall()


def _quantile(seconds: list[float], share: float) -> float:
    return sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]
