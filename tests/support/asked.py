"""What every operation is asked with: its required arguments, taken from a memory of `large_memory`.

A new operation without a row fails tests/server/test_bounded.py. Rows that change something name things of their own,
so that they can be asked one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memhop.server.operation import Operation
from memhop.server.operations import OPERATIONS
from memhop.server.operations.hemisphere import HEMISPHERE
from tests.support.large_memory import World, card
from tests.support.memories import NOW

Row = Callable[[World], Mapping[str, Any]]
QUESTION = "what was measured on the connection pool?"


def all_operations() -> dict[str, Operation]:
    """Every operation of every set, by name."""
    return {**OPERATIONS, **HEMISPHERE}


def _nothing(_: World) -> Mapping[str, Any]:
    return {}


def _mine(number: int, **more: Any) -> Row:
    """A memory of the project that is moved, changed or erased."""
    return lambda w: {"id": w.others[number], "project": w.project_of(number), **more}


def _note(number: int, **more: Any) -> Row:
    return lambda w: {"id": w.others[number], **more}


COMPATIBLE: dict[str, Row] = {
    "memory_store": lambda w: {"project": "new", "content": "something new was measured"},
    "memory_search": lambda w: {"query": QUESTION},
    "memory_context": lambda w: {"query": QUESTION},
    "memory_list": lambda w: {"project": w.project},
    "memory_update": _mine(10, content="changed words"),
    "memory_trash": _mine(11),
    "memory_restore": _mine(11),
    "memory_archive": _mine(12),
    "memory_unarchive": _mine(12),
    "memory_purge": _mine(13, force=True),
    "memory_reassign": lambda w: {"from_project": w.project_of(14), "to_project": "moved", "ids": [w.others[14]]},
    "project_list": _nothing,
    "project_count": lambda w: {"project": w.project},
    "project_trash": lambda w: {"project": "p200"},
    "project_purge": lambda w: {"project": "p202", "force": True},
    "memory_progressive_summary": lambda w: {"project": w.project, "context_remaining_pct": 0},
    "memory_brief": _nothing,
}
NOTES: dict[str, Row] = {
    "memhop_remember": lambda w: {"text": "something else was measured"},
    "memhop_recall": lambda w: {"query": QUESTION},
    "memhop_why_not": lambda w: {"id": w.note, "query": QUESTION},
    "memhop_brief": _nothing,
    "memhop_about": lambda w: {"id": w.note},
    "memhop_lookup": lambda w: {"prefix": w.note[:6]},
    "memhop_note_get": lambda w: {"id": w.note},
    "memhop_note_list": _nothing,
    "memhop_note_update": _note(20, text="other words"),
    "memhop_note_history": lambda w: {"id": w.note},
    "memhop_note_revert": lambda w: {"id": w.note, "rev": w.rev},
    "memhop_note_archive": _note(21),
    "memhop_note_unarchive": _note(21),
    "memhop_forget": _note(22),
    "memhop_restore": _note(22),
    "memhop_note_purge": _note(23, force=True),
    "memhop_note_pin": _note(24),
    "memhop_note_link": lambda w: {"id": w.others[25], "target": w.others[26]},
    "memhop_note_unlink": lambda w: {"id": w.others[25], "target": w.others[26]},
    "memhop_note_links": lambda w: {"id": w.note},
    "memhop_note_duplicates": _nothing,
    "memhop_project_list": _nothing,
    "memhop_project_count": lambda w: {"project": w.project},
    "memhop_project_schema": _nothing,
    "memhop_project_rename": lambda w: {"old": "p203", "new": "renamed"},
    "memhop_project_merge": lambda w: {"source": "p205", "into": "p206"},
    "memhop_project_reassign": lambda w: {"to_project": "moved too", "ids": [w.others[27]]},
    "memhop_project_trash": lambda w: {"project": "p208"},
    "memhop_project_purge": lambda w: {"project": "p209", "force": True},
    "memhop_summary_check": lambda w: {"project": w.project, "force": True},
    "memhop_summary_save": lambda w: {"text": "what there is now"},
    "memhop_summary_latest": lambda w: {"project": w.project},
}
LAYERS: dict[str, Row] = {
    "memhop_search": lambda w: {"text": QUESTION, "timestamp": NOW},
    "memhop_update": lambda w: {"topic_id": w.topic, "text": "it was measured", "timestamp": NOW},
    "memhop_profile_get": _nothing,
    "memhop_profile_update": lambda w: {"name": "Mara"},
    "memhop_profile_history": _nothing,
    "memhop_scene_list": _nothing,
    "memhop_scene_active_list": _nothing,
    "memhop_scene_get": lambda w: {"scene_id": w.scene},
    "memhop_scene_topics": lambda w: {"scene_id": w.scene},
    "memhop_scene_rename": lambda w: {"scene_id": w.scene, "name": "pools"},
    "memhop_scene_pin": lambda w: {"scene_id": w.scene},
    "memhop_scene_merge": lambda w: {"primary_id": w.scenes[1], "secondary_ids": [w.scenes[2]]},
    "memhop_scene_split": lambda w: {"scene_id": w.scene, "topic_ids": list(w.topics[2:5])},
    "memhop_scene_delete": lambda w: {"scene_id": w.scenes[3]},
    "memhop_topic_get": lambda w: {"topic_id": w.topic},
    "memhop_topic_list": lambda w: {"scene_id": w.scene},
    "memhop_topic_merge": lambda w: {"topic_ids": list(w.topics[10:13])},
    "memhop_topic_refine": lambda w: {"topic_id": w.topics[14], "keywords": ["pool"]},
    "memhop_topic_pin": lambda w: {"topic_id": w.topics[15]},
    "memhop_topic_delete": lambda w: {"topic_id": w.topics[16]},
    "memhop_knowledge_list": _nothing,
    "memhop_knowledge_get": lambda w: {"id": w.graph},
    "memhop_knowledge_create": lambda w: {"name": "a new graph"},
    "memhop_knowledge_update": lambda w: {"id": w.graph, "name": "all pools"},
    "memhop_knowledge_nodes": lambda w: {"graph_id": w.graph},
    "memhop_knowledge_node_get": lambda w: {"id": w.node},
    "memhop_knowledge_put": lambda w: {"graph": "pools of others", "title": "one"},
    "memhop_knowledge_node_update": lambda w: {"id": w.nodes[5], "content": "another pool"},
    "memhop_knowledge_node_delete": lambda w: {"id": w.nodes[6]},
    "memhop_knowledge_subgraph": lambda w: {"graph_id": w.graph, "start_node_id": w.node},
    "memhop_knowledge_path": lambda w: {"graph_id": w.graph, "from_node_id": w.nodes[1], "to_node_id": w.nodes[2]},
    "memhop_knowledge_connect": lambda w: {"graph_id": w.graph, "node_ids": list(w.nodes[7:9])},
    "memhop_knowledge_disconnect": lambda w: {"edge_id": w.edge},
    "memhop_knowledge_edges": lambda w: {"graph_id": w.graph},
    "memhop_fact_assert": lambda w: {"subject": "the pool", "predicate": "is in", "value": "the cellar"},
    "memhop_fact_get": lambda w: {"id": w.fact},
    "memhop_fact_list": _nothing,
    "memhop_fact_history": lambda w: {"subject": "the pool", "predicate": "holds"},
    "memhop_fact_close": lambda w: {"id": w.fact},
    "memhop_fact_retract": lambda w: {"id": w.fact},
    "memhop_fact_delete": lambda w: {"id": w.fact},
    "memhop_topic_unmerge": lambda w: {"topic_id": w.fused},
    "memhop_knowledge_import": lambda w: {
        "items": [{"domain": "imported", "title": "one", "content": "two"}],
        "mode": "skip",
    },
    "memhop_knowledge_delete": lambda w: {"id": w.graph},
    "memhop_capability_import": lambda w: {"document": card("card-new", "new")},
    "memhop_capability_get": lambda w: {"id": w.card},
    "memhop_capability_list": _nothing,
    "memhop_capability_match": lambda w: {"text": "measure pool 3"},
    "memhop_capability_activate": lambda w: {"id": "card-001"},
    "memhop_capability_usage": lambda w: {"id": w.card, "success": True},
    "memhop_capability_update": lambda w: {"id": w.card, "summary": "measure it"},
    "memhop_capability_delete": lambda w: {"id": "card-002"},
    "memhop_dream": _nothing,
    "memhop_dream_list": _nothing,
    "memhop_dream_show": lambda w: {"number": w.dream},
    "memhop_dream_diff": lambda w: {"number": w.dream},
    "memhop_dream_undo": lambda w: {"number": w.dream},
    "memhop_archive_search": lambda w: {"keyword": "measured"},
    "memhop_archive_get": lambda w: {"id": w.message},
    "memhop_archive_list": _nothing,
    "memhop_archive_append": lambda w: {"messages": [{"text": "one more turn"}]},
    "memhop_archive_delete": lambda w: {"id": w.message},
    "memhop_trajectory_append": lambda w: {"session_id": "run new", "event_type": "tool_call", "timestamp": NOW},
    "memhop_trajectory_append_many": lambda w: {
        "session_id": "run new",
        "steps": [{"event_type": "tool_call", "timestamp": NOW}],
    },
    "memhop_trajectory_read": lambda w: {"session_id": w.run},
    "memhop_trajectory_sessions": _nothing,
    "memhop_trajectory_stats": lambda w: {"session_id": w.run},
    "memhop_trajectory_delete": lambda w: {"session_id": "run 2"},
    "memhop_trajectory_prune": lambda w: {"session_id": "run 3", "keep_last": 1},
    "memhop_crystallize": lambda w: {"session_id": w.run},
    "memhop_profile_erase": _nothing,
}
UPKEEP: dict[str, Row] = {
    "memhop_import": lambda w: {"content": "# a page\n\nand what it says", "format": "markdown"},
    "memhop_import_list": _nothing,
    "memhop_import_show": lambda w: {"number": w.imported},
    "memhop_import_undo": lambda w: {"number": w.imported},
    "memhop_export": _nothing,
    "memhop_status": _nothing,
    "memhop_checkpoint": _nothing,
    "memhop_stats": _nothing,
    "memhop_pending": _nothing,
    "memhop_backfill": _nothing,
    "memhop_maintain": _nothing,
    "memhop_verify": _nothing,
    "memhop_compact": _nothing,
    "memhop_events": _nothing,
    "memhop_usage": lambda w: {"id": w.note},
}
ROWS = {**NOTES, **LAYERS, **UPKEEP, **COMPATIBLE}
LAST = (  # they end things that other rows need
    "memhop_dream",
    "memhop_knowledge_delete",
    "memhop_profile_erase",
    "memhop_compact",
)


def in_order() -> list[str]:
    """All operations: those that only read first, those that take most away last."""
    table = all_operations()
    return sorted(ROWS, key=lambda name: (name in LAST, name in table and not table[name].reads))
