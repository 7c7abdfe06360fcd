"""Who comes from the Go library finds a call for each of its methods and tools in the guide, and the call exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import memhop

GUIDE = (Path(__file__).resolve().parent.parent / "INTEGRATION_GUIDE.md").read_text("utf-8")
METHODS = (
    "Open OpenWithEncoder Search Update Dream Checkpoint Close IsClosed HasActiveScenes GetL0 UpdateL0 ListScenes "
    "SceneContext ActiveSceneIDs MergeScenes DeleteTopic DeleteScene RefineTopicKeywords GetL3 ListL3 ImportL3 "
    "UpdateL3 DeleteL3 QueryL3Nodes QueryL3Subgraph SearchL4 GetArchive AppendL4Message ImportCapability GetCapability "
    "UpdateCapability DeleteCapability ListCapabilities ActivateCapability RecordCapabilityUsage AppendTrajectory "
    "ReadTrajectory DeleteTrajectory TrajectoryStats Crystallize"
).split()
TOOLS = [
    f"memhop_{name}"
    for name in (
        "search update dream checkpoint status profile_get profile_update scene_list scene_active_list scene_topics "
        "scene_merge knowledge_get knowledge_list knowledge_import knowledge_update knowledge_delete knowledge_nodes "
        "knowledge_subgraph archive_search archive_get capability_import capability_get capability_delete "
        "capability_list capability_activate capability_usage capability_update trajectory_append trajectory_read "
        "trajectory_stats trajectory_delete crystallize"
    ).split()
]


def rows() -> list[list[str]]:
    section = GUIDE.partition("## Coming from the Go library\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1:]]


def test_every_method_and_tool_is_in_the_table() -> None:
    assert len(TOOLS) == 32
    assert sorted(row[0] for row in rows()) == sorted(METHODS)
    assert {tool for row in rows() if (tool := row[1]) != "–"} == set(TOOLS)


def resolve(call: str, db: memhop.DB) -> Any:
    found: Any = {"db": db, "memhop": memhop}[call.partition(".")[0]]
    for name in call.split(".")[1:]:
        found = getattr(found, name)
    return found


CALLS = sorted({call for row in rows() for call in re.findall(r"`((?:db|memhop)\.[\w.]+)`", " ".join(row[2:]))})


@pytest.mark.parametrize("call", CALLS)
def test_every_call_in_the_table_is_there(call: str, tmp_path: Path) -> None:
    with memhop.DB.open(tmp_path / "a.meh") as db:
        assert callable(resolve(call, db)) or call == "db.closed"


def test_each_row_names_a_call() -> None:
    assert len(CALLS) > 30
    for row in rows():
        assert re.match(r"`(?:db|memhop)\.", row[2]), row


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_options_in_the_notes_are_arguments(row: list[str], tmp_path: Path) -> None:
    (call, *_) = re.findall(r"`((?:db|memhop)\.[\w.]+)`", row[2])
    with memhop.DB.open(tmp_path / "a.meh") as db:
        for option in re.findall(r"`(\w+)=", row[3]):
            assert option in inspect.signature(resolve(call, db)).parameters, f"{call}({option}=)"
