"""Where a figure was measured, and how it is shown: the environment, a plain table, a JSON file.

A bench prints its environment first. A figure without machine, versions, commit, seed and data hash
cannot be repeated, and one that cannot be repeated is not worth printing.
"""

import json
import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TextIO

REPOSITORY = Path(__file__).resolve().parent.parent

PACKAGES = (
    "numpy",
    "PyStemmer",
    "jieba",
    "rapidfuzz",
    "msgspec",
    "bm25s",
    "safetensors",
    "tokenizers",
    "wordllama",
)
"""Packages whose version can move a figure. One that is not installed is reported as such."""

PEERS = (
    "tantivy",
    "apsw",
    "sqlite-vec",
    "lmdb",
    "usearch",
    "hnswlib",
    "faiss-cpu",
    "memvid-sdk",
)
"""The same, of what only `benches.peers` runs."""

Cell = str | int | float | None
"""A table cell: floats are printed with one decimal, None as a dash."""


@dataclass(frozen=True, slots=True)
class Environment:
    """All that is needed to repeat a run."""

    machine: str
    cpu: str
    cores: int
    python: str
    sqlite: str
    packages: dict[str, str]
    commit: str
    """Full hex id, "+changes" when the working tree differs; "unknown" outside a repository."""
    seed: int
    data_sha256: str


def environment(*, seed: int, data_sha256: str, packages: Sequence[str] = PACKAGES) -> Environment:
    """Describe this machine and checkout.

    Args:
        seed: What the bench seeds its random choices with.
        data_sha256: Hex digest of the data measured on, as `locomo_data.load` returns it.
        packages: Whose versions are told.

    Never raises for something that cannot be found out: the field then says "unknown" or "not
    installed".
    """
    return Environment(
        machine=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        sqlite=sqlite3.sqlite_version,
        packages={name: _version(name) for name in packages},
        commit=_commit(),
        seed=seed,
        data_sha256=data_sha256,
    )


def print_environment(env: Environment, out: TextIO | None = None) -> None:
    """Print `env`, a fact per line, to `out` (None: standard output)."""
    target = sys.stdout if out is None else out
    for name, value in asdict(env).items():
        if isinstance(value, dict):
            value = ", ".join(f"{package} {version}" for package, version in value.items())
        print(f"{name:<12} {value}", file=target)


def format_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A plain-text table: first column to the left, the others to the right; no final newline.

    Raises ValueError when a row is not as long as the header.

    >>> print(format_table("recall, %", ["system", "@5"], [["grep", 12.345], ["none", None]]))
    recall, %
    system    @5
    ------  ----
    grep    12.3
    none       -
    """
    if any(len(row) != len(header) for row in rows):
        raise ValueError(f"a row of {title!r} has another length than its header")
    cells = [list(header), *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [_line(row, widths) for row in cells]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([title, lines[0], rule, *lines[1:]])


def print_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    out: TextIO | None = None,
) -> None:
    """Print `format_table`, with an empty line before it, to `out` (None: standard output)."""
    print("\n" + format_table(title, header, rows), file=sys.stdout if out is None else out)


def write_json(path: Path | str, env: Environment, results: Mapping[str, object]) -> None:
    """Write `{"environment": ..., "results": ...}` so that two runs can be diffed.

    UTF-8, keys sorted, a final newline. The folder is made when missing. The file appears whole or
    not at all.

    Raises:
        OSError: it cannot be written.
        ValueError: a float is not finite. TypeError: a value has no JSON form.
    """
    target = Path(path)
    content = {"environment": asdict(env), "results": dict(results)}
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(target.name + ".part")
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(target)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
    padded[0] = row[0].ljust(widths[0])
    return "  ".join(padded).rstrip()


def _cpu() -> str:
    try:
        listing = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    for line in listing.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or "unknown"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    head = _git("rev-parse", "HEAD")
    if not head:
        return "unknown"
    changed = _git("status", "--porcelain", "--", ".", ":!benches/results", ":!README.md")  # what a bench writes itself
    return f"{head}+changes" if changed else head


def _git(*arguments: str) -> str:
    """What git prints for this repository, stripped; "" when there is no git or no repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(REPOSITORY), *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
