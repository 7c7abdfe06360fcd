"""The base of all results, and pages of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from memhop.common.clock import to_iso

_TIMES = frozenset({"at", "valid_from", "valid_to"})


class Result:
    """Base of all results."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: nested results become dicts, tuples become lists, times become ISO-8601.

        Spans become {"from", "to"}."""
        return {field.name: _plain(field.name, getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if name == "spans":
        return [{"from": to_iso(since), "to": to_iso(until)} for since, until in value]
    if isinstance(value, list | tuple):
        return [_plain("", item) for item in value]
    if isinstance(value, dict):
        return {key: _plain("", item) for key, item in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and is_time(name):
        return to_iso(value)
    return value


def is_time(name: str) -> bool:
    """Whether a whole number in a field of this name is a time, so that `to_dict` writes it as ISO-8601."""
    return name in _TIMES or name.endswith("_at")


@dataclass(frozen=True, slots=True)
class Page(Result):
    """A page of a listing. `next` is the cursor of the following page, None at the end.

    `damaged` counts records of this page which cannot be read and are left out; `verify` names them. `total` is how
    many there are on all pages, None where that is not known without going through them.
    """

    items: tuple[Any, ...]
    next: str | None
    damaged: int = 0
    total: int | None = None
