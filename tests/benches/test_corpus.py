"""The made-up texts: the same every time, and like text where it matters."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import memhop
from benches import corpus

TEXTS = list(corpus.texts(3_000))


def test_the_same_texts_every_time_and_a_longer_run_begins_alike() -> None:
    assert list(islice(corpus.texts(12_000), 3_000)) == TEXTS
    assert TEXTS[0] == (
        "ribonu fikofawud lededis in vowozomob of debativik to and lezece sefu a up do diwez lusu these not zizulut "
        "metihu vawitol this and"
    )


def test_words_are_spread_as_in_real_text() -> None:
    words = Counter(word for text in TEXTS for word in text.split())
    total = sum(words.values())
    assert abs(total / len(TEXTS) - corpus.MEAN_WORDS) < 1
    assert 0.4 < sum(words[word] for word in corpus.FUNCTION_WORDS) / total < 0.65
    assert words["the"] > 20 * words[corpus.vocabulary()[200]]


def test_the_vocabulary_has_no_word_twice() -> None:
    words = corpus.vocabulary(5_000)
    assert len(set(words)) == len(words) == 5_000
    assert words[: len(corpus.FUNCTION_WORDS)] == corpus.FUNCTION_WORDS


def test_questions_are_of_4_to_10_words_and_about_words_of_one_text() -> None:
    asked = corpus.questions(40)
    assert asked == corpus.questions(40)
    texts = [set(text.split()) for text in TEXTS[: corpus.ASKED_ABOUT]]
    patterns = {word for pattern in corpus.QUESTIONS for word in pattern.split()}
    for question in asked:
        words = question.split()
        assert 4 <= len(words) <= 10
        about = set(words) - patterns
        assert about
        assert any(about <= text for text in texts)
    assert {len(question.split()) for question in asked} >= {4, 7, 10}


def test_one_per_cent_of_the_notes_are_in_each_project() -> None:
    projects = Counter(note["project"] for note in corpus.notes(2_000))
    assert set(projects.values()) == {20}
    assert len(projects) == corpus.PROJECTS


def test_a_file_is_filled_once_and_then_found(tmp_path: Path) -> None:
    for kind in ("notes", "messages"):
        made = corpus.filled(tmp_path, kind, 1_000)
        before = made.path.stat().st_mtime_ns
        assert corpus.filled(tmp_path, kind, 1_000) == made
        assert made.path.stat().st_mtime_ns == before
        assert made.raw_bytes == sum(len(text) for text in TEXTS[:1_000])
        with memhop.DB.open(made.path, mode="read") as db:
            assert db.stats().records["note" if kind == "notes" else "message"] == 1_000
            assert db.recall(corpus.questions(1)[0]).hits
