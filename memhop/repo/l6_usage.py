"""L6 Usage: how often something was recalled, and said again.

Recalls are counted in memory and written with the next commit or at close. That the same words were remembered once
more is written at once, here and not in the note: a long note must not be stored again because somebody repeats it.
"""

from __future__ import annotations

import math
from typing import ClassVar, Final

import msgspec

from memhop.common.ids import key_hash
from memhop.repo.record import Count, Id, Kind, Ms, Record

_FULL: Final = 20  # recalls that count in full
_DECAY: Final = math.log(2) / (30 * 86_400_000)  # per ms: a habit of recalling halves in 30 days


class Usage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Recalls of one record (a scene, a note, a card). `copies`: how often its words were remembered once more."""

    KIND: ClassVar[Kind] = Kind.USAGE
    target: Id
    hits: Count = 0
    last_at: Ms = 0
    copies: int = 0

    def strength(self, now_ms: int) -> float:
        """How much it is in use, 0..1: min(1, ln(1 + hits) / ln(1 + 20)), halved for each 30 days since the last."""
        full = min(1.0, math.log1p(self.hits) / math.log1p(_FULL))
        return full * math.exp(-_DECAY * max(0, now_ms - self.last_at))

    def used(self, hits: int, at: int) -> Usage:
        """The counter after `hits` more recalls, the newest at `at`."""
        return msgspec.structs.replace(self, hits=min(self.hits + hits, 2**63 - 1), last_at=max(self.last_at, at))

    def copied(self) -> Usage:
        """The counter after the same words were remembered once more."""
        return msgspec.structs.replace(self, copies=self.copies + 1)


def usage_id(target: int) -> int:
    """One counter per target."""
    return key_hash("usage", target)
