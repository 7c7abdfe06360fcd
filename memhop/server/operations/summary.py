"""Progressive summaries: whether one is due and what of, saving it, the newest one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.operation import WRITE, Answer, Host, operation
from memhop.server.operations.notes import read
from memhop.server.parameters import Flag, Listed, Number, Table, Text, Whole
from memhop.server.telling import fenced, note_data, one_line, present, preview

if TYPE_CHECKING:
    from memhop.api.db import DB

_LAST_SUMMARY = 2_000  # characters of it that a check shows
_LINES = 15  # of each section of its text

OfProject = Annotated[str, Text("Whose summary.")]


@operation("memhop_summary_check", title="Is a summary due?", result=results.SummaryCheck)
def summary_check(
    host: Host,
    db: DB,
    *,
    project: OfProject = "default",
    turns: Annotated[int, Whole("Turns since the last summary, as you count them.", 0, 1_000_000)] = 0,
    context_pct: Annotated[float, Number("Percent of your context window that is left.", 0, 100)] = 100,
    force: Annotated[bool, Flag("It is due whatever the numbers say.")] = False,
    limit: Annotated[int, Whole("Most changes listed in the data.", 1, 50)] = 20,
) -> Answer:
    """Ask whether the project needs a new summary: when a session ends, when your context window gets full, and every
    ten turns or so. If it does, you get what changed since the last one and a frame to write the next one in; store
    that with memhop_summary_save. If not, you get the newest one. Not for finding things (memhop_recall).
    Example: {"project": "web", "turns": 12, "context_pct": 35}"""
    found = db.summary.check(project, turns=turns, context_pct=context_pct, force=force)
    data = found.to_dict()
    del data["template"]  # the text has it
    data["changes"] = [present(**change) for change in data["changes"][:limit]]
    data["truncated"] = found.total > len(data["changes"])
    data["text"] = preview(found.text, _LAST_SUMMARY) if found.text else None
    return data, _told(found)


def _told(found: results.SummaryCheck) -> str:
    if not found.needed:
        lines = [f"No summary is due: {found.reason}."]
        if found.text is not None:
            lines += [f"The newest one ({found.summary_id}):", fenced(preview(found.text, _LAST_SUMMARY))]
        return "\n".join(lines)
    lines = [
        f"A summary is due: {found.reason}. Write 200 to 500 words in the frame below, each thing with its reason and "
        "id, then store it with memhop_summary_save."
    ]
    if found.text is not None:
        lines += [f"The one before ({found.summary_id}):", fenced(preview(found.text, _LAST_SUMMARY))]
    moved = [_change(change) for change in found.changes if change.status_before or change.change != "created"]
    if moved:
        lines += ["What became of older notes:", fenced(moved[:_LINES])]
    lines.append(f"({found.total:,} changes since)")
    if not found.whole:
        lines.append("(notes that are gone since then are not among them)")
    return "\n".join((*lines, "The frame:", fenced(_frame(found.template or ""))))


def _frame(template: str) -> Iterator[str]:
    """The lines of a template, of each section the first ones: what was left out is counted."""
    for section in template.split("\n## "):
        lines = section.splitlines() or [""]
        heading = lines[0] if lines[0].startswith("# ") else f"## {lines[0]}"
        shown = [line for line in lines[1:] if line]
        yield from (heading, *shown[:_LINES])
        if len(shown) > _LINES:
            yield f"- and {len(shown) - _LINES:,} more"
        yield ""


def _change(one: results.SummaryChange) -> str:
    status = f" ({one.status_before} -> {one.status})" if one.status_before else ""
    return f"{one.id} {one_line(one.kind)} {one_line(one.change)}{one_line(status)} {one_line(one.title)}"


@operation("memhop_summary_save", title="Save a summary", scope=WRITE, result=results.Note)
def summary_save(
    host: Host,
    db: DB,
    *,
    text: Annotated[str, Text("The summary, Markdown, 200 to 500 words.")],
    project: OfProject = "default",
    tags: Annotated[list[str] | None, Listed("Words to find it by.", high=64)] = None,
    metadata: Annotated[dict[str, Any] | None, Table("More about it.")] = None,
) -> Answer:
    """Store a summary of the project that you have just written in the frame of memhop_summary_check. It takes the
    place of the one before, which stays in the history. Not for single things (memhop_remember).
    Example: {"project": "web", "text": "# web\\n\\n## State\\n..."}"""
    note = db.summary.save(project, text, tags=tags or (), metadata=metadata)
    data = note_data(note) | {"redacted": note.redacted}
    masked = f"; {note.redacted} secrets or private spans were left out" if note.redacted else ""
    return data, f"saved: {note.id} in project {one_line(note.project)}{masked}"


@operation("memhop_summary_latest", title="The newest summary")
def summary_latest(host: Host, db: DB, *, project: OfProject = "default") -> Answer:
    """Read the newest summary of a project whole, to take up work where it was left. Not for what is open now
    (memhop_brief). Example: {"project": "web"}"""
    note = db.summary.latest(project)
    if note is None:
        return {"summary": None}, f"There is no summary of {one_line(project)} yet."
    data, text = read(note)
    return {"summary": data}, text
