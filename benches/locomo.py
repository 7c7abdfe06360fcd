"""LoCoMo: which share of the turns that answer a question does recall find?

    python -m benches.locomo DATA [--embedder none|hash|local|minilm|onnx:FOLDER] [--fusion zscore|rrf] [--json FILE]

Every conversation becomes a memory file of its own, filled with `archive.append_many`; every question whose evidence
is known is asked through `DB.recall`, as an agent would. Printed are evidence recall@k, all-evidence@10, nDCG@10 and
session hit@5 with a question bootstrap interval, by category, on the original evidence and on the audited one, beside
baselines that see the same turns in the same run. This is retrieval recall: whether an answer would be right is not
measured. Questions and ingest are timed in CPU time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memhop
from benches import baselines, report
from benches.locomo_data import Conversation, Dataset, Question, load
from benches.metrics import (
    all_evidence_at_k,
    bootstrap_interval,
    check_k,
    mean,
    ndcg_at_k,
    recall_at_k,
    session_hit_at_k,
)
from memhop.cli.arguments import embedder_called

if TYPE_CHECKING:
    from memhop.models.embed import Embedder

SEED = 20260101
CUTS = (1, 5, 10, 20, 50)
DEPTH = max(CUTS)
Ranker = Callable[[Conversation], Callable[[str], list[str]]]


@dataclass
class Measured:
    """One system's answers: per question the ranked turn ids, and what it cost."""

    name: str
    ranked: list[list[str]] = field(default_factory=list)
    query_ms: list[float] = field(default_factory=list)
    ingest_s: float = 0.0
    embed_s: float = 0.0
    file_bytes: int = 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.locomo", description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="locomo json")
    parser.add_argument("--embedder", default="none", help="as `memhop recall --embedder`")
    parser.add_argument("--fusion", choices=["zscore", "rrf", "both"], default="both")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)

    dataset = load(options.data)
    environment = report.environment(seed=SEED, data_sha256=dataset.sha256)
    report.print_environment(environment)
    check_k(DEPTH, min(len(conversation.turns) for conversation in dataset.conversations))
    check_k(5, min(conversation.session_count for conversation in dataset.conversations))

    embedder = embedder_called(options.embedder)
    fusions = ["zscore", "rrf"] if options.fusion == "both" else [options.fusion]
    systems = [measure_memhop(dataset, embedder, fusion) for fusion in fusions]
    if not options.no_baselines:
        systems += measure_baselines(dataset, embedder)
    figures = {system.name: figures_of(system, dataset) for system in systems}
    _print(figures, systems)
    if options.json:
        report.write_json(options.json, environment, {"embedder": options.embedder, "systems": figures})
    return 0


def measure_memhop(dataset: Dataset, embedder: Embedder | None, fusion: str = "zscore") -> Measured:
    """Ingest and ask everything through the public API."""
    label = "" if embedder is None else f" + {embedder.name}"
    measured = Measured(f"memhop{label} ({fusion})")
    with tempfile.TemporaryDirectory() as folder:
        for conversation in dataset.conversations:
            path = Path(folder) / f"{conversation.sample_id}.meh"
            with memhop.DB.open(path, embedder=embedder) as db:
                start = time.process_time()
                db.archive.append_many(messages_of(conversation))
                db.checkpoint()
                measured.ingest_s += time.process_time() - start
                if embedder is not None:
                    filled = db.backfill()
                    if filled.remaining:
                        raise RuntimeError(f"{filled.remaining} turns were not embedded: {filled.reason}")
                    measured.embed_s += filled.seconds
                db.recall("warm up", limit=1)
                for question in conversation.questions:
                    start = time.process_time()
                    found = db.recall(
                        question.text, limit=DEPTH, token_budget=0, at=conversation.turns[-1].at_ms, fusion=fusion
                    )
                    measured.query_ms.append(1000 * (time.process_time() - start))
                    measured.ranked.append([hit.external_id or "" for hit in found.hits])
            measured.file_bytes += path.stat().st_size
    return measured


def messages_of(conversation: Conversation) -> list[dict[str, Any]]:
    """The turns as `archive.append_many` takes them."""
    return [
        {
            "text": turn.text,
            "role": "user" if turn.speaker == conversation.speakers[0] else "agent",
            "speaker": turn.speaker,
            "at": turn.at_ms,
            "session": f"session {turn.session}",
            "external_id": turn.dia_id,
        }
        for turn in conversation.turns
    ]


def measure_baselines(dataset: Dataset, embedder: Embedder | None) -> list[Measured]:
    """The same turns and questions through other searches."""
    systems: list[Any] = [baselines.Grep(), baselines.Fts5(), baselines.Bm25s()]
    if embedder is not None:
        alone = embedder

        def embed(texts: Sequence[str], query: bool) -> Any:
            return alone.embed(texts, query=query)

        systems.append(baselines.EmbedderAlone(embed, f"{embedder.name} alone"))
    found = []
    for system in systems:
        measured = Measured(system.name)
        for conversation in dataset.conversations:
            start = time.process_time()
            system.rank(conversation.turns, "warm up", DEPTH)
            measured.ingest_s += time.process_time() - start
            for question in conversation.questions:
                start = time.process_time()
                measured.ranked.append(system.rank(conversation.turns, question.text, DEPTH))
                measured.query_ms.append(1000 * (time.process_time() - start))
        found.append(measured)
    return found


def figures_of(system: Measured, dataset: Dataset) -> dict[str, Any]:
    """All figures of one system, recall in percent."""
    questions = [question for conversation in dataset.conversations for question in conversation.questions]
    turns = sum(len(conversation.turns) for conversation in dataset.conversations)
    spent = sorted(system.query_ms)
    categories = sorted({question.category for question in questions})
    return {
        "original": scores(system.ranked, questions, lambda question: question.evidence),
        "corrected": scores(system.ranked, questions, lambda question: question.audited),
        "by_category": {
            category: scores(system.ranked, questions, lambda question: question.evidence, category)
            for category in categories
        },
        "query_ms_p50": round(spent[len(spent) // 2], 3),
        "query_ms_p95": round(spent[int(len(spent) * 0.95)], 3),
        "ingest_turns_per_s": round(turns / system.ingest_s) if system.ingest_s else None,
        "embed_turns_per_s": round(turns / system.embed_s) if system.embed_s else None,
        "file_bytes": system.file_bytes or None,
    }


def scores(
    ranked: Sequence[Sequence[str]],
    questions: Sequence[Question],
    evidence_of: Callable[[Question], tuple[str, ...]],
    category: str | None = None,
) -> dict[str, Any]:
    """Means over questions in percent, with a 95 % bootstrap interval for recall@10."""
    chosen = [
        (list(found), evidence_of(question))
        for found, question in zip(ranked, questions, strict=True)
        if (category is None or question.category == category) and evidence_of(question)
    ]
    at_10 = [recall_at_k(found, evidence, 10) for found, evidence in chosen]
    low, high = bootstrap_interval(at_10, seed=SEED)
    result: dict[str, Any] = {"questions": len(chosen)}
    for k in CUTS:
        result[f"recall@{k}"] = 100 * mean([recall_at_k(found, evidence, k) for found, evidence in chosen])
    result["all@10"] = 100 * mean([all_evidence_at_k(found, evidence, 10) for found, evidence in chosen])
    result["ndcg@10"] = 100 * mean([ndcg_at_k(found, evidence, 10) for found, evidence in chosen])
    result["session_hit@5"] = 100 * mean([session_hit_at_k(found, evidence, 5) for found, evidence in chosen])
    result["recall@10_interval"] = [100 * low, 100 * high]
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in result.items()}


COLUMNS = ("recall@1", "recall@5", "recall@10", "recall@20", "recall@50", "all@10", "ndcg@10", "session_hit@5")


def _print(figures: Mapping[str, dict[str, Any]], systems: Sequence[Measured]) -> None:
    for evidence in ("original", "corrected"):
        rows = []
        for name, figure in figures.items():
            found = figure[evidence]
            low, high = found["recall@10_interval"]
            rows.append([name, *(found[column] for column in COLUMNS), f"{low:.1f}-{high:.1f}"])
        header = ["system", *COLUMNS, "recall@10 95 %"]
        report.print_table(f"Evidence recall in percent, {evidence} evidence", header, rows)
    best = systems[0].name
    rows = [
        [category, found["questions"], *(found[column] for column in COLUMNS)]
        for category, found in figures[best]["by_category"].items()
    ]
    report.print_table(f"{best}, by category", ["category", "questions", *COLUMNS], rows)
    costs = ("query_ms_p50", "query_ms_p95", "ingest_turns_per_s", "embed_turns_per_s", "file_bytes")
    rows = [[name, *(figure[cost] for cost in costs)] for name, figure in figures.items()]
    report.print_table("Cost", ["system", *costs], rows)


if __name__ == "__main__":
    sys.exit(main())
