"""L4 Archive: progressive summaries, and what has changed since one was saved.

A note has changed since a summary when its newest change is of the summary's millisecond or later. Those of the very
same millisecond are told apart by where they stand in the log, unless the summary itself was changed afterwards: then
they count, for nothing may be missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
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


def newest_first(store: Store, states: Iterable[State]) -> Iterator[tuple[int, int]]:
    """(time of the last change, id) of the notes of these states, from the one that was changed last."""
    return merge(*(store.members(state.group, descending=True) for state in states), reverse=True)


def changed_since(store: Store, states: Iterable[State], summary: Note) -> Iterator[int]:
    """The ids of notes of these states that have changed since a summary, from the newest change. No summaries.

    Cost: by what is taken from it.
    """
    for at, id_ in newest_first(store, _others(states)):
        if at < summary.created_at:
            return
        if at > summary.created_at or _behind(store, id_, summary):
            yield id_


def count_changed(store: Store, states: Iterable[State], summary: Note) -> int:
    """How many `changed_since` would give. Cost: looks at each of the summary's millisecond."""
    others = list(_others(states))
    since = summary.created_at
    with store.lock:
        groups = store.views.groups
        later = sum(groups.count(state.group, since=since + 1) for state in others if state.changed_at > since)
        for state in others:
            if state.changed_at >= since:
                for order, id_ in groups.page(state.group, after=(since, -1), limit=state.size):
                    if order > since:
                        break
                    later += _behind(store, id_, summary)
    return later


def _others(states: Iterable[State]) -> Iterator[State]:
    return (state for state in states if state.kind != SUMMARY_KIND)


def _behind(store: Store, id_: int, summary: Note) -> bool:
    ours, theirs = store.file.locate(summary.id), store.file.locate(id_)
    return summary.rev > 1 or ours is None or theirs is None or theirs[1] > ours[1]
