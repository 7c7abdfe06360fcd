"""The lexicon says the same as the tokenizer, however often it is asked, and does not grow for ever."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memhop.index import bm25, lexicon
from memhop.index.bm25 import Bm25Index
from memhop.index.lexicon import Lexicon
from memhop.index.tokenizer import tokenize


def terms_in(known: Lexicon, text: str) -> list[str]:
    return [known.names[number] for number in memoryview(known.numbers_of(text)).cast("I")]


@given(st.lists(st.text(max_size=60), max_size=6))
@settings(deadline=None)  # the first Han run loads a dictionary
@example(["", "  ", "\u200b", "a -> b", "src/main.py src/main.py", "我喜歡貓 🎉", "\udc80"])
def test_it_gives_the_terms_of_the_tokenizer(texts: list[str]) -> None:
    known = Lexicon()
    for text in (*texts, *texts):
        assert terms_in(known, text) == tokenize(text)
        assert known.terms(known.numbers_of(text)) == set(tokenize(text))


def test_long_pieces_are_not_kept() -> None:
    known = Lexicon()
    known.numbers_of("x" * 1000)
    assert not known._pieces


def test_pieces_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "MOST_PIECES", 10)
    words = [first + second for first in "bcdfghklmn" for second in "bcdfghklmn"]
    known = Lexicon()
    assert terms_in(known, " ".join(words)) == words
    assert len(known._pieces) <= 10


def test_another_lexicon_is_begun_where_one_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a checkpoint, so that the numbers of a delta are always of one lexicon; what is indexed stays found."""
    monkeypatch.setattr(lexicon, "MOST_TERMS", 3)
    index = Bm25Index()
    live = np.ones(4, np.bool_)
    index.add_text(0, "walnuts and almonds")
    index.add_text(1, "almonds again")
    first = index._lexicon
    index.attach([(0, index.seal(0, live[:2]))])
    assert index._lexicon is not first
    index.add_text(2, "figs, almonds")
    assert [index.document_frequency(term, live[:3]) for term in ("almond", "walnut", "fig", "date")] == [3, 1, 1, 0]


def test_a_term_that_only_older_parts_have_is_not_found_in_the_delta() -> None:
    index = bm25.Bm25Index()
    index.add_text(0, "walnuts")
    index.attach([(0, index.seal(0, np.ones(1, np.bool_)))])
    index.add_text(1, "figs")
    assert index._delta.find("walnut") is None
    assert index._delta.terms() == ["fig"]
