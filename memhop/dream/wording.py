"""What scenes are about, in words: how telling each term is, and which tell most.

A term is worth tf * idf ** rarity in a scene, idf being that of recall. For the scene's name, `rarity` is 1: it should
tell it from others. For what it shares with others it is 1/2: with 1, two scenes in a hundred of the development half
of LoCoMo have a Jaccard of 0.15, with 1/2 seventeen, and Jaccard tells as much about which two answer one question.
Terms of a speaker's name are left out: two people call each other by name in every scene.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memhop.index.tokenizer import query_terms, tokenize
from memhop.repo.record import REPEATS

if TYPE_CHECKING:
    from memhop.repo.l4_archive import Message
    from memhop.repo.store import Store

_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_READ_CHARS = 4_000  # of one message: a pasted log must not decide what a scene is about
_SHORTEST = 2  # characters of a term that tells something


class Wording:
    """The worth of terms in one memory, as it is when a term is first asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._idf: dict[str, float] = {}

    def counted(self, messages: Iterable[Message]) -> Counter[str]:
        """How often each telling term comes in some messages."""
        counts: Counter[str] = Counter()
        names: set[str] = set()
        for message in messages:
            counts.update(query_terms(message.text[:_READ_CHARS]))
            names.add(message.speaker)
        for name in names:
            for term in tokenize(name):
                counts.pop(term, None)
        for term in [term for term in counts if len(term) < _SHORTEST or not any(map(str.isalpha, term))]:
            del counts[term]
        return counts

    def top(self, counts: Counter[str], limit: int, *, rarity: float = 1.0) -> list[str]:
        """The terms that tell most, best first, equal ones in the order of the alphabet."""
        self._look_up(counts)
        worth = {term: count * self._idf[term] ** rarity for term, count in counts.items()}
        return sorted((term for term in worth if worth[term]), key=lambda term: (-worth[term], term))[:limit]

    def _look_up(self, terms: Iterable[str]) -> None:
        missing = sorted(set(terms) - self._idf.keys())
        if not missing:
            return
        with self._store.lock:
            views = self._store.views
            first = views.units.live & ((views.units.column("flags") & REPEATS) == 0)
            for found in views.bm25.postings(missing, first, of="said first"):
                # What nobody wrote so was cut differently in its surroundings, and tells nothing.
                self._idf[found.term] = found.idf if found.frequency else 0.0


def spelt(terms: Sequence[str], messages: Iterable[Message]) -> tuple[str, ...]:
    """Each term as it is mostly written in the messages; the term itself where no single word gives it."""
    written: dict[str, Counter[str]] = {term: Counter() for term in terms}
    known: dict[str, list[str]] = {}
    for message in messages:
        for word in _WORD.findall(message.text[:_READ_CHARS]):
            if word not in known:
                known[word] = [term for term in tokenize(word) if term in written] if len(word) <= 64 else []
            for term in known[word]:
                written[term][word] += 1
    return tuple(
        min(words.items(), key=lambda pair: (-pair[1], pair[0]))[0] if (words := written[term]) else term
        for term in terms
    )
