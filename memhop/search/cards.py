"""Capability cards that fit a text, those of the file and those that come with MemHop ranked together.

A card says itself when it is wanted: its trigger is a list of phrases, separated by commas, semicolons or line ends,
and a text that holds all words of one of them in one sentence calls for the card. A text can also fit without: it
shares two terms with the card that are three tenths of what it says, or one that is half of it. How well a card fits is

    words = sum of idf(t) * strength(t) over the terms t they share / sum of idf(t) over all terms of the text
    trigger = n / (n + 1) / 2, where n is the number of words of the longest phrase that is there
    usage = (words + trigger) * 0.1 * min(1, log(1 + uses) / log(21)) * (2 * success rate - 1)
    score = words + trigger + usage

where strength is that of BM25, tf / (tf + k1 * (1 - b + b * length / usual length)), with tf = occurrences times the
weight of the field, and idf is over all cards: a term that many hold says little, one that none holds is among what
the text says. A card of the file is looked at if it holds any of the terms.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import KeysView, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memhop.repo.builtin import builtin_cards
from memhop.repo.l5_capability import Capability, capability_id
from memhop.repo.record import Kind, Layer, all_of

if TYPE_CHECKING:
    from memhop.repo.store import Store
    from memhop.search.recall import Recalled

NAME, TRIGGER, SUMMARY, RESOURCES = 4.0, 2.0, 1.0, 0.5  # weights of the fields
K1, B, USUAL_TERMS = 0.9, 0.4, 60
ENOUGH_TERMS, LEAST_SHARE = 2, 0.3
FULL_SHARE = 0.5
SENTENCE_CHARS = 4_000  # of a text that are looked through for phrases
USAGE, USAGE_FULL = 0.1, math.log1p(20)
CANDIDATES = 50  # cards of the file that are read, those with most of the text's idf

_PHRASE_END = re.compile(r"[,;，；、。\n]+")
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|[。！？；\n]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")


class Match(NamedTuple):
    """A card and how well it fits. `parts` add up to `score`; `terms` are those it shares with the text."""

    card: Capability
    score: float
    parts: dict[str, float]
    terms: tuple[str, ...]


def language_of(text: str) -> str | None:
    """The language in which cards are shown for a text: Chinese if it has Han characters; None: as written."""
    return "zh" if _HAN.search(text) else None


def offered(store: Store, recalled: Recalled, limit: int) -> tuple[Capability, ...]:
    """Cards for a reply to the question of a recall; each counts as used once, as if it had been recalled."""
    from memhop.search.recall import USED_HITS

    found = matching(store, recalled.query.text, limit=limit, terms=recalled.query.terms)
    counted = {hit.id for hit in recalled.hits[:USED_HITS]}
    for match in found:
        if match.card.id and match.card.id not in counted:
            store.count_use(match.card.id)
    return tuple(match.card for match in found)


def matching(store: Store, text: str, *, limit: int, terms: Sequence[str] | None = None) -> list[Match]:
    """The active cards that fit a text, best first, equal ones by name.

    Args:
        terms: Those of the text, if they are known already.
    """
    if terms is None:
        from memhop.index.tokenizer import query_terms

        terms = tuple(dict.fromkeys(query_terms(text)))
    whole = _HAN.search(text) is not None  # else Chinese words cannot match, and need not load a dictionary
    with store.lock:
        stored, frequency, count = _stored(store, terms)
        builtin = [card for card in builtin_cards() if store.file.locate(capability_id(card.name)) is None]
    held = [_held(card, whole) for card in builtin]
    frequency.update(term for one in held for term in set(terms) & one.weights.keys())
    idf = {term: _idf(count + len(builtin), frequency[term]) for term in terms}
    candidates = [*zip(builtin, held, strict=True), *((card, _held(card, whole)) for card in stored)]
    said = _sentences(text)
    found = [match for card, one in candidates if (match := _match(card, one, idf, said)) is not None]
    return sorted(found, key=lambda match: (-match.score, match.card.name))[:limit]


def _sentences(text: str) -> list[frozenset[str]]:
    """The terms of each sentence."""
    from memhop.index.tokenizer import tokenize

    return [frozenset(tokenize(sentence)) for sentence in _SENTENCE_END.split(text[:SENTENCE_CHARS])]


def _stored(store: Store, terms: Sequence[str]) -> tuple[list[Capability], Counter[str], int]:
    """Active cards of the file that share most with the terms, how many hold each term, and how many there are."""
    views = store.views
    frequency: Counter[str] = Counter()
    if not views.groups.count(all_of(Kind.CAPABILITY)):
        return [], frequency, 0
    units = views.units
    mask = units.live & (units.column("layer") == Layer.CAPABILITIES)
    holders: dict[int, list[str]] = {}
    for one in views.bm25.postings(terms, units.live):
        docs = one.read(mask)[0].tolist()
        frequency[one.term] = len(docs)
        for doc in docs:
            holders.setdefault(doc, []).append(one.term)
    count = int(mask.sum())
    shares = {doc: sum(_idf(count, frequency[term]) for term in held) for doc, held in holders.items()}
    best = sorted(shares, key=lambda doc: (-shares[doc], int(units.ids[doc])))[:CANDIDATES]
    cards = (store.readable(Capability, int(units.ids[doc])) for doc in best)
    return [card for card in cards if card is not None], frequency, count


def _idf(cards: int, frequency: int) -> float:
    return math.log(1 + (cards - frequency + 0.5) / (frequency + 0.5))


def _match(card: Capability, held: _Held, idf: dict[str, float], said: list[frozenset[str]]) -> Match | None:
    shared = tuple(term for term in idf if term in held.weights)
    mass = math.fsum(idf.values())
    share = math.fsum(idf[term] for term in shared) / mass if mass else 0.0
    called = max((len(phrase) for phrase in held.phrases if any(phrase <= sentence for sentence in said)), default=0)
    if not called and share < (LEAST_SHARE if len(shared) >= ENOUGH_TERMS else FULL_SHARE):
        return None
    against = K1 * (1 - B + B * held.length / USUAL_TERMS)
    name = words = 0.0
    for term in shared:
        weight = held.weights[term]
        worth = idf[term] / mass * weight / (weight + against)
        named = NAME * held.name[term] / weight
        name += worth * named
        words += worth * (1 - named)
    trigger = called / (called + 1) / 2
    rate = card.success_rate
    often = min(1.0, math.log1p(card.trigger_count) / USAGE_FULL)
    usage = 0.0 if rate is None else (name + words + trigger) * USAGE * often * (2 * rate - 1)
    parts = {"name": name, "words": words, "trigger": trigger, "usage": usage}
    return Match(card, math.fsum(parts.values()), {part: value for part, value in parts.items() if value}, shared)


class _Held(NamedTuple):
    """The terms of a card: how often each is there, times the weight of its field; of the name; of each phrase of its
    trigger; and how many there are."""

    weights: dict[str, float]
    name: Counter[str]
    phrases: list[KeysView[str]]
    length: int


def _held(card: Capability, whole: bool) -> _Held:
    """`whole`: words in Han characters too."""
    translations = card.translations.values()
    fields: list[tuple[float, list[str]]] = [
        (NAME, [card.name]),
        (TRIGGER, [card.trigger, *(words.trigger for words in translations)]),
        (SUMMARY, [card.summary, *(words.summary for words in translations)]),
        (RESOURCES, [text for resource in card.resources for text in (resource.name, resource.description)]),
        (RESOURCES, [text for words in translations for text in words.resources.values()]),
    ]
    weights: dict[str, float] = {}
    length = 0
    for weight, texts in fields:
        for text in texts:
            for term, times in _terms(text, whole).items():
                weights[term] = weights.get(term, 0.0) + weight * times
                length += times
    phrases = [_terms(phrase, whole).keys() for text in fields[1][1] for phrase in _PHRASE_END.split(text)]
    return _Held(weights, _terms(card.name, whole), [phrase for phrase in phrases if phrase], length)


@lru_cache(maxsize=1 << 12)
def _terms(text: str, whole: bool) -> Counter[str]:
    from memhop.index.tokenizer import tokenize

    return Counter(tokenize(text if whole else _HAN.sub(" ", text)))
