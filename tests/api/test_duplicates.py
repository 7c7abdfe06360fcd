"""Notes that say nearly the same are proposed, and never merged."""

from __future__ import annotations

from pathlib import Path

from memhop import DB
from memhop.common.clock import ManualClock
from tests.support.memories import HOUR, NOW, memory

LONG = "The nightly backup of the orders database runs at two and is kept for thirty days"


def pairs(db: DB, **arguments: object) -> set[tuple[str, str]]:
    return {(pair.older_id, pair.newer_id) for pair in db.notes.duplicates(**arguments).items}  # type: ignore[arg-type]


def test_a_typing_error_and_another_value_are_told_with_what_differs(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        first = db.remember(LONG)
        clock.advance(HOUR)
        second = db.remember(LONG.replace("thirty", "sixty"))
        db.remember("The staging database has another password")
        (pair,) = db.notes.duplicates().items
        assert (pair.older_id, pair.newer_id) == (first.id, second.id)
        assert 0.7 <= pair.similarity < 1
        assert (pair.only_older, pair.only_newer) == (("thirti",), ("sixti",)), "index terms"
        assert db.notes.list().total == 3, "nothing is merged"


def test_only_notes_in_force_of_one_project_and_kind(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        one = db.remember(LONG)
        other = db.remember(f"{LONG}, then deleted")
        db.remember(f"{LONG}, elsewhere", project="web")
        db.remember(f"{LONG}, as decided", kind="decision")
        assert pairs(db) == {(one.id, other.id)} or pairs(db) == {(other.id, one.id)}
        assert pairs(db, project="web") == set()
        db.notes.archive(other.id)
        assert pairs(db) == set()


def test_a_link_settles_it(tmp_path: Path) -> None:
    for type_ in ("related", "supersedes"):
        with memory(tmp_path / f"{type_}.meh") as db:
            one, other = db.remember(LONG), db.remember(f"{LONG}, and copied to another house")
            assert len(pairs(db)) == 1
            db.notes.link(other.id, one.id, type_)
            assert pairs(db) == set()
            db.notes.unlink(other.id, one.id)
            assert len(pairs(db)) == 1


def test_pages_find_every_pair_once(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        for number in range(700):
            clock.advance(1)
            db.remember(f"w{number} x{number} y{number} z{number} v{number} u{number // 2} common words")
        for number in range(0, 700, 10):
            clock.advance(1)
            db.remember(f"w{number} x{number} y{number} z{number} v{number} other common words")
        found: list[tuple[str, str]] = []
        cursor, pages = None, 0
        while True:
            page = db.notes.duplicates(limit=20, cursor=cursor)
            found += [(pair.older_id, pair.newer_id) for pair in page.items]
            cursor, pages = page.next, pages + 1
            if cursor is None:
                break
        assert len(found) == len(set(found)) == 70
        assert pages > 3


def test_a_dream_proposes_what_is_new_and_changes_nothing(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        one, other = db.remember(LONG), db.remember(f"{LONG}, and copied")
        db.archive.append_many([{"text": "we bought a piano", "session": "s"}, {"text": "a black one", "session": "s"}])
        before = [db.notes.get(note.id) for note in (one, other)]
        clock.advance(HOUR)
        told = db.dream()
        assert told.number is not None
        assert {(pair.older_id, pair.newer_id) for pair in told.proposals} <= {(one.id, other.id), (other.id, one.id)}
        assert len(told.proposals) == 1
        assert [db.notes.get(note.id) for note in (one, other)] == before
        clock.advance(HOUR)
        assert db.dream().proposals == (), "told already"
        third = db.remember(f"{LONG}, and copied, and read back")
        assert {pair.newer_id for pair in db.dream(dry_run=True).proposals} == {third.id}
