"""`stats`, `checkpoint`, `compact`, `backup`, `export`, `import_`, `verify`: the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, BinaryIO

from memhop.api.calls.handle import Handle

if TYPE_CHECKING:
    from memhop.api import results
    from memhop.api.imports import Imports
    from memhop.api.rotation import Rotation


class Upkeep(Handle):
    """Calls that look after the file."""

    @property
    def path(self) -> str:
        """Where the file is."""
        return str(self._file.path)

    @property
    def recovery(self) -> results.Recovered:
        """What opening found: whether a torn tail was cut or damage was stepped over."""
        from memhop.api.reports import recovered

        return recovered(self._file.recovery)

    def stats(self) -> results.Stats:
        """Counts and sizes, and what uses the space. Loads the indexes. Cost: about 5 us per frame of the file."""
        from memhop.api.reading import stats

        return stats(
            self._store,
            backup_error=self._rotation.last_error if self._rotation else None,
            maintenance_error=self._keeper.last_error if self._keeper else None,
        )

    def maintain(self, *, dry_run: bool = False) -> results.Maintained:
        """Send notes that were not changed for longer than `retention` of the config keeps them to the trash, and erase
        those that were in the trash for too long.

        Pinned and archived notes and the newest summary of each project stay. Where the config sets anything, this also
        happens by itself while the handle is open: at once when it is overdue, then every `retention.every_hours`.

        Args:
            dry_run: Only tell what would be done. Needs no permission to write.

        Cost: looks at nothing but what is due; 0.1 ms for each note that goes. It takes a commit for each 500 of them,
            so that others can write meanwhile; what a crash leaves is done the next time.
        """
        from memhop.api.maintenance import Policy, maintain

        return maintain(self._store, Policy(self._config.retention), self._schemas, dry_run=dry_run)

    def checkpoint(self) -> bool:
        """Seal the indexes of what is new into the file, so that the next opening need not replay it.

        Happens by itself every 20,000 records or 32 MiB. False: there was nothing new.
        """
        return self._store.checkpoint()

    def compact(self, *, keep_history: bool = False) -> results.Compacted:
        """Rewrite the file without what is dead: old versions, erased records, old indexes.

        Without history, neither `at` nor `dreams.diff` and `dreams.undo` reach back beyond it.

        Args:
            keep_history: Keep superseded versions, but never those of erased records.

        Raises:
            StorageError: the disk is full, …; the old file is as it was.
        """
        from memhop.api.reports import compacted

        return compacted(self._store.compact(keep_history=keep_history))

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> results.Backup:
        """Copy the newest commit into a whole `.meh` file of its own, while others read and write.

        A handle from `at` copies the memory as it was; one that reads only, what it sees.

        Args:
            path: Of the copy, `~` allowed; mode 0600. A folder that exists: a name is made in it, such as
                `agent-20260510T083000123Z-c42.meh`.
            overwrite: Replace an earlier copy of this memory; nothing else is ever replaced.

        Returns:
            What was copied. It holds all that was acknowledged before the call, and verifies.

        Raises:
            InvalidRequest: the path is the memory itself, or taken. Corrupt: the memory is damaged.
            StorageError: the folder is missing, the disk is full, … Nothing is left behind then.

        Cost: reads the file once and the copy twice; writers wait only for the fsync in front. About 1 s per 100,000
            notes or 100 MB.
        """
        from memhop.api.backups import backup

        return backup(self._file, path, now_ms=self._clock.now_ms(), overwrite=overwrite)

    def export(
        self,
        path: str | os.PathLike[str] | BinaryIO | None = None,
        *,
        overwrite: bool = False,
        project: str | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> results.Exported:
        """Write all layers as JSON lines, in an order that depends on nothing but what is in them.

        Args:
            path: Of the file, `~` allowed; mode 0600. Or a binary stream, which is written to as it goes. None: nothing
                is written, and only the digest is of use.
            overwrite: Replace an earlier export; nothing else is ever replaced.
            project: Only its notes, with their revisions and counters, its messages, scenes and topics, what associates
                those scenes, and facts drawn from nothing else. None: everything, whatever its tier.
            progress: Called with the number of records written and of all that are looked at, now and then.

        Returns:
            How much it was, and the SHA-256 of it: equal digest, equal memories. `memhop/api/export.py` says what the
            lines are.

        Raises:
            InvalidRequest: the path is the memory itself, or taken.
            StorageError: the folder is missing, the disk is full, … Nothing is left behind then.

        Cost: reads every live record, about 10 us each, and holds 16 bytes of each; writers wait for no part of it.
        """
        from memhop.api.export import export

        return export(self._store, path, overwrite=overwrite, project=project, progress=progress)

    def import_(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        project: str | None = None,
        on_conflict: str = "newer",
        dry_run: bool = False,
        rejects: str | os.PathLike[str] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> results.ImportReport:
        """Take in an export of a memory, or what another program exported. Doing it twice changes nothing.

        It is written in commits of up to 1,000 records, between which others write. After a crash, the same call goes
        on where it was. `imports.undo` takes it back as one. What a source lacks is never deleted here.

        Args:
            path: A file, or a folder where the format is one of folders.
            format: "memhop" is an export of a memory, whose ids are kept; the others are named in the guide. None: by
                what is in it.
            project: Put notes and messages into this project. None: where the source has them.
            on_conflict: What becomes of a record, or of an item with the same id in the source, that is there already
                and says something else: "newer" takes the one with the later time of change, "overwrite" always that
                of the source, "skip" never. Messages never change: one with other words is rejected.
            dry_run: Do it to a private copy of the memory, and only tell.
            rejects: A new file for what was rejected, as it stands in the source; mode 0600. None: `<path>.rejects`, or
                the first free name after it. It is made only where there is something to be put into it.
            progress: Called now and then with how much is done and how much there is: bytes of an export, items of
                anything else. 0 where it is not known how much there is.

        Returns:
            How many were read, created, updated, unchanged, skipped and rejected, and why.

        Raises:
            InvalidRequest: an argument does not do, or nobody knows the format.
            BadFormat: an export of a newer version, or none.
            StorageError: the source cannot be read, the disk is full, … What was committed stays, and is in the
                journal (`imports`).

        Cost: reads the source twice. About 50 us per record; holds 10 bytes of each record of an export.
        """
        from memhop.api.importing import import_

        return import_(
            self._store,
            self._config,
            self._guard,
            path,
            format=format,
            project=project,
            on_conflict=on_conflict,
            dry_run=dry_run,
            rejects=rejects,
            progress=progress,
        )

    @property
    def imports(self) -> Imports:
        """What imports wrote, and undoing them."""
        from memhop.api.imports import Imports

        return Imports(self._usable())

    @property
    def subscribers(self) -> tuple[results.Subscriber, ...]:
        """Who is told of what this handle changes (`Config.notify`), and how many events they have missed."""
        return () if self._notifier is None else self._notifier.subscribers()

    @property
    def backups(self) -> Rotation | None:
        """The automatic copies of this handle and how they fare. None: opened without `backups`."""
        return self._rotation

    def events(
        self,
        since: str | int | None = None,
        *,
        limit: int = 100,
        project: str | None = None,
        types: Iterable[str] | None = None,
    ) -> results.Events:
        """What has changed, in order, read from the log: what all processes have written, told again at any time.

        A record that a commit changes is one event, and only where something is another than before. Counters of use,
        vectors and associations are not told of. A handle from `at` tells what had happened by then.

        Args:
            since: Only events behind this one: its `number`, or `next` of the page before. None: from the oldest.
            limit: Most events, 1..1000.
            project: Only of this project; a note that left it counts. None: all.
            types: Only of these types, up to 100; `note_*` stands for all that begin so. None: all.

        Returns:
            A page. It may be short, or empty, though `next` leads on: a call looks at 50,000 records at the most.
            Within a commit, events that were told stay told, unless records of that very commit are purged and history
            is kept by the next compaction, which moves those behind them forward.

        Raises:
            InvalidRequest: an argument does not do.

        Cost: going on where the last call ended, 20 us per event; else also 5 us per record that was written between
            the checkpoint in front of `since` and `since`.
        """
        from memhop.api.events import Events

        store = self._store
        with self._lock:
            if self._events_or_none is None:
                self._events_or_none = Events(store)
        return self._events_or_none.page(since, limit, project, types)

    def verify(self, *, deep: bool = False) -> results.Verified:
        """Check the file while others go on using it.

        Args:
            deep: Also check that every record can be read, that every reference names a live record of the right
                kind, that all indexes equal those built anew from the records, and what older checkpoints left.

        Raises:
            StorageError: the disk failed. What is wrong in the file is no error; see `Verified.problems`.

        Cost: reads the file once, and with `deep` builds all indexes anew, in memory of about twice their size.
            Writers wait for no part of it, but for the moment in which `deep` copies what the indexes hold: about a
            second per million units.
        """
        from memhop.api.reports import verified

        report = self._file.verify(deep=deep)
        if not deep:
            return verified(report, None)
        from memhop.repo.checking import check

        return verified(report, check(self._store))

    def refresh(self) -> bool:
        """Take in what other processes have written since. True if there was anything.

        Every call of a shared or reading handle does this by itself first; use it to learn whether there is news. An
        exclusive handle has none.

        Raises:
            StorageError: another memory stands at the path now.

        Cost: some microseconds when there is nothing new, else 2 us per new record.
        """
        return self._open_store().refresh()
