"""`memhop topics …`: the turns of a scene, and what they were fused to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_PAGE,
    DEFAULT_WAIT_S,
    CursorOption,
    DryRunOption,
    FileOption,
    IdArgument,
    JsonOption,
    LimitOption,
    WaitOption,
    YesOption,
    typed,
)
from memhop.cli.call import Call, confirmed, run, show_page, whole_id
from memhop.cli.configuration import chat_model
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when
from memhop.cli.scenes import show_deleted

if TYPE_CHECKING:
    import memhop
    from memhop.api import results


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Topics: the turns of a scene, and what they were fused to.",
        {
            "list": list_topics,
            "show": show,
            "refine": refine,
            "pin": pin,
            "unpin": unpin,
            "merge": merge,
            "unmerge": unmerge,
            "delete": delete,
        },
    )


def list_topics(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="Id of the scene.")],
    depth: Annotated[int | None, typer.Option(metavar="N", help="Only those at this depth, 1..4.")] = None,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Topics of a scene, by time. Exit code 1: there are none."""
    run(
        Call("topics list", file, as_json),
        lambda db: db.topics.list(whole_id(db, scene, "scene"), depth=depth, limit=limit, cursor=cursor),
        show_page(("id", "when", "depth", "about"), _row, right=(2,)),
        found=lambda page: page.items or page.next,
        nothing="no topics",
    )


def show(id: IdArgument, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """What was said in a topic."""

    def ask(db: memhop.DB) -> dict[str, object]:
        topic = whole_id(db, id, "topic")
        said = [message.to_dict() for message in db.topics.messages(topic)]
        return {"topic": db.topics.get(topic).to_dict(), "messages": said}

    run(Call("topics show", file, as_json), ask, _show)


def refine(
    id: IdArgument,
    keywords: Annotated[
        list[str] | None, typer.Argument(metavar="KEYWORDS...", help="Most telling first; none: worked out anew.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Ask this chat model; default: that of the settings, or none.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Give a topic other keywords, or have them worked out anew."""
    words = [typed(word) for word in keywords] if keywords else None
    run(
        Call("topics refine", file, as_json, wait),
        lambda db: db.topics.refine(whole_id(db, id, "topic"), words),
        _said("refined"),
        doing="refining",
        llm=(lambda: chat_model(model)) if words is None else None,
    )


def pin(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Keep dreams from changing a topic."""
    run(
        Call("topics pin", file, as_json, wait),
        lambda db: db.topics.pin(whole_id(db, id, "topic")),
        _said("pinned"),
        doing="pinning",
    )


def unpin(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Let dreams change a topic again."""
    run(
        Call("topics unpin", file, as_json, wait),
        lambda db: db.topics.pin(whole_id(db, id, "topic"), False),
        _said("unpinned"),
        doing="unpinning",
    )


def merge(
    ids: Annotated[list[str], typer.Argument(metavar="IDS...", help="2 to 64 topics of one scene.")],
    summary: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the fused topic says; default: sentences of the messages.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Fuse topics into one above them; dreams leave it."""
    run(
        Call("topics merge", file, as_json, wait),
        lambda db: db.topics.merge(
            [whole_id(db, id, "topic") for id in ids], None if summary is None else typed(summary)
        ),
        _said("fused into"),
        doing="fusing",
    )


def unmerge(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Take a fused topic apart, whoever fused it."""

    def show(out: Output, members: tuple[results.Topic, ...]) -> None:
        out.say(("taken apart", "green"), f" into {len(members):,} topics")
        out.table(("id", "when", "depth", "about"), [_row(out, topic) for topic in members], right=(2,))

    run(
        Call("topics unmerge", file, as_json, wait),
        lambda db: db.topics.unmerge(whole_id(db, id, "topic")),
        show,
        doing="taking apart",
    )


def delete(
    id: IdArgument,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Erase a topic for good, with every word that was said in it."""
    run(
        Call("topics delete", file, as_json, wait),
        lambda db: db.topics.delete(whole_id(db, id, "topic"), dry_run=dry_run),
        show_deleted,
        before=lambda: confirmed("Erase the topic and all that was said in it for good?", yes or dry_run),
        doing="erasing",
    )


def _said(what: str) -> Callable[[Output, results.Topic], None]:
    return lambda out, topic: out.say((what, "green"), f" {topic.id}: {out.shorten(_about(topic), 40)}")


def _about(topic: results.Topic) -> str:
    return topic.summary or ", ".join(topic.user_keywords + topic.agent_keywords) or "(no keywords)"


def _row(out: Output, topic: results.Topic) -> tuple[str, ...]:
    return (topic.id, when(topic.user_at), f"{topic.depth}", out.shorten(_about(topic), 36))


def _show(out: Output, found: dict[str, object]) -> None:
    topic, messages = found["topic"], found["messages"]
    assert isinstance(topic, dict)
    assert isinstance(messages, list)
    about = topic["summary"] or ", ".join([*topic["user_keywords"], *topic["agent_keywords"]])
    out.say((topic["id"], "bold"), f"  scene {topic['scene_id'] or '-'}, depth {topic['depth']}")
    out.say(f"{about or '(no keywords)'}")
    for message in messages:
        out.say(
            f"    {message['at'][:16].replace('T', ' ')}  {message['speaker'] or message['role']}: {message['text']}"
        )
