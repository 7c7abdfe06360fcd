"""`memhop export`, `memhop import` and `memhop imports list | show | undo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_PAGE,
    DEFAULT_WAIT_S,
    CursorOption,
    DryRunOption,
    FileOption,
    JsonOption,
    LimitOption,
    ProjectOption,
    WaitOption,
    typed,
)
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.groups import group_of
from memhop.cli.memory import open_memory
from memhop.cli.output import Output, when
from memhop.common.errors import InvalidRequest
from memhop.common.sizes import file_size

if TYPE_CHECKING:
    from typing import BinaryIO

    from memhop.api import results

_STREAM = Path("-")
_SHOWN = 20  # problems, ids of one kind, records that stayed


def build_group() -> typer.Typer:
    """`memhop imports`."""
    return group_of(
        "What imports wrote, and taking one back.",
        {"list": list_imports, "show": show, "undo": undo},
    )


def export(
    path: Annotated[Path, typer.Argument(metavar="[PATH|-]", help="A new file; -: standard output.")] = _STREAM,
    project: ProjectOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier export.")] = False,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Write all layers as JSON lines. Equal digest, equal memories."""
    with reporting(as_json=as_json) as out:
        if as_json and path == _STREAM:
            raise InvalidRequest("the export itself goes to standard output", field="--json", allowed="with a PATH")
        target = cast("BinaryIO", sys.stdout.buffer) if path == _STREAM else path
        with (
            open_memory(out, file, purpose="memhop export", mode="read") as db,
            out.measured("exporting") as progress,
        ):
            chosen = None if project is None else typed(project)
            done = db.export(target, overwrite=overwrite, project=chosen, progress=progress)
        if as_json:
            out.json(done.to_dict())
        elif path != _STREAM:
            out.say(("exported", "green"), f" {done.records:,} records to {done.path} ({file_size(done.bytes)})")
            out.say(f"digest {done.digest}")
        if done.damaged:
            out.warn(f"{done.damaged:,} damaged records were left out; run: memhop verify")
            raise typer.Exit(FAILED)


def import_(
    path: Annotated[Path, typer.Argument(help="An export, or a file or folder of another format.")],
    format: Annotated[str | None, typer.Option("--format", metavar="NAME", help="Default: by what is in it.")] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="Put notes and messages into this one.")
    ] = None,
    on_conflict: Annotated[
        str, typer.Option("--on-conflict", metavar="HOW", help="newer, overwrite or skip what is there already.")
    ] = "newer",
    dry_run: DryRunOption = False,
    rejects: Annotated[
        Path | None, typer.Option("--rejects", metavar="NEW", help="For what is rejected; default: PATH.rejects.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Take in an export, or what another program exported; the file is created if there is none.

    Exit code 1: some of it was rejected, the rest is stored.
    """
    from memhop.api.importing import format_of

    with reporting(as_json=as_json) as out:
        format_of(path, format)  # before a file is created for it
        with (
            open_memory(out, file, wait=wait, purpose="memhop import", create=not dry_run) as db,
            out.measured("importing") as progress,
        ):
            done = db.import_(
                path,
                format=format,
                project=None if project is None else typed(project),
                on_conflict=on_conflict,
                dry_run=dry_run,
                rejects=rejects,
                progress=progress,
            )
        if as_json:
            out.json(done.to_dict())
        else:
            _show_report(out, done)
        if done.rejected:
            raise typer.Exit(FAILED)


def _show_report(out: Output, done: results.ImportReport) -> None:
    counts = ", ".join(
        f"{count:,} {name}"
        for name in ("created", "updated", "unchanged", "skipped", "rejected")
        if (count := getattr(done, name)) or name == "created"
    )
    verb = "would import" if done.dry_run else "imported"
    out.say((verb, "green"), f": {done.read:,} read ({done.format}), {counts}")
    for remark, count in done.remarks.items():
        out.say(f"  {count:,}: {remark}")
    for problem in done.problems[:_SHOWN]:
        out.say((f"  {problem.place}", "red"), f": {problem.reason}")
    if done.rejected > _SHOWN:
        out.say(f"  ... and {done.rejected - _SHOWN:,} more")
    if done.rejects_path:
        out.say(f"rejected: {done.rejects_path}")
    if done.number is not None:
        out.say(f"take it back with: memhop imports undo {done.number}")


def list_imports(
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """List imports, the newest first. Exit code 1: there are none."""
    with reporting(as_json=as_json) as out:
        with open_memory(out, file, purpose="memhop imports", mode="read") as db:
            page = db.imports.list(limit=limit, cursor=cursor)
        if as_json:
            out.json(page.to_dict())
        elif page.items:
            rows = [
                (str(e.number), when(e.at), e.state, f"{e.created:,}", f"{e.updated:,}", e.format, e.source)
                for e in page.items
            ]
            out.table(("no", "begun", "state", "created", "updated", "format", "source"), rows, right=(0, 3, 4))
            if page.next:
                out.notice(f"more: --cursor {page.next}")
        else:
            out.notice("no imports")
        if not page.items:
            raise typer.Exit(FAILED)


def show(
    number: Annotated[int, typer.Argument(help="Of the import.")],
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Show what an import wrote, as far as it is still there."""
    with reporting(as_json=as_json) as out:
        with open_memory(out, file, purpose="memhop imports", mode="read") as db:
            found = db.imports.show(number)
        if as_json:
            out.json(found.to_dict())
            return
        entry = found.entry
        out.say(f"import {entry.number} of {when(entry.at)}: {entry.format}, {entry.source}, {entry.state}")
        out.say(
            f"{entry.created:,} created, {entry.updated:,} updated, {entry.unchanged:,} unchanged, "
            f"{entry.skipped:,} skipped, {entry.rejected:,} rejected"
        )
        out.say(f"since then {found.changed:,} were changed and {found.gone:,} are gone")
        for verb, kinds in (("created", found.created), ("updated", found.updated)):
            for kind, ids in kinds.items():
                more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
                out.say(f"{verb} {kind}: {' '.join(ids[:_SHOWN])}{more}")


def undo(
    number: Annotated[int, typer.Argument(help="Of the import.")],
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Take an import back: what it created goes, what it updated is as it was. What was changed since stays."""
    with reporting(as_json=as_json) as out:
        with (
            open_memory(out, file, wait=wait, purpose="memhop imports undo") as db,
            out.progress("undoing"),
        ):
            done = db.imports.undo(number)
        if as_json:
            out.json(done.to_dict())
            return
        out.say(("undone", "green"), f": removed {done.removed:,}, put back {done.reverted:,}")
        for stayed in done.stayed[:_SHOWN]:
            out.say(f"  stays: {stayed.kind or 'record'} {stayed.id}: {stayed.reason}")
        if done.stayed_in_all > _SHOWN:
            out.say(f"  ... and {done.stayed_in_all - _SHOWN:,} more")
