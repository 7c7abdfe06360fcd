"""ChatGPT data exports: the zip, its unpacked folder, or a `conversations.json` (also in parts, `-000`, `-001`, ...).

A conversation is a tree; what was last shown is the branch that ends in `current_node`, and that is what is read. The
other branches are edits and regenerations: skipped, and counted. So are system and hidden messages, those of weight 0,
thinking, tool calls and tool results. A message without a time takes that of the one before it.

    conversation_id    -> session        title         -> session title
    message id         -> source id      author.role   -> role (assistant: agent)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from memhop.readers.injected import without_injected
from memhop.readers.item import Item, MessageItem, Rejected, Skipped
from memhop.readers.looks import looks_like, parts, require
from memhop.readers.pieces import Parsed, opened, parsed, records
from memhop.readers.shape import Shape
from memhop.readers.values import Bad, name, raw, role, rows, source_id, table, text, when

NAME: Final = "chatgpt"
EXPECTED: Final = "a ChatGPT export: its zip, or a conversations.json whose items have a mapping"
_FILES: Final = re.compile(r"conversations(?:-\d+)?\.jsonl?")
_TOOLS: Final = ("code", "execution_output", "tether_browsing_display", "tether_quote", "tether_browsing_code")
_THINKING: Final = ("thoughts", "reasoning_recap")


def matches(path: Path, head: bytes) -> bool:
    """Whether a record has a `mapping` whose nodes have parents."""
    return looks_like(path, head, _FILES, _fits)


def _fits(shape: Shape) -> bool:
    return "mapping" in shape.get(1, ()) and bool({"message", "parent", "children"} & shape.get(3, set()))


def read(path: Path) -> Iterator[Item]:
    """The messages of all conversations, each in its order. Errors: as `Reader.read`."""
    require(path, matches, EXPECTED)
    return _items(path)


def _items(path: Path) -> Iterator[Item]:
    for member in parts(path, _FILES):
        for found in parsed(opened(member, partial(records, word=f"{member.name}: conversation"))):
            if isinstance(found, Rejected):
                yield found
            else:
                yield from _conversation(found)


def _conversation(found: Parsed) -> Iterator[Item]:
    try:
        whole = table(found.value, "the conversation")
        mapping = table(whole.get("mapping"), "mapping")
        session = source_id(whole.get("conversation_id") or whole.get("id"), "conversation_id")
        title = name(whole.get("title"), "title")
        at = when(whole.get("create_time"), "create_time")
        branch, missing = _branch(mapping, whole.get("current_node"))
    except Bad as error:
        yield found.rejected(str(error))
        return
    if missing:
        yield found.rejected(f"the message before {missing[:80]!r} is missing; what came before it was not read")
    for key in branch:
        for item in _message(found, key, mapping[key], session, title, at):
            at = item.at or at if isinstance(item, MessageItem) else at
            yield item
    shown = set(branch)
    for key, node in mapping.items():
        if key not in shown and not (isinstance(node, dict) and node.get("message") is None):
            yield Skipped(f"{found.place}, message {key[:80]}", "not on the branch that was shown last")


def _branch(mapping: dict[str, Any], current: object) -> tuple[list[str], str]:
    """The nodes from the first to the current one, and the node whose parent is missing, "" if none is.

    Without a current node it is the last leaf of the mapping.
    """
    if not isinstance(current, str) or current not in mapping:
        leaves = [key for key, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
        current = leaves[-1] if leaves else next(reversed(mapping), "")
    branch: dict[str, None] = {}
    key: object = current
    below = ""
    while isinstance(key, str) and key in mapping and key not in branch:
        branch[key] = None
        node = mapping[key]
        below, key = key, node.get("parent") if isinstance(node, dict) else None
    lost = below if key is not None or not isinstance(mapping.get(below, {}), dict) else ""
    return list(branch)[::-1], lost


def _message(found: Parsed, key: str, node: object, session: str, title: str, before: int) -> Iterator[Item]:
    place = f"{found.place}, message {key[:80]}"
    try:
        message = table(table(node, "the node").get("message"), "the message")
        if not message:
            return
        author = table(message.get("author"), "author")
        who = role(author.get("role"))
        content = table(message.get("content"), "content")
        if reason := _no_memory(message, who, content):
            yield Skipped(place, reason)
            return
        said = without_injected(_text(content))
        if not said.strip():
            yield Skipped(place, "no text")
            return
        yield MessageItem(
            source_id=source_id(message.get("id") or key),
            text=said,
            role=who,
            speaker=name(author.get("name"), "author.name"),
            session=session,
            session_title=title,
            at=when(message.get("create_time"), "create_time") or before,
        )
    except Bad as error:
        yield Rejected(place, str(error), raw(node))


def _no_memory(message: dict[str, Any], who: str, content: dict[str, Any]) -> str:
    """Why a message is none that was said, "" if it was."""
    kind = text(content.get("content_type"), "content_type") or "text"
    if who in ("system", "tool"):
        return "a tool result" if who == "tool" else "a system message"
    if table(message.get("metadata"), "metadata").get("is_visually_hidden_from_conversation") or (
        message.get("weight") in (0, False)
    ):
        return "a hidden message"
    if kind in _THINKING:
        return "thinking"
    if kind in _TOOLS or text(message.get("recipient"), "recipient") not in ("", "all"):
        return "a tool call"
    return "" if kind in ("text", "multimodal_text") else f"content of type {kind[:40]}"


def _text(content: dict[str, Any]) -> str:
    """The texts of the parts; pictures and files have none, sound has what was understood of it."""
    said = []
    for part in rows(content.get("parts"), "parts"):
        inner = part.get("text") if isinstance(part, dict) else part
        said.append(text(inner, "a part"))
    return "\n\n".join(filter(None, said)) or text(content.get("text"), "text")
