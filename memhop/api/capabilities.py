"""`db.capabilities`: L5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.common.config import LIMITS, check_name
from memhop.common.errors import NotFound
from memhop.repo import l5_capability
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    pass


class Capabilities(Namespace):
    """L5: what the agent knows how to do. Cards that come with MemHop are read-only."""

    def list(self) -> tuple[results.Capability, ...]:
        """Cards of the file, newest first, then those that come with MemHop."""
        from memhop.search.cards import builtin_cards

        found = self._store.listed(
            l5_capability.Capability, all_of(Kind.CAPABILITY), limit=LIMITS.results, descending=True
        )
        stored = [record for _, record in found]
        names = {card.name.casefold() for card in stored}
        extra = [card for card in builtin_cards() if card.name.casefold() not in names]
        return tuple(convert.capability(card) for card in (*stored, *extra))

    def get(self, name: str) -> results.Capability:
        """The card of this name, case ignored. Raises NotFound."""
        for card in self.list():
            if card.name.casefold() == check_name(name, field="name").strip().casefold():
                return card
        raise NotFound(f"no capability is called {name!r:.60}", field="name")
