"""hinterland: its export (JSON lines, camelCase) and its SQLite file (snake_case). Everything is kept, counters too.

    id -> source id        scope -> project        source -> metadata "source"
    tags, metadata, createdAt, updatedAt, recalled, lastRecalledAt as they are

A line without an id is named by its content, so that reading it again finds it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memhop.readers import sqlite
from memhop.readers.item import Item, NoteItem, Rejected
from memhop.readers.looks import require
from memhop.readers.pieces import decode, lines, opened, parsed
from memhop.readers.shape import Shape, shapes
from memhop.readers.source import head_of, is_packed, members
from memhop.readers.values import Bad, count, hashed, name, names, raw, source_id, table, text, when, words

NAME: Final = "hinterland"
EXPECTED: Final = "a hinterland export (JSON lines with content, scope and createdAt) or its SQLite file"
_TABLE: Final = "memories"
_NEEDED: Final = frozenset({"id", "content", "scope", "created_at"})


def matches(path: Path, head: bytes) -> bool:
    """Whether a line has `content` and `createdAt` beside a scope or a counter; or a table of memories has scopes."""
    if head.startswith(sqlite.MAGIC):
        return sqlite.columns(path, _TABLE) >= _NEEDED
    return bool(head) and not is_packed(head) and any(map(_fits, shapes(head)))


def _fits(shape: Shape) -> bool:
    keys = shape.get(1, set())
    return {"content", "createdAt"} <= keys and bool({"scope", "recalled", "lastRecalledAt"} & keys)


def read(path: Path) -> Iterator[Item]:
    """Notes in the order of the source. Errors: as `Reader.read`."""
    require(path, matches, EXPECTED)
    return _rows(path) if head_of(path).startswith(sqlite.MAGIC) else _lines(path)


def _lines(path: Path) -> Iterator[Item]:
    for found in parsed(opened(members(path)[0], lines)):
        if isinstance(found, Rejected):
            yield found
            continue
        try:
            yield _note(table(found.value, "the line"))
        except Bad as error:
            yield found.rejected(str(error))


def _rows(path: Path) -> Iterator[Item]:
    for number, row in enumerate(sqlite.rows(path, _TABLE, "id"), 1):
        if isinstance(row, sqlite.Broken):
            yield Rejected(f"after row {row.after}", row.reason, b"")
            continue
        try:
            line = {_camel(key): value for key, value in row.items()}
            for key in ("tags", "metadata"):
                if isinstance(stored := line.get(key), str):
                    line[key] = decode(text(stored, key).encode()) if stored else None
            yield _note(line)
        except ValueError as error:
            yield Rejected(f"row {number}", str(error), raw({key: repr(value) for key, value in row.items()}))


def _camel(column: str) -> str:
    first, *rest = column.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _note(line: Mapping[str, Any]) -> NoteItem:
    said = words(line.get("content"), "content")
    project = name(line.get("scope"), "scope", "default")
    source = name(line.get("source"), "source")
    return NoteItem(
        source_id=hashed(project, said) if line.get("id") in (None, "") else source_id(line["id"]),
        text=said,
        project=project,
        tags=names(line.get("tags"), "tags"),
        metadata=table(line.get("metadata"), "metadata") | ({"source": source} if source else {}),
        at=when(line.get("createdAt"), "createdAt"),
        updated_at=when(line.get("updatedAt"), "updatedAt"),
        recalled=count(line.get("recalled"), "recalled"),
        last_recalled_at=when(line.get("lastRecalledAt"), "lastRecalledAt"),
    )
