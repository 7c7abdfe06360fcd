"""What `remember` means, in terms of records.

`remember` finds out whether the note is there already, in this order:

0. of quotes of what was recalled only what is new beside them counts (`api/quotes.py`); nothing new: the record that
   is repeated is returned. Not where `[notes] quotes` is off;
1. the same `idempotency_key`: the first note is returned as it is; other words under that key are refused;
2. the same `external_id` in the project: the note is brought up to date (rev + 1) when something differs;
3. the same words in the same project and kind, active, and nothing said that the first note does not say
   (status, metadata, links, source, time): one more copy is counted, beside the note, and tags are joined. Not where
   `[notes] dedupe` is off;
4. otherwise it is a new note.

The kind says what is filled in (`repo/schema.py`): metadata is compared as it is stored. A project that is there is
spelled as it is there, whatever the case it is given in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memhop.api import convert, results
from memhop.api.note_draft import Draft, Links
from memhop.api.quotes import lines_of, without_quotes
from memhop.common.config import LIMITS
from memhop.common.errors import InvalidRequest, NotFound
from memhop.common.ids import to_hex
from memhop.repo import l4_note
from memhop.repo.l4_note import SUPERSEDES, Note, link_fields
from memhop.repo.l4_revision import revise
from memhop.repo.l4_supersession import check_claims, settle
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.projects import spelled
from memhop.repo.record import Tier

if TYPE_CHECKING:
    from memhop.common.settings import NotesSection
    from memhop.repo.batch import Batch
    from memhop.repo.schema import KindSchema, Schemas
    from memhop.repo.store import Store


def remember(
    store: Store, drafts: Sequence[Draft], now_ms: int, *, schemas: Schemas, settings: NotesSection
) -> tuple[results.Note, ...]:
    """Put notes in one commit and wait for the disk.

    Raises:
        InvalidRequest: a status or the metadata is not of the kind; the idempotency key was used for other words; a
            note would supersede itself.
        NotFound: a link names no record.
    """
    with store.writing() as batch:
        writing = _Writing(store, batch, now_ms, schemas, settings)
        stored = [writing.put(wanted) for wanted in drafts]
    return tuple(stored)


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


class _Writing:
    """One call under way."""

    def __init__(self, store: Store, batch: Batch, now_ms: int, schemas: Schemas, settings: NotesSection) -> None:
        self._store, self._batch, self._now, self._schemas = store, batch, now_ms, schemas
        self._dedupe, self._quotes = settings.dedupe == "exact", settings.quotes == "recognise"
        self._pending: dict[int, Note] = {}  # notes of this call by the groups that identify them
        self._spelling: dict[str, str] = {}

    def put(self, wanted: Draft) -> results.Note:
        """Put one note into the batch unless it is there already."""
        batch = self._batch
        project = self._spelling.get(wanted.project)
        if project is None:
            project = self._spelling[wanted.project] = spelled(self._store, wanted.project, self._spelling.values())
        if project != wanted.project:
            wanted = wanted._replace(project=project)
        schema = self._schemas.check_kind(project, wanted.kind, field=f"{wanted.where}kind")
        if wanted.links:
            check_links(batch, wanted.links, field=f"{wanted.where}links")
        if wanted.status:  # also where a note is there already
            schema.check_status(wanted.status, kind=wanted.kind, field=f"{wanted.where}status")
        quoted = 0
        if self._quotes:
            rest, quoted, ids = without_quotes(wanted.text, batch.record)
            if not rest:
                return self._repeated(ids, quoted, wanted)
            wanted = wanted._replace(text=rest)
        groups = _groups(wanted)
        existing = self._existing(wanted, groups, schema)
        if existing is not None:
            return replace(self._again(existing, wanted, schema), quoted=quoted)
        if self._quotes and _may_list(wanted.text) and (said := self._listed(wanted, schema)):
            return convert.note(said[0], quoted=len(said))
        note = batch.new(
            Note(
                text=wanted.text,
                kind=wanted.kind,
                project=project,
                status=schema.check_status(wanted.status, kind=wanted.kind),
                tags=wanted.tags,
                metadata=schema.fill(wanted.metadata, kind=wanted.kind, field=f"{wanted.where}metadata"),
                source=wanted.source,
                at=wanted.at,
                created_at=self._now,
                updated_at=self._now,
                external_id=wanted.external_id,
                idempotency_key=wanted.idempotency_key,
                actor=self._store.actor,
                redacted=wanted.redacted,
                **(link_fields(wanted.links) if wanted.links else {}),
            ),
            project,
            wanted.kind,
            wanted.text,
            wanted.at,
        )
        if note.link_types:
            self._settle(None, note, wanted)
        self._pending |= dict.fromkeys(groups, note)
        return convert.note(note, created=True, quoted=quoted)

    def _repeated(self, ids: Sequence[int], quoted: int, wanted: Draft) -> results.Note:
        """The first note that is repeated, or else the first record."""
        found = [record for id_ in ids if (record := self._batch.record(id_)) is not None]
        if not found:
            raise InvalidRequest(
                "it only repeats what was recalled once and is no longer there",
                field=f"{wanted.where}text",
                allowed="something new",
            )
        first = next((record for record in found if isinstance(record, Note)), found[0])
        if isinstance(first, Note):
            return convert.note(first, quoted=quoted)
        return convert.as_note(first, quoted=quoted)

    def _listed(self, wanted: Draft, schema: KindSchema) -> list[Note]:
        """The notes which the text lists line by line, and says nothing besides; [] where it says more."""
        if wanted.external_id or wanted.idempotency_key:
            return []
        found: list[Note] = []
        for line in lines_of(wanted.text):
            group = l4_note.same_text(wanted.project, wanted.kind, line)
            note = next(filter(_in_force, self._members(group)), None)
            if note is None or not _says_nothing_new(wanted, note, schema):
                return []
            found.append(note)
        return found

    def _existing(self, wanted: Draft, groups: _Groups, schema: KindSchema) -> Note | None:
        if wanted.idempotency_key:
            for note in self._members(groups.idempotency_key):
                if note.text != wanted.text:
                    raise InvalidRequest(
                        f"it was used for other words, in note {to_hex(note.id)}",
                        field=f"{wanted.where}idempotency_key",
                        allowed="a key of its own for each note",
                    )
                return note
        if wanted.external_id:
            return next(iter(self._members(groups.external_id)), None)
        if not self._dedupe:
            return None
        for note in self._members(groups.text):
            same = note.text.strip() == wanted.text.strip()  # the group ignores all white space, but code lives by it
            if same and _in_force(note) and not note.external_id and _says_nothing_new(wanted, note, schema):
                return note
        return None

    def _members(self, group: int) -> list[Note]:
        if group in self._pending:
            return [self._pending[group]]
        return self._batch.listed(Note, group, limit=20)

    def _again(self, existing: Note, wanted: Draft, schema: KindSchema) -> results.Note:
        """The note is there already."""
        batch = self._batch
        retry = bool(wanted.idempotency_key) and wanted.idempotency_key == existing.idempotency_key
        updated = existing if retry else self._updated(existing, wanted, schema)
        self._pending |= dict.fromkeys(_groups(updated), updated)
        said_again = not wanted.external_id and not retry
        usage = self._store.count_copy(batch, existing.id) if said_again else batch.find(Usage, usage_id(existing.id))
        return convert.note(updated, copies=usage.copies if usage else 0)

    def _updated(self, note: Note, wanted: Draft, schema: KindSchema) -> Note:
        if not wanted.external_id:
            tags = tuple(dict.fromkeys((*note.tags, *wanted.tags)))
            if len(tags) > LIMITS.tags:
                raise InvalidRequest(
                    f"with those of note {to_hex(note.id)}, which says the same, there would be {len(tags)}",
                    field=f"{wanted.where}tags",
                    allowed=f"at most {LIMITS.tags}",
                )
            return self._revise(note, "tags", tags=tags)
        status = wanted.status
        if status is None and (note.kind == wanted.kind or note.status in schema.statuses):
            status = note.status  # else the default of the other kind
        metadata = wanted.metadata or note.metadata
        updated = self._revise(
            note,
            "edit",
            text=wanted.text,
            kind=wanted.kind,
            status=schema.check_status(status, kind=wanted.kind, field=f"{wanted.where}status"),
            tags=wanted.tags or note.tags,
            metadata=schema.fill(metadata, kind=wanted.kind, field=f"{wanted.where}metadata"),
            source=wanted.source or note.source,
            at=wanted.at if wanted.given_at else note.at,
            redacted=wanted.redacted,
            tier=int(Tier.ACTIVE),  # said again: it is no longer trash
            **(link_fields(wanted.links) if wanted.links else {}),
        )
        if updated is not note:
            self._settle(note, updated, wanted)
        return updated

    def _revise(self, note: Note, act: str, **fields: Any) -> Note:
        return revise(self._batch, note, act=act, actor=self._store.actor, now_ms=self._now, **fields)

    def _settle(self, before: Note | None, note: Note, wanted: Draft) -> None:
        field = f"{wanted.where}links"
        check_own_links(self._batch, note.id, note.typed_links(), field=field)
        others = settle(self._batch, before, note, schemas=self._schemas, actor=self._store.actor, now_ms=self._now)
        for other in others:
            self._pending |= {group: other for group in _groups(other) if group in self._pending}


def _may_list(text: str) -> bool:
    """False: it is one line without a mark in front, which was looked for as it is."""
    return "\n" in text or not text[0].isalpha()


def _in_force(note: Note) -> bool:
    """What was superseded and is said again is so again, from now on: another note."""
    return note.tier == Tier.ACTIVE and not note.superseded_by


def _says_nothing_new(wanted: Draft, note: Note, schema: KindSchema) -> bool:
    return (
        (not wanted.status or wanted.status == note.status)
        and (not wanted.metadata or schema.fill(wanted.metadata, kind=wanted.kind) == note.metadata)
        and (not wanted.links or set(wanted.links) <= set(note.typed_links()))
        and (not wanted.source or wanted.source == note.source)
        and (not wanted.given_at or wanted.at == note.at)
    )


def check_links(batch: Batch, links: Links, *, field: str) -> None:
    """All of them name something. Raises NotFound."""
    for _, id_ in links:
        if batch.kind_of(id_) is None:
            raise NotFound(f"no record has the id {to_hex(id_)}", field=field)


def check_own_links(batch: Batch, note_id: int, links: Links, *, field: str) -> None:
    """What a note must not say of itself.

    Raises:
        InvalidRequest: it links to itself, supersedes what is no note, or what supersedes it.
    """
    if any(id_ == note_id for _, id_ in links):
        raise InvalidRequest("a note cannot be linked to itself", field=field, allowed="another record")
    check_claims(batch, note_id, [id_ for type_, id_ in links if type_ == SUPERSEDES], field=field)
