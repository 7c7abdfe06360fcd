"""L4 Archive: notes that take the place of others.

A link of type "supersedes" is the whole truth: from it follow `superseded_by` of the target and, where the target's
kind knows the status "superseded" and the target has not come to an end another way, its status. Both are set in the
commit that sets the link, and taken back in the one that takes the link away, trashes the note that has it, or erases
it. The status goes back to what the revision says that set it; where that revision is no longer kept, or somebody else
has set the status since, it stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.l4_note import SUPERSEDES, Note
from memhop.repo.l4_revision import REVISIONS_KEPT, NoteRevision, revise, revision_id
from memhop.repo.record import Tier, linked_to

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memhop.repo.batch import Batch
    from memhop.repo.schema import Schemas

STATUS: Final = "superseded"
_CLAIMS = 1_000  # notes that name a note, looked through for another one that supersedes it


def claims(note: Note | None) -> tuple[int, ...]:
    """The notes a note supersedes; none while it is in the trash."""
    if note is None or note.tier == Tier.TRASHED:
        return ()
    return tuple(dict.fromkeys(id_ for type_, id_ in note.typed_links() if type_ == SUPERSEDES))


def check_claims(batch: Batch, note_id: int, targets: Iterable[int], *, field: str) -> None:
    """A note may supersede these.

    Raises:
        InvalidRequest: one is no note, or supersedes this note itself, be it through others.
    """
    waiting = list(targets)
    for id_ in waiting:
        if batch.find(Note, id_) is None:
            raise InvalidRequest(f"{to_hex(id_)} is no note", field=field, allowed="a note, to be superseded")
    seen: set[int] = set()
    while waiting:
        id_ = waiting.pop()
        if id_ == note_id:
            raise InvalidRequest(
                "they would supersede each other", field=field, allowed="a note that does not supersede this one"
            )
        if id_ not in seen and (note := batch.find(Note, id_)) is not None:
            seen.add(id_)
            waiting += (link for type_, link in note.typed_links() if type_ == SUPERSEDES)


def settle(
    batch: Batch, before: Note | None, after: Note | None, *, schemas: Schemas, actor: str, now_ms: int
) -> list[Note]:
    """A note has become another: bring up to date what it supersedes, and no longer does. Returns what that changed."""
    old, new = claims(before), claims(after)
    changed = []
    for id_ in new:
        target = batch.find(Note, id_) if id_ not in old else None
        if target is not None and after is not None:
            schema = schemas.of(target.project, target.kind)
            fields: dict[str, Any] = {"superseded_by": after.id}
            if STATUS in schema.statuses and target.status not in schema.terminal:
                fields["status"] = STATUS
            changed.append(revise(batch, target, act="supersede", actor=actor, now_ms=now_ms, **fields))
    for id_ in old:
        target = batch.find(Note, id_) if id_ not in new else None
        if target is not None and before is not None and target.superseded_by == before.id:
            changed.append(release(batch, target, actor=actor, now_ms=now_ms))
    return changed


def release(batch: Batch, note: Note, *, actor: str, now_ms: int) -> Note:
    """The note without what superseded it: in force again, unless yet another one supersedes it."""
    successor = _successor(batch, note)
    if successor:
        return revise(batch, note, act="supersede", actor=actor, now_ms=now_ms, superseded_by=successor)
    status = _status_before(batch, note) if note.status == STATUS else note.status
    return revise(batch, note, act="reinstate", actor=actor, now_ms=now_ms, superseded_by=0, status=status)


def _successor(batch: Batch, note: Note) -> int:
    others = batch.listed(Note, linked_to(note.id), limit=_CLAIMS)
    claiming = [(other.at, other.id) for other in others if note.id in claims(other) and other.id != note.superseded_by]
    return max(claiming, default=(0, 0))[1]


def _status_before(batch: Batch, note: Note) -> str:
    """What the status was when it was superseded."""
    for rev in range(note.rev - 1, max(0, note.rev - 1 - REVISIONS_KEPT), -1):
        revision = batch.find(NoteRevision, revision_id(note.id, rev))
        if revision is None:
            break
        if "status" in revision.before:
            status = revision.before["status"]
            return status if revision.act == "supersede" and isinstance(status, str) else note.status
    return note.status
