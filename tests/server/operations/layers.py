"""A small memory with something in every layer, and arguments with which each operation of the layers does its work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memhop import DB
from memhop.server.operation import Host
from memhop.server.operations import OPERATIONS
from memhop.server.reply import Reply
from tests.support.memories import DAY, HOUR, NOW, memory

HOST = Host()
CARD: dict[str, Any] = {
    "format": "memhop-capability/v2",
    "name": "greet",
    "type": "skill",
    "summary": "How to greet guests",
    "trigger": "a guest arrives",
    "resources": [{"type": "skill", "name": "greet", "ref": "skills/greet.md"}],
}


class Ids(NamedTuple):
    """What there is, by id."""

    scene: str
    other_scene: str
    topic: str
    second_topic: str
    third_topic: str
    reply: str
    graph: str
    node: str
    other_node: str
    edge: str
    fact: str
    message: str


def filled(path: Path) -> tuple[DB, Ids]:
    """Open a new memory and fill it. Every write is left to the operating system: no test here is about crashes."""
    db = memory(path, durability="none")
    first = db.search("Which paint for the hull of the boat?", NOW - DAY, session="s1", speaker="Mara")
    reply = db.update(first.new_topic_id, "Epoxy, two coats.", NOW - DAY + 1000)
    second = db.search("How long does epoxy take to dry?", NOW - DAY + 60_000, session="s1")
    third = db.search("And which brush for the epoxy?", NOW - DAY + 120_000, session="s1")
    other = db.search("The cat needs new food", NOW - HOUR, session="s2", auto_create=True)
    db.profile.update(name="Juno", preferences={"language": "German"}, style_traits=["brief"])
    hull = db.knowledge.put("boat", "Hull", "Made of oak.", node_type="part", keywords=["wood"])
    keel = db.knowledge.put("boat", "Keel", "Holds the hull together.", node_type="part")
    edge = db.knowledge.connect(str(hull.graph_id), [keel.id, hull.id], "part_of")
    fact = db.facts.assert_("Ann", "lives in", "Porto", valid_from=NOW - DAY)
    (message,) = db.archive.append_many([{"text": "Hello from afar", "session": "log", "at": NOW - 2 * DAY}])
    db.capabilities.import_(CARD)
    for seq in range(3):
        db.trajectory.append("run-1", "tool_call", f"git status {seq}", at=NOW - HOUR + seq, message_id=message)
    ids = Ids(
        scene=first.scene_id,
        other_scene=other.scene_id,
        topic=first.new_topic_id,
        second_topic=second.new_topic_id,
        third_topic=third.new_topic_id,
        reply=reply.id,
        graph=str(hull.graph_id),
        node=hull.id,
        other_node=keel.id,
        edge=edge.id,
        fact=fact.id,
        message=message,
    )
    return db, ids


def ask(db: DB, name: str, host: Host = HOST, /, **arguments: Any) -> Reply:
    """Call an operation."""
    return OPERATIONS[name].call(host, db, arguments)


def data_of(db: DB, name: str, host: Host = HOST, /, **arguments: Any) -> dict[str, Any]:
    """The data of a reply that did not fail."""
    reply = ask(db, name, host, **arguments)
    assert not reply.failed, f"{name}: {reply.text}"
    return reply.data


Arguments = Callable[[Ids], Mapping[str, Any]]
WORKING: dict[str, Arguments] = {  # name -> arguments with which it does something in a memory that was just filled
    "memhop_search": lambda ids: {"text": "Which varnish?", "timestamp": NOW},
    "memhop_update": lambda ids: {"topic_id": ids.topic, "text": "None.", "timestamp": NOW},
    "memhop_dream": lambda ids: {},
    "memhop_checkpoint": lambda ids: {},
    "memhop_status": lambda ids: {},
    "memhop_profile_get": lambda ids: {},
    "memhop_profile_update": lambda ids: {"name": "Ada", "preferences": {"tone": "dry"}},
    "memhop_profile_history": lambda ids: {},
    "memhop_profile_erase": lambda ids: {},
    "memhop_scene_list": lambda ids: {},
    "memhop_scene_active_list": lambda ids: {},
    "memhop_scene_get": lambda ids: {"scene_id": ids.scene},
    "memhop_scene_topics": lambda ids: {"scene_id": ids.scene, "messages": True},
    "memhop_scene_rename": lambda ids: {"scene_id": ids.scene, "name": "Paint"},
    "memhop_scene_pin": lambda ids: {"scene_id": ids.scene},
    "memhop_scene_merge": lambda ids: {"primary_id": ids.scene, "secondary_ids": [ids.other_scene]},
    "memhop_scene_split": lambda ids: {"scene_id": ids.scene, "topic_ids": [ids.second_topic]},
    "memhop_scene_delete": lambda ids: {"scene_id": ids.scene, "dry_run": True},
    "memhop_topic_get": lambda ids: {"topic_id": ids.topic},
    "memhop_topic_list": lambda ids: {"scene_id": ids.scene},
    "memhop_topic_merge": lambda ids: {"topic_ids": [ids.topic, ids.second_topic], "summary": "Epoxy it is."},
    "memhop_topic_refine": lambda ids: {"topic_id": ids.topic, "keywords": ["hull", "epoxy"]},
    "memhop_topic_pin": lambda ids: {"topic_id": ids.topic},
    "memhop_topic_delete": lambda ids: {"topic_id": ids.topic, "dry_run": True},
    "memhop_knowledge_list": lambda ids: {},
    "memhop_knowledge_get": lambda ids: {"id": ids.graph},
    "memhop_knowledge_create": lambda ids: {"name": "cats"},
    "memhop_knowledge_import": lambda ids: {
        "items": [{"title": "Mast", "domain": "boat", "content": "Spruce.", "keywords": ["wood"]}],
        "mode": "Merge",
    },
    "memhop_knowledge_update": lambda ids: {"id": ids.graph, "name": "boats"},
    "memhop_knowledge_delete": lambda ids: {"id": ids.graph},
    "memhop_knowledge_nodes": lambda ids: {"graph_id": ids.graph, "keyword": "OAK"},
    "memhop_knowledge_node_get": lambda ids: {"id": ids.node},
    "memhop_knowledge_put": lambda ids: {"graph": "boat", "title": "Sail"},
    "memhop_knowledge_node_update": lambda ids: {"id": ids.node, "content": "Made of ash."},
    "memhop_knowledge_node_delete": lambda ids: {"id": ids.node},
    "memhop_knowledge_subgraph": lambda ids: {"graph_id": ids.graph, "start_node_id": ids.node},
    "memhop_knowledge_path": lambda ids: {
        "graph_id": ids.graph,
        "from_node_id": ids.node,
        "to_node_id": ids.other_node,
    },
    "memhop_knowledge_connect": lambda ids: {"graph_id": ids.graph, "node_ids": [ids.node, ids.other_node]},
    "memhop_knowledge_disconnect": lambda ids: {"edge_id": ids.edge},
    "memhop_knowledge_edges": lambda ids: {"graph_id": ids.graph},
    "memhop_fact_assert": lambda ids: {"subject": "Ann", "predicate": "lives in", "value": "Faro", "valid_from": NOW},
    "memhop_fact_get": lambda ids: {"id": ids.fact},
    "memhop_fact_list": lambda ids: {},
    "memhop_fact_history": lambda ids: {"subject": "Ann", "predicate": "lives in"},
    "memhop_fact_close": lambda ids: {"id": ids.fact},
    "memhop_fact_retract": lambda ids: {"id": ids.fact},
    "memhop_fact_delete": lambda ids: {"id": ids.fact},
    "memhop_archive_search": lambda ids: {"topic_id": ids.topic},
    "memhop_archive_get": lambda ids: {"id": ids.message},
    "memhop_archive_list": lambda ids: {},
    "memhop_archive_append": lambda ids: {"messages": [{"text": "Hi", "role": "agent"}]},
    "memhop_archive_delete": lambda ids: {"id": ids.message},
    "memhop_capability_import": lambda ids: {"document": CARD | {"name": "wave"}},
    "memhop_capability_get": lambda ids: {"id": "greet"},
    "memhop_capability_list": lambda ids: {},
    "memhop_capability_match": lambda ids: {"text": "greet the guests"},
    "memhop_capability_activate": lambda ids: {"id": "greet"},
    "memhop_capability_usage": lambda ids: {"id": "greet", "success": True},
    "memhop_capability_update": lambda ids: {"id": "greet", "summary": "How to greet"},
    "memhop_capability_delete": lambda ids: {"id": "greet"},
    "memhop_trajectory_append": lambda ids: {"session_id": "run-1", "event_type": "turn_end", "timestamp": NOW},
    "memhop_trajectory_append_many": lambda ids: {"session_id": "run-1", "steps": [{"event_type": "turn_end"}]},
    "memhop_trajectory_read": lambda ids: {"session_id": "run-1"},
    "memhop_trajectory_sessions": lambda ids: {},
    "memhop_trajectory_stats": lambda ids: {"session_id": "run-1"},
    "memhop_trajectory_delete": lambda ids: {"session_id": "run-1"},
    "memhop_trajectory_prune": lambda ids: {"keep_last": 1},
    "memhop_crystallize": lambda ids: {"session_id": "run-1"},
    "memhop_dream_list": lambda ids: {},
    "memhop_stats": lambda ids: {},
    "memhop_pending": lambda ids: {},
    "memhop_maintain": lambda ids: {},
    "memhop_verify": lambda ids: {"deep": True},
    "memhop_compact": lambda ids: {},
    "memhop_events": lambda ids: {},
    "memhop_usage": lambda ids: {"id": ids.scene},
    "memhop_import": lambda ids: {"content": "# Boat\n\n- painted with epoxy\n", "format": "markdown"},
    "memhop_import_list": lambda ids: {},
    "memhop_export": lambda ids: {},
}
LATER = {  # what needs something to have been done first: tests of its own
    "memhop_topic_unmerge", "memhop_dream_show", "memhop_dream_diff", "memhop_dream_undo", "memhop_backfill",
    "memhop_import_show", "memhop_import_undo",
}  # fmt: skip
MODULES = (
    "turns", "profile", "scenes", "topics", "knowledge", "edges", "facts", "messages", "capabilities", "trajectory",
    "dreams", "upkeep", "transfer",
)  # fmt: skip
LAYERS = [
    name for name, one in OPERATIONS.items() if one.run.__module__.removeprefix("memhop.server.operations.") in MODULES
]
