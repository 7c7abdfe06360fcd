"""Isolated notes: are they found, is the asked one of two look-alikes first, and the present value before older ones?

    python -m benches.notes [LOCOMO] [--split dev|held|both] [--embedder NAME] [--json FILE]

Four packs of the project's own (see `benches.packs`), each in a memory of its own, and with a LoCoMo file also its
observations as notes. Look-alikes and subjects lie in one memory with all notes of the first pack. Peers see the same
texts in the same run.

    notes         recall@k: the share of a question's notes among the first k
    look-alikes   first: the asked note is found, before its look-alikes
    present       before: the newest note is found, before the older ones; first: at place 1 of everything;
                  older@10: all older ones in the first ten; past: asked about an older time, the right note is
                  before the subject's others
    present_more  the same, of subjects that are only there to tune on
    observations  recall@k: the share of a question's evidence turns that the first k observations come from, of the
                  turns that any observation comes from
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benches import pack_scores, report
from benches.baselines import Bm25sTuned, Fts5, Fts5Trigram
from benches.finders import finders
from benches.locomo_data import Dataset, load
from benches.pack_scores import Groups
from benches.packs import SPLITS, Packs
from benches.packs import load as load_packs
from memhop.cli.arguments import embedder_called

GATES = {
    "notes": "recall@5",
    "lookalikes": "first",
    "present": "before",
    "present_more": "before",
    "observations": "recall@5",
}
"""The figure of each pack that is printed by group."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.notes", description=__doc__.partition("\n")[0])
    parser.add_argument("locomo", type=Path, nargs="?", help="locomo json, for its observations")
    parser.add_argument("--split", choices=[*SPLITS, "both"], default="dev", help="weights are tuned on dev alone")
    parser.add_argument("--embedder", default="none", help="as `memhop recall --embedder`")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)

    packs = load_packs()
    dataset = load(options.locomo) if options.locomo else None
    environment = report.environment(seed=0, data_sha256=_digest(packs, dataset))
    report.print_environment(environment)
    chosen = finders(embedder_called(options.embedder), [Fts5(), Fts5("unicode61"), Fts5Trigram(), Bm25sTuned()])
    splits = SPLITS if options.split == "both" else (options.split,)
    results: dict[str, Any] = {"embedder": options.embedder}
    for measure in (pack_scores.notes, pack_scores.lookalikes, pack_scores.present, pack_scores.present_more):
        name = measure.__name__
        results[name] = systems = {finder.name: measure(finder, packs, splits) for finder in chosen}
        for split in next(iter(systems.values())):
            print_pack(f"{name}, {split}", GATES[name], {each: of[split] for each, of in systems.items()})
    if dataset is not None:
        results["observations"] = {finder.name: pack_scores.observations(finder, dataset) for finder in chosen}
        print_pack("observations", GATES["observations"], results["observations"])
    if options.json:
        report.write_json(options.json, environment, results)
    return 0


def print_pack(title: str, gate: str, systems: Mapping[str, Groups]) -> None:
    """Every figure over all questions by system, then the figure `gate` by group."""
    first = next(iter(systems.values()))
    columns = list(first["all"])
    rows: list[list[report.Cell]] = [[name, *(of["all"][column] for column in columns)] for name, of in systems.items()]
    report.print_table(f"{title}, percent", ["system", *columns], rows)
    rows = [[group, first[group]["n"], *(of[group][gate] for of in systems.values())] for group in first]
    report.print_table(f"{title}, {gate} by group, percent", ["group", "n", *systems], rows)


def _digest(packs: Packs, dataset: Dataset | None) -> str:
    if dataset is None:
        return packs.sha256
    return hashlib.sha256((packs.sha256 + dataset.sha256).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
