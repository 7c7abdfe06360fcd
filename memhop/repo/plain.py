"""A record as plain data, for people and for JSON: every field, ids as 16 hex digits, times as Unix milliseconds.

`plain` says it, `parsed` reads it back.
"""

from __future__ import annotations

from typing import Any

import msgspec

from memhop.common.ids import from_hex, to_hex
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


def parsed(record_type: type[Record], id_: int, said: dict[str, Any]) -> tuple[Record, dict[str, Any]]:
    """The record that `plain` said this of, and fields which its type does not have, as they are.

    Raises:
        InvalidRequest: an id is none. msgspec.ValidationError: a field is missing, or does not hold what it may.
    """
    ids = REFERENCES.get(record_type, {})
    known = record_type.__struct_fields__
    fields = {name: _ids(value, name) if name in ids else value for name, value in said.items() if name in known}
    record = msgspec.convert(fields, record_type)
    record.complete(id_)
    return record, {name: value for name, value in said.items() if name not in known}


def _ids(value: Any, field: str) -> Any:
    if isinstance(value, list):
        return [from_hex(id_, field=field) for id_ in value]
    return 0 if value is None else from_hex(value, field=field)
