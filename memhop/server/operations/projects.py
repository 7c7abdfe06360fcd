"""Projects: what there is, and moving, trashing and erasing all of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.operation import ADMIN, WRITE, Answer, Host, operation
from memhop.server.parameters import Flag, Id, Listed, Text, Whole
from memhop.server.telling import one_line, paged, parameters_named, present

if TYPE_CHECKING:
    from memhop.api.db import DB

_NAMED = 20  # ids and single notes that a reply lists; how many there are is counted

ProjectName = Annotated[str, Text("The project.")]


@operation("memhop_project_list", title="List projects", result=results.Page)
def project_list(
    host: Host,
    db: DB,
    *,
    limit: Annotated[int, Whole("Most projects.", 1, 100)] = 50,
    cursor: Annotated[str | None, Text("`next` of the page before.")] = None,
) -> Answer:
    """See which projects there are, by name, and how much is in each: use it before you store something under a new
    name of a project, so that one does not become two. Not for what is in one (memhop_brief).
    Example: {}"""
    return paged(db.projects.list(limit=limit, cursor=cursor), results.Project.to_dict, _line, nothing="No projects.")


def _line(one: results.Project) -> str:
    others = [f"{count:,} {what}" for count, what in ((one.archived, "archived"), (one.trashed, "trashed")) if count]
    others += [f"{one.messages:,} messages"] if one.messages else []
    return f"{one_line(one.name)}: {', '.join((f'{one.active:,} notes', *others))}"


@operation("memhop_project_count", title="Count a project", result=results.ProjectCount)
def project_count(
    host: Host, db: DB, *, project: Annotated[str, Text("The project; zeros for one nobody has heard of.")] = "default"
) -> Answer:
    """Count what is in a project, notes by kind and by tier, and messages: use it before you trash or move one. Not for
    reading (memhop_note_list). Example: {"project": "web"}"""
    with parameters_named(name="project"):
        found = db.projects.count(project)
    kinds = ", ".join(f"{size:,} {one_line(kind)}" for kind, size in found.kinds.items()) or "no notes"
    return found.to_dict(), f"{one_line(found.project)}: {kinds}; {found.messages:,} messages"


@operation("memhop_project_schema", title="Kinds of a project")
def project_schema(host: Host, db: DB, *, project: ProjectName = "default") -> Answer:
    """Learn which statuses each kind of note may have in a project, and what its metadata must have: use it when
    storing or changing a note was refused for one of these. Other kinds take any status.
    Example: {"project": "web"}"""
    with parameters_named(name="project"):
        kinds = db.projects.schema(project)
    items = [
        present(
            kind=name,
            statuses=schema.statuses,
            default_status=schema.status,
            open=schema.open,
            terminal=schema.terminal,
            required=schema.required,
            defaults=dict(schema.defaults),
        )
        for name, schema in kinds.items()
    ]
    lines = [f"{one_line(name)}: {', '.join(schema.statuses) or 'any status'}" for name, schema in kinds.items()]
    return {"project": project, "kinds": items}, "\n".join(lines)


@operation("memhop_project_rename", title="Rename a project", scope=WRITE, result=results.Moved)
def project_rename(
    host: Host,
    db: DB,
    *,
    old: ProjectName,
    new: Annotated[str, Text("Its new name, which no other project has.")],
) -> Answer:
    """Give a project another name when the user asks for it; all that is in it goes along. Not for putting two together
    (memhop_project_merge). Example: {"old": "webapp", "new": "web"}"""
    return _moved(db.projects.rename(old, new))


@operation("memhop_project_merge", title="Merge projects", scope=WRITE, destructive=True, result=results.Moved)
def project_merge(
    host: Host,
    db: DB,
    *,
    source: Annotated[str, Text("The project that will be gone.")],
    into: Annotated[str, Text("The project that gets all of it; it is there.")],
) -> Answer:
    """Put all of one project into another one, when two names turn out to mean the same; nobody can tell them apart
    afterwards. Not for single notes (memhop_project_reassign). Example: {"source": "web-app", "into": "web"}"""
    return _moved(db.projects.merge(source, into))


@operation("memhop_project_reassign", title="Move notes to a project", scope=WRITE, result=results.Moved)
def project_reassign(
    host: Host,
    db: DB,
    *,
    to_project: Annotated[str, Text("Where they go; it need not be there yet.")],
    ids: Annotated[list[str] | None, Listed("The notes.", Id(""), 1, 1000)] = None,
    all: Annotated[bool, Flag("In place of ids: all notes of from_project.")] = False,
    from_project: Annotated[str | None, Text("Only notes of this project; needed with all.")] = None,
    strict: Annotated[bool, Flag("Refuse what does not fit the kinds of the new project.")] = False,
    dry_run: Annotated[bool, Flag("Only tell what would be done.")] = False,
) -> Answer:
    """Move notes that were stored in the wrong project. Messages stay. Try dry_run first when there are many. Not for a
    whole project with all that was said in it (memhop_project_merge, memhop_project_rename).
    Example: {"ids": ["3f0c52b1a09e77d4"], "to_project": "web"}"""
    with parameters_named(to="to_project", from_="from_project"):
        done = db.projects.reassign(ids, to=to_project, all=all, from_=from_project, strict=strict, dry_run=dry_run)
    return _moved(done)


def _moved(done: results.Moved) -> tuple[dict[str, Any], str]:
    data = done.to_dict()
    for name in ("ids", "restatused", "stayed"):
        data[name] = data[name][:_NAMED]
    data["stayed_count"] = len(done.stayed)
    would = "would go" if done.dry_run else "went"
    counts = ((done.messages, "messages"), (done.scenes, "scenes"), (done.topics, "topics"))
    moved = ", ".join((f"{done.notes:,} notes", *(f"{count:,} {what}" for count, what in counts if count)))
    lines = [f"{moved} {would} to {one_line(done.project)}" if done.changed else f"nothing {would}: {done.reason}"]
    if done.restatused_count:
        lines.append(f"{done.restatused_count:,} statuses fall to the default of their kind")
    lines += [f"{len(done.stayed):,} stay"] if done.stayed else []
    lines += [f"{done.damaged:,} that cannot be read stay"] if done.damaged else []
    return data, "; ".join((*lines, *(one_line(remark, 300) for remark in done.remarks)))


@operation(
    "memhop_project_trash",
    title="Trash a project",
    scope=WRITE,
    destructive=True,
    idempotent=True,
    result=results.ProjectTrashed,
)
def project_trash(host: Host, db: DB, *, project: ProjectName) -> Answer:
    """Move all notes of a project to the trash, archived and pinned ones too, when the user asks for exactly that.
    Messages stay. memhop_restore brings back one note at a time. Example: {"project": "old-site"}"""
    with parameters_named(name="project"):
        done = db.projects.trash(project)
    return _counted(done.to_dict()), f"{done.count:,} notes of {one_line(done.project)}: {done.reason}"


@operation("memhop_project_purge", title="Erase a project", scope=ADMIN, destructive=True, result=results.ProjectPurged)
def project_purge(
    host: Host,
    db: DB,
    *,
    project: ProjectName,
    force: Annotated[bool, Flag("Also what is not in the trash, and all that was said.")] = False,
) -> Answer:
    """Erase all of a project for good, notes and messages, when the user asks for exactly that: it cannot be brought
    back. Not for forgetting (memhop_project_trash). Example: {"project": "old-site"}"""
    with parameters_named(name="project"):
        done = db.projects.purge(project, force=force)
    erased = f"{done.count:,} notes and {done.messages:,} messages of {one_line(done.project)}: {done.reason}"
    return _counted(done.to_dict()), erased


def _counted(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"ids": data["ids"][:_NAMED]}
