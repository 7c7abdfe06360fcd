"""Numbers for terms, and the terms of what stands between blanks, kept from text to text.

Words repeat. No token holds a blank and no rule of the tokenizer looks past one, so a text has the terms of its pieces
one after the other, and a piece that was met before is one look into a dictionary, whose answer is ready to be
appended: with `the` as term 0 and `main.py` as the terms 1, 2, 3

    the            00000000
    main.py        01000000 02000000 03000000

Looking up the terms of a piece and then the number of each costs twice as much.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from memhop.index.tokenizer import MAX_TERM, last_resort, piece_terms, pieces_of

MOST_PIECES: Final = 1 << 16  # then those kept are forgotten
MOST_TERMS: Final = 1 << 17  # then it is time for another lexicon


class Lexicon:
    """One number for each term, from 0 on, in order of arrival. One thread at a time."""

    def __init__(self) -> None:
        self.names: list[str] = []  # by number
        self._numbers: dict[str, int] = {}
        self._pieces = _Pieces(self)

    @property
    def full(self) -> bool:
        """Whether to begin another one, so that memory does not grow with all that was ever said."""
        return len(self.names) >= MOST_TERMS

    def number(self, term: str) -> int | None:
        """The number of a term; None where it was not met."""
        return self._numbers.get(term)

    def numbers(self, terms: Iterable[str]) -> bytes:
        """The numbers of terms, new ones taken in; four bytes each, as `array("I")` has them."""
        found = array("I")
        for term in terms:
            number = self._numbers.get(term)
            if number is None:
                number = self._numbers[term] = len(self.names)
                self.names.append(term)
            found.append(number)
        return found.tobytes()

    def numbers_of(self, text: str) -> bytes:
        """The same of `tokenize(text)`. Cost: 0.1 us per word that was met before, 1 us where not."""
        return b"".join(map(self._pieces.__getitem__, pieces_of(text))) or self.numbers(last_resort(text))

    def terms(self, numbers: bytes) -> set[str]:
        """Each of the terms once."""
        return {self.names[number] for number in memoryview(numbers).cast("I")}


class _Pieces(dict[str, bytes]):
    """Long pieces, such as whole sentences of scripts without blanks, are not kept. Full, it begins anew."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def __missing__(self, piece: str) -> bytes:
        numbers = self._lexicon.numbers(piece_terms(piece))
        if len(piece) <= MAX_TERM:
            if len(self) >= MOST_PIECES:
                self.clear()
            self[piece] = numbers
        return numbers
