"""Small exports of other programs, as they write them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from memhop.common.clock import to_iso
from tests.support.memories import DAY, NOW

MEMORIES = (
    "create table memories(id integer primary key, project text, kind text, status text, content text, "
    "related_ids text, metadata text, created_at integer, updated_at integer, archived_at integer, deleted_at integer)"
)


def hinterland(path: Path, *lines: dict[str, Any] | bytes) -> Path:
    """JSON lines of notes. `id` and `content` are made where a line has none; times are a day before NOW."""
    said = []
    for number, line in enumerate(lines, 1):
        if isinstance(line, bytes):
            said.append(line)
            continue
        made = {"id": f"m{number}", "content": f"note {number}", "scope": "default", "tags": [], "metadata": {}}
        times = {"createdAt": to_iso(NOW - DAY), "updatedAt": to_iso(NOW - DAY), "recalled": 0}
        said.append(json.dumps(made | times | line).encode())
    path.write_bytes(b"\n".join(said) + b"\n")
    return path


def hemisphere(path: Path, rows: Iterable[tuple[Any, ...]]) -> Path:
    """An SQLite file. A row: id, kind, status, content, related ids, archived, deleted; times in seconds."""
    at = (NOW - DAY) // 1000
    with closing(sqlite3.connect(path)) as file:
        file.execute(MEMORIES)
        file.executemany(
            "insert into memories values(?, 'web', ?, ?, ?, ?, '{}', ?, ?, ?, ?)",
            [
                (id_, kind, status, content, related, at, at, archived, deleted)
                for id_, kind, status, content, related, archived, deleted in rows
            ],
        )
        file.commit()
    return path


def graph(path: Path, entities: dict[str, list[str]], relations: Iterable[tuple[str, str, str]]) -> Path:
    """A memory.jsonl: entities with observations, and relations (from, type, to)."""
    said: list[dict[str, Any]] = [
        {"type": "entity", "name": name, "entityType": "person", "observations": told}
        for name, told in entities.items()
    ]
    said += [{"type": "relation", "from": a, "to": b, "relationType": type_} for a, type_, b in relations]
    path.write_text("\n".join(map(json.dumps, said)) + "\n", "utf-8")
    return path


def transcript(path: Path, turns: Iterable[str], *, session: str = "s1") -> Path:
    """A Claude Code transcript: user and agent take turns, one second each."""
    said = []
    for number, text in enumerate(turns):
        role = ("user", "assistant")[number % 2]
        line = {"type": role, "sessionId": session, "uuid": f"{session}-{number}", "cwd": "/home/ann/web"}
        line |= {"timestamp": to_iso(NOW - DAY + number * 1000)}
        said.append(line | {"message": {"role": role, "content": text, "id": f"{session}-m{number}"}})
    path.write_text("\n".join(map(json.dumps, said)) + "\n", "utf-8")
    return path
