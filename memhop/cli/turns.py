"""The turns of a conversation: `search` and `update`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_WAIT_S,
    EmbedderOption,
    FileOption,
    JsonOption,
    WaitOption,
    embedder_called,
    parse_time,
    words_of,
)
from memhop.cli.call import Call, run, whole_id
from memhop.cli.output import Output, when
from memhop.common.config import check_text

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

AtOption = Annotated[str | None, typer.Option("--at", metavar="ISO", help="When it was said; default: now.")]
SpeakerOption = Annotated[str | None, typer.Option("--speaker", metavar="NAME", help="Who said it.")]
ExternalOption = Annotated[
    str | None,
    typer.Option("--external-id", metavar="NAME", help="Your own name for it; a known one is not stored again."),
]


def search(
    text: Annotated[str, typer.Argument(help="What the user said; - reads it from standard input.")],
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Your name for the conversation.")] = None,
    speaker: SpeakerOption = None,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where it belongs, and where to look; default: look everywhere.")
    ] = None,
    at: AtOption = None,
    external_id: ExternalOption = None,
    scene: Annotated[str | None, typer.Option(metavar="ID", help="Put the turn into this scene.")] = None,
    graph: Annotated[str | None, typer.Option(metavar="ID", help="Look in this knowledge graph only.")] = None,
    new_scene: Annotated[bool, typer.Option("--new-scene", help="Begin a new scene.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", help="Most hits, 1..1000.")] = 10,
    budget: Annotated[int, typer.Option(metavar="TOKENS", help="Room for the packed context, 0..100000.")] = 2000,
    embedder: EmbedderOption = "none",
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Store what the user said, and find what bears on it; the file is created if there is none."""

    def ask(db: memhop.DB) -> results.SearchResult:
        return db.search(
            words_of(text),
            parse_time(at, field="--at"),
            session=session,
            speaker=speaker,
            project=project,
            external_id=external_id,
            directed_l2_id=whole_id(db, scene, "scene") if scene else None,
            directed_l3_id=whole_id(db, graph, "graph") if graph else None,
            auto_create=new_scene,
            limit=limit,
            token_budget=budget,
        )

    run(
        Call("search", file, as_json, wait, create=True),
        ask,
        _show_found,
        before=lambda: (check_text(words_of(text), field="text"), parse_time(at, field="--at")),
        embedder=lambda: embedder_called(embedder),
    )


def update(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Of the turn, as `memhop search` printed it.")],
    text: Annotated[str, typer.Argument(help="The reply; - reads it from standard input.")],
    role: Annotated[str, typer.Option(metavar="NAME", help="agent, user, system or tool.")] = "agent",
    speaker: SpeakerOption = None,
    at: AtOption = None,
    external_id: ExternalOption = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Append a reply to a turn that was stored by `memhop search`."""
    run(
        Call("update", file, as_json, wait),
        lambda db: db.update(
            whole_id(db, topic, "topic"),
            words_of(text),
            parse_time(at, field="--at"),
            role=role,
            speaker=speaker,
            external_id=external_id,
        ),
        lambda out, said: out.say(("stored", "green"), f" {said.id} ({said.role}, {when(said.at)})"),
        doing="storing",
    )


def _show_found(out: Output, found: results.SearchResult) -> None:
    from memhop.cli.recall_view import show_recall

    show_recall(out, found.recall, context_only=False, explain=False)
    made = "new scene" if found.new_scene else "scene"
    out.say(("stored", "green"), f" {found.message_id} in {made} {found.scene_id}")
    out.say(f"topic {found.new_topic_id}: give the reply to `memhop update`")
