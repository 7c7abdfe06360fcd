"""Draw how time and memory grow with the number of notes: `python -m benches.plots [FOLDER]`.

Reads speed.json or, where it is there, speed-full.json, and the same of peers; writes latency.png and memory.png beside
them. Needs matplotlib, from the extra `peers`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benches import bars

READS: Final = ("open", "recall", "recall, 1 % filter", "recall of messages", "recall with vectors", "words alone")
WRITES: Final = ("remember, durable", "remember, not synced", "batch of 100, per note, durable")
PEERS: Final = ("SQLite FTS5 porter, OR", "tantivy", "bm25s")
_DOTS = 120


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.plots", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=bars.RESULTS)
    options = parser.parse_args(argv)
    results = bars.load(options.folder)
    speed, peers = fullest(results, "speed"), fullest(results, "peers")
    if speed is None or peers is None:
        print("no figures to draw: run make bench first", file=sys.stderr)
        return 1
    draw(speed, peers, options.folder)
    return 0


def fullest(results: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The figures up to a million where they were measured, else those of the quick run, else None."""
    found: Mapping[str, Any] | None = results.get(f"{name}-full", results.get(name))
    return found


def draw(speed: Mapping[str, Any], peers: Mapping[str, Any], folder: Path) -> None:
    """Write both pictures into the folder."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5))
    reads, writes = figure.subplots(1, 2, sharey=True)
    for operation in READS:
        _line(reads, operation, speed["operations"].get(operation, {}))
    for peer in PEERS:
        by_size = {
            size: engines[peer] for size, engines in peers["words"].items() if "cpu_p50" in engines.get(peer, {})
        }
        _line(reads, f"a question to {peer}", by_size, style=":")
    for operation in WRITES:
        _line(writes, operation, speed["operations"].get(operation, {}))
    reads.set_ylabel("CPU ms, median")
    for axes, title in ((reads, "Reading"), (writes, "Writing")):
        _finish(axes, title)
    _save(figure, folder / "latency.png")

    figure = Figure(figsize=(6.5, 5))
    axes = figure.subplots()
    for moment, by_size in speed["memory"].items():
        _line(axes, f"resident {moment}", by_size, "rss_mib")
        _line(axes, f"its own, not of the file, {moment}", by_size, "anonymous_mib", ":")
    axes.set_ylabel("MiB")
    _finish(axes, "Memory of a new process")
    _save(figure, folder / "memory.png")


def _line(axes: Any, label: str, by_size: Mapping[str, Any], figure: str = "cpu_p50", style: str = "-") -> None:
    points = sorted((int(size), found[figure]) for size, found in by_size.items())
    if points:
        axes.plot(*zip(*points, strict=True), style, marker="o", markersize=3, label=label)


def _finish(axes: Any, title: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("notes")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=_DOTS, metadata={"Software": None})


if __name__ == "__main__":
    sys.exit(main())
