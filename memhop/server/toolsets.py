"""Which operations a client is shown. Few are a courtesy: each costs the model room, and some clients have limits."""

from __future__ import annotations

from collections.abc import Mapping

from memhop.common.config import check_choice
from memhop.server.operation import Operation

CORE = (
    "memhop_remember",
    "memhop_recall",
    "memhop_brief",
    "memhop_note_get",
    "memhop_note_list",
    "memhop_note_update",
    "memhop_forget",
    "memhop_restore",
    "memhop_summary_check",
    "memhop_summary_save",
    "memhop_search",
    "memhop_update",
)
NOTES = (
    *CORE,
    "memhop_note_history",
    "memhop_note_revert",
    "memhop_note_archive",
    "memhop_note_unarchive",
    "memhop_note_purge",
    "memhop_note_link",
    "memhop_note_unlink",
    "memhop_note_links",
    "memhop_note_pin",
    "memhop_note_duplicates",
    "memhop_about",
    "memhop_why_not",
    "memhop_lookup",
    "memhop_project_list",
    "memhop_project_count",
    "memhop_project_schema",
    "memhop_project_rename",
    "memhop_project_merge",
    "memhop_project_reassign",
    "memhop_project_trash",
    "memhop_project_purge",
    "memhop_summary_latest",
)
TOOLSETS = ("core", "notes", "full", "hemisphere")


def toolset(name: str) -> Mapping[str, Operation]:
    """The operations of a set, by name, in the order in which they are shown.

    Raises:
        InvalidRequest: there is no such set.
    """
    check_choice(name, field="tools", choices=TOOLSETS)
    if name == "hemisphere":
        from memhop.server.operations.hemisphere import HEMISPHERE

        return HEMISPHERE
    from memhop.server.operations import OPERATIONS

    names = {"core": CORE, "notes": NOTES}.get(name, dict.fromkeys((*NOTES, *OPERATIONS)))
    return {one: OPERATIONS[one] for one in names}
