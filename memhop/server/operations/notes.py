"""Notes: storing, reading, changing, putting aside, taking away."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.common.errors import InvalidRequest
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations.recalling import ALL
from memhop.server.parameters import Choice, Fields, Flag, Id, Kind, Listed, Table, Text, Time, Whole
from memhop.server.reply import ROOM, compact, fitted, size_of, without_items
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

LINK_TYPES = ("related", "supersedes", "fixes", "causes", "part_of", "depends_on")
_TIERS = ("active", "archived", "trashed", "all")


@dataclass(frozen=True)
class Link(Kind):
    """A link: an id, or TYPE:ID. An object with id and type will do, too."""

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(({'|'.join(LINK_TYPES)}):)?[0-9a-f]{{16}}$"}

    def check(self, value: Any, name: str, remarks: list[str]) -> tuple[str, str]:
        type_, target = "related", value
        if isinstance(value, str) and ":" in value:
            type_, _, target = value.partition(":")
        elif isinstance(value, dict) and "id" in value and value.keys() <= {"id", "type"}:
            type_, target = value.get("type") or type_, value["id"]
        chosen = Choice("", LINK_TYPES).check(type_, f"{name}.type", remarks)
        return chosen, Id("").check(target, name, remarks)


_NOTE: dict[str, Kind] = {
    "text": Text("What to keep."),
    "project": Text("Where it belongs."),
    "kind": Text("What it is."),
    "status": Text("How it stands.", 0),
    "tags": Listed("Words to find it by.", high=64),
    "metadata": Table("More about it."),
    "links": Listed("What it refers to: ID or TYPE:ID.", Link(""), high=256),
    "source": Text("Where it comes from."),
    "at": Time("When it was so."),
    "external_id": Text("Your own name for it."),
    "idempotency_key": Text("Names this attempt, for a retry."),
}
_MOST_AT_ONCE = 100

NoteId = Annotated[str, Id("The note.")]
Cursor = Annotated[str | None, Text("`next` of the page before, with the same other arguments.")]
ProjectAsked = Annotated[str | None, Text('Only this project. "*": all. Default: all.')]


@operation("memhop_remember", title="Remember", scope=WRITE, idempotent=True)
def remember(
    host: Host,
    db: DB,
    *,
    text: Annotated[
        str | None, Text("What to keep, one thing, in words that can be understood without this conversation.")
    ] = None,
    project: Annotated[str, Text('Where it belongs; "universal" for what holds everywhere.')] = "default",
    kind: Annotated[
        str, Text("note, fact, decision, bug, plan, insight, preference, identity, or a name of your own.")
    ] = "note",
    status: Annotated[str | None, Text("How it stands. Default: that of the kind, such as open of a bug.", 0)] = None,
    tags: Annotated[list[str] | None, Listed("Words to find it by.", high=64)] = None,
    metadata: Annotated[
        dict[str, Any] | None, Table('More about it, such as {"rationale": "...", "files": ["..."]} of a decision.')
    ] = None,
    links: Annotated[
        list[Any] | None,
        Listed(f"What it refers to: an id, or TYPE:ID, TYPE one of {', '.join(LINK_TYPES)}.", Link(""), high=256),
    ] = None,
    source: Annotated[str | None, Text("Where it comes from, such as a file or a person.")] = None,
    at: Annotated[int | datetime | None, Time("When it was so. Default: now.")] = None,
    external_id: Annotated[
        str | None, Text("Your own name for it in its project. Storing under the same name again changes the note.")
    ] = None,
    idempotency_key: Annotated[
        str | None, Text("Names this attempt: a retry with the same one stores nothing.")
    ] = None,
    items: Annotated[
        list[dict[str, Any]] | None,
        Listed(
            "In place of text: several notes at once, all or none. What stands beside it holds for those that do not "
            "say otherwise.",
            Fields("", _NOTE, ("text",)),
            1,
            _MOST_AT_ONCE,
        ),
    ] = None,
) -> Answer:
    """Store what is worth keeping beyond this session, as soon as you know it: decisions with their reasons,
    preferences of the user, causes of faults and their cure, plans. One thing at a time. Not for what the code says
    anyway, passing states, keys or passwords. What has become wrong is corrected with memhop_note_update. Storing the
    same words again makes no second note. Secrets are masked, and the reply says so.
    Example: {"text": "We chose SQLite over Postgres, because there is one writer", "kind": "decision"}"""
    given = {
        "project": project,
        "kind": kind,
        "status": status,
        "tags": tags or (),
        "metadata": metadata,
        "links": links or (),
        "source": source,
        "at": at,
    }
    if items is None:
        if text is None:
            raise InvalidRequest("it is missing", field="text", allowed="what to keep; or items, several at once")
        note = db.remember(text, **given, external_id=external_id, idempotency_key=idempotency_key)  # type: ignore[arg-type]
        return _remembered(note), _remembered_line(note)
    alone = {"text": text, "external_id": external_id, "idempotency_key": idempotency_key}
    for name, value in alone.items():
        if value is not None:
            raise InvalidRequest("each of the items has its own", field=name, allowed="nothing beside items")
    notes = db.remember_many(given | item for item in items)
    return {"items": [_remembered(note) for note in notes]}, "\n".join(map(_remembered_line, notes))


def _remembered(note: results.Note) -> dict[str, Any]:
    return note_data(note) | {"created": note.created, "redacted": note.redacted, "quoted": note.quoted}


def _remembered_line(note: results.Note) -> str:
    known = "it only repeats what is stored" if note.quoted else "known already"
    did = "remembered" if note.created else known
    status = f" ({one_line(note.status)})" if note.status else ""
    lines = [f"{did}: {note.id} {one_line(note.kind)}{status} in project {one_line(note.project)}"]
    if note.redacted:
        lines.append(f"{note.redacted} secrets or private spans were left out")
    if note.quoted and note.created:
        lines.append(f"{note.quoted} lines that only repeat what is stored were left out")
    return "; ".join(lines)


@operation("memhop_note_get", title="Read a note")
def note_get(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    start: Annotated[int, Whole("Of a long text: the character to begin with.", 0, 5_000_000)] = 0,
    chars: Annotated[int, Whole("Of a long text: most characters at once.", 1, 9000)] = 6000,
) -> Answer:
    """Read one note whole, whatever its tier: use it when a listing or recall shows only its beginning. A long text
    comes in parts, and the reply says where the next one begins. Not for finding notes (memhop_recall).
    Example: {"id": "3f0c52b1a09e77d4"}"""
    return read(db.notes.get(id), start, chars)


def read(note: results.Note, start: int = 0, chars: int = 6000) -> tuple[dict[str, Any], str]:
    """A note, with its text from `start` on; all of it that there is room for."""
    data = present(**note.to_dict())
    del data["text"], data["created"]
    text_length = len(note.text)
    if size_of(data) > _AROUND:  # metadata may be 64 KiB
        data, fits = fitted(data, _AROUND)
        data = data if fits else without_items(data, _AROUND)
    part = part_of(note.text, start, chars, ROOM - _AROUND)
    data |= {"text": part.text, "start": part.start, "length": text_length, "next_start": part.next}
    lines = [f"{note_head(note)} rev {note.rev}"]
    if note.tags:
        lines.append(f"tags: {one_line(', '.join(note.tags), 400)}")
    if metadata := compact(note.metadata) if note.metadata else "":
        lines.append(f"metadata: {one_line(metadata, 600)}")
    text = fenced([*lines, "", part.text])
    if part.next is not None:
        text += f"\n(characters {start:,} to {part.next:,} of {text_length:,}; the rest: start={part.next})"
    elif start:
        text += f"\n(characters {start:,} to {text_length:,}, the end)"
    return data, text


_AROUND = 4_000  # characters, as JSON, of what stands around a text


@operation("memhop_note_list", title="List notes")
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
    return paged(page, lambda note: note_data(note, text_chars), note_line, nothing="No such notes.")


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
        int | None, Whole("The revision you have seen: if there is a newer one, nothing is changed.", 1, 2**53)
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


@operation("memhop_note_history", title="History of a note")
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
    rev: Annotated[int, Whole("A revision that memhop_note_history tells.", 1, 2**53)],
    expected_rev: Annotated[
        int | None, Whole("The revision you have seen: if there is a newer one, nothing is changed.", 1, 2**53)
    ] = None,
) -> Answer:
    """Undo changes of a note: it gets the words, kind, status, tags, metadata and links of an earlier revision, as a
    new revision. Not for notes in the trash (memhop_restore).
    Example: {"id": "3f0c52b1a09e77d4", "rev": 2}"""
    return changed(db.notes.revert(id, rev, expected_rev=expected_rev))
