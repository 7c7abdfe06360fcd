"""Arguments from models and strangers: what can mean one thing only is taken, all else is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common.errors import InvalidRequest
from memhop.server.parameters import (
    Choice,
    Fields,
    Flag,
    Id,
    Kind,
    Listed,
    Number,
    Parameters,
    Table,
    Text,
    Time,
    Whole,
)

KINDS: dict[str, Kind] = {
    "text": Text("Words."),
    "blank": Text("Words, or none.", low=0),
    "id": Id("An id."),
    "limit": Whole("Most.", 1, 100),
    "share": Number("A share."),
    "flag": Flag("Whether."),
    "tier": Choice("Which.", ("active", "archived")),
    "at": Time("When."),
    "metadata": Table("More."),
    "link": Fields("A link.", {"target": Id("To."), "type": Text("How.")}, ("target",)),
    "ids": Listed("Some.", Id("One."), 1, 3),
    "items": Listed("Several.", Fields("", {"text": Text("Words.")}, ("text",)), 0, 2),
}
ONE = "00c0ffee00c0ffee"


def everything(
    host: object,
    db: object,
    *,
    text: Annotated[str, KINDS["text"]],
    limit: Annotated[int, KINDS["limit"]] = 20,
    tier: Annotated[str, KINDS["tier"]] = "active",
    project: Annotated[str | None, Text("Where.")] = None,
    tags: Annotated[list[str] | None, Listed("Words.", Text(""))] = None,
) -> None:
    """All of it."""


TAKEN: list[Any] = [
    ("limit", 5, 5), ("limit", "5", 5), ("limit", " 5 ", 5), ("limit", 5.0, 5), ("limit", "5.0", 5), ("limit", 1, 1),
    ("limit", 100, 100), ("limit", 10**9, 100), pytest.param("limit", 10**400, 100, id="huge"),
    ("limit", "1000000000", 100),
    ("share", 0, 0.0), ("share", 1, 1.0), ("share", "0.5", 0.5),
    ("flag", True, True), ("flag", "true", True), ("flag", "False", False), ("flag", 0, False), ("flag", "no", False),
    ("tier", "archived", "archived"), ("tier", " Archived ", "archived"),
    ("text", " x ", " x "), ("blank", "", ""),
    ("id", ONE, ONE), ("id", ONE.upper(), ONE), ("id", f" #{ONE}", ONE),
    ("at", "2026-03-01T09:00:00Z", datetime(2026, 3, 1, 9, tzinfo=UTC)),
    ("at", "2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)), ("at", 1234, 1234), ("at", "1234", 1234), ("at", 5.0, 5),
    ("metadata", {"a": [1]}, {"a": [1]}), ("metadata", '{"a": 1}', {"a": 1}),
    ("link", {"target": ONE}, {"target": ONE}), ("link", f'{{"target": "{ONE}"}}', {"target": ONE}),
    ("link", {"target": ONE, "type": None}, {"target": ONE}),
    ("ids", [ONE], [ONE]), ("ids", ONE, [ONE]), ("ids", f'["{ONE}"]', [ONE]), ("ids", (ONE, ONE), [ONE, ONE]),
    ("items", [{"text": "x"}], [{"text": "x"}]), ("items", {"text": "x"}, [{"text": "x"}]), ("items", [], []),
]  # fmt: skip
REFUSED: list[Any] = [
    ("limit", 0, "limit"), ("limit", -1, "limit"), ("limit", 1.5, "limit"), ("limit", "x", "limit"),
    ("limit", True, "limit"), ("limit", [], "limit"), ("limit", {}, "limit"), ("limit", float("nan"), "limit"),
    ("limit", float("inf"), "limit"), ("limit", "inf", "limit"), ("limit", "", "limit"), ("limit", "1e", "limit"),
    ("limit", "²", "limit"), pytest.param("limit", "9" * 5000, "limit", id="many digits"),
    ("share", 1.1, "share"), ("share", -0.1, "share"), ("share", "half", "share"), ("share", False, "share"),
    ("flag", "maybe", "flag"), ("flag", 2, "flag"), ("flag", [], "flag"), ("flag", 0.0, "flag"),
    ("tier", "all", "tier"), ("tier", 1, "tier"), ("tier", ["active"], "tier"),
    ("text", "", "text"), ("text", 1, "text"), ("text", ["x"], "text"), ("blank", {}, "blank"),
    ("id", 10**18, "id"), ("id", "c0ffee", "id"), ("id", "x" * 16, "id"), ("id", "../../etc/passwd", "id"),
    ("at", "yesterday", "at"), ("at", True, "at"), ("at", 1.5, "at"), ("at", [], "at"), ("at", "", "at"),
    pytest.param("at", "9" * 400, "at", id="late"),
    ("metadata", "x", "metadata"), ("metadata", [], "metadata"),
    ("metadata", "[1]", "metadata"),
    ("metadata", {1: 2}, "metadata"), pytest.param("metadata", "[" * 100_000, "metadata", id="deep"),
    pytest.param("metadata", " " * 2_000_000, "metadata", id="long"),
    ("link", {}, "link.target"), ("link", {"target": "x"}, "link.target"), ("link", "x", "link"), ("link", [], "link"),
    ("link", {"target": ONE, "kind": "x"}, "link.kind"),
    ("ids", [], "ids"), ("ids", [ONE] * 4, "ids"), ("ids", [ONE, 1], "ids[1]"), ("ids", "[", "ids"),
    ("items", [{"text": "x"}, {}], "items[1].text"), ("items", [{"text": 1}], "items[0].text"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "meant"), TAKEN)
def test_what_can_mean_one_thing_only_is_taken(name: str, given: Any, meant: Any) -> None:
    found = KINDS[name].check(given, name, [])
    assert found == meant
    assert type(found) is type(meant)


@pytest.mark.parametrize(("name", "given", "field"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(name: str, given: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        KINDS[name].check(given, name, [])
    assert caught.value.field == field
    assert caught.value.allowed
    assert len(str(caught.value)) < 400


def test_a_number_above_its_maximum_is_lowered_and_said_so() -> None:
    bound = Parameters(everything).bind({"text": "x", "limit": 10**9})
    assert bound.values == {"text": "x", "limit": 100}
    assert bound.remarks == ("limit 1000000000 was lowered to 100",)


def test_null_is_not_given_and_a_misspelt_name_is_no_filter_less() -> None:
    known = Parameters(everything)
    assert known.bind({"text": "x", "limit": None, "project": None}).values == {"text": "x"}
    wrongs: tuple[Any, ...] = (
        {"text": "x", "projct": "web"},
        {"text": "x", 5: 1},
        {"text": "x", "a" * 9999: 1},
        {"text": "x", "db": 1},
    )
    for wrong in wrongs:
        with pytest.raises(InvalidRequest) as caught:
            known.bind(wrong)
        assert caught.value.allowed == "text, limit, tier, project, tags"
        assert len(str(caught.value)) < 200
    for nothing in (None, {}, {"text": None}):
        with pytest.raises(InvalidRequest) as caught:
            known.bind(nothing)
        assert caught.value.field == "text"


def test_a_session_fills_in_what_was_not_given_and_nothing_else() -> None:
    known = Parameters(everything)
    assert known.bind({"text": "x"}, {"project": "web", "unknown": 1}).values == {"text": "x", "project": "web"}
    assert known.bind({"text": "x", "project": "ops"}, {"project": "web"}).values["project"] == "ops"


def test_a_keyword_without_a_kind_is_found_when_the_table_is_made() -> None:
    def wrong(host: object, db: object, *, text: str) -> None: ...

    with pytest.raises(TypeError, match="text"):
        Parameters(wrong)


def test_schemas_are_plain() -> None:
    schema = Parameters(everything).schema()
    assert list(schema) == ["type", "properties", "additionalProperties", "required"]
    assert schema["required"] == ["text"]
    assert schema["properties"]["limit"] == {
        "type": "integer", "minimum": 1, "maximum": 100, "description": "Most.", "default": 20,
    }  # fmt: skip
    assert schema["properties"]["tags"]["items"] == {"type": "string", "minLength": 1}

    def nothing(host: object, db: object) -> None: ...

    assert Parameters(nothing).schema() == {"type": "object", "properties": {}, "additionalProperties": False}
    for kind in KINDS.values():
        jsonschema.Draft202012Validator.check_schema(kind.described())


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.just(ONE),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.just("target"), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(JSON)
def test_whatever_the_schema_allows_is_taken_and_nothing_breaks(value: Any) -> None:
    for name, kind in KINDS.items():
        try:
            kind.check(value, name, [])
        except InvalidRequest:
            allowed = value is not None and jsonschema.Draft202012Validator(kind.schema()).is_valid(value)
            assert not allowed or isinstance(kind, Time), (name, value)
