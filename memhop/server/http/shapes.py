"""JSON Schemas of what `to_dict()` makes of a result.

A schema is inline: an object, its nested objects inside it, no $ref, so that clients which know little can use it.
Nothing is required and other fields are allowed, since an operation may leave out what only repeats and add what its
readers need, and a reply that is too large loses texts and items and gets "cut" instead.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin

from memhop.api.results.base import Result, is_time

_PLAIN: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_FRAME: Mapping[str, dict[str, Any]] = {  # what `Operation.call` and `reply.py` add
    "remarks": {"type": "array", "items": {"type": "string"}},
    "cut": {"type": "object", "description": "What was left out since the reply would have been too large."},
}
_SPAN = {"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}}


def schema_of(result: type[Result] | None, *, nullable: bool = False) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a reply whose data is a result's `to_dict()`.

    Args:
        result: None: any object.
        nullable: Whether a field that may be null says so, as a list of types ("anyOf" where one will not do), as
            OpenAPI 3.1 has it. Strict clients of MCP refuse both; without, such a field has a description and no type.
    """
    if result is None:
        return {"type": "object", "properties": dict(_FRAME)}
    found = _object(result, nullable)
    own = found["properties"]
    for name, schema in _FRAME.items():
        if name not in own:
            own[name] = schema
        elif own[name] != schema:
            own[name] = {}  # either the result's own, or the frame's in its place
    return found


def _object(result: type[Result], nullable: bool) -> dict[str, Any]:
    hints = typing.get_type_hints(result)
    properties = {one.name: _field(one.name, hints[one.name], nullable) for one in fields(result)}  # type: ignore[arg-type]
    return {"type": "object", "properties": properties}


def _field(name: str, hint: Any, nullable: bool) -> dict[str, Any]:
    if get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [one for one in get_args(hint) if one is not types.NoneType]
        return _or_null([_field(name, one, nullable) for one in kinds], nullable)
    if name == "spans":
        return {"type": "array", "items": _SPAN}
    if hint is int and is_time(name):
        return {"type": "string", "format": "date-time"}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, Result):
        return _object(hint, nullable) if is_dataclass(hint) else {"type": "object"}
    inner = get_args(hint)
    if get_origin(hint) is tuple:
        same = len(inner) == 2 and inner[1] is Ellipsis
        return {"type": "array", "items": _field("", inner[0], nullable) if same else {}}
    if get_origin(hint) is dict:
        return {"type": "object", "additionalProperties": _field("", inner[1], nullable) or True}
    return {}  # anything


def _or_null(kinds: list[dict[str, Any]], nullable: bool) -> dict[str, Any]:
    if not nullable:
        return {"description": f"{' or '.join(kind.get('type', 'anything') for kind in kinds)}, or null"}
    if len(kinds) == 1 and "type" in kinds[0]:
        return {**kinds[0], "type": [kinds[0]["type"], "null"]}
    return {"anyOf": [*kinds, {"type": "null"}]}
