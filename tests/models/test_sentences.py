"""Sentences of a turn that get a vector of their own."""

from __future__ import annotations

import numpy as np
import pytest

from memhop.models.sentences import MOST, in_light_of, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("I began to swim in May.", []),
        ("Thanks! I began to swim in May.", []),
        ("I began to swim in May. And you, Bo, what about you?", ["I began to swim in May."]),
        ("How are you today? What have you been doing?", []),
        ("It cost $3.50 at v2.10. We flew in on Monday…", ["It cost $3.50 at v2.10.", "We flew in on Monday…"]),
        ("Look at this one! [shares a photo of a dog]", ["Look at this one!", "[shares a photo of a dog]"]),
        ("我昨天去游泳。你去了吗？明天爬山！", ["我昨天去游泳。", "明天爬山！"]),
        ("I came at last. " * (MOST + 1), []),
    ],
)
def test_what_is_told(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected
    assert sentences(text, "Ann") == [f"Ann: {part}" for part in expected]


def test_rows_stand_between_the_turn_and_its_sentences() -> None:
    whole = np.array([1, 0, 0], np.float32)
    rows = in_light_of(whole, np.array([[0, 1, 0], [0, 0, 0], [-1, 0, 0], [1, 0, 0]], np.float32))
    half = float(np.sqrt(0.5))
    assert rows.dtype == np.float32
    expected = np.array([[half, half, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]], np.float32)
    assert np.allclose(rows, expected, atol=1e-6)
