"""Notes in the shapes of the seventeen tools of `hemisphere.py`: ids, memories, and replies of one JSON text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memhop.common.errors import Conflict, InvalidRequest, NotFound
from memhop.server.operation import Answer
from memhop.server.parameters import Id, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memhop.api import results
    from memhop.api.db import DB

RELATED: Final = "related"
_IMPORTED: Final = "hemisphere:"  # what stands before its number in the external id of an imported note


@dataclass(frozen=True)
class NoteId(Kind):
    """An id, or the number a note had where it was imported from. Gives the id, or the external id."""

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "maxLength": 17}

    def check(self, value: Any, name: str, remarks: list[str]) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        digits = value.strip().removeprefix("#") if isinstance(value, str) else ""
        if digits.isascii() and digits.isdecimal() and len(digits) < 16:
            return f"{_IMPORTED}{int(digits)}"
        return Id(self.about).check(value, name, remarks)


def memory(note: results.Note, hit: results.Hit | None = None) -> dict[str, Any]:
    """A note in the shape of a memory. What is said of few is left out where there is nothing to say."""
    plain = note.to_dict()
    related = [id for id, type in zip(note.links, note.link_types, strict=True) if type == RELATED]
    found: dict[str, Any] = {
        "id": note.id,
        "project": note.project,
        "kind": note.kind,
        "status": note.status,
        "content": note.text,
        "related_ids": related,
        "metadata": {**note.metadata, **({"tags": list(note.tags)} if note.tags else {})},
        "created_at": plain["created_at"],
        "updated_at": plain["updated_at"],
        "archived_at": plain["archived_at"],
        "deleted_at": plain["trashed_at"],
    }
    if note.superseded_by:
        found["superseded_by"] = note.superseded_by
    if hit is not None:
        found["score"] = round(hit.score, 4)
        if hit.instruction_like:
            found["instruction_like"] = True
    return found


def stand(brief: results.ProjectBrief) -> dict[str, Any]:
    counts = {one.kind: one.count for one in brief.open}
    found: dict[str, Any] = {
        "project": brief.project,
        "summary_id": brief.summary.id if brief.summary else None,
        "stale": brief.summary.stale if brief.summary else False,
        "pending": counts.pop("plan", 0),
        "open_bugs": counts.pop("bug", 0),
        "activity_count": sum(brief.kinds.values()),
        "decisions": [{"id": one.id, "status": one.status, "title": one.title} for one in brief.decisions],
    }
    counts.pop("decision", None)  # they are named
    return found | ({"open": counts} if counts else {})


def taken_apart(
    status: str | None, metadata: dict[str, Any] | None
) -> tuple[str | None, list[Any] | None, dict[str, Any] | None]:
    """Status, tags and other metadata: the metadata of a memory may name the first two."""
    if metadata is None:
        return status, None, None
    kept = {key: value for key, value in metadata.items() if key not in ("status", "tags", "created_at", "updated_at")}
    named = metadata.get("status")
    if status is None and named is not None:
        if not isinstance(named, str):
            raise InvalidRequest("it is no text", field="metadata.status", allowed="text")
        status = named
    tags = metadata.get("tags")
    if tags is not None and not isinstance(tags, list):
        raise InvalidRequest("it is no list", field="metadata.tags", allowed="a list of texts")
    return status, [] if tags is None and "tags" in metadata else tags, kept


def edited(db: DB, note: results.Note, related: list[str] | None, fields: dict[str, Any]) -> results.Changed:
    """Change a note, its other links kept."""
    while True:
        if related is None:
            return db.notes.update(note.id, **fields)
        others = [(type, id) for id, type in zip(note.links, note.link_types, strict=True) if type != RELATED]
        try:
            return db.notes.update(
                note.id, **fields, links=[*others, *((RELATED, id) for id in related)], expected_rev=note.rev
            )
        except Conflict:
            note = db.notes.get(note.id)


def moved(db: DB, project: str, id: str, name: str, act: Callable[[str], results.Changed]) -> Answer:
    """What moving a note to another tier comes to."""
    found = found_in(db, project, id)
    if isinstance(found, str):
        return {name: False, "reason": found}
    changed = act(found.id)
    return {name: changed.changed, "tier": changed.tier, "reason": changed.reason}


def found_in(db: DB, project: str, id: str) -> results.Note | str:
    """The note of a project; why there is none."""
    try:
        return db.notes.get(_id(db, project, id), project=project)
    except NotFound as error:
        return error.message


def ids_of(db: DB, project: str, given: Iterable[str]) -> list[str]:
    return [_id(db, project, one) for one in dict.fromkeys(given)]


def _id(db: DB, project: str, given: str) -> str:
    """The id of what an argument names. Raises NotFound."""
    if not given.startswith(_IMPORTED):
        return given
    note = db.notes.find(given, project=project)
    if note is None:
        number = given.removeprefix(_IMPORTED)
        raise NotFound(f"no memory was imported to {project!r} as number {number}", field="id")
    return note.id


def listed(data: dict[str, Any]) -> Answer:
    """A list, which is the whole text unless there is more to say: then a line below says it."""
    return data, _text_of


def _text_of(data: dict[str, Any]) -> str:
    items = data.get("items", [])
    lines = [whole(items)]
    if cut := data.get("cut"):
        lines.append(f"(cut: {json.dumps(cut, ensure_ascii=False)})")
    if data.get("next"):
        total = f" of {data['total']:,}" if data.get("total") else ""
        lines.append(f"({len(items):,}{total} shown; go on with cursor {json.dumps(data['next'])})")
    if data.get("reason"):
        lines.append(f"(nothing found: {data['reason']})")
    return "\n".join(lines)


def whole(data: Any) -> str:
    """As JSON, with what is absent or empty too."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def why_nothing(found: results.Recall) -> str | None:
    if found.hits:
        return None
    return "; ".join(filter(None, (found.reason, found.hint)))


def numbered(context: str) -> str:
    """A context whose lines are numbered; the fence lines, and the one that counts what did not fit, are not."""
    numbered, count = [], 0
    for line in context.splitlines():
        if line.startswith("["):
            count += 1
            line = f"{count}. {line}"
        numbered.append(line)
    return "\n".join(numbered)


def tier_of(archived: bool, trash: bool) -> str:
    return "archived" if archived else "trashed" if trash else "active"
