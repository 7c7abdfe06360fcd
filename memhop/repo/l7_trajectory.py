"""L7 Trajectory: what the agent did, event by event, per session."""

from __future__ import annotations

from typing import ClassVar

from memhop.repo.record import Count, Id, Kind, Listing, Ms, Record, label, linked_to


class Event(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One step. `seq` counts from 1 within its session."""

    KIND: ClassVar[Kind] = Kind.EVENT
    session: str
    seq: Count
    type: str
    payload: str = ""
    at: Ms = 0
    message: Id = 0

    def listings(self) -> list[Listing]:
        found = [Listing(events_of(self.session), self.seq)]
        if self.message:
            found.append(Listing(linked_to(self.message), self.seq))
        return found


def events_of(session: str) -> int:
    """The group of a session's events, in order."""
    return label("events", session)
