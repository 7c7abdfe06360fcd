"""Text to text: what a chat model promises.

What a model replies is hostile until it was parsed and checked; see `structured`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from memhop.common.errors import ChatError
from memhop.models.http import plain

_MOST_COUNTED = 1 << 40


class Reply(NamedTuple):
    """One answer. Token counts are those of the service; 0 where it gave none."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatModel(Protocol):
    """Answers one question at a time. Implementations are safe to call from several threads."""

    @property
    def name(self) -> str:
        """The model's name, for reports and for `refined_by` of what it worked on."""
        ...

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        """The reply to a system and a user message.

        Args:
            max_tokens: Most tokens of the reply.
            schema: JSON schema (draft 2020-12, all strings and lists bounded) the reply is to follow. The model may
                ignore it.

        Raises:
            ChatError: there is no reply, or it was cut off, or a budget is used up. `retryable` says whether another
                try later may succeed.
        """
        ...


def complete(
    model: ChatModel, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None
) -> Reply:
    """The reply of any model. Those of a host may break their promise: whatever they raise becomes a ChatError.

    Raises:
        ChatError: as `ChatModel.complete`, or what came is no Reply with a text.
    """
    try:
        reply = model.complete(system, user, max_tokens=max_tokens, schema=schema)
        text, *counts = reply.text, reply.prompt_tokens, reply.completion_tokens
    except ChatError:
        raise
    except Exception as error:
        raise ChatError(plain(f"the model failed with {type(error).__name__}: {error}")) from error
    if not isinstance(text, str):
        raise ChatError("the model replied without text", retryable=False, about_content=True)
    return Reply(text, *map(count_of, counts))


def count_of(value: object) -> int:
    """A number of tokens as somebody else gives it; 0 for what is none."""
    return value if type(value) is int and 0 <= value <= _MOST_COUNTED else 0
