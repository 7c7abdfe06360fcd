"""Every import inside memhop/ points downwards, wherever it stands: at the top, in a function, under TYPE_CHECKING."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import memhop

ROOT = Path(memhop.__file__).parent
# Folder -> what it may import: a folder, or single modules of it.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "common": frozenset(),
    "core": frozenset({"common"}),
    "index": frozenset({"common"}),
    "models": frozenset({"common"}),
    "repo": frozenset({"index", "core", "common"}),
    "readers": frozenset({"common"}),
    "search": frozenset(
        {"repo", "models", "common", "index.tokenizer", "index.late", "index.bm25", "index.units"}
    ),
    "dream": frozenset({"repo", "models", "common", "index.tokenizer"}),
    "api": frozenset(
        {
            "dream", "search", "repo", "models", "readers", "common",
            "core.meh_file", "core.past", "core.compaction", "core.recovery", "core.repair", "core.verify",
            "core.backup", "core.disk", "core.lock", "core.restore", "core.side_files", "core.snapshot",
        }
    ),
    "clients": frozenset({"common"}),
    "server": frozenset({"api", "common", "core.lock"}),
    "cli": frozenset({"server", "clients", "api", "common", ""}),
    "": frozenset({"api", "common", "models"}),  # memhop/__init__.py; "" also means the public names
}  # fmt: skip
TYPES_ONLY = {  # seen by the type checker alone
    ("api", "core.compaction"), ("api", "core.snapshot"), ("api", "core.recovery"), ("api", "core.verify"),
    ("search", "index.bm25"), ("search", "index.units"),
}  # fmt: skip
SEAMS = {("core.disk", "core.lock")}  # in a function: the seam to the operating system hands out its lock


class Import:
    """One imported module, as dotted text below memhop ("" for memhop itself)."""

    def __init__(self, target: str, line: int, *, typing_only: bool, deferred: bool) -> None:
        self.target = target
        self.line = line
        self.typing_only = typing_only
        self.deferred = deferred


MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
    for path in sorted(ROOT.rglob("*.py"))
}


def imports(path: Path) -> Iterator[Import]:
    """All imports of memhop's own modules in a file; relative ones fail the test."""
    yield from _walk(ast.parse(path.read_text("utf-8")), path, typing_only=False, deferred=False)


def _walk(node: ast.AST, path: Path, *, typing_only: bool, deferred: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        targets: list[str] = []
        line = getattr(child, "lineno", 0)
        if isinstance(child, ast.Import):
            targets = [alias.name for alias in child.names]
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"{path}:{child.lineno} is a relative import"
            module = child.module or ""
            targets = [f"{module}.{alias.name}" for alias in child.names]
        for target in targets:
            if target == "memhop" or target.startswith("memhop."):
                below = target.removeprefix("memhop").lstrip(".")
                while below not in MODULES:
                    below = below.rpartition(".")[0]
                yield Import(below, line, typing_only=typing_only, deferred=deferred)
        guarded = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        inside = deferred or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(child, path, typing_only=typing_only or guarded, deferred=inside)


def folder(module: str) -> str:
    return module.partition(".")[0]


def test_the_table_names_every_folder() -> None:
    folders = {folder(module) for module in MODULES}
    assert folders <= set(MAY_IMPORT), "a new folder needs a row in the table"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_down(module: str) -> None:
    here = folder(module)
    for found in imports(MODULES[module]):
        there = folder(found.target)
        allowed = MAY_IMPORT[here]
        ok = (there == here and here != "") or there in allowed or found.target in allowed
        assert ok, f"memhop/{module}:{found.line} imports memhop.{found.target}"
        if (here, found.target) in TYPES_ONLY:
            assert found.typing_only, f"memhop/{module}:{found.line} imports memhop.{found.target} at run time"


def test_the_table_allows_nothing_that_is_not_used() -> None:
    """An arrow that nobody draws any more is taken out of the table, or it would come back unseen."""
    used: dict[str, set[str]] = {name: set() for name in MAY_IMPORT}
    for module, path in MODULES.items():
        for found in imports(path):
            used[folder(module)] |= {folder(found.target), found.target}
    for here, allowed in MAY_IMPORT.items():
        if here and any(folder(module) == here for module in MODULES):
            unused = {target for target in allowed if target not in used[here]}
            assert not unused, f"{here} no longer imports {unused}"


def test_no_import_cycles() -> None:
    """Neither between modules at import time, nor hidden in functions; types may refer to each other."""
    graph = {
        module: {
            found.target
            for found in imports(path)
            if not found.typing_only and found.target not in ("", module) and (module, found.target) not in SEAMS
        }
        for module, path in MODULES.items()
        if module
    }
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def test_nothing_below_the_surface_reads_the_environment() -> None:
    """Only the command line sees arguments and environment variables."""
    for module, path in MODULES.items():
        if folder(module) == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            assert name not in ("os.environ", "os.getenv", "sys.argv"), f"memhop/{module}: {name}"
