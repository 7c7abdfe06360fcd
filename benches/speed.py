"""What MemHop costs from a thousand to a million notes: time, memory, bytes.

    python -m benches.speed [--sizes 1000,10000,100000] [--keep FOLDER] [--json FILE]

Fills a memory of each size once (`--keep`: into this folder, and uses what stands there), then measures every operation
on all of them in turns. Printed and kept: medians and 95th percentiles of CPU and wall time, and for each operation the
exponent with which its cost grows with the number of notes (0: it does not; 1: in proportion).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benches import reading, report, writing
from benches.corpus import SEED, filled
from benches.reading import Figures
from benches.timing import growth, rounded

QUICK = (1_000, 10_000, 100_000)
UPKEEP_NOTES = 25_000  # enough for a checkpoint that comes by itself
LARGE = 200_000  # above, what takes as long as the file is large is left out of a table that is not about it


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.speed", description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=sizes, default=QUICK, help="numbers of notes, with commas between them")
    parser.add_argument("--rounds", type=int, default=1, help="how often each question is asked")
    parser.add_argument("--upkeep", type=int, default=UPKEEP_NOTES, help="notes written while pauses are looked for")
    parser.add_argument(
        "--keep",
        type=Path,
        help="a folder for the files; what stands there is used as it is, also if an older engine wrote it",
    )
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    environment = report.environment(seed=SEED, data_sha256="generated")
    report.print_environment(environment)
    with workplace(options.keep) as folder:
        results = measure(folder, options.sizes, options.rounds, options.upkeep)
    show(results)
    if options.json:
        report.write_json(options.json, environment, results)
    return 0


def measure(folder: Path, wanted: Sequence[int], rounds: int, upkeep: int) -> dict[str, Any]:
    """All figures at these sizes. Cost: about 40 s up to 100,000 notes, besides filling."""
    notes = timed("fill with notes", lambda: {size: filled(folder, "notes", size) for size in wanted})
    messages = timed("fill with messages", lambda: {size: filled(folder, "messages", size) for size in wanted})
    largest = max((size for size in wanted if size <= LARGE), default=min(wanted))
    operations: Figures = {}
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        scratch = Path(inside)
        operations |= timed("append", lambda: writing.appending(scratch, 400))
        operations |= timed("open", lambda: reading.opening(notes, 31))
        first, memory = timed("new processes", lambda: reading.new_process(notes, 5))
        operations |= first
        operations |= timed("recall", lambda: reading.recalls(notes, "recall", rounds))
        operations |= timed("recall of messages", lambda: reading.recalls(messages, "recall of messages", rounds))
        operations |= timed("channels", lambda: reading.channels(notes, rounds))
        few = {size: file for size, file in notes.items() if size <= LARGE}
        operations |= timed("vectors", lambda: reading.with_vectors(few, scratch, rounds))
        threads = timed("threads", lambda: reading.threads(notes[largest]))
        operations |= timed("remember", lambda: writing.remembering(notes, scratch, 10))
        checkpoints = timed("checkpoint", lambda: writing.checkpoints(notes, scratch, writing.DELTAS))
        compact, bytes_per_byte = timed("compact", lambda: writing.compactions(notes, scratch))
        operations |= compact
        pauses = timed("pauses", lambda: writing.pauses(notes[max(wanted)], scratch, upkeep))
    return {
        "sizes": list(wanted),
        "raw_bytes_per_note": rounded(notes[largest].raw_bytes / largest),
        "filling_cpu_ms_per_note": {str(size): rounded(1e3 * file.cpu_seconds / size) for size, file in notes.items()},
        "operations": {name: _keyed(found) for name, found in operations.items()},
        "growth": {name: _exponent(found, 0) for name, found in operations.items() if len(found) > 1},
        "growth_from_10k": {name: _exponent(found, 10_000) for name, found in operations.items() if len(found) > 1},
        "memory": {moment: _keyed(found) for moment, found in memory.items()},
        "file_bytes_per_raw_byte": {state: _keyed(found) for state, found in bytes_per_byte.items()},
        "threads": {"size": largest, "counts": _keyed(threads)},
        "checkpoint_by_delta": checkpoints,
        "pauses": {"size": max(wanted), "ms": pauses},
    }


def show(results: Mapping[str, Any], out: Any = None) -> None:
    """Print the tables."""
    header = ["operation", *(f"{size:,}" for size in results["sizes"]), "growth"]
    for title, figure in (
        ("CPU ms, median", "cpu_p50"),
        ("CPU ms, 95th percentile", "cpu_p95"),
        ("wall ms, median", "wall_p50"),
    ):
        rows = [
            [
                name,
                *(_figure(found.get(str(size)), figure) for size in results["sizes"]),
                "" if results["growth"].get(name) is None else f"{results['growth'][name]:.2f}",
            ]
            for name, found in results["operations"].items()
            if "0" not in found
        ]
        report.print_table(title, header, rows, out)
    rows = [
        [name, f"{found['0']['cpu_p50']:.4g}", f"{found['0']['wall_p50']:.4g}"]
        for name, found in results["operations"].items()
        if "0" in found
    ]
    report.print_table("The log alone, ms per record", ["", "CPU", "wall"], rows, out)
    sizes_shown = [str(size) for size in results["sizes"]]
    rows = [
        [f"{delta} new notes", *(_figure(found.get(size), "cpu_p50") for size in sizes_shown)]
        for delta, found in results["checkpoint_by_delta"].items()
    ]
    report.print_table("A checkpoint, CPU ms", ["after", *sizes_shown], rows, out)
    rows = [
        [f"RSS {moment}, MiB", *(_figure(found.get(size), "rss_mib") for size in sizes_shown)]
        for moment, found in results["memory"].items()
    ]
    rows += [
        [f"file bytes per byte of text, {state}", *(f"{found[size]:.2f}" for size in sizes_shown)]
        for state, found in results["file_bytes_per_raw_byte"].items()
    ]
    report.print_table("Memory and file", ["", *sizes_shown], rows, out)
    threads = results["threads"]
    rows = [
        [f"{count} threads", f"{found['recalls_per_second']:.0f}", f"{found['cpu_ms_per_recall']:.3g}"]
        for count, found in threads["counts"].items()
    ]
    report.print_table(
        f"Recalls of several threads, {threads['size']:,} notes", ["", "per second", "CPU ms of one"], rows, out
    )
    rows = [[name.replace("_", " "), f"{value:.4g}"] for name, value in results["pauses"]["ms"].items()]
    report.print_table(
        f"Calls while upkeep goes on, {results['pauses']['size']:,} notes and more, ms", ["", ""], rows, out
    )


def sizes(text: str) -> tuple[int, ...]:
    """Numbers with commas between them, as argparse wants it: ValueError for anything else."""
    found = tuple(sorted({int(part) for part in text.split(",")}))
    if not found or found[0] < 1_000:
        raise ValueError("a size is at least 1000: questions are asked about the first thousand texts")
    return found


@contextmanager
def workplace(keep: Path | None) -> Iterator[Path]:
    """The folder for the files: `keep`, or one that goes away. On the disk, for /tmp may be memory."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
        yield Path(folder)


def timed(name: str, work: Callable[[], Any]) -> Any:
    """What `work` returns; how long it took goes to standard error."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"  {name:<24} {wall:7.1f} s, {cpu:6.1f} of CPU", file=sys.stderr, flush=True)
    return found


def _exponent(found: Mapping[int, Mapping[str, float]], least: int) -> float | None:
    exponent = growth({size: figures["cpu_p50"] for size, figures in found.items() if size >= least})
    return None if exponent is None else round(exponent, 2)


def _keyed(found: Mapping[int, Any]) -> dict[str, Any]:
    return {str(size): figures for size, figures in found.items()}


def _figure(found: Mapping[str, float] | None, name: str) -> str:
    return "" if found is None else f"{found[name]:.4g}"


if __name__ == "__main__":
    sys.exit(main())
