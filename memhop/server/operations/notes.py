"""Notes: reading, listing and changing them, and what they were before."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations.recalling import ALL
from memhop.server.operations.remembering import Link
from memhop.server.parameters import Choice, Flag, Id, Listed, Table, Text, Time, Whole
from memhop.server.reply import ROOM, compact, fitted, size_of
from memhop.server.telling import (
    changed,
    fenced,
    note_data,
    note_head,
    note_line,
    one_line,
    paged,
    part_of,
    present,
    preview,
)

if TYPE_CHECKING:
    from memhop.api.db import DB

_TIERS = ("active", "archived", "trashed", "all")


NoteId = Annotated[str, Id("The note.")]
Cursor = Annotated[str | None, Text("`next` of the page before, with the same other arguments.")]
ProjectAsked = Annotated[str | None, Text('Only this project. "*": all. Default: that of the server, else all.')]


@operation("memhop_note_get", title="Read a note", result=results.Note)
def note_get(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    start: Annotated[int, Whole("Of a long text: the character to begin with.", 0, 5_000_000)] = 0,
    chars: Annotated[int, Whole("Of a long text: most characters at once.", 1, 8000)] = 6000,
) -> Answer:
    """Read one note whole, whatever its tier: use it when a listing or recall shows only its beginning. A long text
    comes in parts, and the reply says where the next one begins. Not for finding notes (memhop_recall).
    Example: {"id": "3f0c52b1a09e77d4"}"""
    return read(db.notes.get(id), start, chars)


def read(note: results.Note, start: int = 0, chars: int = 6000) -> tuple[dict[str, Any], str]:
    """A note, with its text from `start` on: so much of it that the reply has room for all of the part."""
    data = present(**note.to_dict())
    del data["text"], data["created"]
    left_out = {
        "links": len(data.get("links", ())[_LINKS_SHOWN:]),
        "tags": len(data.get("tags", ())[_TAGS_SHOWN:]),
        "metadata": 0,
    }
    for name, most in (("links", _LINKS_SHOWN), ("link_types", _LINKS_SHOWN), ("tags", _TAGS_SHOWN)):
        if name in data:
            data[name] = data[name][:most]
    if size_of(note.metadata) > _METADATA:
        data["metadata"] = _beginning(note.metadata)
        left_out["metadata"] = len(note.metadata) - len(data["metadata"])
    if any(left_out.values()):
        data["left_out"] = present(**{name: count or None for name, count in left_out.items()})
    part = part_of(note.text, start, chars, ROOM - _FOR_THE_REST - size_of(data))
    data |= {"text": part.text, "start": part.start, "length": len(note.text), "next_start": part.next}
    lines = [f"{note_head(note)} rev {note.rev}"]
    if note.tags:
        lines.append(f"tags: {one_line(', '.join(note.tags), 400)}")
    if metadata := compact(note.metadata) if note.metadata else "":
        lines.append(f"metadata: {one_line(metadata, 600)}")
    text = fenced([*lines, "", part.text])
    if part.next is not None:
        text += f"\n(characters {start:,} to {part.next:,} of {len(note.text):,}; the rest: start={part.next})"
    elif start:
        text += f"\n(from character {start:,} to the end, {len(note.text):,})"
    return data, text


_LINKS_SHOWN = 20  # memhop_note_links has the others
_TAGS_SHOWN = 30
_METADATA, _VALUE = 3_000, 1_000  # characters, as JSON, of all of it and of one value
_FOR_THE_REST = 300  # characters of start, length, remarks


def _beginning(metadata: dict[str, Any]) -> dict[str, Any]:
    """The first keys of large metadata, with large values clipped."""
    kept: dict[str, Any] = {}
    for key, value in metadata.items():
        clipped, _ = fitted({"value": value}, _VALUE)
        if size_of(kept | {key: clipped["value"]}) > _METADATA:
            break
        kept[key] = clipped["value"]
    return kept


@operation("memhop_note_list", title="List notes", result=results.Page)
def note_list(
    host: Host,
    db: DB,
    *,
    project: ProjectAsked = None,
    kinds: Annotated[list[str] | None, Listed("Only of these kinds.", low=1)] = None,
    statuses: Annotated[list[str] | None, Listed('With one of these statuses; "": none.', Text("", 0), 1)] = None,
    tags: Annotated[list[str] | None, Listed("With all of these tags.", low=1)] = None,
    tier: Annotated[str, Choice("Which notes: active, put aside, in the trash, or all.", _TIERS)] = "active",
    pinned: Annotated[bool | None, Flag("Only pinned ones, or only others.")] = None,
    sort: Annotated[
        str, Choice("By last change, by when it was so, or by when it was stored.", ("updated", "at", "created"))
    ] = "updated",
    newest_first: Annotated[bool, Flag("The newest first.")] = True,
    since: Annotated[int | datetime | None, Time("Only from then on, by what is sorted by.")] = None,
    until: Annotated[int | datetime | None, Time("Only before then.")] = None,
    text_chars: Annotated[int, Whole("Most characters shown of each text.", 0, 2000)] = 160,
    limit: Annotated[int, Whole("Most notes.", 1, 100)] = 20,
    cursor: Cursor = None,
) -> Answer:
    """Go through notes by time and status, such as all open bugs or what changed last: use it when you want all of
    something. It shows how each begins; memhop_note_get reads one. Not for finding something by its words
    (memhop_recall). Example: {"project": "web", "kinds": ["bug"], "statuses": ["open"]}"""
    page = db.notes.list(
        project=None if project == ALL else project,
        kinds=kinds,
        statuses=statuses,
        tags=tags,
        tier=tier,
        pinned=pinned,
        sort=sort,
        newest_first=newest_first,
        since=since,
        until=until,
        limit=limit,
        cursor=cursor,
    )
    return paged(
        page,
        lambda note: note_data(note, text_chars),
        lambda note: note_line(note, text_chars),
        nothing="No such notes.",
    )


@operation("memhop_note_update", title="Change a note", scope=WRITE, result=results.Changed)
def note_update(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    text: Annotated[str | None, Text("Other words.")] = None,
    kind: Annotated[str | None, Text("Another kind.")] = None,
    status: Annotated[str | None, Text('Another status, such as fixed; "": the default one.', 0)] = None,
    tags: Annotated[list[str] | None, Listed("These tags in place of those it has.", high=64)] = None,
    metadata: Annotated[
        dict[str, Any] | None, Table("Merged into what it has, key by key; null takes a key away.")
    ] = None,
    links: Annotated[
        list[Any] | None, Listed("These links in place of those it has: ID or TYPE:ID.", Link(""), high=256)
    ] = None,
    source: Annotated[str | None, Text('Another source; "": none.', 0)] = None,
    at: Annotated[int | datetime | None, Time("When it was so.")] = None,
    expected_rev: Annotated[
        int | None, Whole("The revision you have seen: if there is a newer one, nothing is changed.", 1, 1_000_000_000)
    ] = None,
    replace_metadata: Annotated[bool, Flag("The metadata takes the place of what it has.")] = False,
) -> Answer:
    """Correct a note, or say how it stands now: use it as soon as something stored has become wrong, or a bug, plan or
    decision has got another status. Leave out what stays. What it was is kept in its history. When something new takes
    the place of something old that was right then, store the new one with a link supersedes:ID instead.
    Example: {"id": "3f0c52b1a09e77d4", "status": "fixed"}"""
    done = db.notes.update(
        id,
        text=text,
        kind=kind,
        status=status,
        tags=tags,
        metadata=metadata,
        links=links,
        source=source,
        at=at,
        expected_rev=expected_rev,
        replace_metadata=replace_metadata,
    )
    return changed(done)


@operation("memhop_note_history", title="History of a note", result=results.Page)
def note_history(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    limit: Annotated[int, Whole("Most revisions.", 1, 100)] = 10,
    cursor: Cursor = None,
) -> Answer:
    """See what a note was before, who changed it when, and what: use it before memhop_note_revert, or when the user
    asks since when something is so. The newest first. Not for changes of other notes.
    Example: {"id": "3f0c52b1a09e77d4"}"""
    page = db.notes.history(id, limit=limit, cursor=cursor)
    return paged(page, lambda one: present(**one.to_dict()), _revision_line, nothing="No older revisions.")


def _revision_line(one: results.NoteRevision) -> str:
    moved = [f"{field.name}: {_short(field.before)} -> {_short(field.after)}" for field in one.changes]
    did = one.act or "kept"
    who = f"{did} by {one.actor}" if one.actor else did
    what = "; ".join((who, *moved, *(["text"] if one.diff else [])))
    return f"rev {one.rev} {one.to_dict()['at'] or 'earlier'} {one_line(what, 300)}"


def _short(value: Any) -> str:
    return preview(compact(value), 40)


@operation("memhop_note_revert", title="Give a note back what it said", scope=WRITE, result=results.Changed)
def note_revert(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    rev: Annotated[int, Whole("A revision that memhop_note_history tells.", 1, 1_000_000_000)],
    expected_rev: Annotated[
        int | None, Whole("The revision you have seen: if there is a newer one, nothing is changed.", 1, 1_000_000_000)
    ] = None,
) -> Answer:
    """Undo changes of a note: it gets the words, kind, status, tags, metadata and links of an earlier revision, as a
    new revision. Not for notes in the trash (memhop_restore).
    Example: {"id": "3f0c52b1a09e77d4", "rev": 2}"""
    return changed(db.notes.revert(id, rev, expected_rev=expected_rev))
