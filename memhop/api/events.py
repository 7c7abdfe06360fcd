"""`db.events`: what has changed, by number, read from the log (`repo/changes.py`).

The type of an event says the layer's thing and what became of it: `note_new`, `fact_close`, `scene_update`. Those of
notes are named after the act that made the revision (`repo/l4_revision.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from memhop.api import results
from memhop.common.clock import LAST_MS
from memhop.common.config import check_int, check_name, check_project
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.changes import Change, Reader
from memhop.repo.dreams import Dream
from memhop.repo.imports import Import
from memhop.repo.l3_facts import Fact
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l5_capability import Capability
from memhop.repo.record import Kind, Record, Tier, project_key

if TYPE_CHECKING:
    from memhop.repo.store import Store

MOST: Final = 1_000  # events of one page
MOST_TYPES: Final = 100
_HIGHEST: Final = 2**83  # above the number of every event

# Of what is no note: its name in a type.
_NAMES: Final = {
    Kind.PROFILE: "profile", Kind.PROFILE_LINE: "profile_line", Kind.SCENE: "scene", Kind.TOPIC: "topic",
    Kind.GRAPH: "graph", Kind.KNOWLEDGE: "knowledge", Kind.KNOWLEDGE_EDGE: "knowledge_edge", Kind.FACT: "fact",
    Kind.MESSAGE: "message", Kind.NOTE: "note", Kind.CAPABILITY: "capability", Kind.EVENT: "trajectory",
    Kind.DREAM: "dream", Kind.MAINTENANCE: "maintenance", Kind.IMPORT: "import",
}  # fmt: skip
# What may differ between two versions without being an event: counters, and marks that other records follow from.
_SILENT: Final[dict[Kind, dict[str, Any]]] = {
    Kind.SCENE: {"fresh": 0},
    Kind.EVENT: {"first": False},
    Kind.CAPABILITY: {"trigger_count": 0, "success_count": 0, "last_triggered": 0},
    Kind.PROFILE: {"updated_at": 0},
    Kind.PROFILE_LINE: {"at": 0, "evidence": ()},
}
# The names by which older clients know events of notes.
_COMPATIBLE: Final = {
    "new": "new", "trash": "trash", "restore": "restore", "archive": "archive", "unarchive": "unarchive",
    "reassign": "reassign", "purge": "purge",
}  # fmt: skip


class Events:
    """The events of one handle. Safe from several threads: they read one after another."""

    def __init__(self, store: Store) -> None:
        self._reader = Reader(store)
        self._lock = threading.Lock()

    def page(self, since: object, limit: object, project: object, types: object) -> results.Events:
        """See `DB.events`."""
        most = check_int(limit, field="limit", low=1, high=MOST)
        wanted = filter_of(project, types)
        reader = self._reader
        with self._lock:
            start = reader.oldest if since is None else number_of(since)
            missed = since is not None and reader.missed(start)
            start = min(start, reader.newest)
            damaged = reader.damaged
            events: list[results.LogEvent] = []
            for change in reader.read(start):
                event = event_of(change)
                if event is not None and wanted(event):
                    events.append(event)
                    if len(events) == most:
                        break
            return results.Events(
                events=tuple(events),
                next=str(reader.next),
                oldest=str(reader.oldest),
                newest=str(reader.newest),
                gap=missed,
                damaged=reader.damaged - damaged,
            )


def number_of(value: object, *, field: str = "since") -> int:
    """The number in its text form, or as an int. Raises InvalidRequest."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _HIGHEST:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 25 and int(value) < _HIGHEST:
        return int(value)
    raise InvalidRequest(f"{value!r:.40} is no number of an event", field=field, allowed="`number` or `next`")


def filter_of(project: object, types: object) -> Callable[[results.LogEvent], bool]:
    """Whether an event is of a project and of some types, as `DB.events` has them. Raises InvalidRequest."""
    only = None if project is None else project_key(check_project(project))
    wanted = _types(types)
    return lambda event: _passes(event, only, wanted)


def _types(value: object) -> Collection[str] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidRequest("not a list of types", field="types", allowed="a list of str such as note_new or note_*")
    return tuple(check_name(item, field="types") for _, item in zip(range(MOST_TYPES), value, strict=False))


def _passes(event: results.LogEvent, project: str | None, types: Collection[str] | None) -> bool:
    if project is not None:
        places = (event.project, event.from_project)
        if not any(place is not None and project_key(place) == project for place in places):
            return False
    if types is None:
        return True
    names = (event.type, event.compat)
    return any(wanted in names or (wanted.endswith("*") and event.type.startswith(wanted[:-1])) for wanted in types)


def event_of(change: Change) -> results.LogEvent | None:
    """The event a change is; None where nothing that counts differs."""
    name = _NAMES[change.kind]
    act = _act(change)
    if not act:
        return None
    record = change.after or change.before
    note = change.kind == Kind.NOTE
    project = _text(record, "project")
    before = _text(change.before, "project")
    moved = change.after is not None and before is not None and project is not None and before != project
    return results.LogEvent(
        number=str(change.number),
        commit=change.commit,
        at=min(max(change.at, 0), LAST_MS),  # a commit may state any time
        type=f"{name}_{act}",
        compat=f"memory_{_COMPATIBLE.get(act, 'update')}" if note else None,
        layer=change.kind.layer,
        id=to_hex(change.id),
        project=project,
        kind=_text(record, "kind") or _text(record, "node_type") or _text(record, "role") or _text(record, "type"),
        actor=_text(change.after, "actor"),
        rev=record.rev if isinstance(record, Note) else None,
        from_project=before if moved else None,
        to_project=project if moved else None,
    )


def _text(record: Record | None, field: str) -> str | None:
    value = getattr(record, field, None)
    return value if isinstance(value, str) and value else None


def _act(change: Change) -> str:
    """What became of the record; "" for nothing."""
    before, after = change.before, change.after
    if after is None:
        return _GONE.get(change.kind, "delete")
    if not change.was_there:
        return _FIRST.get(change.kind, "new")
    if before is not None and _bare(before) == _bare(after):
        return ""
    tell = _LATER.get(change.kind)
    return tell(before, after) if tell is not None else "update"


_GONE: Final = {Kind.NOTE: "purge", Kind.MESSAGE: "purge", Kind.PROFILE: "erase"}
_FIRST: Final = {Kind.PROFILE: "update", Kind.DREAM: "start", Kind.MAINTENANCE: "done", Kind.IMPORT: "start"}


def _bare(record: Record) -> Record:
    silent = _SILENT.get(record.KIND)
    return msgspec.structs.replace(record, **silent) if silent else record


def _note(before: Record | None, after: Record) -> str:
    if not isinstance(after, Note):
        return ""
    if isinstance(before, Note) and before.rev == after.rev:
        return "update"  # such as a link that went with the note it led to
    if after.act:
        return after.act
    return "restore" if isinstance(before, Note) and before.tier == Tier.TRASHED != after.tier else "edit"


def _message(before: Record | None, after: Record) -> str:
    if isinstance(before, Message) and isinstance(after, Message):
        return "place" if (before.scene, before.topic) != (after.scene, after.topic) else "update"
    return "update"


def _fact(before: Record | None, after: Record) -> str:
    if isinstance(before, Fact) and isinstance(after, Fact):
        if after.retracted and not before.retracted:
            return "retract"
        if after.valid_to and after.valid_to != before.valid_to:
            return "close"
    return "update"


def _capability(before: Record | None, after: Record) -> str:
    if isinstance(before, Capability) and isinstance(after, Capability) and before.status != after.status:
        return {"active": "activate", "deprecated": "deprecate"}.get(after.status, "update")
    return "update"


def _run(before: Record | None, after: Record) -> str:
    """Of a dream or an import: only that it began, ended or was taken back."""
    if not isinstance(after, Dream | Import) or after.state == getattr(before, "state", None):
        return ""
    return {"running": "start", "undone": "undo"}.get(after.state, "end")


_LATER: Final[dict[Kind, Callable[[Record | None, Record], str]]] = {
    Kind.NOTE: _note,
    Kind.MESSAGE: _message,
    Kind.FACT: _fact,
    Kind.CAPABILITY: _capability,
    Kind.DREAM: _run,
    Kind.IMPORT: _run,
    Kind.MAINTENANCE: lambda *_: "done",
}
