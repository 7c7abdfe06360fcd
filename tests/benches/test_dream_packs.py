"""The dream packs are what they say, and the figures of the present code do not fall."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile

import pytest

from benches.dream_packs import WAYS, Pack, conversation, load, measure
from benches.packs import SPLITS

NAMES = ("lookalikes", "contradictions")


@pytest.fixture(scope="module", params=NAMES)
def pack(request: pytest.FixtureRequest) -> Pack:
    return load(request.param)


def test_enough_pairs_in_fair_halves_and_two_languages(pack: Pack) -> None:
    assert len(pack.pairs) >= 40
    assert Counter(pair.split for pair in pack.pairs) == dict.fromkeys(SPLITS, len(pack.pairs) // 2)
    assert {pair.language for pair in pack.pairs} == {"en", "zh"}
    assert min(Counter(pair.language for pair in pack.pairs).values()) >= 14
    assert len({pair.id for pair in pack.pairs}) == len(pack.pairs)
    every = [text for pair in pack.pairs for text in pair.turns] + [said for said, _ in pack.around]
    assert len(set(every)) == len(every)


def alike(one: str, other: str) -> int:
    """How many characters they begin with together."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def test_look_alikes_differ_in_one_short_stretch() -> None:
    for pair in load("lookalikes").pairs:
        one, other = pair.turns
        shared = alike(one, other) + alike(one[::-1], other[::-1])
        assert max(len(one), len(other)) - shared <= 14, pair.id


def test_the_later_turn_is_said_later_and_before_the_question(pack: Pack) -> None:
    turns = conversation(pack)
    place = {turn.text: turn for turn in turns}
    for pair in pack.pairs:
        earlier, later = (place[text] for text in pair.turns)
        assert earlier.at_ms < later.at_ms < pack.asked_at_ms
        assert (earlier.session == later.session) is (pack.name == "lookalikes")
    assert [turn.at_ms for turn in turns] == sorted(turn.at_ms for turn in turns)


@pytest.mark.parametrize("way", WAYS)
def test_new_states_come_first_before_and_after_a_dream(way: str) -> None:
    """Some points under what was measured on the half to tune on."""
    for figures in measure(load("contradictions"), way, None, ["dev"])["dev"].values():
        assert figures["before"] >= 95
        assert figures["older@10"] >= 95
