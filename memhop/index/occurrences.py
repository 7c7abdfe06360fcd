"""The postings of what came last, as they come: terms of units in order of arrival, not yet by term.

Adding a unit appends the numbers of its terms to one list; nothing is looked up but each term's number. A question for
a term is a comparison with every number that is not sorted yet, 5 us at most, and a slice of those that are: once
`_UNSORTED` numbers have gathered, all are sorted anew. Sealing is one sort. A posting list for each term, the
alternative, costs four times as much per unit, and as much again when it is turned into arrays.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.growable import GrowableArray
from memhop.index.parts import narrowed, order_of, to_offsets
from memhop.index.postings import MAX_TF, Postings, encode_terms, hash_encoded

_UNSORTED: Final = 1 << 15  # term numbers that a question walks over


class Occurrences:
    """Terms of the units from ordinal `first` on. One thread at a time."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__  # an unknown term gets the next number
        self._lengths: list[int] = []
        self._pending = array("I")  # term numbers that are not in `_terms` yet
        self._terms = GrowableArray("u4")
        self._units = GrowableArray("u4")  # the unit of each, counted from `first`
        self._arrived = 0  # units whose terms are in `_terms`
        self._order = np.zeros(0, np.int64)  # places in `_terms`, by term; within a term ascending
        self._starts = np.zeros(1, np.int64)  # of each term in `_order`

    def __len__(self) -> int:
        """Units passed, from `first` on."""
        return len(self._lengths)

    def add(self, ordinal: int, terms: Sequence[str]) -> None:
        """Ordinals come in ascending order, from `first` on; those left out have no terms. Cost: 0.1 us per term.

        Raises:
            InvalidRequest: the ordinal was passed already.
        """
        missing = ordinal - self.first - len(self._lengths)
        if missing:
            if missing < 0:
                allowed = f">= {self.first + len(self._lengths)}"
                raise InvalidRequest(f"{ordinal} was passed already", field="ordinal", allowed=allowed)
            self._lengths.extend([0] * missing)
        self._lengths.append(len(terms))
        self._pending.extend(map(self._numbers.__getitem__, terms))

    def terms(self) -> list[str]:
        """Each term once."""
        return list(self._numbers)

    def lengths(self, start: int = 0) -> NDArray[np.uint32]:
        """Number of terms of each unit, counted from `first`, from the `start`-th on."""
        return np.array(self._lengths[start:], np.uint32)

    def find(self, term: str) -> tuple[NDArray[np.uint32], NDArray[np.uint16]] | None:
        """(units counted from `first`, counts) of the term, as copies; None where no unit holds it."""
        number = self._numbers.get(term)
        if number is None:
            return None
        self._settle()
        if len(self._terms) - len(self._order) > _UNSORTED:
            self._order = order_of(self._terms.view)
            counts = np.bincount(self._terms.view, minlength=len(self._numbers))
            self._starts = np.concatenate([[0], np.cumsum(counts)])
        sorted_ = len(self._order)
        places = np.flatnonzero(self._terms.view[sorted_:] == np.uint32(number)) + sorted_
        if number + 1 < len(self._starts):
            places = np.concatenate([self._order[self._starts[number] : self._starts[number + 1]], places])
        units = self._units.view[places]
        begins = _begins(units)
        counts = np.diff(np.append(begins, len(units)))
        return units[begins], np.minimum(counts, MAX_TF).astype(np.uint16)

    def postings(self, units: int) -> Postings:
        """All of it by term, for `units` units from `first` on, counted from 0. Cost: O(occurrences)."""
        self._settle()
        encoded = encode_terms(self._numbers)
        hashes = hash_encoded(encoded)
        by_hash = np.argsort(hashes, kind="stable")
        rank = np.empty(len(encoded), np.uint32)
        rank[by_hash] = np.arange(len(encoded), dtype=np.uint32)
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

    def _settle(self) -> None:
        """Take in what was added."""
        if self._arrived < len(self._lengths):
            self._terms.extend(np.frombuffer(self._pending, np.uint32))
            self._pending = array("I")  # an array that has lent its memory cannot grow
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
