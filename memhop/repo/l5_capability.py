"""L5 Crystal: capability cards, what the agent knows how to do."""

from __future__ import annotations

from typing import Any, ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Kind, Layer, Listing, Ms, Record, Unit, all_of, label

CARD_FORMAT = "memhop-capability/v2"


class Capability(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One card. `type` is mcp, skill or composite; `status` draft, active or deprecated."""

    KIND: ClassVar[Kind] = Kind.CAPABILITY
    name: str
    type: str
    version: str = "1"
    summary: str = ""
    trigger: str = ""
    resources: tuple[dict[str, Any], ...] = ()
    workflow: dict[str, Any] = {}
    status: str = "active"
    origin: str = "imported"
    created_at: Ms = 0
    updated_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.updated_at)]

    def unit(self) -> Unit | None:
        if self.status != "active":
            return None
        text = "\n".join(part for part in (self.name, self.summary, self.trigger) if part)
        return Unit(
            text=text,
            plain=text,
            layer=Layer.CAPABILITIES,
            kind=label("kind", self.type),
            at=self.updated_at,
        )


def capability_id(name: str) -> int:
    """One card per name, case ignored."""
    return key_hash("capability", name.strip().casefold())
