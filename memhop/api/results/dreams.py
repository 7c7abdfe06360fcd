"""What dreams return, and exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memhop.api.results.base import Result


@dataclass(frozen=True, slots=True)
class StageReport(Result):
    """What one stage of a dream did.

    Attributes:
        read: Records it looked at.
        proposed, applied: Changes.
        changed: Records that were put or deleted.
        skipped: Reason -> how often something was left as it is: by the stage, or by the rules that bind a dream.
        model_calls, prompt_tokens, completion_tokens: What it asked of the model.
        ms: Wall time.
        notice: Why it ended early, None if it did not.
    """

    name: str
    read: int
    proposed: int
    applied: int
    changed: int
    skipped: dict[str, int]
    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    ms: int
    notice: str | None

    @property
    def failure(self) -> str | None:
        """Why the model could not be used, None if it could, or was not asked."""
        return self.notice or next((reason for reason in self.skipped if reason.startswith("model: ")), None)


@dataclass(frozen=True, slots=True)
class FieldChange(Result):
    """A field of a record. None: the record was not there on that side, or the field refers to nothing.

    Long texts are cut and end in an ellipsis; of a long list the first entries are shown.
    """

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class RecordChange(Result):
    """A record that a dream created, changed or deleted (`action`). `kind` is None when it was erased since."""

    kind: str | None
    id: str
    action: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class DreamChange(Result):
    """One change: all of its records together, or nothing. `why` is None when what it was about was erased since.

    `records` lists the first 100, `records_in_all` counts them.
    """

    stage: str
    why: str | None
    records: tuple[RecordChange, ...]
    records_in_all: int


@dataclass(frozen=True, slots=True)
class Duplicate(Result):
    """Two notes that say nearly the same. A proposal: nothing is done about it.

    Attributes:
        similarity: Of the words that either has, the share that both have, 0.7..1.
        older, newer: Their texts, the first 200 characters.
        only_older, only_newer: Index terms that only one of them has, at most 20 each.
    """

    older_id: str
    newer_id: str
    project: str
    kind: str
    similarity: float
    older: str
    newer: str
    only_older: tuple[str, ...]
    only_newer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DreamReport(Result):
    """What a dream did.

    Attributes:
        number: From 1. None: it changed nothing and asked no model, so that nothing was written down.
        state: done; stopped (by `close`, `max_seconds`, an error, or because its process ended); running; undone.
        trigger: call, turns, scenes, idle or backfill.
        scene: The one it was asked for; None: all that were fresh.
        changed: Records that were put or deleted.
        notices: For people: why a stage ended early, what waits for another dream.
        undoable: Whether `db.dreams.undo` can still take it back, newer ones first.
        reason: Why not. None if it can.
        dry_run: Nothing of this was done.
        changes: With `dry_run`, the first 1,000 changes; else empty, see `db.dreams.diff`.
        proposals: Of `db.dream()` over everything: notes written or changed since the dream before that say nearly the
            same as another, up to 50 pairs; see `db.notes.duplicates`. Nothing is done about them.
    """

    number: int | None
    state: str
    trigger: str
    started_at: int
    finished_at: int | None
    scene: str | None
    stages: tuple[StageReport, ...]
    changed: int
    notices: tuple[str, ...]
    undoable: bool = False
    reason: str | None = None
    dry_run: bool = False
    changes: tuple[DreamChange, ...] = ()
    proposals: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Stayed(Result):
    """What undoing left as it is: a field of a record, or (None) a whole change, because of this record."""

    kind: str | None
    id: str | None
    field: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Undone(Result):
    """What undoing a dream did.

    Attributes:
        changes: That were undone, in whole or but for some fields; of `changes_in_all`.
        restored: Records that got values back. removed: That the dream had made. returned: That it had deleted.
        stayed: What was built on since, or erased; the first 1,000 of `stayed_in_all`.
    """

    number: int
    changes: int
    changes_in_all: int
    restored: int
    removed: int
    returned: int
    stayed: tuple[Stayed, ...]
    stayed_in_all: int


@dataclass(frozen=True, slots=True)
class Exported(Result):
    """An export. Equal `digest` (SHA-256 of its bytes, 64 hex digits), equal memories.

    `path` is None if nothing was written. `damaged` records could not be read and are left out.
    """

    path: str | None
    records: int
    bytes: int
    digest: str
    damaged: int
