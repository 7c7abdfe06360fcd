"""`memhop backup make | list | verify | restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memhop.cli.arguments import DEFAULT_FILE, DEFAULT_WAIT_S, FileOption, JsonOption, WaitOption
from memhop.cli.exit_codes import FAILED, reporting
from memhop.cli.groups import group_of
from memhop.cli.memory import open_memory
from memhop.cli.output import when
from memhop.cli.upkeep import show_verified
from memhop.common.sizes import file_size


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Copies of a memory: make, list, verify and restore them.",
        {"make": make, "list": list_copies, "verify": verify, "restore": restore},
    )


def make(
    to: Annotated[
        Path | None, typer.Argument(help="A new file, or a folder; default: the folder <file>.backups.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier copy of this memory.")] = False,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Copy the memory, and verify the copy; others may have it open and write."""
    from memhop.api.backups import default_folder

    with reporting(as_json=as_json) as out:
        with out.progress("copying"), open_memory(out, file, purpose="memhop backup", mode="read") as db:
            made = db.backup(default_folder(db.path) if to is None else to, overwrite=overwrite)
        if as_json:
            out.json(made.to_dict())
        else:
            size = file_size(made.bytes)
            out.say(("copied", "green"), f" to {made.path} ({size}, commit {made.commit:,} of {when(made.commit_at)})")
            out.say(f"head digest {made.head_digest}")


def list_copies(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder of copies; default: the folder <file>.backups.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """List copies, the newest first. Exit code 1: there are none."""
    from memhop.api import backups

    with reporting(as_json=as_json) as out:
        found = backups.list(file if folder is None else folder)
        if as_json:
            out.json([copy.to_dict() for copy in found])
        elif found:
            rows = [(when(c.made_at), f"{c.commit:,}", file_size(c.bytes), c.path) for c in found]
            out.table(("made", "commit", "size", "path"), rows, right=(1, 2))
        else:
            out.notice("no copies")
        if not found:
            raise typer.Exit(FAILED)


def verify(
    path: Annotated[Path, typer.Argument(help="A copy, or any .meh file that nobody writes.")],
    as_json: JsonOption = False,
) -> None:
    """Check every byte of a copy, without changing anything. Exit code 1: something is wrong."""
    from memhop.api import backups

    with reporting(as_json=as_json) as out:
        with out.progress("checking"):
            report = backups.verify(path)
        show_verified(out, report)


def restore(
    path: Annotated[Path, typer.Argument(help="The copy; it stays as it is.")],
    another: Annotated[
        bool, typer.Option("--another", help="Also replace the file of another memory, or one beyond reading.")
    ] = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Put a copy in the place of the memory; what was there is kept beside it."""
    from memhop.api import backups

    with reporting(as_json=as_json) as out:
        with out.progress("restoring"):
            done = backups.restore(path, file, wait=wait, another=another)
        if as_json:
            out.json(done.to_dict())
        else:
            out.say(("restored", "green"), f" {done.path}: commit {done.commit:,} of {when(done.commit_at)}")
            if done.replaced:
                out.say(f"what was there is kept as {done.replaced}")
