"""Hemisphere's `memories.db`, or a backup copy of it: the rows of the table `memories`, nothing else.

Its text and vector indexes are not looked at, so it does not matter if they are broken. Columns that older files lack
count as empty.

    id           -> source id           related_ids -> links of type related
    project, kind, status, content      created_at, updated_at (seconds) -> times
    archived_at, deleted_at -> archived, trashed         metadata.tags -> tags

`status`, `created_at` and `updated_at` inside the metadata repeat the columns and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memhop.readers import sqlite
from memhop.readers.item import Item, NoteItem, Rejected, Skipped
from memhop.readers.looks import require
from memhop.readers.pieces import decode
from memhop.readers.values import Bad, name, names, raw, source_id, table, text, when, words

NAME: Final = "hemisphere"
EXPECTED: Final = "a Hemisphere database (SQLite with a table memories that has project, kind and content)"
_TABLE: Final = "memories"
_NEEDED: Final = frozenset({"id", "project", "kind", "content"})
_REPEATED: Final = ("status", "created_at", "updated_at", "tags")


def matches(path: Path, head: bytes) -> bool:
    """Whether it is an SQLite file with such a table."""
    return head.startswith(sqlite.MAGIC) and sqlite.columns(path, _TABLE) >= _NEEDED


def read(path: Path) -> Iterator[Item]:
    """Notes in the order of their ids. Errors: as `Reader.read`."""
    require(path, matches, EXPECTED)
    return _items(path)


def _items(path: Path) -> Iterator[Item]:
    for number, row in enumerate(sqlite.rows(path, _TABLE, "id"), 1):
        if isinstance(row, sqlite.Broken):
            yield Rejected(f"after row {row.after}", row.reason, b"")
            continue
        place = f"row {number}"
        try:
            yield _note(place, row)
        except Bad as error:
            yield Rejected(place, str(error), raw({key: _plain(value) for key, value in row.items()}))


def _note(place: str, row: sqlite.Row) -> Item:
    said = text(row["content"], "content")
    if not said.strip():
        return Skipped(place, "no text")
    try:
        metadata = table(decode((text(row.get("metadata"), "metadata") or "{}").encode()), "metadata")
    except Bad:
        raise
    except ValueError as error:
        raise Bad(f"metadata is {error}") from None
    related = [part.strip() for part in text(row.get("related_ids"), "related_ids").split(",")]
    tags = metadata.get("tags")
    kept = {key: value for key, value in metadata.items() if key not in _REPEATED}
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        kept |= {"tags": tags} if tags is not None else {}
        tags = None
    return NoteItem(
        source_id=source_id(row["id"]),
        text=words(said, "content"),
        project=name(row["project"], "project", "default"),
        kind=name(row["kind"], "kind", "note"),
        status=name(row.get("status"), "status") or name(_text_or_none(metadata.get("status")), "status"),
        tags=names(tags, "tags"),
        metadata=kept,
        at=when(row.get("created_at"), "created_at"),
        updated_at=when(row.get("updated_at"), "updated_at"),
        archived_at=when(row.get("archived_at"), "archived_at"),
        trashed_at=when(row.get("deleted_at"), "deleted_at"),
        links=tuple(("related", part) for part in dict.fromkeys(related) if part.isdecimal()),
    )


def _text_or_none(value: object) -> object:
    return value if isinstance(value, str) else None


def _plain(value: Any) -> Any:
    """A value of SQLite as JSON has it."""
    if isinstance(value, str):
        return text(value, "")
    return repr(value) if isinstance(value, bytes) else value
