"""What every record can say about itself.

A record is frozen data. It names its kind, the groups it is listed in, and, if it can be found by recall, the
searchable unit it becomes. It never opens, locks or times anything. The id lives in the frame, not in the
payload; it is filled in when a record is read or put.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Annotated, ClassVar, Final, NamedTuple
from unicodedata import normalize

import msgspec

from memhop.common.ids import key_hash


class Kind(IntEnum):
    """Frame kinds of records. Numbers are part of the file format and never reused; 0x01-0x0F are core's."""

    PROFILE = 0x10
    PROFILE_LINE = 0x11
    PROFILE_CHANGE = 0x12
    ENGRAM = 0x18
    HYPEREDGE = 0x19
    SCENE = 0x20
    TOPIC = 0x21
    GRAPH = 0x28
    KNOWLEDGE = 0x29
    KNOWLEDGE_EDGE = 0x2A
    FACT = 0x2B
    MESSAGE = 0x30
    NOTE = 0x31
    NOTE_REVISION = 0x32
    CAPABILITY = 0x38
    USAGE = 0x40
    EVENT = 0x48
    SPACE = 0x50
    VECTOR_SLAB = 0x51
    TOKEN_SLAB = 0x52
    EMBED_FAILURE = 0x53
    TOKEN_BASIS = 0x54
    CONTEXT_SLAB = 0x55
    DREAM = 0x58
    DREAM_STEP = 0x59
    SPENDING = 0x5A
    MAINTENANCE = 0x60
    IMPORT = 0x61
    IMPORT_STEP = 0x62

    @property
    def layer(self) -> str:
        """L0 to L7; "vectors", "dreams" and "upkeep" for what belongs to no layer."""
        if self >= Kind.SPACE:
            return "vectors" if self < Kind.DREAM else "dreams" if self < Kind.MAINTENANCE else "upkeep"
        return f"L{(self - Kind.PROFILE) // 8}"


class Layer(IntEnum):
    """The layer of a searchable unit, as `Hit.layer` and the `layers` filter name it."""

    TOPICS = 2
    KNOWLEDGE = 3
    MESSAGES = 4
    NOTES = 5
    CAPABILITIES = 6

    @property
    def label(self) -> str:
        return self.name.lower()


class Tier(IntEnum):
    """Where a unit stands in its life; recall looks at ACTIVE unless asked."""

    ACTIVE = 0
    ARCHIVED = 1
    TRASHED = 2

    @property
    def label(self) -> str:
        return self.name.lower()


class Role(IntEnum):
    """Who spoke. Other names given by a host are refused, so that a filter cannot miss by spelling."""

    NONE = 0
    USER = 1
    AGENT = 2
    SYSTEM = 3
    TOOL = 4


# What a field may hold is part of its type, so that decoding a payload refuses what no code below could read.
Ms = Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799_999)]  # Unix milliseconds up to the end of year 9999
Id = Annotated[int, msgspec.Meta(ge=0)]  # 0: none; MessagePack has no integers beyond 64 bits
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # what fits a column and the order of a listing
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Dimensions = Annotated[int, msgspec.Meta(ge=1, le=65_535)]
TierNumber = Annotated[int, msgspec.Meta(ge=0, le=2)]
Span = tuple[Ms, Ms]  # half-open [from, to), from < to
RoleName = Annotated[str, msgspec.Meta(pattern=r"\A(user|agent|system|tool)\Z")]

ASKS = 1  # flag of a unit: the turn only asks, its text ends with a question mark
REPEATS = 2  # flag of a unit: it was drawn from what other units say
SUPERSEDED = 4  # flag of a unit: another note took its place
DEFAULT_PROJECT = "default"


class Unit(NamedTuple):
    """One searchable thing. Hash labels are `key_hash` values; 0 means "has none"."""

    text: str  # what BM25 indexes, with speaker and date where they help
    plain: str  # what an embedder reads
    layer: Layer
    tier: Tier = Tier.ACTIVE
    kind: int = 0
    role: Role = Role.NONE
    at: int = 0
    session: int = 0
    scene: int = 0
    project: int = 0
    speaker: int = 0
    flags: int = 0


class Listing(NamedTuple):
    """Membership of a record in the group `key`, at the place `order`."""

    key: int
    order: int


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all records. `id` is 0 until the record was put or read."""

    KIND: ClassVar[Kind]
    id: int = 0

    def bare(self) -> Record:
        """As it is stored: what `complete` can tell is left out."""
        return msgspec.structs.replace(self, id=0) if self.id else self

    def complete(self, id_: int) -> None:
        """Fill in what was left out, in a record that was just read and nobody has seen."""
        msgspec.structs.force_setattr(self, "id", id_)

    def listings(self) -> list[Listing]:
        """The groups this record is listed in."""
        return []

    def unit(self) -> Unit | None:
        """How recall finds it. None: it is not searchable."""
        return None


def label(*parts: object) -> int:
    """The hash by which a label or group is compared; parts are exact, case included."""
    return key_hash(*parts)


REDACTED: Final = label("redacted")  # the group of records from which something was taken out, by time


@lru_cache(maxsize=1 << 10)
def project_key(project: str) -> str:
    """By which names of projects are compared: case, Unicode form and white space around them make no difference."""
    project = project.strip()
    return project.casefold() if project.isascii() else normalize("NFC", normalize("NFC", project).casefold())


def project_label(project: str) -> int:
    """The label of a project's units."""
    return name_label("project", project_key(project))


_PROJECTS: Final = 0x5A7E6 << 44
PROJECT_KEYS: Final = (_PROJECTS, _PROJECTS | (1 << 44) - 1)


def said_in(project: str) -> int:
    """The group of a project's messages, by time; of none for the default one. Its key lies in `PROJECT_KEYS`."""
    return _PROJECTS | name_label("said", project_key(project)) & (1 << 44) - 1


@lru_cache(maxsize=1 << 12)
def name_label(*parts: str) -> int:
    """`label` of names, which are short and come again."""
    return label(*parts)


def linked_to(id_: int) -> int:
    """The group of records that name a record because somebody said so: notes by a link, steps by their message.

    Erasing a record finds through it who else must forget it.
    """
    return label("linked", id_)


@lru_cache(maxsize=1 << 8)
def all_of(kind: Kind) -> int:
    """The group that lists every record of a kind."""
    return label("all", int(kind))
