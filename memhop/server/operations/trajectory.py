"""L7: what the agent did, step by step, and the cards that are made of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations import older_names
from memhop.server.operations.paging import Cursor, DryRun, Limit, Newest
from memhop.server.parameters import Fields, Id, Listed, Text, Time, Whole
from memhop.server.telling import one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

SessionId = Annotated[str, Text("Your name for the run of the agent.")]
_STEP = Fields(
    "",
    {
        "event_type": Text("What kind of step, such as tool_call."),
        "payload": Text("What was called, or came back.", 0),
        "timestamp": Time("When."),
        "l4_ref": Id("The message it belongs to.", blank=True),
    },
    ("event_type",),
)


@operation(
    "memhop_trajectory_append",
    title="Record a step",
    scope=WRITE,
    result=results.Event,
    called={"session": "session_id", "type": "event_type", "at": "timestamp", "message_id": "l4_ref"},
)
def trajectory_append(
    host: Host,
    db: DB,
    *,
    session_id: SessionId,
    event_type: Annotated[str, Text("What kind of step: turn_start, tool_call, tool_result, llm_output, turn_end, …")],
    timestamp: Annotated[int | datetime | None, Time("When. Default: now.", now=True)] = None,
    payload: Annotated[str, Text("What was called, or came back; the first 4,096 bytes are kept.", 0)] = "",
    l4_ref: Annotated[str | None, Id("The message it belongs to.", blank=True)] = None,
) -> Answer:
    """Record what you just did, as raw material for capability cards. Not for what was said (memhop_update), nor for
    what is to be remembered (memhop_remember).
    Example: {"session_id": "run-7", "event_type": "tool_call", "payload": "git status"}"""
    step = db.trajectory.append(session_id, event_type, payload, at=timestamp, message_id=l4_ref or None)
    data = older_names.step(step)
    del data["payload"]
    cut = f", {step.cut_bytes} bytes of the payload were cut" if step.cut_bytes else ""
    return {"ok": True} | data, f"step {step.seq} of {one_line(step.session, 60)}{cut}"


@operation(
    "memhop_trajectory_append_many",
    title="Record steps",
    scope=WRITE,
    called={"session": "session_id", "items": "steps", "type": "event_type", "at": "timestamp", "message_id": "l4_ref"},
)
def trajectory_append_many(
    host: Host,
    db: DB,
    *,
    session_id: SessionId,
    steps: Annotated[list[dict[str, Any]], Listed("The steps, in order.", _STEP, 1, 1_000)],
) -> Answer:
    """Record many steps of a run in one go. Example: {"session_id": "run-7", "steps": [{"event_type": "tool_call",
    "payload": "git status"}, {"event_type": "tool_result", "payload": "clean"}]}"""
    named = {"event_type": "type", "payload": "payload", "timestamp": "at", "l4_ref": "message_id"}
    given = [{named[field]: value for field, value in step.items() if field != "l4_ref" or value} for step in steps]
    ids = db.trajectory.append_many(session_id, given)
    return {"ok": True, "ids": list(ids)}, f"{len(ids)} steps are recorded"


@operation(
    "memhop_trajectory_read", title="Read the steps of a run", result=results.Page, called={"session": "session_id"}
)
def trajectory_read(
    host: Host,
    db: DB,
    *,
    session_id: SessionId,
    from_seq: Annotated[int | None, Whole("Only the step of this number and later ones.", 0, 2**53)] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Answer:
    """Read what was done in a run, step by step, to go on where it stopped or to see how something was done.
    Example: {"session_id": "run-7", "newest_first": true}"""
    page = db.trajectory.read(session_id, from_seq=from_seq, limit=limit, cursor=cursor, newest_first=newest_first)
    return paged(
        page,
        older_names.step,
        lambda step: f"{step.seq} {step.to_dict()['at']} {one_line(step.type, 40)}: {one_line(step.payload)}",
        nothing="no steps",
    )


@operation("memhop_trajectory_sessions", title="List runs", result=results.Page)
def trajectory_sessions(host: Host, db: DB, *, limit: Limit = 20, cursor: Cursor = None) -> Answer:
    """List the runs that have steps, the newest first. Example: {}"""
    return paged(
        db.trajectory.sessions(limit=limit, cursor=cursor),
        lambda one: one.to_dict() | {"session_id": one.session},
        lambda one: f"{one_line(one.session, 80)}: {one.steps} steps, last {one.to_dict()['last_at']}",
        nothing="no runs",
    )


@operation(
    "memhop_trajectory_stats",
    title="Count the steps of a run",
    result=results.TrajectoryStats,
    called={"session": "session_id"},
)
def trajectory_stats(host: Host, db: DB, *, session_id: SessionId) -> Answer:
    """Count the steps of a run by type. Example: {"session_id": "run-7"}"""
    found = db.trajectory.stats(session_id)
    data = found.to_dict()
    data |= {"session_id": found.session, "tool_usage": found.by_type, "last_append_at": data["last_at"]}
    counts = ", ".join(f"{one_line(name, 40)} {count}" for name, count in found.by_type.items())
    return data, f"{found.steps} steps" + (f": {counts}" if counts else "")


@operation(
    "memhop_trajectory_delete",
    title="Delete the steps of a run",
    scope=WRITE,
    destructive=True,
    idempotent=True,
    called={"session": "session_id"},
)
def trajectory_delete(host: Host, db: DB, *, session_id: SessionId) -> Answer:
    """Delete all steps of a run for good; cards made of them stay. Example: {"session_id": "run-7"}"""
    count = db.trajectory.delete(session_id)
    return {"ok": True, "deleted": count}, f"{count} steps were deleted"


@operation(
    "memhop_trajectory_prune",
    title="Drop old steps",
    scope=WRITE,
    destructive=True,
    idempotent=True,
    result=results.Pruned,
    called={"session": "session_id"},
)
def trajectory_prune(
    host: Host,
    db: DB,
    *,
    session_id: Annotated[str | None, Text("Of this run. Default: of all.")] = None,
    before: Annotated[int | datetime | None, Time("Steps from before then; or else keep_last.")] = None,
    keep_last: Annotated[int | None, Whole("All but so many of each run; or else before.", 0, 2**53)] = None,
    dry_run: DryRun = False,
) -> Answer:
    """Drop old steps, when runs have grown too long. Example: {"keep_last": 1000, "dry_run": true}"""
    done = db.trajectory.prune(session_id, before=before, keep_last=keep_last, dry_run=dry_run)
    would = "would be" if dry_run else "were"
    return {"ok": True} | done.to_dict(), f"{done.events} steps of {done.sessions} runs {would} dropped"


@operation(
    "memhop_crystallize",
    title="Draft cards from a run",
    scope=WRITE,
    result=results.Crystallized,
    called={"session": "session_id"},
)
def crystallize(host: Host, db: DB, *, session_id: SessionId, dry_run: DryRun = False) -> Answer:
    """Draft capability cards from the steps of a run, when it went well and will come again. Drafts are offered to
    nobody before memhop_capability_activate; cards that are active are left as they are.
    Example: {"session_id": "run-7", "dry_run": true}"""
    done = db.crystallize(session_id, dry_run=dry_run)
    data = done.to_dict()
    data |= {"created_ids": data["created"], "reused_ids": data["reused"], "merged_ids": data["merged"]}
    lines = [
        f"{one.action} {one_line(one.name, 80)} {one.capability_id or ''}: {one_line(one.reason)}"
        for one in done.details
    ]
    head = f"{done.steps} steps read, {len(done.created)} cards {'would be ' if dry_run else ''}drafted"
    return data, "\n".join((head, *lines, *map(one_line, done.errors)))
