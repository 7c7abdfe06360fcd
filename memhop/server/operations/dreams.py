"""Dreams: consolidating, and looking at what they did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.faults import discreet
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations.paging import Cursor, DryRun, Limit
from memhop.server.parameters import Id, Number, Whole
from memhop.server.telling import one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

MOST_SECONDS = 25.0  # of a call: clients give up soon after
Seconds = Annotated[float, Number("Stop after about so many seconds; the next call goes on.", 0.1, MOST_SECONDS)]
DreamNumber = Annotated[int, Whole("The dream, as memhop_dream_list counts them.", 1, 2**53)]


@operation("memhop_dream", title="Consolidate", scope=WRITE, result=results.DreamReport, called={"scene": "scene_id"})
def dream(
    host: Host,
    db: DB,
    *,
    scene_id: Annotated[str | None, Id("Only this scene. Default: all that are active.", blank=True)] = None,
    max_seconds: Seconds = 20.0,
    dry_run: DryRun = False,
) -> Answer:
    """Consolidate what was said since the last dream: find scenes for loose turns, fuse topics, link scenes, draw the
    profile. Use it when you are idle or a session ends, not in the middle of a task. It never changes what was said,
    and memhop_dream_undo takes it back. Example: {"max_seconds": 10}"""
    report = db.dream(scene_id or None, dry_run=dry_run, max_seconds=max_seconds)
    return _report(host, report) | {"consolidated": report.changed > 0}, _told(host, report)


@operation("memhop_dream_list", title="List dreams", result=results.Page)
def dream_list(host: Host, db: DB, *, limit: Limit = 20, cursor: Cursor = None) -> Answer:
    """List what dreams did, the newest first. Example: {"limit": 3}"""
    page = db.dreams.list(limit=limit, cursor=cursor)
    return paged(page, lambda one: _report(host, one), _line, nothing="nothing was dreamt")


@operation("memhop_dream_show", title="Read the report of a dream", result=results.DreamReport)
def dream_show(host: Host, db: DB, *, number: DreamNumber) -> Answer:
    """Read what one dream did, stage by stage. For the changes themselves: memhop_dream_diff. Example: {"number": 3}"""
    report = db.dreams.show(number)
    return _report(host, report), _told(host, report)


@operation("memhop_dream_diff", title="Read what a dream changed", result=results.Page)
def dream_diff(
    host: Host,
    db: DB,
    *,
    number: DreamNumber,
    records: Annotated[int, Whole("Most records shown of one change.", 1, 100)] = 5,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Answer:
    """Read what a dream changed, each record before and after, before you take it back. Example: {"number": 3}"""
    return paged(
        db.dreams.diff(number, limit=limit, cursor=cursor),
        lambda one: replace(one, records=one.records[:records]).to_dict(),
        lambda one: (
            f"{one.stage}: {one_line(one.why or 'what it was about was erased since')} ({one.records_in_all} records)"
        ),
        nothing="it changed nothing",
    )


@operation("memhop_dream_undo", title="Undo a dream", scope=WRITE, destructive=True, result=results.Undone)
def dream_undo(host: Host, db: DB, *, number: DreamNumber) -> Answer:
    """Take a dream back, when it joined or summed up wrongly; newer ones first. What was built on it since stays, and
    is told. Example: {"number": 3}"""
    done = db.dreams.undo(number)
    text = f"{done.changes} of {done.changes_in_all} changes were undone, {done.stayed_in_all} things stay"
    return {"ok": True} | done.to_dict(), text


def _report(host: Host, report: results.DreamReport) -> dict[str, Any]:
    """A report, whose notices may name where a model is."""
    data = report.to_dict()
    data["notices"] = [discreet(notice, local=host.local) for notice in report.notices]
    for stage in data["stages"]:
        stage["notice"] = discreet(stage["notice"], local=host.local)
        stage["skipped"] = {discreet(why, local=host.local): count for why, count in stage["skipped"].items()}
    return data


def _told(host: Host, report: results.DreamReport) -> str:
    stages = [f"{stage.name}: {stage.read} read, {stage.applied} applied" for stage in report.stages]
    return "\n".join((_line(report), *stages, *_report(host, report)["notices"]))


def _line(report: results.DreamReport) -> str:
    number = "dream" if report.number is None else f"dream {report.number}"
    dry = ", dry run: nothing of it was done" if report.dry_run else ""
    undoable = ", can be undone" if report.undoable else ""
    started = report.to_dict()["started_at"]
    return f"{number} {started} ({report.trigger}, {report.state}): {report.changed} records changed{undoable}{dry}"
