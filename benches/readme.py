"""Put the committed figures into the README, so that no figure there was typed by hand.

    python -m benches.readme           rewrites the part of README.md between the figure marks
    python -m benches.readme --check   says whether it is up to date (exit code 1: it is not)

Reads benches/results/*.json, as `make bench` writes them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benches.readme_servers import servers

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benches" / "results"
README = ROOT / "README.md"
BEGIN, END = "<!-- figures:begin -->", "<!-- figures:end -->"
OURS_WRITING, OURS_ASKING = "MemHop", "MemHop, whole recall"
MODELS = {"none": "no model", "local": "static model", "minilm": "MiniLM"}
"""What the benches call an embedder, and the README. What was not measured is left out."""
PORTER = "SQLite FTS5 porter, OR"
PACKS = (
    ("notes: recall@5", "notes", "recall@5"),
    ("look-alikes: the asked one before the others", "lookalikes", "first"),
    ("present values: the newest before the older ones", "present", "before"),
    ("of these, all older ones in the first ten", "present", "older@10"),
    ("other languages, code, paths, typing errors: recall@5", "multilingual", "recall@5"),
)
"""Title, pack, figure of `benches.notes` and `benches.multilingual`."""
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
    locomo = {model: _load(f"locomo-{model}") for model in MODELS if _there(f"locomo-{model}")}
    opening, fuzzy = _load("opening"), _load("fuzzy")
    speed, peers = _fullest("speed"), _fullest("peers")
    sharing, crashes = _load("sharing")["results"], _load("crashes")["results"]
    environment = locomo["none"]["environment"]
    tasks = opening["results"]["tasks"]
    systems: dict[str, Any] = {}
    for measured in locomo.values():
        systems = measured["results"]["systems"] | systems
    systems = dict(sorted(systems.items(), key=lambda pair: -pair[1]["original"]["recall@10"]))  # JSON sorts by name
    ours = {model: _ours(measured["results"]["systems"]) for model, measured in locomo.items()}
    parts = [
        f"Measured on {environment['cpu']}, {environment['cores']} cores, Python {environment['python'].split()[-1]}, "
        f"commit `{environment['commit'][:12]}`.",
        f"**LoCoMo, development half** (five conversations, {ours['none']['original']['questions']} questions, all "
        "five categories): evidence recall in percent, that is the share of the turns holding the answer that are "
        "among the first k. It is retrieval recall: whether an answer would be right is not measured.",
        _recall_table(systems),
        "The same on audited evidence, recall@5 / @10 / @20: "
        + "; ".join(f"{_short(found['corrected'])} with {MODELS[model]}" for model, found in ours.items())
        + ". 95 % interval of recall@10 over questions: "
        + "; ".join(map(_interval, ours.values()))
        + ".",
        "By category, recall@5 / @10 / @20:",
        _category_table({MODELS[model]: found["by_category"] for model, found in ours.items()}),
        "**Own packs** (`benches/packs`: English and Chinese notes with questions, and conversations in other "
        "languages), percent, on the half that weights were tuned on / on the half held back:",
        _pack_table(),
        _observations(),
        "**Dreams** without a model: evidence recall@5 / @10 / @20 on LoCoMo before and after one, multi-hop alone, "
        "and without the part that association has in ranking:",
        _dream_table(_load("dream")["results"]),
        _dream_cost(_load("dream")["results"], _load("dreaming")["results"]),
        "Two packs of what a dream must keep apart, turns of a conversation, after one, percent, dev / held back:",
        _dream_packs(),
        _relations(),
        "**Confidence**: how well a recall without a model tells a question that its memory answers from one it does "
        "not, by AUROC, of conversations that were left out of the fit:",
        _confidence_table(_load("confidence")["results"]["by_memory"]),
        "**A new process** that imports MemHop and opens a checkpointed file (median wall time, ratio to importing the "
        "lock library alone):",
        _table(
            ["", "ms", "ratio"],
            [
                [name, f"{found['wall_ms']:.1f}", f"{found['ratio_to_portalocker']:.2f}"]
                for name, found in sorted(tasks.items(), key=lambda pair: float(pair[1]["wall_ms"]))
            ],
        ),
        f"**From a thousand notes on**, CPU milliseconds, median (commit `{_commit(speed)}`). Texts have "
        f"{speed['results']['raw_bytes_per_note']:.0f} bytes on average; the last column is the exponent with which "
        "cost grows with the number of notes; [time](benches/results/latency.png) and "
        "[memory](benches/results/memory.png) as pictures.",
        _speed_table(speed["results"]),
        f"**Beside other engines**, in one run, calls in turns, CPU milliseconds, median (commit `{_commit(peers)}`). "
        f"A durable write into {peers['results']['stored']:,} texts:",
        _beside(peers["results"]["writes"], ("one", "batch, per text"), OURS_WRITING),
        "A question in 4 to 10 words, the 20 best. Ours is the whole recall, with fusion, records and context; theirs "
        "the query alone:",
        _beside(_turned(peers["results"]["words"]), list(peers["results"]["words"]), OURS_ASKING),
        f"The 20 nearest vectors ({_about(peers['results']['vectors'])}):",
        _vector_table(peers["results"]["vectors"]),
        f"**Crash sweep**: {crashes['pairs']:,} pairs of boundary and fault ({crashes['boundaries']:,} writes, fsyncs, "
        "truncates, renames, removals and allocations in lives of public calls and of one file, each struck by every "
        f"fault that means something there), {crashes['second_crashes']:,} second crashes during recovery: "
        f"{crashes['violations']} violations. `make test` runs a part of it, `python -m benches.crashes` all.",
        _lifecycle(_load("lifecycle")["results"], _load("briefs")["results"]["sizes"]),
        servers(_load("mcp-start")["results"], _load("http")["results"], _table),
        "**Sharing a file**, an fsync per call, SQLite (WAL, synchronous=FULL) beside it in the same run:",
        _sharing_table(sharing),
        "**Fuzzy lookup of a word**, microseconds of CPU per query, by vocabulary size:",
        _fuzzy_table(fuzzy["results"]),
    ]
    return "\n\n".join(parts)


def _commit(loaded: Mapping[str, Any]) -> str:
    commit: str = loaded["environment"]["commit"]
    return commit[:12]


def _fullest(name: str) -> dict[str, Any]:
    """The figures of `make bench-full` where they are there, else those of `make bench`."""
    return _load(f"{name}-full" if _there(f"{name}-full") else name)


def _there(name: str) -> bool:
    return (RESULTS / f"{name}.json").exists()


def _ours(systems: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `recall` does of itself."""
    found: Mapping[str, Any] = next(
        found for name, found in systems.items() if name.startswith("memhop") and "(zscore)" in name
    )
    return found


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
    return _table(["system", *RECALL, "CPU ms per query p50 / p95"], rows)


def _category_table(by_model: Mapping[str, Mapping[str, Any]]) -> str:
    categories = next(iter(by_model.values()))
    rows = [
        [name, str(found["questions"]), *(_short(of[name]) for of in by_model.values())]
        for name, found in categories.items()
    ]
    return _table(["category", "questions", *by_model], rows)


def _pack_table() -> str:
    """Of every pack the gate, by model, and what FTS5 finds in it."""
    columns: dict[str, list[str]] = {}
    for model, title in MODELS.items():
        if not (_there(f"notes-{model}") and _there(f"multilingual-{model}")):
            continue
        packs = _load(f"notes-{model}")["results"]
        packs = packs | {"multilingual": _load(f"multilingual-{model}")["results"]["systems"]}
        for system, column in (("memhop", title), (PORTER, PORTER)):
            columns[column] = [
                " / ".join(f"{_of(packs[pack], system)[split]['all'][figure]:.1f}" for split in ("dev", "held"))
                for _, pack, figure in PACKS
            ]
    columns[PORTER] = columns.pop(PORTER)
    rows = [[title, *(column[row] for column in columns.values())] for row, (title, _, _) in enumerate(PACKS)]
    return _table(["", *columns], rows)


def _dream_table(results: Mapping[str, Any]) -> str:
    rows = []
    for way in ("appended", "agent loop"):
        for moment, title in (("before", "before"), ("without", "after, without association"), ("after", "after")):
            found = results[way][moment]
            rows.append([f"{way}, {title}", _short(found["all"]), _short(found["multi-hop"])])
    return _table(["filled, asked", "all", "multi-hop"], rows)


def _dream_cost(results: Mapping[str, Any], beside: Mapping[str, Any]) -> str:
    """Of the largest memory that was dreamed over."""
    most = max((name for name in results if name.startswith("of_")), key=lambda name: int(name[3:]))
    found = results[most]
    remember, recall = (beside[f"ratio {call} p95 ms"] for call in ("remember", "recall"))
    return (
        f"A dream over {found['messages']:,} messages takes {found['first']:.0f} s of CPU, one over unchanged data "
        f"{found['unchanged']:.2f} s, one after 1 % more {found['1 % more']:.1f} s; peak memory "
        f"{found['peak MiB']:,} MiB. While a dream waits for a model that takes two seconds for each reply, p95 of "
        f"`remember` is {remember:.2f} times, and of `recall` {recall:.2f} times what it is when nothing else goes on."
    )


def _dream_packs() -> str:
    rows = []
    for title, pack, figure in (
        ("look-alikes: none merged", "lookalikes", "apart"),
        ("both in the first ten", "lookalikes", "both@10"),
        ("contradictions: the newest before the older one", "contradictions", "before"),
        ("the older one in the first ten", "contradictions", "older@10"),
    ):
        cells = []
        for model in ("none", "local"):
            found = _load(f"dream-packs-{model}")["results"][pack]["turns"]
            cells.append(f"{found['dev']['after'][figure]} / {found['held']['after'][figure]}")
        rows.append([title, *cells])
    return _table(["", MODELS["none"], MODELS["local"]], rows)


def _lifecycle(results: Mapping[str, Any], briefs: Mapping[str, Any]) -> str:
    """Notes with a life, in a table."""
    calls, rates = results["calls"], results["rates"]
    most = max(briefs, key=int)
    rows = [
        [
            "a page of 50, all projects / one / the twenty-first page",
            *_three(calls, "list", "list, one project", "list, page 21"),
        ],
        [
            "a brief of ten projects / their list / counting alone in SQLite",
            *_three(briefs[most], "brief", "projects.list", "SQLite GROUP BY"),
        ],
        [
            f"`remember` at {results['few']:,} / at {results['notes']:,} / `notes.update`",
            *_three(calls, "remember, few", "remember, many", "update"),
        ],
    ]
    stored = [
        [title, *(f"{rates[name + more]:,}" for name in (ours, theirs) for more in ("", ", batches"))]
        for title, ours, theirs in (
            ("each call synced", "remember, full", "SQLite FULL"),
            ("synced by a timer", "remember, relaxed", "SQLite NORMAL"),
        )
    ]
    return (
        f"**Notes with a life**, {results['notes']:,} in ten projects, CPU milliseconds, median:\n\n"
        + _table(["", "first", "second", "third"], rows)
        + "\n\nNotes stored a second, wall time, alone and in batches of 100. SQLite (FTS5, WAL) stores and indexes "
        "the words, and looks for nothing that is there already:\n\n"
        + _table(["", "one", "batches", "SQLite, one", "SQLite, batches"], stored)
    )


def _three(calls: Mapping[str, Any], *names: str) -> list[str]:
    return [f"{calls[name]['cpu_p50']:.2f}" for name in names]


def _relations() -> str:
    """Statements that share no word with their question, in a sentence."""
    turns = _load("relations-none")["results"]["relations"]["turns"]
    held = [turns[f"held {known}"] for known in ("yes", "no")]
    count = sum(found["n"] for found in held)
    before, first, found_at_all = (
        sum(found[name] * found["n"] for found in held) / count for name in ("before", "first", "either@10")
    )
    return (
        f"What somebody tells of themselves in words that its question has not (`benches/packs/relations.json`, "
        f"{count} pairs of turns held back, no model): the newer one before the older {before:.0f} %, in first place "
        f"{first:.0f} %, one of the two in the first ten {found_at_all:.0f} %. The pack and the table of words that "
        "serves it have one author, so expect less."
    )


def _observations() -> str:
    """LoCoMo's observations as notes, in a sentence."""
    found = {MODELS[model]: _load(f"notes-{model}")["results"] for model in MODELS if _there(f"notes-{model}")}
    peers = next(iter(found.values()))["observations"]
    said = {title: _of(results["observations"], "memhop") for title, results in found.items()}
    said |= {name: peers[name] for name in ("bm25s, tuned", PORTER)}
    figures = "; ".join(f"{name} {of['all']['recall@5']:.1f}" for name, of in said.items())
    return f"The observations of LoCoMo's development half as isolated notes, recall@5: {figures}."


def _of(systems: Mapping[str, Any], name: str) -> Any:
    """The system of this name, ours with whatever model."""
    return next(found for full, found in systems.items() if full == name or full.startswith(f"{name} + "))


def _confidence_table(by_memory: Mapping[str, Mapping[str, float]]) -> str:
    titles = {
        "talk": "a conversation, asked questions of others",
        "half": "half of a conversation, asked about the other half",
        "notes": "isolated notes, asked questions of others",
        "few": "one to ten notes",
    }
    names = ("with names", "without names")
    rows = [[titles[kind], *(f"{by_memory[kind][name]:.2f}" for name in names)] for kind in titles if kind in by_memory]
    return _table(["memory", *(f"{name} in the question" for name in names)], rows)


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


def _speed_table(results: Mapping[str, Any]) -> str:
    sizes = [str(size) for size in results["sizes"]]
    rows = [
        [name, *(_cpu(by_size.get(size)) for size in sizes), _exponent(results["growth"].get(name))]
        for name, by_size in results["operations"].items()
        if "0" not in by_size
    ]
    for moment, by_size in results["memory"].items():
        rows.append([f"*memory {moment}, MiB*", *(f"{by_size[size]['rss_mib']:.0f}" for size in sizes), ""])
    for state, by_size in results["file_bytes_per_raw_byte"].items():
        rows.append([f"*file / text, {state}*", *(f"{by_size[size]:.2f}" for size in sizes), ""])
    return _table(["", *(f"{int(size):,}" for size in sizes), "growth"], rows)


def _beside(engines: Mapping[str, Any], columns: Sequence[str], ours: str) -> str:
    """Milliseconds of every engine, and how many times as long ours takes."""
    rows = [
        [
            f"**{name}**" if name == ours else name,
            *(
                cell
                for column in columns
                for cell in (_cpu(facts.get(column, facts)), _times(engines[ours].get(column), facts.get(column)))
            ),
        ]
        for name, facts in sorted(engines.items(), key=lambda pair: _median(pair[1].get(columns[-1], pair[1])))
    ]
    return _table(["", *(cell for column in columns for cell in (_titled(column), "ours / it"))], rows)


def _turned(by_size: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """size -> engine -> figures, the other way round."""
    names = dict.fromkeys(name for engines in by_size.values() for name in engines)
    return {name: {size: found[name] for size, found in by_size.items() if name in found} for name in names}


def _vector_table(by_size: Mapping[str, Any]) -> str:
    size = _most(by_size)
    engines = by_size[size]["engines"]
    rows = [
        [
            f"**{name}**" if name == OURS_WRITING else name,
            _cpu(facts),
            _times(engines[OURS_WRITING], facts),
            "" if "recall@20" not in facts else f"{facts['recall@20']:.3f}",
        ]
        for name, facts in sorted(engines.items(), key=lambda pair: _median(pair[1]))
    ]
    return _table(["", f"{size} vectors", "ours / it", "recall@20"], rows)


def _most(by_size: Mapping[str, Any]) -> str:
    """The key, "rows x dimensions", with the most rows."""
    return max(by_size, key=lambda size: int(size.partition(" ")[0]))


def _about(by_size: Mapping[str, Any]) -> str:
    about: str = by_size[_most(by_size)]["about"]
    return about


def _titled(column: str) -> str:
    return f"{int(column):,} texts" if column.isdecimal() else column


def _cpu(facts: Mapping[str, Any] | None) -> str:
    if facts is None:
        return ""
    if "cpu_p50" not in facts:
        return "not installed" if "not installed" in facts else ""
    return f"{facts['cpu_p50']:,.0f}" if facts["cpu_p50"] >= 1_000 else f"{facts['cpu_p50']:.3g}"


def _median(facts: Mapping[str, Any]) -> float:
    """To sort by; what has none comes last."""
    return float(facts.get("cpu_p50", math.inf))


def _times(ours: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None) -> str:
    there = ours is not None and theirs is not None and "cpu_p50" in ours and "cpu_p50" in theirs
    return f"{ours['cpu_p50'] / theirs['cpu_p50']:.2f}" if there and ours and theirs else ""


def _exponent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


if __name__ == "__main__":
    sys.exit(main())
