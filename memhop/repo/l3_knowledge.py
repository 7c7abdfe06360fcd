"""L3 Knowledge: named graphs of nodes. Edges and dated facts join when consolidation can write them."""

from __future__ import annotations

from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Id, Kind, Layer, Listing, Ms, Record, Unit, all_of, label


class Graph(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A named body of knowledge."""

    KIND: ClassVar[Kind] = Kind.GRAPH
    name: str
    created_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.created_at)]


class KnowledgeNode(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One thing known, identified by its title within its graph."""

    KIND: ClassVar[Kind] = Kind.KNOWLEDGE
    graph: Id  # 0: its graph was lost to damage
    title: str
    content: str = ""
    node_type: str = ""
    keywords: tuple[str, ...] = ()
    created_at: Ms = 0
    updated_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(nodes_of(self.graph), self.created_at)] if self.graph else []

    def unit(self) -> Unit:
        text = "\n".join(part for part in (self.title, self.content, " ".join(self.keywords)) if part)
        return Unit(
            text=text,
            plain=text,
            layer=Layer.KNOWLEDGE,
            kind=label("kind", self.node_type),
            at=self.updated_at,
            scene=label("graph", self.graph) if self.graph else 0,
        )


def graph_id(name: str) -> int:
    """One graph per name."""
    return key_hash("graph", name)


def node_id(graph: int, title: str) -> int:
    """One node per title within a graph."""
    return key_hash("knowledge", graph, title)


def nodes_of(graph: int) -> int:
    """The group of a graph's nodes."""
    return label("nodes", graph)
