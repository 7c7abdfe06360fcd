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
Start = Annotated[int, Whole("Of a long text: the first character; `next_start` of the part before.", 0, 5_000_000)]
Chars = Annotated[int, Whole("Of a long text: most characters to show.", 1, 100_000)]


def asked(project: str | None) -> str | None:
    """The project that was asked for; None: all."""
    return None if project == ALL else project


def in_part(text: str, start: int, chars: int) -> tuple[str, dict[str, Any]]:
    """A part of a long text, so small that the frame cuts nothing of it, and what a reply says about it.

    Returns:
        The part; and the `length` of it all with `next_start`, None at the end.
    """
    part = part_of(text, start, chars, chars + 2)
    return part.text, {"length": len(text), "next_start": part.next}
