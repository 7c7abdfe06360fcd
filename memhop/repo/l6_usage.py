"""L6 Usage: how often something was recalled. Counted in memory, written with the next commit or at close."""

from __future__ import annotations

from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Count, Id, Kind, Ms, Record


class Usage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Recalls of one record (a scene, a note, a card)."""

    KIND: ClassVar[Kind] = Kind.USAGE
    target: Id
    hits: Count = 0
    last_at: Ms = 0


def usage_id(target: int) -> int:
    """One counter per target."""
    return key_hash("usage", target)
