"""Ways of working that come again and again in a trajectory, found without a model.

Only steps in which the agent acts count; what it says, thinks and gets back is skipped. An action is named by the tool
in its payload ("tool" or "name" of a JSON object), else by its type. Then, from eight actions down to two, a row of
actions is a way of working if it comes three times without overlap, outside the longer ones already found:

    read edit test | search read edit test | read edit test     ->  read edit test

A row that only rolls a shorter one ("edit test read" of the same loop, or a row twice over) is not one of its own, nor
is one tool over and over. One pass for each length: linear in the number of steps.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from memhop.models.material import CardProposal, Step
from memhop.models.words import content_pairs

LONGEST: Final = 8  # actions of a way of working
SHORTEST: Final = 2
FEWEST: Final = 3  # times it has to come
MOST_ACTIONS: Final = 20_000  # the newest are read
MOST_PROPOSALS: Final = 10
_NAME_CHARS: Final = 64
_TRIGGER_WORDS: Final = 3  # of the one phrase: a text must hold all of them for the card to be offered
_ARGUMENT_CHARS: Final = 2_000  # of one action
# Types of steps in which nothing is done.
_NO_ACTIONS: Final = frozenset(
    """
    message user assistant agent system thought thinking think reasoning reflection observation result response output
    tool_result tool_output error note log plan answer final
    """.split()
)


class Action(NamedTuple):
    """One thing the agent did."""

    seq: int
    tool: str
    words: frozenset[str]  # of its arguments


def crystallize(steps: Sequence[Step], cards: Sequence[Mapping[str, Any]] = ()) -> tuple[CardProposal, ...]:
    """What to do about each way of working found, the longest first, at most 10.

    create    a new composite card, with a resource for each tool
    reuse     a known card has the same workflow, or one that holds it
    merge     a known card's workflow is part of this one

    Args:
        steps: Of one session, in order.
        cards: Known cards, each with "name" and perhaps "workflow": {"steps": [{"ref": ...}]}.
    """
    actions = [action for step in steps if (action := _action(step))][-MOST_ACTIONS:]
    known = [(str(card.get("name", "")), _refs(card)) for card in cards]
    return tuple(
        _proposal(row, places, actions, known) for row, places in repeated([action.tool for action in actions])
    )


def repeated(tools: Sequence[str]) -> list[tuple[tuple[str, ...], list[int]]]:
    """Rows of tools that come again, and where each time begins; the longest first, then the most frequent."""
    starts: dict[tuple[str, ...], list[int]] = {}
    for width in range(SHORTEST, LONGEST + 1):
        for at in range(len(tools) - width + 1):
            starts.setdefault(tuple(tools[at : at + width]), []).append(at)
    taken = [False] * len(tools)
    counts = {row: len(_apart(row, places, taken)) for row, places in starts.items() if len(places) >= FEWEST}
    rows = [row for row, count in counts.items() if count >= FEWEST and not _rolls(row, counts)]
    found: list[tuple[tuple[str, ...], list[int]]] = []
    for row in sorted(rows, key=lambda row: (-len(row), -counts[row], starts[row])):
        free = _apart(row, starts[row], taken)
        if len(free) >= FEWEST and len(found) < MOST_PROPOSALS:
            found.append((row, free))
            for at in free:
                taken[at : at + len(row)] = [True] * len(row)
    return found


def _apart(row: tuple[str, ...], starts: Sequence[int], taken: Sequence[bool]) -> list[int]:
    """The starts that do not overlap, from left to right, where nothing is taken."""
    kept: list[int] = []
    end = 0
    for at in starts:
        if at >= end and not any(taken[at : at + len(row)]):
            kept.append(at)
            end = at + len(row)
    return kept


def _rolls(row: tuple[str, ...], counts: Mapping[tuple[str, ...], int]) -> bool:
    """Whether a row is a shorter one over and over, begun anywhere, and the shorter one covers as much by itself."""
    period = next(width for width in range(1, len(row) + 1) if row[width:] == row[: len(row) - width])
    if period == len(row):
        return False
    shorter = row[:period]
    return period == 1 or counts[shorter] * period >= counts[row] * len(row)


def _proposal(
    row: tuple[str, ...],
    places: Sequence[int],
    actions: Sequence[Action],
    known: Sequence[tuple[str, tuple[str, ...]]],
) -> CardProposal:
    times = f"{' > '.join(row)} came {len(places)} times"
    for name, refs in known:
        if _within(row, refs):
            return CardProposal("reuse", name, {}, f"{times}, which {name} describes")
    made = _card(row, [actions[at : at + len(row)] for at in places])
    for name, refs in known:
        if len(refs) >= SHORTEST and _within(refs, row):
            return CardProposal("merge", name, {**made, "name": name}, f"{times}, of which {name} describes a part")
    if any(name.casefold() == made["name"].casefold() for name, _ in known):
        made["name"] += "-" + sha256("\0".join(row).encode("utf-8", "replace")).hexdigest()[:6]
    return CardProposal("create", "", made, times)


def _card(row: tuple[str, ...], times: Sequence[Sequence[Action]]) -> dict[str, Any]:
    often = Counter(word for actions in times for word in {word for action in actions for word in action.words})
    words = sorted((word for word, count in often.items() if count >= FEWEST), key=lambda word: (-often[word], word))
    return card(
        "-then-".join(row)[:_NAME_CHARS].strip("-"),
        summary=f"{', then '.join(row)}: done {len(times)} times in one session",
        trigger=" ".join(words[:_TRIGGER_WORDS] or dict.fromkeys(row)),
        steps=[(tool, f"step {number}") for number, tool in enumerate(row, 1)],
    )


def card(name: str, *, summary: str, trigger: str, steps: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A composite card, not yet validated. `steps` are tools, and what is done with each."""
    tools = dict.fromkeys(tool for tool, _ in steps)
    return {
        "format": "memhop-capability/v2",
        "name": name,
        "type": "composite",
        "version": "1",
        "summary": summary,
        "trigger": trigger,
        "resources": [{"type": "mcp", "name": tool, "ref": tool, "description": ""} for tool in tools],
        "workflow": {"steps": [{"ref": tool, "action": action} for tool, action in steps]},
    }


def tool_of(step: Step) -> str:
    """What a step did it with; "" if nothing is done in it."""
    action = _action(step)
    return action.tool if action else ""


def _action(step: Step) -> Action | None:
    kind = " ".join(step.type.split())[:_NAME_CHARS]
    if not kind or kind.casefold() in _NO_ACTIONS:
        return None
    try:
        payload = json.loads(step.payload) if step.payload.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        payload = {}  # a payload may be cut, and need not be JSON
    named = (
        " ".join(name.split())[:_NAME_CHARS] for key in ("tool", "name") if isinstance(name := payload.get(key), str)
    )
    tool = next(filter(None, named), kind)
    arguments = " ".join(
        text for key, value in payload.items() if key not in ("tool", "name") for text in _texts(value)
    )
    words = (word for _, word in content_pairs(arguments[:_ARGUMENT_CHARS]) if word.isalpha() and len(word) > 1)
    return Action(step.seq, tool, frozenset(words))


def _texts(value: object) -> list[str]:
    """Texts of an argument, or of arguments one level down."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for text in inner if isinstance(text, str)]


def _refs(card: Mapping[str, Any]) -> tuple[str, ...]:
    workflow = card.get("workflow")
    steps = workflow.get("steps") if isinstance(workflow, Mapping) else None
    if not isinstance(steps, list | tuple):
        return ()
    return tuple(str(step.get("ref", "")) for step in steps if isinstance(step, Mapping))


def _within(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    width = len(short)
    return any(long[at : at + width] == short for at in range(len(long) - width + 1))
