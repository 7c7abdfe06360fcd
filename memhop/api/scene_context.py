"""A scene as something to read: its topics, each with what was said in it.

Whatever the depth asked for, each message stands under one topic: under the fused topic where that is as deep as
was asked for, else under the turns it was fused from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from memhop.api import convert, results
from memhop.api.namespace import cursor_of, place_of
from memhop.common.config import LIMITS
from memhop.common.ids import to_hex
from memhop.repo.l2_context import DEEPEST, Scene, Topic, family, topics_of
from memhop.repo.l4_archive import Message
from memhop.search.query import Request

if TYPE_CHECKING:
    from memhop.repo.store import Store
    from memhop.search.recall import Recaller

_PAGE = 200


def by_time(
    store: Store, scene: Scene, *, depth: int, limit: int, cursor: str | None, newest_first: bool
) -> tuple[tuple[results.TopicContext, ...], str | None]:
    """Topics in order of time, and the cursor of what follows."""
    shown: list[tuple[tuple[int, int], Topic]] = []
    after = place_of(cursor)
    while len(shown) <= limit:
        page = store.listed(Topic, topics_of(scene.id), after=after, limit=_PAGE, descending=newest_first)
        if not page:
            break
        shown += [(place, topic) for place, topic in page if is_shown(store, topic, depth)]
        after = page[-1][0]
    more = cursor_of(shown[limit - 1][0]) if len(shown) > limit else None
    return _filled(store, [topic for _, topic in shown[:limit]], depth), more


def by_relevance(
    recaller: Recaller, scene: Scene, query: str, *, depth: int, limit: int
) -> tuple[results.TopicContext, ...]:
    """Topics that bear on a question, best first."""
    store = recaller.store
    layers = ("messages", "topics")
    request = Request(text=query, scene=to_hex(scene.id), layers=layers, limit=LIMITS.results, token_budget=0)
    chosen: dict[int, Topic] = {}
    for hit in recaller.recall(request, count_use=False).hits:
        topic_id = hit.record.topic if isinstance(hit.record, Message) else hit.id
        for topic in _upwards(store, topic_id):
            if is_shown(store, topic, depth):
                chosen.setdefault(topic.id, topic)
                break
        if len(chosen) == limit:
            break
    return _filled(store, list(chosen.values()), depth)


def is_shown(store: Store, topic: Topic, depth: int) -> bool:
    """Whether a topic stands for its family at this depth."""
    if topic.depth > depth or (is_open(topic, depth) and not topic.messages):
        return False
    if topic.depth < DEEPEST or topic.parent in (0, topic.id):
        return True
    parent = store.readable(Topic, topic.parent)  # which may be as deep, for nothing is deeper, and be shown itself
    return parent is None or parent.depth < DEEPEST


def is_open(topic: Topic, depth: int) -> bool:
    """Whether a fused topic is taken apart at this depth. What was said in itself is shown all the same."""
    return bool(topic.children) and topic.depth < depth


def said_in(store: Store, topic: Topic) -> list[Message]:
    """What was said in a topic and in those it was fused from, in order of time; ties as they came."""
    return _in_order(store, _named(store, topic))


def _named(store: Store, topic: Topic) -> list[int]:
    return [id_ for member in family(topic, lambda id_: store.readable(Topic, id_)) for id_ in member.messages]


def _in_order(store: Store, ids: Iterable[int]) -> list[Message]:
    found = (store.readable(Message, id_) for id_ in ids)
    return sorted((message for message in found if message is not None), key=lambda message: message.at)


def _upwards(store: Store, id_: int) -> Iterator[Topic]:
    seen: set[int] = set()
    while id_ and id_ not in seen:
        seen.add(id_)
        topic = store.readable(Topic, id_)
        if topic is None:
            return
        yield topic
        id_ = topic.parent


def _filled(store: Store, topics: list[Topic], depth: int) -> tuple[results.TopicContext, ...]:
    room = LIMITS.results
    found = []
    for topic in topics:
        named = topic.messages if is_open(topic, depth) else _named(store, topic)
        kept = _in_order(store, named)[: min(room, LIMITS.replies)]
        room -= len(kept)
        found.append(
            results.TopicContext(
                topic=convert.topic(topic),
                messages=tuple(map(convert.message, kept)),
                left_out=len(named) - len(kept),
            )
        )
    return tuple(found)
