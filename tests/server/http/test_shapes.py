"""Schemas of results say what `to_dict()` gives: every result, whole, absent, and cut to fit."""

from __future__ import annotations

import types
import typing
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from jsonschema import Draft202012Validator, ValidationError

from memhop import DB
from memhop.api import results
from memhop.api.results.base import Result
from memhop.server.http.shapes import schema_of
from memhop.server.operation import Host
from memhop.server.operations import OPERATIONS

SHAPES: list[type[Result]] = [one for name in results.__all__ if (one := getattr(results, name)) is not Result]


def made(hint: Any, name: str, *, absent: bool) -> Any:
    """A value of a type; `absent`: None and empty wherever that may be."""
    if get_origin(hint) in (typing.Union, types.UnionType):
        return None if absent else made(get_args(hint)[0], name, absent=absent)
    if isinstance(hint, type) and issubclass(hint, Result):
        return instance(results.Named if hint is Result else hint, absent=absent)
    if name == "spans":
        return ((1_000, 2_000),)
    inner = get_args(hint)
    if get_origin(hint) is tuple:
        if inner[-1] is Ellipsis:
            return () if absent else (made(inner[0], "", absent=absent),) * 2
        return tuple(made(one, "", absent=absent) for one in inner)
    if get_origin(hint) is dict:
        return {} if absent else {"some": made(inner[1], "", absent=absent)}
    return {str: "words " * 60, int: 7, float: 0.5, bool: True}.get(hint, {"any": ["thing"]})


def instance(shape: type[Result], *, absent: bool) -> Result:
    hints = typing.get_type_hints(shape)
    return shape(**{one.name: made(hints[one.name], one.name, absent=absent) for one in fields(shape)})  # type: ignore[arg-type]


def parts(schema: Any) -> list[dict[str, Any]]:
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    own = [schema] if isinstance(schema, dict) else []
    return own + [part for one in inner for part in parts(one)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_what_to_dict_gives_fits_the_schema(shape: type[Result]) -> None:
    for nullable in (False, True):
        schema = schema_of(shape, nullable=nullable)
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        for absent in (False, True):
            data = instance(shape, absent=absent).to_dict()
            Draft202012Validator(schema).validate(data)
            assert set(data) <= set(schema["properties"])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_strict_clients_find_nothing_they_refuse(shape: type[Result]) -> None:
    for part in parts(schema_of(shape)):
        assert not {"$ref", "anyOf", "oneOf", "allOf"} & part.keys()
        assert not isinstance(part.get("type"), list)


def test_what_does_not_fit_is_seen() -> None:
    note = instance(results.Note, absent=False).to_dict()
    changes: tuple[dict[str, Any], ...] = (
        {"id": 5}, {"tags": "one"}, {"created_at": 1_700_000_000_000}, {"pinned": "yes"}, {"metadata": []},
    )  # fmt: skip
    for change in changes:
        for nullable in (False, True):
            with pytest.raises(ValidationError):
                Draft202012Validator(schema_of(results.Note, nullable=nullable)).validate(note | change)
    with pytest.raises(ValidationError):
        Draft202012Validator(schema_of(results.Note, nullable=True)).validate(note | {"status": 5})


def test_real_replies_fit_also_when_they_are_cut(tmp_path: Path) -> None:
    with DB.open(tmp_path / "agent.meh") as db:
        for number in range(30):
            db.remember(f"tea number {number}: " + "leaves " * 400, tags=["tea"], status="new")
        recall = OPERATIONS["memhop_recall"]
        for room in (100, 3_000, 12_000, 1_000_000):
            reply = recall.call(Host(), db, {"query": "tea", "limit": 10**9}, room=room)
            assert not reply.failed
            assert "cut" in reply.data or room == 1_000_000
            for nullable in (False, True):
                Draft202012Validator(schema_of(recall.result, nullable=nullable)).validate(reply.data)
        assert "remarks" in reply.data


def test_results_with_remarks_of_their_own_take_those_of_the_frame_too() -> None:
    report = instance(results.ImportReport, absent=False).to_dict()
    schema = schema_of(results.ImportReport)
    for remarks in ({"lines": 3}, ["limit 10 was lowered to 5"]):
        Draft202012Validator(schema).validate(report | {"remarks": remarks})
