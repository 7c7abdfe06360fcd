"""Confidence is high where the answer is in memory, low where it is not, and a chance in between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import DB, HashEmbedder
from memhop.common.config import LOW_CONFIDENCE
from memhop.search.confidence import Signs, confidence, standing_out

SHARES = st.floats(0, 1)
NOTES = [
    "Jonas repaired the bicycle behind the garage",
    "The dentist moved the appointment to Thursday at nine",
    "Mara is allergic to walnuts and hazelnuts",
    "The backup of the shop database runs at four in the morning",
    "We agreed to publish the garden article in May",
    "The spare key hangs in the kitchen cupboard",
    "Grandmother's soup needs leek, potatoes and a bay leaf",
    "The router's password was changed after the break-in",
    "Ilse teaches the violin on Mondays",
    "The boat is moored at pier seven until the autumn",
]
KNOWN = [
    "Who repaired the bicycle behind the garage?",
    "What is Mara allergic to?",
    "When does the database backup run?",
    "Where does the spare key hang?",
    "who teaches violin?",
]
UNKNOWN = [
    "Who sailed the zeppelin across the channel?",
    "What does the tax adviser charge for a declaration?",
    "Which vaccination did the cat get?",
    "When was the telescope delivered?",
    "Why did the merger with the brewery fail?",
]


@settings(max_examples=100, derandomize=True, deadline=None)
@given(held=SHARES, missing=SHARES, units=st.integers(1, 10**9), near=st.none() | st.floats(-1, 1), more=SHARES)
def test_each_sign_points_its_way(held: float, missing: float, units: int, near: float | None, more: float) -> None:
    signs = Signs(held, missing, units, near)
    said = confidence(signs)
    assert 0.0 <= said <= 1.0
    assert confidence(signs._replace(held=max(held, more))) >= said
    assert confidence(signs._replace(missing=max(missing, more))) <= said
    assert confidence(signs._replace(units=units + 1000)) <= said
    if near is not None:
        assert confidence(signs._replace(near=max(near, more))) >= said


def test_standing_out_is_measured_from_the_others() -> None:
    assert standing_out(np.array([0.5])) == pytest.approx(0.5)
    assert standing_out(np.array([0.7, 0.9, 0.7])) == pytest.approx(2 / 3)  # a model that finds everything alike
    assert standing_out(np.array([0.1, 0.7, 0.1])) == pytest.approx(2 / 3)
    assert standing_out(np.array([0.4, 0.4])) == 0.0
    assert standing_out(np.array([1.0, 1.0, 1.0])) == 0.0


@pytest.mark.parametrize("size", [1, 2, 5, 10])
@pytest.mark.parametrize("with_model", [False, True])
def test_small_memories(size: int, with_model: bool, tmp_path: Path) -> None:
    """A memory of one note knows what it knows; that its note is the best there is says nothing."""
    embedder = HashEmbedder() if with_model else None
    with DB.open(tmp_path / "a.meh", embedder=embedder) as db:
        db.remember_many(NOTES[:size])
        if with_model:
            db.backfill()
        assert db.recall(KNOWN[0]).confidence > 0.7
        for question in UNKNOWN:
            found = db.recall(question)
            assert found.confidence < LOW_CONFIDENCE
            if found.hits:
                assert found.notices == (
                    f"confidence {found.confidence:.2f}: the answer is probably not in this memory",
                )


def test_every_known_question_is_surer_than_every_unknown_one(tmp_path: Path) -> None:
    with DB.open(tmp_path / "a.meh") as db:
        db.remember_many(NOTES)
        known = {question: db.recall(question).confidence for question in KNOWN}
        unknown = {question: db.recall(question).confidence for question in UNKNOWN}
        assert not any("confidence" in notice for question in KNOWN for notice in db.recall(question).notices)
    assert min(known.values()) > 0.5 > max(unknown.values()), (known, unknown)


def test_a_misspelt_word_is_not_a_missing_one(tmp_path: Path) -> None:
    with DB.open(tmp_path / "a.meh") as db:
        db.remember_many(NOTES)
        found = db.recall("Who repaired the bicicle behind the garage?", explain=True)
        assert found.explanation["confidence"]["missing"] == 0.0
        assert found.confidence > 0.7


def test_what_the_filters_leave_out_does_not_count(tmp_path: Path) -> None:
    with DB.open(tmp_path / "a.meh") as db:
        db.remember(NOTES[0], project="home")
        db.remember_many([{"text": text, "project": "work"} for text in NOTES[1:]])
        assert db.recall(KNOWN[0], project="home").confidence > 0.7
        assert db.recall(KNOWN[0], project="work").confidence < LOW_CONFIDENCE


def test_the_seam_of_two_known_words_is_not_missing(tmp_path: Path) -> None:
    """做粽子糯米泡: the bigrams 做粽, 子糯 and 米泡 stand in no text, and each of the words does."""
    with DB.open(tmp_path / "a.meh") as db:
        db.remember_many(["包粽子之前糯米要泡一夜, 做法见笔记", "小区东门晚上十一点以后关闭"])
        found = db.recall("做粽子糯米泡", explain=True)
        assert {term["term"] for term in found.explanation["terms"] if not term["units"]} == {"做粽", "子糯", "米泡"}
        assert found.explanation["confidence"]["missing"] == 0.0
        assert found.confidence > 0.7
        assert db.recall("做月饼面粉揉", explain=True).explanation["confidence"]["missing"] > 0.5
