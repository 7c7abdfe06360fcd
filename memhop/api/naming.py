"""What an id stands for, whatever its kind: in words, by its first digits, and what belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.api import results
from memhop.common.config import LIMITS, check_choice, check_int
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_knowledge import Graph, KnowledgeEdge, KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l5_capability import Capability
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Kind, Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memhop.repo.store import Store

KINDS: dict[Kind, str] = {  # what has an id that callers see, as results name it
    Kind.NOTE: "note",
    Kind.MESSAGE: "message",
    Kind.SCENE: "scene",
    Kind.TOPIC: "topic",
    Kind.GRAPH: "graph",
    Kind.KNOWLEDGE: "node",
    Kind.KNOWLEDGE_EDGE: "edge",
    Kind.FACT: "fact",
    Kind.CAPABILITY: "card",
    Kind.EVENT: "step",
}
LEAST_DIGITS = 6
WORDS = 200  # characters of a thing named in passing
_DIGITS = frozenset("0123456789abcdef")


def lookup(store: Store, prefix: object, kinds: Iterable[str] | None, limit: object) -> tuple[results.Named, ...]:
    """See `DB.lookup`."""
    allowed = f"{LEAST_DIGITS} to 16 hex digits, the first ones of an id"
    if not isinstance(prefix, str):
        raise InvalidRequest(f"a {type(prefix).__name__} is no id", field="prefix", allowed=allowed)
    digits = prefix.strip().lower()
    if not LEAST_DIGITS <= len(digits) <= 16 or not _DIGITS.issuperset(digits):
        raise InvalidRequest(f"{prefix[:40]!r} is no beginning of an id", field="prefix", allowed=allowed)
    if isinstance(kinds, str):
        raise InvalidRequest("a str is not a list of kinds", field="kinds", allowed="a list of str")
    names = tuple(KINDS.values())
    wanted = names if kinds is None else [check_choice(kind, field="kinds", choices=names) for kind in kinds]
    most = check_int(limit, field="limit", low=1, high=LIMITS.results)
    shift = 4 * (16 - len(digits))
    value = int(digits, 16)
    found = []
    for kind, name in KINDS.items():
        if name in wanted:
            found += [(id_, name) for id_ in store.file.ids(kind) if id_ >> shift == value]
    found.sort()
    return tuple(
        results.Named(id=to_hex(id_), kind=name, text=words_of(store.record(id_))) for id_, name in found[:most]
    )


def text_of(record: Record | None) -> str:
    """The words of a record, whole; "" for what has none."""
    match record:
        case Message() | Note():
            return record.text
        case Scene() | Graph():
            return record.name
        case Topic():
            return record.summary or ", ".join(record.user_keywords + record.agent_keywords)
        case KnowledgeNode():
            return f"{record.title}\n{record.content}" if record.content else record.title
        case KnowledgeEdge():
            return record.label or record.relation
        case Fact():
            return record.said
        case Capability():
            return f"{record.name}: {record.summary}"
        case Event():
            return f"{record.type}: {record.payload}" if record.payload else record.type
    return ""


def words_of(record: Record | None) -> str:
    """The words of a record on one line, cut."""
    if record is None:
        return "(damaged or gone)"
    line = " ".join(text_of(record)[: 2 * WORDS].split())
    return line if len(line) <= WORDS else line[: WORDS - 1] + "…"
