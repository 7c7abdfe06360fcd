"""The commands that take something away: `forget` and `purge`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import DEFAULT_FILE, DEFAULT_WAIT_S, FileOption, JsonOption, WaitOption, YesOption, parse_time
from memhop.cli.call import confirmed, whole_id
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.memory import open_memory
from memhop.cli.output import Output
from memhop.common.errors import InvalidRequest
from memhop.common.sizes import file_size

if TYPE_CHECKING:
    from memhop.api.results import Receipt


def forget(
    id: Annotated[str, typer.Argument(help="Of a note, or its first 6 digits or more; with --hard also of a message.")],
    hard: Annotated[bool, typer.Option("--hard", help="Erase it for good, with all that was made of it.")] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="With --hard: compact, search the raw bytes, print a receipt.")
    ] = False,
    also: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="With --prove: search this file or folder too; may be given often."),
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Move a note to the trash, or erase a note or message. Exit code 1: something of it was still found."""
    with reporting(as_json=as_json) as out:
        with out.progress("forgetting"), open_memory(out, file, wait=wait, purpose="memhop forget") as db:
            meant = whole_id(db, id, *(("note", "message") if hard else ("note",)))
            done = db.forget(meant, hard=hard, prove=prove, also=also or ())
        if as_json:
            out.json(done.to_dict())
        else:
            out.say(("forgotten" if done.changed else "unchanged", "green"), f" {done.id}: {done.reason}")
            if done.receipt:
                _show(out, done.receipt)
        if done.receipt and not done.receipt.complete:
            raise typer.Exit(FAILED)


def purge(
    id: Annotated[
        str | None,
        typer.Argument(help="Only this note (6 digits of its id do); default: all of the trash."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With ID: also when it is not in the trash.")] = False,
    before: Annotated[str | None, typer.Option(metavar="ISO", help="Only what was trashed before this time.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only this project.")] = None,
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Erase notes in the trash for good: all of them, or one."""
    with reporting(as_json=as_json) as out:
        if id is None and force:
            raise InvalidRequest("nothing is named", field="--force", allowed="with an ID")
        if id is not None and (before is not None or project is not None):
            raise InvalidRequest("one note is named", field="ID", allowed="either ID, or --before and --project")
        moment = parse_time(before, field="--before")
        confirmed(f"Erase {'what is in the trash' if id is None else 'this note'} for good?", yes)
        if id is not None:
            with out.progress("purging"), open_memory(out, file, wait=wait, purpose="memhop purge") as db:
                gone = db.notes.purge(whole_id(db, id, "note"), force=force)
            if as_json:
                out.json(gone.to_dict())
            else:
                out.say(("purged", "green"), f" {gone.id}: {gone.reason}")
            return
        with out.progress("purging"), open_memory(out, file, wait=wait, purpose="memhop purge") as db:
            done = db.purge(trashed_before=moment, project=project)
        if as_json:
            out.json(done.to_dict())
            return
        out.say(("purged", "green"), f" {done.count:,} notes: {done.reason}")
        if done.damaged:
            out.notice(
                f"{done.damaged:,} notes in the trash are damaged and stay; erase them with: memhop forget --hard"
            )


def _show(out: Output, receipt: Receipt) -> None:
    before, after = file_size(receipt.bytes_before), file_size(receipt.bytes_after)
    out.say(f"compacted {before} -> {after}, commit {receipt.commit:,}, head digest {receipt.head_digest}")
    out.table(("reached", "count"), [(what, f"{count:,}") for what, count in receipt.reached], right=(1,))
    rows = [(f"{found:,}", file_size(size), path) for path, size, found in receipt.searched]
    out.table(("found", "size", "searched"), rows, right=(0, 1))
    out.table(("not reached",), [(text,) for text in receipt.not_reached])
