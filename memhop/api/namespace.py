"""What the namespaces of `DB` share: paging and the bounds of a call that takes many items.

Conventions: `get` raises NotFound, `find` may return None, `list` returns a page (items and the cursor of the next
page). Ids are 16 hex digits, times int ms or aware datetime.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from memhop.api import results
from memhop.common.config import LIMITS, check_int
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex, to_hex
from memhop.repo.record import Record

if TYPE_CHECKING:
    from memhop.api.calls.handle import Handle
    from memhop.repo.store import Store


R = TypeVar("R", bound=Record)
P = ParamSpec("P")
T = TypeVar("T")

_ROUND, _ROUNDS = 200, 50  # records that a filtered page looks at in one go, and how many times
_LAST_ID = 2**64 - 1
_CURSOR = re.compile(r"([0-9]{1,19})\.([0-9a-f]{16})")


class Namespace:
    """Base: a view on one layer of the store."""

    def __init__(self, db: Handle) -> None:
        self._db = db

    @property
    def _store(self) -> Store:
        """The store, up to date with other processes: look once per call, and not under its lock."""
        return self._db._store

    def _page(
        self,
        record_type: type[R],
        group: int,
        convert_one: Callable[[R], Any],
        limit: int,
        cursor: str | None,
        newest: bool,
        keep: Callable[[R], bool] | None = None,
        within: tuple[int, int] | None = None,
    ) -> results.Page:
        """A page of a group. With `keep`, of those in it for which that is True: it may be short, or empty, though
        `next` leads on. With `within`, only of places from the first order up to the second, which is left out."""
        limit = check_int(limit, field="limit", low=1, high=LIMITS.results)
        after = place_of(cursor)
        if within is not None and after is None and (newest or within[0]):
            after = (within[1], 0) if newest else (within[0] - 1, _LAST_ID)
        found: list[tuple[tuple[int, int], R]] = []
        damaged = 0
        store = self._store
        with store.lock:
            for _ in range(1 if keep is None else _ROUNDS):
                wanted = limit if keep is None else max(limit, _ROUND)
                places = store.places(group, after=after, limit=wanted + 1, descending=newest)
                if within is not None:
                    places = [place for place in places if within[0] <= place[0] < within[1]]
                records = store.at_places(record_type, places[:wanted])
                damaged += min(wanted, len(places)) - len(records)
                found += records if keep is None else [pair for pair in records if keep(pair[1])]
                after = places[wanted - 1] if len(places) > wanted else None
                if after is None or len(found) >= limit:
                    break
        if len(found) > limit:
            after = found[limit - 1][0]
        return results.Page(
            items=tuple(convert_one(record) for _, record in found[:limit]),
            next=None if after is None else cursor_of(after),
            damaged=damaged,
        )


N = TypeVar("N", bound=Namespace)


def guarded(call: Callable[Concatenate[N, P], T]) -> Callable[Concatenate[N, P], T]:
    """A method whose arguments go through the guard of the handle first, see `api/redaction.py`."""
    code = call.__code__
    names = code.co_varnames[1 : code.co_argcount]

    @wraps(call)
    def through(self: N, /, *args: P.args, **kwargs: P.kwargs) -> T:
        guard = self._db._guard
        project = kwargs.get("project", "default")
        given: Any = [guard.given(value, field=name, project=project) for name, value in zip(names, args, strict=False)]
        named: Any = {name: guard.given(value, field=name, project=project) for name, value in kwargs.items()}
        rest: Any = args[len(given) :]  # too many: the call says so
        return call(self, *given, *rest, **named)

    return through


def cursor_of(place: tuple[int, int]) -> str:
    """A place in a listing, as `Page.next` names it."""
    return f"{place[0]}.{to_hex(place[1])}"


def place_of(cursor: str | None) -> tuple[int, int] | None:
    """The place a cursor names; None for the beginning. Raises InvalidRequest."""
    if cursor is None:
        return None
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None or int(match[1]) >= 2**63:
        raise InvalidRequest("not a cursor", field="cursor", allowed="`next` of the page before")
    return int(match[1]), int(match[2], 16)


def ids_of(values: object, *, field: str, most: int, least: int = 1) -> tuple[int, ...]:
    """Ids out of a list of their text forms, order kept, none twice.

    Raises:
        InvalidRequest: not a list of ids, too short or too long, or an id comes twice.
    """
    allowed = f"a list of {least} to {most} ids, each once"
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidRequest(f"a {type(values).__name__} is not a list of ids", field=field, allowed=allowed)
    found: dict[int, None] = {}
    for index, value in enumerate(values):
        id_ = from_hex(value, field=f"{field}[{index}]")
        if id_ in found or len(found) == most:
            raise InvalidRequest("twice the same id" if id_ in found else "too many ids", field=field, allowed=allowed)
        found[id_] = None
    if len(found) < least:
        raise InvalidRequest("too few ids", field=field, allowed=allowed)
    return tuple(found)


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


def check_total(texts: Iterable[str]) -> None:
    """All texts of one call fit into one commit, or InvalidRequest is raised."""
    if sum(len(text.encode()) for text in texts) > LIMITS.batch_bytes:
        raise InvalidRequest(
            "too much text in one call",
            field="items",
            allowed=f"at most {LIMITS.batch_bytes:,} bytes; use several calls",
        )
