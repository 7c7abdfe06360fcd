"""The stage "place": messages that were only appended get a scene and a topic, as if they had been said in the loop.

A *turn* is a message of the user and what follows it, up to the next one; where both speak as users, up to the next one
of the same speaker. It becomes a topic. A *scene* is a stretch of one session: it ends where nothing was said for six
hours, or after 40 topics, from which on the agent loop too would rather begin another. Without a session, what lies
less than 30 minutes apart belongs together.

Of a message nothing but its scene and topic is filled in. Keywords of topics are left to the stage that refines them:
working them out here would take as long as everything else together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from memhop.common.ids import make_id, to_hex
from memhop.dream.stage import Change
from memhop.dream.wording import Wording, spelt
from memhop.repo.l2_context import NAME_KEYWORDS, Scene, Topic, scene_name, topics_of
from memhop.repo.l4_archive import LOOSE, Message, session_group
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    from memhop.dream.stage import Desk
    from memhop.repo.store import Store

MINUTE_MS: Final = 60_000
PAUSE_MS: Final = 6 * 60 * MINUTE_MS  # without a word, within a session, that ends a scene
NAMELESS_PAUSE_MS: Final = 30 * MINUTE_MS  # the same where messages have no session
SCENE_TOPICS: Final = 40
TOPIC_MESSAGES: Final = 20


class Stretch(NamedTuple):
    """Messages of one session and project without a long pause, by id, in the order of time."""

    project: str
    session: str
    ids: list[int]

    @property
    def pause(self) -> int:
        return PAUSE_MS if self.session else NAMELESS_PAUSE_MS


class Placing:
    """See the module."""

    name = "place"

    def plan(self, desk: Desk) -> Iterator[Change]:
        if desk.scene:
            return
        wording = Wording(desk.store)
        for stretch in _stretches(desk):
            messages = [message for id_ in stretch.ids if (message := _still_loose(desk.store, id_)) is not None]
            before = _scene_before(desk.store, stretch, messages[0]) if messages else None
            room = SCENE_TOPICS - _topics(desk.store, before) if before is not None else SCENE_TOPICS
            turns = _turns(messages)
            while turns:
                if desk.stopping():
                    return
                yield _placed(desk.store, wording, stretch, turns[:room], before)
                turns, room, before = turns[room:], SCENE_TOPICS, None


def _stretches(desk: Desk) -> list[Stretch]:
    """Everything that has no topic, by when it begins; equal ones by their first message.

    What was said at one time, as in an import that knows only the day, stays in the order in which it came.
    """
    open_: dict[tuple[str, str], Stretch] = {}
    ends: dict[tuple[str, str], int] = {}
    found: list[Stretch] = []
    for message in _as_they_came(desk.store):
        desk.looked_at(1)
        key = (message.project, message.session)
        stretch = open_.get(key)
        if stretch is None or message.at - ends[key] > stretch.pause:
            stretch = open_[key] = Stretch(message.project, message.session, [])
            found.append(stretch)
        stretch.ids.append(message.id)
        ends[key] = message.at
    return found


def _as_they_came(store: Store) -> Iterator[Message]:
    """Messages without a topic by time, those of one time by when they were stored."""
    for _, places in groupby(store.members(LOOSE), key=itemgetter(0)):
        ids = [id_ for _, id_ in places]
        if len(ids) > 1:
            with store.lock:
                arrived = store.views.units.ordinals(np.array(ids, np.uint64)).tolist()
            ids = [id_ for _, id_ in sorted(zip(arrived, ids, strict=True))]
        for id_ in ids:
            message = store.readable(Message, id_)
            if message is not None:
                yield message


def _still_loose(store: Store, id_: int) -> Message | None:
    message = store.readable(Message, id_)
    return message if message is not None and not message.topic else None


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        turn = turns[-1] if turns else None
        if turn is None or len(turn) == TOPIC_MESSAGES or _opens(message, turn[0]):
            turns.append([message])
        else:
            turn.append(message)
    return turns


def _opens(message: Message, opener: Message) -> bool:
    return message.role == "user" and (opener.role != "user" or message.speaker == opener.speaker)


def _scene_before(store: Store, stretch: Stretch, first: Message) -> Scene | None:
    """The scene of what was said in this session just before, if it may go on."""
    group = session_group(stretch.session) if stretch.session else all_of(Kind.MESSAGE)
    page = store.listed(Message, group, after=(first.at, first.id), limit=1, descending=True)
    last = page[0][1] if page else None
    if last is None or not last.topic or (last.project, last.session) != (stretch.project, stretch.session):
        return None
    if first.at - last.at > stretch.pause:
        return None
    scene = store.readable(Scene, last.scene)
    if scene is None or scene.pinned or scene.edited or _topics(store, scene) >= SCENE_TOPICS:
        return None
    return scene


def _topics(store: Store, scene: Scene) -> int:
    with store.lock:
        return store.views.groups.count(topics_of(scene.id))


def _placed(
    store: Store, wording: Wording, stretch: Stretch, turns: Sequence[Sequence[Message]], before: Scene | None
) -> Change:
    """The change that puts some turns into a scene: the one before, or a new one."""
    messages = [message for turn in turns for message in turn]
    first, last = messages[0], messages[-1]
    if before is None:
        words = spelt(wording.top(wording.counted(messages), NAME_KEYWORDS), messages)
        scene = Scene(
            id=make_id("scene", "placed", stretch.project, stretch.session, first.id, taken=_taken(store)),
            name=scene_name(words, first.text, first.at),
            project=stretch.project,
            session=stretch.session,
            created_at=first.at,
            last_at=last.at,
            fresh=len(messages),
        )
    else:
        last_at, fresh = max(before.last_at, last.at), before.fresh + len(messages)
        scene = msgspec.structs.replace(before, last_at=last_at, fresh=fresh)
    topics = [_topic(store, scene, turn) for turn in turns]
    said = [
        msgspec.structs.replace(message, scene=scene.id, topic=topic.id)
        for topic, turn in zip(topics, turns, strict=True)
        for message in turn
    ]
    goes_on = "a scene begins" if before is None else f"the scene {to_hex(scene.id)} goes on"
    return Change(
        what="scene",
        why=f"{len(messages)} messages without a topic make {len(topics)} turns, with which {goes_on}",
        reads=(*([before] if before is not None else []), *messages),
        puts=(scene, *topics, *said),
    )


def _topic(store: Store, scene: Scene, turn: Sequence[Message]) -> Topic:
    replies = turn[1:]
    return Topic(
        id=make_id("topic", scene.id, "placed", turn[0].id, taken=_taken(store)),
        scene=scene.id,
        project=scene.project,
        user_at=turn[0].at,
        agent_at=max((message.at for message in replies), default=0),
        messages=tuple(message.id for message in turn),
    )


def _taken(store: Store) -> Callable[[int], bool]:
    return lambda id_: store.file.locate(id_) is not None
