"""What is to be in files of other programs, or no longer: shown, asked about, done, told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memhop.cli.call import confirmed
from memhop.cli.edited_file import Edited, edit, preview
from memhop.cli.output import Output
from memhop.clients.piece import Piece, brought, removed

Pieces = Callable[[str], Sequence[tuple[Piece, Any]]]  # what is to be in a text, which may depend on what is there


class Plan(NamedTuple):
    """A file, and what is to be in it, or no longer. `copied`: whether a copy of what was there before is kept."""

    path: Path
    pieces: Pieces
    taking: bool = False
    copied: bool = True

    def change(self, text: str | None, before: str | None) -> str | None:
        """The text it makes; see `edited_file.Change`."""
        pieces = self.pieces(text or "")
        if self.taking:
            return removed(text, before, [piece for piece, _ in pieces])
        return brought(text, pieces)

    def copies(self, text: str) -> bool:
        """Whether a text is what there was before anything of ours, and is to be kept in the place of an older copy."""
        return "memhop" not in text


def carry_out(
    out: Output, client: str, plans: Sequence[Plan], *, dry_run: bool, yes: bool, done: str, about: str
) -> None:
    """Show the changes, ask, make them, and tell what was done.

    Args:
        done: What is said of a file that was changed, such as "written". about: What is to be done besides.

    Raises:
        InvalidRequest, StorageError: as `edited_file.edit`; and where nobody can be asked.
    """
    shown = [preview(plan.path, plan.change) for plan in plans]
    changes = [(plan, one) for plan, one in zip(plans, shown, strict=True) if one.changed]
    for _, one in changes:
        if not out.as_json:
            out.raw(one.diff())
    if changes and not dry_run:
        confirmed(f"Change {' and '.join(str(plan.path) for plan, _ in changes)}?", yes)
        made = {
            plan.path: edit(plan.path, plan.change, copies=plan.copies if plan.copied and not plan.taking else None)
            for plan, _ in changes
        }
        shown = [made.get(one.path, one) for one in shown]
    if out.as_json:
        out.json({"client": client, "files": [_told(one) for one in shown], "dry_run": dry_run, "about": about})
        return
    for one in shown:
        if not one.changed:
            out.say(f"nothing to change in {one.path}")
        elif not dry_run:
            out.say((done, "bold"), f" {one.path}" + (f"; before: {one.copy.name}" if one.copy else ""))
    if about and changes and not dry_run:
        out.notice(about)


def _told(one: Edited) -> dict[str, Any]:
    return {
        "file": str(one.path),
        "changed": one.changed,
        "diff": one.diff(),
        "copy": str(one.copy) if one.copy else None,
    }
