"""L3: dated facts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from memhop.api import results
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations.knowledge import deleted
from memhop.server.operations.paging import Cursor, Limit, Newest
from memhop.server.parameters import Flag, Id, Listed, Number, Text, Time
from memhop.server.telling import fenced, one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

FactId = Annotated[str, Id("The fact.")]


@operation("memhop_fact_assert", title="State a fact", scope=WRITE, idempotent=True, result=results.Fact)
def fact_assert(
    host: Host,
    db: DB,
    *,
    subject: Annotated[str, Text("Whom or what it is about, always by the same name.")],
    predicate: Annotated[str, Text("What is said about it, such as lives in.")],
    value: Annotated[str, Text("The value.")],
    valid_from: Annotated[int | datetime | None, Time("Since when. Default: when the source says, or now.")] = None,
    valid_to: Annotated[int | datetime | None, Time("Until when. Default: no end is known.")] = None,
    sources: Annotated[list[str] | None, Listed("Ids of messages, notes, … that say so.", Id(""), 0, 256)] = None,
    many: Annotated[bool, Flag("It may have several such values at a time, such as likes.")] = False,
    confidence: Annotated[float, Number("How sure it is.", 0.0, 1.0)] = 1.0,
) -> Answer:
    """State what is so, or was so for a time, when it may change: where somebody lives, which version runs. The value
    before ends where this one begins, and stays in the history. For decisions with reasons: memhop_remember.
    Example: {"subject": "Ann", "predicate": "lives in", "value": "Porto", "valid_from": "2026-03-01T00:00:00Z"}"""
    return _told(
        db.facts.assert_(
            subject,
            predicate,
            value,
            valid_from=valid_from,
            valid_to=valid_to,
            sources=sources or (),
            many=many,
            confidence=confidence,
        )
    )


@operation("memhop_fact_get", title="Read a fact", result=results.Fact)
def fact_get(host: Host, db: DB, *, id: FactId) -> Answer:
    """Read one fact with its period and sources. Example: {"id": "800d84fff3efd644"}"""
    fact = db.facts.get(id)
    return fact.to_dict(), fenced([_line(fact)])


@operation("memhop_fact_list", title="List facts", result=results.Page)
def fact_list(
    host: Host,
    db: DB,
    *,
    subject: Annotated[str | None, Text("Only about this.")] = None,
    predicate: Annotated[str | None, Text("Only of this kind.")] = None,
    as_of: Annotated[int | datetime | None, Time("What was so then. Default: now.")] = None,
    known_at: Annotated[int | datetime | None, Time("As it was known then. Default: now.")] = None,
    include_closed: Annotated[bool, Flag("Also what was so before, or will be.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Answer:
    """List what is so, or was so at a time, about somebody or something. For a question in words: memhop_recall.
    Example: {"subject": "Ann", "as_of": "2025-06-01"}"""
    page = db.facts.list(
        subject,
        predicate,
        as_of=as_of,
        known_at=known_at,
        include_closed=include_closed,
        limit=limit,
        cursor=cursor,
        newest_first=newest_first,
    )
    return paged(page, results.Fact.to_dict, _line, nothing="no facts")


@operation("memhop_fact_history", title="History of a fact", result=results.Page)
def fact_history(
    host: Host,
    db: DB,
    *,
    subject: Annotated[str, Text("About whom or what.")],
    predicate: Annotated[str, Text("Of what kind.")],
    limit: Limit = 20,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Answer:
    """List all values that something had over time, those taken back among them.
    Example: {"subject": "Ann", "predicate": "lives in"}"""
    page = db.facts.history(subject, predicate, limit=limit, cursor=cursor, newest_first=newest_first)
    return paged(page, results.Fact.to_dict, _line, nothing="nothing was ever said about it")


@operation("memhop_fact_close", title="End a fact", scope=WRITE, result=results.Fact)
def fact_close(
    host: Host,
    db: DB,
    *,
    id: FactId,
    valid_to: Annotated[int | datetime | None, Time("When it ended. Default: now.")] = None,
) -> Answer:
    """Say that a fact is no longer so, when nothing takes its place. If it never was so: memhop_fact_retract.
    Example: {"id": "800d84fff3efd644", "valid_to": "2026-05-01"}"""
    return _told(db.facts.close(id, valid_to))


@operation("memhop_fact_retract", title="Take a fact back", scope=WRITE, destructive=True, result=results.Fact)
def fact_retract(host: Host, db: DB, *, id: FactId) -> Answer:
    """Say that a fact never was so, because it was stated in error. The history still tells of it.
    Example: {"id": "800d84fff3efd644"}"""
    return _told(db.facts.retract(id))


@operation("memhop_fact_delete", title="Erase a fact", scope=WRITE, destructive=True, idempotent=True)
def fact_delete(host: Host, db: DB, *, id: FactId) -> Answer:
    """Erase a fact for good, with all that was ever known of it. Only when a person asks for it; else
    memhop_fact_retract. Example: {"id": "800d84fff3efd644"}"""
    return deleted(db.facts.delete(id), "fact")


def _told(fact: results.Fact) -> Answer:
    return {"ok": True} | fact.to_dict(), _line(fact)


def _line(fact: results.Fact) -> str:
    data = fact.to_dict()
    until = f" until {data['valid_to']}" if fact.valid_to is not None else ""
    back = ", taken back" if fact.retracted_at else ""
    said = f"{one_line(fact.subject, 60)} {one_line(fact.predicate, 60)} {one_line(fact.value)}"
    return f"{fact.id} {said} (from {data['valid_from']}{until}{back})"
