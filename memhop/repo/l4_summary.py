"""L4 Archive: progressive summaries, and what has changed since one was saved.

A note has changed since a summary when its newest change is of the summary's millisecond or later. Those of the very
same millisecond are told apart by where they stand in the log, unless the summary itself was changed afterwards: then
they count, for nothing may be missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge, nlargest
from typing import TYPE_CHECKING, Final

from memhop.repo.l4_note import Note
from memhop.repo.projects import State
from memhop.repo.record import Tier
from memhop.repo.schema import SUMMARY_KIND

if TYPE_CHECKING:
    from memhop.repo.store import Store

_LOOKED_AT: Final = 50  # summaries of one state, from the one that was changed last


def latest(store: Store, states: Iterable[State]) -> Note | None:
    """The newest summary in force among these states of one project; None: there is none.

    One that nothing has superseded comes before all that something has, then the one written last. Cost: reads the
    50 summaries that were changed last.
    """
    found = [
        note
        for state in states
        if state.kind == SUMMARY_KIND and state.tier == Tier.ACTIVE
        for _, note in store.listed(Note, state.group, limit=_LOOKED_AT, descending=True)
    ]
    return max(found, key=lambda note: (not note.superseded_by, note.created_at, note.id), default=None)


def newest(store: Store, states: Iterable[State], most: int) -> list[Note]:
    """The notes of these states that were changed last, newest first; damaged ones are left out.

    Cost: looks at `most` places of each state, and reads `most` notes.
    """
    with store.lock:
        page = store.views.groups.page
        places = [place for state in states for place in page(state.group, limit=most, descending=True)]
    found = (store.readable(Note, id_) for _, id_ in nlargest(most, places))
    return [note for note in found if note is not None]


def changed_since(store: Store, states: Iterable[State], summary: Note) -> Iterator[int]:
    """The ids of notes of these states that have changed since a summary, from the newest change. No summaries.

    Cost: by what is taken from it.
    """
    place = _place(store, summary)
    others = (store.members(state.group, descending=True) for state in _others(states))
    for at, id_ in merge(*others, reverse=True):
        if at < summary.created_at:
            return
        if at > summary.created_at or _stands_behind(store, id_, place):
            yield id_


def count_changed(store: Store, states: Iterable[State], summary: Note) -> int:
    """How many `changed_since` would give. Cost: looks at each of the summary's millisecond."""
    others = list(_others(states))
    since = summary.created_at
    later, place = 0, _place(store, summary)
    with store.lock:
        groups = store.views.groups
        for state in others:
            if state.changed_at >= since:
                after = groups.count(state.group, since=since + 1)
                same = groups.count(state.group, since=since) - after
                places = groups.page(state.group, after=(since, -1), limit=same) if same else ()
                later += after + sum(_stands_behind(store, id_, place) for _, id_ in places)
    return later


def _others(states: Iterable[State]) -> Iterator[State]:
    return (state for state in states if state.kind != SUMMARY_KIND)


def _place(store: Store, summary: Note) -> int:
    """Where a summary was saved in the log; 0, in front of everything, where it stands there no more."""
    located = store.file.locate(summary.id)
    return located[1] if located is not None and summary.rev == 1 else 0


def _stands_behind(store: Store, id_: int, place: int) -> bool:
    located = store.file.locate(id_) if place else None
    return located is None or located[1] > place
