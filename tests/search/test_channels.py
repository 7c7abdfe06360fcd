"""The channel of words when it does not read everything: what it looks up equals what it would have added up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memhop import DB
from memhop.search import channels
from memhop.search.channels import Words, coverage_by_unit, words
from memhop.search.evidence import Neighbourhood
from memhop.search.sparse import Workspace
from tests.support.memories import MINUTE, NOW, memory

RARE = [f"rare{number}" for number in range(40)]
COMMON = ["harbour", "harbours", "lighthouse", "keeper", "signal"]
QUESTIONS = (
    ["rare1", "harbour", "keeper"],
    ["rare2", "rare3", "lighthouse", "signal"],
    ["harbour", "keeper", "lighthouse"],
    ["hharbour", "rare4"],  # misspelt
    ["signal"],
    ["nowhere"],
)


@pytest.fixture(scope="module", params=["notes", "turns"])
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DB]:
    """400 short texts, half of them in a checkpoint, some of them dead; as notes, or as turns of sessions."""
    chance = np.random.default_rng(11)
    texts = [
        " ".join([*chance.choice(RARE, chance.integers(0, 3)), *chance.choice(COMMON, chance.integers(1, 4))])
        + ("?" if chance.random() < 0.2 else "")
        for _ in range(400)
    ]
    with memory(tmp_path_factory.mktemp("words") / "a.meh") as opened:
        for half in (texts[:200], texts[200:]):
            if request.param == "notes":
                notes = opened.remember_many(
                    [{"text": f"{text} {at}", "project": f"p{at % 9}"} for at, text in enumerate(half)]
                )
                for note in notes[::17]:
                    opened.forget(note.id, hard=True)
            else:
                opened.archive.append_many(
                    {"text": text, "session": f"s{at // 8}", "at": NOW + at * MINUTE} for at, text in enumerate(half)
                )
            if half is not texts[200:]:
                opened.checkpoint()
        yield opened


def _asked(db: DB, terms: list[str], workspace: Workspace, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Words:
    views = db._store.views
    return words(terms, views, Neighbourhood(views.units, workspace), workspace, mask)


def _values(found: Words, name: str) -> dict[int, float]:
    scores = getattr(found, name)
    return dict(zip(scores.docs.tolist(), scores.values.tolist(), strict=True))


@pytest.mark.parametrize("terms", QUESTIONS, ids=" ".join)
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_what_is_looked_up_is_what_would_be_added_up(
    db: DB, terms: list[str], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every candidate of a memory read in part has the evidence, and the coverage, that reading all of it gives."""
    live = db._store.views.units.live
    mask = live & (np.random.default_rng(3).random(len(live)) < share)
    workspace = Workspace()
    whole = _asked(db, terms, workspace, mask)
    monkeypatch.setattr(channels, "COMMON", 20)
    monkeypatch.setattr(channels, "CANDIDATES", 5)
    part = _asked(db, terms, workspace, mask)
    for name in ("lexical", "entity"):
        everything = _values(whole, name)
        for doc, value in _values(part, name).items():
            assert value == pytest.approx(everything[doc])
            assert mask[doc]
    assert len(set(part.lexical.docs.tolist()) | set(part.entity.docs.tolist())) <= 5
    assert part.coverage <= whole.coverage + 1e-12
    assert part.uses == whole.uses
    best = max(_values(whole, "lexical").values(), default=0.0)
    if whole.lexical.docs.size and terms[0] in RARE:
        assert max(_values(part, "lexical").values()) == pytest.approx(best)
    again = _asked(db, terms, workspace, mask)
    assert _values(again, "lexical") == _values(part, "lexical")


@pytest.mark.parametrize("terms", QUESTIONS, ids=" ".join)
def test_a_filter_does_not_change_how_a_unit_is_judged(db: DB, terms: list[str]) -> None:
    """A selective filter is applied to the postings themselves: what its units earn must stay the same to the bit."""
    live = db._store.views.units.live
    everything = _asked(db, terms, Workspace(), live.copy())
    for seed in range(4):
        few = live & (np.random.default_rng(seed).random(len(live)) < 0.05)
        filtered = _asked(db, terms, Workspace(), few)
        for name in ("lexical", "entity", "sessions"):
            expected = {doc: value for doc, value in _values(everything, name).items() if few[doc]}
            found = _values(filtered, name)
            assert found == expected
        assert filtered.matched[0] == len(filtered.lexical.docs)


def test_coverage_counts_what_a_unit_holds(db: DB, monkeypatch: pytest.MonkeyPatch) -> None:
    live = db._store.views.units.live.copy()
    terms = ["rare1", "harbour", "keeper"]
    views = db._store.views
    whole = coverage_by_unit(terms, views, Workspace(), 2, live)
    found = {one.term: one for one in views.bm25.postings(terms, live)}
    mass = sum(one.idf for one in found.values())
    for doc, value in zip(whole.docs.tolist(), whole.values.tolist(), strict=True):
        held = [one.idf for one in found.values() if one.at(np.array([doc]))[0] > 0]
        assert value == pytest.approx(sum(held) / mass * min(len(held) / 2, 1.0))
    monkeypatch.setattr(channels, "COMMON", 20)
    monkeypatch.setattr(channels, "CANDIDATES", 5)
    part = coverage_by_unit(terms, views, Workspace(), 2, live)
    everything = dict(zip(whole.docs.tolist(), whole.values.tolist(), strict=True))
    for doc, value in zip(part.docs.tolist(), part.values.tolist(), strict=True):
        assert value == pytest.approx(everything[doc])


def test_a_recall_that_fails_leaves_no_sums_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays that sums are made in are kept: what a failing index had added must not count in the next recall."""
    with memory(tmp_path / "a.meh") as db:
        db.remember_many(["a kayak in the shed", "taxes are due in July", "the kayak leaks"])
        expected = db.recall("kayak in July")
        with monkeypatch.context() as patch:
            patch.setattr(channels._Sessions, "scores", lambda *_: 1 / 0)
            patch.setattr(channels, "_best_of_each_layer", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                db.recall("kayak shed taxes")
        assert db.recall("kayak in July").hits == expected.hits
