"""L3 Knowledge: named graphs of nodes and n-ary edges between them. Dated facts are in `l3_facts`.

A graph is known by its name, a node by its title within the graph, an edge by what it joins and how. The id of each is
made from that when it is new, and stays when it is renamed: so the record of the natural id is looked at first, and
one that has moved away from it is listed under its present name. What comes later under an old name is a new record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from memhop.common.ids import key_hash
from memhop.repo.record import Id, Kind, Layer, Listing, Ms, Record, Share, Unit, all_of, label

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

SOURCES: Final = ("path", "context", "url", "manual")  # where a graph may come from
RELATIONS: Final = ("related", "causal", "part_of", "sequence", "dependency", "custom")
SYMMETRIC: Final = frozenset({"related"})  # relations in which the order of nodes says nothing

R = TypeVar("R", bound=Record)


class Graph(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A named body of knowledge, and where it comes from: `source_kind` is one of `SOURCES`."""

    KIND: ClassVar[Kind] = Kind.GRAPH
    name: str
    created_at: Ms = 0
    updated_at: Ms = 0  # 0: it was never changed
    source_kind: str = "manual"
    source: str = ""

    def listings(self) -> list[Listing]:
        found = [Listing(all_of(self.KIND), self.created_at)]
        if self.id != graph_id(self.name):
            found.append(Listing(_named(self.name), self.created_at))
        return found


class KnowledgeNode(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One thing known, identified by its title within its graph. `source_ref`: the host's word for where it is from."""

    KIND: ClassVar[Kind] = Kind.KNOWLEDGE
    graph: Id  # 0: its graph was lost to damage
    title: str
    content: str = ""
    node_type: str = ""
    keywords: tuple[str, ...] = ()
    created_at: Ms = 0
    updated_at: Ms = 0
    source_ref: str = ""

    def listings(self) -> list[Listing]:
        if not self.graph:
            return []
        found = [Listing(nodes_of(self.graph), self.created_at)]
        if self.id != node_id(self.graph, self.title):
            found.append(Listing(_titled(self.graph, self.title), self.created_at))
        return found

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
    nodes: tuple[Id, ...]  # in the order given: a sequence or a cause has a direction; ascending where there is none
    weight: Share = 1.0
    label: str = ""
    created_at: Ms = 0
    updated_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [
            Listing(edges_in(self.graph), self.created_at),
            *(Listing(edges_at(id_), self.created_at) for id_ in dict.fromkeys(self.nodes)),
        ]

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it this edge and no other."""
        return self.graph, self.relation, self.label, *self.nodes


def graph_id(name: str) -> int:
    """The natural id of a graph."""
    return key_hash("graph", name)


def node_id(graph: int, title: str) -> int:
    """The natural id of a node."""
    return key_hash("knowledge", graph, title)


def find_graph(store: Store, name: str) -> Graph | None:
    """The graph of this name."""
    return _find(store, Graph, graph_id(name), _named(name), lambda graph: graph.name == name)


def find_node(store: Store, graph: int, title: str) -> KnowledgeNode | None:
    """The node of this title in a graph."""

    def fits(node: KnowledgeNode) -> bool:
        return (node.graph, node.title) == (graph, title)

    return _find(store, KnowledgeNode, node_id(graph, title), _titled(graph, title), fits)


def find_edge(store: Store, wanted: KnowledgeEdge) -> KnowledgeEdge | None:
    """The stored edge that joins the same nodes in the same way."""
    known = store.readable(KnowledgeEdge, key_hash("knowledge_edge", *wanted.key))
    return known if known is not None and known.key == wanted.key else None


def _find(store: Store, record_type: type[R], natural: int, moved: int, fits: Callable[[R], bool]) -> R | None:
    known = store.readable(record_type, natural)
    if known is not None and fits(known):
        return known
    page = store.listed(record_type, moved, limit=1)
    return page[0][1] if page else None


def put_new(store: Store, batch: Batch, record: R, *key: object) -> R:
    """Write a record that was not found under its natural key. One that is damaged beyond reading is replaced."""
    natural = key_hash(record.KIND.name.lower(), *key)
    located = store.file.locate(natural)
    if located is not None and located[0] == record.KIND and batch.find(type(record), natural) is None:
        return batch.put(record, natural)
    return batch.new(record, *key)


def in_order(relation: str, nodes: Sequence[int]) -> tuple[int, ...]:
    """The nodes of an edge as they are stored."""
    return tuple(sorted(nodes) if relation in SYMMETRIC else nodes)


def nodes_of(graph: int) -> int:
    """The group of a graph's nodes."""
    return label("nodes", graph)


def edges_in(graph: int) -> int:
    """The group of a graph's edges."""
    return label("knowledge-edges", graph)


def edges_at(node: int) -> int:
    """The group of edges that join a node."""
    return label("knowledge-edges-of", node)


def _named(name: str) -> int:
    """The group holding the one graph of a name, if its id is not the natural one."""
    return label("graph-named", name)


def _titled(graph: int, title: str) -> int:
    """The group holding the one node of a title, if its id is not the natural one."""
    return label("node-titled", graph, title)
