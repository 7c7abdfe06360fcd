"""Ids: made from what a record is, 16 hex digits at every border."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import InvalidRequest
from memhop.common.ids import from_hex, key_hash, make_id, to_hex


def test_hashes_never_change() -> None:
    """They are in files: another value would lose every group and natural key."""
    assert to_hex(key_hash("profile")) == "db177e21e68aebd6"
    assert to_hex(key_hash("note", "a", 5)) == "429453a3d71b8da3"
    assert key_hash("a", 1) == key_hash("a", "1")
    assert key_hash("a", "b") != key_hash("ab")
    assert key_hash("\ud800") != key_hash("\udfff")


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.integers(1, 2**64 - 1))
def test_hex_and_back(value: int) -> None:
    text = to_hex(value)
    assert len(text) == 16
    assert from_hex(text) == from_hex(text.upper()) == value


@pytest.mark.parametrize(
    "text", ["", "0" * 16, "f" * 15, "f" * 17, "g" * 16, " " * 16, "0x" + "f" * 14, "f_f" + "f" * 13, "+" + "f" * 15,
             "１" * 16, "\ud800" * 16, 5, 5.0, None, b"f" * 16, True, ["f" * 16]],
    ids=ascii,
)  # fmt: skip
def test_anything_else_is_refused(text: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        from_hex(text, field="scene_id")
    assert refused.value.field == "scene_id"
    assert len(str(refused.value)) < 150


def test_a_collision_is_resolved() -> None:
    used: set[int] = set()
    for _ in range(5):
        id_ = make_id("note", "same", taken=used.__contains__)
        assert id_ not in used
        used.add(id_)
    assert make_id("note", "same", taken=lambda _: False) in used, "and the natural key gives the first one again"
