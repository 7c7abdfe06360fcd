"""L3: graphs, their nodes, and many nodes at once. `edges.py` has what joins them, `facts.py` what was so when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.common.errors import InvalidRequest
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations import older_names
from memhop.server.operations.paging import PART, Chars, Cursor, Limit, Start, in_part
from memhop.server.parameters import Choice, Fields, Id, Listed, Text
from memhop.server.telling import fenced, one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

GraphId = Annotated[str, Id("The graph.")]
NodeId = Annotated[str, Id("The node.")]
Content = Annotated[str | None, Text("What is known.", 0)]
NodeType = Annotated[str | None, Text("A word for what kind of thing it is, such as person or module.", 0)]
Keywords = Annotated[list[str] | None, Listed("Words to find it by.", Text(""), 0, 64)]
SourceRef = Annotated[str | None, Text("Where it is from, such as a line of a file.", 0)]
_SOURCES = ("manual", "path", "context", "url")
_ITEM = Fields(
    "",
    {
        "title": Text("Title of the node, unique in its graph.", 0),
        "domain": Text("Name of the graph; it is made if there is none."),
        "content": Text("What is known.", 0),
        "node_type": Text("A word for what kind of thing it is.", 0),
        "keywords": Listed("Words to find it by.", Text(""), 0, 64),
        "source_ref": Text("Where it is from.", 0),
        "related": Listed("Titles of nodes of the same graph that it belongs with.", Text("")),
    },
    ("title", "domain", "content"),
)


@operation("memhop_knowledge_list", title="List knowledge graphs", result=results.Page)
def knowledge_list(host: Host, db: DB, *, limit: Limit = 20, cursor: Cursor = None) -> Answer:
    """List the knowledge graphs, each a named body of knowledge. Use it to find the id of a graph. Example: {}"""
    return paged(
        db.knowledge.graphs(limit=limit, cursor=cursor), older_names.graph, _graph, nothing="there are no graphs"
    )


@operation("memhop_knowledge_get", title="Read a knowledge graph")
def knowledge_get(
    host: Host,
    db: DB,
    *,
    id: GraphId,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Answer:
    """Read a graph: what it is (Slot), a page of its nodes (Nodes) and the first edges (Edges; memhop_knowledge_edges
    lists all). For one question memhop_recall or memhop_knowledge_nodes is shorter.
    Example: {"id": "d682e29388e0f4a3"}"""
    graph = db.knowledge.graph(id)
    nodes = db.knowledge.nodes(id, limit=limit, cursor=cursor)
    edges = db.knowledge.edges(id, limit=limit) if cursor is None else results.Page((), None)
    _, text = paged(nodes, older_names.node, line_of_node, nothing="no nodes")
    data = {
        "Slot": older_names.graph(graph),
        "Nodes": [older_names.node(one) for one in nodes.items],
        "Edges": [older_names.edge(one) for one in edges.items],
        "next": nodes.next,
        "more_edges": edges.next is not None,
        "damaged": nodes.damaged + edges.damaged,
    }
    return data, f"{_graph(graph)}\n{text}"


@operation("memhop_knowledge_create", title="Create a knowledge graph", scope=WRITE, result=results.Graph)
def knowledge_create(
    host: Host,
    db: DB,
    *,
    name: Annotated[str, Text("A name that no other graph has.")],
    source_kind: Annotated[str, Choice("Where it comes from.", _SOURCES)] = "manual",
    source: Annotated[str | None, Text("Which path, context or URL.")] = None,
) -> Answer:
    """Make an empty graph with a source. Not needed before memhop_knowledge_put or _import, which make graphs.
    Example: {"name": "boat", "source_kind": "url", "source": "https://example.org/boat"}"""
    graph = db.knowledge.create_graph(name, source_kind=source_kind, source=source)
    return {"ok": True} | older_names.graph(graph), _graph(graph)


@operation(
    "memhop_knowledge_update", title="Rename a knowledge graph", scope=WRITE, idempotent=True, result=results.Graph
)
def knowledge_update(
    host: Host,
    db: DB,
    *,
    id: GraphId,
    name: Annotated[str | None, Text("Its new name. Default: it keeps its own.")] = None,
) -> Answer:
    """Rename a graph; its id, nodes and edges stay. Nodes are changed by memhop_knowledge_node_update.
    Example: {"id": "d682e29388e0f4a3", "name": "boats"}"""
    graph = db.knowledge.graph(id) if name is None else db.knowledge.rename_graph(id, name)
    return {"ok": True} | older_names.graph(graph), _graph(graph)


@operation("memhop_knowledge_delete", title="Erase a knowledge graph", scope=WRITE, destructive=True, idempotent=True)
def knowledge_delete(host: Host, db: DB, *, id: GraphId) -> Answer:
    """Erase a graph for good, with its nodes and edges. Only when a person asks for it, for it cannot be taken back.
    Example: {"id": "d682e29388e0f4a3"}"""
    return deleted(db.knowledge.delete_graph(id), "graph")


@operation("memhop_knowledge_import", title="Import knowledge", scope=WRITE, called={"graph": "domain"})
def knowledge_import(
    host: Host,
    db: DB,
    *,
    items: Annotated[list[dict[str, Any]], Listed("The nodes.", _ITEM, 1, 1_000)],
    mode: Annotated[
        str,
        Choice("For nodes that are there: leave them, add to them, or replace them.", ("Skip", "Merge", "Overwrite")),
    ],
) -> Answer:
    """Write many nodes in one go, when you have read a document or a code base and lay down what is in it. An item that
    does not do is listed under `errors`, and the others are written. For one node: memhop_knowledge_put.
    Example: {"items": [{"title": "Hull", "domain": "boat", "content": "Made of oak."}], "mode": "Merge"}"""
    given = [
        {"graph": item["domain"]} | {key: value for key, value in item.items() if key != "domain"} for item in items
    ]
    done = db.knowledge.import_(given, mode.lower())
    data = done.to_dict()
    faults = data.pop("errors")
    counts = f"{len(done.created_ids)} created, {len(done.updated_ids)} updated, {done.skipped} skipped"
    errors = [f"{fault.title or f'item {fault.index}'}: {fault.message}" for fault in done.errors]
    return data | {"skipped_count": done.skipped, "errors": errors, "faults": faults}, "; ".join((counts, *errors[:20]))


@operation("memhop_knowledge_nodes", title="Find nodes of a graph")
def knowledge_nodes(
    host: Host,
    db: DB,
    *,
    graph_id: GraphId,
    ids: Annotated[list[str] | None, Listed("These nodes.", Id(""), 1, 100)] = None,
    keyword: Annotated[str | None, Text("Nodes that hold this in title, content or keywords.", 0)] = None,
    node_type: Annotated[str | None, Text("Nodes of exactly this type.", 0)] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Answer:
    """Find nodes of a graph by one of: ids, a part of a word, a type; or list all, with a cursor. For a question in
    words: memhop_recall with layers ["knowledge"]. Example: {"graph_id": "d682e29388e0f4a3", "keyword": "hull"}"""
    if ids is None and not keyword and not node_type:
        page = db.knowledge.nodes(graph_id, limit=limit, cursor=cursor)
        return paged(page, older_names.node, line_of_node, nothing="no nodes")
    if cursor is not None:
        raise InvalidRequest("what was searched for has one page", field="cursor", allowed="none with a selector")
    found = db.knowledge.query(graph_id, ids=ids, keyword=keyword or None, node_type=node_type or None, limit=limit)
    more = "; there are more" if found.more else ""
    unknown = f"; not in the graph: {', '.join(found.unknown_ids)}" if found.unknown_ids else ""
    data = {
        "items": [older_names.node(one) for one in found.nodes],
        "next": None,
        "more": found.more,
        "unknown_ids": list(found.unknown_ids),
    }
    return data, "\n".join(
        filter(None, (f"{len(found.nodes)} nodes{more}{unknown}", fenced(map(line_of_node, found.nodes))))
    )


@operation("memhop_knowledge_node_get", title="Read a node", result=results.KnowledgeNode)
def knowledge_node_get(host: Host, db: DB, *, id: NodeId, start: Start = 0, chars: Chars = PART) -> Answer:
    """Read one node whole; long ones in parts, with `next_start` as start. Example: {"id": "800d84fff3efd644"}"""
    node = db.knowledge.get(id)
    part, rest = in_part(node.content, start, chars)
    more = f"\n(there is more: start {rest['next_start']})" if rest["next_start"] is not None else ""
    return older_names.node(node) | {"content": part} | rest, f"{fenced([one_line(node.title), part])}{more}"


@operation("memhop_knowledge_put", title="Write a node", scope=WRITE, idempotent=True, result=results.KnowledgeNode)
def knowledge_put(
    host: Host,
    db: DB,
    *,
    graph: Annotated[str, Text("Name of the graph; it is made if there is none.")],
    title: Annotated[str, Text("Title of the node; one of that title is replaced.")],
    content: Content = None,
    node_type: NodeType = None,
    keywords: Keywords = None,
    source_ref: SourceRef = None,
) -> Answer:
    """Write down one thing that is known, such as a module, a person or a term, in a graph. For decisions and events
    use memhop_remember, for what was so from when to when memhop_fact_assert.
    Example: {"graph": "boat", "title": "Hull", "content": "Made of oak.", "node_type": "part"}"""
    node = db.knowledge.put(
        graph, title, content or "", node_type=node_type or "", keywords=keywords or (), source_ref=source_ref or ""
    )
    return {"ok": True} | older_names.node(node), line_of_node(node)


@operation(
    "memhop_knowledge_node_update", title="Change a node", scope=WRITE, idempotent=True, result=results.KnowledgeNode
)
def knowledge_node_update(
    host: Host,
    db: DB,
    *,
    id: NodeId,
    title: Annotated[str | None, Text("Its new title.")] = None,
    content: Content = None,
    node_type: NodeType = None,
    keywords: Keywords = None,
    source_ref: SourceRef = None,
) -> Answer:
    """Change what is given of a node and keep the rest; "" takes a part away.
    Example: {"id": "800d84fff3efd644", "content": "Made of oak, sealed with epoxy."}"""
    node = db.knowledge.update(
        id, title=title, content=content, node_type=node_type, keywords=keywords, source_ref=source_ref
    )
    return {"ok": True} | older_names.node(node), line_of_node(node)


@operation("memhop_knowledge_node_delete", title="Erase a node", scope=WRITE, destructive=True, idempotent=True)
def knowledge_node_delete(host: Host, db: DB, *, id: NodeId) -> Answer:
    """Erase a node for good; edges stay while they join two others. Example: {"id": "800d84fff3efd644"}"""
    return deleted(db.knowledge.delete(id), "node")


def deleted(was_there: bool, what: str) -> tuple[dict[str, Any], str]:
    """The answer of whatever erases: once it is gone, asking again does no harm."""
    return {"ok": True, "deleted": was_there}, f"the {what} is gone" if was_there else f"there was no such {what}"


def line_of_node(node: results.KnowledgeNode) -> str:
    """A node in a line."""
    kind = f" ({node.node_type})" if node.node_type else ""
    return f"{node.id} {one_line(node.title, 80)}{kind}: {one_line(node.content)}"


def _graph(graph: results.Graph) -> str:
    return f"{graph.id} {one_line(graph.name, 100)}: {graph.nodes} nodes, {graph.edges} edges"
