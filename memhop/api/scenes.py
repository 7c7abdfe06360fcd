"""`db.scenes` and `db.topics`: L2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhop.api import convert, results
from memhop.api.namespace import Namespace
from memhop.common.ids import from_hex
from memhop.repo import l2_context, l4_archive
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    pass


class Scenes(Namespace):
    """L2 scenes."""

    def get(self, id: str) -> results.Scene:
        """The scene. Raises NotFound, InvalidRequest."""
        return self._result(self._store.get(l2_context.Scene, from_hex(id)))

    def list(self, *, limit: int = 50, cursor: str | None = None, newest_first: bool = True) -> results.Page:
        """Scenes by the time of their last turn."""
        return self._page(l2_context.Scene, all_of(Kind.SCENE), self._result, limit, cursor, newest_first)

    def _result(self, scene: l2_context.Scene) -> results.Scene:
        store = self._store
        with store.lock:
            topics = store.views.groups.count(l2_context.topics_of(scene.id))
        return convert.scene(scene, topics)


class Topics(Namespace):
    """L2 topics: the turns of a scene."""

    def get(self, id: str) -> results.Topic:
        """The topic. Raises NotFound, InvalidRequest."""
        return convert.topic(self._store.get(l2_context.Topic, from_hex(id)))

    def list(
        self, scene_id: str, *, limit: int = 50, cursor: str | None = None, newest_first: bool = False
    ) -> results.Page:
        """Topics of a scene by the time of the user's message. Raises NotFound for an unknown scene."""
        scene = self._store.get(l2_context.Scene, from_hex(scene_id, field="scene_id"), field="scene_id")
        group = l2_context.topics_of(scene.id)
        return self._page(l2_context.Topic, group, convert.topic, limit, cursor, newest_first)

    def messages(self, topic_id: str) -> tuple[results.Message, ...]:
        """What was said in a topic, in order."""
        store = self._store
        topic = store.get(l2_context.Topic, from_hex(topic_id, field="topic_id"), field="topic_id")
        found = (store.find(l4_archive.Message, id_) for id_ in topic.messages)
        return tuple(convert.message(message) for message in found if message is not None)
