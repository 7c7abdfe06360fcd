"""What the keepers of notes, messages and knowledge share in an import of a foreign format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memhop.api.import_journal import Journal, Step
from memhop.common.clock import FUTURE_SLACK_MS, LAST_MS
from memhop.common.config import LIMITS
from memhop.common.ids import key_hash
from memhop.repo.record import Record

if TYPE_CHECKING:
    from memhop.api.redaction import Guard
    from memhop.common.settings import Config

R = TypeVar("R", bound=Record)

LOCAL_IS_NEWER = "the memory's version is the newer one"
LOCAL_STAYS = "the memory has another version"
CHANGED_HERE = "it was changed here, and the source has no time to compare"
NO_TIME = "without a time: taken for now"
FUTURE = "a time in the future was taken for now"


class BadItem(ValueError):
    """An item that cannot be kept. Says why."""


class Context:
    """One import. `name` is that of the format, `now` the time at which it began."""

    def __init__(
        self,
        journal: Journal,
        config: Config,
        guard: Guard,
        name: str,
        path: Path,
        *,
        project: str | None,
        on_conflict: str,
    ) -> None:
        self.journal = journal
        self.store = journal.store
        self.tally = journal.tally
        self.config = config
        self.guard = guard
        self.redacted = 0  # how much was taken out of the item under way
        self.name = name
        self.path = path
        self.project = project
        self.now = journal.store.clock.now_ms()
        self._on_conflict = on_conflict

    def wins(self, changed_at: int, local_at: int, *, untouched: bool) -> bool:
        """Whether the source's version is taken; if not, it is counted."""
        if self._on_conflict == "skip":
            self.tally.skip(LOCAL_STAYS)
        elif self._on_conflict == "overwrite" or (changed_at > local_at if changed_at else untouched):
            return True
        else:
            self.tally.skip(LOCAL_IS_NEWER if changed_at else CHANGED_HERE)
        return False

    def external_id(self, source_id: str) -> str:
        """By which the memory knows what has this id in the source."""
        return self.name_of(source_id, f"{self.name}:")

    def name_of(self, id_: str, prefix: str = "") -> str:
        """An id of the source as a name; a hash of it, if it is too long for one or holds a secret."""
        name = prefix + id_
        fits = len(name) <= LIMITS.name_chars and name.isprintable()
        if fits and (not id_ or self.guard.metadata({"text": id_}, field="")[0]["text"] == id_):
            return name
        return f"{prefix}{key_hash(id_):016x}"

    def time(self, at: int, field: str) -> int:
        """A time of the source, as a memory takes it; 0: now. Raises BadItem."""
        if not 0 <= at <= LAST_MS:
            raise BadItem(f"{field}: {at} ms is out of range")
        if at > self.now + FUTURE_SLACK_MS:
            self.tally.remarks[FUTURE] += 1
            return self.now
        return at or self.now

    def put_away(self, at: int) -> int:
        """When it was archived or trashed; 0: it was not."""
        return self.time(at, "archived_at or trashed_at") if at else 0


def known(step: Step, group: int, record_type: type[R]) -> list[R]:
    """The first members of a group, with those that the commit under way brings: groups do not list them yet."""
    found = step.batch.listed(record_type, group, limit=20)
    pending = step.pending.get(group)
    return [*found, pending] if isinstance(pending, record_type) else found
