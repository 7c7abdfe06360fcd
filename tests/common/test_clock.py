"""Times: integer milliseconds inside, ISO-8601 outside, nothing ambiguous in between."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import InvalidRequest
from memhop.common.clock import ManualClock, SystemClock, to_datetime, to_iso, to_ms

LAST = 253_402_300_799_999


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.integers(0, LAST))
def test_there_and_back(value: int) -> None:
    moment = to_datetime(value)
    assert moment.tzinfo is UTC
    assert to_ms(moment, field="at") == to_ms(value, field="at") == value
    assert to_ms(datetime.fromisoformat(to_iso(value)), field="at") == value


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.datetimes(datetime(1970, 1, 3), datetime(9999, 12, 29)), st.integers(-14 * 60, 14 * 60))
def test_zones_name_the_same_instant(naive: datetime, minutes: int) -> None:
    zoned = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert to_ms(zoned, field="at") == to_ms(zoned.astimezone(UTC), field="at")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "1970-01-01T00:00:00Z"), (1, "1970-01-01T00:00:00.001Z"), (1_780_000_000_000, "2026-05-28T20:26:40Z"),
     (LAST, "9999-12-31T23:59:59.999Z")],
)  # fmt: skip
def test_iso(value: int, shown: str) -> None:
    assert to_iso(value) == shown


@pytest.mark.parametrize(
    "value",
    [
        -1,
        LAST + 1,
        2**80,
        True,
        1.0,
        math.nan,
        "2026-05-28",
        None,
        datetime(2026, 1, 1),
        datetime(1969, 12, 31, tzinfo=UTC),
    ],
    ids=str,
)
def test_what_is_no_time(value: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        to_ms(value, field="since")
    assert refused.value.field == "since"


def test_the_future_is_refused_from_the_next_millisecond() -> None:
    assert to_ms(1_000, field="at", latest_ms=1_000) == 1_000
    with pytest.raises(InvalidRequest, match="future"):
        to_ms(1_001, field="at", latest_ms=1_000)


def test_clocks() -> None:
    clock = ManualClock(5)
    clock.advance(7)
    assert clock.now_ms() == 12
    before = datetime.now(UTC)
    now = SystemClock().now_ms()
    assert before - timedelta(seconds=1) < to_datetime(now) < before + timedelta(minutes=1)
