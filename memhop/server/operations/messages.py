"""L4: messages, what was said word for word."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.common.clock import to_ms
from memhop.common.errors import InvalidRequest, NotFound
from memhop.server.operation import ADMIN, WRITE, Answer, Host, operation
from memhop.server.operations import older_names
from memhop.server.operations.paging import PART, Chars, Cursor, Limit, Newest, Start, in_part
from memhop.server.operations.turns import ROLES
from memhop.server.parameters import Choice, Fields, Id, Listed, Text, Time
from memhop.server.telling import fenced, one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

_MOST_PAGES = 10  # of those that hold nothing which a search goes through before it answers
_MESSAGE = Fields(
    "",
    {
        "text": Text("What was said, word for word."),
        "role": Choice("Who speaks.", ROLES),
        "speaker": Text("By which name.", 0),
        "at": Time("When it was said."),
        "session": Text("Your name for the conversation.", 0),
        "external_id": Text("Your own id of it in the session.", 0),
        "project": Text("Where it belongs."),
    },
    ("text",),
)


@operation("memhop_archive_search", title="Search messages", result=results.Page)
def archive_search(
    host: Host,
    db: DB,
    *,
    keyword: Annotated[str | None, Text("The text holds it, letter case ignored.", 0)] = None,
    start: Annotated[int | datetime | None, Time("Said then or later.")] = None,
    end: Annotated[int | datetime | None, Time("Said then or earlier.")] = None,
    ids: Annotated[list[str] | None, Listed("These messages.", Id(""), 1, 100)] = None,
    topic_id: Annotated[str | None, Id("Said in this topic.", blank=True)] = None,
    session: Annotated[str | None, Text("Said in this session.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Answer:
    """Read what was said, word for word and in order of time: in a topic, in a time span, with a word in it, or by ids.
    Each of them does alone; several are joined by "and". For a question in words memhop_recall is better.
    Example: {"topic_id": "49db768bde0adba8"}"""
    since = to_ms(start, field="start") if start else None
    until = to_ms(end, field="end") + 1 if end else None
    if ids is not None:
        if cursor is not None:
            raise InvalidRequest("messages by id have one page", field="cursor", allowed="none with ids")
        said, missing = _by_ids(db, ids)
        topic = _in_topic(db, topic_id or None)
        found = results.Page(
            tuple(
                one
                for one in said
                if (since is None or one.at >= since)
                and (until is None or one.at < until)
                and (not keyword or keyword.casefold() in one.text.casefold())
                and (topic is None or one.id in topic)
                and session in (None, one.session)
            ),
            None,
        )
        data, text = paged(found, older_names.message, _line, nothing="no messages")
        return data | {"missing": missing}, text + (f"\nnot there: {', '.join(missing)}" if missing else "")
    for _ in range(_MOST_PAGES):
        found = db.archive.list(
            session=session,
            topic_id=topic_id or None,
            since=since,
            until=until,
            keyword=keyword or None,
            limit=limit,
            cursor=cursor,
            newest_first=newest_first,
        )
        cursor = found.next
        if found.items or cursor is None:
            break
    return paged(found, older_names.message, _line, nothing="no messages")


@operation("memhop_archive_get", title="Read a message", result=results.Message)
def archive_get(
    host: Host, db: DB, *, id: Annotated[str, Id("The message.")], start: Start = 0, chars: Chars = PART
) -> Answer:
    """Read one message word for word, when a reply names its id; long ones in parts, with `next_start` as start.
    Example: {"id": "028d310aec618915"}"""
    message = db.archive.get(id)
    part, rest = in_part(message.text, start, chars)
    data = older_names.message(message) | {"text": part, "content": part} | rest
    who = one_line(message.speaker or message.role, 40)
    more = f"\n(there is more: start {rest['next_start']})" if rest["next_start"] is not None else ""
    head = f"{data['at']} {who}:"
    return data, f"{fenced([head, part])}{more}"


@operation("memhop_archive_list", title="List messages", result=results.Page)
def archive_list(
    host: Host,
    db: DB,
    *,
    session: Annotated[str | None, Text("Only of this session.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    newest_first: Newest = True,
) -> Answer:
    """List what was said last, in one session or in all. Use it to see how a conversation ended.
    Example: {"session": "chat-12", "limit": 10}"""
    page = db.archive.list(session=session, limit=limit, cursor=cursor, newest_first=newest_first)
    return paged(page, older_names.message, _line, nothing="no messages")


@operation("memhop_archive_append", title="Store messages", scope=WRITE, called={"items": "messages"})
def archive_append(
    host: Host,
    db: DB,
    *,
    messages: Annotated[list[dict[str, Any]], Listed("The messages, in order.", _MESSAGE, 1, 1_000)],
) -> Answer:
    """Store what was said elsewhere, many messages in one go, without looking for anything: a chat log, a transcript.
    One whose external_id its session knows is not stored again. In a conversation of your own: memhop_search.
    Example: {"messages": [{"text": "Hi", "speaker": "Ann", "session": "s1", "external_id": "m1"}]}"""
    if host.project is not None:
        messages = [{"project": host.project} | message for message in messages]
    ids = db.archive.append_many(messages)
    return {"ok": True, "ids": list(ids), "stored": len(ids)}, f"{len(ids)} messages are stored"


@operation("memhop_archive_delete", title="Erase a message", scope=ADMIN, destructive=True)
def archive_delete(host: Host, db: DB, *, id: Annotated[str, Id("The message.")]) -> Answer:
    """Erase one message for good, with all that was drawn from it. Only when a person asks for it.
    Example: {"id": "028d310aec618915"}"""
    db.archive.get(id)
    done = db.forget(id, hard=True)
    return {"ok": done.changed, "id": id, "reason": done.reason}, done.reason


def _by_ids(db: DB, ids: list[str]) -> tuple[list[results.Message], list[str]]:
    """The messages of these ids, in their order, and the ids of none."""
    found, missing = [], []
    for id_ in dict.fromkeys(ids):
        try:
            found.append(db.archive.get(id_))
        except NotFound:
            missing.append(id_)
    return found, missing


def _in_topic(db: DB, topic_id: str | None) -> frozenset[str] | None:
    return None if topic_id is None else frozenset(one.id for one in db.topics.messages(topic_id))


def _line(message: results.Message) -> str:
    who = message.speaker or message.role
    return f"{message.id} {message.to_dict()['at']} {one_line(who, 40)}: {one_line(message.text)}"
