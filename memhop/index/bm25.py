"""Lexical ranking: BM25 over immutable postings and a delta in memory.

The score of unit d for the terms of a query is

    sum over t of  ln(1 + (N - n + 0.5) / (n + 0.5)) * tf / (tf + k1 * (1 - b + b * dl / avgdl))

(Robertson and Zaragoza 2009, with the idf of Lucene, which is never negative; the constant factor k1 + 1 is left out).
N counts the live units that have terms, n those of them that hold t, dl is a unit's number of terms and avgdl its mean
over the N units. Nothing of this is stored: deleting is clearing a bit in the caller's `live`, and what is dead
neither scores nor counts.

Sections of a part, where `T` terms have `P` postings over `D` units:

    hashes    u8[T]    xxh3_64 of the term in UTF-8, ascending: a search in it replaces a dictionary
    counts    n4[T*B]  rows in `docs`: B for each term, one for each block of 65536 units
    docs      n4[P]    unit, counted from the part's first ordinal; ascending within a term. u2 of a part of more than
                       65536 units: counted from the first of its block. B is 1 unless that is so
    repeats   n4[R]    where in `docs` a unit holds the term more than once: how far behind the place before
    tfs       n2[R]    how often, there; 65535 means that many or more
    lengths   n4[D]    terms of each unit; 0 for a unit that has none
    texts     n4[T]    bytes of each term in `text`
    text      u1[]     the terms themselves, for the fuzzy vocabulary

Two terms with one hash would be taken for one; at a million terms the odds are 3e-8.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memhop.common.errors import InvalidRequest
from memhop.index.growable import GrowableArray
from memhop.index.lexicon import Lexicon
from memhop.index.occurrences import Occurrences
from memhop.index.parts import Part, Sections, damaged, narrow_section, narrowed
from memhop.index.postings import Postings, blocks_for, hash_terms, join, member, merge
from memhop.index.strength import Found, Statistics, TermPostings, inverse_frequency

__all__ = ["Bm25Index", "TermPostings"]

_SLICE: Final = 200_000  # postings that `merging` sorts at a time


class Bm25Index:
    """Postings over unit ordinals. One thread at a time; the caller holds the lock.

    Args:
        k1: How slowly repeats saturate, >= 0.
        b: How much long units are held back, 0..1. The defaults suit short conversation turns.
    """

    def __init__(self, k1: float = 0.9, b: float = 0.4) -> None:
        if not (math.isfinite(k1) and k1 >= 0):
            raise InvalidRequest(f"{k1} is out of range", field="k1", allowed="a number >= 0")
        if not 0 <= b <= 1:
            raise InvalidRequest(f"{b} is out of range", field="b", allowed="0..1")
        self.k1 = k1
        self.b = b
        self._parts: list[_AttachedPart] = []
        self._lengths: GrowableArray | None = None
        self._lexicon = Lexicon()  # of the delta; it goes on from one to the next
        self.attach(())

    def attach(self, parts: Sequence[tuple[int, Part]]) -> None:
        """Replace all parts and empty the delta.

        Args:
            parts: (first ordinal, sections), oldest first, without gaps: the next part or the delta begins where one
                ends. The arrays are kept and used in place.

        Cost: O(parts). Sections are fetched at first use. What was fetched of a part is kept if the same object comes
        again, and begins where it did.
        """
        common = 0
        for old, (first, part) in zip(self._parts, parts, strict=False):
            if old.first != first or old.sections is not part:
                break
            common += 1
        self._parts[common:] = [_AttachedPart(first, part) for first, part in parts[common:]]
        self._delta_or_none: Occurrences | None = None
        if self._lexicon.full:
            self._lexicon = Lexicon()
        if self._lengths is not None:
            if 0 < common < len(parts) and len(self._lengths) >= parts[common][0]:
                self._lengths.truncate(parts[common][0])
            else:
                self._lengths = None
        self._known: dict[str, tuple[tuple[int, int], Statistics]] = {}

    def check(self, units: int, *, since: int = 0, until: int | None = None) -> None:
        """Raises Corrupt if a part could not have been made by `seal`, or if the parts are not for so many units.

        Args:
            since, until: Look at these parts only.

        Cost: reads every section once.
        """
        for part in self._parts[since:until]:
            part.postings.check()
        if self._size != units:
            raise damaged(f"postings of {self._size} units, and {units} units")

    def add(self, ordinal: int, terms: Sequence[str]) -> None:
        """Index one unit. Ordinals come in ascending order; those left out are units without terms.

        Raises:
            InvalidRequest: the ordinal was passed already.

        Cost: about 0.1 us per term.
        """
        self._delta.add(ordinal, self._lexicon.numbers(terms))

    def add_text(self, ordinal: int, text: str) -> bytes:
        """`add` with the terms of a text. Returns their numbers, for `terms_of`, until the next `attach`.

        Cost: 5 us for a text of 20 words that were met before.
        """
        numbers = self._lexicon.numbers_of(text)
        self._delta.add(ordinal, numbers)
        return numbers

    def terms_of(self, numbers: bytes) -> set[str]:
        """The terms that these numbers stand for, each once."""
        return self._lexicon.terms(numbers)

    @property
    def lengths(self) -> NDArray[np.uint32]:
        """Number of terms of each unit passed so far, by ordinal; valid until the next `add`."""
        return self._all_lengths().view

    def postings(self, terms: Sequence[str], live: NDArray[np.bool_], *, of: str = "") -> list[TermPostings]:
        """Where each term occurs, unsummed: for rankings that treat terms one by one.

        Args:
            terms: Any terms; a term that is nowhere has no units and the idf of a term that no unit holds.
            live: bool over all ordinals, at least as long as `lengths`; units may die in it, but not come back.
            of: A name for the units that `live` is of, where not all living ones are meant. Statistics are theirs.

        Cost: O(log terms) for each term and part, and a look at each posting.
        """
        lengths = self._all_lengths().view
        statistics = self._statistics(live, of)
        alive = live if statistics.dead else None
        found = self._find(terms)
        return [TermPostings(term, parts, statistics, lengths, alive) for term, parts in zip(terms, found, strict=True)]

    @staticmethod
    def idf(units: int, frequency: int) -> float:
        """What a term is worth that `frequency` of `units` hold, whatever they are; see `strength`."""
        return inverse_frequency(units, frequency)

    def document_frequency(self, term: str, live: NDArray[np.bool_]) -> int:
        """How many live units hold `term`. Cost: O(its postings)."""
        (found,) = self._find((term,))
        return sum(int(np.count_nonzero(live[part.ordinals()])) for part in found)

    def terms(self) -> Iterator[str]:
        """Each distinct term once, in no order of meaning; also such whose units are all dead. Cost: O(terms)."""
        seen = np.zeros(0, np.uint64)
        for part in self._parts:
            hashes = part.postings.hashes
            fresh = ~member(hashes, seen)
            yield from part.postings.terms(np.flatnonzero(fresh))
            seen = np.sort(np.concatenate([seen, hashes[fresh]])) if len(seen) else hashes
        delta = self._delta.terms()
        fresh = ~member(hash_terms(delta), seen)
        yield from (delta[i] for i in np.flatnonzero(fresh).tolist())

    def seal(self, first_part: int, live: NDArray[np.bool_]) -> Sections:
        """Merge parts[first_part:] and the delta into the sections of one part, leaving out dead units.

        Survivors are renumbered from 0 in their order. Changes nothing here: the caller stores the sections and
        attaches anew. Cost: O(postings merged * log of the number of parts).
        """
        parts = self._parts[first_part:]
        start = parts[0].first if parts else self._delta.first
        survivors = live[start:]
        number = np.cumsum(survivors, dtype=np.int64) - 1
        lengths = np.zeros(len(survivors), np.uint32)
        known = self._all_lengths().view[start:]
        lengths[: len(known)] = known
        sources = [
            part.postings.renumbered(survivors[part.first - start :], number[part.first - start :]) for part in parts
        ]
        begin = self._delta.first
        delta = self._delta.postings(len(live) - begin)
        sources.append(delta.renumbered(survivors[begin - start :], number[begin - start :]))
        merged = merge(sources)
        blocks = blocks_for(merged.units, len(merged.docs), len(merged.hashes))
        return {
            "lengths": narrowed(lengths[survivors]),
            **merged.in_blocks(blocks).sections(),
        }

    def merging(self, first_part: int) -> Generator[None, None, Sections]:
        """Merge parts[first_part:] into the sections of one part, pausing now and then. The delta may grow meanwhile.

        Nothing is renumbered, so dead units stay. The sections are for `swap`. No parts may be attached in between.
        """
        parts = self._parts[first_part:]
        start = parts[0].first
        units = self._delta.first - start
        sources = [part.postings for part in parts]
        blocks = blocks_for(units, sum(len(s.docs) for s in sources), sum(len(s.hashes) for s in sources))
        slices = sum(len(source.docs) for source in sources) // _SLICE + 1
        pieces = []
        for number in range(slices):  # hashes are spread evenly
            low = (number << 64) // slices
            high = ((number + 1) << 64) // slices if number < slices - 1 else None
            cut = [
                source.between(low, high).moved(part.first - start, units)
                for source, part in zip(sources, parts, strict=True)
            ]
            pieces.append(merge(cut).in_blocks(blocks))
            yield
        joined = join(pieces)
        yield
        lengths = np.concatenate([part.lengths for part in parts])
        return {"lengths": narrowed(lengths), **joined.sections()}

    def swap(self, first_part: int, part: Part) -> None:
        """Use a part made by `merging` in place of parts[first_part:]."""
        if self._lengths is not None:
            self._all_lengths()  # or lengths that end between the old parts could not be gone on with
        self._parts[first_part:] = [_AttachedPart(self._parts[first_part].first, part)]

    @property
    def _delta(self) -> Occurrences:
        if self._delta_or_none is None:
            expected = 0
            for part in self._parts:
                if part.first != expected:
                    raise damaged(f"part begins at unit {part.first}, the one before ends at {expected}")
                expected += len(part.lengths)
            self._delta_or_none = Occurrences(expected, self._lexicon)
        return self._delta_or_none

    @property
    def _size(self) -> int:
        return self._delta.first + len(self._delta)

    def _all_lengths(self) -> GrowableArray:
        """The lengths of all units so far. Put together at the first question, then kept up."""
        delta = self._delta
        if self._lengths is None:
            self._lengths = GrowableArray("u4")
        for part in self._parts:
            if part.first >= len(self._lengths):
                self._lengths.extend(part.lengths)
        if len(self._lengths) < self._size:
            self._lengths.extend(delta.lengths(len(self._lengths) - delta.first))
        return self._lengths

    def _find(self, terms: Sequence[str]) -> list[list[Found]]:
        """Each term's postings, of every part that has it and of the delta."""
        found: list[list[Found]] = [[] for _ in terms]
        hashes = hash_terms(terms)
        for part in self._parts:
            for place, docs, tfs in part.postings.find(hashes):
                found[place].append(Found(part.first, docs, tfs))
        for term, parts in zip(terms, found, strict=True):
            recent = self._delta.find(term)
            if recent is not None:
                parts.append(Found(self._delta.first, *recent))
        return found

    def _statistics(self, live: NDArray[np.bool_], of: str) -> Statistics:
        lengths = self._all_lengths().view
        if len(live) < len(lengths):
            raise InvalidRequest(f"{len(live)} values for {len(lengths)} units", field="live")
        alive = live[: len(lengths)]
        dead = len(alive) - int(np.count_nonzero(alive))
        # Until the next attach, units only arrive and die: the two counts say whether any did.
        state = (len(lengths), dead)
        known = self._known.get(of)
        if known is None or known[0] != state:
            kept = lengths[alive] if dead else lengths
            units, total = int(np.count_nonzero(kept)), int(kept.sum(dtype=np.int64))
            slope = self.k1 * self.b * units / total if total else 0.0
            known = self._known[of] = (state, Statistics(units, self.k1 * (1 - self.b), slope, dead))
        return known[1]


class _AttachedPart:
    """A part whose sections are fetched and checked at first use."""

    def __init__(self, first: int, part: Part) -> None:
        self.first = first
        self.sections = part

    @cached_property
    def lengths(self) -> NDArray[Any]:
        return narrow_section(self.sections, "lengths")

    @cached_property
    def postings(self) -> Postings:
        return Postings.from_part(self.sections, len(self.lengths))
