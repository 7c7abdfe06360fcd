"""A record as plain data, for people and for JSON: every field, ids as 16 hex digits, times as Unix milliseconds."""

from __future__ import annotations

from typing import Any

import msgspec

from memhop.common.ids import to_hex
from memhop.repo.record import Record
from memhop.repo.references import REFERENCES


def plain(record: Record) -> dict[str, Any]:
    """The fields of a record but its id, defaults included, in the order of the type. "No reference" is None."""
    ids = REFERENCES.get(type(record), {})
    found: dict[str, Any] = {}
    for name in record.__struct_fields__:
        if name != "id":
            value = getattr(record, name)
            found[name] = _hex(value) if name in ids else msgspec.to_builtins(value)
    return found


def _hex(value: int | tuple[int, ...]) -> Any:
    if isinstance(value, tuple):
        return [to_hex(id_) for id_ in value]
    return to_hex(value) if value else None
