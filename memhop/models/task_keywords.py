"""Keywords by a model: words that are in the text, or they are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from memhop.common.errors import InvalidRequest
from memhop.models import fence
from memhop.models.asking import asked
from memhop.models.material import Answer, Said
from memhop.models.offline_keywords import MAX_KEYWORDS
from memhop.models.words import content, words

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel

MOST_TEXTS: Final = 20  # in one question
_MOST_WORDS: Final = 12  # of a keyword; characters, where it is Chinese
_TOKENS_EACH: Final = 120

_Alias = Annotated[str, msgspec.Meta(max_length=16)]
_Keyword = Annotated[str, msgspec.Meta(max_length=80)]


class _Item(msgspec.Struct):
    id: _Alias
    keywords: Annotated[list[_Keyword], msgspec.Meta(max_length=30)]


class Reply(msgspec.Struct):
    items: Annotated[list[_Item], msgspec.Meta(max_length=2 * MOST_TEXTS)]


def keywords(chat: ChatModel, texts: Sequence[Said], limit: int = 12) -> Answer[dict[str, tuple[str, ...]]]:
    """Keywords of each text by its id, most telling first, at most `limit` (1..100); texts without any are left out.

    Each is a word or phrase of the text as the text has it, but for case and the form of a word. One question for about
    20 texts or 12,000 characters; of a longer text the first 3,000 characters are shown.

    Raises:
        ChatError: the model cannot be used. A reply that does not do is counted in `refused`.
        InvalidRequest: `limit` out of range.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_KEYWORDS:
        raise InvalidRequest(f"{limit!r} keywords", field="limit", allowed=f"1..{MAX_KEYWORDS}")
    found: dict[str, tuple[str, ...]] = {}
    refused: Counter[str] = Counter()
    for part in fence.portions(list(map(fence.size, texts)), most_items=MOST_TEXTS):
        user, aliases = fence.messages(texts[part.start : part.stop])
        reply = asked(chat, "keywords", user, Reply, 200 + _TOKENS_EACH * len(part), refused)
        for item in reply.items if reply else ():
            said = aliases.get(item.id)
            if said is None:
                refused["unknown id"] += 1
            elif said.id in found:
                refused["given twice"] += 1
            elif kept := in_text(item.keywords, [said], refused)[:limit]:
                found[said.id] = kept
    return Answer(found, refused)


def in_text(keywords: Sequence[str], said: Sequence[Said], refused: Counter[str]) -> tuple[str, ...]:
    """The keywords that the messages have, each once; others are counted."""
    text = " ".join(fence.spoken(one) for one in said)
    folded = " ".join(text.casefold().split())
    there = {*words(text), *content(text)}
    kept: dict[str, str] = {}
    for keyword in map(fence.line, keywords):
        if not keyword:
            refused["empty"] += 1
        elif len(words(keyword)) > _MOST_WORDS:
            refused["a sentence"] += 1
        elif keyword.casefold() in folded or there.issuperset(content(keyword) or [""]):
            kept.setdefault(keyword.casefold(), keyword)
        else:
            refused["not in its text"] += 1
    return tuple(kept.values())
