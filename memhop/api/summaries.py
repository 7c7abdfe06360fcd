"""What a fused topic says without a model: sentences of its messages, word for word, each with where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memhop.common.ids import from_hex, to_hex
from memhop.models.extract import shown, telling
from memhop.models.material import Said

if TYPE_CHECKING:
    from memhop.repo.l4_archive import Message

KEYWORDS = 24  # kept of a fused topic


def summarised(messages: Iterable[Message]) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """The summary of messages in order of time, where each statement ends, and its source; empty if nothing is told.

    See `l2_context.Topic` for the three, and `models/extract.py` for how sentences are chosen.
    """
    turns = [Said(to_hex(one.id), one.at, one.speaker, one.text) for one in messages]
    text = ""
    ends: list[int] = []
    sources: list[int] = []
    for turn, sentence in telling(turns, {}, 1.0):
        text += f"\n{shown(turn.speaker, sentence)}" if text else shown(turn.speaker, sentence)
        ends.append(len(text))
        sources.append(from_hex(turn.id))
    return text, tuple(ends), tuple(sources)
