"""What models write around, instead of and within the object they were asked for."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from memhop.common.errors import ChatError
from memhop.models.chat import Reply
from memhop.models.structured import MAX_REPLY_CHARS, ask, read, schema_of

Text = Annotated[str, Meta(max_length=40)]


class Part(Struct):
    members: Annotated[list[Text], Meta(max_length=3)]
    title: Literal["a", "b"] = "a"
    weight: float = 1.0


class Answer(Struct):
    groups: Annotated[list[Part], Meta(max_length=2)]


def object_of(*members: str) -> str:
    return json.dumps({"groups": [{"members": list(members)}]})


FOUND = Answer([Part(["x"])])
GOOD = {
    "bare": object_of("x"),
    "fenced": f"```json\n{object_of('x')}\n```",
    "fenced without a language": f"```\n{object_of('x')}\n```",
    "prose around": f"Sure! Here you are:\n\n{object_of('x')}\n\nAnything else? See [1].",
    "a footnote": object_of("x") + " See [1]",
    "thoughts": f"<think>Perhaps {object_of('wrong')}? No.</think>\n{object_of('x')}",
    "thoughts in capitals": f"\n<THINK>{object_of('wrong')}</THINK>{object_of('x')}",
    "thoughts whose start is in the prompt": f"Perhaps {object_of('wrong')}? No.</think>{object_of('x')}",
    "thoughts twice": f"<think>a</think><think>{object_of('wrong')}</think>{object_of('x')}",
    "two objects": object_of("x") + object_of("second"),
    "another object first": '{"note": "no groups here"}\n' + object_of("x"),
    "code first": 'int main() { std::map<int, int> m{{1, 2}}; puts("{"); }\n' + object_of("x"),
    "set of braces first": "In {this {set} of {\"braces\"}} " + object_of("x"),
    "within what another seemed to be": '{"see: ' + object_of("x"),
    "a list around": f"[{object_of('x')}]",
    "fields of its own": '{"mood": {"deep": [1]}, "groups": [{"members": ["x"], "why": null}]}',
    "nested lists of a field of its own": '{"mood": ' + "[" * 50 + "]" * 50 + ', "groups": [{"members": ["x"]}]}',
}  # fmt: skip


@pytest.mark.parametrize("wrapping", GOOD)
def test_the_object_is_found(wrapping: str) -> None:
    assert read(GOOD[wrapping], Answer) == FOUND


@pytest.mark.parametrize(
    "text", ["```x```", "{", "}}", '"', "\\", "<think>", "a </think> b", "See [1]", "line\nline", "三月\u2028", "[]{}"]
)
def test_what_stands_in_a_string_is_left_alone(text: str) -> None:
    assert read(object_of(text), Answer).groups[0].members == [text]
    assert read(f"<think>hm</think>```json\n{object_of(text)}\n```\nDone.", Answer).groups[0].members == [text]


BAD = {
    "empty": ("", "the reply is empty"),
    "blank": (" \n\t", "the reply is empty"),
    "refusal": ("I'm sorry, but I can't help with that.", "no JSON object in the reply: \"I'm sorry"),
    "fence without an object": ("```json\n```", "no JSON object"),
    "only thoughts": ("<think>" + object_of("x"), "ends within its thoughts"),
    "nothing behind the thoughts": (f"<think>{object_of('x')}</think>", "no JSON object"),
    "half an object": (object_of("x")[:-4], "the JSON is cut off"),
    "half a string": (object_of("xyz")[:-9], "the JSON is cut off"),
    "half an object in a fence": ("```json\n" + object_of("x")[:-3] + "\n```", "the JSON is cut off"),
    "a list": ('["x"]', "no JSON object"),
    "single quotes": ("{'groups': []}", "no JSON object"),
    "a missing comma": ('{"groups": [] "more": 1}', r"the JSON is broken \(Expecting ',' delimiter\)"),
    "no field": ("{}", "missing required field `groups`"),
    "wrong type": ('{"groups": "x"}', r"Expected `array`, got `str` - at `\$.groups`"),
    "a number as text": ('{"groups": [{"members": [7]}]}', r"got `int` - at `\$.groups\[0\].members\[0\]`"),
    "text as a number": ('{"groups": [{"members": [], "weight": "1"}]}', r"got `str` - at `\$.groups\[0\].weight`"),
    "null": ('{"groups": null}', "got `null`"),
    "too long a list": (object_of("a", "b", "c", "d"), r"`array` of length <= 3 - at `\$.groups\[0\].members`"),
    "too long a string": (object_of("a" * 41), r"`str` of length <= 40 - at `\$.groups\[0\].members\[0\]`"),
    "another choice": ('{"groups": [{"members": [], "title": "z"}]}', r"Invalid enum value 'z' - at `\$.groups\[0\]"),
    "a field twice": ('{"groups": [], "groups": [{"members": ["x"]}]}', "a field comes twice"),
    "NaN": ('{"groups": [{"members": [], "weight": NaN}]}', "NaN is no number"),
    "infinity": ('{"groups": [{"members": [], "weight": -Infinity}]}', "-Infinity is no number"),
    "a number beyond a float": ('{"groups": [{"members": [], "weight": 1e999}]}', "not JSON compliant"),
    "a number without end": ('{"groups": [{"members": [], "weight": ' + "9" * 9999 + "}]}", "."),
    "deep": ('{"a":' * 10_000, "nested too deeply"),
    "deep lists": ('{"a":' + "[" * 10_000, "nested too deeply"),
    "deep and closed": ('{"groups": [], "a":' + "[" * 10_000 + "]" * 10_000 + "}", "nested too deeply"),
    "10 MB": ("x" * 10_000_000, "longer than 1048576 characters"),
    "10 MB of braces": ("{" * 10_000_000, "longer than 1048576 characters"),
}


@pytest.mark.parametrize("kind", BAD)
def test_anything_else_is_one_error_with_one_line(kind: str) -> None:
    reply, reason = BAD[kind]
    with pytest.raises(ChatError, match=reason) as caught:
        read(reply, Answer)
    assert not caught.value.retryable
    assert caught.value.about_content
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 200


def test_an_error_holds_little_of_the_reply() -> None:
    secret = "s3cret " * 40
    for reply in (
        secret,
        object_of().replace("]}", '], "title": "' + secret + '"}', 1),
        object_of(secret),
        json.dumps({secret: 1}),
    ):
        with pytest.raises(ChatError) as caught:
            read(reply, Answer)
        assert str(caught.value).count("s3cret") * len("s3cret ") <= 80


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    """It is legal in JSON and in a str, and cannot be stored: the commit that met one failed."""
    for reply in ('{"groups": [{"members": ["a\\ud800b"]}]}', '{"groups": [{"members": ["a\ud800b"]}]}'):
        assert read(reply, Answer).groups[0].members == ["a?b"]
    assert read('{"groups": [{"members": ["\\ud83d\\ude00"]}]}', Answer).groups[0].members == ["\U0001f600"]


FULL = MAX_REPLY_CHARS
HOSTILE = {
    "braces": "{" * FULL,
    "braces and quotes": '{"' * (FULL // 2),
    "braces, quotes and spaces": '{ "' * (FULL // 3),
    "brace and spaces": "{" + " " * (FULL - 1),
    "objects that do not fit": '{"a":1}' * (FULL // 7),
    "objects that break": '{"a":1' * (FULL // 6),
    "objects within an unclosed one": '{"a":[' + '{"a":1},' * (FULL // 8 - 1),
    "a chain before a string without end": '{"a":' * 900 + '"' + "x" * (FULL - 5_000),
    "a chain before a list without end": '{"a":' * 900 + "[" + "1," * (FULL // 2 - 3_000),
    "chains": ('{"a":' * 900 + "x") * (FULL // 4_501),
    "chains that are too deep": '{"a":' * (FULL // 5),
    "lists that are too deep": "[" * FULL,
    "escapes": '{"' + "\\" * (FULL - 2),
    "escaped quotes": '{"\\' * (FULL // 3),
    "thoughts": "<think>" * (FULL // 7),
    "ends of thoughts": "</think>" * (FULL // 8),
    "numbers": '{"a":' + "9" * (FULL - 5),
    "NaN": '{"a":NaN' * (FULL // 8),
    "lines": "\n" * (FULL // 2) + '{"a"\n' * (FULL // 10),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_time_is_linear_whatever_it_says(kind: str) -> None:
    """A megabyte of opening brackets took a parser that tried each of them minutes, with a lock in its hand."""
    began = time.process_time()
    with pytest.raises(ChatError):
        read(HOSTILE[kind], Answer)
    assert time.process_time() - began < 10.0, "about 0.2 s is usual; a square would be hours"


def test_the_schema_has_no_references_and_no_room_for_more() -> None:
    part = {
        "type": "object",
        "properties": {
            "members": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 3},
            "title": {"enum": ["a", "b"]},
            "weight": {"type": "number"},
        },
        "required": ["members", "title", "weight"],
        "additionalProperties": False,
    }
    assert schema_of(Answer) == {
        "type": "object",
        "properties": {"groups": {"type": "array", "items": part, "maxItems": 2}},
        "required": ["groups"],
        "additionalProperties": False,
    }


class Scripted:
    """A host's own model."""

    name = "scripted"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, int, Mapping[str, Any] | None]] = []

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        self.asked.append((system, user, max_tokens, schema))
        if isinstance(self.answer, Exception):
            raise self.answer
        return Reply(self.answer)


def test_the_question_goes_out_with_the_schema() -> None:
    model = Scripted(object_of("x"))
    assert ask(model, "be brief", "what?", Answer, max_tokens=77) == Answer([Part(["x"])])
    assert model.asked == [("be brief", "what?", 77, schema_of(Answer))]


@pytest.mark.parametrize(
    "answer", [KeyError("choices"), RuntimeError("two\nlines " + "x" * 999), OSError(), None, b"{}", {"groups": []}]
)
def test_a_model_that_breaks_its_promise_is_a_chat_error(answer: Any) -> None:
    with pytest.raises(ChatError) as caught:
        ask(Scripted(answer), "", "", Answer, max_tokens=1)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 200


def test_what_the_client_says_is_passed_on() -> None:
    error = ChatError("m answered 429", retry_after_s=3.0)
    with pytest.raises(ChatError) as caught:
        ask(Scripted(error), "", "", Answer, max_tokens=1)
    assert caught.value is error
