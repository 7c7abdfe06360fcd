"""What moves with a project, and what becomes of a note in another one.

All of one move is one commit: half a rename would leave two projects. So one call moves 100,000 records at most; more
of them go note by note with `reassign`, in as many calls as it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from memhop.api import results
from memhop.common.config import LIMITS
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.l2_context import Scene, Topic, scenes_in
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note, external_note, notes_in
from memhop.repo.l4_revision import revise
from memhop.repo.record import DEFAULT_PROJECT, Kind, Record, all_of, project_key, said_in

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.schema import Schemas
    from memhop.repo.store import Store

R = TypeVar("R", bound=Record)

LISTED: Final = LIMITS.results  # ids a result names


class Belongings(NamedTuple):
    """What belongs to a project. `damaged` of its notes, messages and scenes cannot be read."""

    notes: list[Note]
    messages: list[Message]
    scenes: list[Scene]
    topics: list[Topic]
    damaged: int

    @property
    def size(self) -> int:
        return len(self.notes) + len(self.messages) + len(self.scenes) + len(self.topics)


def belongings(store: Store, project: str) -> Belongings:
    """Everything of a project, by id.

    Cost: reads it; of the default project every message, and of any every topic.
    """
    key, damaged = project_key(project), 0

    def of(record_type: type[R], group: int) -> list[R]:
        nonlocal damaged
        found = []
        for _, id_ in store.members(group):
            record = store.readable(record_type, id_)
            if record is None:
                damaged += 1
            elif project_key(record.project) == key:  # type: ignore[attr-defined]
                found.append(record)
        return sorted(found, key=lambda record: record.id)

    notes = of(Note, notes_in(project))
    messages = of(Message, all_of(Kind.MESSAGE) if key == DEFAULT_PROJECT else said_in(project))
    scenes = of(Scene, scenes_in(project))
    topics = [topic for topic in store.scan(Topic) if project_key(topic.project) == key]
    return Belongings(notes, messages, scenes, topics, damaged)


class Move:
    """One move under way: puts what goes into the batch, and notes what there is to tell."""

    def __init__(self, store: Store, batch: Batch, schemas: Schemas, into: str, *, strict: bool = False) -> None:
        self.into = into
        self._store, self._batch, self._schemas, self._strict = store, batch, schemas, strict
        self._now = store.clock.now_ms()
        self._moved: list[int] = []
        self._restatused: list[results.Restatused] = []
        self._lacking: dict[tuple[str, str], int] = {}  # (kind, key) -> notes
        self._doubled = 0  # external ids
        self._counts = {Message: 0, Scene: 0, Topic: 0}
        self.stayed: list[tuple[str, str]] = []

    def notes(self, notes: Iterable[Note]) -> None:
        """Move notes, whatever their tier.

        Raises:
            InvalidRequest: where the move is strict, the status or metadata of one does not do in the new project.
        """
        for note in notes:
            if note.project == self.into:
                self.stayed.append((to_hex(note.id), "it is there already"))
                continue
            status = self._fitted(note)
            if project_key(note.project) != project_key(self.into):
                self._look_at_external_id(note)
            revise(
                self._batch,
                note,
                act="reassign",
                actor=self._store.actor,
                now_ms=self._now,
                project=self.into,
                status=status,
            )
            self._moved.append(note.id)

    def others(self, records: Iterable[Message | Scene | Topic]) -> None:
        """Move what is no note."""
        for record in records:
            if record.project != self.into:
                self._batch.put(msgspec.structs.replace(record, project=self.into))
                self._counts[type(record)] += 1

    def result(self, *, damaged: int = 0, remarks: Iterable[str] = (), dry_run: bool = False) -> results.Moved:
        """What was done."""
        others = sum(self._counts.values())
        return results.Moved(
            project=self.into,
            changed=bool(self._moved or others),
            notes=len(self._moved),
            ids=tuple(map(to_hex, self._moved[:LISTED])),
            messages=self._counts[Message],
            scenes=self._counts[Scene],
            topics=self._counts[Topic],
            restatused=tuple(self._restatused[:LISTED]),
            restatused_count=len(self._restatused),
            stayed=tuple(self.stayed[:LISTED]),
            damaged=damaged,
            remarks=(*self._remarks(), *remarks),
            dry_run=dry_run,
            reason=self._reason(others, damaged, dry_run),
        )

    def _fitted(self, note: Note) -> str:
        """The status a note has in the new project."""
        if project_key(note.project) == project_key(self.into):
            return note.status
        schema = self._schemas.of(self.into, note.kind)
        for key in schema.required:
            if note.metadata.get(key) is None and schema.defaults.get(key) is None:
                self._refuse(note, f"has no {key!r}", f"metadata.{key}", f"a value: a {note.kind} needs it there")
                self._lacking[note.kind, key] = self._lacking.get((note.kind, key), 0) + 1
        if note.status and (not schema.statuses or note.status in schema.statuses):
            return note.status
        if note.status:
            self._refuse(note, f"has the status {note.status[:40]!r}", "status", ", ".join(schema.statuses))
        if note.status != schema.status:
            self._restatused.append(
                results.Restatused(to_hex(note.id), note.kind, note.status or None, schema.status or None)
            )
        return schema.status

    def _refuse(self, note: Note, what: str, field: str, allowed: str) -> None:
        if self._strict:
            raise InvalidRequest(
                f"{note.kind} {to_hex(note.id)} {what}, not for {self.into!r}",
                field=field,
                allowed=allowed,
            )

    def _look_at_external_id(self, note: Note) -> None:
        if note.external_id and self._batch.listed(Note, external_note(self.into, note.external_id), limit=1):
            self._refuse(note, f"is called {note.external_id[:40]!r}", "external_id", "one that no note has there")
            self._doubled += 1

    def _remarks(self) -> Iterator[str]:
        for (kind, key), count in sorted(self._lacking.items()):
            yield f"{count:,} of kind {kind} lack {key!r}, which is required there"
        if self._restatused:
            yield f"{len(self._restatused):,} had a status that is unknown there, and fell to the default of their kind"
        if self._doubled:
            yield (
                f"{self._doubled:,} have the external id of a note that was there; "
                "`remember` brings the older of the two up to date"
            )

    def _reason(self, others: int, damaged: int, dry_run: bool) -> str:
        if not self._moved and not others:
            return "it is there already" if self.stayed else "there is nothing to move"
        reason = f"{'would move' if dry_run else 'moved'} to {self.into!r}"
        return reason + (f"; {damaged:,} damaged records stay, `memhop repair` drops them" if damaged else "")


def check_size(count: int, *, field: str) -> None:
    """One commit can hold the move. Raises InvalidRequest."""
    if count > LIMITS.batch_items:
        raise InvalidRequest(
            f"{count:,} records are too many for one commit",
            field=field,
            allowed=f"at most {LIMITS.batch_items:,}; reassign its notes first, in several calls",
        )
