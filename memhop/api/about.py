"""`DB.about`: everything about one thing, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from memhop.api import convert, results
from memhop.api.naming import KINDS, text_of, words_of
from memhop.common.errors import NotFound
from memhop.common.ids import from_hex, to_hex
from memhop.repo.dreams import Dream, DreamStep
from memhop.repo.imports import Import, ImportStep
from memhop.repo.l2_context import Scene, Topic, topics_of
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_facts import told as told_of
from memhop.repo.l3_knowledge import Graph, KnowledgeEdge, KnowledgeNode, edges_at, edges_in, nodes_of
from memhop.repo.l4_archive import Message, messages_of
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import NoteRevision, revisions_of
from memhop.repo.l5_capability import Capability
from memhop.repo.l6_usage import Usage
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Kind, Record, all_of, linked_to
from memhop.repo.references import may_name, references
from memhop.repo.vectors import EmbedFailure, Space, failure_id

if TYPE_CHECKING:
    from memhop.repo.store import Store

MOST = 50  # of one relation
_ORIGIN = frozenset({"scene", "topic", "graph", "message", "messages", "sources"})  # fields that say where from


def about(store: Store, id: str, standing: results.Explanation | None) -> results.About:
    """See `DB.about`."""
    id_ = from_hex(id)
    located = store.file.locate(id_)
    kind = KINDS.get(Kind(located[0])) if located and located[0] in KINDS else None
    if located is None or kind is None:
        raise NotFound(f"nothing has the id {id}", field="id")
    record = store.record(id_)
    if record is None:
        raise NotFound(f"the {kind} {id} is damaged", field="id", hint="`memhop verify` says where")
    origin, links = _named(store, record)
    told = {one.id for one in (*origin, *links)}
    back, left_out = _naming(store, record, told)
    usage = None
    if may_name(Usage, "target", located[0]):
        counted = store.usage(id_) or Usage(target=id_)
        usage = results.Usage(id=id, hits=counted.hits, last_at=counted.last_at or None, copies=counted.copies)
    searched, vectors = _vectors(store, id_)
    return results.About(
        id=to_hex(id_),
        kind=kind,
        layer=Kind(located[0]).layer,
        text=text_of(record),
        project=getattr(record, "project", None),
        at=_at(record),
        record=_converted(store, record),
        origin=(*_outside(record), *origin, *_imports(store, id_)),
        links=links,
        linked_by=back,
        left_out=left_out,
        history=_history(store, record),
        usage=usage,
        searched=searched,
        vectors=vectors,
        standing=standing,
    )


def _converted(store: Store, record: Record) -> results.Result:
    match record:
        case Note():
            counted = store.usage(record.id)
            return convert.note(record, copies=counted.copies if counted else 0)
        case Scene():
            return convert.scene(record, sum(1 for _ in store.members(topics_of(record.id))))
        case Graph():
            counts = [sum(1 for _ in store.members(group(record.id))) for group in (nodes_of, edges_in)]
            return convert.graph(record, *counts)
    made: dict[type[Record], Callable[[Any], results.Result]] = {
        Message: convert.message,
        Topic: convert.topic,
        KnowledgeNode: convert.knowledge,
        KnowledgeEdge: convert.knowledge_edge,
        Fact: convert.fact,
        Capability: convert.capability,
        Event: convert.event,
    }
    return made[type(record)](record)


def _at(record: Record) -> int:
    names = ("at", "user_at", "valid_from", "last_at", "updated_at", "created_at")
    return next((value for name in names if (value := getattr(record, name, 0))), 0)


def _related(store: Store, relation: str, id_: int) -> results.Related:
    located = store.file.locate(id_)
    kind = KINDS.get(Kind(located[0]), Kind(located[0]).name.lower()) if located else "gone"
    return results.Related(relation=relation, id=to_hex(id_), kind=kind, text=words_of(store.record(id_)))


def _outside(record: Record) -> Iterator[results.Related]:
    """Where it comes from, as far as that is no record: a session, a source, the host's name for it."""
    for name in ("session", "source", "source_ref", "external_id"):
        value = getattr(record, name, "")
        if value:
            yield results.Related(relation=name, id=None, kind="name", text=str(value))


def _named(store: Store, record: Record) -> tuple[tuple[results.Related, ...], tuple[results.Related, ...]]:
    """What the record names: (where it comes from, the rest)."""
    origin: list[results.Related] = []
    links: list[results.Related] = []
    types = iter(record.link_types or ("related",) * len(record.links)) if isinstance(record, Note) else iter(())
    for field, id_ in references(record):
        relation = next(types) if field == "links" else field
        (origin if field in _ORIGIN else links).append(_related(store, relation, id_))
    return tuple(origin[:MOST]), tuple(links[:MOST])


def _naming(store: Store, record: Record, told: set[str | None]) -> tuple[tuple[results.Related, ...], int]:
    """What names the record and is not told already, and how much of it was left out."""
    groups: list[tuple[str, int]] = [("linked", linked_to(record.id))]
    match record:
        case Scene():
            groups.append(("topic", topics_of(record.id)))
        case Topic():
            groups.append(("message", messages_of(record.id)))
        case Graph():
            groups += [("node", nodes_of(record.id)), ("edge", edges_in(record.id))]
        case KnowledgeNode():
            groups.append(("edge", edges_at(record.id)))
    found: list[results.Related] = []
    left_out = 0
    for relation, group in groups:
        members = [id_ for _, id_ in store.members(group) if to_hex(id_) not in told]
        left_out += max(0, len(members) - MOST)
        found += [_related(store, _relation(store.record(id_), record.id, relation), id_) for id_ in members[:MOST]]
    return tuple(found), left_out


def _relation(other: Record | None, id_: int, instead: str) -> str:
    """How another record names this one."""
    if isinstance(other, Note):
        types = other.link_types or ("related",) * len(other.links)
        return next((type_ for link, type_ in zip(other.links, types, strict=True) if link == id_), instead)
    if isinstance(other, Fact | Capability):
        return "drawn from it"
    return instead


def _imports(store: Store, id_: int) -> Iterator[results.Related]:
    """The imports that made or changed it."""
    batches = {
        step.batch: id_ in step.created for step in store.scan(ImportStep) if id_ in (*step.created, *step.updated)
    }
    for batch, made in sorted(batches.items()):
        found = store.readable(Import, batch)
        if found is not None:
            did = "made by" if made else "changed by"
            text = f"import {found.number} of {found.source} ({found.format})"
            yield results.Related(relation=did, id=None, kind="import", text=text)


def _history(store: Store, record: Record) -> tuple[results.Past, ...]:
    """The oldest first; of one time, in the order it happened."""
    past = [*_changes(store, record), *_dreams(store, record.id)]
    return tuple(sorted(past, key=lambda one: one.at))


def _changes(store: Store, record: Record) -> Iterator[results.Past]:
    match record:
        case Note():
            yield results.Past(at=record.created_at, what="written", by=None)
            for revision in store.walk(NoteRevision, revisions_of(record.id)):
                fields = ", ".join(sorted(revision.before)) or "nothing"
                what = f"revision {revision.rev + 1}: {revision.act or 'edit'} ({fields})"
                yield results.Past(at=revision.at, what=what, by=revision.actor or None)
        case Fact():
            yield results.Past(at=record.recorded_at, what="recorded", by=None)
            for belief in record.earlier:
                yield results.Past(at=belief.until, what="its period was changed", by=None)
            others: Iterable[Fact] = store.walk(Fact, told_of(record.subject, record.predicate))
            for other in islice((one for one in others if one.id != record.id), MOST):
                taken = ", taken back since" if other.retracted else ""
                yield results.Past(at=other.recorded_at, what=f"also said: {words_of(other)}{taken}", by=None)
        case Scene() | Graph() | KnowledgeNode() | KnowledgeEdge() | Capability():
            if record.created_at:
                yield results.Past(at=record.created_at, what="made", by=None)


def _dreams(store: Store, id_: int) -> Iterator[results.Past]:
    """The dreams that changed it, as far as their journal is kept."""
    known: set[tuple[int, str]] = set()
    for step in store.scan(DreamStep):
        if (step.dream, step.stage) not in known and any(id_ in ids for _, ids in step.changes):
            known.add((step.dream, step.stage))
            dream = store.readable(Dream, step.dream)
            if dream is not None:
                what = f"changed by dream {dream.number} ({step.stage})"
                yield results.Past(at=dream.started_at, what=what, by="dream")


def _vectors(store: Store, id_: int) -> tuple[bool, tuple[results.VectorState, ...]]:
    with store.lock:
        units = store.views.units
        ordinal = units.ordinal(id_)
        if ordinal is None:
            return False, ()
        owner = units.column("owner")[ordinal : ordinal + 1].astype(np.uint64)
        found = []
        for _, space in store.listed(Space, all_of(Kind.SPACE), limit=MOST):
            state = "present" if store.views.vectors(space.id, space.dim).contains(owner)[0] else "pending"
            if state == "pending" and store.readable(EmbedFailure, failure_id(int(owner[0]), space.id)):
                state = "failed"
            found.append(results.VectorState(space=f"{space.model} ({space.dim} dimensions)", state=state))
        return True, tuple(found)
