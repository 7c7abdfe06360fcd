"""`db.dreams`: what dreams did, and taking them back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memhop.api import results
from memhop.api.namespace import Namespace, cursor_of, place_of
from memhop.common.config import LIMITS, check_int, check_seconds
from memhop.common.errors import NotFound
from memhop.common.ids import from_hex, to_hex
from memhop.repo.record import Kind, all_of

if TYPE_CHECKING:
    from memhop.api.dreaming import Dreamer
    from memhop.dream import journal
    from memhop.dream.undo import Stayed
    from memhop.repo.dreams import Dream
    from memhop.repo.store import Store

SHOWN_RECORDS = 100  # of one change
SHOWN_CHANGES = 1_000  # of a preview
SHOWN_CHARS = 400  # of a text
SHOWN_ITEMS = 20  # of a list
_COUNTS = ("read", "proposed", "applied", "changed", "model_calls", "prompt_tokens", "completion_tokens", "ms")


class Dreams(Namespace):
    """What dreams did."""

    @property
    def last_error(self) -> str | None:
        """Why the newest dream in the background failed, None if it did not."""
        return self._db._dreamer.last_error

    @property
    def failures(self) -> int:
        """How many dreams in the background failed since the memory was opened."""
        return self._db._dreamer.failures

    def list(self, *, limit: int = 20, cursor: str | None = None) -> results.Page:
        """Reports of dreams, the newest first. The newest 1,000 are kept."""
        from memhop.repo.dreams import Dream

        store = self._store
        return self._page(Dream, all_of(Kind.DREAM), lambda dream: report(store, dream), limit, cursor, True)

    def show(self, number: int) -> results.DreamReport:
        """The report of a dream. Raises NotFound, InvalidRequest."""
        store = self._store
        return report(store, _dream(store, number))

    def diff(self, number: int, *, limit: int = 50, cursor: str | None = None) -> results.Page:
        """What a dream changed: `DreamChange` after `DreamChange`, in order, each with the records before and after.

        Raises:
            NotFound: there is no such dream. InvalidRequest: what was before is no longer there, since compaction
                without history has dropped it, or the dream is not among the newest 100; says so.

        Cost: opens the file as it was twice for each commit of the dream that is shown.
        """
        from memhop.common.errors import InvalidRequest
        from memhop.dream import journal

        limit = check_int(limit, field="limit", low=1, high=LIMITS.results)
        place = place_of(cursor)
        store = self._store
        dream = _dream(store, number)
        why = journal.why_not_readable(store, dream)
        if why:
            raise InvalidRequest(f"dream {number} cannot be shown: {why}", field="number")
        found: list[results.DreamChange] = []
        after, begin = place or (1, 0)
        for step in journal.steps(store, dream, after=after - 1):
            entries = journal.changes(store, step, begin if step.seq == after else 0)
            for entry in entries:
                if len(found) == limit:
                    return results.Page(tuple(found), cursor_of((entry.step, entry.number)))
                found.append(change(entry))
        return results.Page(tuple(found), None)

    def undo(self, number: int) -> results.Undone:
        """Take a dream back, in one commit; newer ones that changed something have to be undone first.

        What was built on it since stays, and is reported: see `memhop/dream/undo.py`. What was erased since stays
        erased. A fused topic that was taken apart again is not made again by a later dream.

        Raises:
            InvalidRequest: it cannot be undone: a newer one comes first (named in `allowed`), it was undone, changed
                nothing, or what was before it is no longer there.

        Cost: as `diff` of the whole dream, whose records are held in memory.
        """
        from memhop.dream.undo import undo

        number = check_int(number, field="number", low=1, high=2**53)
        store = self._store
        with self._db._dreamer.alone():
            done = undo(store, number)
        return results.Undone(
            number=number,
            changes=done.changes,
            changes_in_all=done.changes_in_all,
            restored=done.restored,
            removed=done.removed,
            returned=done.returned,
            stayed=tuple(map(_stayed, done.stayed)),
            stayed_in_all=done.stayed_in_all,
        )


def dream(
    dreamer: Dreamer, store: Store, scene: str | None, *, dry_run: bool, max_seconds: float | None
) -> results.DreamReport:
    """See `DB.dream`."""
    from memhop.repo.l2_context import Scene

    if max_seconds is not None:
        check_seconds(max_seconds, field="max_seconds", high=10**7)
    id_ = 0 if scene is None else store.get(Scene, from_hex(scene, field="scene"), field="scene").id
    if id_:
        return dreamer.dream(store, id_, dry_run=dry_run, max_seconds=max_seconds)
    from memhop.api.note_duplicates import proposals, since_last_dream

    since = since_last_dream(store)
    told = dreamer.dream(store, id_, dry_run=dry_run, max_seconds=max_seconds)
    return replace(told, proposals=proposals(store, since))


def _dream(store: Store, number: object) -> Dream:
    from memhop.dream.journal import of_number

    number = check_int(number, field="number", low=1, high=2**53)
    dream = of_number(store, number)
    if dream is None:
        raise NotFound(f"there is no dream {number}", field="number")
    return dream


def report(store: Store, dream: Dream, **more: Any) -> results.DreamReport:
    """What a dream did, as it is told."""
    from memhop.dream.journal import why_not_undoable

    stages = tuple(_stage(told) for told in dream.stages)
    why = why_not_undoable(store, dream)
    return results.DreamReport(
        number=dream.number or None,
        state=dream.state,
        trigger=dream.trigger,
        started_at=dream.started_at,
        finished_at=dream.finished_at or None,
        scene=to_hex(dream.scene) if dream.scene else None,
        stages=stages,
        changed=dream.changed,
        notices=tuple(f"{stage.name}: {stage.notice}" for stage in stages if stage.notice),
        undoable=not why,
        reason=why or None,
        **more,
    )


def preview(copy: Store, dream: Dream) -> results.DreamReport:
    """What a dream on a copy of the memory did: what one on the memory itself would do."""
    from memhop.dream import journal

    found: list[results.DreamChange] = []
    for step in journal.steps(copy, dream) if dream.id else ():
        found += map(change, journal.changes(copy, step))
        if len(found) >= SHOWN_CHANGES:
            break
    return report(copy, dream, dry_run=True, changes=tuple(found[:SHOWN_CHANGES]))


def change(entry: journal.PastChange) -> results.DreamChange:
    """One change, cut to what people read."""
    records = tuple(_record(version) for version in entry.versions[:SHOWN_RECORDS])
    return results.DreamChange(entry.stage, entry.why or None, records, len(entry.versions))


def _record(version: journal.Version) -> results.RecordChange:
    from memhop.dream.journal import fields

    record = version.after or version.before
    id_ = to_hex(version.id)
    if record is None:
        return results.RecordChange(None, id_, "erased", ())
    action = "created" if version.before is None else "deleted" if version.after is None else "changed"
    shown = tuple(results.FieldChange(one.name, _short(one.before), _short(one.after)) for one in fields(version))
    return results.RecordChange(_kind(record.KIND), id_, action, shown)


def _stayed(one: Stayed) -> results.Stayed:
    id_ = to_hex(one.id) if one.id else None
    return results.Stayed(kind=_kind(one.kind), id=id_, field=one.field or None, reason=one.reason)


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > SHOWN_CHARS:
        return value[: SHOWN_CHARS - 1] + "…"
    if isinstance(value, list | tuple):
        return [_short(item) for item in value[:SHOWN_ITEMS]]
    if isinstance(value, dict):
        return {key: _short(value[key]) for key in sorted(value)[:SHOWN_ITEMS]}
    return value


def _stage(told: dict[str, Any]) -> results.StageReport:
    """From what a record says, which another build may have written."""
    count = {name: value if isinstance(value := told.get(name), int) else 0 for name in _COUNTS}
    skipped = told.get("skipped")
    return results.StageReport(
        name=str(told.get("name", "")),
        skipped={str(reason): number for reason, number in skipped.items()} if isinstance(skipped, dict) else {},
        notice=str(told.get("notice") or "") or None,
        **count,
    )


def _kind(kind: int) -> str | None:
    return Kind(kind).name.lower() if kind else None
