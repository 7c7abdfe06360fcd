"""Fuzzy lookup equals a scan of the whole vocabulary, by either structure."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from memhop.common.errors import InvalidRequest
from memhop.index.bk_tree import BkTree
from memhop.index.fuzzy import STRUCTURES, FuzzyIndex, allowed_distance
from memhop.index.signatures import SignatureTable, signatures


def scan(term: str, words: list[str], distance: int) -> list[tuple[str, int]]:
    found = sorted((OSA.distance(term, word), word) for word in set(words))
    return [(word, apart) for apart, word in found if apart <= distance]


letters = st.text("abcd猫é\ud800", max_size=7)


@given(st.lists(letters, max_size=40), st.lists(letters, max_size=10), letters, st.integers(0, 4))
@settings(max_examples=200, derandomize=True, deadline=None)
@example(["abc"], [], "ca", 2)  # OSA 3, though ca -> ac -> abc: the case where it is no metric
def test_both_structures_answer_as_a_scan_does(words: list[str], later: list[str], term: str, distance: int) -> None:
    for structure in STRUCTURES:
        index = FuzzyIndex(words, structure)
        for word in later:
            index.add(word)
        assert index.matches(term, distance) == scan(term, words + later, distance)
        assert len(index) == len({*words, *later})


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_large_vocabulary_and_its_growth(structure: str) -> None:
    """Large enough for inner nodes of the tree, and for the list of new words to be taken in several times."""
    generator = random.Random(4)

    def word() -> str:
        return "".join(generator.choice("etaoinshr") for _ in range(generator.randint(2, 9)))

    words = [word() for _ in range(1500)]
    index = FuzzyIndex(words[:600], structure)
    for number, added in enumerate(words[600:]):
        index.add(added)
        if number % 100 == 0:
            for _ in range(3):
                term = word()
                assert index.matches(term) == scan(term, words[: 601 + number], allowed_distance(term))


def test_the_plain_tree_is_exact_too() -> None:
    generator = random.Random(5)
    words = list({"".join(generator.choice("abcde") for _ in range(generator.randint(1, 6))) for _ in range(500)})
    tree, table = BkTree(words, bucket=1), SignatureTable(words)
    for term in words[:40]:
        for distance in (1, 2, 3):
            wanted = {word for word, _ in scan(term, words, distance)}
            assert wanted <= set(tree.candidates(term, distance))
            assert wanted <= set(table.candidates(term, distance))


@given(letters, letters)
@settings(max_examples=400, derandomize=True, deadline=None)
@example("xaby", "xbay")
@example("ab", "ba")
def test_the_bounds_on_signatures_hold(left: str, right: str) -> None:
    distance = int(OSA.distance(left, right))
    characters, bigrams = signatures([left, right])
    changed = (int(characters[0]) ^ int(characters[1])).bit_count()
    pairs = (int(bigrams[0]) ^ int(bigrams[1])).bit_count()
    assert changed <= 2 * distance
    assert pairs + 2 * -(-changed // 2) <= 6 * distance


@pytest.mark.parametrize(
    ("term", "distance"),
    [
        ("", 0),
        ("ab", 0),
        ("abc", 1),
        ("hello", 1),
        ("melanie", 2),
        ("2024", 0),
        ("1.2.3", 0),
        ("北京", 0),
        ("北京大", 0),
        ("北京大学", 1),
        ("北京大学图书馆", 1),
        ("x86_64", 2),
    ],
)
def test_how_far_a_word_may_be_off(term: str, distance: int) -> None:
    assert allowed_distance(term) == distance


def test_names_are_found_in_spite_of_typing() -> None:
    index = FuzzyIndex(["melanie", "melania", "caroline", "carol", "cat", "car", "2023", "北京"])
    assert index.matches("melanei") == [("melanie", 1), ("melania", 2)]
    assert index.matches("caroline") == [("caroline", 0)]
    assert index.misspelt("carolin", 5) == [("caroline", 1), ("carol", 2)]
    assert index.misspelt("carolin", 1) == [("caroline", 1)]
    assert index.matches("2024") == []
    assert index.matches("上京") == []
    assert "cat" in index
    assert "dog" not in index


def test_words_that_begin_alike() -> None:
    index = FuzzyIndex(["paint", "paints", "painter", "painting", "pain", "pai", "past"])
    index.add("painty")
    assert index.alike("paint", 4, 9) == ["pain", "paints", "painty", "painter", "painting"]
    assert index.alike("paint", 4, 2) == ["pain", "paints"]
    assert index.alike("pai", 4, 9) == []
    assert index.alike("zzzz", 4, 9) == []


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InvalidRequest, match="max_distance"):
        FuzzyIndex(["a"]).matches("a", 5)
    with pytest.raises(InvalidRequest, match="structure"):
        FuzzyIndex([], "trie")
