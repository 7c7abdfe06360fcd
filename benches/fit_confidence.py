"""Confidence: does a recall tell a question it can answer from one it cannot? Fits the coefficients, prints how well.

    python -m benches.fit_confidence DATA [--embedder none|local|…] [--keep FILE] [--json FILE]
    python -m benches.fit_confidence DATA --rows FILE…

Memories and the questions put to them:

    talk    a conversation; its own questions, and those of the other conversations
    half    every other session of it; its own questions, by whether the sessions with the evidence are there
    notes   its observations as isolated notes; questions they answer, and those of the other conversations
    few     one to ten of these notes; a question one of them answers, others of the same conversation, and of others

Each question is asked as it is, and without the names of the speakers, which give away whose question it is. What is
printed was fitted without the conversation it is printed for, neither as memory nor as source of questions; memories
and answers count alike, however many questions they have. The last line is fitted on everything: the coefficients.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import memhop
from benches import report
from benches.locomo import messages_of
from benches.locomo_data import Conversation, Dataset, Question, load
from memhop.cli.arguments import embedder_called
from memhop.common.config import LOW_CONFIDENCE
from memhop.search.confidence import Signs, variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.models.embed import Embedder

SEED = 20260102
STRANGERS = 250  # questions of other conversations that a memory is asked
FEW = (1, 2, 3, 5, 8, 10)  # notes of a small memory
SMALL_MEMORIES = 40  # of each conversation
RIDGE = 0.1
KINDS = ("talk", "half", "notes", "few")


class Row(NamedTuple):
    """One question, asked. `memory` and `source` are conversations."""

    kind: str
    named: bool
    known: bool
    memory: str
    source: str
    signs: Signs


class Asked(NamedTuple):
    text: str
    source: str
    known: bool


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.fit_confidence", description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="locomo json")
    parser.add_argument("--embedder", default="none", help="none, local, …, as the command line takes it")
    parser.add_argument("--keep", type=Path, help="where to write what was asked and its signs")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--rows", type=Path, nargs="+", help="files so written, of one model or several, to fit to")
    options = parser.parse_args(argv)
    dataset = load(options.data)
    environment = report.environment(seed=SEED, data_sha256=dataset.sha256)
    report.print_environment(environment)
    if options.rows:
        rows = [
            Row(kind, named, known, memory, source, Signs(*signs))
            for file in options.rows
            for kind, named, known, memory, source, signs in json.loads(file.read_text())
        ]
    else:
        rows = list(ask_everything(dataset, embedder_called(options.embedder)))
    if options.keep:
        options.keep.write_text(json.dumps(rows))
    show(rows)
    if options.json:
        report.write_json(options.json, environment, {"embedder": options.embedder, **figures(rows)})
    return 0


# -- asking --------------------------------------------------------------------------------------------------


def ask_everything(dataset: Dataset, embedder: Embedder | None) -> Iterator[Row]:
    """Fill the memories and ask them everything."""
    chance = random.Random(SEED)
    names = {name for conversation in dataset.conversations for name in conversation.speakers}
    for conversation in dataset.conversations:
        for kind, items, asked in memories(conversation, dataset, chance):
            with tempfile.TemporaryDirectory() as folder, memhop.DB.open(f"{folder}/a.meh", embedder=embedder) as db:
                if "session" in items[0]:
                    db.archive.append_many(items)
                else:
                    db.remember_many(items)
                if embedder is not None:
                    db.backfill()
                for text, source, known in asked:
                    for named in (True, False):
                        chosen = text if named else without(names, text)
                        found = db.recall(chosen, at=conversation.turns[-1].at_ms, token_budget=0, explain=True)
                        if found.hits:
                            signs = Signs(**found.explanation["confidence"])
                            yield Row(kind, named, known, conversation.sample_id, source, signs)


def memories(
    conversation: Conversation, dataset: Dataset, chance: random.Random
) -> Iterator[tuple[str, list[dict[str, object]], list[Asked]]]:
    """(kind, what is remembered, what is asked), of one conversation."""
    own = conversation.questions
    here = conversation.sample_id
    others = [
        Asked(question.text, other.sample_id, False)
        for other in dataset.conversations
        if other is not conversation
        for question in other.questions
    ]
    messages = messages_of(conversation)
    yield "talk", messages, [_own(here, q, True) for q in own] + chance.sample(others, STRANGERS)
    session = {turn.dia_id: turn.session for turn in conversation.turns}
    for parity in (0, 1):
        there = {dia_id for dia_id, number in session.items() if number % 2 == parity}
        kept = [message for message in messages if message["external_id"] in there]
        asked = [
            _own(here, question, there.issuperset(question.evidence))
            for question in own
            if there.issuperset(question.evidence) or there.isdisjoint(question.evidence)
        ]
        yield "half", kept, asked
    started = {turn.session: turn.at_ms for turn in reversed(conversation.turns)}
    observations = conversation.observations
    notes: list[dict[str, object]] = [{"text": one.text, "at": started[one.session]} for one in observations]
    answering = {q: [i for i, one in enumerate(observations) if set(one.dia_ids) & set(q.evidence)] for q in own}
    answered = [question for question in own if answering[question]]
    yield "notes", notes, [_own(here, q, True) for q in answered] + chance.sample(others, STRANGERS)
    for _ in range(SMALL_MEMORIES):
        question = chance.choice(answered)
        picked = {chance.choice(answering[question])}
        picked.update(chance.sample(range(len(notes)), chance.choice(FEW) - 1))
        unanswered = [q for q in own if picked.isdisjoint(answering[q])]
        asked = [_own(here, question, True), *(_own(here, q, False) for q in chance.sample(unanswered, 2))]
        yield "few", [notes[i] for i in sorted(picked)], [*asked, chance.choice(others)]


def _own(here: str, question: Question, known: bool) -> Asked:
    return Asked(question.text, here, known)


def without(names: set[str], text: str) -> str:
    """The text without these names, nor the 's after them."""
    return re.sub(rf"\b(?:{'|'.join(sorted(names))})\b(?:['’]s)?", "", text)


# -- fitting -------------------------------------------------------------------------------------------------


def show(rows: Sequence[Row]) -> None:
    """Print how well confidence tells known from unknown, and the coefficients."""
    known = np.array([row.known for row in rows])
    kinds = np.array([row.kind for row in rows])
    named = np.array([row.named for row in rows])
    weights = alike(rows)
    said = left_out(rows, weights)
    table = []
    for kind in KINDS:
        for names in (True, False):
            mine = (kinds == kind) & (named == names)
            low = said < LOW_CONFIDENCE
            table.append(
                [
                    kind,
                    "with" if names else "without",
                    int(known[mine].sum()),
                    int((~known[mine]).sum()),
                    f"{auroc(said[mine], known[mine]):.3f}",
                    100 * float(low[mine & known].mean()),
                    100 * float(low[mine & ~known].mean()),
                ]
            )
    header = ["memory", "names", "known", "unknown", "AUROC", "known called low %", "unknown called low %"]
    report.print_table(f"Known from unknown; low is below {LOW_CONFIDENCE}", header, table)
    bins = []
    for low_end in np.arange(0, 1, 0.2):
        mine = (said >= low_end) & (said < low_end + 0.2)
        if mine.any():
            by_kind = [_mean(known, weights, mine & (kinds == kind)) for kind in KINDS]
            bins.append(
                [
                    f"{low_end:.1f}-{low_end + 0.2:.1f}",
                    int(mine.sum()),
                    _mean(said, weights, mine),
                    _mean(known, weights, mine),
                    *by_kind,
                ]
            )
    report.print_table("Reliability in percent", ["said", "questions", "mean said", "were known", *KINDS], bins)
    coefficients = fit(design(rows), known, weights)
    print("coefficients", " ".join(f"{value:.2f}" for value in coefficients))


def figures(rows: Sequence[Row]) -> dict[str, object]:
    """AUROC of what is said of each conversation with coefficients that were fitted without it.

    `auroc` is of whole conversations, asked their own questions and those of the others, as they are; beside it that of
    each kind of memory, with the names of the speakers in the question and without.
    """
    said = left_out(rows, alike(rows))
    known = np.array([row.known for row in rows])
    kinds: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        for names in (True, False):
            mine = np.array([row.kind == kind and row.named == names for row in rows])
            value = round(auroc(said[mine], known[mine]), 4)
            kinds.setdefault(kind, {})["with names" if names else "without names"] = value
    return {"auroc": kinds["talk"]["with names"], "by_memory": kinds}


def alike(rows: Sequence[Row]) -> NDArray[np.float64]:
    """Weights with which every kind of memory counts alike, and in it known as much as unknown."""
    groups = [(row.kind, row.named, row.known) for row in rows]
    counts = {group: groups.count(group) for group in set(groups)}
    return np.array([1000 / counts[group] for group in groups])


def design(rows: Sequence[Row]) -> NDArray[np.float64]:
    table = np.array([variables(row.signs) for row in rows])
    return table if table[:, -1].any() else table[:, :-1]


def left_out(rows: Sequence[Row], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The confidence of each row, fitted without its conversation."""
    known = np.array([row.known for row in rows])
    memory = np.array([row.memory for row in rows])
    source = np.array([row.source for row in rows])
    table = design(rows)
    said = np.zeros(len(rows))
    for held_out in set(memory.tolist()):
        train = (memory != held_out) & (source != held_out)
        said[memory == held_out] = logistic(table[memory == held_out] @ fit(table[train], known[train], weights[train]))
    return said


def fit(table: NDArray[np.float64], known: NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logistic regression by Newton's method; the first column, which is constant, is not held back by the ridge."""
    ridge = RIDGE * np.eye(table.shape[1])
    ridge[0, 0] = 0.0
    coefficients = np.zeros(table.shape[1])
    for _ in range(50):
        said = logistic(table @ coefficients)
        gradient = table.T @ (weights * (known - said)) - ridge @ coefficients
        curvature = (table * (weights * said * (1 - said))[:, None]).T @ table + ridge
        step = np.linalg.solve(curvature, gradient)
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-8:
            break
    return coefficients


def logistic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-values))


def auroc(said: NDArray[np.float64], known: NDArray[np.bool_]) -> float:
    """The chance that a known question is said to be likelier than an unknown one; equal ones count half."""
    _, place, counts = np.unique(said, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    ones = int(known.sum())
    return float((ranks[known].sum() - ones * (ones + 1) / 2) / (ones * (len(known) - ones)))


def _mean(values: NDArray[np.float64], weights: NDArray[np.float64], rows: NDArray[np.bool_]) -> float | None:
    return 100 * float(np.average(values[rows], weights=weights[rows])) if rows.any() else None


if __name__ == "__main__":
    sys.exit(main())
