"""Reading an export back, line by line: what a line must be before anything is made of it.

A line is taken for hostile until it is a record of a known kind with every field in bounds; only then anything looks at
what it says. Whether it fits the memory is a matter of `api/import_records.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec

from memhop.api.export import FORMAT, VERSION
from memhop.common.config import LIMITS, check_json, check_metadata, check_name, check_names, check_text
from memhop.common.errors import BadFormat, InvalidRequest, StorageError
from memhop.common.ids import from_hex
from memhop.core.disk import hint_of, reason
from memhop.repo import codec
from memhop.repo.l0_profile import PROFILE_ID, Profile, ProfileLine, line_id
from memhop.repo.l1_engram import Engram, Hyperedge, edge_id, engram_id
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_knowledge import Graph, KnowledgeEdge, KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import NoteRevision, revision_id
from memhop.repo.l5_capability import Capability, capability_id
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.l7_trajectory import Event
from memhop.repo.plain import parsed
from memhop.repo.record import Kind, Record
from memhop.repo.references import REFERENCES

if TYPE_CHECKING:
    from memhop.api.redaction import Guard

_HEAD_BYTES = 4096
_MOST = 2**31  # revisions, copies: far from where counting on would leave 64 bits
_KINDS = {kind.name.lower(): kind for kind in Kind if kind < Kind.SPACE}
# Records that are known by an id which follows from what they say.
_NATURAL: dict[type[Record], Callable[[Any], int]] = {
    Profile: lambda _: PROFILE_ID,
    ProfileLine: lambda line: line_id(line.name),
    Engram: lambda engram: engram_id(engram.scene),
    Hyperedge: lambda edge: edge_id(edge.relation, edge.scenes),
    NoteRevision: lambda revision: revision_id(revision.note, revision.rev),
    Capability: lambda card: capability_id(card.name),
    Usage: lambda usage: usage_id(usage.target),
}

# Fields that are names, and those that may be blank.
_NAMES: dict[type[Record], tuple[tuple[str, ...], tuple[str, ...]]] = {
    Note: (("project", "kind"), ("status", "source", "external_id", "idempotency_key", "actor")),
    Message: (("project",), ("speaker", "session", "external_id")),
    Scene: (("project",), ("session",)),
    Topic: (("project",), ()),
    Graph: (("name",), ()),
    KnowledgeNode: (("title",), ("node_type", "source_ref")),
    KnowledgeEdge: (("relation",), ("label",)),
    Fact: (("subject", "predicate"), ()),
    Event: (("session", "type"), ()),
}


class BadLine(ValueError):
    """A line is no record. Says why."""


class Line(NamedTuple):
    """A line as it stands: its number, from 1, and its bytes; `raw` is cut where it is longer than a line may be."""

    number: int
    raw: bytes
    size: int

    @property
    def place(self) -> str:
        return f"line {self.number}"


class Incoming(NamedTuple):
    """A record that a line says, and fields of a newer build that came with it."""

    record: Record
    unknown: dict[str, Any]


def lines(path: Path) -> Iterator[Line]:
    """All lines but the header and blank ones. Holds one at a time.

    Raises:
        BadFormat: the file is no export, or one of a newer version. StorageError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            check_header(file.readline(_HEAD_BYTES), path)
            number = 1
            while raw := file.readline(LIMITS.line_bytes + 1):
                number += 1
                size = len(raw) + _rest_of_line(file, raw)
                if raw.strip():
                    yield Line(number, raw, size)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"cannot read {path}: {reason(error)}", hint=hint_of(error)) from error


def _rest_of_line(file: BinaryIO, raw: bytes) -> int:
    """Step over what a line has beyond the most it may have. Returns its bytes."""
    skipped = 0
    while len(raw) > LIMITS.line_bytes and not raw.endswith(b"\n"):
        raw = file.readline(LIMITS.line_bytes + 1)
        skipped += len(raw)
    return skipped


def is_export(head: bytes) -> bool:
    """Whether a file that begins so is an export, of whatever version."""
    return _header(head.partition(b"\n")[0]) is not None


def check_header(head: bytes, path: Path) -> None:
    """Raises BadFormat, which names both versions where this one is newer."""
    said = _header(head)
    if said is None:
        raise BadFormat(f"{path} is no export: its first line is no header")
    version = said.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadFormat(f"{path} is an export without a version")
    if version > VERSION:
        raise BadFormat(
            f"{path} is an export of version {version}, this build reads up to version {VERSION}",
            hint="install a newer memhop",
        )


def _header(head: bytes) -> dict[str, Any] | None:
    try:
        said = msgspec.json.decode(head)
    except (msgspec.DecodeError, RecursionError):
        return None
    return said if isinstance(said, dict) and said.get("format") == FORMAT else None


def record_of(line: Line, guard: Guard) -> Incoming:
    """The record that a line says.

    Raises:
        BadLine: it says none, or one that no memory would hold.
    """
    if line.size > LIMITS.line_bytes:
        raise BadLine(f"{line.size:,} bytes are too many for a line (allowed: {LIMITS.line_bytes:,})")
    try:
        said = msgspec.json.decode(line.raw)
    except RecursionError:
        raise BadLine("it is nested too deep") from None
    except msgspec.DecodeError as error:
        cut = " (the line has no end: the file may be cut)" if not line.raw.endswith(b"\n") else ""
        raise BadLine(f"no JSON: {error}{cut}") from None
    if not isinstance(said, dict):
        raise BadLine("no JSON object")
    try:
        kind = _KINDS.get(str(said.get("kind")))
        if kind is None:
            raise BadLine(f"unknown kind {str(said.get('kind'))[:40]!r}")
        fields = said.get("record")
        if not isinstance(fields, dict) or "id" in fields:
            raise BadLine("`record` is no object of the fields of a record")
        id_ = from_hex(said.get("id"))
        record, unknown = parsed(codec.RECORD_TYPES[kind], id_, _redacted(codec.RECORD_TYPES[kind], fields, guard))
        check_json(unknown)
        _check(record)
        if len(codec.encode(record, unknown)) > LIMITS.line_bytes:
            raise BadLine("the record is too large")
    except RecursionError:
        raise BadLine("it is nested too deep") from None
    except (msgspec.ValidationError, InvalidRequest, TypeError, ValueError, OverflowError) as error:
        raise BadLine(str(error)) from None
    return Incoming(record, unknown)


def _redacted(record_type: type[Record], fields: dict[str, Any], guard: Guard) -> dict[str, Any]:
    """The fields without what the policy of this memory keeps out."""
    texts = {name: value for name, value in fields.items() if name not in REFERENCES.get(record_type, ())}
    kept, count = guard.metadata(texts, field="")
    if not count:
        return fields
    before = fields.get("redacted", 0)
    counted = "redacted" in record_type.__struct_fields__ and isinstance(before, int)
    taken: dict[str, Any] = {"redacted": before + count} if counted else {}
    return {**fields, **kept, **taken}


def _check(record: Record) -> None:
    """What the types of fields do not say: sizes, names, JSON in JSON, and ids that follow from what they name."""
    natural = _NATURAL.get(type(record))
    if natural is not None and natural(record) != record.id:
        raise BadLine(f"the id is not that of this {record.KIND.name.lower()}")
    names, blank = _NAMES.get(type(record), ((), ()))
    for field in (*names, *blank):
        check_name(getattr(record, field), field=field, blank=field in blank)
    for field in record.__struct_fields__:
        value = getattr(record, field)
        if isinstance(value, str) and len(value) > LIMITS.text_bytes // 4 and len(value.encode()) > LIMITS.text_bytes:
            raise BadLine(f"{field}: {len(value):,} characters are too many")
    match record:
        case Note():
            check_text(record.text, field="text")
            check_names(record.tags, field="tags", most=LIMITS.tags, max_chars=LIMITS.tag_chars)
            check_metadata(record.metadata)
            if len(record.links) > LIMITS.links:
                raise BadLine(f"{len(record.links)} links are too many (allowed: {LIMITS.links})")
            if not (1 <= record.rev <= _MOST and 1 <= record.copies <= _MOST):
                raise BadLine(f"rev and copies are counted from 1, up to {_MOST:,}")
        case Message():
            check_text(record.text, field="text")
        case NoteRevision():
            check_json(record.before)
        case Fact():
            check_text(record.value, field="value", max_bytes=LIMITS.fact_bytes)
        case Hyperedge() if tuple(sorted(set(record.scenes))) != record.scenes or len(record.scenes) < 2:
            raise BadLine("an association joins at least two scenes, in ascending order")
