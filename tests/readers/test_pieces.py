"""JSON piece by piece: whatever the chunks and the damage, the whole items come out, and no more is held than one."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.readers import pieces
from memhop.readers.item import MAX_RAW_BYTES, Rejected
from memhop.readers.pieces import Parsed, decode, lines, members, parsed, records

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


class Slow(io.BytesIO):
    """A stream that hands out few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        super().__init__(data)
        self._step = step

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read1(self._step)


def values(found: Iterator[Any]) -> list[Any]:
    result = list(parsed(found))
    assert not [item for item in result if isinstance(item, Rejected)]
    return [item.value for item in result if isinstance(item, Parsed)]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(json_values, max_size=6), st.integers(1, 9), st.sampled_from([None, 1]), st.booleans())
def test_an_array_comes_out_as_it_is(items: list[Any], step: int, indent: int | None, ascii_only: bool) -> None:
    data = json.dumps(items, indent=indent, ensure_ascii=ascii_only).encode()
    assert values(records(Slow(data, step), "item")) == items


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(min_size=1), json_values, max_size=5), st.integers(1, 9))
def test_an_object_comes_out_member_by_member(whole: dict[str, Any], step: int) -> None:
    found = [
        item for item in parsed(members(Slow(json.dumps(whole, indent=1).encode(), step))) if isinstance(item, Parsed)
    ]
    wanted = [(key, each) for key, value in whole.items() for each in (value if isinstance(value, list) else [value])]
    assert [(item.key, item.value) for item in found] == wanted


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_quotes_and_escapes_may_fall_on_the_edge_of_a_chunk(step: int) -> None:
    items = ['"', "\\", '\\"', 'a\\\\"]}{[,', {'"k\\': ['"', "\\"]}, "é\U0001f600"]
    for ascii_only in (True, False):
        data = json.dumps(items, ensure_ascii=ascii_only).encode()
        assert values(records(Slow(data, step), "item")) == items


def test_lines_and_values_that_follow_each_other() -> None:
    rows = [{"a": 1}, {"b": [2]}, {"c": "x\ny"}]
    data = "\n\n".join(map(json.dumps, rows)).encode()
    assert values(records(io.BytesIO(b"\xef\xbb\xbf" + data), "item")) == rows
    assert values(lines(io.BytesIO(b"\xef\xbb\xbf" + data))) == rows
    spread = "".join(json.dumps(row, indent=2) for row in rows).encode()
    assert values(records(io.BytesIO(spread), "item")) == rows
    assert values(records(io.BytesIO(b"[1][2]"), "item")) == [1, 2]


@pytest.mark.parametrize(
    ("data", "whole", "reason"),
    [
        (b'[{"a":1},{"b":', [{"a": 1}], "cut off in the middle"),
        (b'[{"a":1},', [{"a": 1}], "the array is cut off"),
        (b'[{"a":1},{"b":tru},{"c":3}]', [{"a": 1}, {"c": 3}], "not JSON"),
        (b'[{"a":NaN},2]', [2], "not JSON"),
        (b'[{"a":1e999},2]', [2], "not JSON"),
        (b"[" + b"1" * 5000 + b",2]", [2], "not JSON"),
        (b"[" + b"[" * 5000 + b"]" * 5000 + b",2]", [2], "nested too deep"),
        (b"[" + b'{"a":' * 201 + b"1" + b"}" * 201 + b",2]", [2], "nested too deep"),
        (b'["\xff",2]', [2], "not JSON"),
    ],
)
def test_broken_items_cost_themselves(data: bytes, whole: list[Any], reason: str) -> None:
    found = list(parsed(records(io.BytesIO(data), "item")))
    assert [item.value for item in found if isinstance(item, Parsed)] == whole
    (bad,) = [item for item in found if isinstance(item, Rejected)]
    assert bad.reason.startswith(reason)


def test_half_surrogate_pairs_are_replaced() -> None:
    assert decode(b'{"a\\ud800":"x\\udc00y\\ud83d\\ude00"}') == {"a\ufffd": "x\ufffdy\U0001f600"}


@pytest.mark.parametrize("make", [lambda big: b'[{"a":"' + big + b'"},2]', lambda big: b'{"a":"' + big + b'"}\n2\n'])
def test_an_item_too_long_is_passed_over(make: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST_BYTES", 3_000_000)
    data = io.BytesIO(make(b"x" * 20_000_000))
    tracemalloc.start()
    try:
        found = list(parsed(records(data, "item")))
        assert tracemalloc.get_traced_memory()[1] < 14_000_000, "it is not kept while it is passed over"
    finally:
        tracemalloc.stop()
    assert [item.value for item in found if isinstance(item, Parsed)] == [2]
    (bad,) = [item for item in found if isinstance(item, Rejected)]
    assert bad.reason == "longer than 3,000,000 bytes"
    assert len(bad.raw) == MAX_RAW_BYTES


class Endless(io.BytesIO):
    """60 MB of items, made as they are read."""

    left = 60

    def read1(self, size: int | None = -1, /) -> bytes:
        self.left -= 1
        if self.left <= 0:
            return b'"}]' if self.left == 0 else b""
        return (b'[{"a":"' if self.left == 59 else b'"},{"a":"') + b"x" * 999_990


def test_a_long_array_is_not_held_in_memory() -> None:
    tracemalloc.start()
    try:
        assert sum(not piece.fault for piece in records(Endless(), "item")) == 59
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
