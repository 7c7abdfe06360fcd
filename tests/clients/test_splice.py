"""One thing is changed in a JSON text, and nothing else, whatever comments, commas and line ends it has."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memhop import InvalidRequest
from memhop.clients.hooks import HOOKED, Hooks
from memhop.clients.jsonc import parse
from memhop.clients.piece import Member, removed
from memhop.clients.splice import _proven, append, drop, put, take
from tests.clients.jsonc_texts import documents

ENTRY = {"command": "/opt/memhop", "args": ["mcp", "--file", "/home/ada/é.meh"], "env": {}}
PATH = ("mcpServers", "memhop")
checked = settings(max_examples=40, derandomize=True, deadline=None)


def said(text: str) -> Any:
    document = parse(text)
    return document.value(document.root)


def comments(text: str) -> list[str]:
    return [text[start:end] for start, end in parse(text).comments]


@checked
@given(documents())
@example('{ "a": 1 // c\n}')
@example("{/*{*/}")
@example('{"mcpServers":{//\r\n}}')
def test_what_is_put_in_is_there_and_all_else_is_as_before(text: str) -> None:
    new = put(text, PATH, ENTRY)
    before = said(text)
    assert said(new) == before | {"mcpServers": before.get("mcpServers", {}) | {"memhop": ENTRY}}
    assert list(said(new))[: len(before)] == list(before)
    assert comments(new) == comments(text)
    assert new.startswith("\ufeff") == text.startswith("\ufeff")


@checked
@given(documents())
def test_putting_twice_is_putting_once(text: str) -> None:
    once = put(text, PATH, ENTRY)
    assert put(once, PATH, ENTRY) == once


@checked
@given(documents(servers=True))
@example('{"mcpServers": {"old": 1 // one\n}}')
@example('{"mcpServers": {"old": 1, // one\n /* two */}}')
def test_taking_out_gives_back_the_bytes_beside_another_server(text: str) -> None:
    assert take(put(text, PATH, ENTRY), PATH) == text


@checked
@given(documents())
def test_with_the_copy_the_bytes_come_back_in_any_case(text: str) -> None:
    piece = Member(PATH)
    assert removed(put(text, PATH, ENTRY), text, [piece]) == text


def test_a_file_that_was_made_goes_again() -> None:
    piece = Member(PATH)
    assert removed(piece.put("", ENTRY), None, [piece]) is None


@checked
@given(documents(), st.sampled_from(["a", "new"]))
def test_what_was_written_meanwhile_stays(text: str, key: str) -> None:
    """The client changed its file after we did: then the copy is of no use."""
    piece = Member(PATH)
    changed = put(put(text, PATH, ENTRY), (key,), "changed by the client")
    left = removed(changed, text, [piece])
    assert left is not None
    before = said(text)
    wanted = before | {key: "changed by the client"}
    if not before.get("mcpServers", True) and "mcpServers" not in said(left):
        del wanted["mcpServers"]  # an empty object is taken for one that was made
    assert said(left) == wanted


@checked
@given(documents())
def test_an_entry_is_replaced_in_its_place(text: str) -> None:
    once = put(put(text, PATH, ENTRY), ("zzz",), 1)
    new = put(once, PATH, {"command": "other"})
    assert list(said(new)) == list(said(once))
    assert said(new)["mcpServers"]["memhop"] == {"command": "other"}


@checked
@given(documents(), st.sampled_from(sorted(HOOKED)))
def test_hooks_come_and_go_in_any_text(text: str, client: str) -> None:
    hooks = Hooks(HOOKED[client])
    wanted = hooks.wanted(dict.fromkeys(HOOKED[client].events, "/opt/python -P -m memhop.cli.hook stop"))
    new = hooks.put(text, wanted)
    assert hooks.put(new, wanted) == new
    assert hooks.held(new) == wanted
    assert removed(new, text, [hooks]) == text
    others = append(new, ("hooks", "Stop"), {"hooks": [{"type": "command", "command": "mine"}]})
    left = hooks.take(others)
    assert hooks.held(left) is None
    assert said(left)["hooks"]["Stop"] == [{"hooks": [{"type": "command", "command": "mine"}]}]


@checked
@given(documents(), st.integers(0, 400), st.sampled_from(["", '"', "{", "]", ",", "\\", "/", "x", "\x00"]))
def test_a_broken_text_is_refused_with_its_place_or_understood(text: str, at: int, instead: str) -> None:
    """A character is lost, or another one is there: it raises nothing but InvalidRequest, and says where."""
    at %= len(text)
    broken = text[:at] + instead + text[at + 1 :]
    refusal, new = "", ""
    try:
        new = put(broken, PATH, ENTRY)
    except InvalidRequest as error:
        refusal = error.message
    if new:
        assert said(new)["mcpServers"]["memhop"] == ENTRY
    else:
        assert re.search(r"line \d+, column \d+: |is no object", refusal), refusal


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,\n  b: 2}', "line 2, column 3"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": 1}\n}', "line 2, column 1"),
        ('{"a": 1 "b": 2}', "line 1, column 9"),
        ('{"a": 01}', "line 1, column 8"),
        ('{"a": "x\ny"}', "line 1, column 7"),
        ('{"a": 1, /* no end', "line 1, column 10"),
        ('{"a": [1, 2}', "line 1, column 12"),
        ("[" * 200, "line 1, column 101"),
        ('{"a": NaN}', "line 1, column 7"),
        ('{"a"', "line 1, column 5"),
    ],
)
def test_where_a_text_is_broken(text: str, place: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        put(text, PATH, ENTRY)
    assert place in refused.value.message


@pytest.mark.parametrize(
    "text", ["[]", '"text"', '{"mcpServers": []}', '{"mcpServers": {"memhop": 1}, "mcpServers": 2}']
)
def test_what_is_no_object_is_not_made_one(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is no object"):
        put(text, PATH, ENTRY)


def test_of_two_members_of_one_name_none_is_lost() -> None:
    """JSON parsers take the last one. Taking it out would bring the other to life: that is refused."""
    text = '{"mcpServers": {"memhop": {"command": "mine"}, "memhop": {"command": "mine, too"}}}'
    with pytest.raises(InvalidRequest, match="without touching something else"):
        take(text, PATH)


@pytest.mark.parametrize(
    "changed",
    [
        '{"a": 1, "m": 2}',
        '{"a": 1.0, /* one */ "m": 2}',
        '{"m": 2, "b": 1, /* one */ "a": 1}',
        '{"a": 1, /* one */ "m": true}',
        '{"a": 1 /* one */}',
    ],
)
def test_the_proof_sees_whatever_else_differs(changed: str) -> None:
    """A comment lost, a number written in another way, a member more, another value, nothing put in."""
    document = parse('{"a": 1 /* one */}')
    _proven(document, '{"a": 1, /* one */ "m": 2}', ("m",), 2)
    with pytest.raises(InvalidRequest, match="touching something else"):
        _proven(document, changed, ("m",), 2)


def test_a_number_is_no_boolean() -> None:
    """To Python 1 and true are the same; a file in which only that differs is changed."""
    assert said(put('{"a": 1}', ("a",), True)) == {"a": True}
    assert '"a": true' in put('{"a": 1}', ("a",), True)


def test_layout_is_that_of_the_neighbours() -> None:
    tabs = '{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n'
    assert put(tabs, ("m",), {"x": 1}) == '{\n\t"a": {\n\t\t"b": 1\n\t},\n\t"m": {\n\t\t"x": 1\n\t}\n}\n'
    windows = '{\r\n    "a": 1, // one\r\n}\r\n'
    assert put(windows, ("m",), {"x": 1}) == (
        '{\r\n    "a": 1, // one\r\n    "m": {\r\n        "x": 1\r\n    },\r\n}\r\n'
    )
    assert put('{"a": 1}', ("m",), {"x": [1]}) == '{"a": 1, "m": {"x": [1]}}'
    assert put("", ("m",), 1) == '{\n  "m": 1\n}\n'


def test_items_of_an_array() -> None:
    text = '{"hooks": {"Stop": [ 1, // one\n  2 ] } }'
    assert said(append(text, ("hooks", "Stop"), 3))["hooks"]["Stop"] == [1, 2, 3]
    assert drop(append(text, ("hooks", "Stop"), 3), ("hooks", "Stop"), 2) == text
    assert said(drop(text, ("hooks", "Stop"), 0))["hooks"]["Stop"] == [2]
    assert comments(drop(text, ("hooks", "Stop"), 0)) == ["// one"]
    assert said(drop('{"hooks": {"Stop": [1]}, "a": 1}', ("hooks", "Stop"), 0)) == {"a": 1}


def test_a_large_file_takes_no_quadratic_time() -> None:
    """The settings of Claude Code hold the history of every project."""
    import time

    text = json.dumps({f"project {number}": {"history": ["x" * 50] * 20} for number in range(600)}, indent=2)
    started = time.process_time()
    assert take(put(text, PATH, ENTRY), PATH) == text
    assert time.process_time() - started < 20
