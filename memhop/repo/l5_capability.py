"""L5 Crystal: capability cards, what the agent knows how to do.

A card is drafted (by crystallizing a session), active (offered to the agent) or deprecated (kept, and offered no more):

    draft --activate--> active --deprecate--> deprecated
                          ^-------activate--------'

What a card must look like is in `repo/card.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from memhop.common.ids import key_hash
from memhop.repo.record import Count, Id, Kind, Layer, Listing, Ms, Record, Unit, all_of, label, linked_to

CARD_FORMAT = "memhop-capability/v2"
TYPES = ("mcp", "skill", "composite")
STATUSES = ("draft", "active", "deprecated")
ORIGINS = ("imported", "crystallized", "builtin")
BECOMES = {"draft": ("active",), "active": ("deprecated",)}  # by a change; a deprecated one is activated, or stays


class Resource(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a card uses: a call of a server (mcp) or a skill, by `ref`. `config` is for the host, such as arguments."""

    type: str = ""
    name: str = ""
    ref: str = ""
    description: str = ""
    config: str = ""


class WorkflowStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step: a resource of the card by name, or a call of the memory, and what to do with it."""

    ref: str = ""
    action: str = ""


class Workflow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Steps in order."""

    steps: tuple[WorkflowStep, ...] = ()


class Translation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A card's words in another language; "" or nothing where they are not translated.

    `resources` are descriptions by the name of the resource, `actions` those of the steps in order.
    """

    summary: str = ""
    trigger: str = ""
    resources: dict[str, str] = {}
    actions: tuple[str, ...] = ()


class Capability(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One card. `type` is mcp, skill or composite; `status` draft, active or deprecated.

    `file_hash` is the SHA-256 of the bytes it was imported from, "" once it was changed otherwise. A crystallized card
    names the session it was made from, and the messages which the steps of that session name.
    """

    KIND: ClassVar[Kind] = Kind.CAPABILITY
    name: str
    type: str
    version: str = "1"
    summary: str = ""
    trigger: str = ""
    resources: tuple[Resource, ...] = ()
    workflow: Workflow = Workflow()
    status: str = "active"
    origin: str = "imported"
    created_at: Ms = 0
    updated_at: Ms = 0
    translations: dict[str, Translation] = {}
    file_hash: str = ""
    session: str = ""
    sources: tuple[Id, ...] = ()
    trigger_count: Count = 0
    success_count: Count = 0
    last_triggered: Ms = 0

    def listings(self) -> list[Listing]:
        found = [Listing(all_of(self.KIND), self.updated_at)]
        found += [Listing(linked_to(message), self.updated_at) for message in self.sources]
        return found

    def unit(self) -> Unit | None:
        if self.status != "active":
            return None
        return Unit(
            text="\n".join(filter(None, self.words())),
            plain="\n".join(filter(None, (self.name, self.summary, self.trigger))),
            layer=Layer.CAPABILITIES,
            kind=label("kind", self.type),
            at=self.updated_at,
        )

    def words(self) -> Iterator[str]:
        """Everything a card says, in all its languages."""
        yield from (self.name, self.summary, self.trigger)
        for resource in self.resources:
            yield from (resource.name, resource.description)
        for translation in self.translations.values():
            yield from (translation.summary, translation.trigger, *translation.resources.values())

    def used(self, *, success: bool, at: int) -> Capability:
        """The card after it was used once more."""
        return msgspec.structs.replace(
            self,
            trigger_count=self.trigger_count + 1,
            success_count=self.success_count + success,
            last_triggered=max(self.last_triggered, at),
        )

    @property
    def success_rate(self) -> float | None:
        """Share of its uses that succeeded, 0..1. None: it was never used."""
        return min(1.0, self.success_count / self.trigger_count) if self.trigger_count else None


def capability_id(name: str) -> int:
    """One card per name, case ignored."""
    return key_hash("capability", name.strip().casefold())


def redefined(card: Capability, other: Capability) -> Capability:
    """The card, saying what another one says. It is no longer what a file says, unless both say the same."""
    fields = ("version", "type", "summary", "trigger", "resources", "workflow", "translations")
    said = {field: getattr(other, field) for field in fields}
    if all(getattr(card, field) == value for field, value in said.items()):
        return card
    return msgspec.structs.replace(card, file_hash="", **said)
