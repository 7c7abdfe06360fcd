"""A note in a line."""

from __future__ import annotations

import re
from typing import Final

from memhop.api import results
from memhop.common.ids import to_hex
from memhop.repo.l4_note import Note

TITLE_CHARS: Final = 120
_LOOKED_AT: Final = 4_000  # characters in which a heading is looked for
_HEADING = re.compile(r"^##\s+(\S.*)$", re.MULTILINE)


def title(note: Note) -> str:
    """The first heading of the second level, else the first line without its mark, else the kind; on one line."""
    text = note.text[:_LOOKED_AT]
    heading = _HEADING.search(text)
    lines = [heading[1]] if heading else text.splitlines()
    for line in lines:
        words = " ".join(line.lstrip("#>*- \t").split())
        if words:
            return words if len(words) <= TITLE_CHARS else words[: TITLE_CHARS - 1].rstrip() + "…"
    return note.kind


def item(note: Note) -> results.BriefItem:
    """A note as a brief lists it."""
    return results.BriefItem(to_hex(note.id), note.kind, note.status or None, title(note), note.updated_at)
