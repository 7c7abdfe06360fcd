"""Which scripts a model can read, found from the vocabulary of its tokenizer.

A model gives every text a vector, also a text it has no words for: such a text comes out of single letters, bytes or
"unknown", and its cosines say next to nothing. Most vocabularies hold the letters of many scripts but words of few:

    of 30,522 pieces of MiniLM     26,763 Latin, 488 Han, 186 Kana, 86 Cyrillic, 70 Hangul, …
    of 32,000 pieces of wordllama  25,862 Latin, 2,951 Cyrillic, 700 Han, 136 Kana, 111 Hangul, …

`WORDS` lies between what is an alphabet and what are words. It holds for Han too, where a character is a word: some
2,500 characters make up nearly all of written Chinese, and models of Chinese have more.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

WORDS: Final = 1_000  # pieces of a script from which on a model reads it


def pieces_of(tokenizer: Any) -> list[str]:
    """The vocabulary of a `tokenizers.Tokenizer` as it reads in a text; bytes of half a character become U+FFFD."""
    decoder = tokenizer.decoder
    pieces = tokenizer.get_vocab(with_added_tokens=False)
    return list(pieces) if decoder is None else [decoder.decode([piece]) for piece in pieces]


def scripts_known(pieces: Iterable[str]) -> frozenset[str]:
    """The scripts, as `script_of` names them, of at least `WORDS` pieces, and the one that has most.

    A piece is of the script of its first letter. Cost: 1 us a piece.
    """
    first = (next(filter(str.isalpha, piece), "") for piece in pieces)
    counts = Counter(script_of(letter) for letter in first if letter)
    enough = min(WORDS, max(counts.values(), default=0))  # a small vocabulary has its language too
    return frozenset(script for script, count in counts.items() if count >= enough)


def share_read(text: str, known: frozenset[str]) -> float:
    """How much of a text's letters is of the known scripts, 0..1; 1 where there is no letter.

    A letter counts for as many bytes as it has in UTF-8: one of Han, Kana or Hangul says more than a Latin one.
    """
    letters = Counter(filter(str.isalpha, unicodedata.normalize("NFKC", text)))
    total = read = 0
    for letter, count in letters.items():
        weight = count * len(letter.encode("utf-8", "replace"))
        total += weight
        read += weight * (script_of(letter) in known)
    return read / total if total else 1.0


@lru_cache(maxsize=4096)
def script_of(letter: str) -> str:
    """A letter's script by the first word of its Unicode name: "LATIN", "CJK" (Han), "HIRAGANA"; "" without a name."""
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]
