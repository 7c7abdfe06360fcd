"""One question of a text task."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from memhop.common.errors import ChatError
from memhop.models.fence import prompt
from memhop.models.material import UNUSABLE
from memhop.models.structured import ask

if TYPE_CHECKING:
    import msgspec

    from memhop.models.chat import ChatModel

    Shape = TypeVar("Shape", bound=msgspec.Struct)


def asked(
    chat: ChatModel, task: str, user: str, shape: type[Shape], max_tokens: int, refused: Counter[str]
) -> Shape | None:
    """The reply to a task's question; None, and counted as unusable, if the model wrote something that does not do.

    Raises:
        ChatError: the model gave no reply.
    """
    try:
        return ask(chat, prompt(task), user, shape, max_tokens=max_tokens)
    except ChatError as error:
        if not error.about_content:
            raise
        refused[UNUSABLE] += 1
        return None
