"""Keeping the notes of a foreign format.

The same source again finds what it brought. A note that came without times has changed later than the memory's if
nobody but an import has touched that. A note in the same words and of the same kind as one that is there, and that says
nothing else, is that note.

Memory: about 150 bytes for each note, and as much again for each with links.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec

from memhop.api.import_context import NO_TIME, Context, known
from memhop.api.import_journal import Step
from memhop.common.config import LIMITS, check_metadata, check_name, check_names, check_project, check_text
from memhop.common.errors import InvalidRequest
from memhop.common.ids import key_hash
from memhop.readers.item import NoteItem
from memhop.repo.l4_note import LINK_TYPES, SUPERSEDES, Note, external_note, same_text
from memhop.repo.l4_revision import revise
from memhop.repo.l4_supersession import check_claims, settle
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import Tier
from memhop.repo.schema import Schemas

NO_TARGET = "links to what the source does not have were left out"
TOO_MANY = f"notes with more than {LIMITS.links} links keep the first"
ODD_LINK = "links of an unknown type, and notes that supersede each other, were taken for related"
REQUIRED = "notes without what their kind requires"
STATUS = "statuses that the kind does not have were kept as metadata.source_status"
_CONTENT = (
    "text", "kind", "project", "status", "tags", "metadata", "tier", "archived_at", "trashed_at", "pinned",
)  # fmt: skip


class NoteKeeper:
    """Keeps notes, and then their links."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._schemas = Schemas(context.config.schemas)
        self._notes: dict[int, int] = {}  # hash of the id in the source -> id here
        self._linking: dict[int, str] = {}  # note with links -> what became of it

    @property
    def links(self) -> bool:
        """Whether there are links to be resolved, by another look at the source."""
        return bool(self._linking)

    def keep(self, step: Step, item: NoteItem) -> None:
        """Keep a note without its links. Raises BadItem, InvalidRequest."""
        wanted = self._as_note(item)
        local = self._local(step, item, wanted)
        outcome = "created"
        if local is None:
            local = self._create_note(step, item, wanted)
        elif _content(local) == _content(wanted):
            outcome = "unchanged"
            self._context.tally.unchanged += 1
        elif self._context.wins(item.updated_at, local.updated_at, untouched=local.act in ("", "import")):
            outcome = "updated"
            fields = {name: getattr(wanted, name) for name in _CONTENT} | {"source": wanted.source}
            if item.at:
                fields |= {"at": wanted.at}
            actor, changed_at = self._context.store.actor, item.updated_at or self._context.now
            after = revise(step.batch, local, act="import", actor=actor, now_ms=changed_at, **fields)
            step.changed(local.id)
            self._settle(step, local, after)
            self._context.tally.updated += 1
        else:
            outcome = "skipped"
        self._notes[key_hash(item.source_id)] = local.id
        if item.links:
            self._linking[local.id] = outcome

    def _as_note(self, item: NoteItem) -> Note:
        project = check_project(self._context.project or item.project)
        kind = check_name(item.kind, field="kind")
        metadata = check_metadata(dict(item.metadata))
        schema = self._schemas.of(project, kind)
        status = check_name(item.status, field="status", blank=True)
        try:
            status = schema.check_status(status, kind=kind)
        except InvalidRequest:
            metadata["source_status"] = status
            status = schema.status
            self._context.tally.remarks[STATUS] += 1
        try:
            metadata = schema.fill(metadata, kind=kind)
        except InvalidRequest:
            metadata = {**schema.defaults, **metadata}
            self._context.tally.remarks[REQUIRED] += 1
        at = self._context.time(item.at or item.updated_at, "at")
        archived, trashed = self._context.put_away(item.archived_at), self._context.put_away(item.trashed_at)
        return Note(
            text=check_text(item.text, field="text"),
            kind=kind,
            project=project,
            status=status,
            tags=check_names(item.tags, field="tags", most=LIMITS.tags, max_chars=LIMITS.tag_chars),
            metadata=check_metadata(metadata),
            source=self._context.name,
            at=at,
            created_at=at,
            updated_at=max(at, self._context.time(item.updated_at, "updated_at")) if item.updated_at else at,
            tier=int(Tier.TRASHED if trashed else Tier.ARCHIVED if archived else Tier.ACTIVE),
            archived_at=archived,
            trashed_at=trashed,
            pinned=item.pinned,
            external_id=self._context.external_id(item.source_id),
            redacted=self._context.redacted,
        )

    def _local(self, step: Step, item: NoteItem, wanted: Note) -> Note | None:
        """The note that came from the same place, or says the same and nothing else."""
        group = external_note(wanted.project, wanted.external_id)
        if found := known(step, group, Note):
            return found[0]
        if self._context.config.notes.dedupe == "off":
            return None
        for note in known(step, same_text(wanted.project, wanted.kind, wanted.text), Note):
            if _content(note) == _content(wanted) and (not item.at or note.at == item.at):
                return note
        return None

    def _create_note(self, step: Step, item: NoteItem, wanted: Note) -> Note:
        note = step.new(wanted, wanted.project, wanted.kind, wanted.text, wanted.at)
        step.pending[external_note(note.project, note.external_id)] = note
        step.pending.setdefault(same_text(note.project, note.kind, note.text), note)
        if item.recalled > 0:
            last = (
                self._context.time(item.last_recalled_at, "last_recalled_at") if item.last_recalled_at > 0 else note.at
            )
            usage = Usage(id=usage_id(note.id), target=note.id, hits=min(item.recalled, 2**62), last_at=last)
            if step.batch.kind_of(usage.id) is None:
                step.batch.put(usage)
        if not (item.at or item.updated_at):
            self._context.tally.remarks[NO_TIME] += 1
        self._context.tally.created += 1
        return note

    def link(self, step: Step, item: NoteItem) -> None:
        """The links of a note, now that all notes are in."""
        id_ = self._notes.get(key_hash(item.source_id))
        note = step.batch.find(Note, id_) if id_ is not None else None
        outcome = self._linking.get(id_ or 0, "skipped")
        if note is None or outcome == "skipped":
            return
        links = dict(zip(note.links, note.link_types or ("related",) * len(note.links), strict=True))
        before = dict(links)
        for type_, target in item.links:
            target_id = self._notes.get(key_hash(target))
            if target_id is None or target_id == note.id:
                self._context.tally.remarks[NO_TARGET] += 1
                continue
            if not self._may_be(step, note, type_, target_id):
                self._context.tally.remarks[ODD_LINK] += 1
                type_ = "related"
            links.setdefault(target_id, type_)
        if len(links) > LIMITS.links:
            self._context.tally.remarks[TOO_MANY] += 1
            links = dict(islice(links.items(), LIMITS.links))
        if links == before:
            return
        types = tuple(links.values()) if set(links.values()) != {"related"} else ()
        if outcome == "created":
            after = step.update(msgspec.structs.replace(note, links=tuple(links), link_types=types))
            self._settle(step, note, after)
            return
        if outcome == "unchanged":
            self._context.tally.unchanged -= 1
            self._context.tally.updated += 1
            self._linking[note.id] = "updated"
        actor = self._context.store.actor
        after = revise(
            step.batch, note, act="import", actor=actor, now_ms=note.updated_at, links=tuple(links), link_types=types
        )
        step.changed(note.id)
        self._settle(step, note, after)

    def _may_be(self, step: Step, note: Note, type_: str, target: int) -> bool:
        if type_ != SUPERSEDES:
            return type_ in LINK_TYPES
        try:
            check_claims(step.batch, note.id, [target], field="links")
        except InvalidRequest:
            return False
        return True

    def _settle(self, step: Step, before: Note, after: Note) -> None:
        """Bring up to date what a note supersedes, and no longer does."""
        actor, now = self._context.store.actor, self._context.now
        for target in settle(step.batch, before, after, schemas=self._schemas, actor=actor, now_ms=now):
            step.changed(target.id)


def _content(note: Note) -> tuple[Any, ...]:
    """What a source says of a note; white space around a text makes no other one."""
    return (note.text.strip(), *(getattr(note, name) for name in _CONTENT[1:]))
