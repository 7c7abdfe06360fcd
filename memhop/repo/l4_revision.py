"""L4 Archive: what notes were before. The only place where a note becomes another.

A revision is written beside each change, in the same commit. It holds what the changed fields were, so that the
history of a note outlives compaction; erasing the note erases it (`repo/references.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from memhop.common.ids import key_hash
from memhop.repo.l4_note import Note
from memhop.repo.record import Count, Id, Kind, Listing, Ms, Record, Tier, label

if TYPE_CHECKING:
    from memhop.repo.batch import Batch

REVISIONS_KEPT: Final = 200  # of one note; the oldest go first
REVISION_BYTES: Final = 32 * 1024  # of one note, all together; the newest is kept however large it is
_PAGE = 100  # the oldest, looked at when another one comes
ACTS: Final = (  # what a change was; events are named after it
    "edit",
    "status",
    "tags",
    "link",
    "unlink",
    "pin",
    "unpin",
    "archive",
    "unarchive",
    "trash",
    "restore",
    "reassign",
    "revert",
    "supersede",
    "reinstate",  # what superseded it is gone
    "import",
)
_SILENT = frozenset({"rev", "updated_at", "status_at", "act", "actor", "id"})  # follow from the change itself


class NoteRevision(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Revision `rev` of a note, as far as the next one differs from it. `act`, `actor` and `at` are those of the change
    that ended it; `before` has the earlier values by name of field, as JSON has them."""

    KIND: ClassVar[Kind] = Kind.NOTE_REVISION
    note: Id
    rev: Count
    at: Ms = 0
    act: str = ""
    actor: str = ""
    before: dict[str, Any] = {}
    written: Count = 0  # bytes of this and all earlier ones of the note, also of those that are no longer kept

    def listings(self) -> list[Listing]:
        return [Listing(revisions_of(self.note), self.rev)]


def revisions_of(note: int) -> int:
    """The group of a note's earlier revisions, in order."""
    return label("revisions", note)


def revision_id(note: int, rev: int) -> int:
    """One record for each revision of a note."""
    return key_hash("note_revision", note, rev)


def revise(batch: Batch, note: Note, *, act: str, actor: str, now_ms: int, **fields: Any) -> Note:
    """Change fields of a note, and keep what they were.

    Args:
        act: One of ACTS.
        actor: Who does it; "" where nobody said.
        fields: New values. `rev`, `updated_at`, `status_at`, `act` and `actor` are seen to here, as are `archived_at`
            and `trashed_at` where only `tier` is given.

    Returns:
        The note as the batch holds it; the same object, and nothing is put, where no field differs.
    """
    if "tier" in fields:
        fields = _with_times(note, fields, now_ms)
    changed = {name: value for name, value in fields.items() if getattr(note, name) != value}
    if not changed:
        return note
    before = {name: getattr(note, name) for name in changed if name not in _SILENT}
    if note.rev == 1:  # of later revisions the record before them says it
        before |= {name: value for name in ("act", "actor") if (value := getattr(note, name))}
    if "status" in changed:
        changed["status_at"] = now_ms
    earlier = batch.find(NoteRevision, revision_id(note.id, note.rev - 1))
    plain = msgspec.to_builtins(before)
    record = NoteRevision(
        note=note.id,
        rev=note.rev,
        at=now_ms,
        act=act,
        actor=actor,
        before=plain,
        written=(earlier.written if earlier else 0) + len(msgspec.msgpack.encode(plain)),
    )
    _drop_oldest(batch, record)
    batch.put(record, revision_id(note.id, note.rev))
    revised = msgspec.structs.replace(
        note, **changed, rev=note.rev + 1, updated_at=max(now_ms, note.updated_at), act=act, actor=actor
    )
    return batch.put(revised)


def _drop_oldest(batch: Batch, newest: NoteRevision) -> None:
    """Keep within the bounds. What is dropped is struck out of a kept history too: the bounds are there for space."""
    for kept in batch.listed(NoteRevision, revisions_of(newest.note), limit=_PAGE):
        if kept.rev > newest.rev - REVISIONS_KEPT and newest.written - kept.written < REVISION_BYTES:
            return
        batch.delete(Kind.NOTE_REVISION, revision_id(newest.note, kept.rev), purge=True)


def _with_times(note: Note, fields: dict[str, Any], now_ms: int) -> dict[str, Any]:
    """The times that go with a tier. A note in the trash remembers whether it was archived."""
    tier = fields["tier"]
    if tier == Tier.TRASHED:
        times = {"trashed_at": note.trashed_at or now_ms}
    elif tier == Tier.ARCHIVED:
        times = {"trashed_at": 0, "archived_at": note.archived_at or now_ms}
    else:
        times = {"trashed_at": 0, "archived_at": 0}
    return {"tier": int(tier), **times} | {name: value for name, value in fields.items() if name != "tier"}
