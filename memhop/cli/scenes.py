"""`memhop scenes …`: stretches of conversation about one subject."""

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
    ProjectOption,
    WaitOption,
    YesOption,
    typed,
)
from memhop.cli.call import Call, confirmed, run, show_page, whole_id
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

MOST_TOPICS = 100  # of one page, which the call allows


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Scenes: stretches of conversation about one subject.",
        {
            "list": list_scenes,
            "show": show,
            "rename": rename,
            "pin": pin,
            "unpin": unpin,
            "merge": merge,
            "split": split,
            "delete": delete,
        },
    )


def list_scenes(
    project: ProjectOption = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Only those that no dream has looked at.")] = False,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Scenes, that of the newest turn first. Exit code 1: there are none."""
    run(
        Call("scenes list", file, as_json),
        lambda db: db.scenes.list(project=project, fresh=fresh, limit=limit, cursor=cursor),
        show_page(("id", "last turn", "topics", "project", "name"), _row, right=(2,)),
        found=lambda page: page.items or page.next,
        nothing="no scenes",
    )


def show(
    id: IdArgument,
    query: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only topics that bear on this, best first.")
    ] = None,
    depth: Annotated[int, typer.Option(metavar="N", help="How deep to look, 1..4.")] = 1,
    limit: Annotated[int, typer.Option(metavar="N", help="Most topics, 1..100.")] = 20,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """The topics of a scene, with what was said in them."""
    run(
        Call("scenes show", file, as_json),
        lambda db: db.scenes.context(
            whole_id(db, id, "scene"),
            query=None if query is None else typed(query),
            depth=depth,
            limit=min(limit, MOST_TOPICS) if limit > 0 else limit,
            cursor=cursor,
        ),
        _show,
    )


def rename(
    id: IdArgument,
    name: Annotated[str, typer.Argument(help="Up to 200 characters; dreams leave it.")],
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Give a scene a name."""
    run(
        Call("scenes rename", file, as_json, wait),
        lambda db: db.scenes.rename(whole_id(db, id, "scene"), typed(name)),
        _said("renamed"),
        doing="renaming",
    )


def pin(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Keep dreams from changing a scene."""
    run(
        Call("scenes pin", file, as_json, wait),
        lambda db: db.scenes.pin(whole_id(db, id, "scene")),
        _said("pinned"),
        doing="pinning",
    )


def unpin(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Let dreams change a scene again."""
    run(
        Call("scenes unpin", file, as_json, wait),
        lambda db: db.scenes.pin(whole_id(db, id, "scene"), False),
        _said("unpinned"),
        doing="unpinning",
    )


def merge(
    id: IdArgument,
    others: Annotated[list[str], typer.Argument(metavar="OTHERS...", help="Ids of the scenes that go into it.")],
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Move all that is in other scenes into one; the emptied ones are gone for good."""

    def ask(db: memhop.DB) -> results.Scene:
        return db.scenes.merge(whole_id(db, id, "scene"), [whole_id(db, other, "scene") for other in others])

    run(Call("scenes merge", file, as_json, wait), ask, _said("merged"), doing="merging")


def split(
    id: IdArgument,
    topics: Annotated[list[str], typer.Argument(metavar="TOPICS...", help="Ids of the topics that move.")],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Of the new scene.")] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Move some topics of a scene into a new one."""

    def ask(db: memhop.DB) -> results.Scene:
        moving = [whole_id(db, topic, "topic") for topic in topics]
        return db.scenes.split(whole_id(db, id, "scene"), moving, None if name is None else typed(name))

    run(Call("scenes split", file, as_json, wait), ask, _said("new scene"), doing="splitting")


def delete(
    id: IdArgument,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Erase a scene for good, with every word that was said in it."""
    run(
        Call("scenes delete", file, as_json, wait),
        lambda db: db.scenes.delete(whole_id(db, id, "scene"), dry_run=dry_run),
        show_deleted,
        before=lambda: confirmed("Erase the scene and all that was said in it for good?", yes or dry_run),
        doing="erasing",
    )


def show_deleted(out: Output, done: results.Deleted) -> None:
    """Print what erasing a scene or topic reached."""
    out.say(("would be erased" if done.dry_run else "erased", "green"), f" {done.id}: {done.reason}")
    out.table(("erased", "count"), [(kind, f"{count:,}") for kind, count in done.erased.items()], right=(1,))


def _said(what: str) -> Callable[[Output, results.Scene], None]:
    return lambda out, scene: out.say((what, "green"), f" {scene.id}: {out.shorten(scene.name, 40)}")


def _row(out: Output, scene: results.Scene) -> tuple[str, ...]:
    return (
        scene.id,
        when(scene.last_at),
        f"{scene.topics:,}",
        out.shorten(scene.project, 10),
        out.shorten(scene.name, 24),
    )


def _show(out: Output, context: results.SceneContext) -> None:
    scene = context.scene
    pinned = ", pinned" if scene.pinned else ""
    out.say((scene.name, "bold"), f"  {scene.id}  project {scene.project}, {scene.topics:,} topics{pinned}")
    for part in context.topics:
        topic = part.topic
        head = topic.summary or ", ".join(topic.user_keywords) or "(no keywords)"
        out.say((topic.id, "dim"), f"  {when(topic.user_at)}  {out.shorten(head, 50)}")
        for message in part.messages:
            out.say(f"    {message.speaker or message.role}: {message.text}")
        if part.left_out:
            out.say(f"    {part.left_out:,} more messages")
    if context.next:
        out.notice(f"there is more: --cursor {context.next}")
