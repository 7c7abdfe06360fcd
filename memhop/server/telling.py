"""How operations put stored things into replies: compact data, a line per thing in the text, stored words fenced.

The data of a listing shows the beginning of each text, and only what is there: a reader who needs all of a thing asks
for it by its id. In the text stored words stand between the lines of `common/fence.py`, as in what recall returns, and
can neither leave them nor forge a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from memhop.api import results
from memhop.common.clock import to_iso
from memhop.common.errors import MemhopError
from memhop.common.fence import CLOSE, OPEN, shown, unfencing, visible
from memhop.server.reply import size_of

PREVIEW = 160  # characters of a text in a listing
_LINE = 120  # characters of a text in a line


def present(**values: Any) -> dict[str, Any]:
    """What is there of these: without None, "", and what is empty. False and 0 stay."""
    return {name: value for name, value in values.items() if value is not None and value not in ("", (), [], {})}


def preview(text: str, most: int = PREVIEW) -> str:
    """The beginning of a text; how much was left out is said."""
    return text if len(text) <= most else f"{text[:most].rstrip()}… [{len(text) - most:,} more characters]"


def one_line(text: str, most: int = _LINE) -> str:
    """The beginning of a text on one line, fit to stand in a fenced text."""
    words = shown(text[: 4 * most])
    return words if len(words) <= most and len(text) <= 4 * most else f"{words[: most - 1].rstrip()}…"


def fenced(body: str | Iterable[str]) -> str:
    """Stored words as data. Lines that were not made by `one_line` may hold anything; nothing closes the fence."""
    lines = [body] if isinstance(body, str) else list(body)
    return "\n".join((OPEN, *(unfencing(visible(line)) for line in lines), CLOSE)) if lines else ""


def paged(
    page: results.Page, data: Callable[[Any], dict[str, Any]], line: Callable[[Any], str], *, nothing: str
) -> tuple[dict[str, Any], str]:
    """A page of a listing as data and text.

    Args:
        data, line: What becomes of an item in either.
        nothing: The text where there is no item.
    """
    found: dict[str, Any] = {"items": [data(item) for item in page.items], "next": page.next, "total": page.total}
    lines = [fenced(map(line, page.items)) or nothing]
    if page.total is not None and page.total > len(page.items):
        lines.append(f"({len(page.items):,} of {page.total:,})")
    if page.damaged:
        found["damaged"] = page.damaged
        lines.append(f"({page.damaged:,} that cannot be read were left out)")
    if page.next is not None:
        lines.append(f"(there is more: cursor {page.next!r})")
    return found, "\n".join(lines)


def note_data(note: results.Note, most: int = PREVIEW) -> dict[str, Any]:
    """A note as a listing shows it."""
    whole = note.to_dict()
    kept = present(**{name: whole[name] for name in _LISTED})
    return kept | {"text": preview(note.text, most), "pinned": note.pinned}


_LISTED = (
    "id", "text", "kind", "project", "status", "tags", "at", "updated_at", "rev", "tier", "external_id",
    "superseded_by",
)  # fmt: skip


def note_line(note: results.Note, most: int = _LINE) -> str:
    """A note in a line: id, date, what it is, how it begins. Never longer than what `note_data` makes of it."""
    return f"{note_head(note)} {one_line(note.text, min(most, _LINE))}" if most else note_head(note)


def note_head(note: results.Note) -> str:
    """What there is to know of a note but its words, in a line."""
    marks = [note.status or "", "" if note.tier == "active" else note.tier, "pinned" if note.pinned else ""]
    if note.superseded_by:
        marks.append(f"superseded by {note.superseded_by}")
    known = ", ".join(filter(None, marks))
    what = one_line(f"{note.kind} ({known})" if known else note.kind)
    return f"{note.id} {to_iso(note.at)[:10]} {what} [{one_line(note.project, 60)}]"


class Part(NamedTuple):
    """A part of a long text. `next` is where the rest begins, None at the end."""

    text: str
    start: int
    next: int | None


def part_of(text: str, start: int, most: int, room: int) -> Part:
    """At most `most` characters of a text from `start` on, and at most `room` as JSON."""
    part = text[start : start + most]
    while (size := size_of(part)) > room:
        part = part[: len(part) * room // size - 1]
    end = start + len(part)
    return Part(part, start, end if end < len(text) else None)


def changed(done: results.Changed) -> tuple[dict[str, Any], str]:
    """A change of a note."""
    did = done.reason if done.changed else f"nothing changed: {done.reason}"
    return done.to_dict(), f"{done.id} (rev {done.rev}, {done.tier}): {did}"


@contextmanager
def parameters_named(**names: str) -> Iterator[None]:
    """Errors about an argument of a call name the parameter of the operation: argument=parameter."""
    try:
        yield
    except MemhopError as error:
        error.field = names.get(error.field or "", error.field)
        raise
