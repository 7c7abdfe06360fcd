"""Records of the layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memhop.api.results.base import Result
from memhop.api.results.dreams import FieldChange


@dataclass(frozen=True, slots=True)
class Note(Result):
    """A note. `at` is when it was so; `created_at` and `updated_at` are when it was written and last changed."""

    id: str
    text: str
    kind: str
    project: str
    status: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    links: tuple[str, ...]
    source: str | None
    at: int
    created_at: int
    updated_at: int
    rev: int
    tier: str
    pinned: bool
    external_id: str | None
    copies: int
    created: bool = True  # False: `remember` found it there already
    link_types: tuple[str, ...] = ()  # of `links`, one each
    superseded_by: str | None = None
    status_at: int = 0  # since when the status is what it is
    archived_at: int | None = None
    trashed_at: int | None = None
    actor: str | None = None  # who made this revision
    redacted: int = 0  # secrets masked and private spans left out when it was written
    quoted: int = 0  # lines of what was remembered just now that only repeat what was recalled; they are not stored


@dataclass(frozen=True, slots=True)
class Changed(Result):
    """What became of a change. `changed` False: everything is as it was, and `reason` says why."""

    id: str
    changed: bool
    tier: str
    rev: int
    reason: str


@dataclass(frozen=True, slots=True)
class NoteRevision(Result):
    """A revision of a note: when it came about, by what act and whose, and what it changed.

    `changes` are the fields but the text, `diff` is what changed in the text, as a unified diff. `at`, `act` and
    `actor` are None of the oldest one that is kept, if it is not the first: how it came about went with the one before.
    """

    rev: int
    at: int | None
    act: str | None
    actor: str | None
    changes: tuple[FieldChange, ...] = ()
    diff: str | None = None


@dataclass(frozen=True, slots=True)
class NoteLink(Result):
    """A link of a note. `outgoing`: it has the link; else the other one, `id`, has it and names this note.

    `kind` is what the other one is: a note's kind, else message, topic, …; `text` is how it begins.
    """

    id: str
    type: str
    outgoing: bool
    kind: str
    text: str
    tier: str | None = None


@dataclass(frozen=True, slots=True)
class Message(Result):
    """One turn, word for word. `spans`: the times it speaks of, as (from, to) in Unix ms, `to` exclusive.

    `redacted`: how many secrets were masked and private spans left out.
    """

    id: str
    text: str
    role: str
    speaker: str | None
    at: int
    session: str | None
    project: str
    external_id: str | None
    scene_id: str | None
    topic_id: str | None
    spans: tuple[tuple[int, int], ...] = ()
    redacted: int = 0
