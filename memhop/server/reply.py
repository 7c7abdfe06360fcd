"""What an operation answers: plain data, and a text for a model. Never larger than there is room.

A reply that fits is left as it is. One that does not is cut in this order, and says what was cut under "cut":
texts are clipped to one common length, as long as there is room for; when even short ones do not fit, the operation
is asked once more for half as many items, so that its cursor still leads to the rest; what cannot be asked for in
parts loses items at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

ROOM = 12_000  # characters of the data of a reply, as JSON; its text may take as much again
LEAST_TEXT = 160  # characters that stay of a clipped text, before items go
_FOR_CUT = 200  # characters that saying what was cut may take
_MOST_FIELDS = 40  # of a record; what has more is a table of somebody's
_NEVER_CLIPPED = frozenset(("id", "next", "cursor", "at", "reason", "hint", "error", "message"))


class Reply(NamedTuple):
    """An answer.

    Attributes:
        data: JSON-ready. Ids are text; so are numbers that JavaScript would round.
        text: For a model, in few words; "": the data as JSON.
        failed: Whether this is an error, so that `data` is that of `faults.told`.
    """

    data: dict[str, Any]
    text: str = ""
    failed: bool = False

    def shown(self) -> str:
        """The text that clients see."""
        return self.text or compact(self.data)


def compact(data: Any) -> str:
    """JSON without blanks, and without what is absent or empty."""
    return json.dumps(_without_empty(data), ensure_ascii=False, separators=(",", ":"))


def size_of(data: Any) -> int:
    """Characters of it as JSON."""
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def fitted(data: dict[str, Any], room: int) -> tuple[dict[str, Any], bool]:
    """Data with its texts clipped so that it takes at most `room` characters.

    Returns:
        The data, with "cut" if anything was clipped; and whether it fits now. If not, there are too many items.
    """
    if size_of(data) <= room:
        return data, True
    longest = max((len(text) for text in _texts(data)), default=0)
    low, high = min(LEAST_TEXT, longest), longest
    while low < high:  # the largest length that fits; sizes grow with it
        middle = (low + high + 1) // 2
        if size_of(_clipped(data, middle)[0]) + _FOR_CUT <= room:
            low = middle
        else:
            high = middle - 1
    found, clipped = _clipped(data, low)
    fits = size_of(found) + _FOR_CUT <= room
    if clipped:
        found["cut"] = {"texts": clipped, "characters_kept_of_each": low, "hint": "read single items for all of a text"}
    return found, fits


def without_items(data: dict[str, Any], room: int) -> dict[str, Any]:
    """Data that fits because its lists, and tables with many entries, lose items at the end, the largest first.

    The only item of a list goes last: it is a page of its own then, and its cursor leads past it. Where all that is not
    enough, what is plain at the top stays, such as ids.
    """
    found: dict[str, Any] = json.loads(json.dumps(data))
    dropped = 0
    while size_of(found) + _FOR_CUT > room:
        collections = list(_collections(found))
        several = [one for one in collections if len(one) > 1]
        largest = max(several or collections, key=size_of, default=None)
        if largest is None:
            break
        names = list(largest) if isinstance(largest, dict) else range(len(largest))
        taken = max(1, len(largest) // 4)
        for name in reversed(names[-taken:]):
            del largest[name]
        dropped += taken
    if size_of(found) + _FOR_CUT > room:
        plain = {name: value for name, value in found.items() if not isinstance(value, dict | list)}
        rest = {"everything": True, "hint": "it is too large to be shown"}
        return {**plain, "cut": rest} if size_of(plain) + _FOR_CUT <= room else {"cut": rest}
    if dropped:
        found["cut"] = {**found.get("cut", {}), "items": dropped, "hint": "ask for fewer, or page with cursor"}
    return found


def within(ask: Callable[[int | None], dict[str, Any]], room: int, limit: int | None) -> dict[str, Any]:
    """What `ask(limit)` answers, within `room`.

    Args:
        ask: Called with `limit`, and again with half of it as long as the answer does not fit. It must only read.
        limit: None: it cannot be asked for less.
    """
    found, fits = fitted(ask(limit), room)
    while not fits and limit is not None and limit > 1:
        limit //= 2
        found, fits = fitted(ask(limit), room)
        hint = "fewer than asked for" + (": go on with the cursor" if found.get("next") else "")
        found["cut"] = {**found.get("cut", {}), "limit": limit, "hint": hint}
    return found if fits else without_items(found, room)


def _clipped(value: Any, length: int, name: str = "") -> tuple[Any, int]:
    """A copy with all texts at most so long, and how many were clipped."""
    if isinstance(value, str):
        if len(value) <= length or name in _NEVER_CLIPPED or name.endswith("_id"):
            return value, 0
        return f"{value[:length].rstrip()}… [{len(value) - length:,} more characters]", 1
    if isinstance(value, dict):
        pairs = {key: _clipped(one, length, key) for key, one in value.items()}
        return {key: one for key, (one, _) in pairs.items()}, sum(count for _, count in pairs.values())
    if isinstance(value, list | tuple):
        items = [_clipped(one, length, name) for one in value]
        return [one for one, _ in items], sum(count for _, count in items)
    return value, 0


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for one in inner for text in _texts(one)]


def _collections(value: Any) -> list[Any]:
    """Lists that hold something, and objects with more names than a record has."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    own = [value] if inner and (isinstance(value, list) or len(inner) > _MOST_FIELDS) else []
    return own + [found for one in inner for found in _collections(one)]


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, "", [], {}, ())}
    return [_without_empty(one) for one in value] if isinstance(value, list | tuple) else value
