"""Ways of working that a model sees in a trajectory. It proposes; nothing that it may write activates a card.

What it gives is put into a card by us: it cannot choose the type, the status, an origin or a resource that the session
did not use.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec

from memhop.models import fence
from memhop.models.asking import asked
from memhop.models.material import Answer, CardProposal, Step
from memhop.models.offline_crystallize import card, tool_of

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel

ACTIONS: Final = ("create", "reuse", "merge", "skip")
STEPS_CHARS: Final = fence.CALL_CHARS * 2 // 3  # for the newest steps; the known cards share the rest
_SHOWN_CHARS: Final = 400  # of one step or card
_MAX_TOKENS: Final = 3_000
_FEWEST_STEPS: Final = 2

T = TypeVar("T")
_Short = Annotated[str, msgspec.Meta(max_length=80)]
_Long = Annotated[str, msgspec.Meta(max_length=400)]


class _CardStep(msgspec.Struct):
    tool: _Short
    action: _Long = ""


class _Card(msgspec.Struct):
    action: _Short
    target: _Short = ""
    name: _Short = ""
    summary: _Long = ""
    trigger: _Long = ""
    tools: Annotated[list[_Short], msgspec.Meta(max_length=20)] = []
    steps: Annotated[list[_CardStep], msgspec.Meta(max_length=20)] = []
    reason: _Long = ""


class Reply(msgspec.Struct):
    cards: Annotated[list[_Card], msgspec.Meta(max_length=20)]


def crystallize(
    chat: ChatModel, steps: Sequence[Step], cards: Sequence[Mapping[str, Any]] = ()
) -> Answer[tuple[CardProposal, ...]]:
    """What a model would do about ways of working in a session, in the order of its reply.

    Refused, and counted by reason: an action other than create, reuse, merge and skip; a target that is no known card;
    a tool that no step of the session has; a card without a name, a situation or two steps. One question: the newest
    8,000 characters of steps and 4,000 of known cards, 400 of each.

    Raises:
        ChatError: the model cannot be used. A reply that does not do is counted in `refused`.
    """
    refused: Counter[str] = Counter()
    if not steps:
        return Answer((), refused)
    shown = _fitting([(step, _step(step)) for step in reversed(steps)], STEPS_CHARS)[::-1]
    briefs = [(one, json.dumps(_brief(one), ensure_ascii=False, default=str)) for one in cards]
    known = _fitting(briefs, fence.CALL_CHARS - STEPS_CHARS)
    labels = [fence.Shown(f"s{number}", text) for number, (_, text) in enumerate(shown, 1)]
    labels += [fence.Shown(f"c{number}", text) for number, (_, text) in enumerate(known, 1)]
    names = {str(one.get("name", "")).casefold(): str(one.get("name", "")) for one in cards}
    names |= {f"c{number}": str(one.get("name", "")) for number, (one, _) in enumerate(known, 1)}
    reply = asked(chat, "crystallize", fence.fenced(labels, _SHOWN_CHARS), Reply, _MAX_TOKENS, refused)
    tools = set(filter(None, (tool_of(step) for step, _ in shown)))
    proposals = (_proposal(one, tools, names, refused) for one in (reply.cards if reply else ()))
    return Answer(tuple(one for one in proposals if one), refused)


def _proposal(proposed: _Card, tools: set[str], names: Mapping[str, str], refused: Counter[str]) -> CardProposal | None:
    action = proposed.action.strip().casefold()
    name = fence.line(proposed.name)
    wanted = fence.line(proposed.target or (name if action in ("reuse", "merge") else ""))
    target = names.get(wanted.casefold(), "")
    row = [fence.line(step.tool) for step in proposed.steps]
    reason = fence.line(proposed.reason)
    if action not in ACTIONS:
        refused["unknown action"] += 1
    elif action in ("reuse", "merge") and not target:
        refused["unknown card"] += 1
    elif action in ("reuse", "skip"):
        return CardProposal(action, target, {}, reason)
    elif not {*row, *map(fence.line, proposed.tools)} <= tools:
        refused["unknown tool"] += 1
    elif not (name or target) or not (proposed.summary.strip() or proposed.trigger.strip()) or len(row) < _FEWEST_STEPS:
        refused["incomplete card"] += 1
    else:
        made = card(
            target if action == "merge" else name,
            summary=fence.line(proposed.summary),
            trigger=fence.line(proposed.trigger),
            steps=[(tool, fence.line(step.action)) for tool, step in zip(row, proposed.steps, strict=True)],
        )
        return CardProposal(action, target if action == "merge" else "", made, reason)
    return None


def _fitting(items: Sequence[tuple[T, str]], room: int) -> list[tuple[T, str]]:
    """The first of them that fit."""
    taken = accumulate(min(len(text), _SHOWN_CHARS) + fence.MARKUP_CHARS for _, text in items)
    return [item for item, length in zip(items, taken, strict=True) if length <= room]


def _step(step: Step) -> str:
    return f"{step.type}: {step.payload}" if step.payload else step.type


def _brief(known: Mapping[str, Any]) -> dict[str, Any]:
    """What tells one card from another."""
    workflow = known.get("workflow")
    return {
        "name": known.get("name", ""),
        "summary": known.get("summary", ""),
        "trigger": known.get("trigger", ""),
        "steps": workflow.get("steps", []) if isinstance(workflow, Mapping) else [],
    }
