"""Small sources of every format, written by hand from their descriptions."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from memhop.readers.item import EdgeItem, Item, MessageItem, NodeItem, NoteItem, Rejected, Skipped


def notes(items: Iterable[Item]) -> list[NoteItem]:
    return [item for item in items if isinstance(item, NoteItem)]


def messages(items: Iterable[Item]) -> list[MessageItem]:
    return [item for item in items if isinstance(item, MessageItem)]


def nodes(items: Iterable[Item]) -> list[NodeItem]:
    return [item for item in items if isinstance(item, NodeItem)]


def edges(items: Iterable[Item]) -> list[EdgeItem]:
    return [item for item in items if isinstance(item, EdgeItem)]


def rejected(items: Iterable[Item]) -> list[Rejected]:
    return [item for item in items if isinstance(item, Rejected)]


def skipped(items: Iterable[Item]) -> list[str]:
    """Reasons, in order."""
    return [item.reason for item in items if isinstance(item, Skipped)]


def jsonl(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def zipped(files: Mapping[str, bytes]) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return memory.getvalue()


# -- conversations -------------------------------------------------------------------------------------------------


def turn(id_: str, parent: str | None, role: str, *parts: object, **more: Any) -> dict[str, Any]:
    """A node of a ChatGPT mapping."""
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
    message = {"id": id_, "author": {"role": role}, "content": content, "create_time": None, "weight": 1.0} | more
    return {"id": id_, "parent": parent, "children": [], "message": message}


def chat(id_: str, current: str | None, *turns: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A ChatGPT conversation."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    mapping |= {node["id"]: node for node in turns}
    for node in turns:
        if node["parent"] in mapping:
            mapping[node["parent"]]["children"].append(node["id"])
    head = {"conversation_id": id_, "title": f"Talk {id_}", "create_time": 1_790_000_000.5, "current_node": current}
    return head | {"mapping": mapping} | more


CHATGPT = [
    chat(
        "c1",
        "n2",
        turn("n1", "root", "user", "I drink oat milk", create_time=1_790_000_001.0),
        turn("n2", "n1", "assistant", "Noted."),
        turn("n3", "n1", "assistant", "Regenerated away."),
    )
]

CLAUDE = [
    {
        "uuid": "u1",
        "name": "Trip",
        "created_at": "2026-09-01T10:00:00.000000Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "Plan Oslo",
                "content": [{"type": "text", "text": "Plan Oslo"}],
                "created_at": "2026-09-01T10:00:01Z",
                "attachments": [{"file_name": "list.txt", "extracted_content": "warm socks"}, {"file_name": "a.png"}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Day 1: harbour"}],
                "created_at": "2026-09-01T10:00:09Z",
            },
        ],
    }
]


def line(uuid: str, role: str, content: object, **more: Any) -> dict[str, Any]:
    """A line of a Claude Code transcript."""
    message = {"role": role, "content": content} | ({"id": more.pop("answer")} if "answer" in more else {})
    head = {
        "type": role,
        "uuid": uuid,
        "sessionId": "s1",
        "timestamp": "2026-11-01T09:00:00.000Z",
        "cwd": "/home/a/web",
    }
    return head | {"message": message} | more


TRANSCRIPT = jsonl(
    {"type": "summary", "summary": "Tabs", "leafUuid": "x"},
    line("a", "user", "Use tabs in this repo"),
    line("b", "assistant", [{"type": "thinking", "thinking": "ok"}], answer="msg_1"),
    line("c", "assistant", [{"type": "text", "text": "OK, tabs."}], answer="msg_1"),
    line("d", "assistant", [{"type": "tool_use", "id": "t", "name": "Edit", "input": {}}], answer="msg_1"),
    line("e", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]),
    line("f", "assistant", [{"type": "text", "text": "Done."}], answer="msg_1"),
)

# -- notes ---------------------------------------------------------------------------------------------------------

GRAPH = jsonl(
    {"type": "relation", "from": "Ada", "to": "Project X", "relationType": "works_on"},
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["prefers Rust", "lives in Turin"]},
    {"type": "entity", "name": "Project X", "entityType": "project", "observations": []},
)

MEM0 = {
    "results": [
        {
            "id": "7e1c",
            "memory": "Likes tea",
            "hash": "ab12",
            "metadata": {"topic": "food"},
            "created_at": "2026-10-01T08:00:00+00:00",
            "updated_at": None,
            "user_id": "u1",
            "role": "user",
        }
    ]
}

OPENMEMORY_LINE: dict[str, Any] = {
    "id": "1f",
    "content": "Uses vim",
    "metadata": {},
    "created_at": "2026-08-01T00:00:00+00:00",
    "updated_at": None,
    "state": "active",
    "app": "cli",
    "categories": ["tools"],
}

OPENMEMORY = {
    "user": {"id": "u"},
    "apps": [{"id": "a1", "name": "cli"}],
    "categories": [{"id": "k1", "name": "tools"}, {"id": "k2", "name": "work"}],
    "memories": [
        {
            "id": "1f",
            "user_id": "u",
            "app_id": "a1",
            "content": "Uses vim",
            "metadata": {},
            "state": "archived",
            "created_at": "2026-08-01T00:00:00+00:00",
            "updated_at": "2026-08-02T00:00:00+00:00",
            "archived_at": "2026-08-03T00:00:00+00:00",
            "deleted_at": None,
            "category_ids": ["k1"],
        }
    ],
    "memory_categories": [{"memory_id": "1f", "category_id": "k2"}],
    "export_meta": {"version": "1"},
}

HINTERLAND = {
    "id": "0b9e",
    "content": "Gateway settles overnight",
    "scope": "ops",
    "source": "wiki",
    "tags": ["pay"],
    "metadata": {"x": 1},
    "createdAt": "2026-11-02T07:00:00.000Z",
    "updatedAt": "2026-11-03T07:00:00.000Z",
    "recalled": 3,
    "lastRecalledAt": "2026-11-04T07:00:00.000Z",
}

BUILD_NOTES = """---
title: Build notes
type: note
tags: [ci, python]
permalink: build-notes
owner: ada
created: 2026-05-01
---
- [decision] Wheels are built with uv #ci (since v2)
- depends_on [[Release process]] (blocking)
- [ ] not an observation
- [00:01:02] nor this
Text that mentions [[Docker image]].
> - [quote] not ours #no
"""

MIND = """# What I know about you

- Lives in Turin
  with two cats
- Prefers Rust

## Work

Builds wheels.
"""


def hemisphere(path: Path, *rows: tuple[object, ...], old: bool = False) -> Path:
    """A database with a broken text index beside its rows."""
    columns = "id INTEGER PRIMARY KEY, project TEXT, kind TEXT, content TEXT, metadata TEXT, created_at INTEGER"
    newer = "related_ids TEXT, status TEXT, updated_at INTEGER, deleted_at INTEGER, archived_at INTEGER"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE memories ({columns if old else f'{columns}, {newer}'})")
        for row in rows:
            connection.execute(f"INSERT INTO memories VALUES ({', '.join('?' * len(row))})", row)
        connection.execute("CREATE VIRTUAL TABLE memories_fts USING fts5(content, content='memories')")
        connection.execute("INSERT INTO memories_fts(rowid, content) VALUES (99, 'a ghost')")
        connection.commit()
    return path


HEMISPHERE_ROWS = (
    (1, "web", "decision", "Use SQLite", '{"files":[],"status":"approved"}', 1_790_000_000, "2,7,x", "approved",
     1_790_000_100, None, None),
    (2, "web", "note", "Put away", '{"tags":["old"]}', 1_790_000_000, "", "", 1_790_000_000, None, 1_790_000_200),
    (3, "web", "note", "Thrown away", "{}", 1_790_000_000, "", "", 1_790_000_000, 1_790_000_300, None),
)  # fmt: skip

# -- the Go library ------------------------------------------------------------------------------------------------


def go_frame(kind: int, id_: int, payload: bytes, *, deleted: bool = False) -> bytes:
    head = struct.pack("<BBIQ", kind, int(deleted), len(payload), id_)
    return head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload


def go_record(kind: int, id_: int, /, **fields: Any) -> bytes:
    return go_frame(kind, id_, json.dumps(fields).encode())


def go_header(version: int = 6, *, commit: int = 1, end: int = 0, dim: int = 1024) -> bytes:
    body = struct.pack("<4sHHQQIIIQ", b"MEH2", version, dim, commit, 0, 0, 0, 0, end).ljust(4088, b"\0")
    return body + struct.pack("<I4s", zlib.crc32(body), b"2HEM")


EMPTY_SNAPSHOT = bytes.fromhex("50414e53010000000000000000000000000000000021c1e58e")
SCENE, TOPIC, GO_GRAPH, GO_NODE = 0xBFE671F6686EF56A, 0x49DB768BDE0ADBA8, 0xD682E29388E0F4A3, 0x800D84FFF3EFD644
ARCHIVED, PROFILE, CARD, EVENT = 0x028D310AEC618915, 0x3861C5F61D35793A, 0xA2A7C0F5E6A72E50, 0xD2350556333511EF
USAGE, SCENE_NODE = 0x66C689202EA1B314, 0x924D92774351897F


def go_frames() -> list[bytes]:
    """A record of every type, under the ids that the names of such records hash to."""
    at = 1_700_000_000_000
    return [
        go_record(0x05, SCENE, scene_id=SCENE, scene_name="1700000000000:hello worl", topic_count=1),
        go_record(0x04, TOPIC, id=TOPIC, scene_id=SCENE, depth=1, user_keywords=["hello"], l4_refs=[ARCHIVED]),
        go_record(
            0x08, ARCHIVED, id_hash=ARCHIVED, content_type=0, role=0, context_id=TOPIC, created_at=at,
            content="hello world",
        ),
        go_record(0x08, 7, content_type=0, role=1, context_id=TOPIC, created_at=at + 5, content="hi"),
        go_record(0x08, 8, content_type=0, role=3, context_id=TOPIC, created_at=at, content="a summary"),
        go_record(0x08, 9, content_type=1, role=0, context_id=TOPIC, created_at=at, content="cat.png"),
        go_record(0x02, SCENE_NODE, scene_id=SCENE, importance=1.0),
        go_record(0x03, 11, node_ids=[1, 2], weight=0.5),
        go_record(0x0B, GO_GRAPH, id_hash=GO_GRAPH, name="go"),
        go_record(
            0x06, GO_NODE, graph_id=GO_GRAPH, title="Go 内存模型", node_type="concept", content="happens before",
            keywords=["memory"],
        ),
        go_record(0x06, 12, graph_id=GO_GRAPH, title="Channels", node_type="concept", content="", keywords=[]),
        go_record(0x07, 13, graph_id=GO_GRAPH, kind=1, node_ids=[GO_NODE, 12], weight=1.0),
        go_record(
            0x01, PROFILE, name="Ada", role="builder", personality="INTJ", lexicon={"meh": "the file"},
            preferences={"editor": "vim", "mbti_type": "INTJ"}, style_traits=["short"],
            emotion_patterns={"valence": "0.1"},
        ),
        go_record(
            0x0F, CARD, name="memhop-guide", summary="How to", trigger="asked", type="skill", status=1,
            workflow={"steps": [{"ref": "r", "action": "read it"}]}, created_at=at, updated_at=at,
        ),
        go_record(0x0E, EVENT, session_id=1, seq=1, event_type="turn_start", payload="", timestamp=at),
        go_record(0x0D, USAGE, scene_id=SCENE, hit_count=3),
        go_frame(0xF0, 14, struct.pack("<4f", 1, 2, 3, 4)),
        go_record(0x08, 15, content_type=0, role=0, context_id=TOPIC, created_at=at, content="taken back"),
        go_frame(0x08, 15, b"", deleted=True),
    ]  # fmt: skip


def go_file(*frames: bytes, version: int = 6, end: bool = True, tail: bytes = EMPTY_SNAPSHOT) -> bytes:
    log = b"".join(frames)
    newer = go_header(version, commit=2, end=8192 + len(log) if end else 0)
    return go_header(version) + newer + log + tail


def every_source(folder: Path) -> dict[str, Path]:
    """One good source of each format, by its name."""
    folder.mkdir(exist_ok=True)
    written = {
        "chatgpt": json.dumps(CHATGPT).encode(),
        "claude_ai": json.dumps(CLAUDE).encode(),
        "claude_code": TRANSCRIPT,
        "mcp_memory": GRAPH,
        "mem0": json.dumps(MEM0).encode(),
        "hinterland": jsonl(HINTERLAND),
        "markdown": BUILD_NOTES.encode(),
        "go_meh": go_file(*go_frames()),
    }
    paths = {}
    for format_, data in written.items():
        paths[format_] = folder / f"{format_}.data"
        paths[format_].write_bytes(data)
    paths["hemisphere"] = hemisphere(folder / "hemisphere.data", *HEMISPHERE_ROWS)
    return paths


def openmemory_zip() -> bytes:
    return zipped(
        {
            "memories.json": json.dumps(OPENMEMORY).encode(),
            "memories.jsonl.gz": gzip.compress(jsonl(OPENMEMORY_LINE), mtime=0),
        }
    )
