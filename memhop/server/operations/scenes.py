"""L2: scenes, the stretches of conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from memhop.api import results
from memhop.server.operation import ADMIN, WRITE, Answer, Host, operation
from memhop.server.operations import older_names
from memhop.server.operations.paging import Cursor, DryRun, Limit, Newest, ProjectAsked, asked
from memhop.server.parameters import Flag, Id, Listed, Text, Whole
from memhop.server.telling import fenced, one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

SceneId = Annotated[str, Id("The scene.")]
_MOST_TOPICS = 1_000  # split off by one call


@operation("memhop_scene_list", title="List scenes", result=results.Page)
def scene_list(host: Host, db: DB, *, project: ProjectAsked = None, limit: Limit = 20, cursor: Cursor = None) -> Answer:
    """List the scenes, which are stretches of conversation about one subject, the last used first. Use it to find the
    scene of an earlier conversation by its name and time. To find what was said, use memhop_recall.
    Example: {"limit": 10}"""
    return _page(db, db.scenes.list(project=asked(project), limit=limit, cursor=cursor), "there are no scenes")


@operation("memhop_scene_active_list", title="List active scenes", result=results.Page)
def scene_active_list(
    host: Host, db: DB, *, project: ProjectAsked = None, limit: Limit = 20, cursor: Cursor = None
) -> Answer:
    """List the active scenes: those with messages that no dream has looked at yet. Use it to decide whether
    memhop_dream has something to do. Example: {}"""
    found = db.scenes.list(project=asked(project), fresh=True, limit=limit, cursor=cursor)
    return _page(db, found, "no scene is active")


@operation("memhop_scene_get", title="Read a scene", result=results.Scene, called={"id": "scene_id"})
def scene_get(host: Host, db: DB, *, scene_id: SceneId) -> Answer:
    """Read the name, times and counts of one scene. For its topics: memhop_scene_topics.
    Example: {"scene_id": "bfe671f6686ef56a"}"""
    return _told(db, db.scenes.get(scene_id))


@operation("memhop_scene_topics", title="Read the topics of a scene", called={"id": "scene_id"})
def scene_topics(
    host: Host,
    db: DB,
    *,
    scene_id: SceneId,
    query: Annotated[str | None, Text("Only topics that bear on this, best first; without a cursor.")] = None,
    depth: Annotated[int, Whole("1: fused topics and loose turns; 2 to 4: fused ones taken apart.", 1, 4)] = 1,
    messages: Annotated[bool, Flag("Also show what was said, word for word.")] = False,
    limit: Annotated[int, Whole("Most topics.", 1, 100)] = 20,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Answer:
    """Read what a scene was about, topic by topic: keywords, summaries and the ids of the messages. Use it to pick up
    an earlier conversation whose scene you know. For single questions memhop_recall is shorter.
    Example: {"scene_id": "bfe671f6686ef56a", "query": "paint"}"""
    found = db.scenes.context(scene_id, query=query, depth=depth, limit=limit, cursor=cursor, newest_first=newest_first)
    scene = older_names.scene(found.scene, db.usage(scene_id))
    topics = [_context(one, messages) for one in found.topics]
    data = {
        "scene": scene,
        "scene_name": found.scene.name,
        "topic_count": found.scene.topics,
        "topics": topics,
        "next": found.next,
    }
    lines = [line for one in found.topics for line in _lines(one, messages)]
    text = [_line(found.scene), fenced(lines) or "no topics"]
    if found.next is not None:
        text.append(f"(there is more: cursor {found.next!r})")
    return data, "\n".join(text)


@operation(
    "memhop_scene_rename",
    title="Rename a scene",
    scope=WRITE,
    idempotent=True,
    result=results.Scene,
    called={"id": "scene_id"},
)
def scene_rename(
    host: Host, db: DB, *, scene_id: SceneId, name: Annotated[str, Text("The new name; dreams leave it.")]
) -> Answer:
    """Give a scene a name by which people find it. Example: {"scene_id": "bfe671f6686ef56a", "name": "Boat paint"}"""
    return _told(db, db.scenes.rename(scene_id, name))


@operation(
    "memhop_scene_pin",
    title="Pin a scene",
    scope=WRITE,
    idempotent=True,
    result=results.Scene,
    called={"id": "scene_id"},
)
def scene_pin(
    host: Host, db: DB, *, scene_id: SceneId, pinned: Annotated[bool, Flag("False lets dreams at it again.")] = True
) -> Answer:
    """Keep dreams from changing a scene, or let them again.
    Example: {"scene_id": "bfe671f6686ef56a", "pinned": true}"""
    return _told(db, db.scenes.pin(scene_id, pinned))


@operation(
    "memhop_scene_merge",
    title="Merge scenes",
    scope=WRITE,
    destructive=True,
    result=results.Scene,
    called={"primary": "primary_id", "secondaries": "secondary_ids"},
)
def scene_merge(
    host: Host,
    db: DB,
    *,
    primary_id: Annotated[str, Id("The scene that stays.")],
    secondary_ids: Annotated[list[str], Listed("The scenes that are moved into it and are gone then.", Id(""), 1, 100)],
) -> Answer:
    """Move all that is in some scenes into another one, when they are about the same thing. No word is lost, and it
    cannot be taken back. All must be of one project.
    Example: {"primary_id": "bfe671f6686ef56a", "secondary_ids": ["66c689202ea1b314"]}"""
    return _told(db, db.scenes.merge(primary_id, secondary_ids))


@operation("memhop_scene_split", title="Split a scene", scope=WRITE, result=results.Scene, called={"id": "scene_id"})
def scene_split(
    host: Host,
    db: DB,
    *,
    scene_id: SceneId,
    topic_ids: Annotated[list[str], Listed("The topics that leave it; not all.", Id(""), 1, _MOST_TOPICS)],
    name: Annotated[str | None, Text("Name of the new scene.")] = None,
) -> Answer:
    """Move some topics of a scene into a new one, when a conversation was about two things. The reply is the new scene.
    Example: {"scene_id": "bfe671f6686ef56a", "topic_ids": ["49db768bde0adba8"], "name": "Sails"}"""
    return _told(db, db.scenes.split(scene_id, topic_ids, name))


@operation(
    "memhop_scene_delete",
    title="Erase a scene",
    scope=ADMIN,
    destructive=True,
    result=results.Deleted,
    called={"id": "scene_id"},
)
def scene_delete(host: Host, db: DB, *, scene_id: SceneId, dry_run: DryRun = False) -> Answer:
    """Erase a scene for good, with its topics and every word that was said in it. Only when a person asks for it; try
    it with dry_run first. Example: {"scene_id": "bfe671f6686ef56a", "dry_run": true}"""
    erased = db.scenes.delete(scene_id, dry_run=dry_run)
    return {"ok": True} | erased.to_dict(), erased.reason


def _told(db: DB, scene: results.Scene) -> Answer:
    return {"ok": True} | older_names.scene(scene, db.usage(scene.id)), _line(scene)


def _page(db: DB, page: results.Page, none: str) -> Answer:
    return paged(page, lambda one: older_names.scene(one, db.usage(one.id)), _line, nothing=none)


def _line(scene: results.Scene) -> str:
    fresh = f", {scene.fresh} fresh" if scene.fresh else ""
    pinned = ", pinned" if scene.pinned else ""
    last = scene.to_dict()["last_at"]
    return f"{scene.id} {last} {one_line(scene.name, 100)} ({scene.topics} topics{fresh}{pinned})"


def _context(one: results.TopicContext, messages: bool) -> dict[str, Any]:
    topic = one.topic
    keywords = dict.fromkeys((*topic.user_keywords, *topic.agent_keywords))
    said = {"messages": [older_names.message(message) for message in one.messages], "left_out": one.left_out}
    return (
        older_names.topic(topic)
        | {"topic_id": topic.id, "keywords": list(keywords), "child_count": len(topic.children)}
        | {"l4_ids": [message.id for message in one.messages]}
        | (said if messages else {})
    )


def _lines(one: results.TopicContext, messages: bool) -> list[str]:
    topic = one.topic
    about = topic.summary or ", ".join((*topic.user_keywords, *topic.agent_keywords))
    said = one.messages if messages else ()
    return [
        f"{topic.id} {topic.to_dict()['user_at']} {one_line(about)}",
        *(f"  {one.id} {one_line(one.speaker or one.role, 40)}: {one_line(one.text, 400)}" for one in said),
    ]
