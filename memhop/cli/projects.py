"""`memhop projects list | count | schema | rename | merge | reassign | trash | purge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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
    typed,
)
from memhop.cli.call import Call, confirmed, run, show_page, whole_id
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

_NAME_COLUMNS = 24
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A project; case does not matter.")]


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Projects: what is in them, and moving, trashing and erasing all of it.",
        {
            "list": list_projects,
            "count": count,
            "schema": schema,
            "rename": rename,
            "merge": merge,
            "reassign": reassign,
            "trash": trash,
            "purge": purge,
        },
    )


def list_projects(
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """List projects by name. Exit code 1: there are none."""
    headers = ("project", "active", "archived", "trash", "messages", "last change")

    def row(out: Output, project: Any) -> list[str]:
        counts = (project.active, project.archived, project.trashed, project.messages)
        changed = when(project.changed_at) if project.changed_at else "-"
        return [out.shorten(project.name, _NAME_COLUMNS), *(f"{count:,}" for count in counts), changed]

    run(
        Call("projects list", file, as_json),
        lambda db: db.projects.list(limit=limit, cursor=cursor),
        show_page(headers, row, right=(1, 2, 3, 4)),
        found=lambda page: page.items,
        nothing="no projects",
    )


def count(name: NameArgument, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """Count the notes of a project by kind, without the trash."""

    def show(out: Output, counted: results.ProjectCount) -> None:
        rows = [*counted.kinds.items(), ("total", counted.total)]
        out.table(("kind", "notes"), [(out.shorten(kind, 60), f"{size:,}") for kind, size in rows], right=(1,))
        tiers = ", ".join(f"{size:,} {tier}" for tier, size in counted.tiers.items())
        out.say(f"{tiers}; {counted.messages:,} messages")

    run(Call("projects count", file, as_json), lambda db: db.projects.count(typed(name)), show)


def schema(name: NameArgument, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """Show the kinds of notes a project knows, and their statuses; those that are open end in a star."""

    def ask(db: memhop.DB) -> list[dict[str, Any]]:
        return [{"kind": kind, **one._asdict(), "defaults": dict(one.defaults)} for kind, one in _kinds(db)]

    def _kinds(db: memhop.DB) -> list[tuple[str, Any]]:
        return list(db.projects.schema(typed(name)).items())

    def show(out: Output, kinds: list[dict[str, Any]]) -> None:
        rows = []
        for kind in kinds:
            statuses = ", ".join(status + "*" * (status in kind["open"]) for status in kind["statuses"]) or "any"
            needed = ", ".join(kind["required"])
            rows.append((out.shorten(kind["kind"], 20), f"{statuses}; needs {needed}" if needed else statuses))
        out.table(("kind", "statuses"), [(kind, out.shorten(text, 58)) for kind, text in rows])

    run(Call("projects schema", file, as_json), ask, show)


def rename(
    old: NameArgument,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name, or another spelling of it.")],
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Give a project another name; all that is in it goes along."""
    call = Call("projects rename", file, as_json, wait)
    run(call, lambda db: db.projects.rename(typed(old), typed(new)), _show_moved, doing="moving")


def merge(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The project that is gone afterwards.")],
    into: Annotated[str, typer.Argument(metavar="INTO", help="The project that gets all that is in it.")],
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Move all that is in one project to another."""
    call = Call("projects merge", file, as_json, wait)
    run(call, lambda db: db.projects.merge(typed(source), typed(into)), _show_moved, doing="moving")


def reassign(
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="The project they go to; it need not exist.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[IDS]...", help="Of notes, or the first 6 digits or more.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All notes of the project --from.")] = False,
    source: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="Only notes of this project; others stay.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a note whose status the project does not know.")
    ] = False,
    dry_run: DryRunOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Move notes to another project."""

    def ask(db: memhop.DB) -> results.Moved:
        chosen = None if everything and not ids else [whole_id(db, id_, "note") for id_ in ids or ()]
        return db.projects.reassign(
            chosen,
            to=typed(to),
            all=everything,
            from_=None if source is None else typed(source),
            dry_run=dry_run,
            strict=strict,
        )

    run(Call("projects reassign", file, as_json, wait), ask, _show_moved, doing="moving")


def trash(
    name: NameArgument,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Move all notes of a project to the trash."""

    def show(out: Output, done: results.ProjectTrashed) -> None:
        out.say(("trashed" if done.count else "unchanged", "green"), f" {done.count:,} notes: {done.reason}")

    run(Call("projects trash", file, as_json, wait), lambda db: db.projects.trash(typed(name)), show, doing="moving")


def purge(
    name: NameArgument,
    force: Annotated[bool, typer.Option("--force", help="Also notes that are not in the trash, and messages.")] = False,
    yes: YesOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Erase all that is in a project for good."""

    def show(out: Output, done: results.ProjectPurged) -> None:
        out.say(("purged", "green"), f" {done.count:,} notes and {done.messages:,} messages: {done.reason}")

    run(
        Call("projects purge", file, as_json, wait),
        lambda db: db.projects.purge(typed(name), force=force),
        show,
        doing="purging",
        before=lambda: confirmed(f"Erase all that is in {typed(name)!r} for good?", yes),
    )


def _show_moved(out: Output, done: results.Moved) -> None:
    counts = [
        f"{size:,} {what}"
        for size, what in (
            (done.notes, "notes"),
            (done.messages, "messages"),
            (done.scenes, "scenes"),
            (done.topics, "topics"),
        )
        if size or what == "notes"
    ]
    did = "unchanged" if not done.changed else "would move" if done.dry_run else "moved"
    out.say((did, "green"), f" {', '.join(counts)}")
    out.say(out.shorten(done.reason, 80))
    for remark in done.remarks:
        out.say(out.shorten(remark, 80))
    if done.restatused:
        rows = [(one.id, out.shorten(one.kind, 20), one.before or "-", one.after or "-") for one in done.restatused]
        out.table(("note", "kind", "status was", "is"), rows)
    if done.stayed:
        out.table(("stayed", "why"), [(id_, out.shorten(why, 60)) for id_, why in done.stayed])
