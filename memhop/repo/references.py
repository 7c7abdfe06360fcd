"""Which records a record refers to, and what is left of it without some of them.

    Engram, Hyperedge     -> scenes                             Message        -> its scene and topic
    Topic                 -> scene, parent, children,           Event          -> a message
                             messages, graphs, sources          KnowledgeNode  -> its graph
    ProfileLine           -> its evidence                       KnowledgeEdge  -> its graph and nodes
    Fact                  -> its sources                        Dream          -> a scene; DreamStep -> its dream
    Note                  -> what it links to, of any kind,     EmbedFailure   -> its vector space
                             the note that superseded it        NoteRevision   -> its note
    Usage                 -> what was recalled                  TokenBasis     -> its vector space
    Capability            -> messages it was drawn from

    ImportStep            -> its import

What a DreamStep or ImportStep changed, what undoing a Dream removed and what a NoteRevision linked to is history, not a
reference: it may be gone since.
A slab refers to its space, and to its basis if it has one (`vectors.slab_references`); the owners of its rows are
names of texts, not ids of records, and so is the owner of an EmbedFailure. The number of an event in its session is no
id either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from memhop.repo.dreams import Dream, DreamStep
from memhop.repo.imports import ImportStep
from memhop.repo.l0_profile import ProfileLine
from memhop.repo.l1_engram import Engram, Hyperedge
from memhop.repo.l2_context import Topic
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_knowledge import KnowledgeEdge, KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import NoteRevision
from memhop.repo.l5_capability import Capability
from memhop.repo.l6_usage import Usage
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Kind, Record
from memhop.repo.vectors import EmbedFailure, TokenBasis

R = TypeVar("R", bound=Record)

_ANY = None  # also kinds of a newer build
_SCENE, _TOPIC, _GRAPH = frozenset({Kind.SCENE}), frozenset({Kind.TOPIC}), frozenset({Kind.GRAPH})
_SAID = frozenset({Kind.MESSAGE, Kind.NOTE, Kind.TOPIC, Kind.SCENE, Kind.EVENT, Kind.KNOWLEDGE})
_MESSAGE, _SPACE = frozenset({Kind.MESSAGE}), frozenset({Kind.SPACE})

# Every field that holds ids of records, with the kinds they may name. Types that are absent refer to nothing.
REFERENCES: dict[type[Record], dict[str, frozenset[Kind] | None]] = {
    Engram: {"scene": _SCENE},
    Hyperedge: {"scenes": _SCENE},
    Topic: {
        "scene": _SCENE,
        "parent": _TOPIC,
        "children": _TOPIC,
        "messages": _MESSAGE,
        "graphs": _GRAPH,
        "sources": _MESSAGE,
    },
    ProfileLine: {"evidence": _SAID},
    KnowledgeNode: {"graph": _GRAPH},
    KnowledgeEdge: {"graph": _GRAPH, "nodes": frozenset({Kind.KNOWLEDGE})},
    Fact: {"sources": _SAID},
    Dream: {"scene": _SCENE},
    DreamStep: {"dream": frozenset({Kind.DREAM})},
    Message: {"scene": _SCENE, "topic": _TOPIC},
    Note: {"links": _ANY, "superseded_by": frozenset({Kind.NOTE})},
    NoteRevision: {"note": frozenset({Kind.NOTE})},
    ImportStep: {"batch": frozenset({Kind.IMPORT})},
    Usage: {"target": frozenset({Kind.SCENE, Kind.NOTE, Kind.CAPABILITY})},
    Event: {"message": _MESSAGE},
    Capability: {"sources": _MESSAGE},
    EmbedFailure: {"space": _SPACE},
    TokenBasis: {"space": _SPACE},
}


def references(record: Record) -> Iterator[tuple[str, int]]:
    """(field, id) of every reference, in the order of the fields. 0 means "none" and is left out."""
    for field in REFERENCES.get(type(record), ()):
        value = getattr(record, field)
        for id_ in value if isinstance(value, tuple) else (value,):
            if id_:
                yield field, id_


def may_name(record_type: type[Record], field: str, kind: int) -> bool:
    """Whether a field may refer to a record of this kind."""
    allowed = REFERENCES[record_type][field]
    return allowed is None or kind in allowed


def without(record: Record, gone: Collection[int]) -> Record | None:
    """The record with its references to `gone` taken out, its id kept; the very same object if there were none.

    Args:
        gone: Ids. Membership is asked once per reference, so that a large collection should be a set.

    Returns:
        None when what is left means nothing:

        an engram, a usage counter, an embedding failure,
        a token basis                                        they say something about what is gone, and nothing else
        a profile line, a step of a dream or import,
        a revision of a note                                 the same
        a hyperedge of fewer than two scenes, a knowledge
        edge of fewer than two nodes                         it joins nothing
        a fact of which every source is gone, unless
        it was asserted without one, too                     it was drawn from them
        a card of which a source is gone                     nobody can tell what in it was drawn from that one
        a topic without message, child and summary           nothing was said in it

        Messages, notes, knowledge nodes and events always stay: they hold somebody's words. A topic that loses its
        scene stays too, for it still holds its messages together.
    """
    changed: dict[str, Any] = {}
    for field in REFERENCES.get(type(record), ()):
        value = getattr(record, field)
        if isinstance(value, tuple):
            left = tuple(id_ for id_ in value if id_ not in gone)
            if len(left) < len(value):
                changed[field] = left
                if isinstance(record, Note) and record.link_types:
                    types = zip(value, record.link_types, strict=True)
                    changed["link_types"] = tuple(type_ for id_, type_ in types if id_ not in gone)
        elif value and value in gone:
            changed[field] = 0
    if not changed:
        return record
    if "sources" in changed and isinstance(record, Topic):  # statements can no longer be told from each other
        changed |= {"summary": "", "sources": (), "ends": ()}
    rest = msgspec.structs.replace(record, **changed)
    match rest:
        case (
            Engram()
            | Usage()
            | EmbedFailure()
            | TokenBasis()
            | ProfileLine()
            | DreamStep()
            | ImportStep()
            | NoteRevision()
        ):
            return None
        case Capability():
            return None
        case Hyperedge() if len(rest.scenes) < 2:
            return None
        case KnowledgeEdge() if len(rest.nodes) < 2:
            return None
        case Fact() if not (rest.sources or rest.own):
            return None
        case Topic() if not (rest.messages or rest.children or rest.summary):
            return None
    return rest


def redirected(record: R, to: Mapping[int, int]) -> R:
    """The record with references to the keys of `to` replaced by the values, each id once in a list of them.

    The same object if there were none. Where an id is made of what it names, as that of a hyperedge, that is left to
    the caller.
    """
    changed: dict[str, Any] = {}
    for field in REFERENCES.get(type(record), ()):
        value = getattr(record, field)
        if isinstance(value, tuple):
            if not to.keys().isdisjoint(value):
                if isinstance(record, Note) and record.link_types:
                    types = dict(zip((to.get(id_, id_) for id_ in value), record.link_types, strict=True))
                    changed["link_types"] = tuple(types.values())
                changed[field] = tuple(dict.fromkeys(to.get(id_, id_) for id_ in value))
        elif value in to:
            changed[field] = to[value]
    return msgspec.structs.replace(record, **changed) if changed else record
