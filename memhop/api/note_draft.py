"""The arguments of `remember`, checked: what somebody wants to be noted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from memhop.common.clock import time_or_now
from memhop.common.config import (
    LIMITS,
    check_choice,
    check_metadata,
    check_name,
    check_names,
    check_project,
    check_text,
)
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex
from memhop.repo.l4_note import LINK_TYPES, RELATED

NOTE_FIELDS = frozenset(
    ("text", "project", "kind", "status", "tags", "metadata", "links", "source", "at", "external_id", "idempotency_key")
)
_NAMES = {"kind": "note", "source": "", "external_id": "", "idempotency_key": ""}
_NOTHING: tuple[Any, ...] = ()

Links = tuple[tuple[str, int], ...]  # (type, id), each once


class Draft(NamedTuple):
    """Checked arguments of `remember`. `status` None and `given_at` False: nobody said."""

    text: str
    project: str
    kind: str
    status: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    links: Links
    source: str
    at: int
    given_at: bool
    external_id: str
    idempotency_key: str
    where: str = ""  # put in front of field names in errors, such as "items[3]."
    redacted: int = 0  # how much was taken out


def draft(values: Mapping[str, Any], *, now_ms: int, where: str = "", redacted: int = 0) -> Draft:
    """Check the arguments of one note, as far as they can be without the memory.

    Args:
        values: Arguments by name; absent ones take their default.
        where: Put in front of field names in errors, such as "items[3].".
        redacted: How much was taken out of them.

    Raises:
        InvalidRequest: a value does not do, or a name is unknown.
    """
    if not NOTE_FIELDS.issuperset(values):
        unknown = sorted(set(map(str, values)) - NOTE_FIELDS)
        raise InvalidRequest("no such argument", field=f"{where}{unknown[0]}", allowed=", ".join(sorted(NOTE_FIELDS)))
    get = values.get
    project, status, tags, metadata, at = get("project"), get("status"), get("tags"), get("metadata"), get("at")
    names = {
        field: default if (value := get(field)) is None else check_name(value, field=where + field)
        for field, default in _NAMES.items()
    }
    return Draft(
        text=check_text(get("text"), field=f"{where}text"),
        project="default" if project is None else check_project(project, field=f"{where}project"),
        status=status if status in (None, "") else check_name(status, field=f"{where}status"),
        tags=_NOTHING if tags is None or tags is _NOTHING else tags_of(tags, field=f"{where}tags"),
        metadata={} if metadata is None else check_metadata(metadata, field=f"{where}metadata"),
        links=links_of(get("links"), field=f"{where}links"),
        at=now_ms if at is None else time_or_now(at, field=f"{where}at", now_ms=now_ms),
        given_at=at is not None,
        where=where,
        redacted=redacted,
        **names,
    )


def tags_of(value: object, *, field: str) -> tuple[str, ...]:
    """Tags, each once."""
    return check_names(value, field=field, most=LIMITS.tags, max_chars=LIMITS.tag_chars)


def links_of(value: object, *, field: str) -> Links:
    """Links: ids, {"id": ID, "type": TYPE} or (TYPE, ID), each (type, id) once.

    Raises:
        InvalidRequest: not such a list, too long, or a type that is none.
    """
    if value is None or value is _NOTHING:
        return _NOTHING
    if not isinstance(value, list | tuple) or len(value) > LIMITS.links:
        raise InvalidRequest(
            "not a list of links",
            field=field,
            allowed=f'at most {LIMITS.links} ids, {{"id": ID, "type": TYPE}} or (TYPE, ID)',
        )
    return tuple(dict.fromkeys(_link(link, field) for link in value))


def _link(value: object, field: str) -> tuple[str, int]:
    if isinstance(value, str):
        return RELATED, from_hex(value, field=field)
    if isinstance(value, Mapping) and "id" in value and value.keys() <= {"id", "type"}:
        return link_type(value.get("type", RELATED), field=field), from_hex(value["id"], field=field)
    if isinstance(value, list | tuple) and len(value) == 2:
        return link_type(value[0], field=field), from_hex(value[1], field=field)
    return RELATED, from_hex(value, field=field)  # which says what an id is


def link_type(value: object, *, field: str) -> str:
    """One of `LINK_TYPES`."""
    return check_choice(value, field=field, choices=LINK_TYPES)
