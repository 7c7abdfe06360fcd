"""`db.knowledge`: L3, graphs of nodes and edges. Dated facts are a namespace of their own, `db.facts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.api import convert, knowledge_import, results
from memhop.api.knowledge_queries import KnowledgeQueries
from memhop.api.namespace import guarded, ids_of
from memhop.common.config import LIMITS, check_choice, check_name, check_text
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex, to_hex
from memhop.repo import l3_knowledge
from memhop.repo.l3_knowledge import RELATIONS, SOURCES, Graph, KnowledgeEdge, KnowledgeNode
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    from memhop.repo.batch import Batch


class Knowledge(KnowledgeQueries):
    """L3: named graphs of nodes, joined by edges of two or more nodes.

    A graph is known by its name, a node by its title within the graph; both keep their id when they are renamed. A name
    given up is free: what is written under it later is a new graph or node.
    """

    # -- graphs ----------------------------------------------------------------------------------------------

    @guarded
    def create_graph(self, name: str, *, source_kind: str = "manual", source: str | None = None) -> results.Graph:
        """A new, empty graph.

        Args:
            source_kind: Where it comes from: path, context, url or manual.
            source: Which path, context or URL.

        Raises:
            InvalidRequest: there is a graph of that name, or an argument does not do.
        """
        wanted = check_name(name, field="name")
        check_choice(source_kind, field="source_kind", choices=SOURCES)
        whence = "" if source is None else check_text(source, field="source", max_bytes=LIMITS.query_chars)
        if not whence and source_kind != "manual":
            raise InvalidRequest(f"a {source_kind} needs a value", field="source", allowed="a str")
        store = self._store

        def fill(batch: Batch) -> Graph:
            if l3_knowledge.find_graph(store, wanted) is not None:
                raise InvalidRequest(f"there is a graph {wanted!r}", field="name", allowed="a name of its own")
            created = Graph(name=wanted, created_at=store.clock.now_ms(), source_kind=source_kind, source=whence)
            return l3_knowledge.put_new(store, batch, created, wanted)

        return self._graph(store.write(fill))

    def graph(self, id: str) -> results.Graph:
        """The graph. Raises NotFound, InvalidRequest."""
        return self._graph(self._store.get(Graph, from_hex(id)))

    def find_graph(self, name: str) -> results.Graph | None:
        """The graph of this name, or None."""
        found = l3_knowledge.find_graph(self._store, check_name(name, field="name"))
        return None if found is None else self._graph(found)

    def graphs(self, *, limit: int = 50, cursor: str | None = None, newest_first: bool = False) -> results.Page:
        """Graphs by creation."""
        return self._page(Graph, all_of(Kind.GRAPH), self._graph, limit, cursor, newest_first)

    @guarded
    def rename_graph(self, id: str, name: str) -> results.Graph:
        """Give a graph another name; its id, nodes and edges stay.

        Raises:
            NotFound: no graph has this id. InvalidRequest: another graph has the name.
        """
        wanted = check_name(name, field="name")
        id_ = from_hex(id)
        store = self._store

        def fill(batch: Batch) -> Graph:
            graph = store.get(Graph, id_)
            if graph.name == wanted:
                return graph
            if l3_knowledge.find_graph(store, wanted) is not None:
                raise InvalidRequest(f"there is a graph {wanted!r}", field="name", allowed="a name of its own")
            return batch.put(msgspec.structs.replace(graph, name=wanted, updated_at=store.clock.now_ms()))

        return self._graph(store.write(fill))

    def delete_graph(self, id: str) -> bool:
        """Erase a graph with its nodes and edges, for good, in one commit; topics linked to it stay without the link.

        Returns:
            False: no record has this id.

        Raises:
            NotFound: the id is that of something else.

        Cost: reads every topic of the memory, and each node and edge of the graph, about 10 s per 100,000 of them.
        """
        from memhop.api.erasure import erase_record

        return erase_record(self._store, Kind.GRAPH, from_hex(id), field="id")

    # -- nodes -----------------------------------------------------------------------------------------------

    @guarded
    def put(
        self,
        graph: str,
        title: str,
        content: str = "",
        *,
        node_type: str = "",
        keywords: Iterable[str] = (),
        source_ref: str = "",
    ) -> results.KnowledgeNode:
        """Write a node, creating its graph if needed; a node of that title in the graph is replaced.

        Args:
            graph: Name of the graph. title: Of the node, unique in the graph.
            node_type: A word of the host's. keywords: Words to find it by, at most 64.
            source_ref: The host's word for where it is from, such as a line of a file.
        """
        values = {
            "graph": graph,
            "title": title,
            "content": content,
            "node_type": node_type,
            "keywords": keywords,
            "source_ref": source_ref,
        }
        return convert.knowledge(knowledge_import.put(self._store, knowledge_import.draft(values)))

    def get(self, id: str) -> results.KnowledgeNode:
        """The node. Raises NotFound, InvalidRequest."""
        return convert.knowledge(self._store.get(KnowledgeNode, from_hex(id)))

    def find(self, graph: str, title: str) -> results.KnowledgeNode | None:
        """The node of this title in the graph of this name, or None."""
        store = self._store
        named, wanted = check_name(graph, field="graph"), check_name(title, field="title")
        known = l3_knowledge.find_graph(store, named)
        node = None if known is None else l3_knowledge.find_node(store, known.id, wanted)
        return None if node is None else convert.knowledge(node)

    @guarded
    def update(
        self,
        id: str,
        *,
        title: str | None = None,
        content: str | None = None,
        node_type: str | None = None,
        keywords: Iterable[str] | None = None,
        source_ref: str | None = None,
    ) -> results.KnowledgeNode:
        """Change what is given of a node, and keep the rest; "" takes a part away. Its id stays.

        Raises:
            NotFound: no node has this id. InvalidRequest: another node of the graph has the title.
        """
        given = {
            "title": title,
            "content": content,
            "node_type": node_type,
            "keywords": keywords,
            "source_ref": source_ref,
        }
        given = {name: value for name, value in given.items() if value is not None}
        id_ = from_hex(id)
        checked = knowledge_import.draft({"graph": "any", "title": "any", **given})
        changes = {name: getattr(checked, name) for name in given}
        store = self._store

        def fill(batch: Batch) -> KnowledgeNode:
            node = store.get(KnowledgeNode, id_)
            changed = msgspec.structs.replace(node, **changes)
            if changed == node:
                return node
            if changed.title != node.title and l3_knowledge.find_node(store, node.graph, changed.title) is not None:
                raise InvalidRequest(
                    f"its graph has a node {changed.title!r}", field="title", allowed="a title of its own"
                )
            return batch.put(msgspec.structs.replace(changed, updated_at=store.clock.now_ms()))

        return convert.knowledge(store.write(fill))

    def delete(self, id: str) -> bool:
        """Erase a node for good. An edge stays while it joins two others.

        Returns:
            False: no record has this id.

        Raises:
            NotFound: the id is that of something else.
        """
        from memhop.api.erasure import erase_record

        return erase_record(self._store, Kind.KNOWLEDGE, from_hex(id), field="id")

    def nodes(
        self, graph_id: str, *, limit: int = 50, cursor: str | None = None, newest_first: bool = False
    ) -> results.Page:
        """Nodes of a graph, by creation. Raises NotFound for an unknown graph."""
        graph = self._store.get(Graph, from_hex(graph_id, field="graph_id"), field="graph_id")
        return self._page(
            KnowledgeNode, l3_knowledge.nodes_of(graph.id), convert.knowledge, limit, cursor, newest_first
        )

    @guarded
    def import_(self, items: Iterable[Mapping[str, Any]], mode: str = "skip") -> results.Imported:
        """Write many nodes in one commit. An item that does not do is listed, and the others are written.

        Args:
            items: dicts with `graph` (a name) and `title`, and if wanted `content`, `node_type`, `keywords`,
                `source_ref` and `related`: titles of nodes of the same graph, of this import or there already, to
                which a "related" edge is made. At most 100,000.
            mode: What becomes of a node that is there. skip: it stays as it is. merge: a type that is given replaces
                the old one, keywords are added, and of two contents the one that holds the other is kept, or both,
                line by line; doing it twice changes nothing. overwrite: it becomes what is given.

        Raises:
            InvalidRequest: the mode is unknown, or these are no items, or too many; nothing is written then.
        """
        return knowledge_import.import_nodes(self._store, items, mode)

    # -- edges -----------------------------------------------------------------------------------------------

    @guarded
    def connect(
        self,
        graph_id: str,
        node_ids: Sequence[str],
        relation: str = "related",
        *,
        weight: float = 1.0,
        label: str = "",
    ) -> results.KnowledgeEdge:
        """Write an edge between nodes of a graph. One of the same relation, nodes and label gets the new weight.

        Args:
            node_ids: Two to 256 different nodes. Their order is kept and means something, unless the relation is
                "related".
            relation: related, causal, part_of, sequence, dependency or custom.
            weight: 0..1. label: A few words on how they belong together.

        Raises:
            NotFound: there is no such graph or node. InvalidRequest: a node is of another graph, or an argument does
                not do.
        """
        graph_key = from_hex(graph_id, field="graph_id")
        check_choice(relation, field="relation", choices=RELATIONS)
        nodes = ids_of(node_ids, field="node_ids", most=LIMITS.links, least=2)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
            raise InvalidRequest(f"{weight!r:.40} is not allowed", field="weight", allowed="a number from 0 to 1")
        words = check_name(label, field="label", blank=True)
        store = self._store

        def fill(batch: Batch) -> KnowledgeEdge:
            graph = store.get(Graph, graph_key, field="graph_id")
            for id_ in nodes:
                if store.get(KnowledgeNode, id_, field="node_ids").graph != graph.id:
                    raise InvalidRequest(
                        f"{to_hex(id_)} is of another graph", field="node_ids", allowed="nodes of one graph"
                    )
            now = store.clock.now_ms()
            wanted = KnowledgeEdge(
                graph=graph.id,
                relation=relation,
                nodes=l3_knowledge.in_order(relation, nodes),
                weight=float(weight),
                label=words,
                created_at=now,
                updated_at=now,
            )
            known = l3_knowledge.find_edge(store, wanted)
            if known is None:
                return l3_knowledge.put_new(store, batch, wanted, *wanted.key)
            if known.weight == wanted.weight:
                return known
            return batch.put(msgspec.structs.replace(known, weight=wanted.weight, updated_at=now))

        return convert.knowledge_edge(store.write(fill))

    def disconnect(self, edge_id: str) -> bool:
        """Erase an edge for good; its nodes stay.

        Returns:
            False: no record has this id.

        Raises:
            NotFound: the id is that of something else.
        """
        from memhop.api.erasure import erase_record

        return erase_record(self._store, Kind.KNOWLEDGE_EDGE, from_hex(edge_id, field="edge_id"), field="edge_id")

    def edges(
        self,
        graph_id: str | None = None,
        *,
        node_id: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> results.Page:
        """Edges of a graph, or at a node, by creation.

        Raises:
            InvalidRequest: both are given, or none. NotFound: there is no such graph or node.
        """
        if (graph_id is None) == (node_id is None):
            raise InvalidRequest("one of the two says where", field="graph_id", allowed="graph_id or node_id")
        if graph_id is not None:
            graph = self._store.get(Graph, from_hex(graph_id, field="graph_id"), field="graph_id")
            group = l3_knowledge.edges_in(graph.id)
        else:
            node = self._store.get(KnowledgeNode, from_hex(node_id, field="node_id"), field="node_id")
            group = l3_knowledge.edges_at(node.id)
        return self._page(KnowledgeEdge, group, convert.knowledge_edge, limit, cursor, newest_first)

    def _graph(self, graph: Graph) -> results.Graph:
        store = self._store
        with store.lock:
            groups = store.views.groups
            nodes, edges = groups.count(l3_knowledge.nodes_of(graph.id)), groups.count(l3_knowledge.edges_in(graph.id))
        return convert.graph(graph, nodes, edges)
