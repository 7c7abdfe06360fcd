"""The REST table: what is asked where. Handlers and the OpenAPI document are made from it.

Paths hold ids and numbers alone; what people name (projects, sessions) may contain slashes, so it is a parameter like
any other. A part of a path in braces is the operation's parameter of that name. GET only reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from memhop.api import results
from memhop.server.operation import Operation
from memhop.server.operations import OPERATIONS

PREFIX = "/api/v1"
BODIES = ("POST", "PATCH")  # whose arguments are in the body
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Route(NamedTuple):
    """One method of one path.

    Attributes:
        path: Below PREFIX.
        operation: Its name in OPERATIONS.
        fixed: Parameters that the path decides.
        text_as: Where the text of the reply goes, if it is more than a rendering of the data; "": nowhere.
        of: What a page of it holds; None: it gives no pages.
    """

    method: str
    path: str
    operation: str
    fixed: Mapping[str, Any] = _NOTHING
    text_as: str = ""
    of: type[results.Result] | None = None

    @property
    def asks(self) -> Operation:
        """The operation."""
        return OPERATIONS[self.operation]

    @property
    def in_path(self) -> tuple[str, ...]:
        """Parameters that are parts of the path."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def name(self) -> str:
        """A name of its own, such as post_notes_id_archive."""
        return "_".join((self.method.lower(), *re.findall(r"\w+", self.path)))


def _get(path: str, operation: str, text_as: str = "", of: type[results.Result] | None = None) -> Route:
    return Route("GET", path, operation, _NOTHING, text_as, of)


def _post(path: str, operation: str, text_as: str = "", **fixed: Any) -> Route:
    return Route("POST", path, operation, fixed, text_as)


def _patch(path: str, operation: str) -> Route:
    return Route("PATCH", path, operation)


def _delete(path: str, operation: str) -> Route:
    return Route("DELETE", path, operation)


ROUTES: tuple[Route, ...] = (
    _get("/recall", "memhop_recall", text_as="context"),
    _post("/recall", "memhop_recall", text_as="context"),
    _get("/recall/why-not", "memhop_why_not"),
    _get("/brief", "memhop_brief"),
    _get("/about/{id}", "memhop_about"),
    _get("/lookup", "memhop_lookup"),
    _get("/notes", "memhop_note_list", of=results.Note),
    _post("/notes", "memhop_remember"),
    _get("/notes/duplicates", "memhop_note_duplicates", of=results.Duplicate),
    _get("/notes/{id}", "memhop_note_get"),
    _patch("/notes/{id}", "memhop_note_update"),
    _delete("/notes/{id}", "memhop_forget"),
    _get("/notes/{id}/history", "memhop_note_history", of=results.NoteRevision),
    _post("/notes/{id}/revert", "memhop_note_revert"),
    _post("/notes/{id}/archive", "memhop_note_archive"),
    _post("/notes/{id}/unarchive", "memhop_note_unarchive"),
    _post("/notes/{id}/restore", "memhop_restore"),
    _post("/notes/{id}/purge", "memhop_note_purge"),
    _post("/notes/{id}/pin", "memhop_note_pin", pinned=True),
    _post("/notes/{id}/unpin", "memhop_note_pin", pinned=False),
    _get("/notes/{id}/links", "memhop_note_links", of=results.NoteLink),
    _post("/notes/{id}/links", "memhop_note_link"),
    _delete("/notes/{id}/links", "memhop_note_unlink"),
    _get("/projects", "memhop_project_list", of=results.Project),
    _get("/projects/count", "memhop_project_count"),
    _get("/projects/schema", "memhop_project_schema"),
    _post("/projects/rename", "memhop_project_rename"),
    _post("/projects/merge", "memhop_project_merge"),
    _post("/projects/reassign", "memhop_project_reassign"),
    _post("/projects/trash", "memhop_project_trash"),
    _post("/projects/purge", "memhop_project_purge"),
    _get("/summary", "memhop_summary_latest"),
    _get("/summary/check", "memhop_summary_check"),
    _post("/summary", "memhop_summary_save"),
    _post("/search", "memhop_search", text_as="context"),
    _post("/update", "memhop_update"),
    _post("/dreams", "memhop_dream"),
    _get("/dreams", "memhop_dream_list", of=results.DreamReport),
    _get("/dreams/{number}", "memhop_dream_show"),
    _get("/dreams/{number}/diff", "memhop_dream_diff", of=results.DreamChange),
    _post("/dreams/{number}/undo", "memhop_dream_undo"),
    _post("/crystallize", "memhop_crystallize"),
    _get("/profile", "memhop_profile_get"),
    _patch("/profile", "memhop_profile_update"),
    _delete("/profile", "memhop_profile_erase"),
    _get("/profile/history", "memhop_profile_history", of=results.ProfileChange),
    _get("/scenes", "memhop_scene_list", of=results.Scene),
    _get("/scenes/active", "memhop_scene_active_list", of=results.Scene),
    _post("/scenes/merge", "memhop_scene_merge"),
    _get("/scenes/{scene_id}", "memhop_scene_get"),
    _delete("/scenes/{scene_id}", "memhop_scene_delete"),
    _get("/scenes/{scene_id}/topics", "memhop_topic_list", of=results.Topic),
    _get("/scenes/{scene_id}/context", "memhop_scene_topics"),
    _post("/scenes/{scene_id}/rename", "memhop_scene_rename"),
    _post("/scenes/{scene_id}/split", "memhop_scene_split"),
    _post("/scenes/{scene_id}/pin", "memhop_scene_pin", pinned=True),
    _post("/scenes/{scene_id}/unpin", "memhop_scene_pin", pinned=False),
    _post("/topics/merge", "memhop_topic_merge"),
    _get("/topics/{topic_id}", "memhop_topic_get"),
    _delete("/topics/{topic_id}", "memhop_topic_delete"),
    _post("/topics/{topic_id}/unmerge", "memhop_topic_unmerge"),
    _post("/topics/{topic_id}/refine", "memhop_topic_refine"),
    _post("/topics/{topic_id}/pin", "memhop_topic_pin", pinned=True),
    _post("/topics/{topic_id}/unpin", "memhop_topic_pin", pinned=False),
    _get("/knowledge/graphs", "memhop_knowledge_list", of=results.Graph),
    _post("/knowledge/graphs", "memhop_knowledge_create"),
    _get("/knowledge/graphs/{id}", "memhop_knowledge_get"),
    _patch("/knowledge/graphs/{id}", "memhop_knowledge_update"),
    _delete("/knowledge/graphs/{id}", "memhop_knowledge_delete"),
    _get("/knowledge/graphs/{graph_id}/nodes", "memhop_knowledge_nodes"),
    _get("/knowledge/graphs/{graph_id}/subgraph", "memhop_knowledge_subgraph"),
    _get("/knowledge/graphs/{graph_id}/path", "memhop_knowledge_path"),
    _post("/knowledge/graphs/{graph_id}/edges", "memhop_knowledge_connect"),
    _post("/knowledge/import", "memhop_knowledge_import"),
    _post("/knowledge/nodes", "memhop_knowledge_put"),
    _get("/knowledge/nodes/{id}", "memhop_knowledge_node_get"),
    _patch("/knowledge/nodes/{id}", "memhop_knowledge_node_update"),
    _delete("/knowledge/nodes/{id}", "memhop_knowledge_node_delete"),
    _get("/knowledge/edges", "memhop_knowledge_edges", of=results.KnowledgeEdge),
    _delete("/knowledge/edges/{edge_id}", "memhop_knowledge_disconnect"),
    _get("/facts", "memhop_fact_list", of=results.Fact),
    _post("/facts", "memhop_fact_assert"),
    _get("/facts/history", "memhop_fact_history", of=results.Fact),
    _get("/facts/{id}", "memhop_fact_get"),
    _delete("/facts/{id}", "memhop_fact_delete"),
    _post("/facts/{id}/close", "memhop_fact_close"),
    _post("/facts/{id}/retract", "memhop_fact_retract"),
    _get("/messages", "memhop_archive_list", of=results.Message),
    _post("/messages", "memhop_archive_append"),
    _get("/messages/search", "memhop_archive_search", of=results.Message),
    _get("/messages/{id}", "memhop_archive_get"),
    _delete("/messages/{id}", "memhop_archive_delete"),
    _get("/capabilities", "memhop_capability_list", of=results.Capability),
    _post("/capabilities", "memhop_capability_import"),
    _get("/capabilities/match", "memhop_capability_match"),
    _get("/capabilities/{id}", "memhop_capability_get"),
    _patch("/capabilities/{id}", "memhop_capability_update"),
    _delete("/capabilities/{id}", "memhop_capability_delete"),
    _post("/capabilities/{id}/activate", "memhop_capability_activate"),
    _post("/capabilities/{id}/usage", "memhop_capability_usage"),
    _get("/usage/{id}", "memhop_usage"),
    _get("/trajectory", "memhop_trajectory_read", of=results.Event),
    _post("/trajectory", "memhop_trajectory_append"),
    _delete("/trajectory", "memhop_trajectory_delete"),
    _post("/trajectory/steps", "memhop_trajectory_append_many"),
    _get("/trajectory/sessions", "memhop_trajectory_sessions", of=results.Session),
    _get("/trajectory/stats", "memhop_trajectory_stats"),
    _post("/trajectory/prune", "memhop_trajectory_prune"),
    _get("/status", "memhop_status"),
    _get("/stats", "memhop_stats"),
    _get("/pending", "memhop_pending"),
    _get("/changes", "memhop_events"),
    _post("/maintenance", "memhop_maintain"),
    _post("/maintenance/backfill", "memhop_backfill"),
    _post("/maintenance/checkpoint", "memhop_checkpoint"),
    _post("/maintenance/compact", "memhop_compact"),
    _get("/maintenance/verify", "memhop_verify"),
    _get("/export/page", "memhop_export"),
    _post("/import", "memhop_import"),
    _get("/imports", "memhop_import_list", of=results.ImportEntry),
    _get("/imports/{number}", "memhop_import_show"),
    _post("/imports/{number}/undo", "memhop_import_undo"),
)
