"""`memhop dream` and `memhop dreams list | show | diff | undo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memhop.cli.arguments import (
    DEFAULT_FILE,
    DEFAULT_PAGE,
    DEFAULT_WAIT_S,
    CursorOption,
    DryRunOption,
    EmbedderOption,
    FileOption,
    JsonOption,
    LimitOption,
    WaitOption,
    embedder_called,
)
from memhop.cli.call import Call, run, show_page, whole_id
from memhop.cli.configuration import chat_model
from memhop.cli.groups import group_of
from memhop.cli.output import Output, when

if TYPE_CHECKING:
    from memhop.api import results

NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", help="Of the dream, see `memhop dreams list`.")]
_CELL = 60  # columns of a value before or after


def build_group() -> typer.Typer:
    """The group of commands."""
    return group_of(
        "What dreams did, and undoing them.", {"list": list_dreams, "show": show, "diff": diff, "undo": undo}
    )


def dream(
    scene: Annotated[str | None, typer.Option(metavar="ID", help="Only this scene.")] = None,
    dry_run: DryRunOption = False,
    max_seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after about so long; the next one goes on.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Ask this chat model; default: that of the settings, or none.")
    ] = None,
    embedder: EmbedderOption = "none",
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Consolidate what is fresh: scenes, fused topics, associations, the profile. It can be undone."""
    run(
        Call("dream", file, as_json, wait),
        lambda db: db.dream(whole_id(db, scene, "scene") if scene else None, dry_run=dry_run, max_seconds=max_seconds),
        show_report,
        doing="dreaming",
        embedder=lambda: embedder_called(embedder),
        llm=lambda: chat_model(model),
    )


def list_dreams(
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """Dreams, the newest first. Exit code 1: there are none."""
    run(
        Call("dreams list", file, as_json),
        lambda db: db.dreams.list(limit=limit, cursor=cursor),
        show_page(("dream", "state", "began", "changed", "undo"), _row, right=(0, 3)),
        found=lambda page: page.items,
        nothing="no dreams",
    )


def show(number: NumberArgument, file: FileOption = DEFAULT_FILE, as_json: JsonOption = False) -> None:
    """What a dream did, stage by stage."""
    run(Call("dreams show", file, as_json), lambda db: db.dreams.show(number), show_report)


def diff(
    number: NumberArgument,
    limit: LimitOption = DEFAULT_PAGE,
    cursor: CursorOption = None,
    file: FileOption = DEFAULT_FILE,
    as_json: JsonOption = False,
) -> None:
    """What a dream changed, with the values before and after. Exit code 1: nothing."""
    run(
        Call("dreams diff", file, as_json),
        lambda db: db.dreams.diff(number, limit=limit, cursor=cursor),
        _show_changes,
        found=lambda page: page.items,
        nothing="it changed nothing",
    )


def undo(
    number: NumberArgument,
    file: FileOption = DEFAULT_FILE,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Take a dream back; newer ones that changed something come first."""
    run(Call("dreams undo", file, as_json, wait), lambda db: db.dreams.undo(number), _show_undone, doing="undoing")


def show_report(out: Output, report: results.DreamReport) -> None:
    """Print what a dream did, or would do."""
    name = "nothing was to be done" if report.number is None else f"dream {report.number}"
    if report.dry_run:
        name = "a dry run"
    out.say((name, "bold"), f": {report.state}, {report.changed:,} records changed, begun {when(report.started_at)}")
    rows = [
        (
            stage.name,
            f"{stage.read:,}",
            f"{stage.applied:,} of {stage.proposed:,}",
            f"{stage.changed:,}",
            f"{stage.model_calls:,}",
            f"{stage.ms:,}",
        )
        for stage in report.stages
    ]
    if rows:
        out.table(("stage", "read", "applied", "changed", "model calls", "ms"), rows, right=(1, 2, 3, 4, 5))
    for change in report.changes:
        _show_change(out, change)
    for notice in report.notices:
        out.notice(notice)
    if report.proposals:
        out.notice(f"{len(report.proposals)} pairs of notes say nearly the same; see: memhop duplicates")
    if report.number is not None and not report.dry_run:
        out.say("it can be undone" if report.undoable else f"it cannot be undone: {report.reason}")


def _row(out: Output, report: results.DreamReport) -> tuple[str, ...]:
    undoable = "yes" if report.undoable else out.shorten(report.reason or "no", 30)
    return (f"{report.number}", report.state, when(report.started_at), f"{report.changed:,}", undoable)


def _show_changes(out: Output, page: results.Page) -> None:
    for change in page.items:
        _show_change(out, change)
    if page.next:
        out.notice(f"there is more: --cursor {page.next}")


def _show_change(out: Output, change: results.DreamChange) -> None:
    out.say((change.stage, "bold"), f": {change.why or 'about what was erased since'}")
    for record in change.records:
        out.say(f"  {record.action} {record.kind or 'erased'} ", (record.id, "dim"))
        for field in record.fields:
            before, after = (out.shorten(_text(value), _CELL) for value in (field.before, field.after))
            out.say(f"    {field.name}: {before} ", out.glyph("→", "->"), f" {after}")
    if len(change.records) < change.records_in_all:
        out.say(f"  and {change.records_in_all - len(change.records):,} more records")


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None or value == "" else str(value)


def _show_undone(out: Output, done: results.Undone) -> None:
    out.say(("undone", "green"), f" dream {done.number}: {done.changes:,} of {done.changes_in_all:,} changes")
    out.say(f"{done.restored:,} records restored, {done.removed:,} removed, {done.returned:,} brought back")
    if done.stayed:
        rows = [(stay.kind or "?", stay.id or "?", stay.field or "-", stay.reason) for stay in done.stayed]
        out.table(("stayed", "id", "field", "why"), rows)
