"""Changes of a memory, as events."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result


@dataclass(frozen=True, slots=True)
class LogEvent(Result):
    """One record that a commit has changed.

    Attributes:
        number: A whole number in decimal digits, higher than those of all earlier events.
        commit, at: The commit, and its time.
        type: What became of what, such as note_new, note_status, fact_close, message_new, dream_end.
        compat: The name under which older clients know it, such as memory_update; None: they know none.
        layer: L0 to L7; "dreams" and "upkeep" for runs.
        id: Of the record, which may be gone by now.
        project: Its project; None for what belongs to none, or where no version of it is left.
        kind: Kind of a note, role of a message, type of a step, card or node; None where there is none.
        actor: Who changed a note; None: nobody is named.
        rev: Of a note, after the change.
        from_project, to_project: Of a note that changed its project.
    """

    number: str
    commit: int
    at: int
    type: str
    compat: str | None
    layer: str
    id: str
    project: str | None
    kind: str | None
    actor: str | None
    rev: int | None
    from_project: str | None = None
    to_project: str | None = None


@dataclass(frozen=True, slots=True)
class Events(Result):
    """Events in order.

    Attributes:
        next: Pass it as `since` to go on; it leads on also where `events` is empty.
        oldest: As `since`, it brings all that is left.
        newest: As `since`, it brings what comes after this call. Where `next` equals it, there is no more.
        gap: Changes behind `since` may be gone: compaction has dropped them, or the memory is an older copy. What was
            derived from events had better be made anew.
        damaged: Changes that could not be read.
    """

    events: tuple[LogEvent, ...]
    next: str
    oldest: str
    newest: str
    gap: bool
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Subscriber(Result):
    """How somebody who is told of changes fares.

    Attributes:
        sent: Events that were taken.
        missed: Events that were not: refused, dropped from a full queue, or left when the memory was closed.
        waiting: Events in the queue.
        last_error: Why the newest event that was missed was. None: none was.
    """

    name: str
    sent: int
    missed: int
    waiting: int
    last_error: str | None
