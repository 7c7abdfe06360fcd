"""Record <-> payload, in one table.

MessagePack, by msgspec: text stays plain UTF-8 in the file (a person with grep can find it, and erasure can be
proved), encoding costs 0.3 us, and fields are named, so that they can be appended with defaults. Fields this
build does not know survive a rewrite: `unknown_fields` collects them from the version that is replaced.
JSON was the alternative: twice the bytes for numbers, and escapes that hide text from grep.
"""

from __future__ import annotations

from typing import Any

import msgspec

from memhop.common.errors import Corrupt
from memhop.repo.dreams import Dream, DreamStep, Spending
from memhop.repo.imports import Import, ImportStep
from memhop.repo.l0_profile import Profile, ProfileChange, ProfileLine
from memhop.repo.l1_engram import Engram, Hyperedge
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_knowledge import Graph, KnowledgeEdge, KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import NoteRevision
from memhop.repo.l5_capability import Capability
from memhop.repo.l6_usage import Usage
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Kind, Record
from memhop.repo.upkeep import Maintenance
from memhop.repo.vectors import EmbedFailure, Space, TokenBasis

RECORD_TYPES: dict[int, type[Record]] = {
    int(record_type.KIND): record_type
    for record_type in (
        Profile, ProfileLine, ProfileChange, Engram, Hyperedge, Scene, Topic, Graph, KnowledgeNode, KnowledgeEdge, Fact,
        Message, Note, Capability, Usage, Event, Space, EmbedFailure, TokenBasis, Dream, DreamStep, Spending,
        NoteRevision, Maintenance, Import, ImportStep,
    )
}  # fmt: skip
SLAB_KINDS = frozenset(map(int, (Kind.VECTOR_SLAB, Kind.TOKEN_SLAB, Kind.CONTEXT_SLAB)))  # laid out in repo/vectors.py

_decoders = {kind: msgspec.msgpack.Decoder(record_type) for kind, record_type in RECORD_TYPES.items()}
_encoder = msgspec.msgpack.Encoder()


def encode(record: Record, unknown: dict[str, Any] | None = None) -> bytes:
    """The payload of a record; its id is left to the frame. `unknown` are fields to carry along."""
    bare = record.bare()
    if not unknown:
        return _encoder.encode(bare)
    return _encoder.encode(unknown | msgspec.to_builtins(bare, builtin_types=(bytes,)))


def decode(kind: int, id_: int, payload: bytes | memoryview, offset: int) -> Record:
    """The record in a payload.

    Raises:
        Corrupt: the bytes are not a record of this kind, although their checksum holds.
    """
    try:
        record: Record = _decoders[kind].decode(payload)
    except (msgspec.DecodeError, KeyError, RecursionError):
        raise Corrupt(f"payload of a record of kind {kind:#04x}", offset=offset) from None
    record.complete(id_)
    return record


def fault_of(kind: int, payload: bytes | memoryview) -> str:
    """What `decode` would say; "" if it takes the payload."""
    try:
        decode(kind, 0, payload, 0)
    except Corrupt as error:
        return error.what
    return ""


def unknown_fields(kind: int, payload: bytes | memoryview) -> dict[str, Any]:
    """Fields of a stored payload that this build's record type does not have; {} when it cannot be read."""
    try:
        raw = msgspec.msgpack.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return {}
    known = RECORD_TYPES[kind].__struct_fields__
    return {name: value for name, value in raw.items() if name not in known} if isinstance(raw, dict) else {}
