"""Keywords of one topic, worked out anew from all that was said in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from memhop.api.scene_context import said_in
from memhop.common.errors import ChatError
from memhop.common.ids import to_hex
from memhop.models.material import Said
from memhop.models.offline import keywords
from memhop.repo.l2_context import Topic

if TYPE_CHECKING:
    from memhop.dream.purse import Purse
    from memhop.models.chat import ChatModel
    from memhop.repo.l4_archive import Message
    from memhop.repo.store import Store

KEYWORDS = 12  # of the user's words, and twice as many of the others'
_TRIES = 3  # when something is said or erased while a model is asked
_NAME_CHARS = 80  # of a model, as it is noted


def refine(store: Store, id_: int, purse: Purse | None) -> Topic:
    """Replace the keywords of a topic. The model is asked without any lock, and what that costs is written down.

    Raises:
        NotFound: no topic has this id. ChatError: the model gave no keyword that is in the messages, or the topic
            changed each time it was asked.
    """
    chat = purse.meter(anew=True) if purse is not None else None
    for _ in range(_TRIES):
        topic = store.get(Topic, id_, field="topic_id")
        said = said_in(store, topic)
        found = None if chat is None else _by_model(chat, topic, said)
        with store.writing() as batch:
            if purse is not None:
                purse.settle(batch)
            topic = store.get(Topic, id_, field="topic_id")
            now = said_in(store, topic)
            if found is None:
                user, others = _offline(topic, now)
            elif now == said:
                user, others = found
            else:
                continue  # words that went meanwhile must not come back as keywords
            changed = msgspec.structs.replace(
                topic,
                user_keywords=user,
                agent_keywords=others,
                refined_by=chat.name[:_NAME_CHARS] if chat is not None else "",
                edited=False,
            )
            return batch.put(changed)
    raise ChatError("the topic was another each time the model had answered", retryable=True)


def _offline(topic: Topic, said: Sequence[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    user, others = _texts(topic, said)
    return tuple(keywords(user, KEYWORDS)), tuple(keywords(others, 2 * KEYWORDS))


def _by_model(chat: ChatModel, topic: Topic, said: Sequence[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from memhop.models import tasks

    texts = [
        Said(to_hex(number), topic.user_at, "", text)
        for number, text in enumerate(_texts(topic, said), 1)
        if text.strip()
    ]
    answer = tasks.keywords(chat, texts, 2 * KEYWORDS)
    if texts and not answer.value:
        reasons = ", ".join(sorted(answer.refused)) or "it named none"
        raise ChatError(f"no keywords: {reasons}")
    return answer.value.get(to_hex(1), ())[:KEYWORDS], answer.value.get(to_hex(2), ())


def _texts(topic: Topic, said: Sequence[Message]) -> tuple[str, str]:
    """What the user said and what the others did; of a fused topic all in the first."""
    user = [message.text for message in said if topic.children or message.role == "user"]
    others = [message.text for message in said if not (topic.children or message.role == "user")]
    return "\n".join(user), "\n".join(others)
