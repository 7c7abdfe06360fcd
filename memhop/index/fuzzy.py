"""Words of a vocabulary that are nearly a given one: spelt nearly so, or beginning alike.

Spelling is measured by optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, one
each. How many are allowed depends on the word, for two edits turn any short word into any other: none up to 2
characters, 1 up to 5, else 2; Han words, where every character is a morpheme, none up to 3 characters and 1 above;
and none in words without letters, since another number is another thing.

Two structures give the same answers: a table of signatures (`signatures`), the default, and a BK-tree (`bk_tree`).
`benches/fuzzy.py` measured the table faster at every size. Words added later stand in a short list that is scanned; a
full list becomes a structure of its own, and neighbouring ones are joined while that is cheap, so that no `add` takes
long.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from memhop.common.errors import InvalidRequest
from memhop.index.bk_tree import BkTree
from memhop.index.scripts import HAN
from memhop.index.signatures import SignatureTable

STRUCTURES: Final[dict[str, type[SignatureTable] | type[BkTree]]] = {"signatures": SignatureTable, "bk-tree": BkTree}
MAX_DISTANCE: Final = 4
_RECENT: Final = 256  # words that are scanned
_JOINED: Final = 8_192  # words up to which structures are joined: 10 ms
_HAN: Final = re.compile(rf"[{HAN}]")


def allowed_distance(term: str) -> int:
    """How many edits may lie between `term` and a word that is taken for it.

    >>> [allowed_distance(term) for term in ("ab", "abcde", "abcdef", "北京", "北京大学", "2024")]
    [0, 1, 2, 0, 1, 0]
    """
    if not any(map(str.isalpha, term)):
        return 0
    if _HAN.search(term):
        return int(len(term) >= 4)
    return 0 if len(term) <= 2 else 1 if len(term) <= 5 else 2


class FuzzyIndex:
    """A growing vocabulary. One thread at a time; the caller holds the lock."""

    def __init__(self, terms: Iterable[str] = (), structure: str = "signatures") -> None:
        """`structure`: a key of `STRUCTURES`. Cost: about 2 us per term for signatures, 10 us for the tree."""
        if structure not in STRUCTURES:
            raise InvalidRequest(f"no {structure!r}", field="structure", allowed=", ".join(STRUCTURES))
        self._structure: type[SignatureTable] | type[BkTree] = STRUCTURES[structure]
        self._known = dict.fromkeys(terms)
        self._recent: list[str] = []
        self._tables: list[_Words] = []
        if self._known:
            self._tables.append(_Words(self._structure(list(self._known))))

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, term: object) -> bool:
        return term in self._known

    def add(self, term: str) -> None:
        """Make it part of the vocabulary. Cost: O(1), and now and then some ms: O(log _JOINED) amortised."""
        if term in self._known:
            return
        self._known[term] = None
        self._recent.append(term)
        if len(self._recent) >= _RECENT:
            self._take_in()

    def matches(self, term: str, max_distance: int | None = None) -> list[tuple[str, int]]:
        """The words within a number of edits.

        Args:
            max_distance: 0..4. None: what `allowed_distance` says.

        Returns:
            (word, distance), ordered by distance, then word. `term` itself comes first if it is in the vocabulary.

        Cost: at 100,000 words about 0.3 ms for 2 edits.
        """
        distance = allowed_distance(term) if max_distance is None else max_distance
        if not 0 <= distance <= MAX_DISTANCE:
            raise InvalidRequest(f"{distance} is out of range", field="max_distance", allowed=f"0..{MAX_DISTANCE}")
        if distance == 0:
            return [(term, 0)] if term in self._known else []
        from rapidfuzz.distance import OSA

        found = []
        near = [word for words in self._tables for word in words.table.candidates(term, distance)]
        for word in (*near, *self._recent):
            apart = OSA.distance(term, word, score_cutoff=distance)
            if apart <= distance:
                found.append((apart, word))
        return [(word, apart) for apart, word in sorted(found)]

    def misspelt(self, term: str, limit: int) -> list[tuple[str, int]]:
        """At most `limit` other words that `term` may be a misspelling of, nearest first."""
        return [match for match in self.matches(term) if match[1] > 0][:limit]

    def alike(self, term: str, least: int, limit: int) -> list[str]:
        """Other words that begin with `term`, or with which it begins.

        Args:
            least: Neither may be shorter than this many characters.
            limit: At most this many; those nearest in length, then in order.

        Cost: O(len(term) + log size), and the words that begin so; the first call sorts the vocabulary.
        """
        if len(term) < least:
            return []
        found = [term[:length] for length in range(max(least, 1), len(term)) if term[:length] in self._known]
        found += [word for word in self._recent if word.startswith(term)]
        for words in self._tables:
            in_order = words.in_order
            at = bisect_left(in_order, term)
            while at < len(in_order) and in_order[at].startswith(term):
                found.append(in_order[at])
                at += 1
        found = [word for word in found if word != term]
        found.sort(key=lambda word: (abs(len(word) - len(term)), word))
        return found[:limit]

    def _take_in(self) -> None:
        """The recent words become a structure, joined with the ones before while these are at most twice as large."""
        words, self._recent = self._recent, []
        while self._tables:
            before = self._tables[-1].table.words
            if len(before) > 2 * len(words) or len(before) + len(words) > _JOINED:
                break
            words = [*before, *words]
            self._tables.pop()
        self._tables.append(_Words(self._structure(words)))


class _Words:
    """Some of the vocabulary."""

    def __init__(self, table: SignatureTable | BkTree) -> None:
        self.table = table

    @cached_property
    def in_order(self) -> list[str]:
        """Sorted."""
        return sorted(self.table.words)
