"""`memhop trajectory …`: what the agent did, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_PAGE,
    DEFAULT_WAIT_S,
    CursorOption,
    DryRunOption,
    FileOption,
    JsonOption,
    LimitOption,
    WaitOption,
    YesOption,
    parse_time,
    words_of,
)
from memhop.cli.call import Call, confirmed, run, show_page, whole_id
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="Your name for a run of the agent.")]


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Trajectories: what the agent did, step by step.",
        {
            "sessions": sessions,
            "list": list_steps,
            "append": append,
            "stats": stats,
            "delete": delete,
            "prune": prune,
        },
    )


def sessions(
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Sessions that have steps, the newest first. Exit code 1: there are none."""

    def row(out: Output, one: results.Session) -> tuple[str, ...]:
        return (out.shorten(one.session, 30), f"{one.steps:,}", when(one.first_at), when(one.last_at))

    run(
        Call("trajectory sessions", file, as_json),
        lambda db: db.trajectory.sessions(limit=limit, cursor=cursor),
        show_page(("session", "steps", "first", "last"), row, right=(1,)),
        found=lambda page: page.items,
        nothing="no sessions",
    )


def list_steps(
    session: SessionArgument,
    newest: Annotated[bool, typer.Option("--newest", help="The newest first.")] = False,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Steps of a session, in order. Exit code 1: it has none."""

    def row(out: Output, step: results.Event) -> tuple[str, ...]:
        return (f"{step.seq:,}", when(step.at), out.shorten(step.type, 16), out.shorten(step.payload, 36))

    run(
        Call("trajectory list", file, as_json),
        lambda db: db.trajectory.read(session, limit=limit, cursor=cursor, newest_first=newest),
        show_page(("step", "when", "type", "payload"), row, right=(0,)),
        found=lambda page: page.items,
        nothing="no steps",
    )


def append(
    session: SessionArgument,
    type: Annotated[str, typer.Argument(help="Such as tool_call, tool_result, llm_output, turn_end.")],
    payload: Annotated[str, typer.Argument(help="What was called or came back; - reads it from standard input.")] = "",
    at: Annotated[str | None, typer.Option(metavar="ISO", help="When; default: now.")] = None,
    message: Annotated[str | None, typer.Option(metavar="ID", help="The message it belongs to.")] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Append a step to a session; the file is created if there is none."""

    def ask(db: memhop.DB) -> results.Event:
        belongs = whole_id(db, message, "message") if message else None
        moment = parse_time(at, field="--at")
        return db.trajectory.append(session, type, words_of(payload), at=moment, message_id=belongs)

    def show(out: Output, step: results.Event) -> None:
        cut = f", {step.cut_bytes:,} bytes cut" if step.cut_bytes else ""
        out.say(("stored", "green"), f" step {step.seq:,} of {step.session}{cut}")

    run(
        Call("trajectory append", file, as_json, wait, create=True),
        ask,
        show,
        before=lambda: (words_of(payload), parse_time(at, field="--at")),
        doing="storing",
    )


def stats(session: SessionArgument, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """How many steps of which types, from when to when. Exit code 1: there are none."""

    def show(out: Output, found: results.TrajectoryStats) -> None:
        begin, end = (when(moment) if moment else "-" for moment in (found.first_at, found.last_at))
        out.say(f"{found.steps:,} steps from {begin} to {end}, {found.bytes:,} bytes, {found.cut_bytes:,} more cut")
        out.table(("type", "steps"), [(name, f"{count:,}") for name, count in found.by_type.items()], right=(1,))

    run(
        Call("trajectory stats", file, as_json),
        lambda db: db.trajectory.stats(session),
        show,
        found=lambda found: found.steps,
        nothing="no steps",
    )


def delete(
    session: SessionArgument,
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Delete the steps a session has now. Exit code 1: it has none."""
    run(
        Call("trajectory delete", file, as_json, wait),
        lambda db: {"session": session, "deleted": db.trajectory.delete(session)},
        lambda out, done: out.say(("deleted", "green"), f" {done['deleted']:,} steps"),
        before=lambda: confirmed("Delete the steps of the session?", yes),
        found=lambda done: done["deleted"],
        nothing="no steps",
        doing="deleting",
    )


def prune(
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this session.")] = None,
    before: Annotated[str | None, typer.Option(metavar="ISO", help="Steps from before this time.")] = None,
    keep_last: Annotated[int | None, typer.Option(metavar="N", help="All but the last so many of a session.")] = None,
    dry_run: DryRunOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Drop old steps, by --before or by --keep-last."""
    run(
        Call("trajectory prune", file, as_json, wait),
        lambda db: db.trajectory.prune(
            session, before=parse_time(before, field="--before"), keep_last=keep_last, dry_run=dry_run
        ),
        lambda out, done: out.say(
            ("would drop" if done.dry_run else "dropped", "green"),
            f" {done.events:,} steps of {done.sessions:,} sessions",
        ),
        doing="pruning",
    )
