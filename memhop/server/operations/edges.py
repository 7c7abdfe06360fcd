"""L3: the edges of graphs, and what can be asked along them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from memhop.api import results
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations import older_names
from memhop.server.operations.knowledge import GraphId, deleted, line_of_node
from memhop.server.operations.paging import Cursor, Limit
from memhop.server.parameters import Choice, Id, Listed, Number, Text, Whole
from memhop.server.telling import fenced, one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

RELATIONS = ("related", "causal", "part_of", "sequence", "dependency", "custom")
EdgeKinds = Annotated[
    list[str] | None, Listed("Follow only these. Default: all.", Choice("", RELATIONS), 1, len(RELATIONS))
]


@operation("memhop_knowledge_subgraph", title="Read what is around a node", called={"relations": "edge_kinds"})
def knowledge_subgraph(
    host: Host,
    db: DB,
    *,
    graph_id: GraphId,
    start_node_id: Annotated[str, Id("The node to begin with.")],
    max_depth: Annotated[int, Whole("Most edges between it and the farthest node.", 0, 64)] = 1,
    edge_kinds: EdgeKinds = None,
    limit: Annotated[int, Whole("Most nodes; the nearest are taken.", 1, 200)] = 30,
) -> Answer:
    """Read what lies around a node, nearest first: what belongs to it, depends on it, follows from it.
    Example: {"graph_id": "d682e29388e0f4a3", "start_node_id": "800d84fff3efd644", "max_depth": 2}"""
    found = db.knowledge.subgraph(graph_id, start_node_id, max_depth=max_depth, relations=edge_kinds, limit=limit)
    data = {
        "Nodes": [older_names.node(one) for one in found.nodes],
        "Edges": [older_names.edge(one) for one in found.edges],
        "depths": list(found.depths),
        "left_out": found.cut,
    }
    head = f"{len(found.nodes)} nodes, {len(found.edges)} edges" + (f"; {found.cut}" if found.cut else "")
    lines = (*map(line_of_node, found.nodes), *map(_line, found.edges))
    return data, f"{head}\n{fenced(lines)}"


@operation("memhop_knowledge_path", title="Find a way between two nodes", called={"relations": "edge_kinds"})
def knowledge_path(
    host: Host,
    db: DB,
    *,
    graph_id: GraphId,
    from_node_id: Annotated[str, Id("Where it begins.")],
    to_node_id: Annotated[str, Id("Where it ends.")],
    edge_kinds: EdgeKinds = None,
    max_depth: Annotated[int, Whole("Most edges of the way.", 0, 64)] = 6,
) -> Answer:
    """Find out how two things hang together: the shortest way between two nodes of a graph, if there is one.
    Example: {"graph_id": "d682e29388e0f4a3", "from_node_id": "800d84fff3efd644", "to_node_id": "66c689202ea1b314"}"""
    found = db.knowledge.shortest_path(graph_id, from_node_id, to_node_id, relations=edge_kinds, max_depth=max_depth)
    if found is None:
        return {"found": False, "nodes": [], "edges": []}, f"no way of at most {max_depth} edges"
    data = {
        "found": True,
        "nodes": [older_names.node(one) for one in found.nodes],
        "edges": [older_names.edge(one) for one in found.edges],
    }
    return data, fenced(" -> ".join(one_line(node.title, 60) for node in found.nodes))


@operation("memhop_knowledge_connect", title="Join nodes", scope=WRITE, idempotent=True, result=results.KnowledgeEdge)
def knowledge_connect(
    host: Host,
    db: DB,
    *,
    graph_id: GraphId,
    node_ids: Annotated[list[str], Listed("Two or more nodes; their order counts unless related.", Id(""), 2, 256)],
    relation: Annotated[str, Choice("How they belong together.", RELATIONS)] = "related",
    weight: Annotated[float, Number("How strongly.", 0.0, 1.0)] = 1.0,
    label: Annotated[str, Text("A few words on it.", 0)] = "",
) -> Answer:
    """Join nodes of a graph by an edge, when one is part of another, depends on it, causes or follows it. The same edge
    again only changes its weight. Example: {"graph_id": "d682e29388e0f4a3", "node_ids": ["800d84fff3efd644",
    "66c689202ea1b314"], "relation": "part_of"}"""
    edge = db.knowledge.connect(graph_id, node_ids, relation, weight=weight, label=label)
    return {"ok": True} | older_names.edge(edge), _line(edge)


@operation("memhop_knowledge_disconnect", title="Erase an edge", scope=WRITE, destructive=True, idempotent=True)
def knowledge_disconnect(host: Host, db: DB, *, edge_id: Annotated[str, Id("The edge.")]) -> Answer:
    """Erase an edge; its nodes stay. Example: {"edge_id": "66c689202ea1b314"}"""
    return deleted(db.knowledge.disconnect(edge_id), "edge")


@operation("memhop_knowledge_edges", title="List edges", result=results.Page)
def knowledge_edges(
    host: Host,
    db: DB,
    *,
    graph_id: Annotated[str | None, Id("All edges of this graph; or else node_id.")] = None,
    node_id: Annotated[str | None, Id("The edges at this node; or else graph_id.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Answer:
    """List the edges of a graph, or those at a node. Example: {"node_id": "800d84fff3efd644"}"""
    page = db.knowledge.edges(graph_id, node_id=node_id, limit=limit, cursor=cursor)
    return paged(page, older_names.edge, _line, nothing="no edges")


def _line(edge: results.KnowledgeEdge) -> str:
    label = f" ({one_line(edge.label, 60)})" if edge.label else ""
    shown = ", ".join(edge.node_ids[:6]) + ("…" if len(edge.node_ids) > 6 else "")
    return f"{edge.id} {edge.relation}{label} {edge.weight:g}: {shown}"
