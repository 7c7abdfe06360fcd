"""Fusing topics by hand, and taking fused ones apart.

A fused topic is one above its members, which sink by one with their families; nothing of them is lost. What the host
fused is `edited`, and so is what it took apart, so that no dream does the opposite.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from memhop.api.erasure import Erasure
from memhop.api.summaries import KEYWORDS, summarised
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.l2_context import DEEPEST, Topic, at_depth, family, fused_id, telling
from memhop.repo.l4_archive import Message

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store


def merge(store: Store, batch: Batch, ids: Collection[int], summary: str | None) -> Topic:
    """One topic above these; see `Topics.merge`."""
    members = sorted((store.get(Topic, id_, field="topic_ids") for id_ in ids), key=lambda one: (one.user_at, one.id))
    for topic in members:
        if topic.scene != members[0].scene or not topic.scene:
            raise InvalidRequest("they are of several scenes", field="topic_ids", allowed="topics of one scene")
        if topic.parent:
            raise InvalidRequest(
                f"topic {to_hex(topic.id)} is part of {to_hex(topic.parent)} already",
                field="topic_ids",
                allowed="topics that are part of no other",
            )
    id_ = fused_id(members[0].scene, tuple(sorted(topic.id for topic in members)))
    if store.file.locate(id_) is not None:
        raise InvalidRequest(f"record {to_hex(id_)} stands in its place", field="topic_ids", allowed="other topics")
    depth = min(topic.depth for topic in members)
    text, ends, sources = summarised(said(store, batch, members)) if summary is None else (summary, (), ())
    fused = Topic(
        scene=members[0].scene,
        project=members[0].project,
        depth=depth,
        children=tuple(topic.id for topic in members),
        user_keywords=tuple(telling(members)[:KEYWORDS]),
        summary=text,
        user_at=members[0].user_at,
        agent_at=max(topic.agent_at for topic in members),
        graphs=tuple(dict.fromkeys(graph for topic in members for graph in topic.graphs)),
        ends=ends,
        sources=sources,
        edited=True,
    )
    for topic in members:
        _put_at(batch, msgspec.structs.replace(topic, parent=id_), depth + 1)
    return batch.put(fused, id_)


def unmerge(store: Store, batch: Batch, id_: int) -> tuple[Topic, ...]:
    """Take a fused topic apart; see `Topics.unmerge`."""
    fused = store.get(Topic, id_, field="topic_id")
    if not fused.children:
        raise InvalidRequest("it is no fused topic", field="topic_id", allowed="a topic with children")
    parent = batch.find(Topic, fused.parent) if fused.parent not in (0, id_) else None
    members = [
        child
        for child_id in dict.fromkeys(fused.children)
        if child_id != id_ and (child := batch.find(Topic, child_id)) is not None and child.parent == id_
    ]
    above = parent.id if parent else 0
    freed = [
        _put_at(batch, msgspec.structs.replace(child, parent=above, edited=True), fused.depth) for child in members
    ]
    if parent is not None:
        at = parent.children.index(id_) if id_ in parent.children else len(parent.children)
        around = (*parent.children[:at], *(child.id for child in freed), *parent.children[at + 1 :])
        batch.put(msgspec.structs.replace(parent, children=around))
    if fused.messages:  # something was said in it since: it stays, as the turn that this is
        plain = {"children": (), "summary": "", "ends": (), "sources": ()}
        batch.strike(msgspec.structs.replace(fused, **plain))
    else:
        Erasure(store, batch).erase([id_])  # for good: a summary is made of words that may have to go one day
    return tuple(freed)


def said(store: Store, batch: Batch, topics: Iterable[Topic]) -> list[Message]:
    """What was said in these topics and in those they were fused from, in order of time."""
    return sorted(_said(store, batch, topics), key=lambda message: message.at)


def _said(store: Store, batch: Batch, topics: Iterable[Topic]) -> Iterator[Message]:
    for topic in topics:
        for member in family(topic, lambda id_: batch.find(Topic, id_)):
            for id_ in member.messages:
                message = store.readable(Message, id_)
                if message is not None:
                    yield message


def _put_at(batch: Batch, topic: Topic, depth: int) -> Topic:
    """Put a topic at a depth, its family below it. Returns the topic."""
    placed = [
        batch.put(msgspec.structs.replace(member, depth=below))
        for member, below in at_depth(topic, min(depth, DEEPEST), lambda id_: batch.find(Topic, id_))
    ]
    return placed[0]
