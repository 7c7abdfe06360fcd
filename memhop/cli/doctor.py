"""`memhop doctor`: the findings of `memhop.doctor`, one below the other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import DEFAULT_FILE, FileOption, JsonOption, check_embedder, embedder_called
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.output import Output

if TYPE_CHECKING:
    from memhop.api.results import Diagnosis

_STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "bold red"}


def doctor(
    file: FileOption = DEFAULT_FILE,
    embedder: Annotated[
        str, typer.Option(metavar="NAME", help="none, hash or local: embed a word with it, and count what waits.")
    ] = "none",
    as_json: JsonOption = False,
) -> None:
    """Examine the memory and where it lies, and say what to do. Exit code 1: something does not work."""
    from memhop import doctor as examine

    with reporting(as_json=as_json) as out:
        name = check_embedder(embedder)
        with out.progress("examining"):
            diagnosis = examine(file, embedder=lambda: embedder_called(name))
        if as_json:
            out.json(diagnosis.to_dict())
        else:
            _show(out, diagnosis)
        if not diagnosis.ok:
            raise typer.Exit(FAILED)


def _show(out: Output, diagnosis: Diagnosis) -> None:
    """One line for each finding, and one below it for what to do."""
    states = max(len(found.state) for found in diagnosis.findings)
    names = max(len(found.name) for found in diagnosis.findings)
    arrow = out.glyph("→", "->")
    for found in diagnosis.findings:
        out.say((f"{found.state:<{states}}", _STYLES[found.state]), f"  {found.name:<{names}}  {found.found}")
        if found.fix:
            out.say(f"{'':{states + names + 4}}{arrow} {found.fix}")
    count = Counter(found.state for found in diagnosis.findings)
    said = [f"{count[state]} {state}{'s' * (count[state] > 1)}" for state in ("error", "warning") if count[state]]
    out.say((", ".join(said) or "nothing is wrong", _STYLES[diagnosis.state] if said else _STYLES["ok"]))
