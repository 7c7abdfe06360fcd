"""A BK-tree (Burkhard and Keller 1973) in arrays, with buckets for leaves.

A node holds a pivot word; its children hold the words at distance 0, 1, 2, ... from the pivot. By the triangle
inequality, words within r of a query lie only under children whose distance to the pivot differs by at most r from
the query's.

**Why it is exact.** Matches are words within d edits of optimal string alignment (OSA), where swapping neighbours is
one edit; but OSA breaks the triangle inequality (`ca` -> `ac` -> `abc` takes 2, `ca` -> `abc` 3), so a tree over it
would lose matches. This tree is built over unrestricted Damerau-Levenshtein distance, which is a metric and never
larger than OSA: whatever is within d by OSA is within d by the tree's metric, and pruning with radius d drops nothing.
Levenshtein distance would need radius 2d.

Groups of at most `BUCKET` words are not split further but filtered by the signatures of `signatures`, for a tree
pays one distance in Python per node it visits, and on words as short as ours a query visits a large part of all nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memhop.index.signatures import may_match, signatures

BUCKET: Final = 64


class BkTree:
    """A fixed vocabulary. Interchangeable with `SignatureTable`, and slower: `benches/fuzzy.py` compares them."""

    def __init__(self, words: Sequence[str], bucket: int = BUCKET) -> None:
        """`words`: distinct. `bucket`: 1 gives the plain tree. Cost: one distance per word and level."""
        self.words = list(words)
        self._bucket = bucket
        self._characters, self._bigrams = signatures(self.words)
        self._lengths = np.array([len(word) for word in self.words], np.int64)
        self._pivots: list[int] = []
        self._children: list[tuple[NDArray[np.int64], list[int]]] = []  # per node: (distances, references)
        self._buckets: list[NDArray[np.int64]] = []
        self._root = self._build(np.arange(len(self.words)))

    def candidates(self, word: str, distance: int) -> list[str]:
        """A superset of the words within `distance` edits (OSA), in the order of the vocabulary."""
        from rapidfuzz.distance import DamerauLevenshtein

        characters, bigrams = signatures([word])
        signature = (characters[0], bigrams[0])
        found: list[int] = []
        waiting = [self._root]
        while waiting:
            reference = waiting.pop()
            if reference < 0:
                rows = self._buckets[~reference]
                rows = rows[np.abs(self._lengths[rows] - len(word)) <= distance]
                near = may_match(signature, self._characters[rows], self._bigrams[rows], distance)
                found.extend(rows[near].tolist())
                continue
            pivot = self._pivots[reference]
            apart = DamerauLevenshtein.distance(word, self.words[pivot])
            if apart <= distance:
                found.append(pivot)
            distances, references = self._children[reference]
            first = int(np.searchsorted(distances, apart - distance, "left"))
            last = int(np.searchsorted(distances, apart + distance, "right"))
            waiting.extend(references[first:last])
        return [self.words[row] for row in sorted(found)]

    def _build(self, rows: NDArray[np.int64]) -> int:
        """The subtree of these words: a node number, or the complement of a bucket number."""
        from rapidfuzz.distance import DamerauLevenshtein
        from rapidfuzz.process import cdist

        root = [0]
        pending = [(rows, root, 0)]  # words, and the list entry which is to refer to their subtree
        while pending:
            rows, references, slot = pending.pop()
            if len(rows) <= self._bucket and (self._bucket > 1 or len(rows) == 0):
                references[slot] = ~len(self._buckets)
                self._buckets.append(rows)
                continue
            references[slot] = len(self._pivots)
            pivot, rest = int(rows[0]), rows[1:]
            others = [self.words[row] for row in rest.tolist()]
            apart = cdist([self.words[pivot]], others, scorer=DamerauLevenshtein.distance, dtype=np.int32)[0]
            order = np.argsort(apart, kind="stable")
            distances, starts = np.unique(apart[order], return_index=True)
            children = [0] * len(distances)
            groups = np.split(rest[order], starts[1:]) if len(distances) else []
            pending.extend((group, children, place) for place, group in enumerate(groups))
            self._pivots.append(pivot)
            self._children.append((distances.astype(np.int64), children))
        return root[0]
