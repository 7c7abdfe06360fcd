"""L4 Archive: what was noted. Notes are editable; what they were before is in `l4_revision`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final

import msgspec

from memhop.repo.l4_archive import dated
from memhop.repo.record import (
    REDACTED,
    SUPERSEDED,
    Count,
    Id,
    Kind,
    Layer,
    Listing,
    Ms,
    Record,
    Tier,
    TierNumber,
    Unit,
    all_of,
    label,
    linked_to,
    name_label,
    project_key,
    project_label,
)

RELATED: Final = "related"
SUPERSEDES: Final = "supersedes"
LINK_TYPES: Final = ("related", "supersedes", "fixes", "causes", "part_of", "depends_on")
LinkType = Annotated[str, msgspec.Meta(pattern=r"\A(" + "|".join(LINK_TYPES) + r")\Z")]
_SHORT = 1_000  # characters of a text that is kept
_TIERS = tuple(Tier)  # by number; asking the enumeration takes longer
_STATES: Final = 0x5A7E5 << 44  # first of the keys of `state_of`: they stand together, so that they can be counted
STATE_KEYS: Final = (_STATES, _STATES | (1 << 44) - 1)


class Note(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something worth keeping, with a life. `at` is when it was so, `created_at` when it was written down.

    Most are written down when they are so, and never changed, so a stored 0 says: `created_at` is `at`, `updated_at` is
    `created_at`. That is 40 bytes of each note.
    """

    KIND: ClassVar[Kind] = Kind.NOTE
    text: str
    kind: str = "note"
    project: str = "default"
    status: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    links: tuple[Id, ...] = ()
    source: str = ""
    at: Ms = 0
    created_at: Ms = 0
    updated_at: Ms = 0
    rev: int = 1
    tier: TierNumber = 0
    pinned: bool = False
    external_id: str = ""
    idempotency_key: str = ""
    copies: int = 1  # how often its text was remembered when this version was written; later ones: l6_usage
    link_types: tuple[LinkType, ...] = ()  # of `links`, one each; () when all are "related"
    superseded_by: Id = 0  # the note that took its place
    status_at: Ms = 0  # since when the status is what it is; 0: since it was written down
    archived_at: Ms = 0  # 0: it is not archived. A trashed note keeps it, and comes back archived
    trashed_at: Ms = 0
    act: str = ""  # what made this revision, see `l4_revision.ACTS`; "": it was written down
    actor: str = ""  # who made it
    redacted: Count = 0  # secrets masked and private spans left out when it was written

    def __post_init__(self) -> None:
        if self.link_types and len(self.link_types) != len(self.links):
            raise ValueError("as many types as links are needed")

    def bare(self) -> Note:
        created = 0 if self.created_at == self.at else self.created_at
        updated = 0 if self.updated_at == self.created_at else self.updated_at
        return msgspec.structs.replace(self, id=0, created_at=created, updated_at=updated)

    def complete(self, id_: int) -> None:
        super().complete(id_)
        if not self.created_at:
            msgspec.structs.force_setattr(self, "created_at", self.at)
        if not self.updated_at:
            msgspec.structs.force_setattr(self, "updated_at", self.created_at)

    def listings(self) -> list[Listing]:
        created = self.created_at or self.at
        found = [
            Listing(all_of(self.KIND), created),
            Listing(notes_in(self.project), self.at),
            Listing(state_of(self.project, self.tier, self.kind, self.status), self.updated_at or created),
            Listing(same_text(self.project, self.kind, self.text), self.at),
        ]
        found += [Listing(tagged(tag), self.at) for tag in self.tags]
        if self.links or self.superseded_by:
            found += [
                Listing(linked_to(id_), self.at) for id_ in dict.fromkeys((*self.links, self.superseded_by)) if id_
            ]
        if self.redacted:
            found.append(Listing(REDACTED, self.at))
        if self.external_id:
            found.append(Listing(external_note(self.project, self.external_id), self.at))
        if self.idempotency_key:
            found.append(Listing(idempotent(self.idempotency_key), self.at))
        return found

    def typed_links(self) -> tuple[tuple[str, int], ...]:
        """(type, id) of each link."""
        return tuple(zip(self.link_types or (RELATED,) * len(self.links), self.links, strict=True))

    def unit(self) -> Unit:
        tags = " ".join(self.tags)
        return Unit(
            text=f"({dated(self.at)}) {self.text}" + (f"\n{tags}" if tags else ""),
            plain=self.text,
            layer=Layer.NOTES,
            tier=_TIERS[self.tier],
            kind=name_label("kind", self.kind),
            at=self.at,
            project=project_label(self.project),
            flags=SUPERSEDED if self.superseded_by else 0,
        )


def link_fields(links: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """The fields of a note that hold these (type, id) pairs, each once."""
    pairs = tuple(dict.fromkeys(links))
    types = tuple(type_ for type_, _ in pairs)
    return {
        "links": tuple(id_ for _, id_ in pairs),
        "link_types": types if any(type_ != RELATED for type_ in types) else (),
    }


def notes_in(project: str) -> int:
    """The group of a project's notes."""
    return name_label("notes", project_key(project))


def tagged(tag: str) -> int:
    """The group of notes with a tag; tags compare without case."""
    return label("tag", tag.casefold())


def same_text(project: str, kind: str, text: str) -> int:
    """The group of notes that say exactly this."""
    return (_same_text if len(text) <= _SHORT else _same_text.__wrapped__)(project, kind, text)


@lru_cache(maxsize=1 << 8)  # of a call: it is asked for when the note is looked for, and when it is listed
def _same_text(project: str, kind: str, text: str) -> int:
    return label("text", project_key(project), kind, " ".join(text.split()))


def external_note(project: str, external_id: str) -> int:
    """The group holding the one note a host calls `external_id`."""
    return label("external-note", project_key(project), external_id)


def idempotent(key: str) -> int:
    """The group holding the one note written under an idempotency key."""
    return label("idempotency", key)


@lru_cache(maxsize=1 << 10)
def state_of(project: str, tier: int, kind: str, status: str) -> int:
    """The group of a project's notes in one tier, of one kind and status, by the time of their last change.

    Its key lies in `STATE_KEYS`; the project compares without case. Few other groups lie there: whoever goes through
    them compares with what a member says (`repo/projects.py`).
    """
    return _STATES | label("state", project_key(project), tier, kind, status) & (1 << 44) - 1
