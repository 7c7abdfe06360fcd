"""What clients are shown: schemas that the strictest of them take, hints, and guidance that names no tool too many."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memhop.server.mcp import prompts, resources
from memhop.server.mcp.guidance import ALONE, MOST_BYTES, instructions
from memhop.server.mcp.protocol import tool
from memhop.server.operation import READ, Operation
from memhop.server.toolsets import TOOLSETS, toolset

TOOLS = {(name, one.name): one for name in TOOLSETS for one in toolset(name).values()}
FORBIDDEN = ("$ref", "$defs", "definitions", "anyOf", "oneOf", "allOf", "not", "if", "patternProperties")


def inside(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a schema."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from inside(one)


def shown(operation: Operation) -> dict[str, Any]:
    """A tool as it goes over the wire."""
    found: dict[str, Any] = tool(operation).model_dump(by_alias=True, mode="json", exclude_none=True)
    return json.loads(json.dumps(found, allow_nan=False))  # type: ignore[no-any-return]


@pytest.mark.parametrize("key", TOOLS, ids="/".join)
def test_every_tool_of_every_set_is_what_strict_clients_take(key: tuple[str, str]) -> None:
    operation = TOOLS[key]
    found = shown(operation)
    assert re.fullmatch(r"[a-z][a-z0-9_]{2,29}", found["name"])
    assert found["title"]
    assert 40 <= len(found["description"]) <= 2_000, "descriptions are cut at 2 KB"
    hints = found["annotations"]
    assert hints["readOnlyHint"] is operation.reads
    assert not (hints["readOnlyHint"] and hints["destructiveHint"])
    assert hints["idempotentHint"] is operation.idempotent
    assert hints["openWorldHint"] is False
    schema = found["inputSchema"]
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict), "there even where it is empty"
    for one in inside(schema):
        assert not set(FORBIDDEN) & set(one)
        assert isinstance(one.get("type", ""), str | dict), "no lists of types"
    for name, parameter in schema["properties"].items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert parameter["description"]
        assert "type" in parameter
        if "default" in parameter:
            Draft202012Validator(parameter).validate(parameter["default"])
    if "outputSchema" in found:
        Draft202012Validator.check_schema(found["outputSchema"])
        assert found["outputSchema"]["type"] == "object"
        for one in inside(found["outputSchema"]):
            assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & set(one)


@pytest.mark.parametrize("key", TOOLS, ids="/".join)
def test_examples_in_descriptions_are_arguments_that_pass(key: tuple[str, str]) -> None:
    """A model copies them."""
    operation = TOOLS[key]
    decoder = json.JSONDecoder()
    for found in re.finditer(r"Examples?: ?", operation.about):
        text = operation.about[found.end() :].lstrip("` ")
        if text.startswith("{"):
            arguments, _ = decoder.raw_decode(text)
            operation.parameters.bind(arguments)


def test_sets_are_as_large_as_promised() -> None:
    core, notes, full = (toolset(name) for name in ("core", "notes", "full"))
    assert len(core) <= 12
    assert core.items() <= notes.items() <= full.items()
    assert len(json.dumps([shown(one) for one in core.values()])) < 60_000


@pytest.mark.parametrize("name", TOOLSETS)
def test_the_guidance_fits_into_what_clients_keep(name: str) -> None:
    tools = toolset(name)
    said = instructions(tools)
    assert len(said.encode()) <= MOST_BYTES
    alone, _, rest = said.partition("\n\n")
    assert len(alone) <= ALONE
    assert rest
    for word in ("brief", "recall" if name != "hemisphere" else "search", "never an instruction"):
        assert word in alone
    named = set(re.findall(r"\b(?:memhop|memory)_\w+", said))
    assert named <= set(tools)
    assert "  " not in said
    assert "None" not in said


def test_the_guidance_of_a_set_without_writing_names_nothing_that_writes() -> None:
    tools = {name: one for name, one in toolset("core").items() if one.scope == READ}
    said = instructions(tools)
    assert set(re.findall(r"\bmemhop_\w+", said)) <= set(tools)
    assert "  " not in said
    assert prompts.available(tools).keys() == {"session_start"}


@pytest.mark.parametrize("name", ["core", "notes", "full"])
def test_prompts_name_only_tools_that_are_there(name: str) -> None:
    tools = toolset(name)
    found = prompts.available(tools)
    assert found.keys() == {"session_start", "session_end", "summarise_project"}
    for one in found.values():
        said = prompts.text_of(one, tools, {"project": "web {x}"})
        assert set(re.findall(r"\bmemhop_\w+", said)) <= set(tools)
        assert "“web {x}”" in said


def test_addresses_name_operations_that_only_read_and_take_the_argument() -> None:
    assert len(resources.known()) == len(resources.ADDRESSES)
    for one in resources.ADDRESSES:
        found = resources.find(one.uri.replace("{id}", "0123456789abcdef"))
        assert found is not None
        operation, arguments = found
        assert operation.scope == READ
        operation.parameters.bind(arguments)
    for wrong in ("memhop://note/", "memhop://note/a/b", "memhop://no", "file:///etc/passwd", "", "memhop://brief/x"):
        assert resources.find(wrong) is None
    assert resources.find("memhop://note/" + "0" * 1000) is None
