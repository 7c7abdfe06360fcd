"""What a reader of a foreign format yields: one value per thing it met, in the order of the file.

Every thing of the source that could have been memory leaves exactly one trace: a note, a message, a node or an edge
that was understood, a `Skipped` (well formed, but not memory: thinking, tool calls, system rows), or a `Rejected`
(broken). So the numbers always add up, and an import can show what it left out.

Times are milliseconds since 1970 UTC, 0 where the source names none. `source_id` is the id in the source, as text;
where the source has none, a reader makes one that is the same in every run over the same content.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

MAX_RAW_BYTES = 64 * 1024  # of a rejected item; the rest is cut

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class NoteItem(NamedTuple):
    """A statement to be kept as a note. `links` are pairs (type, source_id of the target), the target of this source.

    `archived_at` and `trashed_at` are when it was put away, 0 if it was not; `recalled` counts recalls in the source.
    """

    source_id: str
    text: str
    project: str = "default"
    kind: str = "note"
    status: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = _NOTHING
    at: int = 0
    updated_at: int = 0
    archived_at: int = 0
    trashed_at: int = 0
    links: tuple[tuple[str, str], ...] = ()
    recalled: int = 0
    last_recalled_at: int = 0
    pinned: bool = False


class MessageItem(NamedTuple):
    """A turn of a conversation. `role` is user, agent, system or tool; `session` is the id of the conversation."""

    source_id: str
    text: str
    role: str
    speaker: str = ""
    session: str = ""
    session_title: str = ""
    at: int = 0
    project: str = "default"


class NodeItem(NamedTuple):
    """A node of a named knowledge graph. Edges name it by `source_id`, which may be its name."""

    source_id: str
    name: str
    text: str
    kind: str
    graph: str


class EdgeItem(NamedTuple):
    """A directed relation between two nodes of `graph`, named by their source ids. The nodes may come after it."""

    type: str
    from_: str
    to: str
    graph: str


class Rejected(NamedTuple):
    """A broken item: where it stands ("line 12"), what is wrong with it, and its first `MAX_RAW_BYTES` bytes."""

    place: str
    reason: str
    raw: bytes


class Skipped(NamedTuple):
    """An item with nothing wrong that is not memory, and why it is not."""

    place: str
    reason: str


Item = NoteItem | MessageItem | NodeItem | EdgeItem | Rejected | Skipped
