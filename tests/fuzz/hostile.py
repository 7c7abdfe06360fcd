"""Values that programs trip over, and how one of them gets into a JSON or MessagePack document."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import msgspec

INTEGERS = tuple(
    sorted(
        {0, 1, 2, 7, 8, 24, 255, 256, 4_095, 4_096, 8_192, 65_535, 65_536}
        | {2**bits + step for bits in (15, 26, 31, 32, 53, 63, 64) for step in (-8, -1, 0, 1)}
    )
)
_NUMBERS: tuple[Any, ...] = (
    *INTEGERS,
    -1,
    -8,
    -(2**31),
    -(2**63),
    10**30,
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
)
_OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    "0",
    "x" * 3_000,
    "\0",
    "\ud800",
    "Zürich 上周 🎈",
    [],
    {},
    [[]],
    {"": {}},
)
_DEEP = 5_000


def integer(rng: random.Random, near: int = 0) -> int:
    """A boundary value, something near another number, or any number."""
    return rng.choice((rng.choice(INTEGERS), near + rng.choice((-64, -8, -1, 1, 8, 64)), rng.getrandbits(64)))


def _replacement(value: Any, rng: random.Random) -> Any:
    if isinstance(value, int) and rng.random() < 0.7:
        return rng.choice((rng.choice(_NUMBERS), value + rng.choice((-64, -8, -1, 1, 8, 64))))
    if isinstance(value, str) and value and rng.random() < 0.5:
        at = rng.randrange(len(value))
        return value[:at] + rng.choice(("", "?", "é", "]", value)) + value[at + 1 :]
    return rng.choice((*_NUMBERS, *_OTHERS))


def mutated(document: Any, rng: random.Random) -> Any:
    """A copy of a document of dicts and lists with one place of it changed, left out, doubled or moved."""
    if isinstance(document, dict) and document and rng.random() < 0.9:
        key = rng.choice(sorted(document, key=str))
        rest = {name: value for name, value in document.items() if name != key}
        if rng.random() < 0.08:
            return rest
        if rng.random() < 0.05:
            return document | {str(integer(rng)): _replacement(None, rng)}
        return rest | {key: mutated(document[key], rng)}
    if isinstance(document, list) and document and rng.random() < 0.9:
        at = rng.randrange(len(document))
        item = document[at]
        way = rng.random()
        if way < 0.08:
            return document[:at] + document[at + 1 :]
        if way < 0.16:
            return [*document, item]
        if way < 0.2:
            return document[:at] + [item] * rng.choice((2, 300)) + document[at:]
        if way < 0.26:
            return rng.sample(document, len(document))
        return [*document[:at], mutated(item, rng), *document[at + 1 :]]
    return _replacement(document, rng)


def message_pack(payload: bytes, rng: random.Random) -> bytes:
    """A MessagePack document with one place of it changed, now and then to what JSON does not know."""
    try:
        document = msgspec.msgpack.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return payload
    changed = mutated(document, rng)
    if isinstance(changed, dict) and changed and rng.random() < 0.15:
        key = rng.choice(sorted(changed, key=str))
        changed[key] = rng.choice(
            (
                b"\xff\0",
                datetime(2026, 5, 28, tzinfo=UTC),
                msgspec.msgpack.Ext(5, b"?"),
                msgspec.Raw(b"\x91" * _DEEP + b"\xc0"),
                msgspec.Raw(b"\x81\xa1a" * _DEEP + b"\xc0"),
                msgspec.Raw(b"\x81\x91\xc0\x01"),  # a key that cannot be one in Python
                msgspec.Raw(b"\xdd\xff\xff\xff\xff"),  # four billion items, it says
                msgspec.Raw(b"\xa4\xff\xfe\x80\x80"),  # text that is no UTF-8
            )
        )
    try:
        return msgspec.msgpack.encode(changed)
    except (ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return payload
