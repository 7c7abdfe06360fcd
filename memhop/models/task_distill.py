"""What a model reads out of a person's messages. A line without evidence is not a line.

A model has no way to set what a host sets: the names it may give are of five families, and none of them is the host's.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from memhop.models import fence, lexicon_traits
from memhop.models.asking import asked
from memhop.models.guard import unsupported
from memhop.models.material import Answer, Drawn, Said
from memhop.models.offline_distill import AXES, MOST_EVIDENCE, terms

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel

FEWEST_MESSAGES: Final = 3  # that show a mood or a trait
_MESSAGE_CHARS: Final = 600  # of one message that are shown
_MAX_TOKENS: Final = 2_000
_MEASURES: Final = frozenset((*(f"mood.{axis}" for axis in AXES), *(f"trait.{axis}" for axis in lexicon_traits.AXES)))
_WORDS: Final = re.compile(r"(?:preference|fact)\.[^\W_]{1,40}")

_Alias = Annotated[str, msgspec.Meta(max_length=16)]


class _Line(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=64)]
    value: float | Annotated[str, msgspec.Meta(max_length=120)]
    confidence: float
    evidence: Annotated[list[_Alias], msgspec.Meta(max_length=40)]


class Reply(msgspec.Struct):
    lines: Annotated[list[_Line], msgspec.Meta(max_length=40)]


def distill(chat: ChatModel, said: Sequence[Said]) -> Answer[tuple[Drawn, ...]]:
    """Lines about the person who said all this, by name, each once.

    mood.* and trait.*          as offline, a number in [-1, 1]; at least 3 messages must show it
    preference.*, fact.*        at most 120 characters, whose numbers and names are in the messages cited
    term.*                      as offline: they are counted, not asked for

    Refused, and counted by reason: other names, numbers out of range, evidence that was not shown, values that are not
    in their evidence. One question, with the newest 12,000 characters of the messages, 600 of each.

    Raises:
        ChatError: the model cannot be used. A reply that does not do is counted in `refused`.
    """
    newest = sorted((one for one in said if one.text.strip()), key=lambda one: (one.at, one.id), reverse=True)
    lengths = accumulate(fence.size(one, _MESSAGE_CHARS) for one in newest)
    fitting = [one for one, length in zip(newest, lengths, strict=True) if length <= fence.CALL_CHARS]
    shown = [one._replace(text=one.text[:_MESSAGE_CHARS]) for one in reversed(fitting)]
    refused: Counter[str] = Counter()
    lines = {line.name: line for line in terms(said)}
    if shown:
        user, aliases = fence.messages(shown)
        reply = asked(chat, "distill", user, Reply, _MAX_TOKENS, refused)
        for proposed in reply.lines if reply else ():
            line = _line(proposed, aliases, refused)
            if line and line.name in lines:
                refused["given twice"] += 1
            elif line:
                lines[line.name] = line
    return Answer(tuple(lines[name] for name in sorted(lines)), refused)


def _line(proposed: _Line, aliases: dict[str, Said], refused: Counter[str]) -> Drawn | None:
    refused.update("unknown id" for alias in proposed.evidence if alias not in aliases)
    evidence = list({aliases[alias].id: aliases[alias] for alias in proposed.evidence if alias in aliases}.values())
    evidence.sort(key=lambda one: (one.at, one.id), reverse=True)
    measured = proposed.name in _MEASURES
    value = _number(proposed.value) if measured else fence.line(str(proposed.value))
    if not measured and not _WORDS.fullmatch(proposed.name):
        refused["unknown name"] += 1
    elif not 0.0 <= proposed.confidence <= 1.0 or not value:
        refused["out of range"] += 1
    elif len(evidence) < (FEWEST_MESSAGES if measured else 1):
        refused["too little evidence"] += 1
    elif not measured and unsupported(value, evidence):
        refused["not in its sources"] += 1
    else:
        found = tuple(one.id for one in evidence[:MOST_EVIDENCE])
        return Drawn(proposed.name, value, round(proposed.confidence, 2), found)
    return None


def _number(value: float | str) -> str:
    """A number in [-1, 1] with two decimals; "" if it is none."""
    try:
        number = float(value)
    except ValueError:
        return ""
    return f"{round(number, 2) + 0.0:.2f}" if math.isfinite(number) and abs(number) <= 1.0 else ""
