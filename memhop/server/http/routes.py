"""The REST table: what is asked where. Handlers and the OpenAPI document are made from it.

Paths hold ids and numbers alone; what people name (projects, sessions, cards) may contain slashes, so it is a parameter
like any other. A part of a path in braces is the operation's parameter of that name. GET only reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

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
    """

    method: str
    path: str
    operation: str
    fixed: Mapping[str, Any] = _NOTHING
    text_as: str = ""

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


def _get(path: str, operation: str, text_as: str = "", **fixed: Any) -> Route:
    return Route("GET", path, operation, fixed, text_as)


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
    _get("/notes", "memhop_note_list"),
    _post("/notes", "memhop_remember"),
    _get("/notes/duplicates", "memhop_note_duplicates"),
    _get("/notes/{id}", "memhop_note_get"),
    _patch("/notes/{id}", "memhop_note_update"),
    _delete("/notes/{id}", "memhop_forget"),
    _get("/notes/{id}/history", "memhop_note_history"),
    _post("/notes/{id}/revert", "memhop_note_revert"),
    _post("/notes/{id}/archive", "memhop_note_archive"),
    _post("/notes/{id}/unarchive", "memhop_note_unarchive"),
    _post("/notes/{id}/restore", "memhop_restore"),
    _post("/notes/{id}/purge", "memhop_note_purge"),
    _post("/notes/{id}/pin", "memhop_note_pin", pinned=True),
    _post("/notes/{id}/unpin", "memhop_note_pin", pinned=False),
    _get("/notes/{id}/links", "memhop_note_links"),
    _post("/notes/{id}/links", "memhop_note_link"),
    _delete("/notes/{id}/links", "memhop_note_unlink"),
    _get("/projects", "memhop_project_list"),
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
)  # fmt: skip
