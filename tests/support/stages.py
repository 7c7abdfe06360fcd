"""Small stages for tests of what runs them: real ones, that plan on the records they find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from memhop.dream.stage import Change, Desk
from memhop.repo.l2_context import FRESH_SCENES, Scene, Topic, fused_id, topics_of
from memhop.repo.l4_archive import Message
from memhop.repo.record import Kind, Record, all_of


class Stage:
    """A stage made of a function."""

    def __init__(self, plan: Callable[[Desk], Iterable[Change]], name: str = "", *, by_scene: bool = False) -> None:
        self.name = name or plan.__name__
        self.by_scene = by_scene
        self._plan = plan

    def plan(self, desk: Desk) -> Iterator[Change]:
        """See `memhop.dream.stage.Stage`."""
        return iter(self._plan(desk))


def fresh_scenes(desk: Desk) -> list[Scene]:
    """The scenes a dream is asked for."""
    found = [scene for _, scene in desk.store.listed(Scene, FRESH_SCENES, limit=10_000)]
    desk.looked_at(len(found))
    return [scene for scene in found if desk.scene in (0, scene.id)]


def fuse(desk: Desk) -> Iterator[Change]:
    """Fuses neighbouring raw topics of fresh scenes in pairs, word for word, and then counts the scene as seen."""
    for scene in fresh_scenes(desk):
        listed = [topic for _, topic in desk.store.listed(Topic, topics_of(scene.id), limit=10_000)]
        raw = [topic for topic in listed if topic.depth == 1 and not topic.children]
        for pair in zip(raw[::2], raw[1::2], strict=False):
            said = [record for topic in pair for id_ in topic.messages if (record := desk.store.find(Message, id_))]
            yield fusion(scene, pair, said)
        yield Change("scene", "seen", (scene,), (msgspec.structs.replace(scene, fresh=0),))


def fusion(scene: Scene, members: tuple[Topic, ...], said: list[Message]) -> Change:
    """Members absorbed by one topic that quotes what was said."""
    ids = tuple(sorted(topic.id for topic in members))
    texts = [message.text for message in said]
    ends, length = [], 0
    for text in texts:
        length += len(text)
        ends.append(length)
    fused = Topic(
        id=fused_id(scene.id, ids),
        scene=scene.id,
        project=scene.project,
        children=ids,
        summary="".join(texts),
        ends=tuple(ends),
        sources=tuple(message.id for message in said),
        user_at=min(topic.user_at for topic in members),
    )
    absorbed = tuple(msgspec.structs.replace(topic, depth=topic.depth + 1, parent=fused.id) for topic in members)
    return Change("topic", f"{len(ids)} turns of one subject", tuple(members), (fused, *absorbed))


def rename(desk: Desk) -> Iterator[Change]:
    """Names every scene after its first message, cut short."""
    for scene in fresh_scenes(desk):
        name = f"named {scene.id % 1000}"
        if scene.name != name:
            yield Change("scene", f"{scene.name} -> {name}", (scene,), (msgspec.structs.replace(scene, name=name),))


def everything(desk: Desk) -> Iterator[Record]:
    """Every message, note, topic and scene."""
    for kind, record_type in ((Kind.MESSAGE, Message), (Kind.TOPIC, Topic), (Kind.SCENE, Scene)):
        for _, record in desk.store.listed(record_type, all_of(kind), limit=10_000):
            yield record
