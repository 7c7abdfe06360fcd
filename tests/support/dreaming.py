"""Dreams without their engine: stages are run one after another, and each change is applied in a commit of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memhop import DB
from memhop.dream.compress import Compress
from memhop.dream.engrams import Engrams
from memhop.dream.placing import Placing
from memhop.dream.stage import Change, Desk, Stage
from memhop.models.chat import ChatModel

MIN_TOPICS = 6


def stages() -> list[Stage]:
    return [Placing(), Compress(), Engrams()]


def dream(
    db: DB,
    *,
    only: Sequence[Stage] | None = None,
    chat: ChatModel | None = None,
    scene: int = 0,
    min_topics: int = MIN_TOPICS,
    skipped: Counter[str] | None = None,
    commit_every: int = 1,
) -> list[Change]:
    """Run the stages; gives what was applied. A change whose records are others by now is left out, as it must be."""
    store = db._store
    counts: Counter[str] = skipped if skipped is not None else Counter()

    def skip(reason: str, count: int = 1) -> None:
        counts[reason] += count

    desk = Desk(store, chat, store.clock.now_ms(), scene, min_topics, lambda count: None, skip, lambda: False)
    applied: list[Change] = []
    for stage in only or stages():
        waiting: list[Change] = []
        for change in stage.plan(desk):
            waiting.append(change)
            if len(waiting) == commit_every:
                applied += _apply(db, waiting, skip)
        applied += _apply(db, waiting, skip)
    return applied


def _apply(db: DB, changes: list[Change], skip: object) -> list[Change]:
    store = db._store
    done = []
    with store.writing() as batch:
        for change in changes:
            assert all(record.id for record in (*change.puts, *change.reads))
            there = {record.id for record in change.puts if store.record(record.id) is not None}
            assert there <= {record.id for record in change.reads}, "a record is replaced that was not read"
            if any(store.record(record.id) != record for record in change.reads):
                skip("changed meanwhile")  # type: ignore[operator]
                continue
            for record in change.puts:
                batch.put(record)
            for record in change.deletes:
                batch.delete(record.KIND, record.id)
            done.append(change)
    changes.clear()
    return done
