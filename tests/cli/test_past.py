"""`memhop at WHEN COMMAND`: the same commands, on the memory as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop import DB
from memhop.cli.memory import open_memory
from memhop.cli.output import Output
from memhop.common.clock import ManualClock, to_iso
from tests.cli.running import memhop
from tests.support.memories import DAY, NOW

WHERE = "where does Mara live?"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Mara lives in Rome (commit 1), then in Oslo (commit 2, ten days later)."""
    path = tmp_path / "agent.meh"
    clock = ManualClock(NOW)
    with DB.open(path, clock=clock) as db:
        db.remember("Mara lives in Rome", external_id="home")
        clock.advance(10 * DAY)
        db.remember("Mara lives in Oslo", external_id="home")
    return path


def test_recall_answers_as_it_did_then_and_writes_nothing(memory: Path) -> None:
    with DB.open(memory, mode="read") as db, db.at(1) as then:
        wanted = then.recall(WHERE, explain=True).to_dict()
    before = memory.read_bytes()
    found = memhop("at", "1", "recall", WHERE, "--explain", "--json", "--file", memory)
    assert (found.code, found.err) == (0, "")
    assert found.json() == wanted
    assert [hit["text"] for hit in wanted["hits"]] == ["Mara lives in Rome"]
    assert memory.read_bytes() == before


def test_a_time_means_the_newest_commit_up_to_then(memory: Path) -> None:
    assert memhop("at", to_iso(NOW + 9 * DAY), "stats", "--json", "--file", memory).json()["commit"] == 1
    out = Output(as_json=True)
    for moment, commit in (("0", 0), (" 2 ", 2), ("2100-01-01", 2), ("1999-12-31", 0), (to_iso(NOW), 1)):
        with open_memory(out, memory, purpose="a test", moment=moment) as db:
            assert db.stats().commit == commit


def test_nothing_found_then_is_1(memory: Path) -> None:
    ran = memhop("at", "1", "recall", "Oslo", "--file", memory)
    assert (ran.code, ran.out) == (1, "")
    assert "nothing found" in ran.err


def test_a_time_that_compaction_dropped_says_from_when_on_the_past_is_there(memory: Path) -> None:
    with DB.open(memory, clock=ManualClock(NOW + 20 * DAY)) as db:
        db.compact()
        db.remember("Mara moved again")
    ran = memhop("at", to_iso(NOW + DAY), "recall", WHERE, "--file", memory)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert "compaction" in ran.err
    assert f"of {to_iso(NOW + 20 * DAY)}, or later" in ran.err
    document = memhop("at", "1", "recall", WHERE, "--json", "--file", memory)
    assert (document.code, document.json()["error"]) == (2, "InvalidRequest")


def test_a_missing_file_is_told_as_everywhere(tmp_path: Path) -> None:
    ran = memhop("at", "1", "stats", "--file", tmp_path / "none.meh")
    assert ran.code == 1
    assert "there is no memory" in ran.err
    assert list(tmp_path.iterdir()) == []
