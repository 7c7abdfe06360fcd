"""L7 Trajectory: what the agent did, event by event, per session."""

from __future__ import annotations

from typing import ClassVar

from memhop.repo.record import REDACTED, Count, Id, Kind, Listing, Ms, Record, label, linked_to


class Event(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One step. `seq` counts from 1 within its session.

    `cut_bytes` is how much of the payload's end was left out. The first step that is left of a session after older ones
    were dropped is `first`; with the one numbered 1, it stands for its session in `SESSIONS`.
    """

    KIND: ClassVar[Kind] = Kind.EVENT
    session: str
    seq: Count
    type: str
    payload: str = ""
    at: Ms = 0
    message: Id = 0
    cut_bytes: Count = 0
    first: bool = False
    redacted: Count = 0  # secrets masked and private spans left out

    def listings(self) -> list[Listing]:
        found = [Listing(events_of(self.session), self.seq)]
        if self.opens:
            found.append(Listing(SESSIONS, self.at))
        if self.redacted:
            found.append(Listing(REDACTED, self.at))
        if self.message:
            found.append(Listing(linked_to(self.message), self.seq))
        return found

    @property
    def opens(self) -> bool:
        """Whether its session is listed through it."""
        return self.first or self.seq == 1


SESSIONS = label("event-sessions")
"""The group of the steps that open a session, by time."""


def events_of(session: str) -> int:
    """The group of a session's events, in order."""
    return label("events", session)


def fitted(payload: str, most_bytes: int) -> tuple[str, int]:
    """(as much of the beginning as fits, how many bytes are left out), in UTF-8; no character is split.

    >>> fitted("你好世界", 4)
    ('你', 9)
    """
    data = payload.encode("utf-8")
    if len(data) <= most_bytes:
        return payload, 0
    kept = data[:most_bytes].decode("utf-8", "ignore")
    return kept, len(data) - len(kept.encode("utf-8"))
