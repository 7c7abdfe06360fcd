"""What chat with a model may cost, counted and held: a loop that asks a thousand times must end before the bill.

Free of files and clocks: whoever keeps the days says what was spent today, and reads afterwards what was added.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memhop.common.config import check_int
from memhop.common.errors import ChatError
from memhop.models.chat import ChatModel, Reply, complete, count_of
from memhop.models.http import plain

_LARGEST = 1 << 53
_GIVE_UP_AFTER = 3  # failures in a row


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Most that chat with a model may take. None: no limit.

    Attributes:
        calls_per_day: Questions asked in 24 hours. A dream asks a few per scene; a thousand is a busy day, and a loop
            gone wild ends there. A client's own tries of one question count once.
        tokens_per_day: Tokens of prompts and replies in 24 hours. A million is a few hundred usual calls, and less than
            a dollar with the small models that do for this work.
        tokens_per_call: Tokens of one prompt with the most its reply may have. What a small model reads well, and fits
            the usual context of local servers.

    Raises:
        InvalidRequest: a limit is no whole number of at least 1.
    """

    calls_per_day: int | None = 1_000
    tokens_per_day: int | None = 1_000_000
    tokens_per_call: int | None = 16_000

    def __post_init__(self) -> None:
        for field in ("calls_per_day", "tokens_per_day", "tokens_per_call"):
            value = getattr(self, field)
            if value is not None:
                check_int(value, field=field, low=1, high=_LARGEST)


class Metered:
    """A ChatModel that counts what another one takes, and asks it nothing that would go beyond a budget.

    It also stops for good after three failures in a row: of a service that does not work, the fourth answer is known.
    Failures about the content of one question (`ChatError.about_content`) count for that only until something worked.
    Safe to use from several threads: what is on its way counts as if it took all it may.

    Args:
        spent_calls, spent_tokens: What went off the budget of the day before.
    """

    def __init__(self, model: ChatModel, budget: Budget, *, spent_calls: int = 0, spent_tokens: int = 0) -> None:
        self._model = model
        self._budget = budget
        self._spent_calls = spent_calls
        self._spent_tokens = spent_tokens
        self._lock = threading.Lock()
        self._on_their_way = 0
        self._worked = False
        self._failures = 0
        self._last_reason = ""
        self.calls = 0
        """Questions that went out through this object, also those that failed."""
        self.prompt_tokens = 0
        """Of the replies; estimated where the service counted none. Failed calls count here what the service named."""
        self.completion_tokens = 0

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def tokens(self) -> int:
        """Tokens taken through this object."""
        return self.prompt_tokens + self.completion_tokens

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        """See `ChatModel.complete`. Token counts of the reply are as they are counted here.

        Raises:
            ChatError: of the model; or nothing was sent, because the call is larger than any may be (not retryable,
                `about_content`), the budget of the day does not hold it, or the model failed too often (retryable).
        """
        prompt = estimated(system) + estimated(user)
        self._reserve(prompt, prompt + max_tokens)
        try:
            reply = complete(self._model, system, user, max_tokens=max_tokens, schema=schema)
        except BaseException as error:
            self._settle(prompt + max_tokens, failed=error)
            raise
        counted = Reply(reply.text, reply.prompt_tokens or prompt, reply.completion_tokens or estimated(reply.text))
        self._settle(prompt + max_tokens, counted)
        return counted

    def _reserve(self, prompt: int, most: int) -> None:
        budget = self._budget
        if budget.tokens_per_call is not None and most > budget.tokens_per_call:
            raise ChatError(
                f"a call of {prompt} tokens and a reply of {most - prompt} is beyond tokens_per_call = "
                f"{budget.tokens_per_call}",
                retryable=False,
                about_content=True,
            )
        with self._lock:
            if self._failures >= _GIVE_UP_AFTER:
                raise ChatError(f"the model failed {self._failures} times in a row: {self._last_reason}")
            calls = self._spent_calls + self.calls + 1
            if budget.calls_per_day is not None and calls > budget.calls_per_day:
                raise ChatError(f"calls_per_day = {budget.calls_per_day} is used up")
            tokens = self._spent_tokens + self.tokens + self._on_their_way + most
            if budget.tokens_per_day is not None and tokens > budget.tokens_per_day:
                raise ChatError(f"tokens_per_day = {budget.tokens_per_day} does not hold this call any more")
            self.calls += 1
            self._on_their_way += most

    def _settle(self, reserved: int, reply: Reply | None = None, *, failed: BaseException | None = None) -> None:
        with self._lock:
            self._on_their_way -= reserved
            if reply is not None:
                self.prompt_tokens += reply.prompt_tokens
                self.completion_tokens += reply.completion_tokens
                self._failures, self._worked = 0, True
            elif isinstance(failed, ChatError):
                self.prompt_tokens += count_of(failed.tokens)
                if not (self._worked and failed.about_content):
                    self._failures += 1
                    self._last_reason = plain(str(failed))


def estimated(text: str) -> int:
    """About how many tokens a text is: four bytes of UTF-8 to one, which suits English and Chinese alike."""
    return -(-len(text.encode("utf-8", "replace")) // 4)
