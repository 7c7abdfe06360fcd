"""How notes belong together: links, and pairs that say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from memhop.api import results
from memhop.common.errors import InvalidRequest
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations.notes import Cursor, NoteId, ProjectAsked
from memhop.server.operations.recalling import ALL
from memhop.server.operations.remembering import LINK_TYPES
from memhop.server.parameters import Choice, Id, Whole
from memhop.server.telling import changed, one_line, paged, present

if TYPE_CHECKING:
    from memhop.api.db import DB


@operation("memhop_note_link", title="Link a note", scope=WRITE, idempotent=True, result=results.Changed)
def note_link(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    target: Annotated[str, Id("What it is linked to: a note or anything else that has an id.")],
    type: Annotated[str, Choice("What the note is to the target.", LINK_TYPES)] = "related",
) -> Answer:
    """Say how two things belong together. With type supersedes the note takes the place of the target, which recall
    then marks as out of force; it also settles a pair that memhop_note_duplicates shows. Not for changing words.
    Example: {"id": "3f0c52b1a09e77d4", "target": "a41f0c52b1e77d09", "type": "supersedes"}"""
    return changed(db.notes.link(id, target, type))


@operation("memhop_note_unlink", title="Unlink a note", scope=WRITE, idempotent=True, result=results.Changed)
def note_unlink(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    target: Annotated[str, Id("The other end.")],
    type: Annotated[str | None, Choice("Only a link of this type. Default: all to the target.", LINK_TYPES)] = None,
) -> Answer:
    """Take a link away that is wrong; a note that was superseded by it is in force again. Only links which the note has
    itself: memhop_note_links shows them. Example: {"id": "3f0c52b1a09e77d4", "target": "a41f0c52b1e77d09"}"""
    return changed(db.notes.unlink(id, target, type))


@operation("memhop_note_links", title="Links of a note", result=results.Page)
def note_links(
    host: Host,
    db: DB,
    *,
    id: NoteId,
    limit: Annotated[int, Whole("Most links.", 1, 100)] = 20,
    cursor: Cursor = None,
) -> Answer:
    """See what a note refers to, then what refers to it: use it to follow a decision to its reasons and consequences.
    Not for similar notes (memhop_recall). Example: {"id": "3f0c52b1a09e77d4"}"""
    page = _links(db, id, limit, cursor)
    return paged(page, lambda one: present(**one.to_dict()), _link_line, nothing="No links.")


def _links(db: DB, id: str, limit: int, cursor: str | None) -> results.Page:
    """A page of links. A note may have hundreds of its own, which the first page of the call has all: `own.N` is the
    cursor that goes on within them."""
    passed = 0
    if cursor is not None and cursor.startswith("own."):
        if not (cursor[4:].isascii() and cursor[4:].isdigit()) or len(cursor) > 8:
            raise InvalidRequest("not a cursor", field="cursor", allowed="`next` of the page before")
        passed, cursor = int(cursor[4:]), None
    elif cursor is not None:
        return db.notes.links(id, limit=limit, cursor=cursor)
    page = db.notes.links(id, limit=limit)
    own = [link for link in page.items if link.outgoing][passed:]
    if len(own) >= limit:
        more = len(own) > limit or len(page.items) > passed + len(own) or page.next is not None
        return results.Page(tuple(own[:limit]), f"own.{passed + limit}" if more else None)
    page = db.notes.links(id, limit=limit - len(own))
    return results.Page((*own, *(link for link in page.items if not link.outgoing)), page.next)


def _link_line(one: results.NoteLink) -> str:
    tier = f", {one.tier}" if one.tier not in (None, "active") else ""
    way = f"{one.type} ->" if one.outgoing else f"<- {one.type}"
    return f"{way} {one.id} ({one_line(one.kind)}{tier}) {one_line(one.text)}"


@operation("memhop_note_duplicates", title="Notes that say the same", result=results.Page)
def note_duplicates(
    host: Host,
    db: DB,
    *,
    project: ProjectAsked = None,
    limit: Annotated[int, Whole("Most pairs.", 1, 50)] = 10,
    cursor: Cursor = None,
) -> Answer:
    """Find pairs of notes that say nearly the same, to tidy up: settle each with memhop_note_link, type supersedes (the
    newer one takes the place) or related (both stay). It changes nothing itself; a page may be empty though `next`
    leads on. Not for finding something. Example: {"project": "web"}"""
    page = db.notes.duplicates(project=None if project == ALL else project, limit=limit, cursor=cursor)
    return paged(page, lambda pair: present(**pair.to_dict()), _pair_line, nothing="No such pairs here.")


def _pair_line(pair: results.Duplicate) -> str:
    how = f"{100 * pair.similarity:.0f} % the same, {one_line(pair.kind)}"
    older, newer = one_line(pair.older), one_line(pair.newer)
    return f"{how}: older {pair.older_id} {older} | newer {pair.newer_id} {newer}"
