"""Postings in arrays: which unit holds which term how often. The layout is described in `bm25`.

A `Postings` is never changed. Merging maps every source's terms onto the union of their hashes and sorts all postings
by term; sources come in the order of their units and the sort is stable, so units stay ascending within a term.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memhop.index.parts import Part, Sections, damaged, lengths_of, offsets, ranges, section, to_offsets


@dataclass(frozen=True, slots=True)
class Postings:
    """Row i of every table belongs to `hashes[i]`."""

    hashes: NDArray[np.uint64]  # ascending
    starts: NDArray[np.uint64]  # [terms + 1], into docs and tfs
    docs: NDArray[np.uint32]
    tfs: NDArray[np.uint16]
    text_starts: NDArray[np.uint64]  # [terms + 1], into text
    text: NDArray[np.uint8]
    units: int  # every doc is below

    @classmethod
    def from_part(cls, part: Part, units: int) -> Postings:
        """The sections of a part, in place. Raises Corrupt when they do not fit together."""
        hashes = section(part, "hashes", "u8")
        docs = section(part, "docs", "u4")
        tfs = section(part, "tfs", "u2")
        text = section(part, "text", "u1")
        if len(docs) != len(tfs):
            raise damaged(f"{len(docs)} units and {len(tfs)} counts in the postings")
        starts = offsets(part, "postings", rows=len(hashes), end=len(docs))
        text_starts = offsets(part, "texts", rows=len(hashes), end=len(text))
        return cls(hashes, starts, docs, tfs, text_starts, text, units)

    @classmethod
    def from_delta(cls, delta: Mapping[str, tuple[array[int], array[int]]], first: int, units: int) -> Postings:
        """Postings of term -> (ordinals, counts), counted from unit `first`. Cost: O(terms log terms)."""
        terms = list(delta)
        hashes = hash_terms(terms)
        order = np.argsort(hashes, kind="stable")
        terms = [terms[i] for i in order.tolist()]
        docs = array("I")
        tfs = array("H")
        for term in terms:
            docs.extend(delta[term][0])
            tfs.extend(delta[term][1])
        encoded = [_encode(term) for term in terms]
        return cls(
            hashes[order],
            to_offsets(np.array([len(delta[term][0]) for term in terms], np.int64)),
            np.array(docs, np.uint32) - np.uint32(first),
            np.array(tfs, np.uint16),
            to_offsets(np.array([len(text) for text in encoded], np.int64)),
            np.frombuffer(b"".join(encoded), np.uint8),
            units,
        )

    def check(self) -> None:
        """Raises Corrupt if terms are out of order, a posting names a unit that is not there, or a text is none."""
        if np.any(self.hashes[1:] <= self.hashes[:-1]):
            raise damaged("terms are out of order")
        for starts in (self.starts, self.text_starts):
            if np.any(starts[1:] < starts[:-1]):
                raise damaged("rows of terms run backwards")
        if len(self.docs) and int(self.docs.max()) >= self.units:
            raise damaged(f"a posting names unit {self.docs.max()} of {self.units}")
        begins = self.text_starts[:-1][self.text_starts[1:] > self.text_starts[:-1]]
        try:
            self.text.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise damaged("terms are no text") from None
        if np.any(self.text[begins] & 0xC0 == 0x80):
            raise damaged("a term begins within a character")

    def find(self, hash_: np.uint64) -> tuple[NDArray[np.uint32], NDArray[np.uint16]] | None:
        """(units, counts) of a term; None when it is absent. Cost: O(log terms), and a look at each unit."""
        row = int(np.searchsorted(self.hashes, hash_))
        if row == len(self.hashes) or self.hashes[row] != hash_:
            return None
        docs = self.docs[int(self.starts[row]) : int(self.starts[row + 1])]
        if len(docs) and int(docs.max()) >= self.units:
            raise damaged(f"a posting names unit {docs.max()} of {self.units}")
        return docs, self.tfs[int(self.starts[row]) : int(self.starts[row + 1])]

    def terms(self, rows: NDArray[np.int64]) -> Iterator[str]:
        """Text of the terms in these rows."""
        starts = self.text_starts
        for row in rows.tolist():
            text = self.text[int(starts[row]) : int(starts[row + 1])].tobytes()
            yield text.decode("utf-8", "surrogatepass")

    def renumbered(self, survivors: NDArray[np.bool_], numbers: NDArray[np.int64]) -> Postings:
        """Without units that do not survive, the others under new numbers; terms that lost all are left out.

        Args:
            survivors, numbers: By unit, [units] or longer; numbers ascend.
        """
        keep = survivors[self.docs]
        rows = np.repeat(np.arange(len(self.hashes)), lengths_of(self.starts))[keep]
        counts = np.bincount(rows, minlength=len(self.hashes))
        kept_rows = np.flatnonzero(counts)
        text_lengths = lengths_of(self.text_starts)[kept_rows]
        return Postings(
            self.hashes[kept_rows],
            to_offsets(counts[kept_rows]),
            numbers[self.docs[keep]].astype(np.uint32),
            self.tfs[keep],
            to_offsets(text_lengths),
            self.text[ranges(self.text_starts[kept_rows], text_lengths)],
            int(np.count_nonzero(survivors)),
        )

    def sections(self) -> Sections:
        """The sections of a part."""
        return {
            "hashes": self.hashes,
            "postings": self.starts,
            "docs": self.docs,
            "tfs": self.tfs,
            "texts": self.text_starts,
            "text": self.text,
        }


def merge(sources: Sequence[Postings]) -> Postings:
    """One table out of several whose units are numbered together and ascend from source to source."""
    hashes = np.unique(np.concatenate([source.hashes for source in sources]))
    rows = [np.searchsorted(hashes, source.hashes) for source in sources]
    counts = [lengths_of(source.starts) for source in sources]
    posting_rows = np.concatenate([np.repeat(row, count) for row, count in zip(rows, counts, strict=True)])
    order = np.argsort(posting_rows, kind="stable")

    # A term's text is taken from the last source that has it; any would do.
    text = np.concatenate([source.text for source in sources])
    text_starts = np.zeros(len(hashes), np.int64)
    text_lengths = np.zeros(len(hashes), np.int64)
    shift = 0
    for row, source in zip(rows, sources, strict=True):
        text_starts[row] = source.text_starts[:-1].astype(np.int64) + shift
        text_lengths[row] = lengths_of(source.text_starts)
        shift += len(source.text)

    return Postings(
        hashes,
        to_offsets(np.bincount(posting_rows, minlength=len(hashes))),
        np.concatenate([source.docs for source in sources])[order],
        np.concatenate([source.tfs for source in sources])[order],
        to_offsets(text_lengths),
        text[ranges(text_starts, text_lengths)],
        max(source.units for source in sources),
    )


def hash_term(term: str) -> np.uint64:
    """xxh3_64 of the term in UTF-8."""
    return np.uint64(hash_terms((term,))[0])


def hash_terms(terms: Iterable[str]) -> NDArray[np.uint64]:
    """`hash_term` of each."""
    import xxhash

    digest = xxhash.xxh3_64_intdigest
    return np.array([digest(_encode(term)) for term in terms], np.uint64)


def member(values: NDArray[Any], ascending: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values occur in a sorted array."""
    if len(ascending) == 0:
        return np.zeros(len(values), np.bool_)
    at = np.searchsorted(ascending, values)
    at[at == len(ascending)] = 0
    found: NDArray[np.bool_] = ascending[at] == values
    return found


def _encode(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")  # a lone surrogate is a term like any other
