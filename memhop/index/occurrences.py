"""The postings of what came last, as they come: terms of units in order of arrival, not yet by term.

Adding a unit appends the numbers of its terms to one list; nothing is looked up but each term's number. A question for
a term is a comparison with every number that is not sorted yet, 5 us at most, and a slice of those that are: once
`_UNSORTED` numbers have gathered, all are sorted anew. Sealing is one sort. A posting list for each term, the
alternative, costs four times as much per unit, and as much again when it is turned into arrays.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.growable import GrowableArray
from memhop.index.lexicon import Lexicon
from memhop.index.parts import narrowed, order_of, to_offsets
from memhop.index.postings import MAX_TF, Postings, encode_terms, hash_encoded

_NUMBER_BYTES: Final = 4
_UNSORTED: Final = 1 << 15  # term numbers that a question walks over


class Occurrences:
    """Terms of the units from ordinal `first` on. One thread at a time.

    Args:
        lexicon: Says which term a number stands for; it may know others too.
    """

    def __init__(self, first: int, lexicon: Lexicon) -> None:
        self.first = first
        self._lexicon = lexicon
        self._lengths: list[int] = []
        self._pending = bytearray()  # term numbers that are not in `_terms` yet
        self._terms = GrowableArray("u4")
        self._units = GrowableArray("u4")  # the unit of each, counted from `first`
        self._arrived = 0  # units whose terms are in `_terms`
        self._order = np.zeros(0, np.int64)  # places in `_terms`, by term; within a term ascending
        self._starts = np.zeros(1, np.int64)  # of each term in `_order`

    def __len__(self) -> int:
        """Units passed, from `first` on."""
        return len(self._lengths)

    def add(self, ordinal: int, numbers: bytes) -> None:
        """Ordinals come in ascending order, from `first` on; those left out have no terms. Cost: under 1 us.

        Args:
            numbers: Of the terms, as the lexicon gives them.

        Raises:
            InvalidRequest: the ordinal was passed already.
        """
        missing = ordinal - self.first - len(self._lengths)
        if missing:
            if missing < 0:
                allowed = f">= {self.first + len(self._lengths)}"
                raise InvalidRequest(f"{ordinal} was passed already", field="ordinal", allowed=allowed)
            self._lengths.extend([0] * missing)
        self._lengths.append(len(numbers) // _NUMBER_BYTES)
        self._pending += numbers

    def terms(self) -> list[str]:
        """Each term once."""
        return self._named(self._distinct())

    def lengths(self, start: int = 0) -> NDArray[np.uint32]:
        """Number of terms of each unit, counted from `first`, from the `start`-th on."""
        return np.array(self._lengths[start:], np.uint32)

    def find(self, term: str) -> tuple[NDArray[np.uint32], NDArray[np.uint16]] | None:
        """(units counted from `first`, counts) of the term, as copies; None where no unit holds it."""
        number = self._lexicon.number(term)
        if number is None:
            return None
        self._settle()
        if len(self._terms) - len(self._order) > _UNSORTED:
            self._order = order_of(self._terms.view)
            counts = np.bincount(self._terms.view)
            self._starts = np.concatenate([[0], np.cumsum(counts)])
        sorted_ = len(self._order)
        places = np.flatnonzero(self._terms.view[sorted_:] == np.uint32(number)) + sorted_
        if number + 1 < len(self._starts):
            places = np.concatenate([self._order[self._starts[number] : self._starts[number + 1]], places])
        if not len(places):
            return None
        units = self._units.view[places]
        begins = _begins(units)
        counts = np.diff(np.append(begins, len(units)))
        return units[begins], np.minimum(counts, MAX_TF).astype(np.uint16)

    def postings(self, units: int) -> Postings:
        """All of it by term, for `units` units from `first` on, counted from 0. Cost: O(occurrences)."""
        numbers = self._distinct()
        encoded = encode_terms(self._named(numbers))
        hashes = hash_encoded(encoded)
        by_hash = np.argsort(hashes, kind="stable")
        rank = np.zeros(len(self._lexicon.names), np.uint32)
        rank[numbers[by_hash]] = np.arange(len(encoded), dtype=np.uint32)
        rows = rank[self._terms.view]
        order = order_of(rows)
        rows, docs = rows[order], self._units.view[order]
        begins = np.flatnonzero(_changes(rows) | _changes(docs))
        counts = np.minimum(np.diff(np.append(begins, len(docs))), MAX_TF)
        encoded = [encoded[i] for i in by_hash.tolist()]
        return Postings(
            hashes[by_hash],
            to_offsets(np.bincount(rows[begins], minlength=len(encoded))),
            docs[begins],
            counts.astype(np.uint16),
            narrowed(np.fromiter(map(len, encoded), np.int64, len(encoded))),
            np.frombuffer(b"".join(encoded), np.uint8),
            units,
        )

    def _distinct(self) -> NDArray[np.int64]:
        """The numbers of the terms that occur, ascending."""
        self._settle()
        return np.flatnonzero(np.bincount(self._terms.view))

    def _named(self, numbers: NDArray[np.int64]) -> list[str]:
        names = self._lexicon.names
        return [names[number] for number in numbers.tolist()]

    def _settle(self) -> None:
        """Take in what was added."""
        if self._arrived < len(self._lengths):
            self._terms.extend(np.frombuffer(self._pending, np.uint32))
            self._pending = bytearray()  # one that has lent its memory cannot grow
            lengths = self.lengths(self._arrived)
            self._units.extend(np.repeat(np.arange(len(lengths), dtype=np.uint32) + np.uint32(self._arrived), lengths))
            self._arrived = len(self._lengths)


def _changes(column: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """True where a value differs from the one before; the first always does."""
    changes = np.ones(len(column), np.bool_)
    np.not_equal(column[1:], column[:-1], out=changes[1:])
    return changes


def _begins(column: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.flatnonzero(_changes(column))
