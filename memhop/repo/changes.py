"""What commits have changed, record by record: the log read as a sequence of events.

Nothing is written for it. A record that a commit puts or deletes, once or several times, is one change of that commit,
between what it was before and what it is then. Of what belongs to no layer only runs count (dreams, imports, upkeep);
counters, vectors, associations, revisions and journals follow from what is told already.

A change has a number, `commit << 20 | place`, which grows along the log. That of a commit's end is `after(commit)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from memhop.common.errors import Corrupt
from memhop.core.meh_file import DELETED, PURGED
from memhop.repo import codec
from memhop.repo.record import Kind, Record

if TYPE_CHECKING:
    from memhop.core.commits import Walk
    from memhop.core.records import Entry
    from memhop.repo.store import Store

PLACES: Final = 20  # bits of a number that say where in its commit a change stands
_LAST: Final = (1 << PLACES) - 1
TOLD: Final = frozenset(
    (
        Kind.PROFILE, Kind.PROFILE_LINE, Kind.SCENE, Kind.TOPIC, Kind.GRAPH, Kind.KNOWLEDGE, Kind.KNOWLEDGE_EDGE,
        Kind.FACT, Kind.MESSAGE, Kind.NOTE, Kind.CAPABILITY, Kind.EVENT, Kind.DREAM, Kind.MAINTENANCE, Kind.IMPORT,
    )
)  # fmt: skip
MOST_FRAMES: Final = 50_000  # passed by in one reading, unless a single commit has more


def after(commit: int) -> int:
    """The number behind all changes of a commit, and before those of the next."""
    return commit << PLACES | _LAST


class Change(NamedTuple):
    """One record in one commit. `before` and `after` are None where it did not exist; `purged` where it was erased for
    good. A version that cannot be read any more, or was dropped, is None as well: `was_there` then tells the truth."""

    number: int
    at: int
    kind: Kind
    id: int
    before: Record | None
    after: Record | None
    was_there: bool
    purged: bool

    @property
    def commit(self) -> int:
        return self.number >> PLACES


class _Step(NamedTuple):
    place: int
    entry: Entry
    previous: int  # offset of what was live before the commit, 0: nothing


class _Commit(NamedTuple):
    number: int
    at: int
    steps: tuple[_Step, ...]


class Reader:
    """Reads the changes of a store, each time from a number on. For one thread at a time.

    Reading on where the last reading ended costs only what is new.

    Attributes:
        next: Where the last reading has come to: the number to go on from.
        damaged: Changes that could not be read, so far.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._walk: Walk | None = None
        self._open: _Commit | None = None
        self.next = 0
        self.damaged = 0

    @property
    def oldest(self) -> int:
        """From here on all changes are still in the log: 0, or the end of the commit that compaction has made."""
        begins = self._store.file.history_begins
        return after(begins) if begins else 0

    @property
    def newest(self) -> int:
        """The number behind the newest commit."""
        return after(self._store.file.commit_number)

    def missed(self, since: int) -> bool:
        """Whether changes behind a number may be gone: compaction has dropped them, or the memory was restored from an
        older copy."""
        base = max(0, self._store.file.history_begins - 1)
        return since > self.newest or (base > 0 and since < after(base))

    def read(self, since: int, until: int | None = None) -> Iterator[Change]:
        """Changes with higher numbers, in order, until the log ends, `MOST_FRAMES` have gone by, or nobody asks on.

        Args:
            until: The last commit looked at. None: the newest.

        Cost: about 10 us per record; beginning elsewhere than the last reading ended, also 5 us per frame behind the
            checkpoint in front of `since`.
        """
        self.next = max(since, self.oldest)
        for commit in self._commits(self.next, until):
            for step in commit.steps:
                number = commit.number << PLACES | min(step.place, _LAST)
                if number > self.next:
                    self.next = number
                    change = self._change(number, commit.at, step)
                    if change is not None:
                        yield change
            self.next = after(commit.number)

    def _commits(self, since: int, until: int | None) -> Iterator[_Commit]:
        file = self._store.file
        number, place = since >> PLACES, since & _LAST
        walk, opened = self._walk, self._open
        if walk is None or walk.epoch != file.epoch:
            opened = None
        begun = place < _LAST
        if begun and opened is not None and opened.number == number:
            yield opened
            begun = False
        walk = self._walk = file.walk(max(0, number - begun), walk)
        passed = 0
        last = file.commit_number if until is None else min(until, file.commit_number)
        if walk.number >= last:
            return
        for point, entries in file.commits(walk):
            self._open = _Commit(point.number, point.time_ms, tuple(_steps(entries)))
            yield self._open
            passed += len(entries) + 1
            if point.number >= last or passed >= MOST_FRAMES:
                return

    def _change(self, number: int, at: int, step: _Step) -> Change | None:
        kind, id_, offset, flags, _ = step.entry
        try:
            later = None if flags & DELETED else self._record(kind, id_, offset)
        except Corrupt:
            self.damaged += 1
            return None
        try:
            earlier = self._record(kind, id_, step.previous) if step.previous else None
        except Corrupt:
            earlier = None
        if later is None and not step.previous and not flags & PURGED:
            return None  # deleted, and never there
        return Change(number, at, Kind(kind), id_, earlier, later, bool(step.previous), bool(flags & PURGED))

    def _record(self, kind: int, id_: int, offset: int) -> Record | None:
        found, named, payload = self._store.file.read(offset)
        return codec.decode(kind, id_, payload, offset) if (found, named) == (kind, id_) else None


def _steps(entries: tuple[Entry, ...]) -> Iterator[_Step]:
    """One step for each record told of: its last frame, and what the first has replaced."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for place, entry in enumerate(entries):
        if entry.kind in TOLD:
            first.setdefault(entry.id, entry.previous)
            last[entry.id] = place
    for id_, place in sorted(last.items(), key=lambda item: item[1]):
        yield _Step(place, entries[place], first[id_])
