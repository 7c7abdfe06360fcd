"""L6 Usage: how often something was recalled, and said again.

Recalls are counted in memory and written with the next commit or at close. That the same words were remembered once
more is written at once, here and not in the note: a long note must not be stored again because somebody repeats it.
"""

from __future__ import annotations

from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Count, Id, Kind, Ms, Record


class Usage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Recalls of one record (a scene, a note, a card). `copies`: how often its words were remembered once more."""

    KIND: ClassVar[Kind] = Kind.USAGE
    target: Id
    hits: Count = 0
    last_at: Ms = 0
    copies: int = 0


def usage_id(target: int) -> int:
    """One counter per target."""
    return key_hash("usage", target)
