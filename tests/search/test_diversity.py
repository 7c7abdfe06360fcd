"""Hits of one session give way to each other, more so where a question asks for several things."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import DB
from memhop.search.diversity import asks_for_several, spread_out

SEVERAL = [
    "What instruments does Ann play?",
    "Which outdoor sports did the twins try?",
    "What are the names of her dogs?",
    "Where has Ann lived?",
    "what has he cooked so far",
    "How many times did the pump fail?",
    "How often does it rain there?",
    "他去过哪些城市？",
    "她养了几只猫，都有谁？",
]
ONE = [
    "What did Ann play on Sunday?",
    "Which is the status page?",
    "Where does Ann live?",
    "How long has she been married?",
    "Has Ann moved?",
    "Who has to sign the lease?",
    "What news is there?",
    "他现在住在哪里？",
    "",
]


@pytest.mark.parametrize("text", SEVERAL)
def test_a_question_for_several_things(text: str) -> None:
    assert asks_for_several(text)


@pytest.mark.parametrize("text", ONE)
def test_a_question_for_one_thing(text: str) -> None:
    assert not asks_for_several(text)


def test_long_questions_take_no_time() -> None:
    """A pattern that backtracked over words would need minutes here."""
    for word in ("what ", "has ", "what a ", "has a ", "x's "):
        assert asks_for_several(word * 20_000) in (True, False)


RANKED = st.lists(st.tuples(st.floats(0, 10), st.integers(0, 4)), max_size=40)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(ranked=RANKED, step=st.sampled_from([0.0, 0.1, 1.0, 100.0]))
def test_it_is_the_greedy_order(ranked: list[tuple[float, int]], step: float) -> None:
    """Against the definition: again and again the best of what is left, each set back for its session's better ones."""
    ranked.sort(key=lambda one: -one[0])
    totals = [total for total, _ in ranked]
    sessions = [session for _, session in ranked]
    left = list(range(len(ranked)))
    expected: list[int] = []
    while left:
        taken = [sessions[place] for place in expected if sessions[place]]
        following = max(left, key=lambda place: (totals[place] - step * taken.count(sessions[place]), -place))
        left.remove(following)
        expected.append(following)
    for most in (0, 3, len(ranked)):
        assert spread_out(totals, sessions, step, most) == expected[:most]
    if step == 0:
        assert expected == sorted(expected)


def test_units_without_a_session_set_nobody_back() -> None:
    assert spread_out([3.0, 2.0, 1.0], [0, 0, 0], 10.0, 9) == [0, 1, 2]
    assert spread_out([3.0, 2.0, 1.0], [7, 7, 0], 10.0, 9) == [0, 2, 1]


THINGS = ("harbour", "church", "bridge", "garden", "market", "mill")


def _talk(db: DB) -> None:
    said = [
        *(("monday", f"I painted {what} all day long, and then I painted the {what} again") for what in THINGS),
        *(("tuesday", f"Nothing to do with it, number {number}") for number in range(12)),
        ("friday", "The plumber came at nine and stayed until noon"),
        ("friday", "Painted a sunflower"),
        ("friday", "Then the neighbours rang about the fence"),
    ]
    db.archive.append_many([{"text": text, "speaker": "Ann", "role": "user", "session": day} for day, text in said])


def test_other_sessions_come_up_when_several_things_are_asked_for(tmp_path: Path) -> None:
    with DB.open(tmp_path / "a.meh") as db:
        _talk(db)
        several = [hit.text for hit in db.recall("What has Ann painted?", limit=300).hits]
        one = [hit.text for hit in db.recall("What did Ann paint?", limit=300).hits]
    assert several.index("Painted a sunflower") < one.index("Painted a sunflower")
    assert sorted(several) == sorted(one)


def test_the_first_hits_do_not_depend_on_how_many_are_asked_for(tmp_path: Path) -> None:
    with DB.open(tmp_path / "a.meh") as db:
        _talk(db)
        all_hits = [hit.id for hit in db.recall("What has Ann painted?", limit=300).hits]
        for limit in range(1, len(all_hits) + 1):
            assert [hit.id for hit in db.recall("What has Ann painted?", limit=limit).hits] == all_hits[:limit]
