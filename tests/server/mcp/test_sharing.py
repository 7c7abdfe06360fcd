"""Several servers and the command line on one file, and servers that are killed: what was answered is there."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from tests.cli.running import memhop
from tests.support.mcp_server import Served, is_running
from tests.support.processes import Starter, until
from tests.support.seeds import replayable, seeds

MIXED = 200  # calls of each client
KILLS = 50


def texts(path: Path) -> set[str]:
    with DB.open(path, create=False) as db:
        assert db.verify(deep=True).ok
        found: set[str] = set()
        page = db.notes.list(limit=1000)
        while True:
            found |= {note.text for note in page.items}
            if page.next is None:
                return found
            page = db.notes.list(limit=1000, cursor=page.next)


def test_twenty_and_twenty_creates_of_two_clients_survive_and_so_do_those_of_the_command_line(
    start: Starter, tmp_path: Path
) -> None:
    path = tmp_path / "a.meh"
    with Served(start, path) as one, Served(start, path) as other:
        calls = []
        for name, server in (("one", one), ("other", other)):
            server.handshake()
            calls += [(server, server.start_call("memhop_remember", text=f"{name} {n}")) for n in range(20)]
        typed = memhop("remember", "typed", "--file", path)
        assert typed.code == 0, typed.err
        for server, call in calls:
            assert server.answer(call)["result"]["structuredContent"]["created"]
        for server in (one, other):
            listed = server.data("memhop_note_list", limit=100)
            assert listed["total"] == 41, "each sees what the others stored"
            server.close_input()
            assert server.finish() == ""
    assert texts(path) == {f"{name} {n}" for name in ("one", "other") for n in range(20)} | {"typed"}


def test_three_clients_with_mixed_calls_and_none_fails(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with Served(start, path) as one, Served(start, path) as two, Served(start, path) as three:
        servers = (one, two, three)
        with ThreadPoolExecutor(len(servers)) as clients:
            stored = [text for found in clients.map(_mixed, servers, range(len(servers))) for text in found]
        for server in servers:
            server.close_input()
            assert server.finish() == ""
    assert texts(path) == set(stored)


def _mixed(server: Served, client: int) -> list[str]:
    """What one client does. Returns the texts that are there at the end."""
    chance = random.Random(client)
    server.handshake()
    mine: dict[str, str] = {}
    for number in range(MIXED):
        act = chance.choice(("remember", "remember", "recall", "list", "update", "forget", "search", "brief"))
        text = f"client {client} says {number} about kayaks"
        if act == "update" and mine:
            note = chance.choice(sorted(mine))
            server.data("memhop_note_update", id=note, text=text)
            mine[note] = text
        elif act == "forget" and mine:
            note = chance.choice(sorted(mine))
            server.data("memhop_forget", id=note)
            del mine[note]
        elif act == "search":
            said = time.time_ns() // 1_000_000
            topic = server.data("memhop_search", text=text, timestamp=str(said))["new_topic_id"]
            server.data("memhop_update", topic_id=topic, text=f"answer to {number}", timestamp=str(said))
        elif act == "recall":
            server.data("memhop_recall", query=f"what did client {(client + 1) % 3} say?")
        elif act == "list":
            server.data("memhop_note_list", limit=5)
        elif act == "brief":
            server.data("memhop_brief")
        else:
            mine[server.data("memhop_remember", text=text)["id"]] = text
    return list(mine.values())


@pytest.mark.parametrize("seed", seeds(1, nightly=2))
def test_what_was_answered_survives_kills_at_any_moment(seed: int, start: Starter, tmp_path: Path) -> None:
    """Ten kills, a hundred in all of the night, each in the middle of thirty parallel writes. Nothing is left running,
    and the next server goes on with the same file."""
    chance = random.Random(seed)
    path = tmp_path / "a.meh"
    sure: set[str] = set()
    asked: set[str] = set()
    with replayable(seed, f"{__file__}::test_what_was_answered_survives_kills_at_any_moment"):
        for kill in range(KILLS):
            with Served(start, path) as server:
                server.handshake()
                calls = {}
                for number in range(30):
                    text = f"kill {kill}, note {number}"
                    calls[server.start_call("memhop_remember", text=text)] = text
                asked |= set(calls.values())
                enough = chance.randrange(25)
                until(partial(_has_answered, server, calls, enough), "answers")
                server.kill()
                pid = server.pid
                server.drain()
                sure |= {text for call, text in calls.items() if server.answered(call)}
            assert not is_running(pid)
        found = texts(path)
        assert sure <= found <= asked


def _has_answered(server: Served, calls: dict[Any, str], enough: int) -> bool:
    return sum(map(server.answered, calls)) >= enough
