"""Putting what was said in front of a model as data that cannot pass for instructions.

Each text stands between markers which carry a nonce, a digest of all texts of the question. A text cannot hold the
digest of itself, so it cannot end its own fence; if it did by accident, another nonce is taken. The system message
says that nothing between markers is to be obeyed. That is a request and no guarantee: what makes a reply harmless is
that it is checked, and that it has no field with which to do harm.

Ids stay at home. The model sees aliases (m1, m2 ...), shorter to echo and impossible to guess from an id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

from memhop.common.clock import to_iso
from memhop.models.material import Said

CALL_CHARS: Final = 12_000  # of texts and what fences them in one question: 9,000 tokens where they are Chinese
MARKUP_CHARS: Final = 70  # about what fences one text
TEXT_CHARS: Final = 3_000  # of one text; a longer one is shown by its beginning
_NONCE_CHARS: Final = 12


class Shown(NamedTuple):
    """One text to be shown: a label of our own making, and what was said."""

    label: str
    text: str


@cache
def prompt(task: str) -> str:
    """The system message of a task."""
    return resources.files("memhop.models").joinpath("prompts", f"{task}.md").read_text("utf-8")


def fenced(shown: Sequence[Shown], most: int = TEXT_CHARS) -> str:
    """Texts between markers, each under its label.

    Args:
        most: Characters of each text that are shown; the label of a longer one says how much is missing.
    """
    nonce = _nonce([one.text for one in shown])
    parts = []
    for label, text in shown:
        cut = f" (the first {most} of {len(text)} characters)" if len(text) > most else ""
        parts.append(f"[{label}]{cut}\n<<{nonce}\n{text[:most]}\n{nonce}>>")
    return "\n\n".join(parts)


def messages(said: Sequence[Said], most: int = TEXT_CHARS) -> tuple[str, dict[str, Said]]:
    """Messages between markers, and which is meant by m1, m2 ..."""
    aliases = {f"m{number}": one for number, one in enumerate(said, 1)}
    shown = [Shown(f"{alias}, {to_iso(one.at)}", spoken(one)) for alias, one in aliases.items()]
    return fenced(shown, most), aliases


def spoken(one: Said) -> str:
    """A message with its speaker, who is as little to be trusted as the text."""
    return f"{one.speaker}: {one.text}" if one.speaker else one.text


def size(said: Said, most: int = TEXT_CHARS) -> int:
    """Characters that a message takes in a question which shows `most` of it."""
    return min(len(spoken(said)), most) + MARKUP_CHARS


def portions(sizes: Sequence[int], most: int = CALL_CHARS, most_items: int = 40) -> Iterator[range]:
    """Runs of items that fit one question, given the characters that each takes; none is empty."""
    start = used = 0
    for place, taken in enumerate(sizes):
        if place > start and (used + taken > most or place - start == most_items):
            yield range(start, place)
            start, used = place, 0
        used += taken
    if start < len(sizes):
        yield range(start, len(sizes))


def line(text: str, most: int = 10_000) -> str:
    """A model's string as one printable line."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:most]


def _nonce(texts: Sequence[str]) -> str:
    whole = "\0".join(texts).encode("utf-8", "replace")
    nonce = ""
    for attempt in range(len(texts) + 1):
        nonce = hashlib.blake2b(whole, digest_size=_NONCE_CHARS // 2, salt=attempt.to_bytes(8, "big")).hexdigest()
        if not any(nonce in text for text in texts):
            break
    return nonce
