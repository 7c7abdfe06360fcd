"""What a model would be asked for, worked out without one. Deterministic, offline, no better than its rules.

Keywords come in three steps, shown on "Ana moved the billing-api to Postgres 16 on 3 May 2024. Ana hates it.":

1. The text becomes a row of terms and breaks. Some terms are found whole, because splitting would spoil them:
   dates, numbers with their unit, addresses, identifiers. Function words and punctuation are breaks.
       Ana moved | billing-api | Postgres 16 | 3 May 2024 | Ana hates
2. Terms between two breaks are a candidate phrase, up to three of them; so is each single term. A word is worth the
   more the more words stand beside it (degree / frequency: Rose et al., "Automatic Keyword Extraction from
   Individual Documents", 2010). A phrase is worth the mean of its words times the root of their number, more if
   it comes often, early, or is of a telling kind (YAKE's signals: Campos et al., 2020).
3. Best first; a phrase that repeats part of a better one is dropped unless it comes more often by itself.
       Postgres 16, Ana, moved, hates, 3 May 2024, billing-api
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from memhop.common import han
from memhop.common.errors import InvalidRequest
from memhop.models.stop_words import CODE_WORDS, STOP_WORDS

MAX_KEYWORDS = 100
READ_CHARS = 100_000
"""Characters of a text that are read; a longer text is represented by its beginning."""

_LONGEST_TERM = 80
_PHRASE_TERMS = 3
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_UNIT = (
    r"(?:%|‰|°[CF]?|(?:[kKMGTP]i?)?[Bb](?:/s|ps)?\b|[munkMG]?(?:s|m|g|W|V|A|l|L|Hz)\b|kHz\b|[GM]Hz\b"
    r"|(?:ms|min|hrs?|km/h|mph|miles?|kg|lbs?|oz|cm|mm|km|sqm|kWh|mAh|px|dpi|fps|rpm|ppm|tokens?"
    r"|(?:second|minute|hour|day|week|month|year|dollar|euro|percent|people|point|page|step|time)s?"
    r"|USD|EUR|GBP|CNY|RMB|JPY)\b"
    r"|[元块万亿岁个年月日天周次人米克斤岁%度]|公里|公斤|小时|分钟|美元|欧元|人民币)"
)
# A letter, or a sign that belongs to the letter before it (combining accents, Devanagari, Thai).
_LETTER = r"(?:[^\W_]|[\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e4e])"
# In order: what is found first is not looked into again. Every repetition before a character that may be missing
# is bounded: without that, a megabyte of "-" or "9," takes minutes, each position being the start of a long try.
_SPECIAL = re.compile(
    "|".join(
        (
            r"(?P<address>\bhttps?://[^\s<>\"'，。；、）)\]]{1,200}"
            r"|(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}\b)",
            rf"(?P<date>\b\d{{4}}-\d\d?-\d\d?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:,?\s\d{{4}})?\b"
            rf"|\b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?\b|\b\d{{1,2}}/\d{{1,2}}/\d{{2,4}}\b"
            r"|(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]|\d{4}年(?:\d{1,2}月)?)",
            r"(?P<identifier>(?<![\w.-])(?:"
            r"[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,12}|_{1,2}[A-Za-z][A-Za-z0-9_]{0,60}"  # snake_case
            r"|[a-z][a-z0-9]{1,40}(?:[A-Z][a-z0-9]{1,40}){1,8}|(?:[A-Z][a-z0-9]{1,40}){2,8}"  # camelCase
            r"|(?:[~.]{0,2}/)?[\w-]{1,64}(?:/[\w.-]{1,64}){1,16}"  # a/path.py
            r"|[\w-]{1,64}(?:\.[A-Za-z_][\w-]{0,60}){1,8}(?:\(\))?"  # dotted.name()
            r"|[A-Z][A-Z0-9]{0,20}(?:-[A-Z0-9]{1,20}){0,4}-\d{1,12}(?:-\d{1,12}){0,2}"  # CVE-2024-3094
            r"|v?\d{1,6}(?:\.\d{1,6}){2,5}(?:-?[a-z0-9.]{1,20})?|v\d{1,6}(?:\.\d{1,6}){0,5}"  # versions
            r"|[A-Za-z]{1,10}\+\+|[A-Z]#"  # C++, C#
            r"|--[a-z][a-z0-9-]{0,40})(?![A-Za-z0-9_]))",
            rf"(?P<number>(?<![\w.,-])(?:[$€£¥]\s?\d[\d,]{{0,20}}(?:\.\d{{1,12}})?(?:[kKMB]\b)?"
            rf"|\d[\d,]{{0,20}}(?:\.\d{{1,12}})?\s?{_UNIT}))",
            rf"(?P<han>[{_HAN}]+)",
            r"(?P<kana>[\u30a0-\u30ff\u31f0-\u31ff]{2,})",
            r"(?P<hiragana>[\u3040-\u309f]+)",
            rf"(?P<word>\d+(?:[.,]\d+)+|{_LETTER}+(?:[-'’]{_LETTER}+)*)",
            r"(?P<space>[ \t]+)",
            r"(?P<sentence>[.!?。！？…\n]+)",
            r"(?P<other>.)",
        )
    ),
    re.DOTALL,
)
_BONUS = {"name": 1.6, "identifier": 1.5, "address": 1.3, "date": 1.3, "number": 1.1, "word": 1.0}
_WHOLE = frozenset({"identifier", "address", "date", "number"})
_POSSESSIVE = re.compile(r"['’]s$")


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    kind: str  # a key of _BONUS
    sentence: int
    opens: bool = False  # first word of its sentence, where a capital says nothing
    glued: bool = False  # follows the term before it without a space

    @property
    def key(self) -> str:
        return self.text.casefold()


@dataclass(slots=True)
class _Phrase:
    terms: tuple[_Term, ...]
    count: int = 0
    stands: bool = False  # a candidate even if it comes only once
    spellings: Counter[str] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """The commonest spelling, the earliest of several."""
        return self.spellings.most_common(1)[0][0]


def keywords(text: str, limit: int = 12) -> list[str]:
    """The words and phrases that say what `text` is about, most telling first.

    Names, dates, numbers with units, identifiers and addresses are kept whole and as they are written. Chinese is
    cut by jieba, so its first use costs half a second. Only the first 100,000 characters are read.

    Args:
        text: Any text: prose, Chinese, code, a mixture. Blank, or only emoji and punctuation: [].
        limit: Most keywords to return, 1..100.

    Returns:
        No two keywords that differ only in case.

    Raises:
        InvalidRequest: `limit` out of range.

    Cost: about 0.1 s per 10,000 words of English.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_KEYWORDS:
        raise InvalidRequest(f"{limit!r} keywords", field="limit", allowed=f"1..{MAX_KEYWORDS}")
    runs = _runs(_terms(text[:READ_CHARS]))
    phrases = _phrases(runs)
    worth = _word_worth(runs)
    scores = {key: _score(phrase, worth) for key, phrase in phrases.items()}
    # Ties: the earlier first, dict order being the order of appearance.
    ranked = sorted(phrases, key=lambda key: -scores[key])
    chosen: list[tuple[str, ...]] = []
    for key in ranked:
        if len(chosen) == limit:
            break
        if not any(_repeats(key, other, phrases) for other in chosen):
            chosen.append(key)
    return [phrases[key].text for key in chosen]


def _terms(text: str) -> Iterator[_Term | None]:
    """Terms in order, None where a phrase ends."""
    looks_like_code = len(re.findall(r"[{};=()]", text)) * 25 > len(text)
    stops = STOP_WORDS | CODE_WORDS if looks_like_code else STOP_WORDS
    sentence = 0
    opens = glued = True
    for match in _SPECIAL.finditer(text):
        kind, found = match.lastgroup or "other", match.group()
        if kind == "space":
            glued = False
            continue
        if kind in ("sentence", "other", "hiragana"):  # hiragana alone is mostly particles and endings
            if kind == "sentence":
                sentence += 1
                opens = True
            yield None
            continue
        if kind == "han":
            yield None
            for word in han.cut(found):
                # A single character is mostly a particle, a verb or a measure word.
                yield _Term(word, "word", sentence, glued=True) if len(word) > 1 and word not in stops else None
            yield None
        elif kind == "kana":
            yield from (None, _Term(found[:_LONGEST_TERM], "word", sentence), None)
        elif kind in _WHOLE:
            yield from (None, _Term(found[:_LONGEST_TERM], kind, sentence), None)
        else:
            word = _POSSESSIVE.sub("", found)
            telling = word.casefold() not in stops and (len(word) > 1 or word.isdigit())
            named = word[0].isupper() and (not opens or word[1:] != word[1:].lower())
            kind = "name" if named else "word"
            yield _Term(word[:_LONGEST_TERM], kind, sentence, opens, glued) if telling else None
            if word != found:
                yield None
        opens, glued = False, True


def _runs(terms: Iterator[_Term | None]) -> list[list[_Term]]:
    """Terms between two breaks. A capital that opens a sentence makes a name if the word is one elsewhere."""
    kept = list(terms)
    names = {term.key for term in kept if term is not None and term.kind == "name"}
    lowered = {term.text for term in kept if term is not None and term.text.islower()}
    runs = []
    for is_break, group in groupby(kept, key=lambda term: term is None):
        if is_break:
            continue
        runs.append(
            [
                _Term(term.text, "name", term.sentence, term.opens, term.glued)
                if term.opens and term.text[0].isupper() and term.key in names - lowered
                else term
                for term in group
                if term is not None
            ]
        )
    return runs


def _phrases(runs: list[list[_Term]]) -> dict[tuple[str, ...], _Phrase]:
    """Candidates by the keys of their terms, in order of appearance.

    Single terms, rows of names and short runs are candidates at once; another row of terms is one if it comes
    twice.
    """
    phrases: dict[tuple[str, ...], _Phrase] = {}
    for run in runs:
        names = _name_rows(run)
        longest = 2 if _is_han(run[0].text) else _PHRASE_TERMS
        for start in range(len(run)):
            for end in range(start + 1, min(start + longest, len(run)) + 1):
                part = tuple(run[start:end])
                phrase = phrases.setdefault(tuple(term.key for term in part), _Phrase(part))
                phrase.count += 1
                phrase.spellings[_join(part)] += 1
                # "Ana moved": whether the capital is a name or only the start of the sentence cannot be known,
                # unless a name follows ("Rachel Green").
                unsure = run[0].kind == "word" and run[0].opens and run[0].text[0].isupper()
                unsure &= len(run) == 1 or run[1].kind != "name"
                whole = len(part) == len(run) and longest == _PHRASE_TERMS and not unsure
                phrase.stands |= whole or len(part) == 1 or (start, end) in names
    return {
        key: phrase
        for key, phrase in phrases.items()
        if (phrase.stands or phrase.count > 1) and any(len(part) > 3 or not part.isdigit() for part in key)
    }


def _name_rows(run: list[_Term]) -> set[tuple[int, int]]:
    """Start and end of each row of names within a run."""
    rows = set()
    start = 0
    for kind, group in groupby(run, key=lambda term: term.kind):
        end = start + len(list(group))
        if kind == "name":
            rows.add((start, end))
        start = end
    return rows


def _word_worth(runs: list[list[_Term]]) -> dict[str, float]:
    """RAKE's degree / frequency, a long run counting as no more than a phrase."""
    degree: Counter[str] = Counter()
    frequency: Counter[str] = Counter()
    for run in runs:
        for term in run:
            degree[term.key] += min(len(run), _PHRASE_TERMS)
            frequency[term.key] += 1
    return {key: degree[key] / frequency[key] for key in frequency}


def _score(phrase: _Phrase, worth: dict[str, float]) -> float:
    terms = phrase.terms
    mean = sum(worth[term.key] * _BONUS[term.kind] for term in terms) / len(terms)
    often = 1.0 + math.log(phrase.count)
    early = 1.0 + 1.0 / (1.0 + terms[0].sentence)
    return mean * math.sqrt(len(terms)) * often * early


def _repeats(key: tuple[str, ...], better: tuple[str, ...], phrases: dict[tuple[str, ...], _Phrase]) -> bool:
    """Whether `key` lies within `better` and never comes without it, or only adds words to it now and then."""
    if len(key) <= len(better):
        return _part_of(key, better) and phrases[key].count <= phrases[better].count
    return _part_of(better, key) and phrases[key].count < phrases[better].count


def _part_of(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    width = len(short)
    return any(long[at : at + width] == short for at in range(len(long) - width + 1))


def _join(terms: tuple[_Term, ...]) -> str:
    joined = terms[0].text
    for before, term in pairwise(terms):
        joined += term.text if term.glued and _is_han(before.text) else f" {term.text}"
    return joined


def _is_han(text: str) -> bool:
    return re.match(rf"[{_HAN}]", text) is not None
