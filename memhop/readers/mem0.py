"""mem0 and OpenMemory: what `get_all` returns saved as JSON, and the export zip of OpenMemory (or one file of it).

Read are `{"results": [...]}`, a bare list or lines of memories, and of OpenMemory `memories.json` or, where a zip has
no such file, `memories.jsonl.gz`, which holds the same. A memory becomes a note; `archived` and `deleted` ones keep
that.

    memory, content              -> text       id                      -> source id
    categories                   -> tags       created_at, updated_at  -> times
    user, agent, app, run, role  -> metadata
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from memhop.readers.item import Item, NoteItem, Rejected
from memhop.readers.looks import looks_like, parts, require
from memhop.readers.pieces import Parsed, members, opened, parsed, records
from memhop.readers.shape import Shape, shapes
from memhop.readers.source import Member, peek
from memhop.readers.values import Bad, name, names, rows, source_id, table, text, when, words

NAME: Final = "mem0"
EXPECTED: Final = "saved results of mem0's get_all, or an OpenMemory export"
_FILES: Final = re.compile(r"memories\.(?:json|jsonl|jsonl\.gz)")
_ITEMS: Final = ("results", "memories")
_TABLES: Final = ("apps", "categories", "memory_categories")
_KEPT: Final = ("user_id", "agent_id", "run_id", "actor_id", "role", "app", "state")
_MEMORY: Final = ({"id", "memory"}, {"id", "content", "state"}, {"id", "content", "categories"})


def matches(path: Path, head: bytes) -> bool:
    """Whether a record is a memory with an id, or lists such."""
    return looks_like(path, head, _FILES, lambda shape: _fits(shape, 1) or _listed(shape))


def _fits(shape: Shape, depth: int) -> bool:
    keys = shape.get(depth, set())
    return any(needed <= keys for needed in _MEMORY) and bool({"created_at", "user_id", "hash"} & keys)


def _listed(shape: Shape) -> bool:
    return any(key in shape.get(1, ()) for key in _ITEMS) and _fits(shape, 3)


def read(path: Path) -> Iterator[Item]:
    """Notes in the order of the source. Errors: as `Reader.read`."""
    require(path, matches, EXPECTED)
    return _items(path)


class _Names(NamedTuple):
    """What the tables of an OpenMemory export call things, by id."""

    apps: dict[str, str]
    categories: dict[str, str]
    of_memory: dict[str, list[str]]  # categories of a memory


def _items(path: Path) -> Iterator[Item]:
    found = parts(path, _FILES)
    if len(found) > 1:
        found = [member for member in found if member.base == "memories.json"] or found[:1]
    for member in found:
        listed = any(_listed(shape) for shape in list(shapes(peek(member)))[:1])
        known = _tables(member) if listed else _Names({}, {}, {})
        for piece in parsed(opened(member, members if listed else partial(records, word="memory"))):
            if isinstance(piece, Rejected):
                yield piece
            elif not listed or piece.key in _ITEMS:
                yield _note(piece, known)


def _tables(member: Member) -> _Names:
    known = _Names({}, {}, {})
    for found in parsed(piece for piece in opened(member, members) if piece.key in _TABLES):
        if isinstance(found, Parsed) and isinstance(found.value, dict):
            row = {key: value for key, value in found.value.items() if isinstance(value, str)}
            if found.key == "memory_categories":
                known.of_memory.setdefault(row.get("memory_id", ""), []).append(row.get("category_id", ""))
            else:
                (known.apps if found.key == "apps" else known.categories)[row.get("id", "")] = row.get("name", "")
    return known


def _note(found: Parsed, known: _Names) -> Item:
    try:
        row = table(found.value, "the memory")
        id_ = source_id(row.get("id"))
        metadata = dict(table(row.get("metadata"), "metadata"))
        for key in _KEPT:
            if value := name(row.get(key), key):
                metadata.setdefault(key, value)
        if called := known.apps.get(text(row.get("app_id"), "app_id")):
            metadata.setdefault("app", called)
        state = text(row.get("state"), "state")
        at, updated = when(row.get("created_at"), "created_at"), when(row.get("updated_at"), "updated_at")
        archived, deleted = when(row.get("archived_at"), "archived_at"), when(row.get("deleted_at"), "deleted_at")
        return NoteItem(
            source_id=id_,
            text=words(row.get("memory", row.get("content")), "the memory"),
            tags=_categories(row, id_, known),
            metadata=metadata,
            at=at,
            updated_at=updated,
            archived_at=archived or ((updated or at or 1) if state == "archived" else 0),
            trashed_at=deleted or ((updated or at or 1) if state == "deleted" else 0),
        )
    except Bad as error:
        return found.rejected(str(error))


def _categories(row: Mapping[str, Any], id_: str, known: _Names) -> tuple[str, ...]:
    ids = [text(key, "a category id") for key in rows(row.get("category_ids"), "category_ids")]
    listed = [known.categories.get(key, "") for key in (*ids, *known.of_memory.get(id_, ()))]
    return names([*names(row.get("categories"), "categories"), *listed], "categories")
