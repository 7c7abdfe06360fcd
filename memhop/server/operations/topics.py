"""L2: topics, the turns of a scene and what was fused from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from memhop.api import results
from memhop.server.operation import ADMIN, WRITE, Answer, Host, operation
from memhop.server.operations import older_names
from memhop.server.operations.paging import Cursor, DryRun, Limit, Newest
from memhop.server.parameters import Flag, Id, Listed, Text, Whole
from memhop.server.telling import fenced, one_line, paged

if TYPE_CHECKING:
    from memhop.api.db import DB

TopicId = Annotated[str, Id("The topic.")]


@operation("memhop_topic_get", title="Read a topic", result=results.Topic, called={"id": "topic_id"})
def topic_get(host: Host, db: DB, *, topic_id: TopicId) -> Answer:
    """Read one topic: keywords, summary, what it was fused from, the ids of its messages. For the words themselves:
    memhop_archive_search with its topic_id. Example: {"topic_id": "49db768bde0adba8"}"""
    topic = db.topics.get(topic_id)
    statements = {"statements": [one.to_dict() for one in topic.statements]}
    whole = f"\n{fenced(topic.summary)}" if topic.summary else ""
    return older_names.topic(topic) | statements, f"{_line(topic)}{whole}"


@operation("memhop_topic_list", title="List topics of a scene", result=results.Page)
def topic_list(
    host: Host,
    db: DB,
    *,
    scene_id: Annotated[str, Id("The scene.")],
    depth: Annotated[
        int | None, Whole("Only topics at this depth: 1 stands alone or was fused, 4 is cold.", 1, 4)
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Answer:
    """List the topics of a scene by time, at any depth, to choose which to merge, pin or delete. To read what a scene
    was about: memhop_scene_topics. Example: {"scene_id": "bfe671f6686ef56a", "depth": 1}"""
    found = db.topics.list(scene_id, depth=depth, limit=limit, cursor=cursor, newest_first=newest_first)
    return paged(found, older_names.topic, _line, nothing="no topics")


@operation("memhop_topic_merge", title="Fuse topics", scope=WRITE, result=results.Topic)
def topic_merge(
    host: Host,
    db: DB,
    *,
    topic_ids: Annotated[list[str], Listed("Topics of one scene that are part of no other.", Id(""), 2, 64)],
    summary: Annotated[str | None, Text("What they say together. Default: sentences of the messages.")] = None,
) -> Answer:
    """Fuse topics of one scene that belong to one thread into a topic above them. They keep what was said, and
    memhop_topic_unmerge takes it back. Not needed as a rule: dreams do it.
    Example: {"topic_ids": ["49db768bde0adba8", "028d310aec618915"], "summary": "Epoxy was chosen."}"""
    return _changed(db.topics.merge(topic_ids, summary))


@operation("memhop_topic_unmerge", title="Take a fused topic apart", scope=WRITE, destructive=True)
def topic_unmerge(host: Host, db: DB, *, topic_id: TopicId) -> Answer:
    """Take a fused topic apart, when it joined what does not belong together. Its summary is gone then, its members
    stay, and no dream fuses them again. Example: {"topic_id": "49db768bde0adba8"}"""
    members = db.topics.unmerge(topic_id)
    text = f"{len(members)} topics\n{fenced(map(_line, members))}"
    return {"ok": True, "topics": [older_names.topic(one) for one in members]}, text


@operation("memhop_topic_refine", title="Give a topic other keywords", scope=WRITE, result=results.Topic)
def topic_refine(
    host: Host,
    db: DB,
    *,
    topic_id: TopicId,
    keywords: Annotated[
        list[str] | None, Listed("The new keywords, most telling first. Default: worked out anew.", Text(""), 1, 64)
    ] = None,
) -> Answer:
    """Give a topic other keywords when the ones it has miss what it is about; without any they are worked out anew from
    all that was said. Example: {"topic_id": "49db768bde0adba8", "keywords": ["epoxy", "hull"]}"""
    return _changed(db.topics.refine(topic_id, keywords))


@operation(
    "memhop_topic_pin",
    title="Pin a topic",
    scope=WRITE,
    idempotent=True,
    result=results.Topic,
    called={"id": "topic_id"},
)
def topic_pin(
    host: Host, db: DB, *, topic_id: TopicId, pinned: Annotated[bool, Flag("False lets dreams at it again.")] = True
) -> Answer:
    """Keep dreams from changing a topic, or let them again.
    Example: {"topic_id": "49db768bde0adba8", "pinned": true}"""
    return _changed(db.topics.pin(topic_id, pinned))


@operation(
    "memhop_topic_delete",
    title="Erase a topic",
    scope=ADMIN,
    destructive=True,
    result=results.Deleted,
    called={"id": "topic_id"},
)
def topic_delete(host: Host, db: DB, *, topic_id: TopicId, dry_run: DryRun = False) -> Answer:
    """Erase a topic for good, with all it was fused from and every word that was said in it. Only when a person asks
    for it; try it with dry_run first. Example: {"topic_id": "49db768bde0adba8", "dry_run": true}"""
    erased = db.topics.delete(topic_id, dry_run=dry_run)
    return {"ok": True} | erased.to_dict(), erased.reason


def _changed(topic: results.Topic) -> Answer:
    return {"ok": True} | older_names.topic(topic), _line(topic)


def _line(topic: results.Topic) -> str:
    about = topic.summary or ", ".join((*topic.user_keywords, *topic.agent_keywords))
    fused = f", fused from {len(topic.children)}" if topic.children else ""
    marks = "".join(f", {name}" for name, on in (("pinned", topic.pinned), ("edited", topic.edited)) if on)
    return f"{topic.id} {topic.to_dict()['user_at']} depth {topic.depth}{fused}{marks}: {one_line(about)}"
