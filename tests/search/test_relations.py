"""Questions about who asks, and the words in which such things are told."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from memhop.index.tokenizer import query_terms
from memhop.search.relations import related
from tests.support.memories import DAY, NOW, memory

TABLE = resources.files("memhop.search").joinpath("relations.txt").read_text("utf-8")
ENTRIES = {name: lines.splitlines() for name, lines in re.findall(r"^\[(\w+)\]\n((?:.+\n)+)", TABLE, re.MULTILINE)}


def asked(text: str) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    found = related(text, tuple(dict.fromkeys(query_terms(text))))
    return found.terms, dict(found.told)


@pytest.mark.parametrize("name", list(ENTRIES))
def test_an_entry_speaks_two_languages_and_repeats_nothing(name: str) -> None:
    lines = ENTRIES[name]
    patterns = [line[2:] for line in lines if line.startswith("? ")]
    words = " ".join(line for line in lines if not line.startswith("? ")).split()
    assert len(words) == len(set(words))
    for of_one in (patterns, words):
        assert {one.isascii() for one in of_one} == {True, False}
    assert all(word == word.casefold() and word.isalnum() for word in words)
    for pattern in patterns:
        assert re.compile(pattern).search("") is None
    assert all(len(line.encode("gbk")) <= 120 for line in lines if not line.startswith("? "))


def test_enough_relations() -> None:
    assert len(ENTRIES) == TABLE.count("\n[") >= 25


@pytest.mark.parametrize(
    ("text", "stands", "words"),
    [
        ("What do I do for a living?", "live", {"nurs", "carpent", "retir"}),
        ("do you know which car we drive?", "car", {"sedan", "van"}),
        ("what is the user's occupation?", "occup", {"nurs"}),
        ("我做什么工作？", "工作", {"护士", "退休"}),
        ("用户住在哪里？", "住", {"公寓", "搬家"}),
    ],
)
def test_words_count_for_the_term_that_stands_for_the_relation(text: str, stands: str, words: set[str]) -> None:
    _, told = asked(text)
    assert words <= set(told[stands])
    assert len({word.isascii() for word in told[stands]}) == 1  # of the question's own language


def test_the_other_words_of_the_relation_are_not_looked_for() -> None:
    """ "How do I get to work" found who got a cold, and what had worked."""
    assert asked("how do I get to work on rainy days?")[0] == ("work", "raini", "day")


@pytest.mark.parametrize(
    "text",
    [
        "what does Ottoline do for a living?",  # about somebody else
        "I do this for a living",  # no question
        "which port does our metrics endpoint listen on?",  # no relation
    ],
)
def test_nothing_else_is_touched(text: str) -> None:
    terms = tuple(dict.fromkeys(query_terms(text)))
    assert asked(text) == (terms, {})


def test_english_loads_no_dictionary() -> None:
    code = (
        "import sys\nfrom memhop.search.relations import related\n"
        "assert related('what do I do for a living?', ('live',)).told\nassert 'jieba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_hostile_question_costs_no_more() -> None:
    """Bounded by the characters that are looked at, whatever they are."""
    for piece in ("my ", "do i ", "what do i do ", "我", "(", "for a "):
        assert related("is " + piece * 100_000 + "?", ("x",)).terms == ("x",)


STATES = [
    ("what do I do for a living?", "I am a carpenter, mostly staircases.", "I retired, my son has the tools."),
    ("am I a vegetarian?", "No fish and no beef for me.", "I had my first steak in years and loved it."),
    ("我养什么宠物？", "我有一只小猫。", "小猫送人了，家里来了一只柴犬。"),
]
AROUND = ("The bus was late again.", "It rained all night.", "What a film!", "今天很冷。", "路上堵了很久。")


@pytest.mark.parametrize(("question", "older", "newer"), STATES)
@pytest.mark.parametrize("way", ["notes", "turns"])
def test_the_state_that_holds_comes_first(tmp_path: Path, way: str, question: str, older: str, newer: str) -> None:
    with memory(tmp_path / "a.meh") as db:
        for number, text in enumerate((older, *AROUND, newer)):
            at = NOW - (20 - number) * DAY
            if way == "notes":
                db.remember(text, at=at)
            else:
                db.archive.append_many([{"text": text, "role": "user", "session": f"s{number}", "at": at}])
        found = [getattr(hit, "text", "") for hit in db.recall(question, at=NOW).hits]
    assert found[:2] == [newer, older]


def test_a_state_is_not_set_behind_the_one_before_for_its_session(tmp_path: Path) -> None:
    """Hits of one session are taken in turn with others. A new state told beside a better hit fell behind the old one,
    above which it had just been lifted."""
    older, newer = "My ferry is called The Grey Gull.", "I renamed the ferry, it is The White Tern from now on."
    told = [("user", "one", 9, older), ("user", "two", 2, newer), *[("user", "two", 2, text) for text in AROUND]]
    told += [("agent", "two", 2, "Ah, the ferry: what a ferry is called, so a ferry is called, which is a joke.")]
    told += [("user", f"x{number}", 5, f"It is quiet, {number} of us.") for number in range(24)]
    with memory(tmp_path / "a.meh") as db:
        db.archive.append_many(
            {"text": text, "role": role, "session": session, "at": NOW - days * DAY + number}
            for number, (role, session, days, text) in enumerate(told)
        )
        found = [getattr(hit, "text", "") for hit in db.recall("what is my ferry called?", at=NOW).hits]
    assert found[0].startswith("Ah, the ferry")
    assert found.index(newer) < found.index(older)
