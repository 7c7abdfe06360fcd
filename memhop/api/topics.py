"""`db.topics`: L2 topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from memhop.api import convert, results
from memhop.api.namespace import Namespace, guarded, ids_of
from memhop.common.config import check_flag, check_int, check_names, check_text
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex
from memhop.repo import l2_context
from memhop.repo.l2_context import DEEPEST, Scene, Topic

if TYPE_CHECKING:
    from memhop.repo.batch import Batch

MOST_KEYWORDS = 64  # given by the host
KEYWORD_CHARS = 100
MOST_MEMBERS = 64  # of a topic fused by hand
SUMMARY_BYTES = 64 * 1024  # given by the host


class Topics(Namespace):
    """L2 topics: the turns of a scene, and groups of turns fused into one.

    A fused topic stands above its members: it has a summary, they keep what was said. `DB.update` appends to a topic.
    """

    def get(self, id: str) -> results.Topic:
        """The topic. Raises NotFound, InvalidRequest."""
        return convert.topic(self._store.get(Topic, from_hex(id)))

    def list(
        self,
        scene_id: str,
        *,
        depth: int | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> results.Page:
        """Topics of a scene by the time of the user's message.

        Args:
            depth: Only those at this depth, 1..4; a page may then be short though `next` leads on. None: all.

        Raises:
            NotFound: no scene has this id. InvalidRequest.
        """
        scene = self._store.get(Scene, from_hex(scene_id, field="scene_id"), field="scene_id")
        group, keep = l2_context.topics_of(scene.id), None
        if depth is not None:
            check_int(depth, field="depth", low=1, high=DEEPEST)

            def keep(topic: Topic) -> bool:
                return topic.depth == depth

        return self._page(Topic, group, convert.topic, limit, cursor, newest_first, keep)

    def messages(self, topic_id: str) -> tuple[results.Message, ...]:
        """What was said in a topic, in order of time; of a fused one, what was said in all it was fused from."""
        from memhop.api.scene_context import said_in

        store = self._store
        topic = store.get(Topic, from_hex(topic_id, field="topic_id"), field="topic_id")
        return tuple(map(convert.message, said_in(store, topic)))

    def pin(self, id: str, pinned: bool = True) -> results.Topic:
        """Keep dreams from changing the topic, or let them again. Raises NotFound, InvalidRequest."""
        wanted, store = from_hex(id), self._store
        flag = check_flag(pinned, field="pinned")

        def fill(batch: Batch) -> Topic:
            topic = store.get(Topic, wanted)
            return topic if topic.pinned is flag else batch.put(msgspec.structs.replace(topic, pinned=flag))

        return convert.topic(store.write(fill))

    @guarded
    def refine(self, topic_id: str, keywords: Iterable[str] | None = None) -> results.Topic:
        """Give a topic other keywords, or have them worked out anew from all that was said in it.

        Args:
            keywords: Up to 64, most telling first, of up to 100 characters; they stand for the whole topic, and dreams
                leave the topic from then on (`edited`). None: worked out by the chat model if the memory was opened
                with one, which sees the first 3,000 characters of what the user said and of the replies; offline
                otherwise. Dreams may work on the topic again.

        Raises:
            NotFound, InvalidRequest. ChatError: the model gave no keywords of the messages; nothing is changed.
        """
        wanted, store = from_hex(topic_id, field="topic_id"), self._store
        if keywords is None:
            from memhop.api.refining import refine

            return convert.topic(refine(store, wanted, self._db._dreamer.purse(store)))
        names = list(keywords) if isinstance(keywords, Iterable) and not isinstance(keywords, str) else keywords
        chosen = check_names(names, field="keywords", most=MOST_KEYWORDS, max_chars=KEYWORD_CHARS)

        def fill(batch: Batch) -> Topic:
            topic = store.get(Topic, wanted, field="topic_id")
            given = {"user_keywords": chosen, "agent_keywords": (), "refined_by": "", "edited": True}
            return batch.put(msgspec.structs.replace(topic, **given))

        return convert.topic(store.write(fill))

    @guarded
    def merge(self, topic_ids: Iterable[str], summary: str | None = None) -> results.Topic:
        """Fuse topics of one scene into a topic above them. They sink by one depth and keep all they have.

        Args:
            topic_ids: 2 to 64 topics that are part of no other.
            summary: What the fused topic says, up to 64 KiB. None: sentences of the messages, word for word, each with
                the message it stands in.

        Returns:
            The fused topic. It is `edited`: dreams leave it.

        Raises:
            NotFound, InvalidRequest: nothing is changed then.
        """
        ids = ids_of(topic_ids, field="topic_ids", most=MOST_MEMBERS)
        if len(ids) < 2:
            raise InvalidRequest("one topic alone", field="topic_ids", allowed=f"2 to {MOST_MEMBERS} topics")
        if summary is not None:
            check_text(summary, field="summary", max_bytes=SUMMARY_BYTES)
        from memhop.api import fusing

        with self._store.writing() as batch:
            fused = fusing.merge(self._store, batch, ids, summary)
        return convert.topic(fused)

    def unmerge(self, topic_id: str) -> tuple[results.Topic, ...]:
        """Take a fused topic apart, whoever fused it: its members rise by one depth, and its summary is gone for good.

        Returns:
            The members, in order of time. They are `edited`, so that no dream fuses them again; `refine` gives a topic
            back to dreams.

        Raises:
            NotFound. InvalidRequest: it is a turn, made of no others.
        """
        wanted = from_hex(topic_id, field="topic_id")
        from memhop.api import fusing

        with self._store.writing() as batch:
            members = fusing.unmerge(self._store, batch, wanted)
        return tuple(map(convert.topic, members))

    def delete(self, id: str, *, dry_run: bool = False) -> results.Deleted:
        """Erase a topic for good, with all it was fused from and every word that was said in it.

        Args:
            dry_run: Only say what would be erased.

        Raises:
            NotFound: no topic has this id.

        Cost: about 0.15 ms per message, and reading the topics of its scene. The bytes leave the file at the next
            `compact()`.
        """
        from memhop.api.closure import delete_topic

        return delete_topic(self._store, from_hex(id), dry_run=check_flag(dry_run, field="dry_run"))
