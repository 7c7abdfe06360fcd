"""Time: integer Unix milliseconds UTC inside, ISO-8601 at JSON borders. One seam, so that tests can hold it still."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

from memhop.common.errors import InvalidRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the last instant datetime can show
FUTURE_SLACK_MS = 24 * 3_600_000  # clocks of other machines may run ahead by this much


class Clock(Protocol):
    """Where "now" comes from."""

    def now_ms(self) -> int:
        """Unix milliseconds UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Unix milliseconds UTC."""
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that moves only when told; for tests, replays and benches."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Unix milliseconds UTC."""
        return self._now_ms

    def advance(self, milliseconds: int) -> None:
        """Move forward."""
        self._now_ms += milliseconds


def to_ms(value: object, *, field: str, latest_ms: int | None = None) -> int:
    """Check a time given by a caller and return it as Unix milliseconds UTC.

    Args:
        value: int milliseconds, or an aware datetime.
        field: Name of the argument, for the error.
        latest_ms: Refuse what lies after this instant. None: only the range of datetime binds.

    Raises:
        InvalidRequest: another type, a naive datetime, before 1970, or after `latest_ms`.
    """
    allowed = "Unix milliseconds >= 0 or a timezone-aware datetime, not in the future"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidRequest("a datetime without a timezone is ambiguous", field=field, allowed=allowed)
        milliseconds = (value - _EPOCH) // timedelta(milliseconds=1)
    elif isinstance(value, int) and not isinstance(value, bool):
        milliseconds = value
    else:
        raise InvalidRequest(f"a {type(value).__name__} is not a time", field=field, allowed=allowed)
    if not 0 <= milliseconds <= LAST_MS:
        raise InvalidRequest(f"{milliseconds} ms is out of range", field=field, allowed=allowed)
    if latest_ms is not None and milliseconds > latest_ms:
        raise InvalidRequest(f"{to_iso(milliseconds)} lies in the future", field=field, allowed=allowed)
    return milliseconds


def time_or_now(value: object, *, field: str, now_ms: int) -> int:
    """The time at which something was said: `now_ms` for None, else as `to_ms`, at most `FUTURE_SLACK_MS` ahead."""
    return now_ms if value is None else to_ms(value, field=field, latest_ms=now_ms + FUTURE_SLACK_MS)


def zone_of(value: object) -> tzinfo:
    """The zone in which a caller gave a time that `to_ms` takes: of an aware datetime its own, else UTC."""
    return (value.tzinfo or UTC) if isinstance(value, datetime) else UTC


def to_datetime(milliseconds: int) -> datetime:
    """An aware UTC datetime; the nearest one where none can show it, for a file may state any time of a commit."""
    return _EPOCH + timedelta(milliseconds=max(0, min(milliseconds, LAST_MS)))


def stamp(milliseconds: int) -> str:
    """The same for file names, UTC to the millisecond: 20260510T083000123Z. Sorts by time."""
    return f"{to_datetime(milliseconds):%Y%m%dT%H%M%S}{milliseconds % 1000:03d}Z"


def to_iso(milliseconds: int) -> str:
    """ISO-8601 UTC with a trailing Z; milliseconds only when there are any."""
    moment = to_datetime(milliseconds)
    precision = "milliseconds" if milliseconds % 1000 else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
