"""`db.knowledge`: L3."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.common.config import LIMITS, check_name, check_names, check_text
from memhop.common.ids import from_hex
from memhop.repo import l3_knowledge
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    from memhop.repo.batch import Batch


class Knowledge(Namespace):
    """L3: named graphs of nodes."""

    def put(
        self, graph: str, title: str, content: str = "", *, node_type: str = "", keywords: Iterable[str] = ()
    ) -> results.KnowledgeNode:
        """Write a node, creating its graph if needed; a node of that title in the graph is replaced."""
        name = check_name(graph, field="graph")
        node_title = check_name(title, field="title")
        body = "" if content == "" else check_text(content, field="content")
        type_name = check_name(node_type, field="node_type", blank=True)
        words = check_names(keywords, field="keywords", most=LIMITS.tags)
        store = self._store
        now = store.clock.now_ms()

        def fill(batch: Batch) -> l3_knowledge.KnowledgeNode:
            graph_id = l3_knowledge.graph_id(name)
            if store.readable(l3_knowledge.Graph, graph_id) is None:
                batch.put(l3_knowledge.Graph(name=name, created_at=now), graph_id)
            node_id = l3_knowledge.node_id(graph_id, node_title)
            known = store.readable(l3_knowledge.KnowledgeNode, node_id)
            node = l3_knowledge.KnowledgeNode(
                graph=graph_id,
                title=node_title,
                content=body,
                node_type=type_name,
                keywords=words,
                created_at=known.created_at if known else now,
                updated_at=now,
            )
            return batch.put(node, node_id)

        return convert.knowledge(store.write(fill))

    def get(self, id: str) -> results.KnowledgeNode:
        """The node. Raises NotFound, InvalidRequest."""
        return convert.knowledge(self._store.get(l3_knowledge.KnowledgeNode, from_hex(id)))

    def graphs(self) -> tuple[results.Graph, ...]:
        """All graphs, by creation."""
        found = self._store.listed(l3_knowledge.Graph, all_of(Kind.GRAPH), limit=LIMITS.results)
        return tuple(convert.graph(graph) for _, graph in found)

    def nodes(self, graph_id: str, *, limit: int = 50, cursor: str | None = None) -> results.Page:
        """Nodes of a graph, by creation. Raises NotFound for an unknown graph."""
        graph = self._store.get(l3_knowledge.Graph, from_hex(graph_id, field="graph_id"), field="graph_id")
        group = l3_knowledge.nodes_of(graph.id)
        return self._page(l3_knowledge.KnowledgeNode, group, convert.knowledge, limit, cursor, False)
