"""Results with the field names that hosts of the Go library know, beside ours.

Where both have a field of one name, ours is meant: words in place of numbers, ISO-8601 in place of milliseconds.
Fields called `timestamp` or ending in `_timestamp` are Unix milliseconds. What has no counterpart here is left out:
references to pages of vectors, and the importance of knowledge nodes, which was never set.
"""

from __future__ import annotations

from typing import Any

from memhop.api import results


def scene(one: results.Scene, usage: results.Usage) -> dict[str, Any]:
    """A scene and how often it was recalled."""
    used = usage.to_dict()
    return one.to_dict() | {
        "scene_id": one.id,
        "scene_name": one.name,
        "topic_count": one.topics,
        "hit_count": usage.hits,
        "last_hit_at": used["last_at"],
    }


def topic(one: results.Topic) -> dict[str, Any]:
    """A topic. What `statements` say stands in `summary`, too, so they are left out."""
    data = one.to_dict()
    del data["statements"]
    fused = bool(one.children)
    return data | {
        "parent_id": one.parent,
        "children_ids": list(one.children),
        "fused_keywords": list(one.user_keywords) if fused else [],
        "user_timestamp": one.user_at,
        "agent_timestamp": one.agent_at or 0,
        "l4_refs": list(one.message_ids),
        "l3_refs": list(one.knowledge),
    }


def message(one: results.Message) -> dict[str, Any]:
    """A message."""
    data = one.to_dict()
    return data | {
        "id_hash": one.id,
        "content": one.text,
        "content_type": "text",
        "context_id": one.topic_id,
        "created_at": data["at"],
    }


def profile(one: results.Profile) -> dict[str, Any]:
    """The profile. `emotion_patterns` is the mood as text with three decimals."""
    mood = one.mood or {}
    return one.to_dict() | {"emotion_patterns": {axis: f"{value:.3f}" for axis, value in sorted(mood.items())}}


def graph(one: results.Graph) -> dict[str, Any]:
    """A graph without what is in it."""
    return one.to_dict() | {"id_hash": one.id}


def node(one: results.KnowledgeNode) -> dict[str, Any]:
    """A node."""
    return one.to_dict() | {"id_hash": one.id}


def edge(one: results.KnowledgeEdge) -> dict[str, Any]:
    """An edge; `kind` is its relation."""
    return one.to_dict() | {"id_hash": one.id, "kind": one.relation}


def card(one: results.Capability) -> dict[str, Any]:
    """A capability card."""
    data = one.to_dict()
    return data | {"id_hash": one.id, "last_triggered": data["last_triggered_at"]}


def step(one: results.Event) -> dict[str, Any]:
    """A step of a trajectory."""
    return one.to_dict() | {
        "id_hash": one.id,
        "session_id": one.session,
        "event_type": one.type,
        "timestamp": one.at,
        "l4_ref": one.message_id,
    }
