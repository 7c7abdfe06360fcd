"""The commands that keep a file in order: `verify`, `repair`, `compact`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import DEFAULT_FILE, DEFAULT_WAIT_S, FileOption, JsonOption, WaitOption
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.memory import open_memory
from memhop.cli.output import Output
from memhop.common.sizes import file_size

if TYPE_CHECKING:
    from memhop.api import results


def verify(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also every reference, and every index against one built anew.")
    ] = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Check every byte of the file. Exit code 1: something is wrong; see `memhop repair`."""
    with reporting(as_json=as_json) as out:
        with out.progress("checking"), open_memory(out, file, wait=wait, purpose="memhop verify", retains=False) as db:
            report = db.verify(deep=deep)
        show_verified(out, report)


def show_verified(out: Output, report: results.Verified) -> None:
    """Print what a check found. Raises typer.Exit where something is wrong."""
    if out.as_json:
        out.json(report.to_dict())
    else:
        verdict = ("in order", "green") if report.ok else (f"{report.problem_count:,} problems", "bold red")
        out.say(verdict, f": {report.commits:,} commits, {report.records:,} live records")
        out.say(f"live {file_size(report.live_bytes)}, dead {file_size(report.dead_bytes)}")
        if report.references is not None and report.views is not None:
            views = ", ".join(f"{count:,} {name}" for name, count in report.views.items() if count) or "nothing"
            out.say(f"references {report.references:,} followed; indexes built anew and compared: {views}")
        out.say(f"head digest {report.head_digest}")
        if report.problems:
            rows = [(f"{p.offset:,}", p.what, p.kind or "?", p.id or "?") for p in report.problems]
            out.table(("byte", "what", "kind", "record"), rows, right=(0,))
    if not report.ok:
        raise typer.Exit(FAILED)


def repair(
    to: Annotated[Path, typer.Option("--to", metavar="NEW", help="The new file, which must not exist yet.")],
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Save what is readable of a damaged file into a new one. Exit code 1: something was lost."""
    from memhop import repair as save
    from memhop.cli.repair_view import show_repaired

    with reporting(as_json=as_json) as out:
        with out.progress("repairing"):
            report = save(file, to)
        if as_json:
            out.json(report.to_dict())
        else:
            show_repaired(out, report)
        if report.lost:
            raise typer.Exit(FAILED)


def compact(
    keep_history: Annotated[bool, typer.Option("--keep-history", help="Keep older versions of records.")] = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Rewrite the file without what is dead: old versions, erased records, old indexes."""
    with reporting(as_json=as_json) as out:
        with out.progress("compacting"), open_memory(out, file, wait=wait, purpose="memhop compact") as db:
            report = db.compact(keep_history=keep_history)
        if as_json:
            out.json(report.to_dict())
        else:
            before, after = file_size(report.bytes_before), file_size(report.bytes_after)
            out.say(("compacted", "green"), f": {before} -> {after}, {report.records:,} live records")
