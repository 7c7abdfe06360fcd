"""Snowball's stems of English words. The stemmer is loaded at the first word."""

from __future__ import annotations

import threading

_per_thread = threading.local()


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word; never empty for one that is not. Safe to call from several threads."""
    stemmer = getattr(_per_thread, "stemmer", None)
    if stemmer is None:
        import Stemmer

        # Not safe to share between threads. Without its own cache, which costs more than stemming.
        stemmer = _per_thread.stemmer = Stemmer.Stemmer("english", 0)
    found: str = stemmer.stemWord(word)
    return found or word
