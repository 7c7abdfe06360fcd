"""`db.scenes`: L2 scenes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from memhop.api import convert, results
from memhop.api.namespace import Namespace, guarded, ids_of
from memhop.common.config import check_flag, check_int, check_name, check_project
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex
from memhop.repo import l2_context
from memhop.repo.l2_context import DEEPEST, Scene
from memhop.repo.record import Kind, all_of, project_key

if TYPE_CHECKING:
    from memhop.repo.batch import Batch

MOST_SCENES = 100  # merged into one by one call
MOST_TOPICS = 1_000  # split off by one call
MOST_SHOWN = 100  # topics of one context


class Scenes(Namespace):
    """L2 scenes: stretches of conversation about one subject.

    What the host does here is meant: it works on pinned and edited scenes too, and dreams leave the result alone where
    a docstring says so.
    """

    def get(self, id: str) -> results.Scene:
        """The scene. Raises NotFound, InvalidRequest."""
        return self._result(self._store.get(Scene, from_hex(id)))

    def list(
        self,
        *,
        project: str | None = None,
        fresh: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = True,
    ) -> results.Page:
        """Scenes by the time of their last turn.

        Args:
            project: Only those of this project. None: all.
            fresh: Only those with messages which no dream has looked at. With `project` too, a page may be short
                though `next` leads on.
        """
        group, keep = all_of(Kind.SCENE), None
        if project is not None:
            group = l2_context.scenes_in(check_project(project))
        if check_flag(fresh, field="fresh"):
            group = l2_context.FRESH_SCENES
            if project is not None:

                def keep(scene: Scene) -> bool:
                    return project_key(scene.project) == project_key(project)

        return self._page(Scene, group, self._result, limit, cursor, newest_first, keep)

    def context(
        self,
        id: str,
        *,
        query: str | None = None,
        depth: int = 1,
        limit: int = 20,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> results.SceneContext:
        """The topics of a scene, each with what was said in it, messages in order of time.

        Args:
            query: Topics that bear on this, best first, as `recall` ranks them. None: all, by time.
            depth: How deep to look, 1..4. 1: fused topics with all that was said in them, and turns that are part of
                none. 2 and more: these taken apart, level by level. Each message stands under one topic. What is cold
                is shown at 4 only, or under the fused topic it is part of.
            limit: Most topics, 1..100. Of each at most 256 messages are shown, 1,000 in all; `left_out` counts.
            cursor, newest_first: As for `list`; not with `query`.

        Raises:
            NotFound, InvalidRequest.

        Cost: reads the records shown, and those of the topics passed over.
        """
        check_int(depth, field="depth", low=1, high=DEEPEST)
        check_int(limit, field="limit", low=1, high=MOST_SHOWN)
        from memhop.api import scene_context

        store = self._store
        scene = store.get(Scene, from_hex(id))
        following = None
        if query is None:
            with store.lock:
                topics, following = scene_context.by_time(
                    store, scene, depth=depth, limit=limit, cursor=cursor, newest_first=newest_first
                )
        elif cursor is not None:
            raise InvalidRequest("what bears on a question has one page", field="cursor", allowed="None with `query`")
        else:
            topics = scene_context.by_relevance(self._db._recaller, scene, query, depth=depth, limit=limit)
        return results.SceneContext(scene=self._result(scene), topics=topics, next=following)

    @guarded
    def rename(self, id: str, name: str) -> results.Scene:
        """Give a scene a name of up to 200 characters, which dreams leave. Raises NotFound, InvalidRequest."""
        return self._change(id, name=check_name(name, field="name"), edited=True)

    def pin(self, id: str, pinned: bool = True) -> results.Scene:
        """Keep dreams from changing the scene, or let them again. Raises NotFound, InvalidRequest."""
        return self._change(id, pinned=check_flag(pinned, field="pinned"))

    def merge(self, primary: str, secondaries: Iterable[str]) -> results.Scene:
        """Move all that is in some scenes into another one, in one commit; the emptied ones are gone for good.

        Topics of all depths and their messages move; what the scenes were associated with, how often they were
        recalled, and links to them are joined with those of the primary one, which keeps its name, its session and
        whether it is pinned.

        Args:
            primary: The scene that stays.
            secondaries: 1 to 100 others, of the same project.

        Returns:
            The primary scene. It counts as fresh, so that the next dream looks at it.

        Raises:
            NotFound: one of them is no scene. InvalidRequest: the primary one is among the others, projects differ, or
                more than 100,000 records would move. Nothing is changed then.

        Cost: rewrites every message that moves, about 0.1 ms each.
        """
        into = from_hex(primary, field="primary")
        others = ids_of(secondaries, field="secondaries", most=MOST_SCENES)
        if into in others:
            raise InvalidRequest("the primary scene is among them", field="secondaries", allowed="other scenes")
        from memhop.api import moving

        with self._store.writing() as batch:
            merged = moving.merge(self._store, batch, into, others)
        return self._result(merged)

    @guarded
    def split(self, id: str, topic_ids: Iterable[str], name: str | None = None) -> results.Scene:
        """Move some topics of a scene into a new one, with their messages and all they were fused from.

        Args:
            topic_ids: 1 to 1,000 topics that are part of no fused topic (a fused one takes its members along); not all.
            name: Of the new scene, kept by dreams. None: made of keywords and date.

        Returns:
            The new scene. Both count as fresh; associations and counters stay with the old one, which gets a new name
            unless the host gave it the one it has.

        Raises:
            NotFound, InvalidRequest: nothing is changed then.
        """
        wanted = ids_of(topic_ids, field="topic_ids", most=MOST_TOPICS)
        if name is not None:
            check_name(name, field="name")
        scene_id = from_hex(id)
        from memhop.api import moving

        with self._store.writing() as batch:
            new = moving.split(self._store, batch, scene_id, wanted, name)
        return self._result(new)

    def delete(self, id: str, *, dry_run: bool = False) -> results.Deleted:
        """Erase a scene for good, with its topics and every word that was said in it, as `forget(hard=True)` does.

        Args:
            dry_run: Only say what would be erased.

        Raises:
            NotFound: no scene has this id.

        Cost: about 0.15 ms per message. The bytes leave the file at the next `compact()`.
        """
        from memhop.api.closure import delete_scene

        return delete_scene(self._store, from_hex(id), dry_run=check_flag(dry_run, field="dry_run"))

    def _change(self, id: str, **values: object) -> results.Scene:
        wanted, store = from_hex(id), self._store

        def fill(batch: Batch) -> Scene:
            scene = store.get(Scene, wanted)
            changed = msgspec.structs.replace(scene, **values)
            return scene if changed == scene else batch.put(changed)

        return self._result(store.write(fill))

    def _result(self, scene: Scene) -> results.Scene:
        store = self._store
        with store.lock:
            topics = store.views.groups.count(l2_context.topics_of(scene.id))
        return convert.scene(scene, topics)
