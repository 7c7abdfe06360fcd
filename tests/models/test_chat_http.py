"""OpenAIChat and OllamaChat against a real server, well-behaved and otherwise."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from memhop import OllamaChat, OpenAIChat
from memhop.common.errors import ChatError, InvalidRequest
from memhop.models.chat import Reply
from memhop.models.chat_remote import LIMIT_BYTES, RemoteChat
from memhop.models.structured import ask as ask_for
from tests.models.test_structured import BAD, FOUND, GOOD, Answer
from tests.support.model_server import (
    FAULTS,
    Asked,
    Fault,
    ModelServer,
    Said,
    Script,
    closed,
    half_body,
    html,
    silent,
    slow,
    status,
    tells_the_key,
    tokens_of,
)

KEY = "sk-secret-4711"
TIMEOUT = 0.25
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
SLOW = ("silent", "drip", "drip_headers")
Make = Callable[..., RemoteChat]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer("Hello.") as running:
        yield running


@pytest.fixture(params=["openai", "ollama"])
def make(request: pytest.FixtureRequest, server: ModelServer) -> Iterator[Make]:
    opened: list[RemoteChat] = []

    def build(script: Script | None = None, *, retries: int = 0, timeout: float = 5.0, **more: Any) -> RemoteChat:
        if script is not None:
            server.script = script
        built: RemoteChat
        if request.param == "ollama":
            built = OllamaChat(server.url, "stub", timeout=timeout, retries=retries, **more)
        else:
            built = OpenAIChat("stub", f"{server.url}/v1", KEY, timeout=timeout, retries=retries, **more)
        opened.append(built)
        return built

    yield build
    for model in opened:
        model.close()


def ask(model: RemoteChat, user: str = "what?", *, schema: Any = None, max_tokens: int = 50) -> Reply:
    return model.complete("be brief", user, max_tokens=max_tokens, schema=schema)


def test_a_reply_and_its_tokens(server: ModelServer, make: Make) -> None:
    assert ask(make()) == Reply("Hello.", tokens_of("be brief") + tokens_of("what?"), 2)
    assert (server.asked[0].system, server.asked[0].user) == ("be brief", "what?")
    assert make().name == "stub"


def test_what_is_asked_for_is_sent(server: ModelServer) -> None:
    """A client that left out a temperature of 0 got the server's default, which is 1: nothing was deterministic."""
    openai = OpenAIChat("stub", server.url, KEY)
    ask(openai, schema=SCHEMA)
    openai.close()
    body = server.asked[0].body
    assert (body["temperature"], body["max_tokens"], body["model"]) == (0.0, 50, "stub")
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
    }
    ollama = OllamaChat(server.url, "stub", temperature=0.5, context=2048)
    ask(ollama, schema=SCHEMA)
    ollama.close()
    body = server.asked[1].body
    assert body["options"] == {"temperature": 0.5, "num_predict": 50, "num_ctx": 2048}
    assert (body["format"], body["stream"], body["model"]) == (SCHEMA, False, "stub")


def test_without_a_schema_no_form_is_asked_for(server: ModelServer, make: Make) -> None:
    ask(make())
    assert not {"format", "response_format"} & set(server.asked[0].body)


@pytest.mark.parametrize("path", ["", "/v1", "/v4/", "/openai/deep"])
def test_any_base_url_is_taken_as_it_is(path: str) -> None:
    """A client that put /v1 behind every URL could not reach services that are at /v4 or elsewhere."""
    paths = []

    class Anywhere(ModelServer):
        def post(self, wire: Any) -> None:
            paths.append(wire.asked.path)
            self.say(wire, "ok")

    with Anywhere() as server:
        model = OpenAIChat("stub", server.url + path)
        assert ask(model).text == "ok"
        model.close()
    assert paths == [f"{path.rstrip('/')}/chat/completions"]


def test_construction_opens_no_socket(server: ModelServer, make: Make) -> None:
    make()
    assert server.connections == 0


def test_importing_and_constructing_loads_no_client() -> None:
    code = (
        "import sys, memhop; memhop.OllamaChat('http://127.0.0.1:1', 'm'); memhop.Budget();"
        "memhop.OpenAIChat('m', 'http://127.0.0.1:1/v1');"
        "print(sorted({'openai', 'httpx', 'numpy', 'msgspec', 'ssl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


# -- what goes wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_one_error_with_one_line(make: Make, name: str) -> None:
    model = make([FAULTS[name], "Hello."], timeout=TIMEOUT if name in SLOW else 5.0)
    with pytest.raises(ChatError) as caught:
        ask(model)
    error = caught.value
    assert str(error).isprintable()
    assert len(str(error)) <= 260
    assert error.code == 9002
    passing = {*SLOW, "closed", "html", "half_body", "half_json", "deep_json", "http_429", "http_500", "http_503"}
    assert error.retryable == (name in passing)
    assert error.about_content == (name == "http_400")
    assert ask(model).text == "Hello.", "a failure must not spoil the next call"


@pytest.mark.parametrize("name", FAULTS)
def test_the_key_is_in_no_error_and_no_repr(name: str) -> None:
    with ModelServer(FAULTS[name]) as server:
        model = OpenAIChat("stub", server.url, KEY, timeout=TIMEOUT, retries=0)
        with pytest.raises(ChatError) as caught:
            ask(model)
        model.close()
        assert KEY in server.asked[0].headers["authorization"]
    shown = [repr(model), str(caught.value), repr(caught.value), str(caught.value.to_dict())]
    assert not any(KEY in text or KEY[-8:] in text for text in shown), "not even a part of it"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_reasons_say_what_happened(make: Make) -> None:
    expected: list[tuple[Fault | Said, str]] = [
        (silent, f"did not answer within {TIMEOUT} s"),
        (FAULTS["drip"], f"the reply took longer than {TIMEOUT} s"),
        (FAULTS["drip_headers"], f"did not answer within {TIMEOUT} s"),
        (FAULTS["http_404"], "404: model 'stub' not found"),
        (FAULTS["http_429"], "429: rate limit"),
        (html, "not JSON: '<html>"),
        (closed, "cannot be reached: RemoteProtocolError"),
        (half_body, "cannot be reached: RemoteProtocolError"),
        (FAULTS["huge"], "longer than 4194304 bytes"),
        (FAULTS["packed"], "compressed"),
        (FAULTS["no_fields"], "answered without a"),
        (tells_the_key, "answered 401$"),
        (Said("half a sent", "length"), "the reply of stub was cut off at 50 tokens"),
        (Said("no", "content_filter"), "withheld the reply of stub: content_filter"),
        (Said(None, "tool_calls"), r"stub replied without text \(tool_calls\)"),
        (Said(" \n", None), "stub replied without text$"),
    ]
    model = make([fault for fault, _ in expected], timeout=TIMEOUT)
    for _, words in expected:
        with pytest.raises(ChatError, match=words):
            ask(model)


def test_a_reply_that_was_cut_off_says_what_it_took(server: ModelServer, make: Make) -> None:
    """Half an answer was taken for a whole one, because nobody looked at why it ended."""
    with pytest.raises(ChatError) as caught:
        ask(make([Said('{"a": 1}', "length"), "unused"], retries=3))
    assert not caught.value.retryable, "the same again would end at the same place"
    assert caught.value.about_content
    assert caught.value.tokens == server.prompt_tokens + server.completion_tokens > 0
    assert server.calls == 1


@pytest.mark.parametrize("finish", ["stop", "eos", "", None, "end_turn"])
def test_any_other_end_is_fine_if_there_is_text(make: Make, finish: str | None) -> None:
    assert ask(make(Said("Hello.", finish))).text == "Hello."


def test_a_refusal_is_no_reply(server: ModelServer) -> None:
    server.script = Said(None, message={"refusal": "I cannot help with that."})
    model = OpenAIChat("stub", server.url)
    with pytest.raises(ChatError, match="withheld"):
        ask(model)
    model.close()


def test_text_in_parts_is_put_together(server: ModelServer) -> None:
    parts = [{"type": "thinking", "text": "no"}, {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}, 7]
    server.script = Said(None, message={"content": parts})
    model = OpenAIChat("stub", server.url)
    assert ask(model).text == "Hello"
    model.close()


@pytest.mark.parametrize("count", [-1, True, "7", 1.5, None, 10**30])
def test_counts_that_are_none_are_zero(make: Make, count: Any) -> None:
    def odd(wire: Any) -> None:
        usage = {"prompt_tokens": count, "completion_tokens": 3}
        choice = {"message": {"content": "Hello."}, "finish_reason": ["stop"]}
        message = {"content": "Hello."}
        wire.json(
            200,
            {"choices": [choice], "usage": usage, "message": message, "prompt_eval_count": count} | {"eval_count": 3},
        )

    assert ask(make(Fault(odd))) == Reply("Hello.", 0, 3)


def test_half_a_surrogate_pair_goes_neither_out_nor_in(server: ModelServer, make: Make) -> None:
    assert ask(make("a\ud800b"), "c\udfffd").text == "a?b"
    assert server.asked[0].user == "c?d"


def test_a_gateway_that_answers_200_for_a_failure(server: ModelServer) -> None:
    server.script = Fault(lambda wire: wire.json(200, {"error": {"message": "upstream is overloaded", "code": 529}}))
    model = OpenAIChat("stub", server.url, retries=0)
    with pytest.raises(ChatError, match="upstream is overloaded") as caught:
        ask(model)
    assert caught.value.retryable
    model.close()


def test_nobody_listening_is_a_chat_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    for model in (OpenAIChat("m", url, retries=0), OllamaChat(url, "m", retries=0)):
        with pytest.raises(ChatError, match="cannot be reached") as caught:
            ask(model)
        assert caught.value.retryable
        model.close()


def test_whatever_is_around_the_object_it_is_found(make: Make) -> None:
    model = make(list(GOOD.values()))
    for wrapping in GOOD:
        assert ask_for(model, "be brief", "what?", Answer, max_tokens=50) == FOUND, wrapping


def test_an_object_that_does_not_do_is_an_error(make: Make) -> None:
    """Each of these once stopped a whole run with a parse error, or was stored as half of what had been said."""
    model = make([reply for reply, _ in BAD.values()])
    for kind, (reply, reason) in BAD.items():
        with pytest.raises(ChatError) as caught:
            ask_for(model, "be brief", "what?", Answer, max_tokens=50)
        assert caught.value.about_content or len(reply) > LIMIT_BYTES, kind
        early = "replied without text" if not reply.strip() else "longer than 4194304 bytes"
        assert re.search(f"{reason}|{early}", str(caught.value)), kind


# -- time ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SLOW)
def test_the_timeout_is_the_one_that_was_set(make: Make, name: str) -> None:
    """A setting of 0.5 s was read, stored and ignored: a caller hung on a silent service for the client's own 600 s."""
    model = make(FAULTS[name], timeout=0.5)
    began = time.monotonic()
    with pytest.raises(ChatError):
        ask(model)
    assert 0.4 < time.monotonic() - began < 8.0


def test_a_slow_reply_within_the_timeout_is_waited_for(make: Make) -> None:
    assert ask(make(slow(0.3, "at last"), timeout=9.0)).text == "at last"


def test_a_passing_failure_is_tried_again(server: ModelServer, make: Make) -> None:
    assert ask(make([FAULTS["http_429"], closed, "Hello."], retries=2)).text == "Hello."
    assert len(server.asked) == 3


def test_a_lasting_failure_is_not_tried_again(server: ModelServer, make: Make) -> None:
    with pytest.raises(ChatError):
        ask(make(status(401), retries=3))
    assert len(server.asked) == 1


def test_retries_end(server: ModelServer, make: Make) -> None:
    with pytest.raises(ChatError):
        ask(make(FAULTS["http_429"], retries=2))
    assert len(server.asked) == 3


def test_retry_after_is_waited_out(server: ModelServer, make: Make) -> None:
    """A client that ignored it asked again at once, and was locked out for longer each time."""
    model = make([status(429, retry_after="0.7"), "Hello."], retries=1)
    began = time.monotonic()
    assert ask(model).text == "Hello."
    assert time.monotonic() - began >= 0.7


def test_a_long_pause_is_left_to_the_caller(server: ModelServer, make: Make) -> None:
    with pytest.raises(ChatError) as caught:
        ask(make(status(503, retry_after="90"), retries=3))
    assert len(server.asked) == 1
    assert (caught.value.retryable, caught.value.retry_after_s) == (True, 90.0)


def test_threads_share_a_model(server: ModelServer, make: Make) -> None:
    model = make(lambda asked: asked.user)
    heard: dict[int, str] = {}
    threads = [
        threading.Thread(target=lambda at=at: heard.update({at: ask(model, f"say {at}").text})) for at in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {at: f"say {at}" for at in range(8)}


def test_a_closed_model_connects_again(server: ModelServer, make: Make) -> None:
    model = make()
    for _ in range(2):
        assert ask(model).text == "Hello."
        model.close()
    assert server.connections == 2


def test_closing_from_another_thread_ends_a_call(make: Make) -> None:
    model = make(slow(0.5), timeout=9.0)
    timer = threading.Timer(0.2, model.close)
    timer.start()
    try:
        ask(model)
    except ChatError as error:
        assert error.retryable  # noqa: PT017 - whether the reply still comes through depends on the moment
    timer.join()
    assert ask(make("again")).text == "again"


# -- falling back --------------------------------------------------------------------------------------------


class Picky:
    """A service that knows only some of the parameters, and says so as the named ones do."""

    def __init__(self, *forms: str, limit: str = "max_tokens", tempered: bool = True) -> None:
        self.forms = forms
        self.limit = limit
        self.tempered = tempered

    def __call__(self, asked: Asked) -> str | Fault:
        form: str = asked.body.get("response_format", {"type": "none"})["type"]
        if "format" in asked.body:
            form = "json_object" if asked.body["format"] == "json" else "json_schema"
        if form != "none" and form not in self.forms:
            return status(
                400, f"Invalid parameter: 'response_format' of type '{form}' is not supported with this model."
            )
        if self.limit not in asked.body and "options" not in asked.body:
            return status(400, f"Unsupported parameter: 'max_tokens' is not supported. Use '{self.limit}' instead.")
        if not self.tempered and "temperature" in asked.body:
            return status(400, "Unsupported value: 'temperature' does not support 0 with this model.")
        return form


@pytest.mark.parametrize(
    ("forms", "works", "requests"),
    [(("json_schema",), "json_schema", 1), (("json_object",), "json_object", 2), ((), "none", 3)],
)
def test_the_form_falls_back_and_is_remembered(
    server: ModelServer, make: Make, forms: tuple[str, ...], works: str, requests: int
) -> None:
    model = make(Picky(*forms))
    assert ask(model, schema=SCHEMA).text == works
    assert len(server.asked) == requests
    assert ask(model, schema=SCHEMA).text == works
    assert len(server.asked) == requests + 1, "the second call knows"


@pytest.mark.parametrize(
    ("structured", "form"), [("schema", "json_schema"), ("object", "json_object"), ("none", "none")]
)
def test_a_form_that_was_chosen_stays(server: ModelServer, make: Make, structured: str, form: str) -> None:
    assert ask(make(Picky("json_schema", "json_object"), structured=structured), schema=SCHEMA).text == form
    if structured != "none":
        with pytest.raises(ChatError, match="400"):
            ask(make(Picky(), structured=structured), schema=SCHEMA)


def test_other_names_and_no_temperature(server: ModelServer) -> None:
    """Models that reason take `max_completion_tokens` and no temperature, and refuse what every other service wants."""
    server.script = Picky(limit="max_completion_tokens", tempered=False)
    model = OpenAIChat("stub", server.url)
    assert ask(model, schema=SCHEMA).text == "none"
    assert len(server.asked) == 5
    assert server.asked[-1].body.keys() == {"model", "messages", "max_completion_tokens"}
    ask(model, schema=SCHEMA)
    assert len(server.asked) == 6
    model.close()


def test_an_objection_to_the_prompt_changes_nothing(server: ModelServer, make: Make) -> None:
    """What is too long is told in terms of max_tokens, too. What was changed in vain is not kept."""
    words = "'max_tokens' or 'temperature' is too large: this model's maximum context length is 4096 tokens"
    model = make(status(400, words))
    with pytest.raises(ChatError, match="too large") as caught:
        ask(model, schema=SCHEMA)
    assert caught.value.about_content
    assert len(server.asked) <= 3
    server.script = "Hello."
    ask(model, schema=SCHEMA)
    assert server.asked[0].body == server.asked[-1].body


# -- redaction -----------------------------------------------------------------------------------------------


def test_both_messages_are_redacted(server: ModelServer, make: Make) -> None:
    model = make(redact=lambda text: text.replace("4711", "[number]"))
    model.complete("system 4711", "user 4711", max_tokens=5)
    assert (server.asked[0].system, server.asked[0].user) == ("system [number]", "user [number]")
    assert "4711" not in json.dumps(server.asked[0].body)


@pytest.mark.parametrize("gives", [None, 7, b"bytes", ValueError("cannot redact 4711")])
def test_without_redaction_nothing_is_sent(server: ModelServer, make: Make, gives: Any) -> None:
    def redact(text: str) -> Any:
        if isinstance(gives, Exception):
            raise gives
        return gives

    with pytest.raises(ChatError, match="nothing was sent") as caught:
        make(redact=redact, retries=2).complete("system", "user 4711", max_tokens=5)
    assert not caught.value.retryable
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ == isinstance(gives, Exception)
    assert server.connections == 0


# -- arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", " "),
        ("timeout", 0),
        ("timeout", float("nan")),
        ("retries", 6),
        ("temperature", -1),
        ("temperature", float("nan")),
        ("temperature", "0"),
        ("structured", "json"),
        ("redact", "text"),
    ],
)
def test_arguments_are_checked(field: str, value: object) -> None:
    for build, where in ((OpenAIChat, {"base_url": "http://h"}), (OllamaChat, {"url": "http://h"})):
        arguments: dict[str, Any] = {"model": "m", **where, field: value}
        with pytest.raises(InvalidRequest) as caught:
            build(**arguments)
        assert caught.value.field == field


def test_a_key_is_wanted_where_it_belongs(monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(InvalidRequest, match="api_key"):
        OpenAIChat("m")
    with pytest.raises(InvalidRequest, match="base_url") as caught:
        OpenAIChat("m", "http://me:pw-4711@host/v1")
    assert "4711" not in str(caught.value)
    with pytest.raises(InvalidRequest, match="context"):
        OllamaChat("http://h", "m", context=10)
    model = OpenAIChat("stub", server.url)
    ask(model)
    model.close()
    assert not any(KEY in value for value in server.asked[0].headers.values())


@pytest.mark.parametrize("tokens", [0, -1, 1.5, True, None])
def test_the_number_of_tokens_is_checked(make: Make, tokens: Any) -> None:
    with pytest.raises(InvalidRequest, match="max_tokens"):
        ask(make(), max_tokens=tokens)


def test_a_client_of_the_caller_is_used_and_left_open(server: ModelServer) -> None:
    with httpx.Client(headers={"x-mine": "yes"}, timeout=5.0) as client:
        model = OpenAIChat("stub", server.url, http_client=client)
        ask(model)
        model.close()
        assert not client.is_closed
        assert server.asked[0].headers["x-mine"] == "yes"
        server.script = FAULTS["huge"]
        with pytest.raises(ChatError, match="longer than"):
            ask(model)
