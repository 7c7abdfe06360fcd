"""Turns gathered by a model, and statements of its own wording. Each is checked against the messages that it cites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from memhop.common.clock import to_iso
from memhop.common.errors import InvalidRequest
from memhop.models import fence
from memhop.models.asking import asked
from memhop.models.guard import unsupported
from memhop.models.material import Answer, Block, Group, Said, Statement
from memhop.models.task_keywords import in_text

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel

MOST_BLOCKS: Final = 40
FEWEST_MEMBERS: Final = 2
MOST_MEMBERS: Final = 12
_MESSAGE_CHARS: Final = 1_500  # of one message that are shown
_MESSAGES: Final = 100  # of one block that are shown
_MAX_TOKENS: Final = 4_000

_Alias = Annotated[str, msgspec.Meta(max_length=16)]


class _Statement(msgspec.Struct):
    text: Annotated[str, msgspec.Meta(max_length=400)]
    sources: Annotated[list[_Alias], msgspec.Meta(max_length=20)]


class _Group(msgspec.Struct):
    topics: Annotated[list[_Alias], msgspec.Meta(max_length=MOST_BLOCKS)]
    statements: Annotated[list[_Statement], msgspec.Meta(max_length=12)]
    keywords: Annotated[list[Annotated[str, msgspec.Meta(max_length=80)]], msgspec.Meta(max_length=20)] = []


class Reply(msgspec.Struct):
    groups: Annotated[list[_Group], msgspec.Meta(max_length=MOST_BLOCKS)]


def consolidate(chat: ChatModel, blocks: Sequence[Block]) -> Answer[tuple[Group, ...]]:
    """Groups of 2..12 blocks about one thing, members in the order given, no block in two of them.

    Of a reply is refused, and counted by reason: a block or message that was not shown, a block that is in a group
    already, a statement that cites nothing of its group or is not borne out by what it cites (`guard`), a keyword that
    the group does not have; and then a group without two blocks or without a statement. One question for about 12,000
    characters; of each message at most 1,500 are shown, of each block 100 messages, and only what is shown bears out a
    statement.

    Args:
        blocks: At most 40, of one scene, in time order.

    Raises:
        ChatError: the model cannot be used. A reply that does not do is counted in `refused`.
        InvalidRequest: more than 40 blocks.
    """
    if len(blocks) > MOST_BLOCKS:
        raise InvalidRequest(f"{len(blocks)} blocks at once", field="blocks", allowed=f"at most {MOST_BLOCKS}")
    groups: list[Group] = []
    refused: Counter[str] = Counter()
    cut = [_cut(block) for block in blocks]
    for part in fence.portions([sum(map(fence.size, block.turns)) for block in cut]):
        if len(part) >= FEWEST_MEMBERS:
            groups += _checked(chat, cut[part.start : part.stop], refused)
    return Answer(tuple(groups), refused)


def _cut(block: Block) -> Block:
    """What is shown of a block: no more than fits one question."""
    turns = block.turns[:_MESSAGES]
    most = max(1, min(_MESSAGE_CHARS, fence.CALL_CHARS // max(1, len(turns)) - fence.MARKUP_CHARS))
    return block._replace(turns=tuple(said._replace(text=said.text[:most]) for said in turns))


def _checked(chat: ChatModel, blocks: Sequence[Block], refused: Counter[str]) -> list[Group]:
    topics = {f"t{number}": block for number, block in enumerate(blocks, 1)}
    spoken = [(topic, said) for topic, block in topics.items() for said in block.turns]
    sources = {f"m{number}": said for number, (_, said) in enumerate(spoken, 1)}
    labels = [f"{topic} m{number}, {to_iso(said.at)}" for number, (topic, said) in enumerate(spoken, 1)]
    shown = [fence.Shown(label, fence.spoken(said)) for label, (_, said) in zip(labels, spoken, strict=True)]
    reply = asked(chat, "consolidate", fence.fenced(shown), Reply, _MAX_TOKENS, refused)
    groups = []
    free = dict(topics)
    for proposed in reply.groups if reply else ():
        members = _members(proposed, topics, free, refused)
        if members and (group := _group(proposed, members, sources, refused)):
            groups.append(group)
            free = {alias: block for alias, block in free.items() if block.id not in group.members}
    return groups


def _members(proposed: _Group, topics: dict[str, Block], free: dict[str, Block], refused: Counter[str]) -> list[Block]:
    """The blocks of a group, in order; empty, and counted, if these make no group."""
    named = dict.fromkeys(proposed.topics)
    refused.update("unknown id" for alias in named if alias not in topics)
    refused.update("in two groups" for alias in named if alias in topics and alias not in free)
    members = [block for alias, block in free.items() if alias in named]
    if FEWEST_MEMBERS <= len(members) <= MOST_MEMBERS:
        return members
    refused["too few members" if len(members) < FEWEST_MEMBERS else "too many members"] += 1
    return []


def _group(proposed: _Group, members: list[Block], sources: dict[str, Said], refused: Counter[str]) -> Group | None:
    own = {said.id for block in members for said in block.turns}
    stated: dict[str, Statement] = {}
    for statement in proposed.statements:
        text = fence.line(statement.text)
        refused.update("unknown id" for alias in statement.sources if alias not in sources)
        cited = {sources[alias].id: sources[alias] for alias in statement.sources if alias in sources}
        inside = [said for id_, said in cited.items() if id_ in own]
        if not text:
            refused["empty"] += 1
        elif not inside:
            refused["cites nothing of its group"] += 1
        elif unsupported(text, inside):
            refused["not in its sources"] += 1
        else:
            stated.setdefault(text, Statement(text, tuple(said.id for said in inside)))
    if not stated:
        refused["nothing stated"] += 1
        return None
    words = in_text(proposed.keywords, [said for block in members for said in block.turns], refused)
    return Group(tuple(block.id for block in members), tuple(stated.values()), words)
