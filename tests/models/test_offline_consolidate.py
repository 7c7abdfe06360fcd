"""Neighbouring turns gathered without a model: whole, word for word, and never one value for another."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.index.tokenizer import tokenize
from memhop.models.cohesion import MOST_BLOCKS
from memhop.models.extract import MOST_CHARS, MOST_STATEMENTS
from memhop.models.material import Block, Group, Said
from memhop.models.offline import consolidate

MINUTE = 60_000
HOUR = 60 * MINUTE


def scene(*texts: str, speaker: str = "", gap: int = MINUTE) -> list[Block]:
    """One block for each text."""
    return [block(number, text, speaker=speaker, at=number * gap) for number, text in enumerate(texts, 1)]


def block(number: int, *texts: str, speaker: str = "", at: int = 0) -> Block:
    turns = tuple(Said(f"{number:012x}{part:04x}", at + part, speaker, text) for part, text in enumerate(texts))
    return Block(f"{number:016x}", turns, frozenset(term for text in texts for term in tokenize(text)))


def stated(groups: tuple[Group, ...]) -> list[str]:
    return [statement.text for group in groups for statement in group.statements]


def test_turns_about_one_thing_are_gathered_and_cited() -> None:
    blocks = scene(
        "Ana moves the billing api to Postgres 16.",
        "The billing api migration to Postgres is on 3 May.",
        "My sister adopted a grey parrot from the shelter.",
        "The parrot from the shelter bites my sister.",
        "Did you water the tomatoes in the greenhouse?",
        speaker="Ann",
    )
    first, second = consolidate(blocks)
    assert first.members == (blocks[0].id, blocks[1].id)
    assert second.members == (blocks[2].id, blocks[3].id)
    assert [(one.text, one.sources) for one in first.statements] == [
        ("Ann: Ana moves the billing api to Postgres 16.", (blocks[0].turns[0].id,)),
        ("Ann: The billing api migration to Postgres is on 3 May.", (blocks[1].turns[0].id,)),
    ]
    assert "billing api" in first.keywords
    assert "3 May" in first.keywords
    assert not any("tomatoes" in text for text in stated((first, second)))


def test_chinese() -> None:
    blocks = scene("用户的猫叫小黑，今年三岁。", "小黑这只猫昨天去了宠物医院。", "下个月的房租涨到3500元。", gap=MINUTE)
    (group,) = consolidate(blocks)
    assert group.members == (blocks[0].id, blocks[1].id)
    assert stated((group,)) == ["用户的猫叫小黑，今年三岁。", "小黑这只猫昨天去了宠物医院。"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My favourite colour is purple.", "My favourite colour is cyan."),
        ("The server runs version 2.1.3.", "The server runs version 2.1.4."),
        ("The rent is 1,200 euros a month.", "The rent is 1,300 euros a month."),
        ("The meeting with Bo is on Monday.", "The meeting with Bo is on Friday."),
        ("Ana is the lead of the search team.", "Ben is the lead of the search team."),
        ("I like fish.", "I don't like fish at all."),
        ("I agree that we should move.", "I do not agree that we should move."),
        ("The light in the hall is on.", "The light in the hall is off."),
        ("Ana beat Bo at chess.", "Bo beat Ana at chess."),
        ("I would buy the blue car.", "I buy the blue car."),
        ("We should move to the house in Oslo.", "I never said we should move to the house in Oslo."),
        ("我吃牛肉。", "我不吃牛肉。"),
        ("会议定在5月3日。", "会议定在5月4日。"),
        ("她最喜欢的颜色是紫色。", "她最喜欢的颜色是青色。"),
        ("小王住在北京。", "小王住在上海。"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_what_differs_in_one_value_is_stated_twice(one: str, other: str, turned: bool) -> None:
    """A memory that merged "favourite colour purple" with "favourite colour cyan" could answer neither."""
    pair = (other, one) if turned else (one, other)
    blocks = scene(*pair)
    found = consolidate(blocks)
    assert len(found) == 1
    assert stated(found) == list(pair)
    assert [statement.sources for statement in found[0].statements] == [(block.turns[0].id,) for block in blocks]


def test_look_alikes_that_do_not_fit_are_left_out_together() -> None:
    """Six of ten measurements, chosen by whatever, would read as if there were no others."""
    runs = [f"I ran {number} kilometres along the river." for number in range(3, 11)]
    found = consolidate(
        scene(*runs[:7], "I ran along the river with my brother Tom and his dog yesterday evening, slowly.")
    )
    assert not any("kilometres" in text for text in stated(found))
    (few,) = consolidate(scene(*runs[:4]))
    assert stated((few,)) == runs[:4]


def test_a_look_alike_further_down_than_others_counts() -> None:
    """Only so many sentences are weighed; one that is not must not make its look-alike seem the only one."""
    syllables = [first + second for first in "bcdfghjklmnp" for second in "aeiou"]
    words = [f"{one}{two}n" for one in syllables for two in syllables]
    chatter = [" ".join(words[start : start + 9]) + "." for start in range(0, 9 * 150, 9)]
    alike = ["Zebra quagga okapi giraffe arrive Tuesday evening.", "Tuesday giraffe okapi quagga zebra."]
    (group,) = consolidate([block(1, *chatter, *alike), block(2, *chatter, *alike)])
    assert [text for text in stated((group,)) if "okapi" in text] == alike


def test_what_is_said_again_is_stated_once() -> None:
    found = consolidate(scene("I adopted a grey parrot.", "I adopted a grey parrot from the shelter in Graz."))
    assert stated(found) == ["I adopted a grey parrot from the shelter in Graz."]
    found = consolidate(scene("The parrot is grey.", "The parrot is grey.", "I say the parrot is grey."))
    assert stated(found) == ["I say the parrot is grey."]


def test_two_who_say_the_same_are_both_stated() -> None:
    one, two = scene("The parrot is grey.", "The parrot is grey.")
    both = [one, two._replace(turns=(two.turns[0]._replace(speaker="Bo"),))]
    assert stated(consolidate(both)) == ["The parrot is grey.", "Bo: The parrot is grey."]


def test_groups_and_summaries_are_bounded() -> None:
    groups = consolidate(scene(*["The parrot opened its cage."] * 20))
    assert sum(len(group.members) for group in groups) == 20
    assert max(len(group.members) for group in groups) == MOST_BLOCKS
    names = [f"{first}{second}eville" for first in "bcdfghjklmnpqrstvwxz" for second in "aeiouy"]
    rows = [[" ".join(names[start : start + 20]) + "." for start in range(offset, 100, 20)] for offset in (0, 10)]
    (group,) = consolidate([block(number, *row, at=number) for number, row in enumerate(rows, 1)])
    assert MOST_CHARS - 200 < sum(map(len, stated((group,)))) <= MOST_CHARS


def test_questions_and_greetings_state_nothing() -> None:
    assert consolidate(scene("Where is the parrot?", "Who feeds the parrot?", "Parrot!", "Ah, the parrot?")) == ()


def test_a_long_pause_ends_a_group() -> None:
    texts = ("The parrot is grey and loud.", "The parrot is grey and likes nuts.")
    assert len(consolidate(scene(*texts, gap=5 * HOUR))) == 1
    assert consolidate(scene(*texts, gap=7 * HOUR)) == ()


def test_vectors_join_what_shares_no_word() -> None:
    """Only as far as they are nearer than the blocks of the scene are to each other anyway."""
    texts = (
        "Our feline sleeps all day.",
        "The cat naps until dusk.",
        "Interest rates rose again.",
        "The bank lends less.",
    )
    rows = np.eye(8, dtype=np.float32)
    common = rows[7] * 2
    near = [rows[0] + rows[1] / 4, rows[0] - rows[1] / 4, rows[2], rows[3]]
    blocks = [
        one._replace(vector=(row + common) / np.float32(np.linalg.norm(row + common)))
        for one, row in zip(scene(*texts), near, strict=True)
    ]
    assert consolidate(scene(*texts)) == ()
    (group,) = consolidate(blocks)
    assert group.members == (blocks[0].id, blocks[1].id)


def test_a_text_without_sentences_is_left_to_itself() -> None:
    wall = "grey parrot " * 200
    assert consolidate(scene(wall, wall)) == ()


def test_the_order_of_a_set_does_not_show() -> None:
    """Sets of text are ordered by a seed of the process; sums over them differed in the last bit."""
    code = (
        "from memhop.models.cohesion import weights\n"
        "from tests.models.test_offline_consolidate import consolidate, scene\n"
        "words = 'parrot grey shelter nuts river rent bank cat colour light'.split()\n"
        "rows = [(words[n % 10], words[(n * 7 + 3) % 10], words[(n // 2) % 10], n) for n in range(40)]\n"
        "texts = ['The %s and the %s met %s %s.' % row for row in rows]\n"
        "print(weights(scene(*texts)), consolidate(scene(*texts)))\n"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1
    assert "members" in shown.pop()


WORDS = st.sampled_from(
    (
        "parrot",
        "grey",
        "Ana",
        "Bo",
        "not",
        "3",
        "4",
        "Postgres",
        "moved",
        "is",
        "the",
        "purple",
        "cyan",
        "房租",
        "北京",
        "?",
        ".",
        "!",
        "\n",
    )
)
TEXTS = st.lists(WORDS, max_size=25).map(" ".join)


@given(st.lists(st.tuples(st.lists(TEXTS, max_size=3), st.integers(0, 8 * HOUR)), max_size=25))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_for_every_scene(turns: list[tuple[list[str], int]]) -> None:
    at = 0
    blocks = []
    for number, (texts, gap) in enumerate(turns):
        at += gap
        blocks.append(block(number, *texts, speaker="Ann" if number % 3 else "", at=at))
    groups = consolidate(blocks)
    order = [one.id for one in blocks]
    messages = {said.id: said for one in blocks for said in one.turns}
    owners = {said.id: one.id for one in blocks for said in one.turns}
    members = [member for group in groups for member in group.members]
    assert members == sorted(members, key=order.index)
    assert len(set(members)) == len(members)
    for group in groups:
        places = [order.index(member) for member in group.members]
        assert places == list(range(places[0], places[0] + len(places)))
        assert 2 <= len(places) <= MOST_BLOCKS
        assert 1 <= len(group.statements) <= MOST_STATEMENTS
        assert sum(len(statement.text) for statement in group.statements) <= MOST_CHARS
        for statement in group.statements:
            (source,) = statement.sources
            assert owners[source] in group.members
            said = messages[source]
            assert statement.text.removeprefix(f"{said.speaker}: ") in said.text
    assert consolidate(blocks) == groups


def test_a_long_scene_is_linear() -> None:
    """3,000 blocks, a subject for every three; a quadratic method would look at four million pairs."""
    subjects = (f"parrot{number} shelter{number}" for number in range(1_000))
    texts = (f"The {subject} {verb} today." for subject in subjects for verb in ("opened", "closed", "burned"))
    groups = consolidate(scene(*texts))
    assert [len(group.members) for group in groups] == [3] * 1_000
