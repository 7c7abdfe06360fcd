"""Listing notes: every filter and order against a plain reading of all notes, page by page, and the totals."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

from memhop.api.results import Note
from memhop.common.clock import ManualClock
from memhop.repo.schema import BUILT_IN
from tests.support.memories import HOUR, NOW, every, memory

KINDS = ("bug", "plan", "note")


def meant(note: Note, wanted: dict[str, Any]) -> bool:
    """Whether a note is asked for, by looking at it."""
    sort = wanted["sort"]
    at = int(getattr(note, sort if sort == "at" else f"{sort}_at"))
    return (
        (wanted["project"] is None or note.project == "b")
        and (wanted["kinds"] is None or note.kind in wanted["kinds"])
        and (wanted["statuses"] is None or (note.status or "") in wanted["statuses"])
        and wanted["tier"] in (note.tier, "all")
        and {tag.lower() for tag in wanted.get("tags", ())} <= set(note.tags)
        and wanted.get("pinned") in (None, note.pinned)
        and wanted.get("since", 0) <= at < wanted.get("until", 1 << 60)
    )


def test_h4_n10_list_is_what_a_plain_reading_says(tmp_path: Path) -> None:
    """Whatever is asked for, in whatever order, from whatever side: the same notes as by looking at each, and the same
    total on each page; over checkpoints, edits, moves and erased notes, and with ties."""
    rng, clock = random.Random(6), ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, durability="none") as db:
        alive: list[str] = []
        for number in range(240):
            clock.advance(rng.choice((0, 0, HOUR)))
            kind = rng.choice(KINDS)
            note = db.remember(
                f"note {number}",
                kind=kind,
                project=rng.choice("abc"),
                status=rng.choice(BUILT_IN[kind].statuses or ("",)),
                tags=rng.sample(("x", "y", "z"), rng.randrange(3)),
                at=NOW - rng.randrange(30) * HOUR,
            )
            alive.append(note.id)
            other = rng.choice(alive)
            act = rng.choice((db.notes.archive, db.notes.trash, db.notes.pin, db.notes.unarchive, db.notes.restore))
            if number % 3 == 0:
                act(other)
            elif number % 7 == 0:
                db.notes.update(other, text=f"edited {number}")
            elif number % 31 == 0:
                db.notes.purge(other, force=True)
                alive.remove(other)
            if number % 80 == 50:
                db.checkpoint()
        notes = [db.notes.get(id_) for id_ in alive]
        asked = 0
        for project, kinds, statuses, tier, sort, newest in product(
            (None, "B "), (None, ["bug"], ["plan", "note"]), (None, ["open", "pending", ""]),
            ("active", "archived", "trashed", "all"), ("updated", "at", "created"), (True, False),
        ):  # fmt: skip
            extra: dict[str, Any] = rng.choice(
                ({}, {}, {"tags": ["X"]}, {"tags": ["x", "y"]}, {"pinned": True}, {"pinned": False},
                 {"since": NOW + 9 * HOUR}, {"until": NOW + 20 * HOUR, "since": NOW - 9 * HOUR})
            )  # fmt: skip

            arguments = dict(
                project=project, kinds=kinds, statuses=statuses, tier=tier, sort=sort, newest_first=newest, **extra
            )
            field = sort if sort == "at" else f"{sort}_at"
            expected = [note for note in notes if meant(note, arguments)]
            expected.sort(key=lambda note: (getattr(note, field), note.id), reverse=newest)
            found = every(db.notes.list, page=rng.choice((1, 7, 50)) if len(expected) < 40 else 50, **arguments)
            assert [note.id for note in found] == [note.id for note in expected], arguments
            assert db.notes.list(limit=1, **arguments).total == (None if extra else len(expected)), arguments
            asked += len(expected)
        assert asked > 1_000


def test_h4_n10_the_page_size_is_set_once(tmp_path: Path) -> None:
    from memhop import Config
    from memhop.common.settings import RecallSection

    with memory(tmp_path / "a.meh", config=Config(recall=RecallSection(page=2))) as db:
        db.remember_many(["a", "b", "c"])
        page = db.notes.list()
        assert (len(page.items), page.total, page.next is not None) == (2, 3, True)
