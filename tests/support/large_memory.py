"""A memory in which everything is large: 5,000 notes of 10,000 characters, and long texts in every other layer.

Texts share most of their words, so that it is built in a few seconds of CPU time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from memhop import DB, Config
from memhop.common.settings import NotesSection, SecretsSection
from tests.support.memories import DAY, MINUTE, NOW, memory

NOTES = 5_000
PROJECTS = 300
CHARS = 10_000
NODES = 400
STEPS = 600
TURNS = 60
_FILLING = "the quick connection pool was measured again and again before anybody wrote it down, "
_KINDS = (("note", None), ("bug", "open"), ("plan", "pending"), ("decision", "approved"), ("fact", None))
_CONFIG = Config(secrets=SecretsSection(policy="allow"), notes=NotesSection(quotes="off"))


class Large(NamedTuple):
    """Where it is, and the ids of what is in it. `project` has the most notes, `note` the most links and revisions,
    `rev` is an older one of them."""

    path: Path
    project: str
    note: str
    rev: int
    others: tuple[str, ...]
    archived: str
    trashed: str
    message: str
    session: str
    scene: str
    scenes: tuple[str, ...]
    topic: str
    topics: tuple[str, ...]
    fused: str
    run: str
    graph: str
    node: str
    nodes: tuple[str, ...]
    edge: str
    fact: str
    card: str
    dream: int
    imported: int
    summary: str

    def project_of(self, number: int) -> str:
        """The project of `others[number]`."""
        return _project(number + 1)


def _project(number: int) -> str:
    return "p000" if number % 3 == 0 else f"p{number % PROJECTS:03}"


def long_text(head: str, chars: int = CHARS) -> str:
    """A text of so many characters that begins with its own words."""
    return f"{head}: {_FILLING * (chars // len(_FILLING) + 1)}"[:chars]


def open_large(path: Path) -> DB:
    """Open it, without waiting for the disk."""
    return memory(path, durability="none", config=_CONFIG)


def build(path: Path) -> Large:
    """Write it, about 80 MB."""
    with open_large(path) as db:
        scene, topics = _conversation(db)
        ids: list[str] = []
        for first in range(0, NOTES, 500):
            items = []
            for number in range(first, first + 500):
                kind, status = _KINDS[number % len(_KINDS)]
                items.append(
                    {
                        "text": long_text(f"note {number} on pool {number % 17}"),
                        "project": _project(number),
                        "kind": kind,
                        "status": status,
                        "tags": [f"tag {number % 40} of many", "pool"],
                        "metadata": {"rationale": long_text(f"reason {number}", 400)},
                        "at": NOW - DAY + number,
                    }
                )
            ids += [note.id for note in db.remember_many(items)]
        note = _famous(db, ids)
        archived, trashed = ids[-1], ids[-2]
        for id in ids[-40:-2:2]:
            db.notes.trash(id)
        db.notes.archive(archived)
        db.notes.trash(trashed)
        graph, nodes, edge = _graph(db)
        fact = [
            db.facts.assert_("the pool", "holds", long_text(f"{n} connections", 8_000), valid_from=NOW - DAY + n).id
            for n in range(100)
        ][-1]
        _cards(db)
        _steps(db)
        for number in range(60):
            db.profile.update(preferences={f"likes {number}": long_text("tea", 3_000)}, name=f"name {number}")
        summary = db.summary.save("p000", long_text("what there is")).id
        dream = db.dream(scene)
        source = path.with_suffix(".md")
        source.write_text(
            "\n\n".join(f"# heading {n}\n\n{long_text(f'imported {n}', 2_000)}" for n in range(150)), "utf-8"
        )
        imported = db.import_(source, project="imported")
        fused = db.topics.merge(topics[-6:-2], long_text("all of it", 1_500)).id
        scenes = tuple(one.id for one in db.scenes.list(limit=50).items)
        message = db.archive.list(session="long").items[0].id
        return Large(
            path=path,
            project="p000",
            note=note,
            rev=db.notes.history(note).items[2].rev,
            others=tuple(ids[1:400]),
            archived=archived,
            trashed=trashed,
            message=message,
            session="long",
            scene=scene,
            scenes=scenes,
            topic=topics[0],
            topics=tuple(topics),
            fused=fused,
            run="run",
            graph=graph,
            node=nodes[0],
            nodes=tuple(nodes),
            edge=edge,
            fact=fact,
            card="card-000",
            dream=dream.number or 1,
            imported=imported.number or 1,
            summary=summary,
        )


def _famous(db: DB, ids: list[str]) -> str:
    """The first note: revised often, linked to many, and many are linked to it."""
    for number in range(30):
        db.notes.update(ids[0], text=long_text(f"wording {number}"), status=None)
    db.notes.update(ids[0], links=ids[1:251])
    for id in ids[1:101]:
        db.notes.link(id, ids[0])
    return ids[0]


def _conversation(db: DB) -> tuple[str, list[str]]:
    """One scene of many long turns, many others, and a session of long messages. The topics are those of the first."""
    topics = []
    first = db.search(long_text("turn 0 about the pool", 4_000), NOW - DAY, auto_create=True, session="first")
    for number in range(TURNS):
        at = NOW - DAY + number * MINUTE
        turn = db.search(
            long_text(f"turn {number} about the pool", 4_000), at, session="first", directed_l2_id=first.scene_id
        )
        db.update(turn.new_topic_id, long_text(f"reply {number}", 4_000), at + 1)
        topics.append(turn.new_topic_id)
    for number in range(28):
        db.search(f"garden {number} needs water", NOW - number * MINUTE, session=f"s{number}", auto_create=True)
    db.archive.append_many(
        {"text": long_text(f"message {n}"), "session": "long", "role": "user", "speaker": "Mara", "at": NOW - DAY + n}
        for n in range(300)
    )
    return first.scene_id, topics


def _graph(db: DB) -> tuple[str, list[str], str]:
    """One graph of hundreds of long nodes around a hub, and many small graphs."""
    nodes = []
    for number in range(NODES):
        node = db.knowledge.put("pools", f"pool {number}", long_text(f"node {number}", 3_000), node_type="pool")
        nodes.append(node.id)
    graph = str(node.graph_id)
    edge = ""
    for number in range(1, NODES):
        edge = db.knowledge.connect(graph, [nodes[0], nodes[number]], "part_of", label=long_text("label", 150)).id
    for number in range(120):
        db.knowledge.create_graph(f"graph {number} of many with a name that is rather long")
    return graph, nodes, edge


def _cards(db: DB) -> None:
    for number in range(50):
        db.capabilities.import_(card(f"card-{number:03}", str(number)))


def card(name: str, pool: str) -> dict[str, Any]:
    """A long card."""
    steps = [f"step-{number}" for number in range(10)]
    return {
        "format": "memhop-capability/v2",
        "name": name,
        "type": "composite",
        "summary": long_text(f"how to measure pool {pool}", 1_500),
        "trigger": f"measure pool {pool}",
        "resources": [
            {"type": "skill", "name": one, "ref": f"skills/{name}/{one}.md", "description": long_text("s", 300)}
            for one in steps
        ],
        "workflow": {"steps": [{"ref": one, "action": long_text("do", 300)} for one in steps]},
    }


def _steps(db: DB) -> None:
    for session in ("run", *(f"run {number}" for number in range(80))):
        count = STEPS if session == "run" else 2
        db.trajectory.append_many(
            session,
            [
                {
                    "type": "tool_call",
                    "payload": json.dumps({"tool": f"tool {n % 5}", "path": long_text(f"file {n}", 3_500)}),
                    "at": NOW - DAY + n,
                }
                for n in range(count)
            ],
        )
