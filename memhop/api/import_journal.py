"""How an import writes: in commits of its own, each beside a note of what it made and changed, and counted as it goes.

The journal is part of the commits, so that an import that was killed can be looked at and taken back as far as it got;
one that wrote nothing has no number and leaves no trace.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec

from memhop.api import results
from memhop.common.config import LIMITS
from memhop.common.errors import InvalidRequest, MemhopError, StorageError
from memhop.core.disk import reason
from memhop.core.side_files import beside
from memhop.repo.imports import Import, ImportStep, newest_number, state_of
from memhop.repo.record import Record

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

R = TypeVar("R", bound=Record)
T = TypeVar("T")

COMMIT_RECORDS = 1_000
COMMIT_BYTES = 8 * 1024 * 1024  # of the source
REJECTS = ".rejects"
_MOST_REJECTS = 1_000  # files of rejects beside one source


def in_commits(items: Iterable[tuple[T, int]]) -> Iterator[list[T]]:
    """Items as one commit takes them; each comes with its bytes."""
    chunk: list[T] = []
    size = 0
    for item, length in items:
        if chunk and (len(chunk) >= COMMIT_RECORDS or size + length > COMMIT_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += length
    if chunk:
        yield chunk


class Tally:
    """The counts of an import, and what is told of it. `rejects`: where rejected items are copied to; None: nowhere."""

    def __init__(self, rejects: Rejects | None) -> None:
        self.created = self.updated = self.unchanged = self.skipped = self.rejected = 0
        self.problems: list[results.ImportProblem] = []
        self.remarks: Counter[str] = Counter()
        self._rejects = rejects

    @property
    def read(self) -> int:
        """Everything that was looked at has one outcome."""
        return self.created + self.updated + self.unchanged + self.skipped + self.rejected

    def take_back(self, outcome: str) -> None:
        """One that was counted as this has come to another end."""
        setattr(self, outcome, getattr(self, outcome) - 1)

    def skip(self, why: str) -> None:
        """Leave an item out that has nothing wrong."""
        self.skipped += 1
        self.remarks[why] += 1

    def reject(self, place: str, why: str, raw: bytes) -> None:
        """Leave a broken item out, and keep a copy of it."""
        self.rejected += 1
        if len(self.problems) < LIMITS.import_problems:
            self.problems.append(results.ImportProblem(place, why))
        if self._rejects is not None and raw:
            self._rejects.add(raw)

    def close(self) -> None:
        """Nothing more is rejected."""
        if self._rejects is not None:
            self._rejects.close()

    def report(self, number: int | None, format_: str, *, dry_run: bool) -> results.ImportReport:
        """What is told at the end."""
        path = None
        if self._rejects is not None:
            path = self._rejects.path
            if why := self._rejects.error:
                self.remarks[f"the rejected ones could not be copied: {why}"] = self.rejected
        return results.ImportReport(
            number=number,
            format=format_,
            read=self.read,
            created=self.created,
            updated=self.updated,
            unchanged=self.unchanged,
            skipped=self.skipped,
            rejected=self.rejected,
            problems=tuple(self.problems),
            rejects_path=path,
            remarks=dict(sorted(self.remarks.items())),
            dry_run=dry_run,
        )


class Rejects:
    """A file for what was rejected, made for the first of it: mode 0600, and never in the place of another one.

    Args:
        given: Where; it must not exist. None: beside the source, under the first name that is free.
    """

    def __init__(self, source: Path, given: Path | None) -> None:
        self.error = ""
        self._given = given
        self._source = source
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        if given is not None and os.path.lexists(given):
            raise InvalidRequest(f"{given} exists", field="rejects", allowed="a new file")

    @property
    def path(self) -> str | None:
        """Of the file; None: there is none."""
        return None if self._path is None or self.error else str(self._path)

    def add(self, raw: bytes) -> None:
        """Copy one item, on lines of its own. A failure is kept in `error`: it must not end the import."""
        if self.error:
            return
        try:
            if self._file is None:
                self._file = self._create()
            self._file.write(raw if raw.endswith(b"\n") else raw + b"\n")
        except OSError as error:
            self.error = reason(error)

    def close(self) -> None:
        """Write what is buffered."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self.error = self.error or reason(error)

    def _create(self) -> BinaryIO:
        for number in range(1, _MOST_REJECTS):
            path = self._given or beside(self._source, REJECTS if number == 1 else f"{REJECTS}-{number}")
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                if self._given is not None:
                    raise
                continue
            self._path = path
            return os.fdopen(descriptor, "wb")
        raise FileExistsError(f"{beside(self._source, REJECTS)} and {_MOST_REJECTS} more exist")


class Step:
    """One commit of an import. What is put through it is in the journal; `batch` reads, and puts what is no item."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.created: dict[int, None] = {}
        self.updated: dict[int, None] = {}
        self.pending: dict[int, Record] = {}  # new records by a group that will list them

    def create(self, record: R, unknown: dict[str, Any] | None = None) -> R:
        """Put a record, by its id, that was not there."""
        self.created[record.id] = None
        return self.batch.put_whole(record, unknown or {})

    def new(self, record: R, *key: object) -> R:
        """Put a record that gets its id from its natural key."""
        record = self.batch.new(record, *key)
        self.created[record.id] = None
        return record

    def update(self, record: R, unknown: dict[str, Any] | None = None) -> R:
        """Put a record in the place of another version."""
        self.changed(record.id)
        return self.batch.put(record) if unknown is None else self.batch.put_whole(record, unknown)

    def changed(self, id_: int) -> None:
        """Another version of this record is in the batch."""
        if id_ not in self.created:
            self.updated[id_] = None

    def as_record(self, batch_id: int, seq: int, base: int) -> ImportStep:
        """What the journal keeps of it."""
        created, updated = tuple(self.created), tuple(self.updated)
        states = tuple(state_of(self.batch.records[id_]) for id_ in (*created, *updated))
        return ImportStep(batch=batch_id, seq=seq, base=base, created=created, updated=updated, states=states)


class Journal:
    """The commits of one import."""

    def __init__(self, store: Store, tally: Tally, format_: str, source: str) -> None:
        self.store = store
        self.tally = tally
        self._format, self._source = format_, source
        self._import: Import | None = None
        self._seq = 0

    @property
    def number(self) -> int | None:
        """None until something was written."""
        return self._import.number if self._import is not None else None

    @contextmanager
    def writing(self) -> Iterator[Step]:
        """One commit; none where the block puts nothing.

        Raises:
            StorageError: somebody has undone the import meanwhile.
        """
        with self.store.writing() as batch:
            base = self.store.file.commit_number
            step = Step(batch)
            yield step
            if step.created or step.updated:
                self._put_entry(batch, "running")
                assert self._import is not None
                self._seq += 1
                batch.new(step.as_record(self._import.id, self._seq, base), self._import.id, self._seq)

    def finish(self, state: str = "done") -> None:
        """Say how it ended."""
        if self._import is not None:
            with self.store.writing() as batch:
                self._put_entry(batch, state)

    @contextmanager
    def running(self) -> Iterator[None]:
        """The whole import: at the end it is said how it ended."""
        try:
            yield
        except BaseException:
            with suppress(MemhopError):
                self.finish("stopped")
            raise
        self.finish()

    def created_ids(self) -> Iterator[int]:
        """Of all records that were written so far and are still there."""
        from memhop.repo.imports import steps

        if self._import is not None:
            for step in steps(self.store, self._import.id):
                yield from (*step.created, *step.updated)

    def _put_entry(self, batch: Batch, state: str) -> None:
        tally = self.tally
        counts: dict[str, Any] = {
            "created": tally.created,
            "updated": tally.updated,
            "unchanged": tally.unchanged,
            "skipped": tally.skipped,
            "rejected": tally.rejected,
        }
        known = self._import
        if known is None:
            number = newest_number(self.store) + 1
            begun = Import(
                number=number, format=self._format, source=self._source, at=self.store.clock.now_ms(), **counts
            )
            self._import = batch.new(msgspec.structs.replace(begun, state=state), "import", number, begun.at)
            return
        there = batch.find(Import, known.id)
        if there is None or there.state == "undone":
            raise StorageError(f"import {known.number} was undone while it was running")
        self._import = batch.put(msgspec.structs.replace(known, state=state, **counts))
