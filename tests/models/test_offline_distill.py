"""Moods, traits and words by counting: shown with evidence, or not at all."""

from __future__ import annotations

import pytest

from memhop.models import lexicon_mood, lexicon_traits
from memhop.models.material import Drawn, Said
from memhop.models.offline import distill
from memhop.models.offline_distill import MOST_TERMS, feelings, selves

GLAD = (
    "I am so happy about the boat.", "The trip was fun and I felt relaxed.", "I love the new harbour.",
    "We were thrilled and a bit nervous.", "I am proud of the children.", "What a delightful evening, I was cheerful.",
)  # fmt: skip
LOW = (
    "I feel sad and lonely.", "I was not happy at work.", "I am exhausted and worried.", "The news was awful.",
    "I cried, I felt helpless.", "I am so disappointed.",
)  # fmt: skip
GLAD_ZH = (
    "今天很开心。",
    "我非常激动，也有点紧张。",
    "大家都高兴，我很感动。",
    "现在轻松多了。",
    "真幸福，好满足。",
    "孩子们快乐。",
)


def said(*texts: str, start: int = 1) -> list[Said]:
    return [Said(f"{number:016x}", number * 1_000, "Ann", text) for number, text in enumerate(texts, start)]


def lines(*texts: str) -> dict[str, Drawn]:
    return {line.name: line for line in distill(said(*texts))}


def test_a_mood_has_a_direction_and_evidence() -> None:
    glad, low, chinese = lines(*GLAD), lines(*LOW), lines(*GLAD_ZH)
    assert float(glad["mood.valence"].value) > 0.4
    assert float(chinese["mood.valence"].value) > 0.4
    assert float(low["mood.valence"].value) < -0.4
    assert float(low["mood.dominance"].value) < 0 < float(glad["mood.dominance"].value)
    assert glad["mood.valence"].evidence == tuple(f"{number:016x}" for number in (6, 5, 4, 3, 2, 1))
    assert 0 < glad["mood.valence"].confidence < 1


def test_more_evidence_is_more_certain_but_never_certain() -> None:
    few, many = lines(*GLAD), lines(*(f"{text[:-1]} on day {day}." for day in range(600) for text in GLAD))
    assert few["mood.valence"].confidence < many["mood.valence"].confidence < 1
    assert len(many["mood.valence"].evidence) == 8


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param((), id="nothing"),
        pytest.param(GLAD[:4], id="four messages"),
        pytest.param(tuple(f"I am happy on day {n}." for n in range(7)), id="seven words of feeling"),
        pytest.param((" ".join(GLAD),) * 9, id="the same message again and again"),
        pytest.param((" ".join(GLAD + LOW),), id="one message"),
        pytest.param(("The boat left at nine.",) * 20, id="no feelings"),
        pytest.param(tuple(f"Are you happy, are you sad or angry, {n}?" for n in range(20)), id="questions"),
    ],
)
def test_a_mood_is_skipped_rather_than_guessed(texts: tuple[str, ...]) -> None:
    assert not any(name.startswith("mood.") for name in lines(*texts))


def test_the_example_of_the_module() -> None:
    (happy,), (bored,) = feelings("I was very happy."), feelings("Not bored at all!")
    assert happy[0] == 1.0
    assert bored == pytest.approx((0.28, -0.35, 0.14))


def test_negation_in_chinese_turns_a_feeling_round() -> None:
    assert feelings("我很高兴")[0][0] > 0 > feelings("我不太高兴")[0][0]
    assert feelings("我焦虑")[0][0] < 0 < feelings("我不焦虑")[0][0]


def test_a_trait_is_what_somebody_says_to_be() -> None:
    found = lines("I am rather shy.", "At parties I'm quiet.", "You know I am an introvert.", "Bo is outgoing.")
    assert found["trait.extraversion"].value == "-1.00"
    assert found["trait.extraversion"].evidence == tuple(f"{number:016x}" for number in (3, 2, 1))
    assert not any(name.startswith("trait.") and name != "trait.extraversion" for name in found)
    chinese = lines("我比较内向。", "我从小就很害羞。", "我不是很健谈。")
    assert chinese["trait.extraversion"].value == "-1.00"


@pytest.mark.parametrize(
    "texts",
    [
        ("I am shy.", "I am quiet."),
        ("I am shy. I am quiet. I am reserved."),
        ("Bo is shy.", "You are quiet.", "She is reserved."),
        ("Am I shy?", "Am I quiet?", "I wonder who is reserved."),
        ("我们很内向。", "他比较害羞。", "你不爱说话。"),
    ],
)
def test_a_trait_is_skipped_rather_than_guessed(texts: tuple[str, ...]) -> None:
    assert not any(name.startswith("trait.") for name in lines(*texts))


def test_a_negated_trait_is_the_other_end() -> None:
    assert selves("I'm not a patient person") == [("agreeableness", -1)]
    assert selves("我不是很健谈") == [("extraversion", -1)]
    assert selves("I am always quite shy and organized") == [("extraversion", -1), ("conscientiousness", 1)]


def test_terms_are_counted_by_message() -> None:
    found = lines(
        "Sailing, sailing, sailing!", "We sail to Oslo.", "I will sail on Sunday.", "Oslo is cold.", "You know Oslo?",
        "我去北京。", "北京下雪。", "北京的冬天。",
    )  # fmt: skip
    assert found["term.sail"].value == "3"
    assert found["term.sail"].evidence == tuple(f"{number:016x}" for number in (3, 2, 1))
    assert {"term.oslo", "term.北京"} <= set(found)
    assert not {"term.we", "term.the", "term.know"} & set(found)


def test_terms_are_bounded() -> None:
    words = " ".join(f"{first}{second}ville" for first in "bcdfg" for second in "aeiou")
    found = lines(words, words + ".", words + "!")
    assert len([name for name in found if name.startswith("term.")]) == MOST_TERMS


def test_the_order_of_messages_does_not_matter() -> None:
    messages = said(*GLAD, *LOW, *GLAD_ZH)
    assert distill(messages) == distill(messages[::-1])


def test_the_lexicons_are_in_range() -> None:
    for table in (lexicon_mood.ENGLISH, lexicon_mood.CHINESE):
        assert len(table) >= 150
        assert all(-1 <= axis <= 1 for feeling in table.values() for axis in feeling)
    for axes in (lexicon_traits.ENGLISH, lexicon_traits.CHINESE):
        assert {axis for axis, _ in axes.values()} == set(lexicon_traits.AXES)
        for axis in lexicon_traits.AXES:
            assert {sign for other, sign in axes.values() if other == axis} == {-1, 1}
