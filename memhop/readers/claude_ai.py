"""Claude.ai data exports: the zip, its unpacked folder, or a `conversations.json` or `.jsonl` of it.

A message is the text blocks of its content, or its `text` where it has none; thinking, tool calls and tool results are
skipped, each counted. The extracted text of an attachment is a message of its own after the one it came with. Of
`memories.json` each memory becomes a note, of `projects.json` the description, the instructions and each document.

    conversation uuid  -> session        name          -> session title
    message uuid       -> source id      sender        -> role (human: user, assistant: agent)
    project name       -> project        attachment n  -> source id "<message uuid>#<n>"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from memhop.readers.injected import without_injected
from memhop.readers.item import Item, MessageItem, NoteItem, Rejected, Skipped
from memhop.readers.looks import looks_like, parts, require
from memhop.readers.pieces import Parsed, opened, parsed, records
from memhop.readers.shape import Shape
from memhop.readers.source import Member
from memhop.readers.values import Bad, name, raw, role, rows, source_id, table, text, when

NAME: Final = "claude_ai"
EXPECTED: Final = "a Claude.ai export: its zip, or a conversations.json whose items have chat_messages"
_FILES: Final = re.compile(r"conversations(?:-\d+)?\.jsonl?|memories\.json|projects\.json")
_KEYS: Final = ({"uuid", "chat_messages"}, {"conversations_memory"}, {"project_memories"}, {"uuid", "prompt_template"})
_BLOCKS: Final = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "a tool call",
    "tool_result": "a tool result",
}


def matches(path: Path, head: bytes) -> bool:
    """Whether a record has `chat_messages`, or is a memory or a project of such an export."""
    return looks_like(path, head, _FILES, _fits)


def _fits(shape: Shape) -> bool:
    return any(keys <= shape.get(1, set()) for keys in _KEYS)


def read(path: Path) -> Iterator[Item]:
    """Conversations, then memories and projects. Errors: as `Reader.read`."""
    require(path, matches, EXPECTED)
    return _items(path)


def _items(path: Path) -> Iterator[Item]:
    members = parts(path, _FILES)
    projects = _projects(members)
    for member in members:
        for found in parsed(opened(member, partial(records, word=f"{member.name}: item"))):
            if isinstance(found, Rejected):
                yield found
            elif not isinstance(found.value, dict):
                yield found.rejected("not an object")
            elif "chat_messages" in found.value:
                yield from _conversation(found, found.value)
            elif "conversations_memory" in found.value or "project_memories" in found.value:
                yield from _memories(found, found.value, projects)
            elif "prompt_template" in found.value or "docs" in found.value:
                yield from _project(found, found.value)
            else:
                yield found.rejected("neither a conversation nor a memory nor a project")


def _projects(members: list[Member]) -> dict[str, str]:
    """Names of projects by uuid, for the memories that belong to one."""
    named: dict[str, str] = {}
    for member in members:
        if member.base == "projects.json":
            for found in parsed(opened(member, partial(records, word="project"))):
                if isinstance(found, Parsed) and isinstance(found.value, dict):
                    uuid, called = found.value.get("uuid"), found.value.get("name")
                    if isinstance(uuid, str) and isinstance(called, str):
                        named[uuid] = name(called, "name")
    return named


def _conversation(found: Parsed, whole: dict[str, Any]) -> Iterator[Item]:
    try:
        session = source_id(whole.get("uuid"), "uuid")
        title = name(whole.get("name"), "name")
        at = when(whole.get("created_at"), "created_at")
        messages = rows(whole["chat_messages"], "chat_messages")
    except Bad as error:
        yield found.rejected(str(error))
        return
    for number, message in enumerate(messages, 1):
        place = f"{found.place}, message {number}"
        try:
            said, apart = _message(place, table(message, "the message"), session, title, at)
        except Bad as error:
            yield Rejected(place, str(error), raw(message))
            continue
        at = said[0].at if said else at
        yield from said
        yield from apart


def _message(
    place: str, message: dict[str, Any], session: str, title: str, before: int
) -> tuple[list[MessageItem], list[Item]]:
    """What was said, then what stands apart: blocks that are no memory."""
    apart: list[Item] = []
    texts: list[str] = []
    for block in rows(message.get("content"), "content"):
        inner = table(block, "a block")
        kind = text(inner.get("type"), "the type of a block")
        if kind == "text":
            texts.append(text(inner.get("text"), "text"))
        else:
            apart.append(Skipped(place, _BLOCKS.get(kind, f"a block of type {kind[:40]}")))
    said = without_injected("\n\n".join(filter(None, texts)) or text(message.get("text"), "text"))
    uuid = source_id(message.get("uuid"), "uuid")
    who = role(message.get("sender"))
    at = when(message.get("created_at"), "created_at") or before
    found = [MessageItem(uuid, said, who, session=session, session_title=title, at=at)] if said.strip() else []
    for number, attached in enumerate(rows(message.get("attachments"), "attachments"), 1):
        file = table(attached, "an attachment")
        content = text(file.get("extracted_content"), "extracted_content")
        if content.strip():
            body = f"{name(file.get('file_name'), 'file_name', 'attachment')}:\n{content}"
            found.append(MessageItem(f"{uuid}#{number}", body, who, session=session, session_title=title, at=at))
        else:
            apart.append(Skipped(f"{place}, attachment {number}", "no text"))
    if not found and not apart:
        apart.append(Skipped(place, "no text"))
    return found, apart


def _memories(found: Parsed, whole: dict[str, Any], projects: dict[str, str]) -> Iterator[Item]:
    try:
        account = name(whole.get("account_uuid"), "account_uuid")
        general = text(whole.get("conversations_memory"), "conversations_memory")
        about = table(whole.get("project_memories"), "project_memories")
    except Bad as error:
        yield found.rejected(str(error))
        return
    if general.strip():
        yield NoteItem("memory" + (f" {account}" if account else ""), general, tags=("memory",))
    for uuid, memory in about.items():
        try:
            said = text(memory, "the memory")
            if said.strip():
                project = projects.get(uuid) or "default"
                yield NoteItem(f"memory {source_id(uuid)}", said, project, tags=("memory",))
            else:
                yield Skipped(f"{found.place}, project {uuid[:80]}", "no text")
        except Bad as error:
            yield Rejected(f"{found.place}, project {uuid[:80]}", str(error), raw(memory))


def _project(found: Parsed, whole: dict[str, Any]) -> Iterator[Item]:
    try:
        uuid = source_id(whole.get("uuid"), "uuid")
        project = name(whole.get("name"), "name", "default")
        times = when(whole.get("created_at"), "created_at"), when(whole.get("updated_at"), "updated_at")
        fields = [(field, text(whole.get(field), field)) for field in ("description", "prompt_template")]
        docs = rows(whole.get("docs"), "docs")
    except Bad as error:
        yield found.rejected(str(error))
        return
    for field, said in fields:
        if said.strip():
            yield NoteItem(f"{uuid} {field}", said, project, at=times[0], updated_at=times[1], tags=("project", field))
    for number, doc in enumerate(docs, 1):
        place = f"{found.place}, document {number}"
        try:
            file = table(doc, "the document")
            said = text(file.get("content"), "content")
            if not said.strip():
                yield Skipped(place, "no text")
                continue
            yield NoteItem(
                source_id(file.get("uuid") or f"{uuid} document {number}", "uuid"),
                said,
                project,
                metadata={"title": name(file.get("filename"), "filename", "document")},
                tags=("project", "document"),
                at=when(file.get("created_at"), "created_at"),
            )
        except Bad as error:
            yield Rejected(place, str(error), raw(doc))
