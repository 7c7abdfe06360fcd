"""What the namespaces of `DB` share: paging and the bounds of a call that takes many items.

Conventions: `get` raises NotFound, `find` may return None, `list` returns a page (items and the cursor of the next
page). Ids are 16 hex digits, times int ms or aware datetime.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from memhop.api import results
from memhop.common.config import LIMITS, check_int
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex, to_hex
from memhop.repo.record import Record

if TYPE_CHECKING:
    from memhop.api.db import DB
    from memhop.repo.store import Store


R = TypeVar("R", bound=Record)

_CURSOR = re.compile(r"([0-9]{1,19})\.([0-9a-f]{16})")


class Namespace:
    """Base: a view on one layer of the store."""

    def __init__(self, db: DB) -> None:
        self._db = db

    @property
    def _store(self) -> Store:
        """The store, up to date with other processes: look once per call, and not under its lock."""
        return self._db._store

    def _page(
        self, record_type: type[Record], group: int, convert_one: Any, limit: int, cursor: str | None, newest: bool
    ) -> results.Page:
        limit = check_int(limit, field="limit", low=1, high=LIMITS.results)
        after = _place(cursor)
        store = self._store
        with store.lock:
            places = store.places(group, after=after, limit=limit + 1, descending=newest)
            found = store.at_places(record_type, places[:limit])
        return results.Page(
            items=tuple(convert_one(record) for _, record in found),
            next=_cursor(places[limit - 1]) if len(places) > limit else None,
            damaged=min(limit, len(places)) - len(found),
        )

    def _chosen(
        self,
        record_type: type[R],
        group: int,
        choose: Callable[[R], Any],
        limit: int,
        cursor: str | None,
        newest: bool,
    ) -> results.Page:
        """A page of what `choose` makes of records, without None; reads on until it is full."""
        limit = check_int(limit, field="limit", low=1, high=LIMITS.results)
        after = _place(cursor)
        store = self._store
        items: list[Any] = []
        damaged = 0
        last = ""
        while places := store.places(group, after=after, limit=limit + 1, descending=newest):
            for place in places:
                record = store.readable(record_type, place[1])
                item = None if record is None else choose(record)
                if item is not None and len(items) == limit:
                    return results.Page(items=tuple(items), next=last, damaged=damaged)
                damaged += record is None
                if item is not None:
                    items.append(item)
                    last = _cursor(place)
            after = places[-1]
        return results.Page(items=tuple(items), next=None, damaged=damaged)


def _cursor(place: tuple[int, int]) -> str:
    return f"{place[0]}.{to_hex(place[1])}"


def _place(cursor: str | None) -> tuple[int, int] | None:
    if cursor is None:
        return None
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None or int(match[1]) >= 2**63:
        raise InvalidRequest("not a cursor", field="cursor", allowed="`next` of the page before")
    return int(match[1]), int(match[2], 16)


def bounded(items: Iterable[Any]) -> Iterable[Any]:
    """The items of one call, up to the limit. A str or a dict is refused: it would be taken apart.

    Raises:
        InvalidRequest: not a list, or too many items.
    """
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidRequest(f"a {type(items).__name__} is not a list", field="items", allowed="an iterable of items")
    for index, item in enumerate(items):
        if index >= LIMITS.batch_items:
            raise InvalidRequest(
                "too many items in one call",
                field="items",
                allowed=f"at most {LIMITS.batch_items:,}; use several calls",
            )
        yield item


def check_ids(value: object, *, field: str, most: int) -> tuple[int, ...]:
    """The ids of a list, in order, each once. Raises InvalidRequest: not a list of ids, or too many."""
    if not isinstance(value, list | tuple) or len(value) > most:
        raise InvalidRequest("not a list of ids", field=field, allowed=f"a list of at most {most:,} ids")
    return tuple(dict.fromkeys(from_hex(id_, field=field) for id_ in value))


def check_total(texts: Iterable[str]) -> None:
    """All texts of one call fit into one commit, or InvalidRequest is raised."""
    if sum(len(text.encode()) for text in texts) > LIMITS.batch_bytes:
        raise InvalidRequest(
            "too much text in one call",
            field="items",
            allowed=f"at most {LIMITS.batch_bytes:,} bytes; use several calls",
        )
