"""The life of notes on the command line: list, edit, archive, restore, history, links, pins.

The functions are the commands; `COMMANDS` has them by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
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
    ProjectOption,
    WaitOption,
    parse_time,
    typed,
    words_of,
)
from memhop.cli.call import Call, run, show_page, whole_id
from memhop.cli.memory import moment_of
from memhop.cli.output import Output, when
from memhop.common.errors import InvalidRequest

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

KindOption = Annotated[
    list[str] | None, typer.Option("--kind", metavar="NAME", help="Only this kind; may be given often.")
]
StatusOption = Annotated[
    list[str] | None, typer.Option("--status", metavar="NAME", help="Only this status; may be given often.")
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="NAME", help="With this tag; if given often, with all.")
]
MetaOption = Annotated[
    list[str] | None,
    typer.Option("--meta", metavar="KEY=VALUE", help="Metadata; VALUE is JSON, or else text. May be given often."),
]
LinkOption = Annotated[
    list[str] | None,
    typer.Option("--link", metavar="[TYPE:]ID", help="Link it to ID; TYPE as for `memhop link`. May be given often."),
]
TypeOption = Annotated[
    str, typer.Option("--type", metavar="NAME", help="related, supersedes, fixes, causes, part_of or depends_on.")
]
TargetArgument = Annotated[str, typer.Argument(metavar="TARGET", help="The other one: an id, or its first digits.")]
_TEXT_CELLS = 30


def list_(
    ctx: typer.Context,
    project: ProjectOption = None,
    kind: KindOption = None,
    status: StatusOption = None,
    tag: TagOption = None,
    tier: Annotated[str, typer.Option(metavar="NAME", help="active, archived, trashed or all.")] = "active",
    pinned: Annotated[bool | None, typer.Option("--pinned/--not-pinned", help="Only pinned ones, or others.")] = None,
    sort: Annotated[str, typer.Option(metavar="NAME", help="By updated, at or created.")] = "updated",
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="The other way round.")] = False,
    since: Annotated[str | None, typer.Option(metavar="ISO", help="Only from this time on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="ISO", help="Only before this time.")] = None,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """List notes by time. Exit code 1: there are none."""
    run(
        Call("list", file, as_json, moment=moment_of(ctx)),
        lambda db: db.notes.list(
            project=project,
            kinds=kind,
            statuses=status,
            tags=tag,
            tier=tier,
            pinned=pinned,
            sort=sort,
            newest_first=not oldest_first,
            limit=limit,
            cursor=cursor,
            since=parse_time(since, field="--since"),
            until=parse_time(until, field="--until"),
        ),
        _show_notes,
        found=lambda page: page.items or page.next,
        nothing="no such notes",
    )


def edit(
    id: IdArgument,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="Other words; - reads them.")] = None,
    kind: Annotated[str | None, typer.Option(metavar="NAME", help="Another kind.")] = None,
    status: Annotated[str | None, typer.Option(metavar="NAME", help='Another status; "": the default one.')] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="These tags instead; may be given often.")
    ] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="No tags.")] = False,
    meta: MetaOption = None,
    source: Annotated[str | None, typer.Option(metavar="NAME", help='Another source; "": none.')] = None,
    at: Annotated[str | None, typer.Option(metavar="ISO", help="When it was so.")] = None,
    expected_rev: Annotated[
        int | None, typer.Option("--expected-rev", metavar="N", help="Only if this is its revision.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Change a note. --meta KEY=null takes a key away. Exit code 1: it was changed since revision N."""

    def ask(db: memhop.DB) -> results.Changed:
        return db.notes.update(
            whole_id(db, id, "note"),
            text=None if text is None else words_of(text),
            kind=kind,
            status=status,
            tags=() if no_tags else tag,
            metadata=metadata_of(meta),
            source=source,
            at=parse_time(at, field="--at"),
            expected_rev=expected_rev,
        )

    run(Call("edit", file, as_json, wait), ask, _show_changed, doing="writing")


def archive(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Put a note aside, out of recall and lists, out of the trash too."""
    _change("archive", id, lambda db, note: db.notes.archive(note), file, wait, as_json)


def unarchive(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Make an archived note active again."""
    _change("unarchive", id, lambda db, note: db.notes.unarchive(note), file, wait, as_json)


def restore(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Take a note out of the trash."""
    _change("restore", id, lambda db, note: db.notes.restore(note), file, wait, as_json)


def pin(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Keep a note from what happens by itself."""
    _change("pin", id, lambda db, note: db.notes.pin(note), file, wait, as_json)


def unpin(
    id: IdArgument, file: FileOption = DEFAULT_FILE, wait: WaitOption = DEFAULT_WAIT_S, as_json: JsonOption = False
) -> None:
    """Take the pin away."""
    _change("unpin", id, lambda db, note: db.notes.unpin(note), file, wait, as_json)


def link(
    id: IdArgument,
    target: TargetArgument,
    type: TypeOption = "related",
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Link a note to something else. With --type supersedes it takes the place of the other note."""
    _change("link", id, lambda db, note: db.notes.link(note, whole_id(db, target), type), file, wait, as_json)


def unlink(
    id: IdArgument,
    target: TargetArgument,
    type: Annotated[str | None, typer.Option("--type", metavar="NAME", help="Only links of this type.")] = None,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Take links away."""
    _change("unlink", id, lambda db, note: db.notes.unlink(note, whole_id(db, target), type), file, wait, as_json)


def links(
    ctx: typer.Context,
    id: IdArgument,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """The links of a note, and those of other notes to it. Exit code 1: there are none."""
    run(
        Call("links", file, as_json, moment=moment_of(ctx)),
        lambda db: db.notes.links(whole_id(db, id, "note"), limit=limit, cursor=cursor),
        show_page(
            ("id", "link", "kind", "text"),
            lambda out, item: (
                item.id,
                f"{item.type} {out.glyph('→', '->') if item.outgoing else out.glyph('←', '<-')}",
                item.kind,
                out.shorten(item.text, _TEXT_CELLS),
            ),
        ),
        found=lambda page: page.items or page.next,
        nothing="no links",
    )


def history(
    ctx: typer.Context,
    id: IdArgument,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """The revisions of a note, newest first, and what each changed."""
    run(
        Call("history", file, as_json, moment=moment_of(ctx)),
        lambda db: db.notes.history(whole_id(db, id, "note"), limit=limit, cursor=cursor),
        _show_history,
    )


def revert(
    id: IdArgument,
    rev: Annotated[int, typer.Argument(metavar="REV", help="A revision that `memhop history` tells.")],
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Give a note the words, kind, status, tags, metadata and links of an earlier revision."""
    _change("revert", id, lambda db, note: db.notes.revert(note, rev), file, wait, as_json)


def duplicates(
    project: ProjectOption = None,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Pairs of notes that say nearly the same; `memhop link` settles them."""
    run(
        Call("duplicates", file, as_json),
        lambda db: db.notes.duplicates(project=project, limit=limit, cursor=cursor),
        _show_pairs,
        found=lambda page: page.items or page.next,
        nothing="no notes that say nearly the same",
    )


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_,
    "edit": edit,
    "archive": archive,
    "unarchive": unarchive,
    "restore": restore,
    "pin": pin,
    "unpin": unpin,
    "link": link,
    "unlink": unlink,
    "links": links,
    "duplicates": duplicates,
    "history": history,
    "revert": revert,
}


def metadata_of(pairs: list[str] | None) -> dict[str, Any] | None:
    """KEY=VALUE pairs as metadata. Raises InvalidRequest."""
    if not pairs:
        return None
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = typed(pair).partition("=")
        if not key or not equals:
            raise InvalidRequest(f"{pair[:40]!r} is no pair", field="--meta", allowed="KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def links_of(db: memhop.DB, values: list[str] | None) -> list[tuple[str, str]]:
    """[TYPE:]ID as links; ids may be cut short. Raises InvalidRequest, NotFound."""
    pairs = [(type_ or "related", id_) for type_, _, id_ in (value.rpartition(":") for value in values or ())]
    return [(type_, whole_id(db, id_)) for type_, id_ in pairs]


def _change(
    name: str,
    id: str,
    act: Callable[[memhop.DB, str], results.Changed],
    file: FileOption,
    wait: float,
    as_json: bool,
) -> None:
    run(
        Call(name, file, as_json, wait),
        lambda db: act(db, whole_id(db, id, "note")),
        _show_changed,
        doing="writing",
    )


def _show_pairs(out: Output, page: results.Page) -> None:
    """A line for each of the two, and what makes them differ."""
    for pair in page.items:
        out.say((f"{100 * pair.similarity:.0f} %", "bold"), f"  {pair.kind}, project {pair.project}")
        for id_, text, only in (
            (pair.older_id, pair.older, pair.only_older),
            (pair.newer_id, pair.newer, pair.only_newer),
        ):
            alone = f"  (only here: {', '.join(only)})" if only else ""
            out.say(f"  {id_}  {out.shorten(' '.join(text.split()), 2 * _TEXT_CELLS)}{alone}")
    if page.next:
        out.notice(f"there is more: --cursor {page.next}")


def _show_changed(out: Output, done: results.Changed) -> None:
    what = ("changed", "green") if done.changed else ("unchanged", "yellow")
    out.say(what, f" {done.id}: {done.reason}  ({done.tier}, revision {done.rev})")


def _show_notes(out: Output, page: results.Page) -> None:
    show_page(
        ("id", "changed", "kind", "text"),
        lambda out, note: (
            note.id,
            when(note.updated_at)[:10],
            out.shorten(f"{note.kind} {note.status or ''}", 18),
            out.shorten(f"{'(pinned) ' if note.pinned else ''}{note.text}", _TEXT_CELLS),
        ),
    )(out, page)
    if page.total is not None and page.total > len(page.items):
        out.notice(f"{page.total:,} in all")


def _show_history(out: Output, page: results.Page) -> None:
    for version in page.items:
        by = f" by {version.actor}" if version.actor else ""
        made = f"{when(version.at)} {version.act}{by}" if version.at is not None else "the oldest that is kept"
        out.say((f"revision {version.rev}", "bold"), f"  {made}")
        for change in version.changes:
            out.say(f"  {change.name}: {_brief(change.before)} {out.glyph('→', '->')} {_brief(change.after)}")
        for line in (version.diff or "").splitlines()[2:]:
            out.say(f"  {line}")
    if page.next:
        out.notice(f"there is more: --cursor {page.next}")


def _brief(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
