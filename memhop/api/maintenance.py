"""Retention: what goes to the trash because nobody changed it for long, and what leaves the trash for good.

A note's age counts from its last change, so that what is worked on stays. It is measured by the groups of notes, which
stand in the order of their last change: only what is due is read. In the trash hardly anything changes a note but
taking it out again, so that the same order tells how long it was there; what does change it lets it stay longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from memhop.api import results
from memhop.common.config import LIMITS, check_flag
from memhop.common.errors import ConfigError
from memhop.common.ids import to_hex
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import revise
from memhop.repo.l4_summary import latest
from memhop.repo.l4_supersession import settle
from memhop.repo.projects import State, states
from memhop.repo.record import Tier, project_key
from memhop.repo.upkeep import Maintenance, maintenance_id

if TYPE_CHECKING:
    from memhop.common.settings import RetentionSection
    from memhop.repo.batch import Batch
    from memhop.repo.schema import Schemas
    from memhop.repo.store import Store

ACTOR: Final = "maintenance"
DAY_MS: Final = 86_400_000
HOUR_MS: Final = 3_600_000
MOST_DAYS: Final = 36_500
_AT_ONCE: Final = 500  # notes of one commit


class Policy:
    """How long what is kept, as the config says it.

    Raises:
        ConfigError: a table is none, or a number of days is not from 0 to 36,500; names the option.
    """

    def __init__(self, section: RetentionSection) -> None:
        self._days = _table(section.days, "retention.days")
        if not isinstance(section.projects, Mapping):
            raise ConfigError("not a table", field="retention.projects", allowed="a table for each project")
        self._projects = {
            project_key(str(name)): _table(table, f"retention.projects.{name}")
            for name, table in section.projects.items()
        }
        self._trash_days = _days(section.trash_days, "retention.trash_days")
        self.every_ms = int(section.every_hours * HOUR_MS)

    def days(self, state: State) -> int:
        """Days that notes like these are kept unchanged, in or out of the trash; 0: for ever."""
        if state.tier == Tier.TRASHED:
            return self._trash_days
        if state.tier == Tier.ARCHIVED:
            return 0
        kept = self._projects.get(project_key(state.project), {})
        return kept.get(state.kind, self._days.get(state.kind, 0))

    def due_before(self, state: State, now_ms: int) -> int:
        """Notes of this state that were changed before then are due at `now_ms`; 0: none ever are."""
        days = self.days(state)
        return max(0, now_ms - days * DAY_MS + 1) if days else 0


def maintain(
    store: Store, policy: Policy, schemas: Schemas, *, dry_run: bool = False, overdue: bool = False
) -> results.Maintained:
    """See `DB.maintain`.

    Args:
        overdue: Only if it still is: another handle may have done it meanwhile.
    """
    run = _Run(store, policy)
    if check_flag(dry_run, field="dry_run"):
        with store.lock:
            run.look(LIMITS.batch_items)
        return run.result(dry_run=True)
    while True:
        with store.writing() as batch:
            if overdue and due_at(store, policy) > run.now:
                break
            trashed, erased = run.look(_AT_ONCE)
            for note in trashed:
                _trash(batch, note.id, schemas, run.now)
            if erased:
                from memhop.api.erasure import Erasure

                erasure = Erasure(store, batch)
                erasure.erase(note.id for note in erased)
                run.remarks |= dict.fromkeys(erasure.remarks())
            last = len(trashed) + len(erased) < _AT_ONCE
            if last:
                done = Maintenance(at=run.now, trashed=len(run.trashed), erased=len(run.erased))
                batch.put(done, maintenance_id())
        if last:
            break
    return run.result(dry_run=False)


def _trash(batch: Batch, id_: int, schemas: Schemas, now_ms: int) -> None:
    """Trash a note as the batch leaves it: trashing another one may have changed it."""
    note = batch.find(Note, id_)
    if note is not None and note.tier != Tier.TRASHED:
        trashed = revise(batch, note, act="trash", actor=ACTOR, now_ms=now_ms, tier=int(Tier.TRASHED))
        settle(batch, note, trashed, schemas=schemas, actor=ACTOR, now_ms=now_ms)


def due_at(store: Store, policy: Policy) -> int:
    """When maintenance is due, Unix ms; 0: it was never looked after. A clock that was set back does not put it off."""
    done = store.readable(Maintenance, maintenance_id())
    return done.at + policy.every_ms if done is not None and done.at <= store.clock.now_ms() else 0


class _Run:
    """One run: what it has found so far."""

    def __init__(self, store: Store, policy: Policy) -> None:
        self.now = store.clock.now_ms()
        self.trashed: list[results.Retired] = []
        self.erased: list[results.Retired] = []
        self.remarks: dict[str, None] = {}
        self._store, self._policy = store, policy
        self._pinned: set[int] = set()
        self._summaries: set[int] = set()
        self._damaged: set[int] = set()

    def look(self, most: int) -> tuple[list[Note], list[Note]]:
        """Up to so many notes that are due and were not found yet: those for the trash, those to be erased."""
        trashed: list[Note] = []
        erased: list[Note] = []
        found = states(self._store)
        kept = self._kept(found)
        for state in found:
            for note in self._due(state):
                if len(trashed) + len(erased) >= most:
                    return trashed, erased
                retired = results.Retired(
                    to_hex(note.id), note.kind, note.project, (self.now - note.updated_at) // DAY_MS
                )
                if note.pinned:  # in the trash, too
                    self._pinned.add(note.id)
                elif state.tier == Tier.TRASHED:
                    erased.append(note)
                    self.erased.append(retired)
                elif note.id in kept:
                    self._summaries.add(note.id)
                else:
                    trashed.append(note)
                    self.trashed.append(retired)
        return trashed, erased

    def _kept(self, found: list[State]) -> set[int]:
        """The newest summary of each project."""
        by_project: dict[str, list[State]] = {}
        for state in found:
            by_project.setdefault(project_key(state.project), []).append(state)
        summaries = (latest(self._store, of_one) for of_one in by_project.values())
        return {summary.id for summary in summaries if summary is not None}

    def _due(self, state: State) -> Iterator[Note]:
        before = self._policy.due_before(state, self.now)
        if not before:
            return
        for changed_at, id_ in list(_until(self._store, state, before)):
            note = self._store.readable(Note, id_)
            if note is None:
                self._damaged.add(id_)
            elif note.updated_at == changed_at:
                yield note

    def result(self, *, dry_run: bool) -> results.Maintained:
        every = self._policy.every_ms
        return results.Maintained(
            at=self.now,
            dry_run=dry_run,
            trashed=tuple(self.trashed[: LIMITS.results]),
            trashed_count=len(self.trashed),
            erased=tuple(self.erased[: LIMITS.results]),
            erased_count=len(self.erased),
            pinned=len(self._pinned),
            summaries=len(self._summaries),
            damaged=len(self._damaged),
            next_at=max(self.now, due_at(self._store, self._policy)) if every else None,
            reason=self._reason(),
        )

    def _reason(self) -> str:
        if self.trashed or self.erased:
            return "; ".join(("done", *self.remarks))
        return "nothing is due"


def _until(store: Store, state: State, before: int) -> Iterator[tuple[int, int]]:
    for place in store.members(state.group):
        if place[0] >= before:
            return
        yield place


def _table(value: object, key: str) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise ConfigError("not a table", field=key, allowed="days by kind")
    return {str(kind): _days(days, f"{key}.{kind}") for kind, days in value.items()}


def _days(value: Any, key: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_DAYS:
        return value
    raise ConfigError(f"{value!r:.40} is not allowed", field=key, allowed=f"days, 0 to {MOST_DAYS:,}; 0: for ever")
