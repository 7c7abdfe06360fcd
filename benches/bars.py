"""What was promised, beside what was measured: `python -m benches.bars [FOLDER]`.

Reads the figures in benches/results/, or in FOLDER, as `make bench` and `make bench-full` write them, and prints a line
for each bar: what must be, what was seen, whether it holds. Exit code 1 if one does not, or was not measured.

Times are medians of CPU time, and a ratio is of two figures of one run, in which the calls took turns. Where several
peers could be meant, the fastest of them is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from benches import report

HELD: Final = "held"  # the half of each pack that no weight was tuned on
RESULTS: Final = report.REPOSITORY / "benches" / "results"
Results = Mapping[str, Mapping[str, Any]]
"""Name of a file, without suffix -> its `results`."""


class Place(NamedTuple):
    """A number in a file of results: the file's name, then the keys, in which `*` stands for anything."""

    file: str
    keys: tuple[str, ...]

    def numbers(self, results: Results) -> list[float]:
        """What stands there, none if nothing does."""
        found: list[Any] = [results[self.file]] if self.file in results else []
        for key in self.keys:
            found = [value for inner in found if isinstance(inner, Mapping) for value in _under(inner, key)]
        return [float(value) for value in found if isinstance(value, int | float) and not isinstance(value, bool)]


class Figure(NamedTuple):
    """The number at a place; over or minus the number at another one, where one is given."""

    of: Place
    over: Place | None = None
    minus: Place | None = None

    def value(self, results: Results) -> float | None:
        """None: not measured. Of several numbers the strictest counts: the least divisor, the greatest subtrahend."""
        found = self.of.numbers(results)
        others = [place.numbers(results) for place in (self.over, self.minus) if place is not None]
        if not found or not all(others):
            return None
        number = found[0]
        if self.over is not None:
            number /= min(self.over.numbers(results))
        if self.minus is not None:
            number -= max(self.minus.numbers(results))
        return number


class Bar(NamedTuple):
    """`figure` must be at most, or at least, `bound`. One that is not `judged` only stands beside the bar above it."""

    what: str
    at_most: bool
    bound: float
    figure: Figure
    judged: bool = True

    def holds(self, value: float | None) -> bool:
        """Whether a measured value does. What was not measured does not."""
        return value is not None and (value <= self.bound if self.at_most else value >= self.bound)


def _at(file: str, *keys: str) -> Place:
    return Place(file, keys)


def _locomo(model: str, figure: str, group: str = "original") -> Figure:
    system = "memhop (zscore)" if model == "none" else "memhop + * (zscore)"
    keys = ("original",) if group == "original" else ("by_category", group)
    return Figure(_at(f"locomo-{model}", "systems", system, *keys, figure))


def _pack(model: str, pack: str, figure: str) -> Place:
    system = "memhop" if model == "none" else "memhop + *"
    return _at(f"notes-{model}", pack, system, HELD, "all", figure)


def _over_porter(model: str) -> Figure:
    porter = _at(f"notes-{model}", "notes", "SQLite FTS5 porter, OR", HELD, "all", "recall@5")
    return Figure(_pack(model, "notes", "recall@5"), minus=porter)


def _speed(operation: str, size: int, figure: str = "cpu_p50", file: str = "speed") -> Place:
    return _at(file, "operations", operation, str(size), figure)


def _words(engine: str) -> Place:
    return _at("peers", "words", "100000", engine, "cpu_p50")


def _write(engine: str, calls: str, figure: str = "cpu_p50") -> Place:
    return _at("peers", "writes", engine, calls, figure)


def _vectors(engine: str, figure: str) -> Place:
    return _at("peers", "vectors", "100000 x 384", "engines", engine, figure)


BARS: Final = (
    *(Bar(f"LoCoMo {at}, no model", False, bound, _locomo("none", at)) for at, bound in
      (("recall@5", 72), ("recall@10", 81), ("recall@20", 87))),
    *(Bar(f"LoCoMo {at}, static model", False, bound, _locomo("local", at)) for at, bound in
      (("recall@5", 75), ("recall@10", 84), ("recall@20", 89))),
    *(Bar(f"LoCoMo {at}, MiniLM", False, bound, _locomo("minilm", at)) for at, bound in
      (("recall@5", 77), ("recall@10", 87), ("recall@20", 92))),
    Bar("LoCoMo multi-hop, all evidence@10, MiniLM", False, 34, _locomo("minilm", "all@10", "multi-hop")),
    Bar("LoCoMo observations, recall@5, no model, over tuned BM25", False, 3, Figure(
        _at("notes-none", "observations", "memhop", "all", "recall@5"),
        minus=_at("notes-none", "observations", "bm25s, tuned", "all", "recall@5"))),
    Bar("look-alikes, held half: the asked one first", False, 85, Figure(_pack("none", "lookalikes", "first"))),
    Bar("present values, held half: the newest first", False, 85, Figure(_pack("none", "present", "before"))),
    Bar("the same: the older ones in the first ten", False, 100, Figure(_pack("none", "present", "older@10"))),
    *(Bar(f"notes, held half, recall@5 over FTS5 porter, {name}", False, bound, _over_porter(model))
      for model, name, bound in (("none", "no model", 13), ("local", "static model", 20), ("minilm", "MiniLM", 30))),
    Bar("confidence: AUROC of answerable questions", False, 0.85, Figure(_at("confidence", "auroc"))),
    *(Bar(f"a dream, LoCoMo recall@10, {way}: after / before", False, 1, Figure(
        _at("dream", way, "after", "all", "recall@10"), over=_at("dream", way, "before", "all", "recall@10")))
      for way in ("appended", "agent loop")),
    *(Bar(f"association, LoCoMo multi-hop recall@20, {way}: with / without", False, 1, Figure(
        _at("dream", way, "after", "multi-hop", "recall@20"),
        over=_at("dream", way, "without", "multi-hop", "recall@20")))
      for way in ("appended", "agent loop")),
    *(Bar(f"look-alikes after a dream, held half, {way}: {what}", False, 100, Figure(
        _at("dream-packs-none", "lookalikes", way, HELD, "after", figure)))
      for way in ("turns", "notes") for figure, what in (("apart", "none merged"), ("both@10", "both found"))),
    *(Bar(f"contradictions after a dream, {half} half, {way}: {what}", False, bound, Figure(
        _at("dream-packs-none", "contradictions", way, half, "after", figure)))
      for way in ("turns", "notes") for half in (HELD, "dev")
      for figure, what, bound in (("before", "newest first", 95), ("older@10", "the older one found", 100))),
    *(Bar(f"{call} while a dream waits for a slow model / idle, p95", True, 2, Figure(
        _at("dreaming", f"ratio {call} p95 ms"))) for call in ("remember", "recall")),
    Bar("a dream over 100k messages, the second / the first", True, 0.02, Figure(
        _at("dream", "of_100000", "unchanged"), over=_at("dream", "of_100000", "first"))),
    Bar("the same, peak MiB", True, 1_500, Figure(_at("dream", "of_100000", "peak MiB"))),
    Bar("open at 1M / at 1k", True, 1.5, Figure(
        _speed("open", 1_000_000, file="speed-full"), over=_speed("open", 1_000, file="speed-full"))),
    Bar("durable remember / FTS5 insert, 10k texts", True, 1.5, Figure(
        _write("MemHop", "one"), over=_write("SQLite FTS5 *", "one"))),
    Bar("    wall time", True, 1.5, Figure(
        _write("MemHop", "one", "wall_p50"), over=_write("SQLite FTS5 *", "one", "wall_p50")), judged=False),
    Bar("batch of 100, a note / FTS5", True, 2, Figure(
        _write("MemHop", "batch, per text"), over=_write("SQLite FTS5 *", "batch, per text"))),
    Bar("whole recall, 100k notes / tantivy", True, 3, Figure(_words("MemHop, whole recall"), over=_words("tantivy"))),
    Bar("    tantivy with its own stop list", True, 3, Figure(
        _words("MemHop, whole recall"), over=_words("tantivy, stop list")), judged=False),
    Bar("whole recall, 100k notes / FTS5 OR", True, 0.2, Figure(
        _words("MemHop, whole recall"), over=_words("SQLite FTS5 *"))),
    Bar("20 nearest of 100k x 384 vectors / faiss flat", True, 0.35, Figure(
        _vectors("MemHop", "cpu_p50"), over=_vectors("faiss flat", "cpu_p50"))),
    Bar("the same: recall@20", False, 0.98, Figure(_vectors("MemHop", "recall@20"))),
    Bar("whole recall at 1M, p95, CPU ms", True, 60, Figure(_speed("recall", 1_000_000, "cpu_p95", "speed-full"))),
    Bar("a misspelt word, 100k words, CPU us", True, 1_500, Figure(_at("fuzzy", "100000", "query_us", "signatures"))),
    Bar("growth exponent of recall, 10k to 1M", True, 0.75, Figure(_at("speed-full", "growth_from_10k", "recall"))),
    Bar("file / raw text, 100k notes, as written", True, 2.5, Figure(
        _at("speed", "file_bytes_per_raw_byte", "as written", "100000"))),
    Bar("    after compact", True, 2.5, Figure(
        _at("speed", "file_bytes_per_raw_byte", "after compact", "100000")), judged=False),
    Bar("RSS after open at 1M, MiB", True, 150, Figure(
        _at("speed-full", "memory", "after open", "1000000", "rss_mib"))),
    Bar("recall with a 1 % filter / without, 100k", True, 1, Figure(
        _speed("recall, 1 % filter", 100_000), over=_speed("recall", 100_000))),
    Bar("the same with vectors", True, 1, Figure(
        _speed("recall with vectors, 1 % filter", 100_000), over=_speed("recall with vectors", 100_000))),
    Bar("remember at 1M / at 10k", True, 1.2, Figure(
        _speed("remember, durable", 1_000_000, file="speed-full"),
        over=_speed("remember, durable", 10_000, file="speed-full"))),
    Bar("a brief of 10 projects, 50k notes, CPU ms", True, 20, Figure(
        _at("briefs", "sizes", "50000", "brief", "cpu_p50"))),
    Bar("    a count by GROUP BY in SQLite", True, 20, Figure(
        _at("briefs", "sizes", "50000", "SQLite GROUP BY", "cpu_p50")), judged=False),
    Bar("a brief at 50k / at 1k", True, 3, Figure(
        _at("briefs", "sizes", "50000", "brief", "cpu_p50"), over=_at("briefs", "sizes", "1000", "brief", "cpu_p50"))),
    Bar("a page of all notes, 50k in 10 projects, CPU ms", True, 5, Figure(
        _at("lifecycle", "calls", "list", "cpu_p50"))),
    Bar("    of one project", True, 5, Figure(_at("lifecycle", "calls", "list, one project", "cpu_p50"))),
    Bar("    its twenty-first page", True, 5, Figure(
        _at("lifecycle", "calls", "list, page 21", "cpu_p50")), judged=False),
    Bar("remember at 50k / at 1k notes", True, 1.3, Figure(
        _at("lifecycle", "calls", "remember, many", "cpu_p50"),
        over=_at("lifecycle", "calls", "remember, few", "cpu_p50"))),
    Bar("notes stored a second, each synced", False, 500, Figure(_at("lifecycle", "rates", "remember, full"))),
    Bar("    SQLite FTS5, synchronous=FULL", False, 500, Figure(
        _at("lifecycle", "rates", "SQLite FULL")), judged=False),
    Bar("notes stored a second, synced by a timer", False, 5_000, Figure(
        _at("lifecycle", "rates", "remember, relaxed"))),
    Bar("    SQLite FTS5, synchronous=NORMAL", False, 5_000, Figure(
        _at("lifecycle", "rates", "SQLite NORMAL")), judged=False),
    Bar("notes stored a second, in synced batches of 100", False, 5_000, Figure(
        _at("lifecycle", "rates", "remember, full, batches"))),
    Bar("memhop mcp: start to initialize, 100k notes, ms", True, 1_000, Figure(
        _at("mcp-start", "servers", "memhop mcp", "initialize_ms"))),
    Bar("    over an empty server", True, 1.5, Figure(_at("mcp-start", "ratios", "initialize_ms"))),
    *(Bar(f"memhop serve, 10k notes, 8 connections: {call} / s", False, 200, Figure(_at("http", "load", call, "per_s")))
      for call in ("recall, REST", "recall, MCP 2026-07-28", "remember, REST", "remember, MCP 2026-07-28")),
    *(Bar(f"    {call}, p99 ms", True, 250, Figure(_at("http", "load", call, "p99_ms")))
      for call in ("recall, REST", "recall, MCP 2026-07-28", "remember, REST", "remember, MCP 2026-07-28")),
    *(Bar(f"    {call} per s, with a handshake", False, 200, Figure(
        _at("http", "load", f"{call}, MCP 2025-11-25", "per_s")), judged=False) for call in ("recall", "remember")),
    Bar("1,000 tenants, 50 open at a time, peak MB", True, 1_000, Figure(_at("http", "tenants", "peak_rss_mb"))),
    Bar("p95 beside a damaged tenant / beside a sound one", True, 1.25, Figure(
        _at("http", "damaged", "beside a damaged one", "p95_ms"),
        over=_at("http", "damaged", "beside a sound one", "p95_ms"))),
    Bar("longest batch of 100 while upkeep goes on, 1M, wall ms", True, 50, Figure(
        _at("speed-full", "pauses", "ms", "batch_wall_longest"))),
    Bar("longest recall while upkeep goes on, 1M, wall ms", True, 50, Figure(
        _at("speed-full", "pauses", "ms", "recall_wall_longest"))),
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.bars", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=RESULTS)
    options = parser.parse_args(argv)
    seen = values(load(options.folder), BARS)
    rows = [
        [
            bar.what,
            f"{'<=' if bar.at_most else '>='} {bar.bound:g}",
            "-" if value is None else f"{value:.3g}",
            _said(bar, value),
        ]
        for bar, value in zip(BARS, seen, strict=True)
    ]
    report.print_table("Bars", ["", "must", "seen", ""], rows)
    return int(not all(bar.holds(value) for bar, value in zip(BARS, seen, strict=True) if bar.judged))


def load(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The results of every file in the folder, by its name."""
    return {path.stem: json.loads(path.read_text("utf-8"))["results"] for path in sorted(folder.glob("*.json"))}


def values(results: Results, bars: Sequence[Bar]) -> list[float | None]:
    """What was seen of each bar; None where it was not measured."""
    return [bar.figure.value(results) for bar in bars]


def _said(bar: Bar, value: float | None) -> str:
    if value is None:
        return "not measured"
    if not bar.judged:
        return "beside"
    return "holds" if bar.holds(value) else "DOES NOT HOLD"


def _under(inner: Mapping[str, Any], key: str) -> list[Any]:
    return [value for name, value in inner.items() if fnmatchcase(name, key)]


if __name__ == "__main__":
    sys.exit(main())
