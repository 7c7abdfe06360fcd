"""What can be asked of one graph: the part of `db.knowledge` that only reads along its edges and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memhop.api import convert, results
from memhop.api.namespace import Namespace, ids_of
from memhop.common.config import LIMITS, check_choice, check_int, check_name, check_names, check_text
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex, to_hex
from memhop.repo.l3_knowledge import RELATIONS, Graph, KnowledgeNode

_MOST_DEPTH = 64


class KnowledgeQueries(Namespace):
    """Questions to one graph."""

    def query(
        self,
        graph_id: str,
        *,
        ids: Sequence[str] | None = None,
        keyword: str | None = None,
        node_type: str | None = None,
        limit: int = 50,
    ) -> results.NodesFound:
        """Nodes of a graph by exactly one of three: ids, keyword, type.

        Args:
            ids: In the order of the answer; those that are no node of the graph are listed in it. At most 1,000.
            keyword: Nodes that hold it in title, content or a keyword, anywhere in a word, letter case ignored.
            node_type: Nodes of exactly this type.
            limit: 1..1,000.

        Raises:
            InvalidRequest: none or several of them are given. NotFound: there is no such graph.

        Cost: by keyword, reads the nodes of the graph until there are enough, about a second per 100,000 nodes;
            `recall(layers=["knowledge"])` finds whole words without that. By type, 1 us per node of the graph.
        """
        from memhop.search import knowledge

        limit = check_int(limit, field="limit", low=1, high=LIMITS.results)
        selectors = {"ids": ids, "keyword": keyword, "node_type": node_type}
        chosen = [name for name, value in selectors.items() if value is not None]
        if len(chosen) != 1:
            what = f"{' and '.join(chosen) or 'none of them'} given"
            raise InvalidRequest(what, field=(chosen or ["ids"])[-1], allowed="one of ids, keyword, node_type")
        store = self._store
        graph = store.get(Graph, from_hex(graph_id, field="graph_id"), field="graph_id")
        unknown: list[str] = []
        found: list[KnowledgeNode] = []
        if ids is not None:
            for id_ in ids_of(ids, field="ids", most=LIMITS.results):
                node = store.readable(KnowledgeNode, id_)
                if node is not None and node.graph == graph.id:
                    found.append(node)
                else:
                    unknown.append(to_hex(id_))
        elif keyword is not None:
            words = check_text(keyword, field="keyword", max_bytes=LIMITS.query_chars)
            found = knowledge.holding(store, graph.id, words, limit + 1)
        else:
            found = knowledge.of_type(store, graph.id, check_name(node_type, field="node_type"), limit + 1)
        return results.NodesFound(
            nodes=tuple(map(convert.knowledge, found[:limit])), more=len(found) > limit, unknown_ids=tuple(unknown)
        )

    def subgraph(
        self,
        graph_id: str,
        start_node_id: str,
        *,
        max_depth: int = 1,
        relations: Iterable[str] | None = None,
        limit: int = 100,
    ) -> results.Subgraph:
        """What lies around a node, breadth first. An edge joins each of its nodes with every other one.

        Args:
            max_depth: Edges between the node and the farthest one, 0..64.
            relations: Follow these only. None: all.
            limit: Most nodes, 1..1,000; the nearest are taken, of one distance the lowest ids.

        Raises:
            NotFound: there is no such graph or node. InvalidRequest: the node is of another graph.

        Cost: about 10 us per node and edge read, at most 10,000 edges.
        """
        from memhop.search import knowledge

        start = self._node_of(graph_id, start_node_id, "start_node_id")
        found = knowledge.around(
            self._store,
            start,
            max_depth=check_int(max_depth, field="max_depth", low=0, high=_MOST_DEPTH),
            relations=_relations(relations),
            limit=check_int(limit, field="limit", low=1, high=LIMITS.results),
        )
        return results.Subgraph(
            nodes=tuple(convert.knowledge(node) for node, _ in found.nodes),
            depths=tuple(depth for _, depth in found.nodes),
            edges=tuple(map(convert.knowledge_edge, found.edges)),
            cut=found.cut or None,
        )

    def shortest_path(
        self,
        graph_id: str,
        from_node_id: str,
        to_node_id: str,
        *,
        relations: Iterable[str] | None = None,
        max_depth: int = 6,
    ) -> results.Path | None:
        """The way of fewest edges between two nodes; of several equal ones always the same. Weights do not count.

        Args:
            relations: Follow these only. None: all.
            max_depth: Most edges of the way, 0..64.

        Returns:
            None: there is none so short.

        Raises:
            NotFound: there is no such graph or node. InvalidRequest: a node is of another graph.

        Cost: about 10 us per node and edge that is nearer than the goal; that may be the whole graph.
        """
        from memhop.search import knowledge

        found = knowledge.shortest(
            self._store,
            self._node_of(graph_id, from_node_id, "from_node_id"),
            self._node_of(graph_id, to_node_id, "to_node_id"),
            max_depth=check_int(max_depth, field="max_depth", low=0, high=_MOST_DEPTH),
            relations=_relations(relations),
        )
        if found is None:
            return None
        return results.Path(
            nodes=tuple(map(convert.knowledge, found.nodes)), edges=tuple(map(convert.knowledge_edge, found.edges))
        )

    def _node_of(self, graph_id: str, node_id: str, field: str) -> KnowledgeNode:
        graph = self._store.get(Graph, from_hex(graph_id, field="graph_id"), field="graph_id")
        node = self._store.get(KnowledgeNode, from_hex(node_id, field=field), field=field)
        if node.graph != graph.id:
            raise InvalidRequest("it is of another graph", field=field, allowed="a node of the graph")
        return node


def _relations(value: Any) -> frozenset[str]:
    if value is None:
        return frozenset()
    listed = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else value
    names = check_names(listed, field="relations", most=len(RELATIONS))
    if not names:
        raise InvalidRequest("an empty list would follow nothing", field="relations", allowed="None, or some")
    return frozenset(check_choice(name, field="relations", choices=RELATIONS) for name in names)
