"""Notes that hardly differ: the one that was asked for comes first, and of several states the one of the time asked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from memhop import DB
from tests.support.memories import DAY, NOW, distract, memory, texts

PAIRS = (  # (question, asked, look-alike)
    ("what pump runs three quarters of an hour?", "The cellar pump runs 45 minutes", "The yard pump runs 35 minutes"),
    ("which dump was 2500 MB?", "Sunday's heap dump had 2.5 GB", "Monday's heap dump had 2.4 GB"),
    ("when is choir at a quarter past seven?", "Choir meets Fridays at 19:15", "Choir meets Mondays at 19:45"),
    ("what is due on the 9th of June?", "Tax papers due 2026-06-09", "Insurance papers due 2026-06-19"),
    ("which host broke with libssl v3.10?", "Host oslo broke with libssl 3.10", "Host bern broke with libssl 3.1"),
    ("which buyer offered two thousand euros?", "Buyer Holt offered 2,000 EUR", "Buyer Lund offered 2,000 USD"),
    ("who taught Ilse?", "Karl taught Ilse to sail", "Ilse taught Karl to sail"),
    ("which fridge is not cooling", "Fridge in the shed is not cooling", "Fridge in the loft is cooling"),
    ("哪个会开一个半小时？", "周会开90分钟", "月会开50分钟"),
    ("下午三点半来的是哪位师傅？", "水管师傅15:30来", "电工师傅14:30来"),
)  # fmt: skip

STATES = (  # (question, states oldest first)
    ("where does Ottilie live?", "Ottilie lives in Graz", "Ottilie moved to Linz"),
    ("which port does the queue broker use?", "The queue broker uses port 5671", "Queue broker: port 6671"),
    ("how high is the studio rent?", "Rent of the studio is 640", "Studio rent went up to 690", "Studio rent now 710"),
    ("who looks after the beehives?", "Magda looks after the beehives", "Ruben looks after the beehives"),
    ("how heavy is the anvil?", "The anvil is 40 kg heavy", "On the new scales the anvil has 43 kg"),
    ("王芳在哪里上班？", "王芳在银行上班", "王芳换到保险公司上班了"),
)  # fmt: skip


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DB]:
    with memory(tmp_path_factory.mktemp("alike") / "a.meh") as opened:
        distract(opened)
        for _, asked, other in PAIRS:
            opened.remember(asked, at=NOW - 90 * DAY)
            opened.remember(other, at=NOW - 30 * DAY)  # newer, so that what is new cannot be what is right
        for _, *states in STATES:
            for number, state in enumerate(states):
                opened.remember(state, at=NOW - (200 - 80 * number) * DAY)
        yield opened


@pytest.mark.parametrize(("question", "asked", "other"), PAIRS, ids=[ascii(pair[0]) for pair in PAIRS])
def test_the_asked_one_is_first(db: DB, question: str, asked: str, other: str) -> None:
    found = texts(db.recall(question))
    assert found[0] == asked
    assert other not in found or found.index(other) > 0


@pytest.mark.parametrize("states", STATES, ids=[ascii(states[0]) for states in STATES])
def test_the_present_is_first_and_the_past_is_kept(db: DB, states: tuple[str, ...]) -> None:
    question, *known = states
    found = texts(db.recall(question))
    assert found[: len(known)] == known[::-1]


def test_the_state_of_a_time_that_is_past(db: DB) -> None:
    """The notes are of 9 November, 28 January and 18 April: in March the second one held."""
    assert texts(db.recall("how high was the rent of the studio in March?"))[0] == "Studio rent went up to 690"
    assert texts(db.recall("how high was the rent of the studio in December?"))[0] == "Rent of the studio is 640"
    assert texts(db.recall("what was the rent of the studio originally?"))[0] == "Rent of the studio is 640"


def test_a_longer_word_is_not_read_for_what_begins_it(tmp_path: Path) -> None:
    """ "passed" stands in for "passport" at half its weight; read again it was a newer state of the passports."""
    with memory(tmp_path / "a.meh") as db:
        distract(db)
        db.remember("Passports are in the grey folder", at=NOW - 90 * DAY)
        db.remember("Passports went to the bank", at=NOW - 60 * DAY)
        db.remember("Passed now, the exam of Iris", at=NOW - 10 * DAY)
        assert texts(db.recall("where are the passports?"))[:2] == [
            "Passports went to the bank",
            "Passports are in the grey folder",
        ]


def test_parts_say_what_the_second_reading_did(db: DB) -> None:
    hit = db.recall(PAIRS[0][0]).hits[0]
    assert hit.parts["value"] > 0
    assert math.fsum(hit.parts.values()) == hit.score
    hit = db.recall(STATES[0][0]).hits[0]
    assert hit.parts["current"] > 0
    assert math.fsum(hit.parts.values()) == hit.score


def test_only_the_best_are_read_again(tmp_path: Path) -> None:
    """However many notes hold the words, twenty are read again, and all of them stay before the rest."""
    with memory(tmp_path / "a.meh") as db:
        db.remember_many(
            [
                {"text": f"the kiln of potter {number} fires {30 + number % 2} pots", "at": NOW - DAY}
                for number in range(100)
            ]
        )
        hits = db.recall("which kiln fires 31 pots", limit=100).hits
        assert len(hits) == 100
        again = [place for place, hit in enumerate(hits) if {"value", "exact", "order", "current"} & hit.parts.keys()]
        assert again
        assert max(again) < 20


@pytest.mark.parametrize("others", [0, 2, 8, 30, 250])
def test_a_memory_of_two_notes_knows_the_present_as_well_as_a_large_one(tmp_path: Path, others: int) -> None:
    """How rare a name is cannot be told from a handful of notes: there it stood in half of them, and was no subject."""
    with memory(tmp_path / "a.meh") as db:
        db.remember("Ottilie lives in Graz", at=NOW - 40 * DAY)
        db.remember_many(
            [{"text": f"the {number}th tile of the roof is loose", "at": NOW - 30 * DAY} for number in range(others)]
        )
        db.remember("Ottilie moved to Linz", at=NOW - 2 * DAY)
        found = texts(db.recall("where does Ottilie live?"))
        assert found[:2] == ["Ottilie moved to Linz", "Ottilie lives in Graz"]
