"""Typed records over one file. `Store.writing()` is the only way to write, and indexes change only there.

Data flow of a write: a caller fills a `Batch` under `store.lock`; it is appended as one log batch (one write), the
same entries are applied to the views, the lock is released, and the call waits for the disk. Threads that commit at
the same time share one fsync. A reader may see a commit a moment before it is durable; if the disk then fails,
the file rolls back to the last durable commit and the views are dropped with it.

Where processes share a file, a write is a turn of the file: it begins with what the others have written, and the disk
is waited for before the next process may go on. Reads see what the others wrote up to the last `refresh`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from memhop.common.errors import Corrupt, NotFound, StorageError
from memhop.common.ids import to_hex
from memhop.core.meh_file import Commit, MehFile
from memhop.repo import codec
from memhop.repo.batch import Batch
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.merging import NOTES_PER_STEP, Merging
from memhop.repo.record import Kind, Record

if TYPE_CHECKING:
    from memhop.common.clock import Clock
    from memhop.core.compaction import CompactReport
    from memhop.repo.views import Sections, Views

R = TypeVar("R", bound=Record)

CHECKPOINT_ENTRIES = 6_000  # log entries since the last checkpoint that make the next one due
CHECKPOINT_BYTES = 32 * 1024 * 1024  # the same, by bytes
CLOSE_CHECKPOINT_ENTRIES = 64  # fewer are cheaper to replay (under 1 ms) than a checkpoint is to keep
MERGE_PATIENCE = 4  # checkpoints are put off by this factor while a merge is under way, which they would make void
COMPACT_MIN_BYTES = 64 * 1024 * 1024  # smaller files are never compacted by themselves
_PAGE = 1_000  # places of a group that are looked up at a time
USAGE_TARGETS = 10_000  # buffered counters; further records are not counted until a commit has written these


class Store:
    """The records of one file. All methods may be called from any thread."""

    def __init__(self, file: MehFile, clock: Clock, *, actor: str = "") -> None:
        self.file = file
        self.clock = clock
        self.actor = actor  # who is said to have changed a note
        self.lock = file.lock
        self._views: Views | None = None
        self._uses: dict[int, tuple[int, int]] = {}  # target -> recalls not written yet, time of the newest
        self.upkeep_error: str | None = None  # why the newest checkpoint or compaction that was due failed
        self._rested, self._patience = 0, 1  # after a failure: entries, and steps of CHECKPOINT_BYTES, to wait for
        self._merging: Merging | None = None
        self._may_merge = True  # nobody has looked since the newest checkpoint
        self.damaged: set[int] = set()  # ids of records which listings met and could not read
        self.compacts = True  # by itself, when it has become due
        self.after_commit: list[Callable[[int], None]] = []  # called without any lock, once it is durable

    # -- reading ---------------------------------------------------------------------------------------------

    def find(self, record_type: type[R], id_: int) -> R | None:
        """The live record of this type and id, or None. Raises Corrupt if its bytes are damaged."""
        record = self._fetch(id_, record_type.KIND)
        return record if isinstance(record, record_type) else None

    def record(self, id_: int) -> Record | None:
        """The live record of this id, of whatever type; None if there is none, or its bytes are damaged."""
        try:
            return self._fetch(id_)
        except Corrupt:
            return None

    def _fetch(self, id_: int, wanted: Kind | None = None) -> Record | None:
        found = self.file.fetch(id_, kind=wanted)
        if found is None:
            return None
        kind, offset, payload = found
        return codec.decode(kind, id_, payload, offset)

    def get(self, record_type: type[R], id_: int, *, field: str = "id") -> R:
        """Like `find`, but a missing record is an error.

        Raises:
            NotFound: no live record, or one of another kind.
        """
        record = self.find(record_type, id_)
        if record is None:
            raise NotFound(f"no {record_type.KIND.name.lower()} has the id {to_hex(id_)}", field=field)
        return record

    def listed(
        self,
        record_type: type[R],
        group: int,
        *,
        after: tuple[int, int] | None = None,
        limit: int = 100,
        descending: bool = False,
    ) -> list[tuple[tuple[int, int], R]]:
        """A page of a group: ((order, id), record) pairs in order of (order, id); see `at_places`."""
        with self.lock:
            return self.at_places(record_type, self.places(group, after=after, limit=limit, descending=descending))

    def members(self, group: int, *, descending: bool = False) -> Iterator[tuple[int, int]]:
        """All (order, id) places of a group, in order, page by page: between pages others may write."""
        after = None
        while places := self.places(group, after=after, limit=_PAGE, descending=descending):
            yield from places
            after = places[-1]

    def walk(self, record_type: type[R], group: int, *, descending: bool = False) -> Iterator[R]:
        """All of a group in order of (order, id), each as it is when its turn comes; damaged ones are left out."""
        for _, id_ in self.members(group, descending=descending):
            record = self.readable(record_type, id_)
            if record is not None:
                yield record

    def places(
        self, group: int, *, after: tuple[int, int] | None = None, limit: int, descending: bool = False
    ) -> list[tuple[int, int]]:
        """The (order, id) places of a page of a group."""
        with self.lock:
            return self.views.groups.page(group, after=after, limit=limit, descending=descending)

    def at_places(self, record_type: type[R], places: Sequence[tuple[int, int]]) -> list[tuple[tuple[int, int], R]]:
        """The records at these places.

        Damaged ones are left out, so that one of them does not hide the others; `damaged` names them.
        """
        found = ((place, self.readable(record_type, place[1])) for place in places)
        return [(place, record) for place, record in found if record is not None]

    def readable(self, record_type: type[R], id_: int) -> R | None:
        """Like `find`, but a damaged record is None, and named in `damaged`: for what a call can do without."""
        try:
            return self.find(record_type, id_)
        except Corrupt:
            self.damaged.add(id_)
            return None

    def scan(self, record_type: type[R]) -> Iterator[R]:
        """All live records of a type, by ascending id, without damaged ones. Later writes may or may not show."""
        for id_ in list(self.file.ids(record_type.KIND)):
            record = self.readable(record_type, id_)
            if record is not None:
                yield record

    @property
    def views(self) -> Views:
        """Derived structures, caught up with the log. Hold `lock` while using them."""
        views = self._views
        if views is None or views.epoch != self.file.epoch:
            from memhop.repo.views import Views

            self._views = None  # should building them fail
            views = self._views = Views(self.file)
        if views.behind:
            views.catch_up()
        return views

    # -- writing ---------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[Batch]:
        """The writes of one call: what the block puts into the batch is one commit, made when the block ends.

        The block runs under `lock`, on the newest state of the log. If it raises, or puts nothing, nothing is
        written. Afterwards what the block saw and put is as durable as the handle promises, and a checkpoint or
        compaction that has become due is done.
        """
        with self.file.writing():
            with self.lock:
                # Waited for also where nothing is left to write: the call may tell what another thread just wrote.
                number = self.file.commit_number
                batch = Batch(self)
                yield batch
                written = len(batch)
                if written:
                    number = self._commit(batch).number  # the head may be another by now: a failed fsync takes it back
            self.file.sync(number)  # without the lock: that is what lets threads share one fsync
            if written:
                self._tidy(written)
        if written:
            for hook in self.after_commit:
                hook(number)

    def write(self, fill: Callable[[Batch], R]) -> R:
        """`writing` around `fill`. Returns what `fill` returned."""
        with self.writing() as batch:
            return fill(batch)

    def _commit(self, batch: Batch) -> Commit:
        """Append the batch and the buffered usage counters, and apply them to the views. Needs the lock."""
        for target, uses in self._uses.items():
            if self._counts(target) and target not in batch.deleted:
                batch.put(self._counter(batch, target).used(*uses), usage_id(target))
        views = self.views if self._views is not None else None  # up to date, or `catch_up` would mix versions up
        commit = self.file.append(list(batch.writes()), wait=False)
        self._uses.clear()
        if views is not None:
            views.catch_up(batch.records)
        return commit

    def count_use(self, target: int) -> None:
        """Count one recall of `target`. Buffered: written with the next commit, or at close."""
        if self.file.refused:
            return
        with self.lock:
            hits, _ = self._uses.get(target, (0, 0))
            if hits or len(self._uses) < USAGE_TARGETS:
                self._uses[target] = (hits + 1, self.clock.now_ms())

    def count_copy(self, batch: Batch, target: int) -> Usage:
        """Count that the words of `target` were remembered once more, in this batch. Returns the counter."""
        return batch.put(self._counter(batch, target).copied(), usage_id(target))

    def usage(self, target: int) -> Usage | None:
        """The counter of a record, recalls that are not written yet included."""
        known, uses = self.readable(Usage, usage_id(target)), self._uses.get(target)
        return (known or Usage(target=target)).used(*uses) if uses else known

    def _counter(self, batch: Batch, target: int) -> Usage:
        return batch.find(Usage, usage_id(target)) or Usage(target=target)

    def _counts(self, target: int) -> bool:
        """Whether there is something to count, and the counter's id is no other record's, as a forger may have it."""
        taken = self.file.locate(usage_id(target))
        return self.file.locate(target) is not None and (taken is None or taken[0] == Kind.USAGE)

    # -- upkeep ----------------------------------------------------------------------------------------------

    def _tidy(self, written: int) -> None:
        """Checkpoint, and compact, if that is due; and go on with a merge. `written`: records of this commit.

        A failure is kept in `upkeep_error` and goes no further: the commit that made it due is on the disk, and its
        call must not look as if it had written nothing. The next try comes when as much again was written.
        """
        file = self.file
        try:
            if self._merging is not None or self._may_merge:
                self._merge(1 + written // NOTES_PER_STEP)
            patience = 1 if self._merging is None else MERGE_PATIENCE
            fresh = file.tail_length - self._rested < CHECKPOINT_ENTRIES * patience
            if fresh and file.tail_bytes < CHECKPOINT_BYTES * max(self._patience, patience):
                return
            self.checkpoint()
            if self.compacts and file.file_bytes > COMPACT_MIN_BYTES and file.dead_bytes > file.file_bytes // 2:
                self.compact()
        except StorageError as error:
            self.upkeep_error = str(error)
            self._rested, self._patience = file.tail_length, file.tail_bytes // CHECKPOINT_BYTES + 1
        else:
            self.upkeep_error = None

    def _merge(self, steps: int) -> None:
        """Look whether segments are to be merged, and go on with it."""
        with self.lock:
            if self._merging is None:
                self._may_merge = False
                plan = self.file.plan_merge()
                if plan is None:
                    return
                self._merging = Merging(self.file, self.views, plan)
            merging, self._merging = self._merging, None
            for _ in range(steps):
                if not merging.step(self._views):
                    return
            self._merging = merging

    def _write_usage(self) -> None:
        if any(map(self._counts, self._uses)):
            self._commit(Batch(self))

    def checkpoint(self) -> bool:
        """Seal everything derived since the last checkpoint into a segment. False: there was nothing new."""
        with self.file.writing(), self.lock:
            self._write_usage()
            if self.file.covers == self.file.commit_number:
                return False
            self._gather_slabs(self.views)
            self.file.checkpoint(self._sealed(self._newest_parts), meta=self.views.meta())
            self.views.sealed()
            self._rested, self._patience = 0, 1
            self._merging, self._may_merge = None, True
            return True

    def compact(self, *, keep_history: bool = False) -> CompactReport:
        """Rewrite the file without what is dead. On failure the old file stays as it was."""
        with self.file.writing(), self.lock:
            self._write_usage()
            self._gather_slabs(self.views, everything=True, keep_history=keep_history)
            meta = self.views.meta()
            report = self.file.compact(lambda: self._sealed(self._all_parts), meta=meta, keep_history=keep_history)
            self._views = self._merging = None
            return report

    def _newest_parts(self) -> Sections:
        """What the next checkpoint seals; everything where nothing of the old segments is in use."""
        victims = self.file.plan_checkpoint(everything=self.views.rebuilt)
        if victims and not self.views.rebuilt:
            self.views.check()
            victims = self.file.plan_checkpoint(everything=self.views.rebuilt)
        return self.views.seal(len(self.file.segments()) - len(victims))

    def _all_parts(self) -> Sections:
        self.views.check()
        return self.views.seal(0)

    def _sealed(self, seal: Callable[[], Sections]) -> Sections:
        """`seal`, once more with views built from the records if the parts in use contradict each other."""
        try:
            return seal()
        except Corrupt:  # their checksums hold, or they would not be in use
            from memhop.repo.views import Views

            self._views = Views(self.file, anew=True)
            return seal()

    def close(self) -> None:
        """Write what is buffered, checkpoint if that pays, close the file.

        Both are left out where another process is writing, the disk is full or the folder read-only: nobody waits for a
        counter, the next opening makes up for a checkpoint, and who has only read must not fail at the end.
        """
        try:
            if not self.file.refused and (self._uses or self.file.tail_length >= CLOSE_CHECKPOINT_ENTRIES):
                self._last_upkeep()
        finally:
            self._views = None
            self.file.close()

    def _last_upkeep(self) -> None:
        try:
            with self.file.writing(wait=0.0), self.lock:
                self._write_usage()
                if self.file.tail_length >= CLOSE_CHECKPOINT_ENTRIES:
                    self.checkpoint()
        except Corrupt:
            raise
        except StorageError:
            if self.file.refused:  # a failed fsync: more is lost than was tried here
                raise

    def refresh(self) -> bool:
        """Take in what other processes have written since. True if there was anything."""
        return self.file.catch_up()

    def _gather_slabs(self, views: Views, *, everything: bool = False, keep_history: bool = False) -> None:
        from memhop.repo.gathering import gather  # needs numpy

        batch = Batch(self)
        gather(self, views, batch, everything=everything, keep_history=keep_history)
        if len(batch):
            self._commit(batch)
