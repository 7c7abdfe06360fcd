"""`memhop brief`, `memhop summary check | save | show` and `memhop maintain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_WAIT_S,
    DryRunOption,
    FileOption,
    JsonOption,
    ProjectOption,
    WaitOption,
    read_stdin,
    typed,
)
from memhop.cli.call import Call, run
from memhop.cli.exit_codes import reporting
from memhop.cli.groups import group_of
from memhop.cli.memory import open_memory
from memhop.cli.output import Output, cells, when
from memhop.common.config import check_text
from memhop.common.errors import NotFound

if TYPE_CHECKING:
    import memhop
    from memhop.api import results

_COLUMNS = 80
_DEFAULT = "default"
OneProject = Annotated[str, typer.Option("--project", metavar="NAME", help="Whose summary.")]


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "Progressive summaries: whether one is due and what of, saving it, the newest one.",
        {"check": check, "save": save, "show": show},
    )


def brief(
    project: ProjectOption = None,
    decisions: Annotated[
        int | None, typer.Option("--decisions", metavar="N", help="Most decisions of a project; default: the settings.")
    ] = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Tell where everything stands: summaries, open items, decisions and counts of each project."""
    run(
        Call("brief", file, as_json),
        lambda db: db.brief(None if project is None else typed(project), decisions=decisions),
        _show_brief,
    )


def _show_brief(out: Output, told: results.Brief) -> None:
    for one in told.projects:
        _show_project(out, one)
    _items(out, "insights", told.insights)
    times = (("dreamt", told.dreamt_at), ("copied", told.backup_at), ("maintained", told.maintained_at))
    known = [f"last {what} {when(at)}" for what, at in times if at is not None]
    if told.without_vector:
        known.append(f"{told.without_vector:,} texts wait for the embedder")
    if told.truncated:
        known.append(f"{told.truncated:,} projects left out")
    if known:
        out.say("; ".join(known))


def _show_project(out: Output, one: results.ProjectBrief) -> None:
    kinds = ", ".join(f"{size:,} {kind}" for kind, size in one.kinds.items()) or "no notes"
    others = [f"{one.tiers[tier]:,} {tier}" for tier in ("archived", "trashed") if one.tiers[tier]]
    others += [f"{one.messages:,} messages"] if one.messages else []
    others += [f"{one.retiring:,} retire within 7 days"] if one.retiring else []
    name = out.shorten(one.project, 30)
    out.say((name, "bold"), ": " + out.shorten("; ".join((kinds, *others)), _COLUMNS - 2 - cells(name)))
    if one.summary is not None:
        since = f", {_changes(one.summary.changes)} since" if one.summary.stale else ""
        out.say(f"  summary of {when(one.summary.created_at)} ({one.summary.id}){since}")
        out.say("    " + out.shorten(one.summary.text, _COLUMNS - 4))
    for items in one.open:
        _items(out, f"open {out.shorten(items.kind, 40)}: {items.count:,}", items.newest)
    _items(out, "decisions", one.decisions)


def _items(out: Output, heading: str, items: Sequence[results.BriefItem]) -> None:
    if items:
        out.say(f"  {heading}")
    for item in items:
        status = f"[{item.status}] " if item.status else ""
        out.say(f"    {item.id} {out.shorten(status + item.title, _COLUMNS - 21)}")


def check(
    project: OneProject = _DEFAULT,
    turns: Annotated[int, typer.Option("--turns", metavar="N", help="Turns since the last one.")] = 0,
    context_pct: Annotated[
        float, typer.Option("--context-pct", metavar="PERCENT", help="Of the context window that is left, 0..100.")
    ] = 100,
    force: Annotated[bool, typer.Option("--force", help="It is due, whatever the numbers say.")] = False,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Tell whether a summary is due, and print the frame to write it in; else the newest one."""

    def ask(db: memhop.DB) -> results.SummaryCheck:
        return db.summary.check(typed(project), turns=turns, context_pct=context_pct, force=force)

    run(Call("summary check", file, as_json), ask, _show_check)


def _show_check(out: Output, found: results.SummaryCheck) -> None:
    out.say(("due" if found.needed else "not due", "green"), f": {found.reason}")
    if not found.needed:
        if found.text is not None:
            out.raw(found.text)
        return
    listed = f", the newest {len(found.changes):,} are listed" if found.truncated else ""
    out.say(f"{_changes(found.total)}{listed}")
    rows = []
    for change in found.changes:
        moved = f"{change.status_before} -> {change.status}" if change.status_before else change.status or ""
        rows.append((change.id, change.change, out.shorten(f"{change.kind} {moved}".strip(), 26), change.title))
    shown = [(id_, change, what, out.shorten(title, 20)) for id_, change, what, title in rows]
    if shown:
        out.table(("note", "change", "kind", "title"), shown)
    out.raw(found.template or "")


def _changes(count: int) -> str:
    return f"{count:,} change" + "s" * (count != 1)


def save(
    text: Annotated[str, typer.Argument(help="The summary; - reads it from standard input.")],
    project: OneProject = _DEFAULT,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Store a summary, in place of the one before; the file is created if there is none."""
    words = ""

    def read() -> None:
        nonlocal words
        words = check_text(read_stdin() if text == "-" else typed(text), field="text")

    def show(out: Output, note: results.Note) -> None:
        out.say(("saved", "green"), f" {note.id} (project {note.project})")

    run(
        Call("summary save", file, as_json, wait, create=True),
        lambda db: db.summary.save(typed(project), words),
        show,
        doing="storing",
        before=read,
    )


def show(project: OneProject = _DEFAULT, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """Print the newest summary of a project. Exit code 1: there is none."""

    def ask(db: memhop.DB) -> results.Note:
        note = db.summary.latest(typed(project))
        if note is None:
            raise NotFound(f"there is no summary of {typed(project)!r}", field="project")
        return note

    run(Call("summary show", file, as_json), ask, lambda out, note: out.raw(note.text))


def maintain(
    dry_run: DryRunOption = False,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Send to the trash, and erase, what the settings no longer keep."""
    with reporting(as_json=as_json) as out:
        opened = open_memory(out, file, wait=wait, purpose="memhop maintain", retains=False)
        with out.progress("looking after it"), opened as db:
            done = db.maintain(dry_run=dry_run)
        if as_json:
            out.json(done.to_dict())
        else:
            _show_maintained(out, done)


def _show_maintained(out: Output, done: results.Maintained) -> None:
    did = "would go" if done.dry_run else "went"
    out.say(f"{done.trashed_count:,} notes {did} to the trash, {done.erased_count:,} {did} for good: {done.reason}")
    if done.pinned or done.summaries:
        out.say(f"old enough, and kept: {done.pinned:,} pinned, {done.summaries:,} newest summaries")
    for heading, notes in (("to the trash", done.trashed), ("for good", done.erased)):
        if notes:
            rows = [(n.id, f"{n.age_days:,}", out.shorten(n.kind, 20), out.shorten(n.project, 28)) for n in notes]
            out.table((heading, "days", "kind", "project"), rows, right=(1,))
