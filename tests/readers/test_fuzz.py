"""Whatever was done to a source, reading it ends in items or in one of our errors, and the same way each time."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from memhop.common.config import check_name
from memhop.common.errors import InvalidRequest, StorageError
from memhop.readers import READERS, Reader, detect
from memhop.readers.item import MAX_RAW_BYTES, EdgeItem, Item, MessageItem, NodeItem, NoteItem, Rejected, Skipped
from tests.readers.samples import every_source

ROUNDS = 120
STRANGE: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e300, 2**64, 10**30, "", " ", "x", "\ud800", "\x00", "a" * 5000, [], {}, [[]],
    [None],
    {"a": None}, ["x"], "2026-13-99", "[[x]]",
]  # fmt: skip


def check(item: Item) -> None:
    """What an importer may rely on."""
    match item:
        case NoteItem():
            assert item.text.strip()
            for name in (item.source_id, item.project, item.kind, *item.tags):
                check_name(name, field="name")
            assert min(item.at, item.updated_at, item.archived_at, item.trashed_at, item.recalled) >= 0
            json.dumps(dict(item.metadata), allow_nan=False).encode()
            assert all(type_ and target for type_, target in item.links)
        case MessageItem():
            assert item.text.strip()
            assert item.role in ("user", "agent", "system", "tool")
            check_name(item.source_id, field="id")
            check_name(item.session, field="session", blank=True)
            check_name(item.session_title, field="title", blank=True)
        case NodeItem():
            check_name(item.name, field="name")
        case EdgeItem():
            assert item.from_
            assert item.to
        case Rejected():
            assert item.reason
            assert len(item.raw) <= MAX_RAW_BYTES
        case Skipped():
            assert item.reason
    for value in item:
        if isinstance(value, str):
            value.encode()


def read(reader: Reader, path: Path) -> list[Item] | str:
    try:
        found = list(reader.read(path))
    except (InvalidRequest, StorageError) as error:
        return type(error).__name__
    for item in found:
        check(item)
    return found


@pytest.mark.parametrize("name", [reader.NAME for reader in READERS])
def test_flipped_cut_and_spliced_bytes(name: str, tmp_path: Path) -> None:
    seed = random.Random(f"bytes {name}")
    good = every_source(tmp_path / "all")[name]
    reader = next(reader for reader in READERS if name == reader.NAME)
    assert isinstance(read(reader, good), list)
    whole = good.read_bytes()
    path = tmp_path / "mutant"
    for _ in range(ROUNDS):
        data = bytearray(whole)
        for _ in range(seed.randint(1, 4)):
            at = seed.randrange(len(data) or 1)
            match seed.randrange(5):
                case 0:
                    data[at : at + 1] = bytes([seed.randrange(256)])
                case 1:
                    del data[at:]
                case 2:
                    del data[at : at + seed.randint(1, 40)]
                case 3:
                    data[at:at] = data[seed.randrange(len(data) or 1) :][: seed.randint(1, 60)]
                case _:
                    data[at:at] = seed.choice(
                        [b"[" * 3000, b'"', b"\\", b"{", b"}", b"\xff", b"NaN", b"1" * 6000, b"\n"]
                    )
        path.write_bytes(data)
        first = read(reader, path)
        assert read(reader, path) == first
        detect(path)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a JSON value has values."""
    found = [path]
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        found += places(child, (*path, key))
    return found


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


@pytest.mark.parametrize("name", ["chatgpt", "claude_ai", "claude_code", "mcp_memory", "mem0", "hinterland"])
def test_wrong_types_at_every_place(name: str, tmp_path: Path) -> None:
    """A good record stands before the broken one: what was whole must come out whole."""
    good = every_source(tmp_path / "all")[name].read_bytes()
    reader = next(reader for reader in READERS if name == reader.NAME)
    path = tmp_path / "mutant"
    try:
        whole: Any = json.loads(good)
    except ValueError:
        whole = [json.loads(line) for line in good.splitlines()]
    lined = good.count(b"\n") > 1 or name == "hinterland"
    whole = [whole] if isinstance(whole, dict) and lined else whole
    listed = next(iter(whole.values())) if isinstance(whole, dict) else whole
    path.write_bytes(good)
    before = [item for item in reader.read(path) if not isinstance(item, Skipped)]
    for number, place in enumerate(places(listed[-1])):
        for by in (STRANGE[number % len(STRANGE)], STRANGE[(7 * number + 3) % len(STRANGE)]):
            rows = [*listed, replaced(listed[-1], place, by)]
            data = (
                "\n".join(map(json.dumps, rows)) if lined else json.dumps({"results": rows} if name == "mem0" else rows)
            )
            path.write_text(data, "utf-8")
            found = read(reader, path)
            assert isinstance(found, list), (place, by)
            kept = [item for item in found if not isinstance(item, Skipped)]
            assert len(kept) >= len(before), (place, by)
            assert kept[: len(before) - 1] == before[:-1], (place, by)
