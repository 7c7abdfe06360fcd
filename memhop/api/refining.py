"""Keywords of one topic, worked out anew from all that was said in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memhop.api.scene_context import said_in
from memhop.models.offline import keywords

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel
    from memhop.repo.l2_context import Topic
    from memhop.repo.store import Store

KEYWORDS = 12  # of the user's words, and twice as many of the others'


def refined(store: Store, topic: Topic, chat: ChatModel | None) -> dict[str, Any]:
    """The fields of the topic that change. Asks the model without any lock. Raises ChatError."""
    said = said_in(store, topic)
    users = [message for message in said if message.role == "user"]
    others = [message for message in said if message.role != "user"]
    if topic.children:
        users, others = said, []
    return {
        "user_keywords": tuple(keywords("\n".join(message.text for message in users), KEYWORDS)),
        "agent_keywords": tuple(keywords("\n".join(message.text for message in others), 2 * KEYWORDS)),
        "refined_by": "",
        "edited": False,
    }
