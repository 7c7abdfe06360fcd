"""Single values: times by one rule, strict types."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest

from memhop.common.config import LIMITS, check_name
from memhop.readers.values import Bad, count, hashed, name, names, role, source_id, text, when


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        (None, 0),
        ("", 0),
        (0, 0),
        (1_790_000_000, 1_790_000_000_000),
        (1_790_000_000.25, 1_790_000_000_250),
        (1_790_000_000_000, 1_790_000_000_000),
        ("1790000000", 1_790_000_000_000),
        ("2026-09-01T10:00:00Z", 1_788_256_800_000),
        ("2026-09-01T10:00:00.123456Z", 1_788_256_800_123),
        ("2026-09-01T12:00:00+02:00", 1_788_256_800_000),
        ("2026-09-01 10:00:00", 1_788_256_800_000),
        ("2026-09-01 10:00:00 UTC", 1_788_256_800_000),
        ("2026-09-01", 1_788_220_800_000),
        ("20260901", 1_788_220_800_000),
    ],
)
def test_times(value: object, milliseconds: int) -> None:
    assert when(value, "at") == milliseconds


@pytest.mark.parametrize(
    "value",
    [
        True,
        -1,
        math.nan,
        math.inf,
        -math.inf,
        1e300,
        10**400,
        "soon",
        "12",
        [],
        {},
        "1969-12-31",
        "0001-01-01T00:00+14:00",
    ],
)
def test_what_is_no_time(value: object) -> None:
    with pytest.raises(Bad, match=r"\Aat "):
        when(value, "at")


def test_ids_are_texts_or_whole_numbers() -> None:
    assert source_id(7) == "7"
    assert source_id("a b") == "a b"
    assert source_id("x" * 500) == hashed("x" * 500)
    assert source_id("two\nlines") == hashed("two\nlines")
    assert len(source_id(10**4000)) == 16
    for value in cast(Any, (None, "", " ", 1.5, True, [], {})):
        with pytest.raises(Bad):
            source_id(value)


def test_names_fit_what_names_may_be() -> None:
    for value in ("a\x00b\nc", "\u202ex", "x" * 999, " padded ", "\ud800"):
        check_name(name(value, "n", "default"), field="n")
    assert name(None, "n", "default") == name(" \n", "n", "default") == "default"
    assert names("a, b,,a", "tags") == ("a", "b")
    assert len(names([str(number) for number in range(999)], "tags")) == LIMITS.tags
    with pytest.raises(Bad):
        names([1], "tags")


def test_roles_counts_and_texts() -> None:
    assert [role(value) for value in ("human", "Assistant", "developer", "function")] == [
        "user", "agent", "system", "tool",
    ]  # fmt: skip
    assert text("a\ud800b", "t") == "a\ufffdb"
    assert (count(None, "c"), count(3, "c")) == (0, 3)
    for check, value in cast(Any, ((role, "king"), (role, None), (role, 3))):
        with pytest.raises(Bad):
            check(value)
    for bad in (-1, 1.0, True, 1 << 60, "3"):
        with pytest.raises(Bad):
            count(bad, "c")
