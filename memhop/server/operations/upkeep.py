"""The file: how it is, what waits, what changed, and looking after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.faults import discreet
from memhop.server.operation import ADMIN, WRITE, Answer, Host, operation
from memhop.server.operations.dreams import Seconds
from memhop.server.operations.paging import DryRun, ProjectAsked, asked
from memhop.server.parameters import Flag, Id, Listed, Text, Whole

if TYPE_CHECKING:
    from memhop.api.db import DB


@operation("memhop_status", title="Status of the memory")
def status(host: Host, db: DB) -> Answer:
    """Look whether the memory is in order and whether a dream has something to do: use it when something seems wrong,
    or before memhop_dream. For counts and sizes: memhop_stats. Example: {}"""
    active = bool(db.scenes.list(fresh=True, limit=1).items)
    recovered = db.recovery
    pending = db.pending()
    dreams = db.dreams.list(limit=1).items
    copies = db.backups
    data: dict[str, Any] = {
        "closed": False,
        "has_active_scenes": active,
        "opened_clean": recovered.clean,
        "writes_refused": discreet(recovered.refused, local=host.local),
        "without_vector": pending.without_vector if pending.space is not None else None,
        "embedder_reason": discreet(pending.last_reason, local=host.local),
        "keywords_to_refine": pending.keywords,
        "dreamt_at": dreams[0].to_dict()["started_at"] if dreams else None,
        "dream_error": discreet(db.dreams.last_error, local=host.local),
        "backup_error": discreet(copies.last_error, local=host.local) if copies is not None else None,
    }
    said = [
        "opened clean" if recovered.clean else "damage was found when it was opened: whoever runs it: memhop verify",
        "there are active scenes" if active else "no scene is active",
        *(
            f"{name}: {data[name]}"
            for name in ("writes_refused", "embedder_reason", "dream_error", "backup_error")
            if data[name]
        ),
    ]
    return data, "; ".join(said)


@operation("memhop_checkpoint", title="Seal the indexes", scope=WRITE, idempotent=True)
def checkpoint(host: Host, db: DB) -> Answer:
    """Seal the indexes of what is new into the file, so that it opens faster. Nothing is lost without it: what a call
    acknowledged is on the disk already. Example: {}"""
    written = db.checkpoint()
    return {"ok": True, "written": written}, "sealed" if written else "there was nothing new"


@operation("memhop_stats", title="Counts and sizes", result=results.Stats)
def stats(host: Host, db: DB) -> Answer:
    """Count what is in the memory, by kind, and what uses the space. Example: {}"""
    found = db.stats()
    data = found.to_dict()
    for name in ("backup_error", "upkeep_error", "maintenance_error"):
        data[name] = discreet(data[name], local=host.local)
    if not host.local:
        del data["path"]
    kinds = ", ".join(f"{kind} {count}" for kind, count in found.records.items() if count)
    return data, f"{found.file_bytes:,} bytes, {found.dead_bytes:,} of them to be had back by compaction; {kinds}"


@operation("memhop_pending", title="What waits for a model", result=results.Pending)
def pending(host: Host, db: DB) -> Answer:
    """Look how many texts wait for the embedder, and how many turns for better keywords. Example: {}"""
    found = db.pending()
    why = f"; {found.last_reason}" if found.last_reason else ""
    return (
        found.to_dict(),
        f"{found.without_vector} texts have no vector, {found.keywords} turns wait for keywords{why}",
    )


@operation("memhop_backfill", title="Work off what waits", scope=WRITE, result=results.BackfillReport)
def backfill(host: Host, db: DB, *, max_seconds: Seconds = 20.0) -> Answer:
    """Let the models work off what waits for them, when memhop_pending says that something does and you are idle. Call
    it again while `remaining` is above 0 and `reason` says nothing else. Example: {"max_seconds": 10}"""
    done = db.backfill(max_seconds)
    reason = discreet(done.reason, local=host.local)
    why = f"; {reason}" if reason else ""
    return done.to_dict() | {"reason": reason}, f"{done.embedded} texts got vectors, {done.remaining} wait{why}"


@operation(
    "memhop_maintain", title="Retention", scope=ADMIN, destructive=True, idempotent=True, result=results.Maintained
)
def maintain(host: Host, db: DB, *, dry_run: DryRun = False) -> Answer:
    """Send notes that are older than retention keeps them to the trash, and erase what was in the trash for too long;
    it happens by itself where retention is set up. Try it with dry_run. Example: {"dry_run": true}"""
    done = db.maintain(dry_run=dry_run)
    would = "would go" if dry_run else "went"
    return (
        done.to_dict(),
        f"{done.trashed_count} notes {would} to the trash, {done.erased_count} for good; {done.reason}",
    )


@operation("memhop_verify", title="Check the file", scope=ADMIN, reads=True, result=results.Verified)
def verify(
    host: Host, db: DB, *, deep: Annotated[bool, Flag("Also build all indexes anew and compare them.")] = False
) -> Answer:
    """Check the file for damage, when something seems wrong. It reads all of it: seconds to minutes for a large one.
    Example: {"deep": true}"""
    found = db.verify(deep=deep)
    said = "the file is in order" if found.ok else f"{found.problem_count} problems"
    return found.to_dict(), "; ".join((said, *(one.what for one in found.problems[:10])))


@operation("memhop_compact", title="Compact the file", scope=ADMIN, destructive=True, result=results.Compacted)
def compact(
    host: Host,
    db: DB,
    *,
    keep_history: Annotated[bool, Flag("Keep older versions, though not those of what was erased.")] = False,
) -> Answer:
    """Rewrite the file without what is dead, to remove the bytes of what was erased or to gain space. Without history,
    dreams made before cannot be undone any more. It may take a minute. Example: {"keep_history": true}"""
    done = db.compact(keep_history=keep_history)
    return done.to_dict(), f"{done.bytes_before:,} bytes became {done.bytes_after:,}"


@operation("memhop_events", title="What changed", result=results.Events)
def events(
    host: Host,
    db: DB,
    *,
    since: Annotated[str | None, Text("`next` or a `number` of an earlier reply. Default: from the oldest.")] = None,
    limit: Annotated[int, Whole("Most events.", 1, 200)] = 30,
    project: ProjectAsked = None,
    types: Annotated[
        list[str] | None, Listed("Only of these types; note_* stands for all that begin so.", Text(""), 1)
    ] = None,
) -> Answer:
    """Look what has changed, in order, whoever changed it. Use it to catch up on what others wrote: keep `next` and ask
    again with it. Example: {"since": "412", "types": ["note_*"]}"""
    found = db.events(since, limit=limit, project=asked(project), types=types)
    gap = "; some changes before these are gone" if found.gap else ""
    more = "" if found.next == found.newest else "; there are more"
    lines = [
        f"{one.number} {one.to_dict()['at']} {one.type} {one.id}" + (f" by {one.actor}" if one.actor else "")
        for one in found.events
    ]
    return found.to_dict(), "\n".join((f"{len(lines)} events, next {found.next}{more}{gap}", *lines))


@operation("memhop_usage", title="How often it was recalled", result=results.Usage)
def usage(host: Host, db: DB, *, id: Annotated[str, Id("A scene, a note or a card.")]) -> Answer:
    """Look how often a scene, a note or a card was recalled, and when last. Example: {"id": "bfe671f6686ef56a"}"""
    found = db.usage(id)
    last = f", last {found.to_dict()['last_at']}" if found.last_at else ""
    return found.to_dict(), f"{found.hits} times{last}"
