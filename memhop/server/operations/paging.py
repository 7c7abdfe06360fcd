"""Parameters that many operations of the layers take: pages, dry runs, long texts in parts."""

from __future__ import annotations

from typing import Annotated, Any

from memhop.server.operations.recalling import ALL
from memhop.server.parameters import Flag, Text, Whole
from memhop.server.telling import part_of

PART = 4_500  # characters of a long text that fit a reply, with its other fields

Limit = Annotated[int, Whole("Most items of the page.", 1, 100)]
Cursor = Annotated[str | None, Text("`next` of the page before.")]
Newest = Annotated[bool, Flag("Whether the newest come first.")]
ProjectAsked = Annotated[str | None, Text('Only of this project. "*": all. Default: all.')]
DryRun = Annotated[bool, Flag("Only tell what would be done.")]
Start = Annotated[int, Whole("Of a long text: the first character to show; `next_start` of the part before.", 0, 2**31)]
Length = Annotated[int, Whole("Of a long text: most characters to show.", 100, 200_000)]


def asked(project: str | None) -> str | None:
    """The project that was asked for; None: all."""
    return None if project == ALL else project


def in_part(text: str, start: int, length: int) -> tuple[str, dict[str, Any]]:
    """A part of a long text, so small that the frame cuts nothing of it, and what a reply says about it.

    Returns:
        The part, and `characters` in all with, where there is more, `next_start`.
    """
    part = part_of(text, start, length, length + 2)
    more = {} if part.next is None else {"next_start": part.next}
    return part.text, {"characters": len(text), **more}
