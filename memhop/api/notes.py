"""What `remember` means, in terms of records.

`remember` finds out whether the note is there already, in this order:

1. the same `idempotency_key`: the first note is returned as it is; other words under that key are refused;
2. the same `external_id` in the project: the note is brought up to date (rev + 1) when something differs;
3. the same words in the same project and kind, active, and nothing said that the first note does not say
   (status, metadata, links, source, time): one more copy is counted, beside the note, and tags are joined;
4. otherwise it is a new note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.common.clock import time_or_now
from memhop.common.config import LIMITS, check_metadata, check_name, check_names, check_text
from memhop.common.errors import InvalidRequest, NotFound
from memhop.common.ids import from_hex, to_hex
from memhop.repo import l4_note
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import revise
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import Kind, Tier, all_of

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

NOTE_FIELDS = frozenset(
    ("text", "project", "kind", "status", "tags", "metadata", "links", "source", "at", "external_id", "idempotency_key")
)


_NAMES = {"project": "default", "kind": "note", "status": "", "source": "", "external_id": "", "idempotency_key": ""}
_NOTHING: tuple[Any, ...] = ()


class Draft(NamedTuple):
    """Checked arguments of `remember`."""

    text: str
    project: str
    kind: str
    status: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    links: tuple[int, ...]
    source: str
    at: int
    given_at: bool
    external_id: str
    idempotency_key: str


def draft(values: Mapping[str, Any], *, now_ms: int, where: str = "") -> Draft:
    """Check the arguments of one note.

    Args:
        values: Arguments by name; absent ones take their default.
        where: Put in front of field names in errors, such as "items[3].".

    Raises:
        InvalidRequest: a value does not do, or a name is unknown.
    """
    if not NOTE_FIELDS.issuperset(values):
        unknown = sorted(set(map(str, values)) - NOTE_FIELDS)
        raise InvalidRequest("no such argument", field=f"{where}{unknown[0]}", allowed=", ".join(sorted(NOTE_FIELDS)))
    get = values.get
    links, tags, metadata, at = get("links"), get("tags"), get("metadata"), get("at")
    if links is None or links is _NOTHING:
        links = _NOTHING
    elif not isinstance(links, list | tuple) or len(links) > LIMITS.links:
        raise InvalidRequest("not a list of ids", field=f"{where}links", allowed=f"at most {LIMITS.links} ids")
    else:
        links = tuple(from_hex(link, field=f"{where}links") for link in links)
    names = {
        field: default if (value := get(field)) is None else check_name(value, field=where + field)
        for field, default in _NAMES.items()
    }
    return Draft(
        text=check_text(get("text"), field=f"{where}text"),
        tags=_NOTHING
        if tags is None or tags is _NOTHING
        else check_names(tags, field=f"{where}tags", most=LIMITS.tags, max_chars=LIMITS.tag_chars),
        metadata={} if metadata is None else check_metadata(metadata, field=f"{where}metadata"),
        links=links,
        at=now_ms if at is None else time_or_now(at, field=f"{where}at", now_ms=now_ms),
        given_at=at is not None,
        **names,
    )


def remember(store: Store, drafts: Sequence[Draft], now_ms: int) -> tuple[results.Note, ...]:
    """Put notes in one commit and wait for the disk."""
    with store.writing() as batch:
        pending: dict[int, Note] = {}
        stored = [_put_note(store, batch, wanted, pending, now_ms) for wanted in drafts]
    return tuple(stored)


def _put_note(store: Store, batch: Batch, wanted: Draft, pending: dict[int, Note], now_ms: int) -> results.Note:
    """Put one note into the batch unless it is there already.

    Args:
        pending: Notes of the same call by the groups that identify them, so that a call is checked against itself.

    Raises:
        InvalidRequest: the idempotency key was used for other words.
        NotFound: a link names no record.
    """
    for link in wanted.links:
        if store.file.locate(link) is None:
            raise NotFound(f"no record has the id {to_hex(link)}", field="links")
    groups = _groups(wanted)
    existing = _existing(batch, wanted, groups, pending)
    if existing is not None:
        updated = _updated(batch, existing, wanted, store.actor, now_ms)
        pending |= dict.fromkeys(_groups(updated), updated)
        said_again = not wanted.external_id and not _is_retry(existing, wanted)
        usage = store.count_copy(batch, existing.id) if said_again else batch.find(Usage, usage_id(existing.id))
        return convert.note(updated, copies=usage.copies if usage else 0)
    note = batch.new(
        Note(
            text=wanted.text,
            kind=wanted.kind,
            project=wanted.project,
            status=wanted.status,
            tags=wanted.tags,
            metadata=wanted.metadata,
            links=wanted.links,
            source=wanted.source,
            at=wanted.at,
            created_at=now_ms,
            updated_at=now_ms,
            external_id=wanted.external_id,
            idempotency_key=wanted.idempotency_key,
        ),
        wanted.project,
        wanted.kind,
        wanted.text,
        wanted.at,
    )
    pending |= dict.fromkeys(groups, note)
    return convert.note(note, created=True)


class _Groups(NamedTuple):
    """The groups that identify a note; 0: it has no such name."""

    text: int
    external_id: int
    idempotency_key: int


def _groups(note: Note | Draft) -> _Groups:
    return _Groups(
        l4_note.same_text(note.project, note.kind, note.text),
        l4_note.external_note(note.project, note.external_id) if note.external_id else 0,
        l4_note.idempotent(note.idempotency_key) if note.idempotency_key else 0,
    )


def _existing(batch: Batch, wanted: Draft, groups: _Groups, pending: Mapping[int, Note]) -> Note | None:
    def members(group: int) -> list[Note]:
        return [pending[group]] if group in pending else batch.listed(Note, group, limit=20)

    if wanted.idempotency_key:
        for note in members(groups.idempotency_key):
            if note.text != wanted.text:
                raise InvalidRequest(
                    f"it was used for other words, in note {to_hex(note.id)}",
                    field="idempotency_key",
                    allowed="a key of its own for each note",
                )
            return note
    if wanted.external_id:
        return next(iter(members(groups.external_id)), None)
    for note in members(groups.text):
        same = note.text.strip() == wanted.text.strip()  # the group ignores all white space, but code lives by it
        if same and note.tier == Tier.ACTIVE and not note.external_id and _says_nothing_new(wanted, note):
            return note
    return None


def _says_nothing_new(wanted: Draft, note: Note) -> bool:
    return (
        (not wanted.status or wanted.status == note.status)
        and (not wanted.metadata or wanted.metadata == note.metadata)
        and set(wanted.links) <= set(note.links)
        and (not wanted.source or wanted.source == note.source)
        and (not wanted.given_at or wanted.at == note.at)
    )


def _is_retry(note: Note, wanted: Draft) -> bool:
    return bool(wanted.idempotency_key) and wanted.idempotency_key == note.idempotency_key


def _updated(batch: Batch, note: Note, wanted: Draft, actor: str, now_ms: int) -> Note:
    if _is_retry(note, wanted):
        return note
    if not wanted.external_id:
        tags = tuple(dict.fromkeys((*note.tags, *wanted.tags)))
        if len(tags) > LIMITS.tags:
            raise InvalidRequest(
                f"with those of note {to_hex(note.id)}, which says the same, there would be {len(tags)}",
                field="tags",
                allowed=f"at most {LIMITS.tags}",
            )
        return revise(batch, note, act="tags", actor=actor, now_ms=now_ms, tags=tags)
    return revise(
        batch,
        note,
        act="edit",
        actor=actor,
        now_ms=now_ms,
        text=wanted.text,
        kind=wanted.kind,
        status=wanted.status or note.status,
        tags=wanted.tags or note.tags,
        metadata=wanted.metadata or note.metadata,
        links=wanted.links or note.links,
        source=wanted.source or note.source,
        at=wanted.at if wanted.given_at else note.at,
        tier=int(Tier.ACTIVE),  # said again: it is no longer trash
    )


class Notes(Namespace):
    """L4 notes: typed, editable through `db.remember(external_id=...)`, listed here."""

    def get(self, id: str) -> results.Note:
        """The note, whatever its tier. Raises NotFound, InvalidRequest."""
        return self._convert(self._store.get(l4_note.Note, from_hex(id)))

    def list(
        self,
        *,
        project: str | None = None,
        tag: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = True,
    ) -> results.Page:
        """Notes by their time, of one project or with one tag (not both) or all; trashed ones included."""
        if project is not None and tag is not None:
            raise InvalidRequest("give a project or a tag, not both", field="tag", allowed="one of the two")
        group = all_of(Kind.NOTE)
        if project is not None:
            group = l4_note.notes_in(check_name(project, field="project"))
        elif tag is not None:
            group = l4_note.tagged(check_name(tag, field="tag"))
        return self._page(l4_note.Note, group, self._convert, limit, cursor, newest_first)

    def _convert(self, note: l4_note.Note) -> results.Note:
        usage = self._store.usage(note.id)
        return convert.note(note, copies=usage.copies if usage else 0)
