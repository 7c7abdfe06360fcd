"""A dream applies what its stages propose, in whole commits, writes down what it did, and can be taken back."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from memhop import DB
from memhop.api.results import DreamReport
from memhop.dream.pipeline import run
from tests.support.memories import DAY, MINUTE, NOW, memory
from tests.support.stages import Stage, fuse, rename


def talk(db: DB, session: str = "one", turns: int = 8, start: int = NOW - DAY) -> list[str]:
    """A conversation in the agent loop; the ids of its scenes. One that is new begins a scene."""
    scenes: list[str] = []
    new = not db.archive.list(session=session, limit=1).items
    for number in range(turns):
        at = start + number * MINUTE
        text = f"the kayak leaks at seam {number}"
        found = db.search(text, at, session=session, auto_create=new and not scenes)
        db.update(found.new_topic_id, f"varnish seam {number} twice", at + 1)
        scenes.append(found.scene_id)
    return scenes


def dreams_with(db: DB, *stages: Stage) -> DB:
    db._dreamer.stages = lambda *, model: stages
    return db


def exported(db: DB, path: Path) -> bytes:
    db.export(path, overwrite=True)
    return path.read_bytes()


def test_a_dream_fuses_and_undo_takes_it_back(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        (scene,) = set(talk(db))
        before = exported(db, tmp_path / "before")
        report = db.dream()
        assert isinstance(report, DreamReport)
        assert (report.number, report.state, report.changed, report.undoable) == (1, "done", 13, True)
        assert (report.stages[0].proposed, report.stages[0].applied) == (5, 5)
        assert exported(db, tmp_path / "after") != before
        fused = [topic for topic in db.topics.list(scene, limit=100).items if topic.children]
        assert len(fused) == 4
        changes = db.dreams.diff(1).items
        assert len(changes) == 5
        assert changes[0].records_in_all == 3
        assert db.verify(deep=True).ok
        undone = db.dreams.undo(1)
        assert (undone.changes, undone.stayed) == (5, ())
        assert exported(db, tmp_path / "undone") == before
        assert db.verify(deep=True).ok
        again = db.dream()
        assert again.stages[0].skipped == {"undone before": 4}


def test_nothing_new_leaves_no_trace(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        talk(db)
        assert db.dream().number == 1
        commit = db.stats().commit
        again = db.dream()
        assert (again.number, again.changed, again.state) == (None, 0, "done")
        assert db.stats().commit == commit


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_a_preview_changes_nothing_and_tells_what_will_happen(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.meh"
    with memory(path, mode=mode) as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        talk(db)
        db.checkpoint()
        before = path.read_bytes()
        preview = db.dream(dry_run=True)
        assert path.read_bytes() == before
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.meh", "a.meh.lock"]
        report = db.dream()
        for told, done in zip(preview.stages, report.stages, strict=True):
            assert dataclasses.replace(told, ms=0) == dataclasses.replace(done, ms=0)
        assert preview.dry_run
        assert preview.changes == db.dreams.diff(1, limit=1000).items


@pytest.mark.parametrize("by_scene", [True, False])
def test_a_scene_that_was_not_finished_is_left_as_it_was(tmp_path: Path, by_scene: bool) -> None:
    """Half of it, committed, would be fused once more by the next dream, on top of itself."""
    with memory(tmp_path / "a.meh") as db:
        talk(db)
        before = db.export().digest
        asked = iter([False] * 4)
        outcome = run(db._store, [Stage(fuse, by_scene=by_scene)], now_ms=NOW, leaving=lambda: next(asked, True))
        assert outcome.dream.state == "stopped"
        (told,) = outcome.dream.stages
        assert (told["applied"] == 0) is by_scene
        assert told["skipped"] == ({"its scene was not finished": told["proposed"]} if by_scene else {})
        assert (db.export().digest == before) is by_scene
