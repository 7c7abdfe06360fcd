"""Notes that say nearly the same, as proposals: of a page of notes, and of those that were changed since a dream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from memhop.api import results
from memhop.common.ids import to_hex
from memhop.repo.dreams import Dream
from memhop.repo.l4_note import Note
from memhop.repo.projects import states
from memhop.repo.record import Kind, Tier, all_of, project_key
from memhop.search.duplicates import Finder, Pair

if TYPE_CHECKING:
    from memhop.repo.store import Store

LOOKED: Final = 500  # notes that one page looks at
READ: Final = 1_000_000  # characters that one page takes apart, about 3 s: the lock is held meanwhile
PROPOSED: Final = 50  # pairs that one dream tells
_PROPOSING: Final = 1_000  # notes that one dream looks at, the newest changes first
_CHARS: Final = 200  # shown of a note


def page(
    store: Store, project: str | None, after: tuple[int, int] | None, most: int
) -> tuple[list[results.Duplicate], tuple[int, int] | None]:
    """Pairs by their newer note, the newest first, and the place behind the last note that was looked at."""
    wanted = None if project is None else project_key(project)
    found: list[results.Duplicate] = []
    with store.lock:
        finder = Finder(store)
        places = store.places(all_of(Kind.NOTE), after=after, limit=LOOKED + 1, descending=True)
        for place, note in store.at_places(Note, places[:LOOKED]):
            if wanted is not None and project_key(note.project) != wanted:
                continue
            found += [_result(pair) for pair in finder.of(note) if pair.newer.id == note.id]
            if len(found) >= most or finder.read > READ:
                return found, place
    return found, places[LOOKED - 1] if len(places) > LOOKED else None


def since_last_dream(store: Store) -> int:
    """When the newest dream that is written down began, Unix ms; 0: there was none."""
    return next((dream.started_at for dream in store.walk(Dream, all_of(Kind.DREAM), descending=True)), 0)


def proposals(store: Store, since: int) -> tuple[results.Duplicate, ...]:
    """Pairs one of which was changed since then."""
    with store.lock:
        return tuple(map(_result, Finder(store).among(_changed(store, since), PROPOSED)))


def _changed(store: Store, since: int) -> Iterator[Note]:
    looked = 0
    for state in states(store):
        if state.tier != Tier.ACTIVE or state.changed_at < since:
            continue
        for changed_at, id_ in store.members(state.group, descending=True):
            if changed_at < since:
                break
            if looked == _PROPOSING:
                return
            looked += 1
            if (note := store.readable(Note, id_)) is not None:
                yield note


def _result(pair: Pair) -> results.Duplicate:
    return results.Duplicate(
        older_id=to_hex(pair.older.id),
        newer_id=to_hex(pair.newer.id),
        project=pair.newer.project,
        kind=pair.newer.kind,
        similarity=round(pair.similarity, 3),
        older=pair.older.text[:_CHARS],
        newer=pair.newer.text[:_CHARS],
        only_older=pair.only_older,
        only_newer=pair.only_newer,
    )
