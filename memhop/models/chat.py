"""Text to text: what a chat model promises.

What a model replies is hostile until it was parsed and checked; see `structured`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


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
