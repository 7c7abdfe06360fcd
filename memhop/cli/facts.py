"""`memhop facts …`: what was so, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

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
    parse_time,
    typed,
)
from memhop.cli.call import Call, confirmed, run, show_page, whole_id
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

SubjectArgument = Annotated[str, typer.Argument(metavar="SUBJECT", help="Such as Ann.")]
PredicateArgument = Annotated[str, typer.Argument(metavar="PREDICATE", help='Such as "lives in".')]


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Dated facts: what was so, and when.",
        {
            "list": list_facts,
            "history": history,
            "assert": assert_,
            "close": close,
            "retract": retract,
            "delete": delete,
        },
    )


def list_facts(
    subject: Annotated[str | None, typer.Option(metavar="NAME", help="Only on this subject.")] = None,
    predicate: Annotated[str | None, typer.Option(metavar="NAME", help="Only with this predicate.")] = None,
    as_of: Annotated[str | None, typer.Option(metavar="ISO", help="What was so then; default: now.")] = None,
    known_at: Annotated[str | None, typer.Option(metavar="ISO", help="As it was known then; default: now.")] = None,
    closed: Annotated[bool, typer.Option("--closed", help="All periods, past and to come.")] = False,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Facts that hold, by the beginning of their period. Exit code 1: there are none."""
    run(
        Call("facts list", file, as_json),
        lambda db: db.facts.list(
            subject,
            predicate,
            as_of=parse_time(as_of, field="--as-of"),
            known_at=parse_time(known_at, field="--known-at"),
            include_closed=closed,
            limit=limit,
            cursor=cursor,
        ),
        show_page(_HEADERS, _row),
        found=lambda page: page.items,
        nothing="no facts",
    )


def history(
    subject: SubjectArgument,
    predicate: PredicateArgument,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """All that was ever said on a subject and predicate, what was taken back too. Exit code 1: nothing."""
    run(
        Call("facts history", file, as_json),
        lambda db: db.facts.history(typed(subject), typed(predicate), limit=limit, cursor=cursor),
        show_page(_HEADERS, _row),
        found=lambda page: page.items,
        nothing="no facts",
    )


def assert_(
    subject: SubjectArgument,
    predicate: PredicateArgument,
    value: Annotated[str, typer.Argument(help="Such as Oslo.")],
    since: Annotated[str | None, typer.Option(metavar="ISO", help="Since when; default: the source, or now.")] = None,
    until: Annotated[str | None, typer.Option(metavar="ISO", help="Until when, exclusive.")] = None,
    source: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="What it was drawn from; may be given often.")
    ] = None,
    many: Annotated[bool, typer.Option("--many", help="The subject may have several such values at a time.")] = False,
    confidence: Annotated[float, typer.Option(metavar="SHARE", help="How sure it is, 0..1.")] = 1.0,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Say that something is or was so; the file is created if there is none."""

    def ask(db: memhop.DB) -> results.Fact:
        return db.facts.assert_(
            typed(subject),
            typed(predicate),
            typed(value),
            valid_from=parse_time(since, field="--since"),
            valid_to=parse_time(until, field="--until"),
            sources=[whole_id(db, one) for one in source or ()],
            many=many,
            confidence=confidence,
        )

    run(
        Call("facts assert", file, as_json, wait, create=True),
        ask,
        _said("asserted"),
        before=lambda: (parse_time(since, field="--since"), parse_time(until, field="--until")),
        doing="storing",
    )


def close(
    id: IdArgument,
    until: Annotated[str | None, typer.Option(metavar="ISO", help="When it ended, exclusive; default: now.")] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Say that a fact ends, or ended."""
    run(
        Call("facts close", file, as_json, wait),
        lambda db: db.facts.close(whole_id(db, id, "fact"), parse_time(until, field="--until")),
        _said("closed"),
        doing="closing",
    )


def retract(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Say that a fact never was so. Its history stays."""
    run(
        Call("facts retract", file, as_json, wait),
        lambda db: db.facts.retract(whole_id(db, id, "fact")),
        _said("retracted"),
        doing="retracting",
    )


def delete(
    id: IdArgument,
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Erase a fact for good. Exit code 1: there is none."""
    run(
        Call("facts delete", file, as_json, wait),
        lambda db: {"deleted": db.facts.delete(whole_id(db, id, "fact"))},
        lambda out, _: out.say(("erased", "green")),
        before=lambda: confirmed("Erase the fact for good?", yes),
        found=lambda done: done["deleted"],
        nothing="there is no such fact",
        doing="erasing",
    )


_HEADERS = ("id", "from", "to", "fact")


def _row(out: Output, fact: results.Fact) -> tuple[str, ...]:
    until = "retracted" if fact.retracted_at else when(fact.valid_to) if fact.valid_to else "-"
    return (fact.id, when(fact.valid_from), until, out.shorten(f"{fact.subject} {fact.predicate} {fact.value}", 30))


def _said(what: str) -> Callable[[Output, results.Fact], None]:
    def show(out: Output, fact: results.Fact) -> None:
        until = f" until {when(fact.valid_to)}" if fact.valid_to else ""
        out.say((what, "green"), f" {fact.id}: {fact.subject} {fact.predicate} {fact.value}")
        out.say(f"from {when(fact.valid_from)}{until}")

    return show
