"""Which projects there are, and what is in them: read from the groups of notes and messages, which count by themselves.

Names of projects compare without case; a project is shown as its members spell it, and as one of them does where they
differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import STATE_KEYS, Note, notes_in, state_of
from memhop.repo.record import DEFAULT_PROJECT, PROJECT_KEYS, Kind, Tier, all_of, project_key, said_in

if TYPE_CHECKING:
    from memhop.repo.store import Store

_TRIES = 5  # members that are read for a name, should the first ones be damaged


class State(NamedTuple):
    """The notes of a project in one tier, of one kind and status. `group` lists them by their last change."""

    project: str
    tier: Tier
    kind: str
    status: str
    size: int
    group: int
    oldest: tuple[int, int]  # time of the last change and id of its first member
    newest: tuple[int, int]  # and of its last

    @property
    def changed_at(self) -> int:
        """The newest change among them, Unix ms."""
        return self.newest[0]


class Said(NamedTuple):
    """How many messages belong to a project."""

    project: str
    size: int


def states(store: Store, project: str | None = None) -> list[State]:
    """All that are not empty, by project, tier, kind and status. `project` None: of all.

    Cost: reads one note for each state that has changed since it was asked for last, whatever the number of notes.
    """
    wanted = None if project is None else project_key(project)
    with store.lock:
        groups = store.views.groups
        known = (groups.derived(key, partial(_state, store, key)) for key in groups.keys(*STATE_KEYS))
        found = [state for state in known if state is not None]
    return sorted(
        (state for state in found if wanted in (None, project_key(state.project))),
        key=lambda state: (project_key(state.project), state.tier, state.kind, state.status),
    )


def _state(store: Store, key: int) -> State | None:
    groups = store.views.groups
    newest = groups.last(key)
    if newest is None:
        return None
    for _, id_ in chain((newest,), _others(store, key)):
        note = store.readable(Note, id_)
        if note is None:
            continue
        if state_of(note.project, note.tier, note.kind, note.status) != key:
            return None  # another group, whose key happens to lie here
        oldest = groups.first(key)
        assert oldest is not None
        size = groups.count(key)
        return State(note.project, Tier(note.tier), note.kind, note.status, size, key, oldest, newest)
    return None


def _others(store: Store, key: int) -> Iterator[tuple[int, int]]:
    """Members that are read where the newest is damaged."""
    yield from store.views.groups.page(key, limit=_TRIES)


def spelled(store: Store, project: str, known: Iterable[str] = ()) -> str:
    """A project as it is spelled already, in notes or messages; as it is given where there is none yet.

    Args:
        known: Spellings that are not written yet.

    Cost: reads one record, once for each project.
    """
    key = project_key(project)
    if key == DEFAULT_PROJECT:
        return DEFAULT_PROJECT
    for name in known:
        if project_key(name) == key:
            return name
    with store.lock:
        views = store.views
        if (spelling := views.spellings.get(key)) is not None:
            return spelling
        groups = views.groups
        for group in (notes_in(project), said_in(project)):
            for _, id_ in groups.page(group, limit=_TRIES) if groups.has(group) else ():
                record = store.record(id_)
                if isinstance(record, Note | Message) and project_key(record.project) == key:
                    views.spellings[key] = record.project
                    return record.project
    return project


def said(store: Store) -> list[Said]:
    """The projects that hold messages, by name. Cost: reads one message for each."""
    with store.lock:
        groups = store.views.groups
        found = [entry for key in groups.keys(*PROJECT_KEYS) for entry in _said(store, key)]
        others = groups.count(all_of(Kind.MESSAGE)) - sum(entry.size for entry in found)
    if others > 0:
        found.append(Said(DEFAULT_PROJECT, others))
    return sorted(found, key=lambda entry: project_key(entry.project))


def _said(store: Store, key: int) -> Iterator[Said]:
    groups = store.views.groups
    for _, id_ in groups.page(key, limit=_TRIES):
        message = store.readable(Message, id_)
        if message is not None:
            if said_in(message.project) == key:
                yield Said(message.project, groups.count(key))
            return
