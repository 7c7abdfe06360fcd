"""Small memories for tests of the public face: a clock that stands still, and few words for common steps."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memhop import DB
from memhop.api.results import Recall
from memhop.common.clock import Clock, ManualClock
from memhop.models.embed import Embedder

NOW = 1_780_000_000_000  # Thursday, 28 May 2026, 20:26:40 UTC
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NO_ID = "00000000000000ab"  # well formed, names nothing
DISTRACTORS = (
    "the weather in Porto was mild all week",
    "Jonas repaired the bicycle behind the garage",
    "quarterly figures are due before the holidays",
    "a red lantern hung over the kitchen table",
)


def memory(path: Path, *, embedder: Embedder | None = None, clock: Clock | None = None, **options: Any) -> DB:
    """Open `path` with a clock that stands at NOW."""
    return DB.open(path, embedder=embedder, clock=clock or ManualClock(NOW), **options)


def distract(db: DB) -> None:
    """Notes that have nothing to do with what a test looks for."""
    db.remember_many(DISTRACTORS)


def texts(found: Recall) -> list[str]:
    """The texts of the hits, best first."""
    return [hit.text for hit in found.hits]


def every(listing: Any, *, page: int = 3, **arguments: Any) -> list[Any]:
    """All items of a paged listing; three to a page, so that cursors are walked."""
    items: list[Any] = []
    cursor = None
    while True:
        found = listing(limit=page, cursor=cursor, **arguments)
        items += found.items
        cursor = found.next
        if cursor is None:
            return items


def copied(source: Path, target: Path) -> Path:
    """A copy of a memory file, without its lock."""
    return Path(shutil.copyfile(source, target))


def conversation(db: DB, turns: Iterable[tuple[str, str]], *, session: str, start: int = NOW - DAY) -> list[str]:
    """Go through the agent loop, one turn a minute; gives the scene of each turn."""
    scenes = []
    for number, (said, reply) in enumerate(turns):
        at = start + number * MINUTE
        found = db.search(said, at, session=session)
        scenes.append(found.scene_id)
        if reply:
            db.update(found.new_topic_id, reply, at + MINUTE // 2)
    return scenes
