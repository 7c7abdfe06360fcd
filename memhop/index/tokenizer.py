"""Text to index terms, in any language, for any string.

The steps, with one text carried through: `Read src/main.py: 我喜歡貓 🎉`

1. NFKC. Invisible characters inside words are removed, long piles of combining marks are cut.
2. One regular expression walks over the text and finds, from left to right,
   - *words and compounds* of spaced scripts: `Read`, `src/main.py`
   - *runs* of one unspaced script: `我喜歡貓`
   - *pictographs*, one at a time: `🎉`; and *marks between blanks*, as in `a -> b`.
3. Each gives terms:
   - a plain word its casefolded form, Snowball-stemmed when it is ASCII letters: `read`. A word with accents also
     gives the form without them;
   - a compound the whole, each segment between strong joiners, each part, and the humps of camelCase:
     `src/main.py` `src` `main.py` `main` `py`;
   - a run its characters and character bigrams, and for Han also the dictionary words of two characters or more.

**Queries** go the same way, but stop words are left out, and of an unspaced run only what carries meaning is asked
for: stop words cut a Han run into stretches, a stretch gives its bigrams and dictionary words; single characters are
asked for only where the stretch or a dictionary word is no longer than that. If nothing is left, everything is kept.

Single characters of unspaced scripts are indexed so that `猫` finds 小猫, which no dictionary cuts. Measured on 169
Chinese sentences this doubles their postings (5,564 instead of 2,791, at 6 bytes each) and costs nothing elsewhere;
to find them through the bigrams instead, every such query would have to scan the vocabulary.

What holds for every string (tests/index/test_tokenizer.py): no exception, linear time, at least one term unless
the text is blank, no term longer than 64 characters, and a text is found by each piece of it which is cut between
words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final

from memhop.common.stems import stem as _stem
from memhop.index import scripts
from memhop.index.irregular import FORMS
from memhop.index.stopwords import CHINESE, ENGLISH, JAPANESE

TOKENIZER_VERSION: str  # computed at first use: see __getattr__

MAX_TERM: Final = 64  # characters; longer terms keep their beginning
_RULES: Final = "1"  # raise when the terms of any text change

_LETTER: Final = rf"[^\W_{scripts.UNSPACED}]"
_WORD: Final = rf"(?:{_LETTER}++|[{scripts.MARKS}]++)+"
_JOINER: Final = r"(?:://|::|->|_++|[./\\@:=+&~-]|(?<=\d),(?=\d{3}(?!\d)))"
_COMPOUND: Final = (
    rf"(?P<compound>(?:(?<![\w.\#@$])[.\#@$]|_++)?(?:{_WORD})(?:{_JOINER}{_WORD})*+(?:_++|(?:\+\+?|\#)(?![\w+\#]))?)"
)
_TOKEN: Final = re.compile(
    rf"{_COMPOUND}|(?P<han>[{scripts.HAN}]+)|(?P<run>"
    + "|".join(f"[{script}]+" for script in scripts.SYLLABIC)
    + rf")|(?P<picture>[{scripts.PICTOGRAPHS}])|(?<!\S)(?P<symbols>(?:[^\w\s]|_)+)(?!\S)"
)
_PLAIN: Final = re.compile(rf"{_WORD}")
_VERSION: Final = re.compile(r"[vV](\d+(?:\.\w+)+)")
_STRONG: Final = re.compile(r"://|::|->|[/\\@:=+&~]")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HUMP_BORDER: Final = re.compile(r"[a-z][A-Z0-9]|[A-Z][A-Z][a-z]|[A-Z]\d|\d[A-Za-z]")
_INVISIBLE: Final = re.compile(rf"((?<!\S)[{scripts.IGNORABLE}]+(?!\S))|[{scripts.IGNORABLE}]+")
_MARK_PILE: Final = re.compile(rf"([{scripts.MARKS}]{{32}})[{scripts.MARKS}]+")


def tokenize(text: str) -> list[str]:
    """The index terms of `text`, with repeats, in order of their place.

    Empty only when `text` is blank. Cost: linear; of English about 20 us per 100 characters, of Chinese 300 us; the
    first Han run of two characters or more loads a dictionary (half a second). `lexicon` is faster with words that
    repeat.
    """
    return list(chain.from_iterable(map(piece_terms, pieces_of(text)))) or last_resort(text)


def pieces_of(text: str) -> list[str]:
    """What stands between blanks, normalised. The terms of a text are those of its pieces, one after the other."""
    return _normal(text).split()


def piece_terms(piece: str) -> list[str]:
    """The terms of one piece. Empty where no term is in it; if that is so of all pieces, `last_resort` is the term."""
    if len(piece) <= MAX_TERM and piece.isascii() and piece.isalpha() and (piece.islower() or piece[1:].islower()):
        return [_stem(piece.lower())]  # what the rules below come to for a plain word without humps
    terms: list[str] = []
    for kind, token in _tokens(piece):
        if kind == "compound":
            terms.extend(_compound_terms(token))
        elif kind == "han":
            terms.extend(token)
            terms.extend(_bigrams(token))
            terms.extend(word for word in _dictionary_words(token) if len(word) > 1)
        elif kind == "run":
            terms.extend(token)
            terms.extend(_bigrams(token))
        else:
            terms.append(token[:MAX_TERM])
    return terms


def query_terms(text: str) -> list[str]:
    """The terms to search for: those of `text` without question and function words, with repeats.

    When there are no others, the stop words themselves. Each is among the `tokenize` terms of a text that holds the
    same words, but for dictionary words of Han, which may be cut differently in other surroundings. Cost as `tokenize`.
    """
    kept: list[str] = []
    dropped: list[str] = []
    for kind, token in _tokens(_normal(text)):
        if kind == "compound":
            target = dropped if token.casefold() in ENGLISH else kept
            target.extend(_terms(token))
        elif kind == "han":
            _han_query(token, kept, dropped)
        elif kind == "run":
            target = dropped if token in JAPANESE else kept
            target.extend(_bigrams(token) if len(token) > 1 else token)
        else:
            (kept if kind == "picture" else dropped).append(token[:MAX_TERM])
    return kept or dropped or last_resort(text)


def other_forms(term: str) -> frozenset[str]:
    """The terms of the other forms of an irregular English word, given the term of one; else empty.

    >>> sorted(other_forms("won"))
    ['win']
    """
    return _irregular().get(term, frozenset())


@cache
def _irregular() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for forms in FORMS:
        stems = frozenset(map(_stem, forms))
        for stem in stems:
            table[stem] = table.get(stem, frozenset()) | (stems - {stem})
    return table


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """(group of `_TOKEN`, matched text) of a normalised text, from left to right."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        yield kind, match.group()


def _normal(text: str) -> str:
    if text.isascii():
        return text
    # Canonical ordering is quadratic in the length of a pile of marks, hence the cut comes first.
    text = _MARK_PILE.sub(r"\1", text)
    text = _INVISIBLE.sub(lambda match: match[1] or "", text)
    return unicodedata.normalize("NFKC", text)


def last_resort(text: str) -> list[str]:
    """The term of a text in which no rule finds one: the beginning of the text itself. Empty when it is blank."""
    stripped = text.strip()
    return [stripped[:MAX_TERM]] if stripped else []


def _terms(token: str) -> Sequence[str]:
    return _cached_terms(token) if len(token) <= MAX_TERM else _compound_terms(token)


@lru_cache(maxsize=1 << 10)  # of queries
def _cached_terms(token: str) -> Sequence[str]:
    return _compound_terms(token)


def _compound_terms(token: str) -> Sequence[str]:
    words = _PLAIN.findall(token)
    if len(words) == 1 and len(words[0]) == len(token):
        return _word_terms(token)
    terms = [_folded(token.replace(",", ""))]
    if version := _VERSION.fullmatch(token):
        terms.append(_folded(version[1]))
    segments = _STRONG.split(token)
    if len(segments) > 1:
        terms.extend(_folded(segment) for segment in segments if len(_PLAIN.findall(segment)) > 1)
    for word in words:
        terms.extend(_word_terms(word))
    return terms


def _word_terms(word: str) -> list[str]:
    folded = _folded(word)
    if not folded.isascii():
        plain = _without_accents(folded)
        return [folded, _stem(plain)] if plain.isascii() and plain.isalpha() else [folded]
    terms = [_stem(folded) if folded.isalpha() else folded]
    if _HUMP_BORDER.search(word):
        humps = _HUMP.findall(word)
        # More than one number in a word is a digest or a serial, whose shreds would mean nothing.
        if len(humps) > 1 and sum(hump.isdigit() for hump in humps) <= 1:
            terms.extend(_stem(hump[:MAX_TERM].casefold()) for hump in humps if len(hump) > 1)
    return terms


def _folded(word: str) -> str:
    return word[:MAX_TERM].casefold()[:MAX_TERM]


def _without_accents(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _dictionary_words(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    from memhop.common.han import cut

    return [word[:MAX_TERM] for word in cut(run)]


def _han_query(run: str, kept: list[str], dropped: list[str]) -> None:
    """Cut the run at its stop words; a stretch between them gives its bigrams and words."""
    stretch: list[str] = []
    for word in [*_dictionary_words(run), ""]:
        if word and word not in CHINESE:
            stretch.append(word)
        elif stretch:
            kept.extend(_stretch_terms(stretch))
            stretch.clear()
    dropped.extend(_stretch_terms([run]) if len(run) > 1 else run)


def _stretch_terms(words: list[str]) -> list[str]:
    text = "".join(words)
    if len(text) == 1:
        return [text]
    return _bigrams(text) + words


def __getattr__(name: str) -> Any:
    """`TOKENIZER_VERSION`: names the rules and the stemmer's release; terms of different versions must not meet."""
    if name != "TOKENIZER_VERSION":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import Stemmer

    return f"memhop-{_RULES}+snowball-{Stemmer.version()}"
