"""Every command, with what can be typed behind it, and a memory in which each of them finds something.

`EXAMPLES` has no command too many and none too few; `tests/cli/test_every_command.py` sees to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memhop import DB
from memhop.common.clock import ManualClock
from tests.support.memories import DAY, NOW

WORDS = "Mara keeps sourdough in Ghent; 我们住在鼓浪屿 ✓ \u202e"  # what cp1252 and ASCII have no signs for
PROJECT = "a project of a quite considerable name, 鼓浪屿 ✓"
WITHOUT_FILE = frozenset({"bench", "completion", "instructions", "demo"})  # and the groups below
GROUPS_WITHOUT_FILE = ("config ", "models ", "mcp clients", "mcp uninstall", "backup verify")

# What is typed behind the name; {…} is an id of the memory. None: not run here, but by tests of its own.
EXAMPLES: dict[str, tuple[str, ...] | None] = {
    "archive": ("{note}",),
    "at": ("1", "recall", "sourdough"),
    "backfill": ("--embedder", "hash"),
    "backup list": None,
    "backup make": ("{folder}/copy.meh",),
    "backup restore": None,
    "backup verify": None,
    "bench": ("--notes", "1000"),
    "brief": (),
    "capability activate": ("bake-bread",),
    "capability delete": ("bake-bread", "--yes"),
    "capability deprecate": ("bake-bread",),
    "capability import": ("{card}",),
    "capability list": (),
    "capability match": ("bake sourdough bread",),
    "capability show": ("bake-bread",),
    "compact": (),
    "completion": ("bash",),
    "config check": (),
    "config path": None,
    "config show": (),
    "crystallize": ("run", "--dry-run"),
    "demo": None,
    "doctor": (),
    "dream": (),
    "dreams diff": ("1",),
    "dreams list": (),
    "dreams show": ("1",),
    "dreams undo": ("1",),
    "duplicates": (),
    "edit": ("{note}", "--text", WORDS + " and rye"),
    "explain": ("sourdough",),
    "export": ("{folder}/export.jsonl",),
    "facts assert": ("Mara", "bakes", WORDS),
    "facts close": ("{fact}",),
    "facts delete": ("{fact}", "--yes"),
    "facts history": ("Mara", "lives in"),
    "facts list": ("--closed",),
    "facts retract": ("{fact}",),
    "forget": ("{note}",),
    "history": ("{pinned}",),
    "hook": None,
    "import": ("{export}",),
    "imports list": (),
    "imports show": ("1",),
    "imports undo": ("1",),
    "instructions": ("--for", "codex"),
    "knowledge around": ("{node}",),
    "knowledge connect": ("{node}", "{other_node}"),
    "knowledge delete": ("bread", "--yes"),
    "knowledge graphs": (),
    "knowledge import": ("{nodes}",),
    "knowledge node": ("{node}",),
    "knowledge nodes": ("bread",),
    "knowledge put": ("bread", "rye", WORDS),
    "knowledge query": ("bread", "--keyword", "sourdough"),
    "link": ("{note}", "{archived}", "--type", "supersedes"),
    "links": ("{pinned}",),
    "list": ("--tier", "all"),
    "maintain": ("--dry-run",),
    "mcp": None,
    "mcp clients": (),
    "mcp install": None,
    "mcp uninstall": None,
    "messages append": (WORDS,),
    "messages list": (),
    "messages show": ("{message}",),
    "models install": None,
    "models list": (),
    "models remove": None,
    "pending": ("--embedder", "hash"),
    "pin": ("{note}",),
    "profile brief": (),
    "profile erase": ("--yes",),
    "profile history": (),
    "profile set": ("name=Ada", "preferences.tea=green"),
    "profile show": (),
    "projects count": ("default",),
    "projects list": (),
    "projects merge": ("{project}", "default"),
    "projects purge": ("{project}", "--force", "--yes"),
    "projects reassign": ("{note}", "--to", "鼓浪屿"),
    "projects rename": ("default", "鼓浪屿"),
    "projects schema": ("default",),
    "projects trash": ("default",),
    "purge": ("--yes",),
    "recall": ("sourdough",),
    "remember": (WORDS,),
    "repair": ("--to", "{folder}/repaired.meh"),
    "restore": ("{trashed}",),
    "revert": ("{pinned}", "1"),
    "scenes delete": ("{scene}", "--yes"),
    "scenes list": (),
    "scenes merge": ("{scene}", "{other_scene}"),
    "scenes pin": ("{scene}",),
    "scenes rename": ("{scene}", "Bread and 鼓浪屿"),
    "scenes show": ("{scene}",),
    "scenes split": ("{scene}", "{topic}"),
    "scenes unpin": ("{scene}",),
    "search": (WORDS,),
    "serve": None,
    "show": ("{note}", "--query", "sourdough"),
    "stats": (),
    "status": None,
    "stop": None,
    "summary check": (),
    "summary save": (WORDS,),
    "summary show": (),
    "token add": ("alice", "--root", "{folder}/served"),
    "token list": ("--root", "{folder}/served"),
    "token revoke": ("0123456789ab", "--root", "{folder}/served"),
    "topics delete": ("{topic}", "--yes"),
    "topics list": ("{scene}",),
    "topics merge": ("{topic}", "{other_topic}"),
    "topics pin": ("{topic}",),
    "topics refine": ("{topic}", "bread"),
    "topics show": ("{topic}",),
    "topics unmerge": ("{fused}",),
    "topics unpin": ("{topic}",),
    "trajectory append": ("run", "tool_call", WORDS),
    "trajectory delete": ("run", "--yes"),
    "trajectory list": ("run",),
    "trajectory prune": ("--keep-last", "1"),
    "trajectory sessions": (),
    "trajectory stats": ("run",),
    "unarchive": ("{archived}",),
    "unlink": ("{pinned}", "{note}"),
    "unpin": ("{pinned}",),
    "update": ("{topic}", WORDS),
    "usage": ("{note}",),
    "verify": (),
    "why-not": ("{note}", "sourdough"),
}

CARD = """{"format": "memhop-capability/v2", "name": "bake-bread", "type": "skill",
 "summary": "Bake a sourdough bread.", "trigger": "bake sourdough bread",
 "resources": [{"type": "skill", "name": "bake-bread", "ref": "skills/bake/SKILL.md", "description": "how to"}]}"""


def fill(path: Path) -> dict[str, str]:
    """Make a memory in which every example finds something. Returns what stands for {…} in the examples."""
    folder = path.parent
    card, nodes, export = folder / "card.json", folder / "nodes.jsonl", folder / "other.jsonl"
    with DB.open(folder / "other.meh", clock=ManualClock(NOW)) as other_memory:
        other_memory.remember("from another memory")
        other_memory.export(export)
    card.write_text(CARD, "utf-8")
    nodes.write_text('{"graph": "bread", "title": "spelt", "content": "an old wheat"}\n', "utf-8")
    clock = ManualClock(NOW)
    with DB.open(path, clock=clock) as db:
        note = db.remember(WORDS, tags=["bread"])
        db.remember(WORDS, project=PROJECT, kind="bug", status="in_progress")
        db.remember(WORDS, project=PROJECT, kind="decision")
        db.summary.save("default", WORDS)
        trashed, archived = db.remember("what is in the trash"), db.remember("what is put aside")
        db.forget(trashed.id)
        db.notes.archive(archived.id)
        pinned = db.remember("what stays", links=[note.id])
        db.notes.pin(pinned.id)
        turns = []
        for number in range(3):
            clock.advance(60_000)
            turns.append(db.search(f"{WORDS} question {number} about the oven", session="kitchen"))
            db.update(turns[-1].new_topic_id, f"the answer {number}")
        clock.advance(DAY)
        other = db.search("a garden wall of brick", session="garden", auto_create=True)
        db.profile.update(name="Mara")
        db.knowledge.put("bread", "sourdough", WORDS)
        first, second = db.knowledge.put("bread", "yeast"), db.knowledge.put("bread", "oven")
        fact = db.facts.assert_("Mara", "lives in", "Ghent")
        for step in range(4):
            db.trajectory.append("run", "tool_call" if step % 2 else "tool_result", WORDS)
        db.capabilities.import_(card)
        fused = db.topics.merge([turns[0].new_topic_id, turns[1].new_topic_id])
        db.import_(export)
        db.dream()
        db.search("which flour for rye bread?", session="kitchen")
        return {
            "note": note.id,
            "trashed": trashed.id,
            "archived": archived.id,
            "pinned": pinned.id,
            "export": str(export),
            "project": PROJECT,
            "message": turns[0].message_id,
            "scene": turns[0].scene_id,
            "other_scene": other.scene_id,
            "topic": turns[2].new_topic_id,
            "other_topic": fused.id,
            "fused": fused.id,
            "node": first.id,
            "other_node": second.id,
            "fact": fact.id,
            "card": str(card),
            "nodes": str(nodes),
            "folder": str(folder),
        }


def arguments(name: str, ids: Mapping[str, str]) -> list[str]:
    """A command with its example."""
    example = EXAMPLES[name]
    assert example is not None
    return [*name.split(), *(word.format_map(ids) if word.startswith("{") else word for word in example)]


def takes_file(command: Any) -> bool:
    """Whether a command works on a memory."""
    return any(parameter.name == "file" for parameter in command.params)
