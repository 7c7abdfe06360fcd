"""Ways of working that a model sees in a trajectory. It proposes; nothing that it may write activates a card.

What it gives is put into a card by us: it cannot choose the type, the status, an origin or a resource that the session
did not use.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from memhop.models import fence
from memhop.models.asking import asked
from memhop.models.material import Answer, CardProposal, Step
from memhop.models.offline_crystallize import card, tool_of

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel

ACTIONS: Final = ("create", "reuse", "merge", "skip")
MOST_CARDS: Final = 40  # known cards that are shown
_STEP_CHARS: Final = 400  # of one payload that are shown
_CARD_CHARS: Final = 400
_MAX_TOKENS: Final = 3_000
_FEWEST_STEPS: Final = 2

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
    12,000 characters of steps, 400 of each, and 40 known cards.

    Raises:
        ChatError: the model cannot be used. A reply that does not do is counted in `refused`.
    """
    refused: Counter[str] = Counter()
    if not steps:
        return Answer((), refused)
    shown, known = _shown(steps), dict(zip((f"c{number}" for number in range(1, MOST_CARDS + 1)), cards, strict=False))
    labels = [fence.Shown(f"s{number}", _step(step)) for number, step in enumerate(shown, 1)]
    labels += [fence.Shown(alias, json.dumps(_brief(one), ensure_ascii=False)) for alias, one in known.items()]
    reply = asked(chat, "crystallize", fence.fenced(labels, _STEP_CHARS), Reply, _MAX_TOKENS, refused)
    tools = set(filter(None, map(tool_of, shown)))
    proposals = (_proposal(one, tools, known, refused) for one in (reply.cards if reply else ()))
    return Answer(tuple(one for one in proposals if one), refused)


def _proposal(
    proposed: _Card, tools: set[str], known: Mapping[str, Mapping[str, Any]], refused: Counter[str]
) -> CardProposal | None:
    action = proposed.action.strip().casefold()
    name = fence.line(proposed.name)
    names = {str(one.get("name", "")).casefold(): str(one.get("name", "")) for one in known.values()}
    wanted = fence.line(proposed.target or (name if action in ("reuse", "merge") else ""))
    target = str(known[wanted].get("name", "")) if wanted in known else names.get(wanted.casefold(), "")
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


def _shown(steps: Sequence[Step]) -> list[Step]:
    """The newest steps that fit one question, in order."""
    shown: list[Step] = []
    room = fence.CALL_CHARS
    for step in reversed(steps):
        room -= min(len(step.payload), _STEP_CHARS) + len(step.type) + 20
        if room < 0:
            break
        shown.append(step)
    return shown[::-1]


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
