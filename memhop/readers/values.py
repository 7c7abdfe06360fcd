"""Single values of foreign records, checked: texts, names, times, roles. Strict on types; None means absent.

Times become milliseconds UTC by one rule: a number below 100,000,000,000 counts seconds (until the year 5138), any
other milliseconds; nine digits and more in a text count as a number; another text is ISO 8601, one without a zone is
UTC, one without a time of day is midnight. None and "" are unknown, 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

import msgspec

from memhop.common.clock import LAST_MS
from memhop.common.config import LIMITS, has_substance
from memhop.common.ids import key_hash, to_hex
from memhop.readers.item import MAX_RAW_BYTES

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_SECONDS: Final = 100_000_000_000
_NUMBER = re.compile(r"\d{9,15}(?:\.\d{1,9})?", re.ASCII)
_LONE = re.compile("[\ud800-\udfff]")
_ROLES: Final[Mapping[str, str]] = {
    "user": "user", "human": "user",
    "assistant": "agent", "agent": "agent", "ai": "agent", "model": "agent", "bot": "agent",
    "system": "system", "developer": "system",
    "tool": "tool", "function": "tool",
}  # fmt: skip


class Bad(ValueError):
    """A value is not what its format says. The message is the reason of the rejection."""


def table(value: object, what: str) -> dict[str, Any]:
    """An object; {} for None."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Bad(f"{what} is {_called(value)}, not an object")
    return cast("dict[str, Any]", value)


def rows(value: object, what: str) -> list[Any]:
    """An array; [] for None."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Bad(f"{what} is {_called(value)}, not a list")
    return value


def text(value: object, what: str) -> str:
    """A text as it is, half surrogate pairs replaced; "" for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Bad(f"{what} is {_called(value)}, not a text")
    return value if value.isascii() else _LONE.sub("\ufffd", value)


def words(value: object, what: str) -> str:
    """A text that says something.

    Raises:
        Bad: absent or blank.
    """
    found = text(value, what)
    if not has_substance(found):
        raise Bad(f"{what} is empty")
    return found


def name(value: object, what: str, default: str = "") -> str:
    """A text on one line, cut to what a name may have; `default` for None and what is blank."""
    return short(text(value, what)) or default


def short(found: str, most: int = LIMITS.name_chars) -> str:
    """A text as a name: one line, no control characters, cut."""
    return " ".join("".join(char if char.isprintable() else " " for char in found[: 4 * most]).split())[:most].rstrip()


def source_id(value: object, what: str = "id") -> str:
    """An id of the source as text: a name, or a whole number.

    Raises:
        Bad: absent, blank, or of another type. One too long for a name is hashed.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 1 << 64 else hashed(hex(value))
    found = text(value, what)
    kept = short(found)
    if not kept:
        raise Bad(f"{what} is missing")
    return kept if kept == found else hashed(found)


def hashed(*parts: str) -> str:
    """An id made of content: 16 hex digits, the same in every run."""
    return to_hex(key_hash(*parts))


def count(value: object, what: str) -> int:
    """A whole number from 0 to 2^53; 0 for None."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise Bad(f"{what} is no count")
    return value


def names(value: object, what: str) -> tuple[str, ...]:
    """A list of names, or one text with commas; each once, at most as many as tags of a note."""
    parts = value.split(",") if isinstance(value, str) else rows(value, what)
    cut = (short(text(part, what), LIMITS.tag_chars) for part in parts)
    return tuple(dict.fromkeys(found for found in cut if found))[: LIMITS.tags]


def when(value: object, what: str) -> int:
    """A time as milliseconds UTC, by the rule on top; 0 for unknown.

    Raises:
        Bad: no time, before 1970, or after 9999.
    """
    if value is None or value == "":
        return 0
    if isinstance(value, str):
        stamp = value.strip()
        if not _NUMBER.fullmatch(stamp):
            return _iso(stamp, what)
        value = float(stamp) if "." in stamp else int(stamp)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Bad(f"{what} is {_called(value)}, not a time")
    if isinstance(value, float) and not math.isfinite(value):
        raise Bad(f"{what} is no time")
    milliseconds = round(value * 1000) if abs(value) < _MOST_SECONDS else int(value)
    if not 0 <= milliseconds <= LAST_MS:
        raise Bad(f"{what} is out of range")
    return milliseconds


def _iso(stamp: str, what: str) -> int:
    try:
        moment = datetime.fromisoformat(stamp.removesuffix(" UTC"))
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        milliseconds = (aware - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise Bad(f"{what} is no time: {stamp[:40]!r}") from None
    if not 0 <= milliseconds <= LAST_MS:
        raise Bad(f"{what} is out of range")
    return milliseconds


def role(value: object) -> str:
    """The role as ours: user, agent, system or tool."""
    found = _ROLES.get(text(value, "the role").strip().lower())
    if found is None:
        raise Bad(f"the role {str(value)[:40]!r} is not known")
    return found


def raw(value: object) -> bytes:
    """A decoded value as bytes again, cut, for a rejection."""
    try:
        return msgspec.json.encode(value)[:MAX_RAW_BYTES]
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return b""


def _called(value: object) -> str:
    kinds = {bool: "a bool", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), type(value).__name__)
