"""Chinese, Japanese, Korean, mixed scripts, code, paths and typing errors: are notes and turns found?

    python -m benches.multilingual [--split dev|held|both] [--embedder NAME] [--json FILE]

One memory with all of `benches/packs/multilingual.json`: notes, and conversations whose turns are messages. recall@k is
the share of a question's answers among the first k. Peers see the same texts in the same run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benches import pack_scores, report
from benches.baselines import Bm25sJieba, Bm25sTuned, Fts5, Fts5Trigram
from benches.finders import finders
from benches.notes import print_pack
from benches.packs import SPLITS, load
from memhop.cli.arguments import embedder_called


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.multilingual", description=__doc__.partition("\n")[0])
    parser.add_argument("--split", choices=[*SPLITS, "both"], default="dev", help="weights are tuned on dev alone")
    parser.add_argument("--embedder", default="none", help="as `memhop recall --embedder`")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)

    packs = load()
    environment = report.environment(seed=0, data_sha256=packs.sha256)
    report.print_environment(environment)
    chosen = finders(
        embedder_called(options.embedder), [Fts5(), Fts5("unicode61"), Fts5Trigram(), Bm25sTuned(), Bm25sJieba()]
    )
    splits = SPLITS if options.split == "both" else (options.split,)
    systems = {finder.name: pack_scores.multilingual(finder, packs, splits) for finder in chosen}
    for split in splits:
        print_pack(f"multilingual, {split}", "recall@5", {name: of[split] for name, of in systems.items()})
    if options.json:
        report.write_json(options.json, environment, {"embedder": options.embedder, "systems": systems})
    return 0


if __name__ == "__main__":
    sys.exit(main())
