"""Postings in arrays: which unit holds which term how often. The layout is described in `bm25`.

A `Postings` is never changed. Merging maps every source's terms onto the union of their hashes and sorts all postings
by term; sources come in the order of their units and the sort is stable, so units stay ascending within a term.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memhop.index.parts import (
    Part,
    Sections,
    damaged,
    lengths_of,
    narrow_section,
    narrowed,
    order_of,
    ranges,
    section,
    to_offsets,
)

MAX_TF: Final = 0xFFFF
BLOCK: Final = 1 << 16  # units whose numbers fit two bytes


@dataclass(frozen=True, slots=True)
class Postings:
    """Row i of every table belongs to `hashes[i]`."""

    hashes: NDArray[np.uint64]  # ascending
    starts: NDArray[Any]  # [terms * blocks + 1], into docs and tfs
    docs: NDArray[Any]
    tfs: NDArray[Any]
    text_lengths: NDArray[Any]
    text: NDArray[np.uint8]
    units: int  # every doc is below
    blocks: int = 1  # of BLOCK units; with more than one, docs count from the start of their block

    @classmethod
    def from_part(cls, part: Part, units: int) -> Postings:
        """The sections of a part, in place. Raises Corrupt when they do not fit together."""
        hashes = section(part, "hashes", "u8")
        docs = narrow_section(part, "docs")
        tfs = _spread(_sizes(part, "repeats", len(docs)), narrow_section(part, "tfs"), len(docs))
        text = section(part, "text", "u1")
        text_lengths = _sizes(part, "texts", len(text))
        blocks = -(-units // BLOCK) if docs.dtype == np.uint16 else 1
        counts = _sizes(part, "counts", len(docs))
        starts = to_offsets(counts)
        if len(counts) != len(hashes) * max(blocks, 1) or int(starts[-1]) != len(docs):
            raise damaged(f"{len(counts)} rows with {len(docs)} postings of {len(hashes)} terms")
        if len(text_lengths) != len(hashes):
            raise damaged(f"{len(text_lengths)} texts of {len(hashes)} terms")
        return cls(hashes, starts, docs, tfs, text_lengths, text, units, max(blocks, 1))

    def check(self) -> None:
        """Raises Corrupt if terms are out of order, a posting names a unit that is not there, or a text is none."""
        if np.any(self.hashes[1:] <= self.hashes[:-1]):
            raise damaged("terms are out of order")
        if len(self.tfs) and not 1 <= int(self.tfs.min()) <= int(self.tfs.max()) <= MAX_TF:
            raise damaged("a count of nothing, or beyond what is counted")
        ends = np.cumsum(self.text_lengths, dtype=np.int64)
        if (int(ends[-1]) if len(ends) else 0) != len(self.text):
            raise damaged(f"{len(self.text)} bytes of text do not fit the terms")
        if len(self.docs) and int(self.docs.max()) >= self.units:
            raise damaged(f"a posting names unit {self.docs.max()} of {self.units}")
        begins = (ends - self.text_lengths)[self.text_lengths > 0]
        try:
            self.text.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise damaged("terms are no text") from None
        if np.any(self.text[begins] & 0xC0 == 0x80):
            raise damaged("a term begins within a character")

    def find(self, hashes: NDArray[np.uint64]) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
        """(place among the hashes, units, counts) of the terms that are there.

        Cost: O(log terms) for each, and a look at each of their units.
        """
        if not len(self.hashes):
            return
        rows = self.hashes.searchsorted(hashes)
        rows[rows == len(self.hashes)] = 0
        for place in (self.hashes[rows] == hashes).nonzero()[0].tolist():
            first = int(rows[place]) * self.blocks
            last = first + self.blocks
            begin, end = int(self.starts[first]), int(self.starts[last])
            docs = self.docs[begin:end]
            if self.blocks > 1:
                docs = _lifted(docs, lengths_of(self.starts[first : last + 1]))
            if len(docs) and int(docs.max()) >= self.units:
                raise damaged(f"a posting names unit {docs.max()} of {self.units}")
            yield place, docs, self.tfs[begin:end]

    def whole(self) -> Postings:
        """The same in one block."""
        if self.blocks == 1:
            return self
        docs = _lifted(self.docs, lengths_of(self.starts).reshape(len(self.hashes), self.blocks))
        return replace(self, docs=docs, starts=self.starts[:: self.blocks], blocks=1)

    def in_blocks(self, blocks: int) -> Postings:
        """The same in so many blocks, as `blocks_for` has it. Needs it in one."""
        if blocks == 1:
            return replace(self, docs=self.docs.astype(np.min_scalar_type(max(self.units - 1, 0)), copy=False))
        rows = np.repeat(np.arange(len(self.hashes)) * blocks, lengths_of(self.starts)) + self.docs // BLOCK
        starts = to_offsets(np.bincount(rows, minlength=len(self.hashes) * blocks))
        return replace(self, docs=(self.docs % BLOCK).astype(np.uint16), starts=starts, blocks=blocks)

    def between(self, low: int, high: int | None) -> Postings:
        """The terms whose hashes lie in [low, high), in one block; to the end for None."""
        first = int(np.searchsorted(self.hashes, np.uint64(low)))
        last = len(self.hashes) if high is None else int(np.searchsorted(self.hashes, np.uint64(high)))
        starts = self.starts[first * self.blocks : last * self.blocks + 1]
        begin, end = int(starts[0]), int(starts[-1])
        text = to_offsets(self.text_lengths)
        return replace(
            self,
            hashes=self.hashes[first:last],
            starts=starts - starts[0],
            docs=self.docs[begin:end],
            tfs=self.tfs[begin:end],
            text_lengths=self.text_lengths[first:last],
            text=self.text[int(text[first]) : int(text[last])],
        ).whole()

    def moved(self, shift: int, units: int) -> Postings:
        """The same units under numbers higher by `shift`, among `units`. Needs it in one block."""
        return replace(self, docs=self.docs.astype(np.uint32) + np.uint32(shift), units=units)

    def terms(self, rows: NDArray[np.int64]) -> Iterator[str]:
        """Text of the terms in these rows."""
        text = self.text.tobytes()
        starts = to_offsets(self.text_lengths)
        for begin, end in zip(starts[rows].tolist(), starts[rows + 1].tolist(), strict=True):
            yield text[begin:end].decode("utf-8", "surrogatepass")

    def renumbered(self, survivors: NDArray[np.bool_], numbers: NDArray[np.int64]) -> Postings:
        """Without units that do not survive, the others under new numbers; terms that lost all are left out.

        Args:
            survivors, numbers: By unit, [units] or longer; numbers ascend.
        """
        if self.blocks > 1:
            return self.whole().renumbered(survivors, numbers)
        keep = survivors[self.docs]
        rows = np.repeat(np.arange(len(self.hashes)), lengths_of(self.starts))[keep]
        counts = np.bincount(rows, minlength=len(self.hashes))
        kept_rows = np.flatnonzero(counts)
        text_lengths = self.text_lengths[kept_rows]
        text_starts = to_offsets(self.text_lengths)[kept_rows]
        return Postings(
            self.hashes[kept_rows],
            to_offsets(counts[kept_rows]),
            numbers[self.docs[keep]].astype(np.uint32),
            self.tfs[keep],
            text_lengths,
            self.text[ranges(text_starts, text_lengths)],
            int(np.count_nonzero(survivors)),
        )

    def sections(self) -> Sections:
        """The sections of a part."""
        repeated = np.flatnonzero(self.tfs > 1)
        return {
            "hashes": self.hashes,
            "counts": narrowed(lengths_of(self.starts)),
            "docs": self.docs,
            "repeats": narrowed(np.diff(repeated, prepend=0)),
            "tfs": narrowed(self.tfs[repeated]),
            "texts": narrowed(self.text_lengths),
            "text": self.text,
        }


def blocks_for(units: int, postings: int, terms: int) -> int:
    """In how many blocks postings are smallest: two bytes less for each, four more for each term and further block."""
    blocks = max(1, -(-units // BLOCK))
    return blocks if 2 * postings > 4 * terms * (blocks - 1) else 1


def join(pieces: Sequence[Postings]) -> Postings:
    """One table out of several whose hashes ascend from piece to piece, in as many blocks each."""
    return Postings(
        np.concatenate([piece.hashes for piece in pieces]),
        to_offsets(np.concatenate([lengths_of(piece.starts) for piece in pieces])),
        np.concatenate([piece.docs for piece in pieces]),
        np.concatenate([piece.tfs for piece in pieces]),
        np.concatenate([piece.text_lengths for piece in pieces]),
        np.concatenate([piece.text for piece in pieces]),
        pieces[0].units,
        pieces[0].blocks,
    )


def merge(sources: Sequence[Postings]) -> Postings:
    """One table out of several whose units are numbered together and ascend from source to source."""
    hashes = np.unique(np.concatenate([source.hashes for source in sources]))
    rows = [np.searchsorted(hashes, source.hashes) for source in sources]
    counts = [lengths_of(source.starts) for source in sources]
    posting_rows = np.concatenate([np.repeat(row, count) for row, count in zip(rows, counts, strict=True)])
    order = order_of(posting_rows)

    # A term's text is taken from the last source that has it; any would do.
    text = np.concatenate([source.text for source in sources])
    text_starts = np.zeros(len(hashes), np.int64)
    text_lengths = np.zeros(len(hashes), np.int64)
    shift = 0
    for row, source in zip(rows, sources, strict=True):
        text_starts[row] = to_offsets(source.text_lengths)[:-1].astype(np.int64) + shift
        text_lengths[row] = source.text_lengths
        shift += len(source.text)

    return Postings(
        hashes,
        to_offsets(np.bincount(posting_rows, minlength=len(hashes))),
        np.concatenate([source.docs for source in sources])[order],
        np.concatenate([source.tfs for source in sources])[order],
        narrowed(text_lengths),
        text[ranges(text_starts, text_lengths)],
        max(source.units for source in sources),
    )


def _sizes(part: Part, name: str, most: int) -> NDArray[Any]:
    """Unsigned integers which are to be added up, none above `most`, so that their sum does not overflow."""
    array = narrow_section(part, name)
    if len(array) and int(array.max()) > most:
        raise damaged(f"section {name} reaches {array.max()} of {most}")
    return array


def _spread(gaps: NDArray[Any], tfs: NDArray[Any], postings: int) -> NDArray[Any]:
    """The count of every posting, from those of the ones that are repeated."""
    places = np.cumsum(gaps, dtype=np.int64)
    if len(gaps) != len(tfs) or (len(places) and int(places[-1]) >= postings):
        raise damaged(f"{len(tfs)} counts of {len(gaps)} repeats in {postings} postings")
    spread = np.ones(postings, tfs.dtype)
    spread[places] = tfs
    return spread


def _lifted(docs: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Docs of blocks, one block after the other, `counts[..., b]` of them in block b, counted from 0."""
    bases = np.broadcast_to(np.arange(counts.shape[-1], dtype=np.uint32) * np.uint32(BLOCK), counts.shape)
    lifted: NDArray[np.uint32] = docs + np.repeat(bases.ravel(), counts.ravel())
    return lifted


def hash_terms(terms: Iterable[str]) -> NDArray[np.uint64]:
    """xxh3_64 of each term in UTF-8."""
    return hash_encoded(encode_terms(terms))


def hash_encoded(encoded: Sequence[bytes]) -> NDArray[np.uint64]:
    """`hash_term` of terms that are encoded already."""
    import xxhash

    return np.fromiter(map(xxhash.xxh3_64_intdigest, encoded), np.uint64, len(encoded))


def encode_terms(terms: Iterable[str]) -> list[bytes]:
    """What is hashed and stored of each term."""
    terms = list(terms)
    try:
        return list(map(str.encode, terms))
    except UnicodeEncodeError:  # a lone surrogate is a term like any other
        return [term.encode("utf-8", "surrogatepass") for term in terms]


def member(values: NDArray[Any], ascending: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values occur in a sorted array."""
    if len(ascending) == 0:
        return np.zeros(len(values), np.bool_)
    at = np.searchsorted(ascending, values)
    at[at == len(ascending)] = 0
    found: NDArray[np.bool_] = ascending[at] == values
    return found
