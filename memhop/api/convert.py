"""Records to results: ids become hex, "none" becomes None. One function per record type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from memhop.api import results
from memhop.common.ids import to_hex
from memhop.repo import (
    l0_profile,
    l2_context,
    l3_facts,
    l3_knowledge,
    l4_archive,
    l4_note,
    l5_capability,
    l7_trajectory,
)
from memhop.repo.card import resource_data, workflow_data
from memhop.repo.record import Record, Tier

_TIERS = tuple(tier.label for tier in Tier)


def note(record: l4_note.Note, *, created: bool = False, copies: int = 0, quoted: int = 0) -> results.Note:
    """`copies`: how often its words were remembered since this version, see `l6_usage`."""
    return results.Note(
        id=to_hex(record.id),
        text=record.text,
        kind=record.kind,
        project=record.project,
        status=record.status or None,
        tags=record.tags,
        metadata=record.metadata,
        links=tuple(map(to_hex, record.links)),
        source=record.source or None,
        at=record.at,
        created_at=record.created_at,
        updated_at=record.updated_at,
        rev=record.rev,
        tier=_TIERS[record.tier],
        pinned=record.pinned,
        external_id=record.external_id or None,
        copies=record.copies + copies,
        created=created,
        link_types=record.link_types or ("related",) * len(record.links),
        superseded_by=to_hex(record.superseded_by) if record.superseded_by else None,
        status_at=record.status_at or record.created_at,
        archived_at=record.archived_at or None,
        trashed_at=record.trashed_at or None,
        actor=record.actor or None,
        redacted=record.redacted,
        quoted=quoted,
    )


def as_note(record: Record, *, quoted: int) -> results.Note:
    """What `remember` returns where only a record that is no note was repeated."""
    said = getattr(record, "text", "") or getattr(record, "summary", "") or getattr(record, "said", "")
    at, project = getattr(record, "at", 0), getattr(record, "project", "default")
    kind = record.KIND.name.lower()
    whole = note(l4_note.Note(id=record.id, text=said, kind=kind, project=project, at=at), quoted=quoted)
    return replace(whole, created_at=at, updated_at=at, status_at=at)


def message(record: l4_archive.Message) -> results.Message:
    return results.Message(
        id=to_hex(record.id),
        text=record.text,
        role=record.role,
        speaker=record.speaker or None,
        at=record.at,
        session=record.session or None,
        project=record.project,
        external_id=record.external_id or None,
        scene_id=to_hex(record.scene) if record.scene else None,
        topic_id=to_hex(record.topic) if record.topic else None,
        spans=record.spans,
        redacted=record.redacted,
    )


def topic(record: l2_context.Topic) -> results.Topic:
    return results.Topic(
        id=to_hex(record.id),
        scene_id=to_hex(record.scene) if record.scene else None,
        depth=record.depth,
        user_keywords=record.user_keywords,
        agent_keywords=record.agent_keywords,
        summary=record.summary or None,
        user_at=record.user_at,
        agent_at=record.agent_at or None,
        message_ids=tuple(map(to_hex, record.messages)),
        children=tuple(map(to_hex, record.children)),
        knowledge=tuple(map(to_hex, record.graphs)),
        parent=to_hex(record.parent) if record.parent else None,
        statements=tuple(
            results.Statement(text=text, message_ids=tuple(map(to_hex, cited)))
            for text, cited in l2_context.statements(record)
        ),
        refined_by=record.refined_by or None,
        pinned=record.pinned,
        edited=record.edited,
    )


def scene(record: l2_context.Scene, topics: int) -> results.Scene:
    return results.Scene(
        id=to_hex(record.id),
        name=record.name,
        project=record.project,
        session=record.session or None,
        created_at=record.created_at,
        last_at=record.last_at,
        topics=topics,
        fresh=record.fresh,
        pinned=record.pinned,
        edited=record.edited,
    )


def profile(record: l0_profile.Profile, lines: Sequence[l0_profile.ProfileLine]) -> results.Profile:
    return results.Profile(
        name=record.name,
        role=record.role,
        personality=record.personality,
        preferences=record.preferences,
        lexicon=record.lexicon,
        style_traits=record.style_traits,
        updated_at=record.updated_at or None,
        brief=l0_profile.brief(record, lines),
        derived=tuple(map(_profile_line, lines)),
        mood=l0_profile.axes(lines, "mood") or None,
        traits=l0_profile.axes(lines, "trait") or None,
    )


def _profile_line(record: l0_profile.ProfileLine) -> results.ProfileLine:
    return results.ProfileLine(
        name=record.name,
        value=record.value,
        confidence=record.confidence,
        evidence=tuple(map(to_hex, record.evidence)),
        at=record.at,
    )


def profile_change(record: l0_profile.ProfileChange) -> results.ProfileChange:
    return results.ProfileChange(
        field=record.field, before=record.before, after=record.after, by=record.by, at=record.at
    )


def graph(record: l3_knowledge.Graph, nodes: int, edges: int) -> results.Graph:
    return results.Graph(
        id=to_hex(record.id),
        name=record.name,
        source_kind=record.source_kind,
        source=record.source or None,
        created_at=record.created_at,
        updated_at=record.updated_at or record.created_at,
        nodes=nodes,
        edges=edges,
    )


def knowledge(record: l3_knowledge.KnowledgeNode) -> results.KnowledgeNode:
    return results.KnowledgeNode(
        id=to_hex(record.id),
        graph_id=to_hex(record.graph) if record.graph else None,
        title=record.title,
        content=record.content,
        node_type=record.node_type or None,
        keywords=record.keywords,
        source_ref=record.source_ref or None,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def knowledge_edge(record: l3_knowledge.KnowledgeEdge) -> results.KnowledgeEdge:
    return results.KnowledgeEdge(
        id=to_hex(record.id),
        graph_id=to_hex(record.graph) if record.graph else None,
        relation=record.relation,
        node_ids=tuple(map(to_hex, record.nodes)),
        weight=record.weight,
        label=record.label or None,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def fact(record: l3_facts.Fact) -> results.Fact:
    return results.Fact(
        id=to_hex(record.id),
        subject=record.subject,
        predicate=record.predicate,
        value=record.value,
        valid_from=record.valid_from,
        valid_to=record.valid_to or None,
        many=record.many,
        confidence=record.confidence,
        sources=tuple(map(to_hex, record.sources)),
        recorded_at=record.recorded_at,
        closed_at=record.closed_at or None,
        retracted_at=record.retracted_at or None,
    )


def capability(record: l5_capability.Capability, language: str | None = None) -> results.Capability:
    """`language`: of its texts; where they are not translated to it they stay as they were written."""
    words = record.translations.get(language or "", l5_capability.Translation())
    resources = []
    for resource in record.resources:
        described = words.resources.get(resource.name) or resource.description
        resources.append(resource_data(msgspec.structs.replace(resource, description=described)))
    workflow = workflow_data(record.workflow)
    for step, action in zip(workflow.get("steps", ()), words.actions, strict=False):
        step["action"] = action or step["action"]
    return results.Capability(
        id=to_hex(record.id or l5_capability.capability_id(record.name)),
        name=record.name,
        type=record.type,
        version=record.version,
        summary=words.summary or record.summary,
        trigger=words.trigger or record.trigger,
        resources=tuple(resources),
        workflow=workflow,
        status=record.status,
        origin=record.origin,
        languages=tuple(record.translations),
        session=record.session or None,
        file_hash=record.file_hash or None,
        trigger_count=record.trigger_count,
        success_rate=record.success_rate,
        last_triggered_at=record.last_triggered or None,
        created_at=record.created_at or None,
        updated_at=record.updated_at or None,
    )


def event(record: l7_trajectory.Event) -> results.Event:
    payload = record.payload
    if record.cut_bytes:
        whole = len(payload.encode("utf-8", "replace")) + record.cut_bytes
        payload += f"… [cut: {record.cut_bytes:,} of {whole:,} bytes]"
    return results.Event(
        id=to_hex(record.id),
        session=record.session,
        seq=record.seq,
        type=record.type,
        payload=payload,
        at=record.at,
        message_id=to_hex(record.message) if record.message else None,
        cut_bytes=record.cut_bytes,
        redacted=record.redacted,
    )
