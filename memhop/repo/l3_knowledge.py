"""L3 Knowledge: named graphs of nodes, n-ary edges between them, and dated facts."""

from __future__ import annotations

from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Id, Kind, Layer, Listing, Ms, Record, Share, Unit, all_of, label, linked_to


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


class KnowledgeEdge(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Nodes of one graph that belong together. `relation` is one of `RELATIONS`; `label` says more in words."""

    KIND: ClassVar[Kind] = Kind.KNOWLEDGE_EDGE
    graph: Id
    relation: str
    nodes: tuple[Id, ...]  # in the order given: a sequence or a cause has a direction
    weight: Share = 1.0
    label: str = ""
    created_at: Ms = 0
    updated_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [
            Listing(label("knowledge-edges", self.graph), self.created_at),
            *(Listing(label("knowledge-edges-of", id_), self.created_at) for id_ in dict.fromkeys(self.nodes)),
        ]


class Fact(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What was so in [valid_from, valid_to) of the world's time. A `valid_to` of 0: it still is.

    When it was asserted and when it was closed is known from the log: facts are closed, never rewritten otherwise.
    """

    KIND: ClassVar[Kind] = Kind.FACT
    subject: str
    predicate: str
    value: str
    valid_from: Ms = 0
    valid_to: Ms = 0
    sources: tuple[Id, ...] = ()
    recorded_at: Ms = 0
    closed_at: Ms = 0  # when it was written down that it is over; 0: it was not

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.valid_from), *(Listing(linked_to(id_), 0) for id_ in self.sources)]


def graph_id(name: str) -> int:
    """One graph per name."""
    return key_hash("graph", name)


def node_id(graph: int, title: str) -> int:
    """One node per title within a graph."""
    return key_hash("knowledge", graph, title)


def nodes_of(graph: int) -> int:
    """The group of a graph's nodes."""
    return label("nodes", graph)
