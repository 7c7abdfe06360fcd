"""What the guide says of the tools: a row for each, with its parameters as they are.

`python -m tests.server.guide NAME...` prints rows to paste: of operations whose names begin so.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from memhop.server.operation import Operation
from memhop.server.operations import OPERATIONS
from memhop.server.operations.hemisphere import HEMISPHERE
from memhop.server.parameters import Choice, Fields, Flag, Kind, Listed, Number, Whole

EVERY: Mapping[str, Operation] = {**OPERATIONS, **HEMISPHERE}


def parameter_cell(operation: Operation) -> str:
    """All parameters of an operation: name, * if it is needed, bounds or choices, = its default."""
    known = operation.parameters
    return ", ".join(
        f"`{name}`{'*' if name in known.needed else ''}{_bounds(kind)}{_default(known.defaults.get(name))}"
        for name, kind in known.kinds.items()
    )


def scope_cell(operation: Operation) -> str:
    """What a token must allow."""
    return operation.scope


def _bounds(kind: Kind) -> str:
    match kind:
        case Whole() | Number():
            return f" {kind.low:,}..{kind.high:,}"
        case Choice():
            return f" {' / '.join(kind.choices)}"
        case Listed():
            inner = f" of{_bounds(kind.of)}" if isinstance(kind.of, Choice | Fields) else ""
            return f" [{kind.low}..{kind.high}{inner}]"
        case Fields():
            return f" {{{', '.join(name + ('*' if name in kind.needed else '') for name in kind.of)}}}"
        case Flag():
            return " true / false"
    return ""


def _default(value: object) -> str:
    if isinstance(value, bool):
        return f" = {str(value).lower()}"
    return f" = {value}" if isinstance(value, str | int | float) and value != "" else ""


def rows(text: str) -> dict[str, list[str]]:
    """The rows of the tables of tools: name -> cells."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        name = cells[0].strip("` ")
        if line.startswith("| `") and len(cells) == 4 and name in EVERY:
            assert name not in found, f"{name} is there twice"
            found[name] = cells
    return found


if __name__ == "__main__":
    for name, one in EVERY.items():
        if name.startswith(tuple(sys.argv[1:])):
            print(f"| `{name}` | {parameter_cell(one) or '–'} | {one.title} | {scope_cell(one)} |")
