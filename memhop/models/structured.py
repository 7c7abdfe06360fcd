"""A question to a chat model whose answer has a shape: the schema goes out with it, and what comes back is distrusted.

Models wrap the object that was asked for in thoughts, fences and prose, cut it off, or write something else. Here it
is found, and decoded strictly; nothing is repaired or guessed, because half an answer reads like a whole one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from memhop.common.errors import ChatError
from memhop.models.chat import complete
from memhop.models.http import plain

if TYPE_CHECKING:
    import msgspec

    from memhop.models.chat import ChatModel

    Shape = TypeVar("Shape", bound=msgspec.Struct)

MAX_REPLY_CHARS = 1_048_576
_SHOWN_CHARS = 60  # of a reply, in a message
_PASSES = 8  # a reply is read this often, counting every attempt on it; what is not found by then is not there
_OBJECT = re.compile(r'\{\s*["}]')
_THOUGHT = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def ask(model: ChatModel, system: str, user: str, shape: type[Shape], *, max_tokens: int) -> Shape:
    """What the model answers, as a `shape`. One call of the model; `read` says how the answer is found.

    Args:
        shape: A msgspec.Struct with every string and list bounded by msgspec.Meta, no field of its own kind within
            it, and at least one field without a default: else any object would fit.
        max_tokens: Most tokens of the reply.

    Raises:
        ChatError: the model gave no reply, or none that fits.
    """
    return read(complete(model, system, user, max_tokens=max_tokens, schema=schema_of(shape)).text, shape)


def read(reply: str, shape: type[Shape]) -> Shape:
    """The first JSON object of a reply that fits the shape.

    Prose and fences around it do not matter, nor do fields that the shape does not have. Thoughts are passed over:
    what stands before the last `</think>`, unless within a string of the object. Objects within an object are not
    tried. A field that comes twice, NaN, and numbers beyond a float are no JSON. Half a surrogate pair becomes "?".

    Cost: at most a constant number of passes over the reply, whatever it says.

    Raises:
        ChatError: no such object; not retryable, `about_content`. One line, at most 60 characters of the reply in it.
    """
    import msgspec

    if len(reply) > MAX_REPLY_CHARS:
        _refuse(f"the reply is longer than {MAX_REPLY_CHARS} characters")
    if not reply.strip():
        _refuse("the reply is empty")
    thoughts_end = max((found.end() for found in _THOUGHT_ENDS.finditer(reply)), default=0)
    at = 0
    if _THOUGHT.match(reply):
        ended = _THOUGHT_ENDS.search(reply)
        if ended is None:
            _refuse("the reply ends within its thoughts")
        at = ended.end()
    work = _PASSES * len(reply)
    misfit = broken = ""
    while work > 0 and (found := _OBJECT.search(reply, at)):
        at = found.start()
        try:
            value, end = _DECODER.raw_decode(reply, at)
        except (ValueError, RecursionError) as error:
            # A string without an end was read to the end, an error of another kind does not say how far it came; and
            # the parser counts the lines before each of its errors, hence the hundredth.
            stopped = error.pos if isinstance(error, json.JSONDecodeError) else len(reply)
            end = len(reply) if reply.startswith('"', stopped) else stopped
            work -= end - at + 1 + len(reply) // 100
            if isinstance(error, json.JSONDecodeError):
                broken = broken or _fault(error, reply)
            else:
                misfit = misfit or _fault(error, reply)
            at += 1
            continue
        work -= end - at
        at = end
        if end <= thoughts_end:
            continue
        try:
            # By way of bytes: half a surrogate pair, which Python's parser lets through, could not be stored.
            written = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
            return msgspec.json.decode(written, type=shape)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            misfit = misfit or _fault(error, reply)
    if misfit or broken:
        _refuse(f"the reply does not fit: {misfit or broken}")
    return _refuse(f"no JSON object in the reply: {plain(reply[:_SHOWN_CHARS])!r}")


@cache
def schema_of(shape: type[msgspec.Struct]) -> Mapping[str, Any]:
    """The JSON schema of a shape as services take it: without references, every field required, no others allowed.

    Not every service follows references from the root, and those that are strict want each field to be written.
    Decoding is more lenient: a field with a default may be missing, and unknown ones are left out.
    """
    import msgspec

    whole = msgspec.json.schema(shape)
    named = whole.pop("$defs", {})

    def plainly(part: Any) -> Any:
        if isinstance(part, list):
            return [plainly(one) for one in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return plainly(named[part["$ref"].rpartition("/")[2]])
        made = {key: plainly(value) for key, value in part.items() if key not in ("title", "default")}
        if isinstance(part.get("properties"), dict):
            # The names of fields are not keywords of the schema: a field may be called "title".
            made["properties"] = {name: plainly(value) for name, value in part["properties"].items()}
            made["required"] = list(part["properties"])
            made["additionalProperties"] = False
        return made

    schema: Mapping[str, Any] = plainly(whole)
    return schema


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field comes twice")
    return fields


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)


def _fault(error: Exception, reply: str) -> str:
    """What is wrong with an object, and where, with little of what it says."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        cut = error.msg.startswith("Unterminated") or error.pos >= len(reply.rstrip("` \n"))
        return "the JSON is cut off" if cut else f"the JSON is broken ({error.msg})"
    # Such as "Invalid enum value 'what the model wrote' - at `$.groups[0].kind`".
    head, at, tail = str(error).rpartition(" - at `$")
    return plain(f"{(head if at else tail)[:_SHOWN_CHARS]}{at}{tail[:_SHOWN_CHARS] if at else ''}")


def _refuse(reason: str) -> NoReturn:
    raise ChatError(reason, retryable=False, about_content=True)
