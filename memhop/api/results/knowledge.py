"""Graphs, their nodes and edges, what asking them returns, and dated facts."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result


@dataclass(frozen=True, slots=True)
class Graph(Result):
    """A named body of knowledge. `source` is the path, context or URL it comes from, as `source_kind` says."""

    id: str
    name: str
    source_kind: str
    source: str | None
    created_at: int
    updated_at: int
    nodes: int
    edges: int


@dataclass(frozen=True, slots=True)
class KnowledgeNode(Result):
    """One thing known. `graph_id` is None if a repair could not save the graph."""

    id: str
    graph_id: str | None
    title: str
    content: str
    node_type: str | None
    keywords: tuple[str, ...]
    source_ref: str | None
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class KnowledgeEdge(Result):
    """Nodes that belong together. Their order means something unless the relation is "related"."""

    id: str
    graph_id: str | None
    relation: str
    node_ids: tuple[str, ...]
    weight: float
    label: str | None
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class NodesFound(Result):
    """Nodes that a query found. `more`: there are others beyond the limit. `unknown_ids`: no such node in the graph."""

    nodes: tuple[KnowledgeNode, ...]
    more: bool
    unknown_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subgraph(Result):
    """What lies around a node: nodes by distance, then id, and the edges all of whose nodes are among them, by id.

    `depths` has the distance of each node, 0 for the first. `cut` says what was left out for a limit, or is None.
    """

    nodes: tuple[KnowledgeNode, ...]
    depths: tuple[int, ...]
    edges: tuple[KnowledgeEdge, ...]
    cut: str | None


@dataclass(frozen=True, slots=True)
class Path(Result):
    """A way through a graph: `edges[k]` joins `nodes[k]` and `nodes[k + 1]`."""

    nodes: tuple[KnowledgeNode, ...]
    edges: tuple[KnowledgeEdge, ...]


@dataclass(frozen=True, slots=True)
class ImportFault(Result):
    """Why one item of an import, or a relation of it, was left out. `field` names the part at fault."""

    index: int
    title: str | None
    message: str
    field: str | None


@dataclass(frozen=True, slots=True)
class Imported(Result):
    """What an import did. A node is listed once, as created, updated or unchanged; `skipped` counts items.

    An item of which only a relation is at fault is imported, and its fault is listed too. `edge_ids` are new edges.
    """

    created_ids: tuple[str, ...]
    updated_ids: tuple[str, ...]
    unchanged_ids: tuple[str, ...]
    edge_ids: tuple[str, ...]
    skipped: int
    errors: tuple[ImportFault, ...]


@dataclass(frozen=True, slots=True)
class Fact(Result):
    """What was so in [valid_from, valid_to) of the world's time; `valid_to` None: it still is.

    `recorded_at`, `closed_at` and `retracted_at` are when it was written down, when its end was, and when it was taken
    back. A fact asked for by `known_at` is as it was believed then, but for its sources and confidence, which are those
    of now.
    """

    id: str
    subject: str
    predicate: str
    value: str
    valid_from: int
    valid_to: int | None
    many: bool
    confidence: float
    sources: tuple[str, ...]
    recorded_at: int
    closed_at: int | None
    retracted_at: int | None
