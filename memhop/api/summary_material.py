"""What a progressive summary is made of: how the notes of a project differ from what they were when the last was saved.

The log tells it: every change behind the commit that saved the summary, folded by note, so that imported notes with old
times and notes that are gone are among them. Where compaction has dropped that commit, the groups of notes tell what
they can (`repo/l4_summary.py`): all that is still there and was changed since, by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from memhop.api import results
from memhop.api.titles import title
from memhop.common.errors import InvalidRequest, StorageError
from memhop.common.ids import to_hex
from memhop.core.meh_file import MehFile
from memhop.core.past import Moment
from memhop.repo.changes import Reader, after
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import NoteRevision, revision_id
from memhop.repo.l4_summary import changed_since, count_changed, newest
from memhop.repo.projects import State
from memhop.repo.record import Kind, Tier, project_key
from memhop.repo.schema import SUMMARY_KIND

if TYPE_CHECKING:
    from memhop.repo.store import Store

_READINGS: Final = 4  # of the log, 50,000 frames each; a summary that is older is compared by time
_REVISIONS: Final = 50  # of one note, looked through for what its status was
_PURGED, _MOVED = "purged", "moved away"
_ACTS: Final = {
    "": "created",
    "edit": "edited",
    "trash": "trashed",
    "restore": "restored",
    "archive": "archived",
    "unarchive": "unarchived",
    "reassign": "moved here",
}


class Material(NamedTuple):
    """The newest changes first, as many as were asked for; `notes` are those of them that are there.

    `whole` False: what was erased or moved away is not known.
    """

    changes: list[results.SummaryChange]
    notes: list[Note]
    total: int
    whole: bool


def gathered(store: Store, project: str, found: Sequence[State], summary: Note | None, most: int) -> Material:
    """What there is to say about a project, or has changed since a summary of it.

    Args:
        found: The states of the project.
        most: Changes that are listed, at most.

    Cost: 10 us for each record written since, and reading the notes that are listed.
    """
    if summary is None:
        active = [state for state in found if state.tier == Tier.ACTIVE and state.kind != SUMMARY_KIND]
        notes = newest(store, active, most)
        return Material([_told(note, "created") for note in notes], notes, sum(state.size for state in active), True)
    folded = _since(store, summary)
    if folded is None:
        notes = list(islice(_notes(store, changed_since(store, found, summary)), most))
        changes = [_by_time(store, note, summary.created_at) for note in notes]
        return Material(changes, notes, count_changed(store, found, summary), False)
    pairs = [
        (note, change)
        for id_, earlier in folded.items()
        if (change := _difference(id_, earlier, note := store.readable(Note, id_), project)) is not None
    ]
    pairs.sort(key=lambda pair: (-pair[1].changed_at, pair[1].id))
    listed = pairs[:most]
    there = [note for note, change in listed if note is not None and change.change != _MOVED]
    return Material([change for _, change in listed], there, len(pairs), True)


class _Earlier(NamedTuple):
    """A note as it was at the time of the summary. `note` None: it was not there, or nobody can tell (`was_there`)."""

    note: Note | None
    was_there: bool
    changed_at: int  # the commit that changed it last


def _since(store: Store, summary: Note) -> dict[int, _Earlier] | None:
    """Notes that were changed behind the commit which saved the summary. None: the log does not reach back to it."""
    start = _commit_before(store, summary.created_at)
    if start is None:
        return None
    reader = Reader(store)
    number, seen = after(start), False
    found: dict[int, _Earlier] = {}
    for _ in range(_READINGS):
        for change in reader.read(number):
            if change.id == summary.id:
                seen = seen or not change.was_there
            elif seen and change.kind == Kind.NOTE:
                earlier = found.get(change.id)
                if earlier is None:
                    before = change.before if isinstance(change.before, Note) else None
                    earlier = _Earlier(before, change.was_there, change.at)
                found[change.id] = earlier._replace(changed_at=change.at)
        number = reader.next
        if number >= reader.newest:
            return found if seen else None
    return None


def _commit_before(store: Store, at: int) -> int | None:
    """A commit in front of all that were made from this time on, Unix ms. None: it is no longer in the log."""
    try:
        with MehFile.open(store.file.path, mode="read", at=Moment(None, max(0, at - 1))) as then:
            return then.commit_number
    except (InvalidRequest, StorageError):
        return None


def _difference(id_: int, earlier: _Earlier, note: Note | None, project: str) -> results.SummaryChange | None:
    was = _within(earlier.note, project)
    now = _within(note, project)
    if now is None:
        if was is None or was.kind == SUMMARY_KIND:
            return None
        gone = results.SummaryChange(to_hex(id_), was.kind, None, "", _PURGED, earlier.changed_at)
        return gone if note is None else _told(note, _MOVED)
    if now.kind == SUMMARY_KIND or (was is not None and was.rev == now.rev):
        return None
    if was is None:
        return _told(now, "moved here" if earlier.note is not None else "edited" if earlier.was_there else "created")
    if was.tier != now.tier:
        change = "trashed" if now.tier == Tier.TRASHED else _ACTS.get(now.act, now.act)
    else:
        change = "status" if was.status != now.status else _ACTS.get(now.act, now.act)
    return _told(now, change, was.status)


def _within(note: Note | None, project: str) -> Note | None:
    return note if note is not None and project_key(note.project) == project_key(project) else None


def _by_time(store: Store, note: Note, since: int) -> results.SummaryChange:
    before = _status_at(store, note, since)
    if note.tier == Tier.TRASHED:
        return _told(note, "trashed", before)
    if note.created_at > since or (note.created_at == since and note.rev == 1):
        return _told(note, "created")
    return _told(note, "status" if before != note.status else _ACTS.get(note.act, note.act), before)


def _status_at(store: Store, note: Note, since: int) -> str:
    """What the status of a note was at a time, as far as its newest revisions tell."""
    status: object = note.status
    for rev in range(note.rev - 1, max(0, note.rev - 1 - _REVISIONS), -1):
        revision = store.readable(NoteRevision, revision_id(note.id, rev))
        if revision is None or revision.at < since:
            break
        status = revision.before.get("status", status)
    return status if isinstance(status, str) else note.status


def _told(note: Note, change: str, before: str | None = None) -> results.SummaryChange:
    moved = before is not None and before != note.status
    return results.SummaryChange(
        id=to_hex(note.id),
        kind=note.kind,
        status=note.status or None,
        title=title(note),
        change=change,
        changed_at=note.updated_at,
        status_before=(before or None) if moved else None,
    )


def _notes(store: Store, ids: Iterator[int]) -> Iterator[Note]:
    return (note for id_ in ids if (note := store.readable(Note, id_)) is not None)
