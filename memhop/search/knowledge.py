"""Asking one graph of knowledge: nodes by words or type, what lies around a node, the shortest way between two.

An edge joins each of its nodes with every other one, whatever its relation and the order of its nodes. Everything comes
in the same order each time: nodes by creation or by distance, equal ones by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memhop.repo.l3_knowledge import KnowledgeEdge, KnowledgeNode, edges_at, nodes_of
from memhop.repo.record import Layer, label

if TYPE_CHECKING:
    from memhop.repo.store import Store

MOST_EDGES: Final = 10_000  # that one look around a node reads
_PAGE: Final = 1_000


class Around(NamedTuple):
    """Nodes around one, with their distance, and the edges among them. `cut`: what a limit left out; "" if nothing."""

    nodes: tuple[tuple[KnowledgeNode, int], ...]
    edges: tuple[KnowledgeEdge, ...]
    cut: str


class Way(NamedTuple):
    """`edges[k]` joins `nodes[k]` and `nodes[k + 1]`."""

    nodes: tuple[KnowledgeNode, ...]
    edges: tuple[KnowledgeEdge, ...]


def holding(store: Store, graph: int, words: str, limit: int) -> list[KnowledgeNode]:
    """The first nodes with `words` in title, content or a keyword, letter case ignored, by creation.

    Cost: reads the nodes of the graph until there are enough, about 10 us each.
    """
    sought = words.casefold()

    def fits(node: KnowledgeNode) -> bool:
        return any(sought in text.casefold() for text in (node.title, node.content, *node.keywords))

    return list(islice(filter(fits, _nodes(store, graph)), limit))


def of_type(store: Store, graph: int, node_type: str, limit: int) -> list[KnowledgeNode]:
    """The first nodes of a type, by creation. Cost: some ns per unit of the file, 1 us per node of the graph."""
    with store.lock:
        units = store.views.units
        mask = units.live & (units.column("layer") == Layer.KNOWLEDGE)
        mask &= units.column("scene") == np.uint64(label("graph", graph))
        mask &= units.column("kind") == np.uint64(label("kind", node_type))
        ids = frozenset(units.ids[np.flatnonzero(mask)].tolist())
    return list(islice(_nodes(store, graph, ids.__contains__), limit)) if ids else []


def _nodes(store: Store, graph: int, wanted: Callable[[int], bool] = lambda id_: True) -> Iterator[KnowledgeNode]:
    for _, id_ in store.members(nodes_of(graph)):
        node = store.readable(KnowledgeNode, id_) if wanted(id_) else None
        if node is not None and node.graph == graph:
            yield node


def around(store: Store, start: KnowledgeNode, *, max_depth: int, relations: frozenset[str], limit: int) -> Around:
    """Breadth first from `start`.

    Args:
        max_depth: Edges between it and the farthest node.
        relations: Only edges of these; empty: all.
        limit: Most nodes, `start` among them; of one distance the lowest ids.

    Cost: reads each node and edge once, about 10 us each; at most `MOST_EDGES` edges.
    """
    walk = _Walk(store, start.graph, relations, most=MOST_EDGES)
    found = {start.id: (start, 0)}
    level = [start]
    cut = []
    for depth in range(1, max_depth + 1):
        ids = sorted({id_ for node in level for edge in walk.edges(node.id) for id_ in edge.nodes} - found.keys())
        fresh = list(islice(walk.nodes(ids), limit - len(found) + 1))
        if len(fresh) > limit - len(found):
            cut.append(f"there are more than {limit} nodes; those nearest were taken")
            fresh.pop()
        found |= {node.id: (node, depth) for node in fresh}
        level = fresh
        if cut or not level:
            break
    edges = {edge.id: edge for id_ in found for edge in walk.edges(id_) if found.keys() >= set(edge.nodes)}
    if walk.exhausted:
        cut.append(f"only {MOST_EDGES:,} edges were followed")
    return Around(tuple(found.values()), tuple(edges[id_] for id_ in sorted(edges)), "; ".join(cut))


def shortest(
    store: Store, start: KnowledgeNode, end: KnowledgeNode, *, max_depth: int, relations: frozenset[str]
) -> Way | None:
    """The way of fewest edges between two nodes of one graph, at most `max_depth`; of equal ones always the same.

    Cost: reads what lies nearer to `start` than `end` does, about 10 us per node and edge.
    """
    walk = _Walk(store, start.graph, relations, most=None)
    came: dict[int, tuple[KnowledgeNode, KnowledgeEdge | None, int]] = {start.id: (start, None, 0)}
    level = [start.id]
    for _ in range(max_depth):
        if end.id in came or not level:
            break
        fresh: list[int] = []
        for id_ in level:
            for edge in walk.edges(id_):
                for node in walk.nodes(sorted(set(edge.nodes) - came.keys())):
                    came[node.id] = (node, edge, id_)
                    fresh.append(node.id)
        level = fresh
    if end.id not in came:
        return None
    nodes: list[KnowledgeNode] = []
    edges: list[KnowledgeEdge] = []
    here = end.id
    while True:
        node, through, before = came[here]
        nodes.append(node)
        if through is None:
            return Way(tuple(reversed(nodes)), tuple(reversed(edges)))
        edges.append(through)
        here = before


class _Walk:
    """Reads nodes and edges of one graph, edges once. Whatever else an edge may name is no part of it."""

    def __init__(self, store: Store, graph: int, relations: frozenset[str], most: int | None) -> None:
        self.exhausted = False
        self._store = store
        self._graph = graph
        self._relations = relations
        self._most = most
        self._edges: dict[int, list[KnowledgeEdge]] = {}
        self._read = 0

    def nodes(self, ids: list[int]) -> Iterator[KnowledgeNode]:
        for id_ in ids:
            node = self._store.readable(KnowledgeNode, id_)
            if node is not None and node.graph == self._graph:
                yield node

    def edges(self, node: int) -> list[KnowledgeEdge]:
        """The edges at a node, by id."""
        if node not in self._edges:
            self._edges[node] = sorted(self._edges_at(node), key=lambda edge: edge.id)
        return self._edges[node]

    def _edges_at(self, node: int) -> Iterator[KnowledgeEdge]:
        after = None
        while True:
            room = _PAGE if self._most is None else min(_PAGE, self._most - self._read)
            places = self._store.places(edges_at(node), after=after, limit=max(room, 1))
            if not places:
                return
            if room <= 0:
                self.exhausted = True
                return
            self._read += len(places)
            for _, edge in self._store.at_places(KnowledgeEdge, places):
                if edge.graph == self._graph and (not self._relations or edge.relation in self._relations):
                    yield edge
            after = places[-1]
