"""The rules of a capability card, each broken once; and anything at all thrown at them."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import DB, InvalidRequest
from memhop.repo.card import CARD_BYTES, RESOURCES, STEPS, TEXT_CHARS, VERBS, checked, definition, parsed

CARD: dict[str, Any] = {
    "format": "memhop-capability/v2",
    "name": "deploy",
    "type": "composite",
    "version": "3",
    "summary": "Deploy the service.",
    "trigger": "deploy service, roll out",
    "resources": [
        {"type": "skill", "name": "ship", "ref": "skills/ship/SKILL.md", "description": "build it", "config": "target"},
        {"type": "mcp", "name": "health", "ref": "https://ops.example/mcp"},
    ],
    "workflow": {"steps": [{"ref": "ship", "action": "roll out"}, {"ref": "recall", "action": "look for notes"}]},
    "translations": {"zh": {"summary": "部署服务", "resources": {"ship": "构建"}, "actions": ["发布", "查找笔记"]}},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The card with one value replaced; ... takes it out."""
    card = deepcopy(CARD)
    *parents, last = (int(key) if key.isdigit() else key for key in path.split("."))
    place: Any = card
    for key in parents:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return card


def test_a_card_is_read_and_written_back() -> None:
    card, remarks = checked(CARD)
    assert remarks == ()
    assert definition(card) == {**CARD, "translations": {"zh": {"trigger": "", **CARD["translations"]["zh"]}}}
    assert checked(definition(card)).card == card


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("format", "memhop-capability/v1", "format"),
        ("format", ..., "format"),
        ("name", ..., "name"),
        ("name", "  ", "name"),
        ("name", "n" * 201, "name"),
        ("name", "two\nlines", "name"),
        ("name", 7, "name"),
        ("type", ..., "type"),
        ("type", "manual", "type"),
        ("type", "skill", "resources"),  # of which there are two
        ("version", 2, "version"),
        ("summary", "x" * (TEXT_CHARS + 1), "summary"),
        ("summary", "\ud800", "summary"),
        ("trigger", "a\x00b", "trigger"),
        ("resources", ..., "resources"),
        ("resources", [], "resources"),
        ("resources", {"type": "mcp"}, "resources"),
        ("resources", [CARD["resources"][0]] * (RESOURCES + 1), "resources"),
        ("resources.0", "ship", "resources[0]"),
        ("resources.0.type", "manual", "resources[0].type"),
        ("resources.0.name", ..., "resources[0].name"),
        ("resources.1.name", "ship", "resources[1].name"),
        ("resources.0.ref", "", "resources[0].ref"),
        ("resources.0.ref", ["a"], "resources[0].ref"),
        ("resources.0.config", {"a": 1}, "resources[0].config"),
        ("workflow", [], "workflow"),
        ("workflow.steps", [{"ref": "ship"}] * (STEPS + 1), "workflow.steps"),
        ("workflow.steps.0.ref", ..., "workflow.steps[0].ref"),
        ("workflow.steps.0.ref", "shop", "workflow.steps[0].ref"),
        ("workflow.steps.1.action", 5, "workflow.steps[1].action"),
        ("translations", {"Chinese!": {}}, "translations"),
        ("translations", {f"a{chr(97 + n)}": {} for n in range(9)}, "translations"),
        ("translations.zh.actions", ["one"], "translations.zh.actions"),
        ("translations.zh.resources", {"ship": 5}, "translations.zh.resources['ship']"),
    ],
)
def test_each_rule_names_the_path(path: str, value: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        checked(changed(path, value))
    assert caught.value.field == field
    assert caught.value.allowed


def test_summary_or_trigger_is_enough() -> None:
    assert checked(changed("summary", ...)).card.summary == ""
    assert checked(changed("trigger", "")).card.trigger == ""
    with pytest.raises(InvalidRequest, match="neither summary nor trigger"):
        checked({**CARD, "summary": " ", "trigger": ""})


@pytest.mark.parametrize("type_", ["mcp", "skill"])
def test_a_simple_card_has_one_resource_of_its_type(type_: str) -> None:
    resource = {"type": type_, "name": "x", "ref": "y"}
    card = {"format": CARD["format"], "name": "a", "type": type_, "summary": "s", "resources": [resource]}
    assert checked(card).card.resources[0].ref == "y"
    with pytest.raises(InvalidRequest) as caught:
        checked({**card, "resources": [{**resource, "type": "mcp" if type_ == "skill" else "skill"}]})
    assert caught.value.field == "resources[0].type"


def test_unknown_keys_are_remarks() -> None:
    card, remarks = checked({**changed("resources.0.icon", "x"), "author": {"name": "me"}})
    assert card == checked(CARD).card
    assert remarks == (
        "author is not known and was left out",
        "resources[0].icon is not known and was left out",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "a", "name": "b"}', "there twice"),
        ('{"a": {"b": 1, "b": 2}}', "there twice"),
        ('{"a": NaN}', "NaN"),
        ("{", "not JSON"),
        ("", "not JSON"),
        (b"\xff\xfe{\x00", "not UTF-8"),
        ('{"a": "\udc80"}', "not UTF-8"),
        ("[" * 100_000, "not JSON|nested too deep"),
        ("1" * (CARD_BYTES + 1), "too many"),
        ("1" * 5_000, "not JSON"),  # more digits than Python makes a number of
    ],
)
def test_json_that_does_not_do(text: str | bytes, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        parsed(text)


def test_a_byte_order_mark_does_no_harm() -> None:
    assert parsed(b"\xef\xbb\xbf" + json.dumps(CARD).encode()) == CARD


def test_many_keys_take_no_time() -> None:
    """Looking for the repeated one among all others, for each key, took a minute for a card of 256 KiB."""
    text = "{" + ",".join(f'"{n}":1' for n in range(25_000)) + ',"0":2}'
    before = time.process_time()
    with pytest.raises(InvalidRequest, match="there twice"):
        parsed(text[: CARD_BYTES // 2].rpartition(",")[0] + ',"0":2}')
    assert time.process_time() - before < 5


def test_the_verbs_are_calls() -> None:
    assert not {verb for verb in VERBS if not hasattr(DB, verb)}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
paths = st.sampled_from(
    """name type version summary trigger resources resources.0 resources.1.name resources.0.ref workflow workflow.steps
    workflow.steps.0 workflow.steps.1.ref translations translations.zh translations.zh.resources""".split()
)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(path=paths, value=json_values)
def test_any_value_anywhere_is_taken_or_refused(path: str, value: Any) -> None:
    """And what is taken is taken again as it was read, so that an update of a stored card cannot fail for its rest."""
    try:
        card = checked(changed(path, value)).card
    except InvalidRequest as error:
        told = (bool(error.field), len(str(error)) < 1_000)
        assert told == (True, True)
        return
    assert checked(definition(card)).card == card
    json.dumps(definition(card))


@settings(max_examples=200, derandomize=True, deadline=None)
@given(data=st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_taken_or_refused(data: bytes) -> None:
    with suppress(InvalidRequest):
        checked(parsed(data))
