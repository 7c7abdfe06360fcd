"""Texts of JSON as people write it, with what they say: a strategy for hypothesis."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]

_BLANKS = st.sampled_from(
    [
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\n\t",
        "\r\n  ",
        " // one\n",
        " /* two */ ",
        "\n  // three // 3\n  ",
        "/*{*/",
        "//\r\n",
    ]
)
_KEYS = st.sampled_from(["a", "b", "c", "other", "é", 'q"', "//", "mcpServers2"])
_SCALARS = st.sampled_from(
    ["1", "-0.5e3", "true", "false", "null", '""', '"x"', '"// no comment"', '"\\u00e9\\n"', '"/*"', '"鼓浪屿"', "1.0"]
)


def _value(draw: Draw, depth: int) -> str:
    kind = draw(st.integers(0, 5 if depth else 3))
    if kind == 4:
        return _object(draw, depth - 1, [])
    if kind == 5:
        items = [_value(draw, depth - 1) for _ in range(draw(st.integers(0, 3)))]
        return _joined(draw, "[", items, "]")
    return str(draw(_SCALARS))


def _object(draw: Draw, depth: int, fixed: list[tuple[str, str]]) -> str:
    keys = draw(st.lists(_KEYS, max_size=3, unique=True))
    members = [(key, _value(draw, depth)) for key in keys]
    for pair in fixed:
        members.insert(draw(st.integers(0, len(members))), pair)
    parts = [f"{json.dumps(key)}{draw(_BLANKS)}:{draw(_BLANKS)}{value}" for key, value in members]
    return _joined(draw, "{", parts, "}")


def _joined(draw: Draw, opening: str, parts: list[str], closing: str) -> str:
    text = opening
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        comma = "" if last and not draw(st.booleans()) else ","
        text += f"{draw(_BLANKS)}{part}{draw(_BLANKS)}{comma}"
    return text + str(draw(_BLANKS)) + closing


@st.composite
def documents(draw: Draw, *, servers: bool | None = None) -> str:
    """A text whose root is an object. `servers`: whether it has "mcpServers" with a member at least; None: perhaps."""
    fixed = []
    if servers or (servers is None and draw(st.booleans())):
        held = [("old", _value(draw, 1))] if servers else []
        fixed.append(("mcpServers", _object(draw, 1, held)))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return f"{mark}{draw(_BLANKS)}{_object(draw, 2, fixed)}{draw(_BLANKS)}"
