"""Questions about what is stored: `why-not`, `usage`, and `show` for everything about one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    EmbedderOption,
    FileOption,
    IdArgument,
    JsonOption,
    embedder_called,
    typed,
    words_of,
)
from memhop.cli.call import Call, run, whole_id
from memhop.cli.output import Output, when

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

QueryArgument = Annotated[str, typer.Argument(help="The question; - reads it from standard input.")]
LayersOption = Annotated[
    list[str] | None,
    typer.Option("--layer", metavar="NAME", help="Only messages, notes, topics, knowledge or capabilities."),
]
ProjectsOption = Annotated[
    list[str] | None, typer.Option("--project", metavar="NAME", help="Only this project; may be given often.")
]


def why_not(
    id: IdArgument,
    query: QueryArgument,
    limit: Annotated[int, typer.Option(metavar="N", help="Hits it would have to be among, 1..1000.")] = 10,
    project: ProjectsOption = None,
    layer: LayersOption = None,
    kind: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this kind; may be given often.")] = None,
    tier: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="active (default), archived, trashed or all.")
    ] = None,
    embedder: EmbedderOption = "none",
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Why something is not among the hits of a question. Exit code 1: it is not; 0: it is."""
    run(
        Call("why-not", file, as_json),
        lambda db: db.why_not(
            whole_id(db, id),
            words_of(query),
            limit=limit,
            project=project,
            layers=layer,
            kinds=kind,
            tier=tier or "active",
        ),
        lambda out, found: out.say(found.reason),
        well=lambda found: found.returned,
        embedder=lambda: embedder_called(embedder),
    )


def usage(id: IdArgument, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """How often a scene, a note or a card was recalled."""
    run(
        Call("usage", file, as_json),
        lambda db: db.usage(whole_id(db, id, "scene", "note", "card")),
        lambda out, used: out.say(_used(used)),
    )


def show(
    id: IdArgument,
    query: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Also say whether it would be found by this.")
    ] = None,
    embedder: EmbedderOption = "none",
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Everything about one thing: its words, where it comes from, what it is linked to, its history, its vectors."""

    def ask(db: memhop.DB) -> results.About:
        return db.about(whole_id(db, id), query=None if query is None else typed(query))

    run(Call("show", file, as_json), ask, _show, embedder=lambda: embedder_called(embedder))


def _used(used: results.Usage) -> str:
    last = f", last {when(used.last_at)}" if used.last_at else ""
    copies = f"; said again {used.copies:,} times" if used.copies else ""
    return f"recalled {used.hits:,} times{last}{copies}"


def _show(out: Output, found: results.About) -> None:
    where = f", project {found.project}" if found.project else ""
    out.say((found.kind, "bold"), f" {found.id}  {found.layer}{where}, {when(found.at)}")
    out.raw(found.text)
    out.say()
    rows = [(name, _text(value)) for name, value in found.record.to_dict().items() if name not in _SHOWN]
    out.table(("what", "value"), [(name, value) for name, value in rows if value])
    for title, related in (
        ("comes from", found.origin),
        ("is linked to", found.links),
        ("is linked by", found.linked_by),
    ):
        if related:
            out.say()
            lines = [(one.relation, one.kind, one.id or "-", out.shorten(one.text, 36)) for one in related]
            out.table((title, "kind", "id", "text"), lines)
    if found.left_out:
        out.notice(f"{found.left_out:,} more are linked by it")
    if found.history:
        out.say()
        out.table(("history", "what", "by"), [(when(one.at), one.what, one.by or "-") for one in found.history])
    out.say()
    if found.usage:
        out.say(_used(found.usage))
    if not found.searched:
        out.say("recall does not look at it")
    elif found.vectors:
        out.say("vectors: ", "; ".join(f"{one.space}: {one.state}" for one in found.vectors))
    else:
        out.say("vectors: the memory has none")
    if found.standing:
        out.say(("found: " if found.standing.returned else "not found: ", "bold"), found.standing.reason)


_SHOWN = frozenset(  # told elsewhere
    {"id", "text", "name", "content", "title", "links", "link_types", "message_ids", "created", "session", "scene_id"}
    | {"topic_id", "graph_id", "source", "source_ref", "external_id", "project", "node_ids", "sources", "children"}
)


def _text(value: object) -> str:
    """A value of a record on one line; "" where it says nothing."""
    if value is None or value == "" or value == [] or value == {} or value is False:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key}={_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    return str(value)
