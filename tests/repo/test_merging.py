"""Full segments are merged a step at a time; whatever happens between two steps, the views say what the log says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memhop import DB
from memhop.core import records
from memhop.index import bm25, groups
from memhop.repo import store
from memhop.repo.checking import check
from tests.support.memories import memory

WORDS = "anchor buoy cleat dinghy ebb fender gunwale halyard island jib keel lee mast north oar port quay reef".split()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are full with 60 rows, and a merge has many steps."""
    monkeypatch.setattr(records, "TIER", 8)
    monkeypatch.setattr(records, "FULL", 60)
    monkeypatch.setattr(store, "CHECKPOINT_ENTRIES", 10)
    monkeypatch.setattr(bm25, "_SLICE", 100)
    monkeypatch.setattr(groups, "_SLICE", 50)


def act(db: DB, chance: random.Random, ids: list[str]) -> None:
    """One call, of any sort that changes units, groups or postings."""
    text = " ".join(chance.choices(WORDS, k=chance.randint(2, 9)))
    match chance.randrange(8) if ids else 0:
        case 0 | 1 | 2 | 3:
            links = chance.sample(ids, min(len(ids), chance.randrange(3)))
            known(ids, db.remember(text, project=chance.choice("ab"), tags=text.split()[:1], links=links).id)
        case 4:
            known(ids, db.remember(text, external_id=chance.choice(WORDS)).id)
        case 5:
            name = chance.choice(WORDS)
            known(ids, db.remember(f"the {name}", external_id=name, kind=chance.choice(["fact", "plan"])).id)
        case 6:
            db.forget(chance.choice(ids))
        case 7:
            gone = ids.pop(chance.randrange(len(ids)))
            db.forget(gone, hard=True)


def known(ids: list[str], id_: str) -> None:
    if id_ not in ids:
        ids.append(id_)


def sound(db: DB) -> None:
    found = check(db._store)
    assert found.problems == (), found.problems[:3]
    assert not db._store.views.rebuilt


@pytest.mark.parametrize("seed", range(4))
def test_a_merge_between_calls_changes_no_answer(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "a.meh"
    ids: list[str] = []
    merged = 0
    db = memory(path)
    for number in range(700):
        running = db._store._merging
        before = len(db._store.file.segments())
        act(db, chance, ids)
        merged += running is not None and len(db._store.file.segments()) < before
        if number % 47 == 0:
            sound(db)
        if chance.randrange(90) == 0:
            match chance.randrange(3):
                case 0:
                    db.checkpoint()
                case 1:
                    db.compact()
                case 2:
                    db.close()
                    db = memory(path)
                    sound(db)
    sound(db)
    assert merged
    db.close()
    with memory(path) as db:
        sound(db)
        assert db.verify(deep=True).ok


def test_an_answer_in_the_middle_of_a_merge_is_the_one_after_it(tmp_path: Path) -> None:
    """Dead units stay in a merged part: the answers before, during and after are the same, and so are those of a file
    that was built anew."""
    chance = random.Random(5)
    with memory(tmp_path / "a.meh") as db:
        ids: list[str] = []
        while not db._store._may_merge or db._store.file.plan_merge() is None:
            act(db, chance, ids)
        asked = ["anchor buoy", "keel of the mast", "reef"]

        def answers() -> list[list[tuple[str, float]]]:
            return [[(hit.id, hit.score) for hit in db.recall(query, limit=50).hits] for query in asked]

        before = answers()
        segments = len(db._store.file.segments())
        for _ in range(1000):
            with db._store.file.writing():
                db._store._merge(1)
            assert answers() == before
            if db._store._merging is None:
                break
        assert len(db._store.file.segments()) < segments
        sound(db)


def test_a_file_closed_in_the_middle_of_a_merge_has_lost_nothing(tmp_path: Path) -> None:
    """Closing gives a merge up, at every step of it."""
    chance = random.Random(6)
    path = tmp_path / "a.meh"
    ids: list[str] = []
    with memory(path) as db:
        while not db._store._may_merge or db._store.file.plan_merge() is None:
            act(db, chance, ids)
    whole = path.read_bytes()
    for steps in range(1, 200):
        path.write_bytes(whole)
        with memory(path) as db:
            with db._store.file.writing():
                db._store._merge(steps)
            done = db._store._merging is None
            if not done:
                assert len(db._store.file.segments()) > 1
        with memory(path) as db:
            assert {note.id for note in db.notes.list(limit=1000).items} <= set(ids)
            if steps % 9 == 0 or done:
                sound(db)
                assert db.verify(deep=True).ok
        if done:
            return
    raise AssertionError("the merge did not end")
