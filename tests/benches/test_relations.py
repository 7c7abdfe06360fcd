"""The pack of relations is what it says, and its figures do not fall."""

from __future__ import annotations

import hashlib
from collections import Counter

from benches.dream_packs import load
from benches.relations import measure

PACK = load("relations")


def even(text: str) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 0


def test_chance_drew_the_halves() -> None:
    assert len(PACK.pairs) >= 60
    assert len({pair.group for pair in PACK.pairs}) >= 25
    assert Counter(pair.language for pair in PACK.pairs) == dict.fromkeys(("en", "zh"), len(PACK.pairs) // 2)
    for pair in PACK.pairs:
        assert pair.split == ("dev" if even(f"split-1:{pair.id}") else "held")
        assert pair.known is even(f"relations-1:{pair.group}")


def test_what_was_told_in_other_words_is_found() -> None:
    """Some points under what was measured; without the words of relations one in five is found, and one in ten."""
    for way in ("turns", "notes"):
        figures = measure(PACK, way, None, ["dev"])
        assert set(figures) == {"dev yes", "dev no"}
        for known, found in figures.items():
            print(way, known, found)
            assert found["before"] >= 65
            assert min(found["older@10"], found["newer@10"]) >= 75
