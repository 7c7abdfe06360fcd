"""What chat may cost, held against models that fail, lie about their counts, and never get tired."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from memhop import Budget
from memhop.common.errors import ChatError, InvalidRequest
from memhop.models.chat import Reply
from memhop.models.metered import Metered, estimated

NO_LIMIT = Budget(calls_per_day=None, tokens_per_day=None, tokens_per_call=None)
SYSTEM, USER = "be brief", "what?"
PROMPT = 4  # tokens, as estimated


class Model:
    """A host's own model: answers out of a list, the last for ever."""

    name = "own"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.before: Callable[[], object] = lambda: None

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        self.asked += 1
        self.before()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]


def ask(model: Metered, max_tokens: int = 10) -> Reply:
    return model.complete(SYSTEM, USER, max_tokens=max_tokens)


def failures_of(model: Metered, times: int) -> list[str]:
    reasons = []
    for _ in range(times):
        with pytest.raises(ChatError) as caught:
            ask(model)
        reasons.append(str(caught.value))
    return reasons


def test_calls_and_tokens_are_counted() -> None:
    model = Metered(Model(Reply("Hello.", 7, 3), Reply("Hello.", 5, 2)), NO_LIMIT)
    assert ask(model) == Reply("Hello.", 7, 3)
    ask(model)
    assert (model.calls, model.prompt_tokens, model.completion_tokens, model.tokens) == (2, 12, 5, 17)
    assert model.name == "own"


def test_what_a_service_does_not_count_is_estimated() -> None:
    model = Metered(Model(Reply("four bytes make one")), NO_LIMIT)
    assert ask(model) == Reply("four bytes make one", PROMPT, 5)
    assert (model.prompt_tokens, model.completion_tokens) == (PROMPT, 5)
    assert estimated("三月三日") == 3
    assert estimated("\ud800") == 1


@pytest.mark.parametrize("count", [-5, True, "many", None, 10**40, float("nan")])
def test_counts_that_are_none_are_estimated(count: Any) -> None:
    model = Metered(Model(Reply("Hello.", count, count)), NO_LIMIT)
    ask(model)
    assert (model.prompt_tokens, model.completion_tokens) == (PROMPT, 2)


def test_a_call_beyond_its_limit_is_not_sent() -> None:
    inner = Model(Reply("Hello."))
    model = Metered(inner, Budget(tokens_per_call=PROMPT + 10))
    ask(model, 10)
    with pytest.raises(ChatError, match="tokens_per_call = 14") as caught:
        ask(model, 11)
    assert (caught.value.retryable, caught.value.about_content) == (False, True)
    assert (inner.asked, model.calls) == (1, 1)


def test_calls_of_a_day_end() -> None:
    inner = Model(Reply("Hello."))
    model = Metered(inner, Budget(calls_per_day=5), spent_calls=3)
    ask(model)
    ask(model)
    for _ in range(5):
        with pytest.raises(ChatError, match="calls_per_day = 5 is used up") as caught:
            ask(model)
        assert caught.value.retryable
        assert not caught.value.about_content
    assert inner.asked == 2


def test_tokens_of_a_day_end_before_they_are_spent() -> None:
    inner = Model(Reply("Hello.", PROMPT, 6))
    model = Metered(inner, Budget(tokens_per_day=100), spent_tokens=75)
    ask(model)  # 75 + at most 14
    ask(model)  # 85 + at most 14
    with pytest.raises(ChatError, match="tokens_per_day = 100 does not hold"):
        ask(model)  # 95 + at most 14
    assert (inner.asked, model.tokens) == (2, 20)


def test_a_loop_that_feeds_on_itself_ends() -> None:
    """One day of an observer that observed itself took 345 million tokens."""
    inner = Model(Reply("more", 900, 100))
    model = Metered(inner, Budget())
    for _ in range(100_000):
        try:
            ask(model)
        except ChatError:
            continue
    assert inner.asked <= 1_000
    assert model.tokens <= 1_000_000


def test_threads_together_keep_the_budget() -> None:
    """Each of eight threads saw the budget before the others had spent it, and all of them went ahead."""
    inner = Model(Reply("Hello.", PROMPT, 10))
    start, arrived = threading.Event(), threading.Semaphore(0)

    def hold() -> None:
        arrived.release()
        start.wait(10)

    inner.before = hold
    model = Metered(inner, Budget(tokens_per_day=3 * 14, calls_per_day=None))
    refused: list[str] = []

    def run() -> None:
        try:
            ask(model)
        except ChatError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        assert arrived.acquire(timeout=10)
    for _ in range(100):
        if len(refused) == 5:
            break
        threading.Event().wait(0.05)
    start.set()
    for thread in threads:
        thread.join()
    assert (inner.asked, model.tokens, len(refused)) == (3, 42, 5)


def test_after_three_failures_the_model_is_left_alone() -> None:
    inner = Model(ChatError("m answered 503"))
    model = Metered(inner, NO_LIMIT)
    reasons = failures_of(model, 6)
    assert reasons == ["m answered 503"] * 3 + ["the model failed 3 times in a row: m answered 503"] * 3
    assert (inner.asked, model.calls, model.tokens) == (3, 3, 0)


def test_a_success_in_between_starts_anew() -> None:
    down, up = ChatError("m answered 503"), Reply("Hello.")
    inner = Model(down, down, up, down, down, up)
    model = Metered(inner, NO_LIMIT)
    failures_of(model, 2)
    ask(model)
    failures_of(model, 2)
    assert ask(model).text == up.text
    assert inner.asked == 6


def test_questions_the_model_dislikes_are_no_failures_of_the_model() -> None:
    cut = ChatError("cut off at 10 tokens", retryable=False, about_content=True, tokens=14)
    inner = Model(Reply("Hello.", 1, 1), *[cut] * 9, Reply("Hello.", 1, 1))
    model = Metered(inner, NO_LIMIT)
    ask(model)
    assert failures_of(model, 9) == ["cut off at 10 tokens"] * 9
    ask(model)
    assert (inner.asked, model.tokens) == (11, 4 + 9 * 14), "what was cut off was paid for"


def test_a_model_that_dislikes_everything_from_the_start_does_not_work() -> None:
    inner = Model(ChatError("m answered 400", retryable=False, about_content=True))
    assert failures_of(Metered(inner, NO_LIMIT), 5)[-1] == "the model failed 3 times in a row: m answered 400"
    assert inner.asked == 3


@pytest.mark.parametrize("answer", [KeyError("choices"), RuntimeError(), None, "text", ("text",), Reply(None)])  # type: ignore[arg-type]
def test_a_model_that_breaks_its_promise_gives_its_share_back(answer: Any) -> None:
    inner = Model(answer, Reply("Hello.", PROMPT, 10))
    model = Metered(inner, Budget(tokens_per_day=2 * 14))
    failures_of(model, 1)
    ask(model)
    ask(model)
    assert (model.calls, model.tokens) == (3, 28)


@pytest.mark.parametrize("field", ["calls_per_day", "tokens_per_day", "tokens_per_call"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "many", 1 << 60])
def test_a_budget_is_checked(field: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Budget(**{field: value})
    assert caught.value.field == field
