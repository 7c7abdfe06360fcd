"""`memhop knowledge …`: graphs, their nodes, and the edges between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_PAGE,
    DEFAULT_WAIT_S,
    CursorOption,
    FileOption,
    IdArgument,
    JsonOption,
    LimitOption,
    WaitOption,
    YesOption,
    typed,
    words_of,
)
from memhop.cli.call import Call, confirmed, run, show_page, whole_id
from memhop.cli.groups import group_of
from memhop.cli.output import Output
from memhop.common.errors import InvalidRequest, NotFound, StorageError

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

GraphArgument = Annotated[str, typer.Argument(metavar="GRAPH", help="Its name or id.")]
_MOST_BYTES = 256 * 1024 * 1024  # of a file to import


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Knowledge: graphs, their nodes, and the edges between them.",
        {
            "graphs": graphs,
            "nodes": nodes,
            "node": node,
            "query": query,
            "around": around,
            "put": put,
            "connect": connect,
            "import": import_,
            "delete": delete,
        },
    )


def graphs(
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Graphs, by creation. Exit code 1: there are none."""
    run(
        Call("knowledge graphs", file, as_json),
        lambda db: db.knowledge.graphs(limit=limit, cursor=cursor),
        show_page(("id", "nodes", "edges", "name"), _graph_row, right=(1, 2)),
        found=lambda page: page.items,
        nothing="no graphs",
    )


def nodes(
    graph: GraphArgument,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Nodes of a graph, by creation. Exit code 1: it has none."""
    run(
        Call("knowledge nodes", file, as_json),
        lambda db: db.knowledge.nodes(_graph(db, graph), limit=limit, cursor=cursor),
        show_page(_HEADERS, _node_row),
        found=lambda page: page.items,
        nothing="no nodes",
    )


def node(id: IdArgument, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """One node, whole; `memhop show` also tells what it is linked to."""
    run(Call("knowledge node", file, as_json), lambda db: db.knowledge.get(whole_id(db, id, "node")), _show_node)


def query(
    graph: GraphArgument,
    keyword: Annotated[str | None, typer.Option(metavar="TEXT", help="Nodes that hold it, anywhere.")] = None,
    type: Annotated[str | None, typer.Option(metavar="NAME", help="Nodes of exactly this type.")] = None,
    limit: LimitOption = DEFAULT_PAGE,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Nodes of a graph by a keyword or by type. Exit code 1: there are none."""

    def show(out: Output, found: results.NodesFound) -> None:
        out.table(_HEADERS, [_node_row(out, one) for one in found.nodes])
        if found.more:
            out.notice("there are more: see --limit")

    run(
        Call("knowledge query", file, as_json),
        lambda db: db.knowledge.query(
            _graph(db, graph), keyword=None if keyword is None else typed(keyword), node_type=type, limit=limit
        ),
        show,
        found=lambda found: found.nodes,
        nothing="no nodes",
    )


def around(
    id: IdArgument,
    depth: Annotated[int, typer.Option(metavar="N", help="Edges between it and the farthest node, 0..64.")] = 1,
    relation: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Follow only these; may be given often.")
    ] = None,
    limit: LimitOption = 100,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """What lies around a node, the nearest first."""

    def ask(db: memhop.DB) -> results.Subgraph:
        start = db.knowledge.get(whole_id(db, id, "node"))
        if start.graph_id is None:
            raise NotFound("the graph of this node was lost", field="id")
        return db.knowledge.subgraph(start.graph_id, start.id, max_depth=depth, relations=relation, limit=limit)

    run(Call("knowledge around", file, as_json), ask, _show_around)


def put(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="Its name; created if there is none.")],
    title: Annotated[str, typer.Argument(help="Unique in the graph; a node of this title is replaced.")],
    content: Annotated[str, typer.Argument(help="Its text; - reads it from standard input.")] = "",
    type: Annotated[str, typer.Option(metavar="NAME", help="A word of your own.")] = "",
    keyword: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="To find it by; may be given often.")
    ] = None,
    source: Annotated[str, typer.Option(metavar="TEXT", help="Where it is from, such as a line of a file.")] = "",
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Write a node, in a new graph if there is none of that name; the file is created if there is none."""
    run(
        Call("knowledge put", file, as_json, wait, create=True),
        lambda db: db.knowledge.put(
            typed(graph),
            typed(title),
            words_of(content),
            node_type=type,
            keywords=[typed(word) for word in keyword or ()],
            source_ref=typed(source),
        ),
        lambda out, made: out.say(("written", "green"), f" {made.id}: {made.title}"),
        before=lambda: words_of(content),
        doing="storing",
    )


def connect(
    ids: Annotated[list[str], typer.Argument(metavar="IDS...", help="Two nodes of one graph, or more.")],
    relation: Annotated[
        str, typer.Option(metavar="NAME", help="related, causal, part_of, sequence, dependency or custom.")
    ] = "related",
    weight: Annotated[float, typer.Option(metavar="SHARE", help="0..1.")] = 1.0,
    label: Annotated[str, typer.Option(metavar="TEXT", help="A few words on how they belong together.")] = "",
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Write an edge between nodes."""

    def ask(db: memhop.DB) -> results.KnowledgeEdge:
        whole = [whole_id(db, id, "node") for id in ids]
        graph = db.knowledge.get(whole[0]).graph_id
        if graph is None:
            raise NotFound("the graph of this node was lost", field="id")
        return db.knowledge.connect(graph, whole, relation, weight=weight, label=typed(label))

    run(
        Call("knowledge connect", file, as_json, wait),
        ask,
        lambda out, edge: out.say(("connected", "green"), f" {edge.id}: {edge.relation} {edge.weight:g}"),
        doing="connecting",
    )


def import_(
    path: Annotated[Path, typer.Argument(help="JSON: a list of nodes with graph and title, or one in each line.")],
    mode: Annotated[str, typer.Option(metavar="NAME", help="Nodes that are there: skip, merge or overwrite.")] = "skip",
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Write many nodes in one commit; the file is created if there is none. Exit code 1: some do not do."""

    def show(out: Output, done: results.Imported) -> None:
        out.say(
            ("imported", "green"),
            f": {len(done.created_ids):,} created, {len(done.updated_ids):,} updated, "
            f"{len(done.unchanged_ids):,} unchanged, {len(done.edge_ids):,} edges, {done.skipped:,} skipped",
        )
        rows = [(f"{one.index}", one.title or "-", one.field or "-", one.message) for one in done.errors]
        if rows:
            out.table(("item", "title", "field", "what is wrong"), rows, right=(0,))

    run(
        Call("knowledge import", file, as_json, wait, create=True),
        lambda db: db.knowledge.import_(_items(path), mode),
        show,
        well=lambda done: not done.errors,
        before=lambda: _items(path),
        doing="importing",
    )


def delete(
    id: Annotated[str, typer.Argument(metavar="ID", help="Of a graph, a node or an edge; of a graph also its name.")],
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Erase a graph with all that is in it, a node, or an edge, for good. Exit code 1: there is none."""

    def ask(db: memhop.DB) -> dict[str, bool]:
        named = db.knowledge.find_graph(typed(id))
        whole = named.id if named else whole_id(db, id, "graph", "node", "edge")
        kinds = {one.kind for one in db.lookup(whole)}
        if "node" in kinds:
            return {"deleted": db.knowledge.delete(whole)}
        gone = db.knowledge.disconnect(whole) if "edge" in kinds else db.knowledge.delete_graph(whole)
        return {"deleted": gone}

    run(
        Call("knowledge delete", file, as_json, wait),
        ask,
        lambda out, _: out.say(("erased", "green")),
        before=lambda: confirmed("Erase it for good?", yes),
        found=lambda done: done["deleted"],
        nothing="there is no such thing",
        doing="erasing",
    )


_HEADERS = ("id", "type", "title", "content")


def _graph(db: memhop.DB, name: str) -> str:
    """The id of a graph that was given by name or id."""
    found = db.knowledge.find_graph(typed(name))
    if found is not None:
        return found.id
    try:
        return whole_id(db, name, "graph")
    except (InvalidRequest, NotFound):
        raise NotFound(
            f"there is no graph {name[:40]!r}", field="GRAPH", hint="see `memhop knowledge graphs`"
        ) from None


def _items(path: Path) -> list[dict[str, Any]]:
    """What a file of nodes holds. Raises InvalidRequest and StorageError."""
    import json

    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidRequest("the file is too large", field="PATH", allowed=f"at most {_MOST_BYTES:,} bytes")
        text = path.read_text("utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}", field="PATH") from None
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"byte {error.start} is not UTF-8", field="PATH", allowed="UTF-8") from None
    try:
        if text.lstrip().startswith("["):
            return list(json.loads(text))
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(
            f"it is no JSON: {error}", field="PATH", allowed="a list, or an object in each line"
        ) from None


def _graph_row(out: Output, graph: results.Graph) -> tuple[str, ...]:
    return (graph.id, f"{graph.nodes:,}", f"{graph.edges:,}", out.shorten(graph.name, 40))


def _node_row(out: Output, one: results.KnowledgeNode) -> tuple[str, ...]:
    return (one.id, out.shorten(one.node_type or "-", 12), out.shorten(one.title, 24), out.shorten(one.content, 22))


def _show_node(out: Output, one: results.KnowledgeNode) -> None:
    out.say((one.title, "bold"), f"  {one.id}  {one.node_type or ''}")
    out.say(f"graph {one.graph_id or '-'}; keywords {', '.join(one.keywords) or '-'}; source {one.source_ref or '-'}")
    if one.content:
        out.raw(one.content)


def _show_around(out: Output, found: results.Subgraph) -> None:
    rows = [(f"{depth}", *_node_row(out, one)) for one, depth in zip(found.nodes, found.depths, strict=True)]
    out.table(("distance", *_HEADERS), rows, right=(0,))
    titles = {one.id: out.shorten(one.title, 24) for one in found.nodes}
    edges = [
        (edge.relation, f"{edge.weight:g}", ", ".join(titles.get(id_, id_) for id_ in edge.node_ids), edge.label or "-")
        for edge in found.edges
    ]
    if edges:
        out.table(("relation", "weight", "between", "label"), edges, right=(1,))
    if found.cut:
        out.notice(found.cut)
