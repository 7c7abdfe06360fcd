"""The demo from its first line to its last, with its real crash."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from memhop.cli.demo_data import load_questions, load_turns
from memhop.cli.demo_run import spread
from tests.cli.running import COMMAND, environment, memhop

EVIDENCE_AT_10 = 10  # of 17 lines, by words alone; 12 when this was written
EVIDENCE_AT_5 = 9  # 11


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    ran = memhop("demo", "--json", env={"TMPDIR": str(tmp_path_factory.mktemp("demo"))})
    assert ran.code == 0, ran.err
    assert ran.err == ""
    return ran.json()  # type: ignore[no-any-return]


def test_nothing_acknowledged_is_lost(document: dict[str, Any]) -> None:
    crash = document["crash"]
    assert crash["exit_code"] < 0, "the writer must die by a signal"
    assert crash["lost"] == 0
    assert crash["found"] == crash["acknowledged"] >= int(246 * 0.6)
    assert crash["stored_is_prefix"] is True
    assert crash["unacknowledged"] <= 1
    assert document["ok"] is document["verify"]["ok"] is True
    assert document["verify"]["commit"] >= 246
    assert len(document["verify"]["head_digest"]) == 64


def test_evidence_is_found_and_counted(document: dict[str, Any]) -> None:
    evidence = document["summary"]["evidence"]
    assert evidence["lines"] == 17
    assert evidence["at_1"] <= evidence["at_5"] <= evidence["at_10"] <= 17
    assert evidence["at_10"] >= EVIDENCE_AT_10
    assert evidence["at_5"] >= EVIDENCE_AT_5
    for depth in (1, 5, 10):
        assert evidence[f"at_{depth}"] == sum(one["found"][f"at_{depth}"] for one in document["questions"])
    for one in document["questions"]:
        assert one["found"]["at_10"] == sum(rank is not None for rank in one["ranks"].values())
        for place, hit in enumerate(one["hits"], 1):
            if hit["line"] in one["evidence"]:
                assert one["ranks"][str(hit["line"])] == place


def test_the_question_without_an_answer_has_a_low_confidence(document: dict[str, Any]) -> None:
    """Lower than every question whose answer was found; a paraphrase that words cannot find may be lower still."""
    without = [one["confidence"] for one in document["questions"] if not one["evidence"]]
    found = [one["confidence"] for one in document["questions"] if one["found"]["at_10"]]
    assert len(without) == 1
    assert without[0] < 0.3
    assert without[0] < min(found)
    assert without[0] < 0.3


def test_the_summary_is_of_this_run(document: dict[str, Any]) -> None:
    summary = document["summary"]
    assert summary["turns"] == 246
    assert document["storing"]["calls"] == 246 - document["crash"]["acknowledged"] - document["crash"]["unacknowledged"]
    assert 5 <= summary["scenes"]["count"] <= 123
    assert summary["scenes"]["largest_share"] < 0.3, "no scene swallows the others"
    assert 0 < summary["recall_ms"]["p50"] <= summary["recall_ms"]["p95"] <= summary["recall_ms"]["most"]
    assert summary["file_bytes"] > 50_000
    assert not Path(document["file"]).parent.exists(), "the temporary folder is removed"


def test_the_local_embedder_is_compared_or_offered(document: dict[str, Any]) -> None:
    local = document["local"]
    if not local["available"]:
        assert "memhop[local]" in local["install"]
        return
    assert (local["embedded"], local["failed"]) == (246, 0)
    assert [one["question"] for one in local["questions"]] == [one["question"] for one in document["questions"]]
    assert local["found"]["at_10"]["before"] == document["summary"]["evidence"]["at_10"]
    assert local["found"]["at_10"]["after"] >= EVIDENCE_AT_10


def test_in_plain_text_with_a_poor_encoding_and_a_file_of_your_own(tmp_path: Path) -> None:
    path = tmp_path / "mara.meh"
    ran = memhop("demo", "--file", path, env={"PYTHONIOENCODING": "cp1252"})
    assert ran.code == 0, ran.err
    for wanted in ("nothing lost", "every byte checks out", "evidence in top 10", "head digest", f"kept: {path}"):
        assert wanted in ran.out
    assert ran.out.count("    right answer: ") == 14
    assert memhop("stats", "--json", "--file", path).json()["records"]["message"] == 246
    again = memhop("demo", "--file", path)
    assert (again.code, again.out) == (2, "")
    assert "there already" in again.err


def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"TMPDIR": str(tmp_path)}),
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"MemHop demo")
        deadline = time.monotonic() + 60
        while not list(tmp_path.rglob("*.meh")) and time.monotonic() < deadline:
            time.sleep(0.005)  # until its writer is at work, and so in the demo's hands
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == b""
    assert list(tmp_path.iterdir()) == []


def test_no_folder_for_the_file(tmp_path: Path) -> None:
    assert memhop("demo", "--file", tmp_path / "none" / "a.meh").code == 2


def test_the_story_is_whole() -> None:
    turns, questions = load_turns(), load_questions()
    assert len(turns) == 246
    assert len({turn.session for turn in turns}) == 17
    assert [turn.at for turn in turns] == sorted(turn.at for turn in turns)
    assert all(turn.role == ("agent" if number % 2 else "user") for number, turn in enumerate(turns))
    assert len(questions) == 14
    assert all(0 <= line < len(turns) for question in questions for line in question.evidence)
    assert all(question.asked_at > turns[-1].at for question in questions)


def test_percentiles_are_by_nearest_rank() -> None:
    assert spread([float(value) for value in range(100, 0, -1)]) == (100, 50.0, 95.0, 100.0)
    assert spread([3.0]) == (1, 3.0, 3.0, 3.0)
    assert spread([]) == (0, 0.0, 0.0, 0.0)
