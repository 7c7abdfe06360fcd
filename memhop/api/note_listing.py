"""Listing notes: which groups hold what is asked for, and how they are read as one.

`sort="updated"` goes through the groups of states (`l4_note.state_of`), which are those of one project, tier, kind and
status each: their sizes add up to the true total. `"at"` goes through those of projects or of one tag, `"created"`
through all notes. What the groups do not tell is asked of each note on the way, which may leave a page short.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memhop.repo import projects
from memhop.repo.l4_note import Note, notes_in, tagged
from memhop.repo.record import Kind, Tier, all_of, project_key

if TYPE_CHECKING:
    from memhop.repo.store import Store

Place = tuple[int, int]
SORTS = ("updated", "at", "created")
_LOOKED_AT = 10_000  # notes that one page reads at most
_FIRST_LOOK, _LOOK = 4, 256  # places taken from a group at a time: of hundreds of groups, most give few


class Wanted(NamedTuple):
    """Which notes, all of it checked. Empty collections and None: any. `since` and `until` bound the time of `sort`."""

    project: str | None
    kinds: Collection[str]
    statuses: Collection[str]  # "": those without one
    tags: tuple[str, ...]
    tier: Tier | None
    pinned: bool | None
    sort: str
    newest_first: bool
    since: int | None
    until: int | None


class Listed(NamedTuple):
    """A page: notes, the place after which the next one begins, how many were unreadable, how many there are."""

    notes: list[Note]
    after: Place | None
    damaged: int
    total: int | None


def page(store: Store, wanted: Wanted, *, after: Place | None, limit: int) -> Listed:
    """The next notes in order of (time, id)."""
    with store.lock:
        known = projects.states(store)
        states = [state for state in known if _meant(state, wanted)]
        groups = _sources(store, wanted, states)
        keep = _left_to_check(wanted)
        begin, stop = _bounds(wanted, after)
        found: list[Note] = []
        damaged, last, more = 0, None, False
        for looked_at, place in enumerate(_merged(store, groups, begin, wanted.newest_first)):
            if stop is not None and (place < stop if wanted.newest_first else place >= stop):
                break
            if len(found) + damaged >= limit or looked_at >= _LOOKED_AT:
                more = True
                break
            last = place
            note = store.readable(Note, place[1])
            if note is None:
                damaged += 1
            elif keep(note):
                found.append(note)
        exact = not (wanted.tags or wanted.pinned is not None or wanted.since is not None or wanted.until is not None)
        total = sum(state.size for state in states) if exact else None
        if not more and wanted.sort == "updated":  # a state of which no note can be read is in no list of states
            damaged += store.views.groups.count(all_of(Kind.NOTE)) - sum(state.size for state in known)
        return Listed(found, last if more else None, damaged, total)


def _meant(state: projects.State, wanted: Wanted) -> bool:
    return (
        (wanted.project is None or project_key(state.project) == project_key(wanted.project))
        and wanted.tier in (None, state.tier)
        and (not wanted.kinds or state.kind in wanted.kinds)
        and (not wanted.statuses or state.status in wanted.statuses)
    )


def _sources(store: Store, wanted: Wanted, states: Iterable[projects.State]) -> dict[int, Place | None]:
    """The groups to be read, each with its first member in the order of the page where that is known."""
    if wanted.sort == "updated":
        return {state.group: state.newest if wanted.newest_first else state.oldest for state in states}
    if wanted.sort == "created":
        return {all_of(Kind.NOTE): None}
    if wanted.tags:  # the rarest of them
        return {min(map(tagged, wanted.tags), key=lambda group: (store.views.groups.count(group), group)): None}
    return dict.fromkeys(notes_in(state.project) for state in states)


def _left_to_check(wanted: Wanted) -> Callable[[Note], bool]:
    """What the groups leave open."""
    tags = {tag.casefold() for tag in wanted.tags}
    project = None if wanted.project is None else project_key(wanted.project)
    checks: list[Callable[[Note], bool]] = []
    if tags:
        checks.append(lambda note: tags <= {tag.casefold() for tag in note.tags})
    if wanted.pinned is not None:
        checks.append(lambda note: note.pinned == wanted.pinned)
    if wanted.sort != "updated":
        if project is not None:
            checks.append(lambda note: project_key(note.project) == project)
        if wanted.tier is not None:
            checks.append(lambda note: note.tier == wanted.tier)
        if wanted.kinds:
            checks.append(lambda note: note.kind in wanted.kinds)
        if wanted.statuses:
            checks.append(lambda note: note.status in wanted.statuses)
    return lambda note: all(check(note) for check in checks)


def _bounds(wanted: Wanted, after: Place | None) -> tuple[Place | None, Place | None]:
    """Where to begin, which is left out, and where to stop."""
    low = None if wanted.since is None else (wanted.since, 0)
    high = None if wanted.until is None else (wanted.until, 0)
    begin, stop = (high, low) if wanted.newest_first else (low, high)
    if after is not None and begin is not None:
        begin = min(after, begin) if wanted.newest_first else max(after, begin)
    return begin or after, stop


def _merged(store: Store, groups: Mapping[int, Place | None], begin: Place | None, descending: bool) -> Iterator[Place]:
    """The places of several groups as one, in order.

    Where the first member of a group is known and in the page, it is looked into only after that: most never are.
    """
    sign = -1 if descending else 1
    heap: list[tuple[int, int, Iterator[Place]]] = []

    def push(rest: Iterator[Place]) -> None:
        if (place := next(rest, None)) is not None:
            heapq.heappush(heap, (sign * place[0], sign * place[1], rest))

    for group, first in groups.items():
        if first is None or (begin is not None and (first >= begin if descending else first <= begin)):
            push(_walk(store, group, begin, descending))
        else:
            push(chain((first,), _walk(store, group, first, descending)))
    while heap:
        order, id_, rest = heapq.heappop(heap)
        yield sign * order, sign * id_
        push(rest)


def _walk(store: Store, group: int, after: Place | None, descending: bool) -> Iterator[Place]:
    size = _FIRST_LOOK
    while places := store.places(group, after=after, limit=size, descending=descending):
        yield from places
        after = places[-1]
        size = min(2 * size, _LOOK)
