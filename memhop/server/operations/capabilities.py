"""L5: capability cards, what the agent knows how to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.common.errors import InvalidRequest
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations import older_names
from memhop.server.operations.knowledge import deleted
from memhop.server.operations.paging import Cursor, Limit
from memhop.server.parameters import Choice, Flag, Listed, Table, Text, Whole
from memhop.server.telling import fenced, one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

STATUSES = ("draft", "active", "deprecated")
TYPES = ("mcp", "skill", "composite")
_ORIGINS = ("imported", "crystallized", "builtin")
CardId = Annotated[str, Text("The card, by id or by name.")]
Language = Annotated[str | None, Text("Language of its texts, such as zh. Default: as they were written.")]


@operation("memhop_capability_import", title="Import a capability card", scope=WRITE, idempotent=True)
def capability_import(
    host: Host,
    db: DB,
    *,
    document: Annotated[
        dict[str, Any], Table("The card itself, as an object or as JSON text: format memhop-capability/v2.")
    ],
) -> Answer:
    """Take over a capability card that somebody hands you, as its whole document; files of the server are never read.
    It is active at once; the same document again changes nothing, another of its name replaces what the card says.
    Example: {"document": {"format": "memhop-capability/v2", "name": "greet", "type": "skill", "summary": "How to
    greet", "resources": [{"type": "skill", "name": "greet", "ref": "skills/greet.md"}]}}"""
    try:
        (done,) = db.capabilities.import_(document).cards
    except InvalidRequest as error:
        error.field = f"document.{error.field}" if error.field else "document"
        raise
    data = older_names.card(done.card) | {"ok": True, "action": done.action, "left_out": list(done.remarks)}
    return data, "; ".join((f"{done.action}: {_line(done.card)}", *done.remarks))


@operation("memhop_capability_get", title="Read a capability card", result=results.Capability, called={"name": "id"})
def capability_get(host: Host, db: DB, *, id: CardId, language: Language = None) -> Answer:
    """Read one card whole before you do what it describes: its resources, steps and record.
    Example: {"id": "memhop-guide"}"""
    card = db.capabilities.get(id, language=language)
    steps = [f"{step.get('ref')}: {step.get('action', '')}" for step in card.workflow.get("steps", ())]
    refs = [f"{one.get('type')} {one.get('name')} {one.get('ref')}" for one in card.resources]
    lines = (_line(card), *(one_line(line, 400) for line in (card.trigger, *refs, *steps) if line))
    return older_names.card(card), fenced(lines)


@operation("memhop_capability_list", title="List capability cards", result=results.Page)
def capability_list(
    host: Host,
    db: DB,
    *,
    status: Annotated[str | None, Choice("Only those.", STATUSES)] = None,
    type: Annotated[str | None, Choice("Only those.", TYPES)] = None,
    keyword: Annotated[str | None, Text("It stands in the name, summary or trigger.", 0)] = None,
    origin: Annotated[str | None, Choice("Only those.", _ORIGINS)] = None,
    language: Language = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Answer:
    """List what the agent knows how to do, the last changed cards first. To find one that fits a task:
    memhop_capability_match. Example: {"status": "draft"}"""
    page = db.capabilities.list(
        status=status, type=type, origin=origin, keyword=keyword or None, language=language, limit=limit, cursor=cursor
    )
    return paged(page, _listed, _line, nothing="no cards")


@operation("memhop_capability_match", title="Find a capability card")
def capability_match(
    host: Host,
    db: DB,
    *,
    text: Annotated[str, Text("What you are about to do.")],
    language: Language = None,
    limit: Annotated[int, Whole("Most cards.", 1, 20)] = 3,
) -> Answer:
    """Find active cards that fit what you are about to do, best first. It counts no use: memhop_capability_usage does.
    Example: {"text": "read a file of this repository"}"""
    found = db.capabilities.match(text, limit=limit, language=language)
    items = [one.to_dict() | {"card": _listed(one.card)} for one in found]
    lines = [f"{one.score:.2f} {_line(one.card)}" for one in found]
    return {"items": items, "next": None}, fenced(lines) or "no card fits"


@operation(
    "memhop_capability_activate",
    title="Activate a card",
    scope=WRITE,
    idempotent=True,
    result=results.Capability,
    called={"name": "id"},
)
def capability_activate(host: Host, db: DB, *, id: CardId) -> Answer:
    """Offer a draft, or again a deprecated card, from now on. Only when a person has looked at it and agrees.
    Example: {"id": "a2a7c0f5e6a72e50"}"""
    return _told(db.capabilities.activate(id))


@operation(
    "memhop_capability_usage",
    title="Count a use of a card",
    scope=WRITE,
    result=results.Capability,
    called={"name": "id"},
)
def capability_usage(
    host: Host, db: DB, *, id: CardId, success: Annotated[bool, Flag("Whether it went well.")]
) -> Answer:
    """Say that you did what a card describes, and whether it went well: it ranks cards that fit equally.
    Example: {"id": "greet", "success": true}"""
    return _told(db.capabilities.record_usage(id, success))


@operation(
    "memhop_capability_update",
    title="Change a card",
    scope=WRITE,
    idempotent=True,
    result=results.Capability,
    called={"name": "id"},
)
def capability_update(
    host: Host,
    db: DB,
    *,
    id: CardId,
    version: Annotated[str | None, Text("Its version.", 0)] = None,
    type: Annotated[str | None, Choice("Its type.", TYPES)] = None,
    summary: Annotated[str | None, Text("What it is good for.", 0)] = None,
    trigger: Annotated[str | None, Text("When to use it.", 0)] = None,
    status: Annotated[str | None, Choice("active for a draft, deprecated for an active one.", STATUSES)] = None,
    resources: Annotated[
        list[dict[str, Any]] | None, Listed("All its resources: type, name, ref, …", Table(""))
    ] = None,
    workflow: Annotated[dict[str, Any] | None, Table("Its workflow: steps of ref and action.")] = None,
) -> Answer:
    """Change what is given of a card and keep the rest; "", [] or {} clears a part. The whole must be a card
    afterwards. Example: {"id": "greet", "summary": "How to greet guests"}"""
    card = db.capabilities.update(
        id,
        version=version,
        type=type,
        summary=summary,
        trigger=trigger,
        status=status,
        resources=resources,
        workflow=workflow,
    )
    return _told(card)


@operation(
    "memhop_capability_delete",
    title="Delete a card",
    scope=WRITE,
    destructive=True,
    idempotent=True,
    called={"name": "id"},
)
def capability_delete(host: Host, db: DB, *, id: CardId) -> Answer:
    """Delete a card for good. To only stop offering it: memhop_capability_update with status deprecated.
    Example: {"id": "greet"}"""
    return deleted(db.capabilities.delete(id), "card")


def _listed(card: results.Capability) -> dict[str, Any]:
    """A card among others: of its resources and steps what they are, without what there is to know of them."""
    data = older_names.card(card)
    names = ("type", "name", "ref")
    data["resources"] = [{name: one[name] for name in names if name in one} for one in card.resources]
    data["workflow"] = {"steps": [{"ref": step.get("ref")} for step in card.workflow.get("steps", ())]}
    return data


def _told(card: results.Capability) -> Answer:
    return {"ok": True} | older_names.card(card), _line(card)


def _line(card: results.Capability) -> str:
    return f"{card.id} {one_line(card.name, 80)} ({card.type}, {card.status}, {card.origin}): {one_line(card.summary)}"
