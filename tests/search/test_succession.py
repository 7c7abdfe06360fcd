"""Superseded notes stand behind what took their place, are found all the same, and lose no more than is stated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benches import packs
from benches.finders import Ask, Engine
from benches.pack_scores import present_first
from memhop import DB
from memhop.repo.l4_note import Note
from memhop.search.succession import SHARE, gains, successors
from tests.support.memories import DAY, NOW, distract, memory


def chain(**following: int) -> Any:
    notes = {int(name[1:]): Note(id=int(name[1:]), text="t", superseded_by=to) for name, to in following.items()}
    return notes.get


def test_a_chain_is_followed_to_its_end_and_a_circle_once() -> None:
    assert successors(1, chain(n1=2, n2=3, n3=0)) == [2, 3]
    assert successors(1, chain(n1=0)) == []
    assert successors(1, chain(n1=2)) == [2], "what cannot be read is the last one"
    assert successors(1, chain(n1=2, n2=3, n3=1)) == [2, 3]
    assert successors(1, chain(n1=1)) == []
    assert len(successors(1, chain(**{f"n{one}": one + 1 for one in range(1, 100)}))) == 16


def test_each_heir_stands_just_above_what_it_supersedes() -> None:
    totals = [3.0, 0.0, 2.0, 5.0]
    assert gains(totals, [(0, 1)]) == {1: pytest.approx(3.0, rel=1e-6)}
    assert gains(totals, [(0, 3)]) == {}, "it stands there already"
    lifted = gains(totals, [(0, 1), (1, 2)])
    final = [total + lifted.get(row, 0.0) for row, total in enumerate(totals)]
    assert final[0] < final[1] < final[2] < final[0] * (1 + 1e-6)


def supersede(db: DB, old: str, new: str) -> None:
    db.notes.link(new, old, "supersedes")


def test_the_loss_is_a_stated_share_and_what_took_the_place_may_be_filtered_out(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        old = db.remember("we deploy on Fridays", project="a", at=NOW - 9 * DAY)
        new = db.remember("releases go out on Mondays", project="b", at=NOW - DAY)
        distract(db)
        supersede(db, old.id, new.id)
        (hit,) = db.recall("deploy", project="a").hits
        assert hit.superseded_by == new.id
        assert -SHARE / (1 - SHARE) * hit.score == pytest.approx(hit.parts["superseded"])
        assert [hit.id for hit in db.recall("deploy").hits] == [new.id, old.id]
        assert f"note {new.id} took its place" in db.why_not(old.id, "deploy", limit=1).reason
        db.forget(new.id)
        assert [hit.id for hit in db.recall("deploy").hits] == [old.id]


def test_of_a_chain_the_newest_comes_first(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        notes = [
            db.remember(text).id for text in ("deploys are on Fridays", "deploys are on Tuesdays", "see the calendar")
        ]
        distract(db)
        supersede(db, notes[0], notes[1])
        supersede(db, notes[1], notes[2])
        assert [hit.id for hit in db.recall("deploys on Fridays").hits] == notes[::-1]


class Linked(Engine):
    """The engine where each note of a subject was told to take the place of the one before."""

    def __init__(self, subjects: Sequence[packs.Subject]) -> None:
        super().__init__()
        self.pairs = [(a.id, b.id) for one in subjects for a, b in zip(one.notes, one.notes[1:], strict=False)]

    def filled(self, db: DB) -> None:
        ids = {note.external_id: note.id for note in db.notes.list(limit=1000).items}
        for old, new in self.pairs:
            supersede(db, ids[old], ids[new])


def test_on_the_pack_of_changing_values_the_new_one_is_first_and_the_old_ones_are_found() -> None:
    """Subjects of the tuning half of `present`, each note marked as superseded by the next one."""
    pack = packs.load()
    subjects = [one for one in pack.subjects if one.split == "dev"]
    notes = (*pack.notes, *(note for one in pack.subjects for note in one.notes))
    asks = [Ask(one.question) for one in subjects]
    asks += [Ask(text) for one in subjects for text, _ in one.past]
    found = Linked(subjects).find(notes, asks, pack.asked_at_ms)
    about_past = iter(found[len(subjects) :])
    figures = present_first(
        [(one, (ranked, [next(about_past) for _ in one.past])) for one, ranked in zip(subjects, found, strict=False)]
    )
    print(figures)
    assert figures["before"] >= 99.0
    assert figures["older@10"] >= 95.0
    assert figures["past"] >= 95.0
