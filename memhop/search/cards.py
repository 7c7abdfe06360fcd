"""Capability cards that come with MemHop: read-only, never written to files.

They are the JSON files of `capabilities/` (format `memhop-capability/v2`), which the wheel carries as
`memhop/capabilities/`.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.common.errors import ConfigError
from memhop.repo.l5_capability import CARD_FORMAT, Capability, capability_id
from memhop.repo.record import Layer

if TYPE_CHECKING:
    from memhop.repo.store import Store
    from memhop.search.recall import Recalled


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


@cache
def builtin_cards() -> tuple[Capability, ...]:
    """All built-in cards, by name. `id` is 0: they are in no file."""
    folder = _folder()
    return tuple(_load(path) for path in sorted(folder.glob("*.json")))


def _folder() -> Path:
    package = Path(__file__).resolve().parent.parent
    for candidate in (package / "capabilities", package.parent / "capabilities"):
        if candidate.is_dir():
            return candidate
    raise ConfigError("the built-in capability cards are missing", hint="reinstall memhop")


def _load(path: Path) -> Capability:
    data = json.loads(path.read_text("utf-8"))
    if data.get("format") != CARD_FORMAT:
        raise ConfigError(f"{path.name} is not a card", field="format", allowed=CARD_FORMAT)
    return Capability(
        name=data["name"],
        type=data["type"],
        version=data["version"],
        summary=data["summary"],
        trigger=data["trigger"],
        resources=tuple(data.get("resources", ())),
        workflow=data.get("workflow", {}),
        origin="builtin",
    )


def matching_cards(store: Store, recalled: Recalled, limit: int) -> tuple[Capability, ...]:
    """Active cards that fit a question: those among its hits, then built-in ones that share telling terms with it.

    A built-in card fits when it holds at least two of the question's terms, or its only one; more shared terms first,
    then by name.
    """
    found = [hit.record for hit in recalled.hits if hit.layer is Layer.CAPABILITIES]
    cards = [record for record in found if isinstance(record, Capability)]
    terms = set(recalled.query.terms)
    plain = recalled.query.text.isascii()  # then Han triggers cannot match, and need not load a dictionary
    ranked = []
    for card in builtin_cards():
        if store.file.locate(capability_id(card.name)) is not None:
            continue  # a card of the file by this name takes its place
        words = f"{card.name} {card.summary} {card.trigger}"
        shared = len(terms & _terms(_NOT_ASCII.sub(" ", words) if plain else words))
        if shared >= min(2, max(1, len(terms))):
            ranked.append((-shared, card.name, card))
    return (*cards, *(card for _, _, card in sorted(ranked)))[:limit]


@cache
def _terms(text: str) -> frozenset[str]:
    from memhop.index.tokenizer import tokenize

    return frozenset(tokenize(text))
