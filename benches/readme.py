"""Put the committed figures into the README, so that no figure there was typed by hand.

    python -m benches.readme           rewrites the part of README.md between the figure marks
    python -m benches.readme --check   says whether it is up to date (exit code 1: it is not)

Reads benches/results/*.json, as `make bench` writes them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benches" / "results"
README = ROOT / "README.md"
BEGIN, END = "<!-- figures:begin -->", "<!-- figures:end -->"
RECALL = ("recall@1", "recall@5", "recall@10", "recall@20", "all@10", "ndcg@10")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.readme", description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    text = README.read_text("utf-8")
    wanted = updated(text, figures())
    if options.check:
        return int(text != wanted)
    README.write_text(wanted, "utf-8")
    return 0


def updated(text: str, block: str) -> str:
    """`text` with the part between the marks replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def figures() -> str:
    """The figures as Markdown."""
    none, local = _load("locomo-none"), _load("locomo-local")
    opening, fuzzy = _load("opening"), _load("fuzzy")
    sharing, crashes = _load("sharing")["results"], _load("crashes")["results"]
    environment = none["environment"]
    tasks = opening["results"]["tasks"]
    systems = dict(none["results"]["systems"])
    systems |= {name: found for name, found in local["results"]["systems"].items() if name not in systems}
    systems = dict(sorted(systems.items(), key=lambda pair: -pair[1]["original"]["recall@10"]))  # JSON sorts by name
    words = systems["memhop (zscore)"]
    model = next(found for name, found in systems.items() if name.startswith("memhop +") and "(zscore)" in name)
    parts = [
        f"Measured on {environment['cpu']}, {environment['cores']} cores, Python {environment['python'].split()[-1]}, "
        f"commit `{environment['commit'][:12]}`.",
        f"**LoCoMo, development half** (five conversations, {words['original']['questions']} questions, all five "
        "categories): evidence recall in percent, that is the share of the turns holding the answer that are among the "
        "first k. It is retrieval recall: whether an answer would be right is not measured.",
        _recall_table(systems),
        f"The same on audited evidence: {_short(words['corrected'])} without a model, "
        f"{_short(model['corrected'])} with the `local` embedder (recall@5 / @10 / @20). "
        f"95 % interval of recall@10 over questions: {_interval(words)} and {_interval(model)}.",
        "By category, without a model:",
        _category_table(words["by_category"]),
        "**A new process** that imports MemHop and opens a checkpointed file (median wall time, ratio to importing the "
        "lock library alone):",
        _table(
            ["", "ms", "ratio"],
            [
                [name, f"{found['wall_ms']:.1f}", f"{found['ratio_to_portalocker']:.2f}"]
                for name, found in sorted(tasks.items(), key=lambda pair: float(pair[1]["wall_ms"]))
            ],
        ),
        f"**Crash sweep**: {crashes['pairs']:,} pairs of boundary and fault ({crashes['boundaries']:,} writes, fsyncs, "
        "truncates, renames, removals and allocations in lives of public calls and of one file, each struck by every "
        f"fault that means something there), {crashes['second_crashes']:,} second crashes during recovery: "
        f"{crashes['violations']} violations. `make test` runs a part of it, `python -m benches.crashes` all.",
        "**Sharing a file**, an fsync per call, SQLite (WAL, synchronous=FULL) beside it in the same run:",
        _sharing_table(sharing),
        "**Fuzzy lookup of a word**, microseconds of CPU per query, by vocabulary size:",
        _fuzzy_table(fuzzy["results"]),
    ]
    return "\n\n".join(parts)


def _load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return loaded


def _short(found: Mapping[str, Any]) -> str:
    return " / ".join(f"{found[f'recall@{k}']:.1f}" for k in (5, 10, 20))


def _interval(found: Mapping[str, Any]) -> str:
    low, high = found["original"]["recall@10_interval"]
    return f"{low:.1f} to {high:.1f}"


def _recall_table(systems: Mapping[str, Any]) -> str:
    rows = [
        [
            f"**{name}**" if name.startswith("memhop") else name,
            *(f"{found['original'][column]:.1f}" for column in RECALL),
            f"{found['query_ms_p50']:.1f} / {found['query_ms_p95']:.1f}",
        ]
        for name, found in systems.items()
    ]
    return _table(["system", *RECALL, "ms per query p50 / p95"], rows)


def _category_table(categories: Mapping[str, Any]) -> str:
    rows = [
        [name, str(found["questions"]), *(f"{found[f'recall@{k}']:.1f}" for k in (5, 10, 20))]
        for name, found in categories.items()
    ]
    return _table(["category", "questions", "recall@5", "recall@10", "recall@20"], rows)


def _fuzzy_table(results: Mapping[str, Any]) -> str:
    sizes = sorted(results, key=int)
    names = sorted(results[sizes[0]]["query_us"], key=lambda name: float(results[sizes[-1]]["query_us"][name]))
    rows = [[name, *(f"{results[size]['query_us'][name]:,.0f}" for size in sizes)] for name in names]
    return _table(["structure", *(f"{int(size):,} terms" for size in sizes)], rows)


def _sharing_table(results: Mapping[str, Any]) -> str:
    alone, together = results["one_process"], results["three_processes"]
    return _table(
        ["", "MemHop exclusive", "MemHop shared", "SQLite"],
        [
            [
                "one write of one process, ms",
                *(f"{alone[name]:.2f}" for name in ("exclusive", "shared", "sqlite")),
            ],
            [
                f"{together['wanted']:,} writes of three processes, with recalls, seconds",
                "",
                f"{together['memhop seconds']:.1f}",
                f"{together['sqlite seconds']:.1f}",
            ],
            ["of those, found afterwards", "", f"{together['memhop notes']:,}", f"{together['sqlite rows']:,}"],
        ],
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


if __name__ == "__main__":
    sys.exit(main())
