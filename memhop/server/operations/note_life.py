"""The life of notes: put aside, forgotten, erased, and back; pins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from memhop.api import results
from memhop.server.operation import ADMIN, WRITE, Answer, Host, operation
from memhop.server.operations.notes import NoteId
from memhop.server.parameters import Flag
from memhop.server.telling import changed

if TYPE_CHECKING:
    from memhop.api.db import DB


@operation("memhop_note_archive", title="Put a note aside", scope=WRITE, idempotent=True, result=results.Changed)
def note_archive(host: Host, db: DB, *, id: NoteId) -> Answer:
    """Put a note aside that is over but worth keeping: recall and lists leave it out unless they are asked for archived
    ones. Not for what is wrong (memhop_note_update, memhop_forget). Example: {"id": "3f0c52b1a09e77d4"}"""
    return changed(db.notes.archive(id))


@operation("memhop_note_unarchive", title="Take a note up again", scope=WRITE, idempotent=True, result=results.Changed)
def note_unarchive(host: Host, db: DB, *, id: NoteId) -> Answer:
    """Make a note active again that was put aside. Not for notes in the trash (memhop_restore).
    Example: {"id": "3f0c52b1a09e77d4"}"""
    return changed(db.notes.unarchive(id))


@operation(
    "memhop_forget", title="Forget a note", scope=WRITE, destructive=True, idempotent=True, result=results.Changed
)
def forget(host: Host, db: DB, *, id: NoteId) -> Answer:
    """Move a note to the trash when the user wants it forgotten or it should never have been stored: it is not recalled
    any more, and memhop_restore brings it back. Not for what has changed (memhop_note_update), nor for what is over but
    worth keeping. Example: {"id": "3f0c52b1a09e77d4"}"""
    return changed(db.notes.trash(id))


@operation("memhop_restore", title="Restore a note", scope=WRITE, idempotent=True, result=results.Changed)
def restore(host: Host, db: DB, *, id: NoteId) -> Answer:
    """Take a note out of the trash, when it was forgotten by mistake. To find it: memhop_note_list with tier trashed.
    It gives back no earlier words of a note. Example: {"id": "3f0c52b1a09e77d4"}"""
    return changed(db.notes.restore(id))


@operation("memhop_note_purge", title="Erase a note", scope=ADMIN, destructive=True, result=results.Changed)
def note_purge(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    force: Annotated[bool, Flag("Also if it is not in the trash.")] = False,
) -> Answer:
    """Erase a note in the trash for good, with its history and all that was made of it, when the user asks for exactly
    that: it cannot be brought back. Not for forgetting (memhop_forget). Example: {"id": "3f0c52b1a09e77d4"}"""
    return changed(db.notes.purge(id, force=force))


@operation("memhop_note_pin", title="Pin a note", scope=WRITE, idempotent=True, result=results.Changed)
def note_pin(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    pinned: Annotated[bool, Flag("false: take the pin away.")] = True,
) -> Answer:
    """Keep a note from everything that happens by itself, such as going to the trash after some days, when the user
    says that it must stay. Not a way to rank it higher.
    Example: {"id": "3f0c52b1a09e77d4"}"""
    return changed(db.notes.pin(id) if pinned else db.notes.unpin(id))
