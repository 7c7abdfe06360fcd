"""Notes that say nearly the same are proposed, and never merged."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import pytest

from memhop import DB
from memhop.api import note_duplicates
from memhop.common.clock import ManualClock
from memhop.index.tokenizer import tokenize
from memhop.search.duplicates import LEAST
from tests.support.memories import HOUR, NOW, every, memory

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


def test_every_pair_is_found_though_the_index_rules_most_others_out(tmp_path: Path) -> None:
    """Against looking at every two notes; short and long ones, and such as are just alike enough, or just not."""
    rng = random.Random(7)
    words = [f"word{number}" for number in range(400)]
    with memory(tmp_path / "a.meh", durability="none") as db:
        texts: list[list[str]] = []
        for size in (10, 40, 300):
            for _ in range(6):
                base = rng.sample(words, size)
                for changed in (0, size // 10, size // 5, size // 3):
                    texts.append(base[changed:] + [f"own{len(texts)}x{n}" for n in range(changed)])
        notes = db.remember_many(" ".join(text) for text in texts)
        terms = {note.id: set(tokenize(note.text)) for note in notes}
        alike = {
            frozenset((one, other))
            for one, other in combinations(terms, 2)
            if len(terms[one] & terms[other]) >= LEAST * len(terms[one] | terms[other])
        }
        assert 30 < len(alike) < 100
        assert {frozenset((pair.older_id, pair.newer_id)) for pair in every(db.notes.duplicates, page=9)} == alike


def test_a_page_ends_sooner_where_notes_are_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of 500 notes of 10,000 characters took 17 s, and everybody waited meanwhile."""
    monkeypatch.setattr(note_duplicates, "READ", 20_000)
    with memory(tmp_path / "a.meh", durability="none") as db:
        db.remember_many(f"{LONG} {number} {'and more of it ' * 60}" for number in range(40))
        first = db.notes.duplicates(limit=1000)
        assert first.next is not None
        found = [(pair.older_id, pair.newer_id) for pair in every(db.notes.duplicates, page=1000)]
        assert len(set(found)) == len(found) == 40 * 39 // 2
