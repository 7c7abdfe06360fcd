"""Made-up text of any length for the speed benches, the same on every machine.

A word of rank r occurs in proportion to 1 / r^1.07 (Zipf's law, as in real text). The first ranks are the function
words of English, so that they make up about half of all words, as they do where people write: an engine that has to
walk through the postings of "the" pays for it here too. The others are pronounceable syllables, which no stemmer or
segmenter knows by heart. Texts have 22 words on average.

The same texts come as notes (a hundred projects, one per cent of the notes each) and as messages (sessions of 25 turns
between two speakers). Questions are asked as people ask, function words included, about words that stand together in
one of the first thousand texts: they have an answer in a file of any size, and are the same questions for all of them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import numpy as np

import memhop

Kind = Literal["notes", "messages"]
T = TypeVar("T")

SEED: Final = 20_261_130
VOCABULARY: Final = 100_000
MEAN_WORDS: Final = 22
ZIPF: Final = 1.07
PROJECTS: Final = 100
SESSION_TURNS: Final = 25
ASKED_ABOUT: Final = 1_000  # texts
BATCH: Final = 1_000  # of one commit when a file is filled
_BLOCK: Final = 10_000  # texts that are drawn at once; part of what a seed means
_EPOCH_MS: Final = 1_600_000_000_000
_CONSONANTS, _VOWELS = "bcdfghklmnprstvwz", "aeiou"
_SPEAKERS: Final = ("Ada", "Ben", "Cleo", "Dev", "Eva", "Finn", "Gus", "Hana")

FUNCTION_WORDS: Final[tuple[str, ...]] = tuple(
    """the of and to a in that is was it for on with as be at by this had not are but from or have an they which one you
    were her all she there would their we him been has when who will more no if out so said what up its about into than
    them can only other new some could time these two may then do first any my now such like our over man me even most
    made after also did many before must through back years where much your way well down should because each just those
    how too""".split()
)
"""The most frequent words of English text, in falling order."""

QUESTIONS: Final[tuple[str, ...]] = (
    "what did we say about the {}",
    "where is the {} of the {}",
    "when was the {} {} last changed",
    "how do I get the {} to work with {}",
    "who told us that {} is for {} and {}",
    "why did the {} not {} after the {}",
    "which {} should we use for the {} {}",
    "what is {} {}",
    "do you know if {} was ever {} by {}",
    "what about {} and {} in the {} {}",
)
"""4 to 10 words each; what stands in the braces is taken from one text."""


@lru_cache(maxsize=2)
def vocabulary(size: int = VOCABULARY) -> tuple[str, ...]:
    """`size` distinct words in order of rank, the function words first. Cost: half a second, once."""
    chance = np.random.default_rng(SEED)
    words = dict.fromkeys(FUNCTION_WORDS)
    while len(words) < size:
        syllables = int(chance.integers(2, 5))
        letters = [
            _CONSONANTS[consonant] + _VOWELS[vowel]
            for consonant, vowel in zip(
                chance.integers(0, 17, syllables), chance.integers(0, 5, syllables), strict=True
            )
        ]
        last = int(chance.integers(0, 34))
        words["".join(letters) + _CONSONANTS[last : last + 1]] = None
    return tuple(words)[:size]


def texts(count: int) -> Iterator[str]:
    """The first `count` texts. Cost: about 10 us each."""
    words = np.array(vocabulary())
    chance = np.random.default_rng(SEED + 1)
    shares = 1 / np.arange(1, len(words) + 1) ** ZIPF
    reach = np.cumsum(shares / shares.sum())
    for start in range(0, count, _BLOCK):
        lengths = np.clip(chance.poisson(MEAN_WORDS, _BLOCK), 4, 80)
        ranks = np.minimum(np.searchsorted(reach, chance.random(lengths.sum())), len(words) - 1)
        drawn, at = words[ranks], 0
        for length in lengths[: count - start].tolist():
            yield " ".join(drawn[at : at + length])
            at += length


def notes(count: int) -> Iterator[dict[str, Any]]:
    """Arguments of `DB.remember`: text i is in project i modulo 100, and a minute later than the one before."""
    for index, text in enumerate(texts(count)):
        yield {"text": text, "project": f"p{index % PROJECTS}", "at": _EPOCH_MS + index * 60_000}


def messages(count: int) -> Iterator[dict[str, Any]]:
    """Items of `DB.archive.append_many`: two speakers take turns, 25 turns a session."""
    for index, text in enumerate(texts(count)):
        session, turn = divmod(index, SESSION_TURNS)
        yield {
            "text": text,
            "speaker": _SPEAKERS[(session + 3 * (turn % 2)) % len(_SPEAKERS)],
            "session": f"session {session}",
            "at": _EPOCH_MS + index * 60_000,
        }


def questions(count: int) -> list[str]:
    """`count` questions. Each asks about words of one text."""
    chance = np.random.default_rng(SEED + 2)
    common = frozenset(FUNCTION_WORDS)
    sources = [[word for word in text.split() if word not in common] for text in texts(ASKED_ABOUT)]
    asked: list[str] = []
    while len(asked) < count:
        pattern = QUESTIONS[len(asked) % len(QUESTIONS)]
        words = list(dict.fromkeys(sources[int(chance.integers(len(sources)))]))
        needed = pattern.count("{}")
        if len(words) >= needed:
            asked.append(pattern.format(*chance.permutation(words)[:needed]))
    return asked


@dataclass(frozen=True, slots=True)
class Filled:
    """A checkpointed memory with so many notes or messages."""

    path: Path
    size: int
    raw_bytes: int
    """UTF-8 bytes of the texts alone."""
    file_bytes: int
    cpu_seconds: float
    """What filling it took, text making included."""


def filled(folder: Path, kind: Kind, size: int) -> Filled:
    """The memory of this kind and size in `folder`; filled if it is not there. Cost: see `Filled.cpu_seconds`."""
    path = folder / f"{kind}-{size}.meh"
    sidecar = path.with_suffix(".json")
    if path.exists() and sidecar.exists():
        return Filled(path=path, **json.loads(sidecar.read_text("utf-8")))
    path.unlink(missing_ok=True)
    start, raw = time.process_time(), 0
    with memhop.DB.open(path, durability="none") as db:
        write = db.remember_many if kind == "notes" else db.archive.append_many
        for batch in batches(notes(size) if kind == "notes" else messages(size), BATCH):
            raw += sum(len(item["text"].encode()) for item in batch)
            write(batch)
        db.checkpoint()
    found = Filled(path, size, raw, os.path.getsize(path), round(time.process_time() - start, 2))
    facts = {name: value for name, value in asdict(found).items() if name != "path"}
    sidecar.write_text(json.dumps(facts), "utf-8")
    return found


def batches(items: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    """The items in lists of `size`, the last one shorter."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch
