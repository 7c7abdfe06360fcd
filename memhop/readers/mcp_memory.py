"""The knowledge graph file of the MCP memory server: `memory.jsonl`, or `memory.json` with the same lines.

An entity becomes a node whose text is its observations, a line each; a relation becomes an edge. Entities are named by
their names, the file has no ids and no times. What `read_graph` returns, one object with both lists, is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memhop.readers.item import EdgeItem, Item, NodeItem, Rejected
from memhop.readers.looks import looks_like, parts, require
from memhop.readers.pieces import lines, members, opened, parsed
from memhop.readers.shape import Shape, shapes
from memhop.readers.source import peek
from memhop.readers.values import Bad, name, rows, source_id, table, text, words

NAME: Final = "mcp_memory"
EXPECTED: Final = "a memory.jsonl with entities and relations"
GRAPH: Final = "memory"
_FILES: Final = re.compile(r"memory\.jsonl?")
_ENTITY: Final = {"name", "entityType", "observations"}
_RELATION: Final = {"from", "to", "relationType"}


def matches(path: Path, head: bytes) -> bool:
    """Whether a line is an entity or a relation, or the whole lists such."""
    return looks_like(path, head, _FILES, _fits)


def _fits(shape: Shape) -> bool:
    return _single(shape) or _listed(shape)


def _single(shape: Shape) -> bool:
    return any({"type", *keys} <= shape.get(1, set()) for keys in (_ENTITY, _RELATION))


def _listed(shape: Shape) -> bool:
    return {"entities", "relations"} & shape.get(1, set()) != set() and any(
        keys <= shape.get(3, set()) for keys in (_ENTITY, _RELATION)
    )


def read(path: Path) -> Iterator[Item]:
    """Nodes and edges in the order of the file; an edge may come before its nodes. Errors: as `Reader.read`."""
    require(path, matches, EXPECTED)
    return _items(path)


def _items(path: Path) -> Iterator[Item]:
    for member in parts(path, _FILES):
        whole = any(map(_listed, list(shapes(peek(member)))[:1]))
        for found in parsed(opened(member, members if whole else lines)):
            if isinstance(found, Rejected):
                yield found
                continue
            if whole and found.key not in ("entities", "relations"):
                continue
            try:
                yield _item(table(found.value, "the line"))
            except Bad as error:
                yield found.rejected(str(error))


def _item(line: dict[str, Any]) -> Item:
    kind = line.get("type") or ("entity" if "entityType" in line else "relation")
    if kind == "entity":
        called = words(line.get("name"), "name")
        seen = [text(entry, "an observation") for entry in rows(line.get("observations"), "observations")]
        return NodeItem(
            source_id(called, "name"),
            name(called, "name"),
            "\n".join(filter(None, seen)),
            name(line.get("entityType"), "entityType", "entity"),
            GRAPH,
        )
    if kind == "relation":
        return EdgeItem(
            name(line.get("relationType"), "relationType", "related"),
            source_id(line.get("from"), "from"),
            source_id(line.get("to"), "to"),
            GRAPH,
        )
    raise Bad(f"type {str(kind)[:40]!r} is neither entity nor relation")
