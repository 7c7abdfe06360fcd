"""Checking vectors, the hash embedder, and cutting long text."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.common.errors import EmbedderError, InvalidRequest
from memhop.models.embed import MAX_PIECES, Embedder, HashEmbedder, check_vectors, split_text
from memhop.models.embed_http import OllamaEmbedder, OpenAIEmbedder
from memhop.models.embed_local import LocalEmbedder


def cosine(first: str, second: str) -> float:
    one, two = HashEmbedder().embed([first, second])
    return float(one @ two)


def test_rows_become_unit_length() -> None:
    unit, good = check_vectors(np.array([[3.0, 4.0], [1e-200 * 1e190, 0.0], [1e300, 1e300]]), 3, 2)
    np.testing.assert_allclose(unit, [[0.6, 0.8], [1.0, 0.0], [0.5**0.5, 0.5**0.5]], atol=1e-6)
    assert unit.dtype == np.float32
    assert good.tolist() == [True, True, True]


def test_bad_rows_are_zeroed_and_reported_and_good_ones_kept() -> None:
    rows = np.array([[np.nan, 1.0], [np.inf, 0.0], [0.0, 0.0], [0.0, 2.0]])
    unit, good = check_vectors(rows, 4, None)
    assert good.tolist() == [False, False, False, True]
    np.testing.assert_array_equal(unit, [[0, 0], [0, 0], [0, 0], [0, 1]])


def test_the_smallest_and_largest_float32_keep_their_direction() -> None:
    large = np.finfo(np.float32).max
    unit, good = check_vectors(np.array([[large, -large], [1e-11, 0.0]], dtype=np.float32), 2, 2)
    assert good.all()
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((1, 3)), np.zeros((2, 2)), np.zeros(3), np.zeros((2, 0)), np.array([["a", "b", "c"]] * 2), [[1], [1, 2]]],
)
def test_a_wrong_shape_or_type_is_an_error_for_the_batch(wrong: np.ndarray) -> None:
    with pytest.raises(EmbedderError):
        check_vectors(wrong, 2, 3)


def test_every_embedder_keeps_the_protocol() -> None:
    embedders: list[Embedder] = [
        HashEmbedder(),
        LocalEmbedder(),
        OllamaEmbedder("http://127.0.0.1:1", "m"),
        OpenAIEmbedder("m", "http://127.0.0.1:1/v1"),
    ]
    assert len({(one.name, one.dim, one.digest) for one in embedders}) == 4
    assert all(one.embed([]).shape == (0, one.dim or 0) for one in embedders)


def test_no_texts_give_no_rows() -> None:
    unit, good = check_vectors(np.zeros((0, 5)), 0, 5)
    assert unit.shape == (0, 5)
    assert good.shape == (0,)


def test_hash_vectors_find_spelling_not_meaning() -> None:
    assert (
        cosine("I receive the databases", "recieve database") > cosine("I receive the databases", "banana bread") + 0.3
    )
    assert cosine("北京的咖啡馆", "咖啡馆在北京") > cosine("北京的咖啡馆", "上海的医院") + 0.3
    assert abs(cosine("car", "automobile")) < 0.3
    assert cosine("Straße ＣＡＦＥ", "strasse cafe") > 0.99


def test_hash_vectors_are_the_same_in_another_process() -> None:
    code = (
        "from memhop.models.embed import HashEmbedder;"
        "print(HashEmbedder(64).embed(['Ana lives in 北京', 'x']).tobytes().hex())"
    )
    run = [sys.executable, "-c", code]
    other = subprocess.run(
        run, capture_output=True, text=True, check=True, timeout=60, env={"PYTHONHASHSEED": "7"}
    ).stdout.strip()
    assert other == HashEmbedder(64).embed(["Ana lives in 北京", "x"]).tobytes().hex()


def test_hash_vectors_are_pinned() -> None:
    """A change here changes the space of every stored file: raise the scheme number in the digest with it."""
    row = HashEmbedder(16).embed(["Ana moved to 北京"])[0]
    assert HashEmbedder(16).digest == "words-trigrams-1"
    np.testing.assert_allclose(row, PINNED, atol=1e-6)


PINNED = [
    -0.3779645,
    0.0000000,
    -0.1889822,
    0.0000000,
    0.0000000,
    0.0000000,
    0.1889822,
    -0.5669467,
    0.1889822,
    0.1889822,
    0.5669467,
    0.1889822,
    0.0000000,
    0.0000000,
    0.0000000,
    0.1889822,
]


def test_text_without_words_gets_zeros() -> None:
    vectors = HashEmbedder().embed(["", "  ", "!?", "🎉", "the", "\ud800x"])
    assert np.linalg.norm(vectors, axis=1).round(6).tolist() == [0, 0, 0, 0, 1, 1]
    assert HashEmbedder().embed([]).shape == (0, 256)


@pytest.mark.parametrize("dim", [15, 4097, True, 64.0])
def test_hash_dimension_is_checked(dim: int) -> None:
    with pytest.raises(InvalidRequest):
        HashEmbedder(dim)


# --- split_text ---------------------------------------------------------------------------------------------


def test_short_text_is_one_piece_and_blank_text_none() -> None:
    assert split_text("short") == ["short"]
    assert split_text("") == split_text(" \n ") == []


def test_pieces_end_where_the_text_pauses() -> None:
    sentences = "".join(f"This is sentence number {n}. " for n in range(200))
    assert all(piece.endswith(". ") for piece in split_text(sentences))
    assert all(len(piece) > 950 for piece in split_text(sentences)[:-1]), "the last pause that fits is taken"
    paragraphs = "".join(f"Some words, and more. Words of paragraph {n}\n\n" for n in range(100))
    assert all(piece.endswith("\n\n") for piece in split_text(paragraphs))
    chinese = "".join(f"这是第{n}句话，内容很长。" for n in range(200))
    assert all(piece.endswith("。") for piece in split_text(chinese))


def test_chinese_gets_smaller_pieces_than_english() -> None:
    """600 Chinese characters fit into 1,000, and not into the 512 tokens of a small model: it refused the text."""
    assert max(map(len, split_text("记" * 600))) <= 333
    assert len(split_text("a" * 600)) == 1


@pytest.mark.parametrize("text", ["a" * 1_000_000, "word " * 200_000, "记。" * 500_000, "\n" * 500_000 + "x"])
def test_a_megabyte_fits_into_the_stated_number_of_pieces(text: str) -> None:
    pieces = split_text(text)
    assert len(pieces) <= MAX_PIECES
    assert "".join(pieces) == text


@given(
    st.text(st.sampled_from("ab .,!?\n。，'”记ちก한é🎉\u0301"), max_size=400),
    st.integers(min_value=16, max_value=200),
)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_nothing_is_lost_and_pieces_are_bounded(text: str, max_chars: int) -> None:
    pieces = split_text(text, max_chars)
    assert "".join(pieces) == (text if text.strip() else "")
    assert len(pieces) <= MAX_PIECES
    assert all(pieces)
    if len(text) * 3 <= max_chars * MAX_PIECES // 2:
        assert all(len(piece) <= max_chars for piece in pieces)


def test_too_small_pieces_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="max_chars"):
        split_text("text", 15)
