"""Keeping the graphs of a foreign format. A node is known by its name in its graph.

Nodes have no times to compare: a node that says all that the memory's says, and more, is the newer one; one that says
something else is not taken unless that is asked for.
"""

from __future__ import annotations

import msgspec

from memhop.api.import_context import BadItem, Context
from memhop.api.import_journal import Step
from memhop.common.config import LIMITS, check_name, check_text
from memhop.common.ids import key_hash
from memhop.readers.item import EdgeItem, NodeItem
from memhop.repo.l3_knowledge import (
    RELATIONS,
    Graph,
    KnowledgeEdge,
    KnowledgeNode,
    find_edge,
    find_graph,
    find_node,
    in_order,
)


class GraphKeeper:
    """Keeps nodes, and then the edges between them. Memory: about 150 bytes for each node."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._nodes: dict[int, int] = {}  # hash of graph and id in the source -> id here

    def node(self, step: Step, item: NodeItem) -> None:
        """Keep a node. Raises InvalidRequest."""
        graph = self._graph(step, item.graph)
        title = check_name(item.name, field="name")
        content = check_text(item.text, field="text") if item.text.strip() else ""
        node_type = check_name(item.kind, field="kind", blank=True)
        natural = key_hash("knowledge", graph, title)
        store = self._context.store
        local = step.batch.find(KnowledgeNode, natural) or find_node(store, graph, title)
        named = key_hash(item.graph, item.source_id)
        if local is None:
            reference = self._context.external_id(item.source_id)
            node = KnowledgeNode(
                graph=graph, title=title, content=content, node_type=node_type, source_ref=reference,
                created_at=self._context.now, updated_at=self._context.now,
            )  # fmt: skip
            self._nodes[named] = step.new(node, graph, title).id
            self._context.tally.created += 1
            return
        self._nodes[named] = local.id
        if (local.content, local.node_type) == (content, node_type):
            self._context.tally.unchanged += 1
        elif self._context.wins(0, 0, untouched=set(local.content.splitlines()) <= set(content.splitlines())):
            fields = {"content": content, "node_type": node_type, "updated_at": self._context.now}
            step.update(msgspec.structs.replace(local, **fields))
            self._context.tally.updated += 1

    def _graph(self, step: Step, name: str) -> int:
        name = check_name(name, field="graph")
        natural = key_hash("graph", name)
        local = step.batch.find(Graph, natural) or find_graph(self._context.store, name)
        if local is not None and local.name == name:
            return local.id
        graph = Graph(
            name=name,
            created_at=self._context.now,
            source_kind="path",
            source=self._context.path.name[: LIMITS.name_chars],
        )
        return step.new(graph, name).id

    def edge(self, step: Step, item: EdgeItem) -> None:
        """Keep an edge; all nodes are in. Raises BadItem, InvalidRequest."""
        ends = [self._nodes.get(key_hash(item.graph, end)) for end in (item.from_, item.to)]
        if None in ends:
            raise BadItem("a node that it joins is not in the source")
        from_, to = (id_ for id_ in ends if id_ is not None)
        relation, label = (item.type, "") if item.type in RELATIONS else ("custom", item.type)
        graph = self._graph(step, item.graph)
        edge = KnowledgeEdge(
            graph=graph,
            relation=relation,
            nodes=in_order(relation, (from_, to)),
            label=check_name(label, field="type", blank=True),
            created_at=self._context.now,
            updated_at=self._context.now,
        )
        natural = key_hash("knowledge_edge", *edge.key)
        if find_edge(self._context.store, edge) is not None or step.batch.find(KnowledgeEdge, natural) is not None:
            self._context.tally.unchanged += 1
            return
        step.new(edge, *edge.key)
        self._context.tally.created += 1
