"""`db.imports`: what imports wrote, and undoing them."""

from __future__ import annotations

from memhop.api import results
from memhop.api.import_undo import named, traces, undo
from memhop.api.namespace import Namespace
from memhop.common.config import LIMITS, check_int
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.imports import Import, of_number, state_of
from memhop.repo.record import Kind, all_of

_MOST_STAYED = 1_000


class Imports(Namespace):
    """Imports that wrote something, by number."""

    def list(self, *, limit: int = 50, cursor: str | None = None) -> results.Page:
        """Imports, the newest first."""
        return self._page(Import, all_of(Kind.IMPORT), _entry, limit, cursor, True)

    def show(self, number: int) -> results.ImportChanges:
        """What an import wrote, as far as it is still there.

        Raises:
            InvalidRequest: there is no such import.

        Cost: reads every record that it wrote.
        """
        store = self._store
        entry = of_number(store, check_int(number, field="number", low=1, high=2**63 - 1))
        if entry is None:
            raise InvalidRequest(f"there is no import {number}", field="number", allowed="a number from imports.list()")
        created: dict[str, list[str]] = {}
        updated: dict[str, list[str]] = {}
        gone = changed = 0
        for id_, trace in traces(store, entry.id).items():
            record = store.record(id_)
            if record is None:
                gone += 1
                continue
            changed += state_of(record) != trace.state
            ids = (created if trace.created else updated).setdefault(record.KIND.name.lower(), [])
            if len(ids) < LIMITS.results:
                ids.append(to_hex(id_))
        return results.ImportChanges(
            entry=_entry(entry),
            created={kind: tuple(ids) for kind, ids in sorted(created.items())},
            updated={kind: tuple(ids) for kind, ids in sorted(updated.items())},
            gone=gone,
            changed=changed,
        )

    def undo(self, number: int) -> results.ImportUndone:
        """Take an import back, in one commit: what it created goes, with all that was made of it, and what it updated
        is again as it was. What somebody has changed since stays, and is told.

        Imports can be undone in any order. What was created is known also after a compaction; what records other than
        notes were before an update is in the history of the file alone, which `compact` drops.

        Raises:
            InvalidRequest: there is no such import, or it was undone before.

        Cost: about 0.2 ms per record; other writers wait.
        """
        done = undo(self._store, check_int(number, field="number", low=1, high=2**63 - 1), self._db._schemas)
        stayed = [named(one) for one in done.stayed[:_MOST_STAYED]]
        return results.ImportUndone(
            number=number,
            removed=done.removed,
            reverted=done.reverted,
            stayed=tuple(results.Stayed(kind=kind, id=id_, field=None, reason=reason) for kind, id_, reason in stayed),
            stayed_in_all=len(done.stayed),
        )


def _entry(record: Import) -> results.ImportEntry:
    return results.ImportEntry(
        number=record.number,
        format=record.format,
        source=record.source,
        at=record.at,
        state=record.state,
        created=record.created,
        updated=record.updated,
        unchanged=record.unchanged,
        skipped=record.skipped,
        rejected=record.rejected,
    )
