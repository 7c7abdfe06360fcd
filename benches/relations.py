"""What changed in somebody's life, asked for in other words than it was told in: `relations.json`.

    python -m benches.relations [--split dev|held|both] [--embedder none|hash|local] [--json FILE]

Measured as contradictions are (`dream_packs`), before a dream. `known`: whether the relation asked about was in the
table of words from the beginning (yes), or was left out of it on purpose (no). `either@10`: one of the two turns at
least is among the first ten hits.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import memhop
from benches import report
from benches.dream_packs import DEPTH, TOP, WAYS, Figures, Pack, conversation, fill, load
from benches.metrics import mean
from benches.packs import SPLITS
from memhop.cli.arguments import embedder_called
from memhop.common.clock import ManualClock

if TYPE_CHECKING:
    from memhop.models.embed import Embedder


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.relations", description=__doc__.partition("\n")[0])
    parser.add_argument("--split", choices=[*SPLITS, "both"], default="dev", help="weights are tuned on dev alone")
    parser.add_argument("--embedder", default="none", help="as `memhop recall --embedder`")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    pack = load("relations")
    environment = report.environment(seed=0, data_sha256=pack.sha256)
    report.print_environment(environment)
    splits = SPLITS if options.split == "both" else (options.split,)
    embedder = embedder_called(options.embedder)
    measured = {way: measure(pack, way, embedder, splits) for way in WAYS}
    rows: list[list[report.Cell]] = [
        [way, *group.split(), *figures.values()]
        for way, by_group in measured.items()
        for group, figures in by_group.items()
    ]
    columns = ["way", "split", "known", "n", "before", "first", "newer@10", "older@10", "either@10"]
    report.print_table("relations, percent", columns, rows)
    if options.json:
        report.write_json(options.json, environment, {"embedder": options.embedder, "relations": measured})
    return 0


def measure(pack: Pack, way: str, embedder: Embedder | None, splits: Iterable[str]) -> dict[str, Figures]:
    """Figures by half and whether the relation was known, as "held no"."""
    with tempfile.TemporaryDirectory() as folder:
        clock = ManualClock(pack.asked_at_ms)
        with memhop.DB.open(Path(folder) / "a.meh", embedder=embedder, clock=clock, durability="none") as db:
            ids = fill(db, conversation(pack), way)
            if embedder is not None and db.backfill().remaining:
                raise RuntimeError("not everything was embedded")
            judged = {
                pair: _judge(db, pair.question, [ids[text] for text in pair.turns])
                for pair in pack.pairs
                if pair.split in splits
            }
    figures: dict[str, Figures] = {}
    for split in splits:
        for known in (True, False):
            chosen = [found for pair, found in judged.items() if (pair.split, pair.known) == (split, known)]
            shares = {name: round(100 * mean([found[name] for found in chosen]), 1) for name in chosen[0]}
            figures[f"{split} {'yes' if known else 'no'}"] = {"n": len(chosen), **shares}
    return figures


def _judge(db: memhop.DB, question: str, ids: Sequence[str]) -> dict[str, bool]:
    hits = [hit.id for hit in db.recall(question, limit=DEPTH, token_budget=0).hits]
    older, newer = (hits.index(id_) if id_ in hits else DEPTH for id_ in ids)
    return {
        "before": newer < older,
        "first": newer == 0,
        "newer@10": newer < TOP,
        "older@10": older < TOP,
        "either@10": min(newer, older) < TOP,
    }


if __name__ == "__main__":
    sys.exit(main())
