"""What the upkeep of a memory remembers about itself, so that processes agree on what is due."""

from __future__ import annotations

from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Count, Kind, Listing, Ms, Record, all_of


class Maintenance(Record, frozen=True, kw_only=True, omit_defaults=True):
    """When retention was last looked after, and what came of it. There is one."""

    KIND: ClassVar[Kind] = Kind.MAINTENANCE
    at: Ms = 0
    trashed: Count = 0
    erased: Count = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.at)]


def maintenance_id() -> int:
    """The id of the one record."""
    return key_hash("maintenance")
