"""`memhop_remember`: storing notes, one or several at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.common.errors import InvalidRequest
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.parameters import Choice, Fields, Id, Kind, Listed, Table, Text, Time
from memhop.server.telling import note_data, one_line, present

if TYPE_CHECKING:
    from memhop.api.db import DB

LINK_TYPES = ("related", "supersedes", "fixes", "causes", "part_of", "depends_on")


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


@operation("memhop_remember", title="Remember", scope=WRITE, idempotent=True, result=results.Note)
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
    known = [
        present(id=note.id, created=note.created, redacted=note.redacted or None, quoted=note.quoted or None)
        for note in notes
    ]
    return {"items": known}, "\n".join(f"{_did(note)}: {note.id}{_left_out(note)}" for note in notes)


def _remembered(note: results.Note) -> dict[str, Any]:
    return note_data(note) | {"created": note.created, "redacted": note.redacted, "quoted": note.quoted}


def _remembered_line(note: results.Note) -> str:
    status = f" ({one_line(note.status)})" if note.status else ""
    what = f"{one_line(note.kind)}{status} in project {one_line(note.project)}"
    return f"{_did(note)}: {note.id} {what}{_left_out(note)}"


def _did(note: results.Note) -> str:
    known = "it only repeats what is stored" if note.quoted else "known already"
    return "remembered" if note.created else known


def _left_out(note: results.Note) -> str:
    masked = f"; {note.redacted} secrets or private spans were left out" if note.redacted else ""
    repeated = f"; {note.quoted} lines that only repeat what is stored were left out"
    return masked + (repeated if note.quoted and note.created else "")
