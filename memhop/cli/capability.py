"""`memhop capability …` and `memhop crystallize`: what the agent can do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
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
    words_of,
)
from memhop.cli.call import Call, confirmed, run, show_page, whole_id
from memhop.cli.configuration import chat_model
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when
from memhop.common.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

CardArgument = Annotated[str, typer.Argument(metavar="CARD", help="Its name or id.")]


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Capability cards: what the agent can do, and when.",
        {
            "list": list_cards,
            "show": show,
            "match": match,
            "import": import_,
            "activate": activate,
            "deprecate": deprecate,
            "delete": delete,
        },
    )


def list_cards(
    status: Annotated[str | None, typer.Option(metavar="NAME", help="Only draft, active or deprecated ones.")] = None,
    keyword: Annotated[str | None, typer.Option(metavar="TEXT", help="Only those that hold it.")] = None,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Cards of the file, the last changed first, then those that come with MemHop."""
    run(
        Call("capability list", file, as_json),
        lambda db: db.capabilities.list(status=status, keyword=keyword, limit=limit, cursor=cursor),
        show_page(("name", "status", "origin", "summary"), _row),
        found=lambda page: page.items or page.next,
        nothing="no cards",
    )


def show(
    card: CardArgument,
    language: Annotated[str | None, typer.Option(metavar="CODE", help="Of its texts, such as zh.")] = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """One card, whole."""
    run(
        Call("capability show", file, as_json),
        lambda db: db.capabilities.get(_card(db, card), language=language),
        _show,
    )


def match(
    text: Annotated[str, typer.Argument(help="What is to be done; - reads it from standard input.")],
    limit: Annotated[int, typer.Option(metavar="N", help="Most cards, 1..100.")] = 3,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Active cards that fit a text, best first. Exit code 1: none does."""

    def show(out: Output, found: tuple[results.CardMatch, ...]) -> None:
        rows = [
            (f"{one.score:.3f}", one.card.name, ", ".join(one.terms), out.shorten(one.card.summary, 40))
            for one in found
        ]
        out.table(("score", "name", "for", "summary"), rows, right=(0,))

    run(
        Call("capability match", file, as_json),
        lambda db: db.capabilities.match(words_of(text), limit=limit),
        show,
        found=bool,
        nothing="no card fits",
    )


def import_(
    path: Annotated[Path, typer.Argument(help="A card, or a folder of them.")],
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Take cards over, active at once; the file is created if there is none. Exit code 1: some are no cards."""
    run(
        Call("capability import", file, as_json, wait, create=True),
        lambda db: db.capabilities.import_(path),
        _show_imported,
        well=lambda done: not done.errors,
        before=lambda: _must_exist(path),
        doing="importing",
    )


def activate(
    card: CardArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Offer a draft, or again a deprecated card."""
    run(
        Call("capability activate", file, as_json, wait),
        lambda db: db.capabilities.activate(_card(db, card)),
        _said("active"),
        doing="activating",
    )


def deprecate(
    card: CardArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Offer an active card no more. It stays, with its statistics."""
    run(
        Call("capability deprecate", file, as_json, wait),
        lambda db: db.capabilities.deprecate(_card(db, card)),
        _said("deprecated"),
        doing="deprecating",
    )


def delete(
    card: CardArgument,
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Delete a card with its statistics. Exit code 1: there is none."""
    run(
        Call("capability delete", file, as_json, wait),
        lambda db: {"deleted": db.capabilities.delete(_card(db, card))},
        lambda out, _: out.say(("deleted", "green"), f" {card}"),
        before=lambda: confirmed("Delete the card?", yes),
        found=lambda done: done["deleted"],
        nothing="there is no such card",
        doing="deleting",
    )


def crystallize(
    session: Annotated[str, typer.Argument(help="A session of `memhop trajectory`.")],
    approve: Annotated[bool, typer.Option("--approve", help="Active cards may be changed too.")] = False,
    dry_run: DryRunOption = False,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Ask this chat model; default: that of the settings, or none.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Draft capability cards from what the agent did in a session."""

    def show(out: Output, done: results.Crystallized) -> None:
        tried = " (a dry run)" if done.dry_run else ""
        out.say(
            ("crystallized", "green"),
            f"{tried} {done.steps:,} steps: {len(done.created):,} cards created, {len(done.reused):,} reused, "
            f"{len(done.merged):,} merged",
        )
        if done.details:
            out.table(("card", "action", "why"), [(one.name, one.action, one.reason) for one in done.details])
        for error in done.errors:
            out.notice(error)

    run(
        Call("crystallize", file, as_json, wait),
        lambda db: db.crystallize(session, approve=approve, dry_run=dry_run),
        show,
        doing="crystallizing",
        llm=lambda: chat_model(model),
    )


def _card(db: memhop.DB, name: str) -> str:
    """The card that was meant: by its name, its id, or the first digits of that."""
    try:
        return db.capabilities.get(name).name
    except (NotFound, InvalidRequest) as error:
        try:
            return whole_id(db, name, "card")
        except NotFound:
            raise error from None
        except InvalidRequest as several:
            raise (several if several.message.startswith("several") else error) from None


def _must_exist(path: Path) -> None:
    """Before a file is created for it."""
    if not path.exists():
        raise NotFound(f"there is no {path}", field="PATH")


def _said(what: str) -> Callable[[Output, results.Capability], None]:
    return lambda out, card: out.say((what, "green"), f": {card.name}")


def _row(out: Output, card: results.Capability) -> tuple[str, ...]:
    return (out.shorten(card.name, 24), card.status, card.origin, out.shorten(card.summary, 26))


def _show(out: Output, card: results.Capability) -> None:
    rate = (
        "never used"
        if card.success_rate is None
        else f"used {card.trigger_count:,} times, {card.success_rate:.0%} well"
    )
    changed = f", changed {when(card.updated_at)}" if card.updated_at else ""
    out.say((card.name, "bold"), f"  {card.id}  {card.type} {card.version}, {card.status}, {card.origin}{changed}")
    out.say(card.summary)
    out.say(f"when: {card.trigger}")
    out.say(rate)
    for number, step in enumerate(card.workflow.get("steps", ()), 1):
        out.say(f"{number:>3}. {step.get('action', '')}")
    if card.resources:
        rows = [(str(one.get("name", "")), str(one.get("description", ""))) for one in card.resources]
        out.table(("resource", "what for"), rows)


def _show_imported(out: Output, done: results.ImportedCards) -> None:
    rows = [(one.action, one.card.name, one.source) for one in done.cards]
    if rows:
        out.table(("card", "name", "from"), rows)
    for one in done.cards:
        for remark in one.remarks:
            out.notice(f"{one.source}: {remark}")
    for bad in done.errors:
        out.warn(f"{bad.source}: {bad.field + ': ' if bad.field else ''}{bad.reason}")
