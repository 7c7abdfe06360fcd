"""Who is meant by a question that names speakers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memhop import DB
from memhop.repo.record import label
from memhop.search.channels import named_speaker

SPEAKERS = np.array([label("speaker", name) for name in ("ann", "ben", "ann berg", "ann")], np.uint64)


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("what did ann say", [1, 0, 0, 1]),
        ("what did ann recommend to ben", [1, 0, 0, 1]),
        ("what did ben recommend to ann", [0, 1, 0, 0]),
        ("what did ann berg recommend to ben", [0, 0, 1, 0]),
        ("what did carl say", [0, 0, 0, 0]),
        ("", [0, 0, 0, 0]),
    ],
)
def test_the_first_speaker_that_is_named_is_meant(question: str, meant: list[int]) -> None:
    """Of two who were named neither was preferred, though it is the first who acts: their own words answer."""
    assert named_speaker(question.split(), SPEAKERS).tolist() == meant


def test_who_recommended_to_whom(tmp_path: Path) -> None:
    with DB.open(tmp_path / "a.meh") as db:
        for session, speaker, text in (
            ("1", "Ann", "I recommend the book about the lighthouse"),
            ("1", "Ben", "Then I will read it"),
            ("2", "Ben", "I recommend the book about the sailor"),
            ("2", "Ann", "Then I will read it"),
        ):
            db.archive.append_many([{"text": text, "speaker": speaker, "role": "user", "session": session}])
        first = {q: db.recall(q).hits[0].speaker for q in ("Ann recommend to Ben book", "Ben recommend to Ann book")}
    assert first == {"Ann recommend to Ben book": "Ann", "Ben recommend to Ann book": "Ben"}
