"""The stage "compress": neighbouring topics of a scene that speak of the same thing are put under a fused topic.

Nothing goes: a fused topic states what its messages say and cites each, its members keep their messages and stay
where they are found, one depth further down. Fused topics can be fused again as long as nothing sinks below depth 4.
What is pinned, or was edited by the host, is not fused, and neither are the newest topics of a scene: the running
conversation is not folded under the agent's hands.

A scene is looked at when something was said in it since it last was. Its last change says that it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from memhop.common.ids import from_hex, to_hex
from memhop.dream.reading import all_listed, said_in, topics_in
from memhop.dream.stage import Change
from memhop.dream.vectors import Directions
from memhop.index.tokenizer import query_terms
from memhop.models.material import Block, Group, Said
from memhop.repo.l2_context import DEEPEST, FRESH_SCENES, Scene, Topic, family, fused_id
from memhop.repo.l4_archive import Message

if TYPE_CHECKING:
    from memhop.dream.stage import Desk
    from memhop.repo.store import Store

NEWEST: Final = 5  # topics of a scene that stay as they are
WINDOW: Final = 40  # topics that are compared with each other at a time
MOST_STATEMENTS: Final = 64  # of one fused topic
MOST_CHARS: Final = 8_000  # of its summary
_READ_CHARS: Final = 2_000  # of one message, for comparing


class Compress:
    """See the module."""

    name = "compress"
    by_scene = True

    def plan(self, desk: Desk) -> Iterator[Change]:
        store = desk.store
        directions = Directions(store)
        for scene in all_listed(store, Scene, FRESH_SCENES, only=desk.scene):
            if desk.stopping():
                return
            if scene.pinned:
                desk.skip("the scene is pinned", 1)
                continue
            topics = {topic.id: topic for topic in topics_in(store, scene.id)}
            desk.looked_at(1 + len(topics))
            for window in _windows(desk, topics):
                yield from self._fused(desk, directions, scene, topics, window)
            done = msgspec.structs.replace(scene, fresh=0)
            yield Change("looked at", "every topic of the scene was looked at", reads=(scene,), puts=(done,))

    def _fused(
        self, desk: Desk, directions: Directions, scene: Scene, topics: dict[int, Topic], window: Sequence[Topic]
    ) -> Iterator[Change]:
        blocks = []
        sources: dict[int, frozenset[int]] = {}
        for topic in window:
            messages = _messages(desk.store, topic, topics)
            if messages:
                sources[topic.id] = frozenset(message.id for message in messages)
                blocks.append(_block(topic, messages, directions))
        for group in _grouped(desk, blocks):
            change = _change(desk, scene, topics, sources, group)
            if change is not None:
                yield change


def _windows(desk: Desk, topics: dict[int, Topic]) -> list[list[Topic]]:
    """The topics of a scene that may be fused, in runs that are compared at a time."""
    roots = sorted(
        (topic for topic in topics.values() if topic.depth == 1), key=lambda topic: (topic.user_at, topic.id)
    )
    if len(roots) < desk.min_topics:
        desk.skip("the scene has too few topics", 1)
        return []
    windows: list[list[Topic]] = [[]]
    for topic in roots[:-NEWEST]:
        if topic.pinned or topic.edited:
            desk.skip("the topic is pinned or edited", 1)
            windows.append([])  # what lies before and behind is not neighbouring
        elif _height(topic, topics) >= DEEPEST:
            windows.append([])
        else:
            if len(windows[-1]) == WINDOW:
                windows.append([])
            windows[-1].append(topic)
    return [window for window in windows if len(window) > 1]


def _height(topic: Topic, topics: dict[int, Topic]) -> int:
    """How many depths a topic and what is under it take, 1..; what is under itself takes more than there are."""
    height, level, seen = 0, [topic.id], set[int]()
    while level:
        height += 1
        if height > DEEPEST or seen.intersection(level):
            return DEEPEST + 1
        seen.update(level)
        level = [child for id_ in level if id_ in topics for child in topics[id_].children]
    return height


def _messages(store: Store, topic: Topic, topics: dict[int, Topic]) -> list[Message]:
    """What was said in a topic; of a fused one, the messages it cites."""
    if topic.children:
        found = [
            message for id_ in dict.fromkeys(topic.sources) if (message := store.readable(Message, id_)) is not None
        ]
        return sorted(found, key=lambda message: (message.at, message.id))
    return said_in(store, topic)


def _block(topic: Topic, messages: Sequence[Message], directions: Directions) -> Block:
    return Block(
        id=to_hex(topic.id),
        turns=tuple(Said(to_hex(message.id), message.at, message.speaker, message.text) for message in messages),
        terms=frozenset(term for message in messages for term in query_terms(message.text[:_READ_CHARS])),
        vector=directions.mean([message.id for message in messages]),
    )


def _grouped(desk: Desk, blocks: list[Block]) -> tuple[Group, ...]:
    if len(blocks) < 2:
        return ()
    if desk.chat is None:
        from memhop.models import offline

        return offline.consolidate(blocks)
    from memhop.models import tasks

    answer = tasks.consolidate(desk.chat, blocks)
    for reason, count in sorted(answer.refused.items()):
        desk.skip(reason, count)
    return answer.value


def _change(
    desk: Desk, scene: Scene, topics: dict[int, Topic], sources: dict[int, frozenset[int]], group: Group
) -> Change | None:
    """The change that makes a fused topic of a group. None: the group does not do, and is counted."""
    ids = [from_hex(id_) for id_ in dict.fromkeys(group.members)]
    if len(ids) < 2 or any(id_ not in sources for id_ in ids):
        desk.skip("the group has other members than it was given", 1)
        return None
    members = sorted((topics[id_] for id_ in ids), key=lambda topic: (topic.user_at, topic.id))
    below = _below(members, topics)
    if below is None:
        desk.skip("the topics contain each other", 1)
        return None
    summary, cited, ends = _summary(group, frozenset().union(*(sources[id_] for id_ in ids)))
    if not summary:
        desk.skip("the group states nothing", 1)
        return None
    id_ = fused_id(scene.id, tuple(sorted(ids)))
    if desk.store.file.locate(id_) is not None:
        desk.skip("the topics were fused before", 1)
        return None
    fused = Topic(
        id=id_,
        scene=scene.id,
        project=scene.project,
        children=tuple(topic.id for topic in members),
        user_keywords=group.keywords,
        summary=summary,
        user_at=members[0].user_at,
        agent_at=max(topic.agent_at for topic in members),
        graphs=tuple(dict.fromkeys(graph for topic in members for graph in topic.graphs)),
        sources=cited,
        ends=ends,
        refined_by=desk.chat.name if desk.chat is not None else "",
    )
    sunk = [msgspec.structs.replace(topic, depth=topic.depth + 1, parent=id_) for topic in members]
    sunk += [msgspec.structs.replace(topic, depth=min(DEEPEST, topic.depth + 1)) for topic in below]
    return Change(
        what="topic",
        why=f"{len(members)} neighbouring topics speak of one thing; a fused topic cites {len(set(cited))} messages",
        reads=(*members, *below),
        puts=(fused, *sunk),
    )


def _below(members: Sequence[Topic], topics: dict[int, Topic]) -> list[Topic] | None:
    """Everything under the members. None: something is under two of them."""
    families = [one for topic in members for one in family(topic, topics.get)]
    if len(families) > len({topic.id for topic in families}):
        return None
    found = [topic for topic in families if topic not in members]
    return sorted(found, key=lambda topic: (topic.user_at, topic.id))


def _summary(group: Group, known: frozenset[int]) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """The statements as one text, with the message each was drawn from and where it ends; see `Topic`."""
    text = ""
    cited: list[int] = []
    ends: list[int] = []
    for statement in group.statements[:MOST_STATEMENTS]:
        ids = [id_ for id_ in map(from_hex, dict.fromkeys(statement.sources)) if id_ in known]
        said = " ".join(statement.text.split())
        if not ids or not said or len(text) + len(said) > MOST_CHARS:
            continue
        text += f"\n{said}" if text else said
        cited += ids
        ends += [len(text)] * len(ids)
    return text, tuple(cited), tuple(ends)
