"""Notes that say nearly the same: found and shown, never merged.

Two notes in force, of one project and kind, are proposed when the words they share are at least `LEAST` of the words
that either has (Jaccard index over index terms: forms of a word count as one). What one has and the other has not comes
with them: it may be a typing error, and it may be the one value that makes them two facts.

Notes that are linked are not proposed, whatever the link says: who links them has looked at them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memhop.index.tokenizer import tokenize
from memhop.repo.l4_note import Note
from memhop.repo.record import Layer, Tier, name_label, project_label
from memhop.search.channels import coverage_by_unit
from memhop.search.sparse import Workspace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.store import Store

LEAST: Final = 0.7  # of all their words, shared by both
_CHARS: Final = 20_000  # of a note that are compared
_TERMS: Final = 256  # of a note by which others are looked for
_KEPT: Final = 200_000  # terms of notes that are kept to compare others with, about 20 MB
_MOST: Final = 50  # notes that one is compared with word by word


class Pair(NamedTuple):
    """Two notes. `similarity` is in LEAST..1; the words that only one of them has, in their order, at most 20 each."""

    older: Note
    newer: Note
    similarity: float
    only_older: tuple[str, ...]
    only_newer: tuple[str, ...]


class Finder:
    """Looks for pairs, in one state of a memory; hold `store.lock` while it is used.

    Attributes:
        read: Characters that were taken apart so far, which is what takes time.
    """

    def __init__(self, store: Store) -> None:
        self.read = 0
        self._store = store
        self._workspace = Workspace()
        self._masks: dict[tuple[int, int], NDArray[np.bool_]] = {}
        self._known: dict[int, dict[str, None]] = {}  # terms of notes that were compared
        self._kept = 0  # terms in it

    def of(self, note: Note) -> list[Pair]:
        """The pairs a note is one of, the most alike first.

        Cost: as a question in the words of the note, and comparing it with up to 50 others.
        """
        if not _in_force(note):
            return []
        terms = self._terms(note)
        views = self._store.views
        units = views.units
        key = (project_label(note.project), name_label("kind", note.kind))
        if key not in self._masks:
            mask = units.live & (units.column("layer") == Layer.NOTES) & (units.column("tier") == Tier.ACTIVE)
            self._masks[key] = mask & (units.column("project") == key[0]) & (units.column("kind") == key[1])
        asked = tuple(terms)[:_TERMS]
        docs, held = coverage_by_unit(asked, views, self._workspace, 1, self._masks[key])
        pairs = []
        for doc in self._near(docs[np.lexsort((docs, -held))[: _MOST + 1]], terms).tolist():
            id_ = int(units.ids[doc])
            other = self._store.readable(Note, id_) if id_ != note.id else None
            if other is not None and _in_force(other) and not _linked(note, other):
                pair = _compared(note, terms, other, self._terms(other))
                if pair.similarity >= LEAST:
                    pairs.append(pair)
        return sorted(pairs, key=lambda pair: (-pair.similarity, pair.older.id, pair.newer.id))

    def _near(self, docs: NDArray[np.int64], terms: dict[str, None]) -> NDArray[np.int64]:
        """Those that can be alike enough, by the index alone: taking their texts apart costs far more.

        Of two that are alike each has `LEAST` of the terms of the other, so lacks few of those that the index has.
        """
        views = self._store.views
        held = np.zeros(len(docs), np.int64)
        for term in views.bm25.postings(tuple(terms), views.units.live):
            held += term.at(docs) > 0
        near: NDArray[np.int64] = docs[held >= held.max(initial=0) - (1 - LEAST) * len(terms)]
        return near

    def among(self, notes: Iterable[Note], most: int) -> list[Pair]:
        """The pairs of which one at least is among these, each once, up to so many."""
        found: dict[tuple[int, int], Pair] = {}
        for note in notes:
            for pair in self.of(note):
                found.setdefault((pair.older.id, pair.newer.id), pair)
                if len(found) >= most:
                    return list(found.values())
        return list(found.values())

    def _terms(self, note: Note) -> dict[str, None]:
        found = self._known.get(note.id)
        if found is None:
            text = note.text[:_CHARS]
            self.read += len(text)
            found = dict.fromkeys(tokenize(text))
            if self._kept > _KEPT:
                self._known.clear()
                self._kept = 0
            self._known[note.id] = found
            self._kept += len(found)
        return found


def _in_force(note: Note) -> bool:
    return note.tier == Tier.ACTIVE and not note.superseded_by


def _linked(one: Note, other: Note) -> bool:
    return other.id in one.links or one.id in other.links


def _compared(note: Note, terms: dict[str, None], other: Note, others: dict[str, None]) -> Pair:
    shared = len(terms.keys() & others.keys())
    similarity = shared / (len(terms) + len(others) - shared or 1)
    mine = tuple(term for term in terms if term not in others)[:20]
    theirs = tuple(term for term in others if term not in terms)[:20]
    if (other.created_at, other.id) < (note.created_at, note.id):
        return Pair(other, note, similarity, theirs, mine)
    return Pair(note, other, similarity, mine, theirs)
