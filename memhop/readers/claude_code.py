"""Claude Code transcripts: a `.jsonl` file of one session, or a folder of them (`~/.claude/projects/...`).

Read is what the person and the agent said. Skipped, each counted: thinking, tool calls and tool results, pictures,
system and other lines, meta and compacted messages, side chains and the files of sub-agents. Reminders, command frames
and memories of ours that were put into a message are cut out of it. Lines of one answer (`message.id`) become one
message.

    sessionId  -> session                  uuid (of the first line)  -> source id
    cwd        -> project (last folder)    message.role              -> role (assistant: agent)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final

from memhop.common.config import LIMITS
from memhop.readers.injected import without_injected
from memhop.readers.item import Item, MessageItem, Rejected, Skipped
from memhop.readers.looks import looks_like, parts, require
from memhop.readers.pieces import Parsed, lines, opened, parsed
from memhop.readers.shape import Shape
from memhop.readers.source import Member
from memhop.readers.values import Bad, name, role, rows, short, source_id, table, text, when

NAME: Final = "claude_code"
EXPECTED: Final = "a Claude Code transcript (.jsonl with sessionId and uuid), or a folder of them"
_FILES: Final = re.compile(r".*\.jsonl")
_MOST_CHARS: Final = LIMITS.text_bytes // 4  # of one answer; a longer one is several messages
_SAID: Final = ("user", "assistant")
_BLOCKS: Final = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "a tool call",
    "tool_result": "a tool result",
    "image": "a picture",
}
_FLAGS: Final = {
    "isMeta": "a meta message",
    "isSidechain": "a side chain",
    "isCompactSummary": "a summary of the client",
}


def matches(path: Path, head: bytes) -> bool:
    """Whether a line has a session, a uuid and a message."""
    return looks_like(path, head, _FILES, _fits)


def _fits(shape: Shape) -> bool:
    return {"type", "sessionId", "uuid", "message"} <= shape.get(1, set())


def read(path: Path) -> Iterator[Item]:
    """What was said, file by file, in the order of the lines. Errors: as `Reader.read`."""
    require(path, matches, EXPECTED)
    return _items(path)


def _items(path: Path) -> Iterator[Item]:
    for member in parts(path, _FILES):
        if "subagents" in PurePosixPath(member.name).parts[:-1]:
            yield Skipped(member.name, "a file of a sub-agent")
        else:
            yield from items_of(member)


def items_of(member: Member) -> Iterator[Item]:
    """What was said in one file. An answer waits for its further lines until somebody else is heard."""
    waiting: MessageItem | None = None
    texts: list[str] = []
    size = 0
    answer = project = ""
    for found in parsed(opened(member, lines)):
        place = f"{member.name}: {found.place}"
        if isinstance(found, Rejected):
            yield found._replace(place=place)
            continue
        skipped: list[Item] = []
        try:
            said, part_of = _line(place, found, skipped)
        except Bad as error:
            yield Rejected(place, str(error), found.rejected("").raw)
            continue
        yield from skipped
        if said is None:
            continue
        project = said.project or project
        said = said._replace(project=project or "default")
        more = waiting is not None and (part_of, said.session) == (answer, waiting.session) and part_of != ""
        if not more or size + len(said.text) > _MOST_CHARS:
            if waiting:
                yield waiting._replace(text="\n\n".join(texts))
            waiting, answer, texts, size = said, part_of, [], 0
        texts.append(said.text)
        size += len(said.text) + 2
    if waiting:
        yield waiting._replace(text="\n\n".join(texts))


def _line(place: str, found: Parsed, skipped: list[Item]) -> tuple[MessageItem | None, str]:
    """What a line says, and the answer it is part of."""
    line = table(found.value, "the line")
    kind = text(line.get("type"), "type")
    reason = next((why for flag, why in _FLAGS.items() if line.get(flag)), "")
    if kind not in _SAID or reason:
        skipped.append(Skipped(place, reason or f"a line of type {kind[:40]}"))
        return None, ""
    message = table(line.get("message"), "message")
    who = role(message.get("role") or kind)
    said = without_injected(_text(place, message.get("content"), skipped))
    if not said.strip():
        if not skipped:
            skipped.append(Skipped(place, "no text"))
        return None, ""
    item = MessageItem(
        source_id=source_id(line.get("uuid"), "uuid"),
        text=said,
        role=who,
        session=source_id(line.get("sessionId"), "sessionId"),
        at=when(line.get("timestamp"), "timestamp"),
        project=_project(text(line.get("cwd"), "cwd")),
    )
    return item, name(message.get("id"), "message.id") if who == "agent" else ""


def _text(place: str, content: Any, skipped: list[Item]) -> str:
    if isinstance(content, str):
        return text(content, "content")
    said = []
    for block in rows(content, "content"):
        inner = table(block, "a block")
        kind = text(inner.get("type"), "the type of a block")
        if kind == "text":
            said.append(text(inner.get("text"), "text"))
        else:
            skipped.append(Skipped(place, _BLOCKS.get(kind, f"a block of type {kind[:40]}")))
    return "\n\n".join(filter(None, said))


def _project(folder: str) -> str:
    """The last part of the working directory, of either kind of path."""
    pure = PureWindowsPath(folder) if "\\" in folder else PurePosixPath(folder)
    return short(pure.name)
