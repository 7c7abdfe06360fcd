"""`memhop messages list | show | append`: what was said, word for word."""

from __future__ import annotations

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
    parse_time,
    words_of,
)
from memhop.cli.call import Call, run, show_page, whole_id
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when
from memhop.common.config import check_text

if TYPE_CHECKING:
    import memhop
    from memhop.api import results


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of("Messages: what was said, word for word.", {"list": list_messages, "show": show, "append": append})


def list_messages(
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only this session.")] = None,
    topic: Annotated[str | None, typer.Option(metavar="ID", help="Only what was said in this topic.")] = None,
    since: Annotated[str | None, typer.Option(metavar="ISO", help="Only from then on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="ISO", help="Only from before then.")] = None,
    holding: Annotated[str | None, typer.Option(metavar="TEXT", help="Only with this in the text.")] = None,
    oldest: Annotated[bool, typer.Option("--oldest", help="The oldest first.")] = False,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Messages, the newest first. Exit code 1: there are none."""
    run(
        Call("messages list", file, as_json),
        lambda db: db.archive.list(
            session=session,
            topic_id=None if topic is None else whole_id(db, topic, "topic"),
            since=parse_time(since, field="--since"),
            until=parse_time(until, field="--until"),
            keyword=holding,
            limit=limit,
            cursor=cursor,
            newest_first=not oldest,
        ),
        show_page(("id", "when", "who", "text"), _row),
        found=lambda page: page.items,
        nothing="no messages",
    )


def show(id: IdArgument, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """One message, whole; `memhop show` tells more about it."""
    run(Call("messages show", file, as_json), lambda db: db.archive.get(whole_id(db, id, "message")), _show)


def append(
    text: Annotated[str, typer.Argument(help="What was said; - reads it from standard input.")],
    role: Annotated[str, typer.Option(metavar="NAME", help="user, agent, system or tool.")] = "user",
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Your name for the conversation.")] = None,
    project: Annotated[str, typer.Option(metavar="NAME", help="Where it belongs.")] = "default",
    at: Annotated[str | None, typer.Option(metavar="ISO", help="When it was said; default: now.")] = None,
    external_id: Annotated[
        str | None, typer.Option(metavar="NAME", help="Your own name for it; a known one is not stored again.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Store a message without looking for anything; the file is created if there is none."""

    def ask(db: memhop.DB) -> results.Message:
        given: dict[str, Any] = {
            "text": words_of(text),
            "role": role,
            "speaker": speaker,
            "session": session,
            "project": project,
        }
        given |= {"at": parse_time(at, field="--at"), "external_id": external_id}
        (id_,) = db.archive.append_many([{name: value for name, value in given.items() if value is not None}])
        return db.archive.get(id_)

    run(
        Call("messages append", file, as_json, wait, create=True),
        ask,
        lambda out, said: out.say(("stored", "green"), f" {said.id}  ({said.role}, {when(said.at)})"),
        before=lambda: (check_text(words_of(text), field="text"), parse_time(at, field="--at")),
        doing="storing",
    )


def _row(out: Output, message: results.Message) -> tuple[str, ...]:
    who = out.shorten(message.speaker or message.role, 16)
    return (message.id, when(message.at), who, out.shorten(message.text, 24))


def _show(out: Output, message: results.Message) -> None:
    out.say((message.id, "bold"), f"  {when(message.at)}  {message.speaker or message.role}")
    out.say(f"session {message.session or '-'}, scene {message.scene_id or '-'}, topic {message.topic_id or '-'}")
    out.raw(message.text)
