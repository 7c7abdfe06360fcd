"""Memories with something in every layer: a large one, in which everything is large, and small ones.

The large one has 5,000 notes of 10,000 characters, and long texts everywhere else. Texts share most of their words, so
that it is built in a few seconds of CPU time. Small ones tell every text by a mark of theirs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from memhop import DB, Config
from memhop.common.settings import NotesSection, SecretsSection
from tests.support.memories import DAY, MINUTE, NOW, memory

_FILLING = "the quick connection pool was measured again and again before anybody wrote it down, "
_KINDS = (("note", None), ("bug", "open"), ("plan", "pending"), ("decision", "approved"), ("fact", None))
_CONFIG = Config(secrets=SecretsSection(policy="allow"), notes=NotesSection(quotes="off"))


class Size(NamedTuple):
    """How many of everything, and how many characters a note has; other texts are as much shorter as they are long."""

    notes: int
    projects: int
    chars: int
    revisions: int
    turns: int
    scenes: int
    messages: int
    nodes: int
    graphs: int
    facts: int
    cards: int
    steps: int
    sessions: int
    profiles: int
    pages: int


LARGE = Size(
    notes=5_000, projects=300, chars=10_000, revisions=30, turns=60, scenes=28, messages=300, nodes=400, graphs=120,
    facts=100, cards=50, steps=600, sessions=80, profiles=60, pages=150,
)  # fmt: skip
SMALL = Size(
    notes=60, projects=4, chars=160, revisions=3, turns=20, scenes=5, messages=5, nodes=12, graphs=2, facts=3, cards=3,
    steps=8, sessions=4, profiles=2, pages=2,
)  # fmt: skip


class World(NamedTuple):
    """Where a memory is, and the ids of what is in it.

    `project` has the most notes, `note` the most links and revisions, `rev` is an older one of them.
    """

    path: Path
    project: str
    note: str
    rev: int
    others: tuple[str, ...]
    projects: tuple[str, ...]
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
        return self.projects[number]


def open_fast(path: Path) -> DB:
    """Open one without waiting for the disk."""
    return memory(path, durability="none", config=_CONFIG)


def build(path: Path, size: Size = LARGE, mark: str = "") -> World:
    """Write one.

    Args:
        mark: A word that stands in every text.
    """
    with open_fast(path) as db:
        return _Builder(db, size, mark).built(path)


def long_text(head: str, chars: int = LARGE.chars) -> str:
    """A text of so many characters that begins with its own words."""
    return f"{head}: {_FILLING * (chars // len(_FILLING) + 1)}"[:chars]


class _Builder:
    def __init__(self, db: DB, size: Size, mark: str) -> None:
        self.db, self.size, self.mark = db, size, mark

    def text(self, head: str, share: float = 1.0) -> str:
        """A marked text of a share of the characters of a note."""
        return long_text(f"{self.mark} {head}".strip(), max(60, int(self.size.chars * share)))

    def built(self, path: Path) -> World:
        db = self.db
        scene, topics = self._conversation()
        ids, projects = self._notes()
        note = self._famous(ids)
        graph, nodes, edge = self._graphs()
        fact = [
            db.facts.assert_("the pool", "holds", self.text(f"{n} connections", 0.8), valid_from=NOW - DAY + n).id
            for n in range(self.size.facts)
        ][-1]
        for number in range(self.size.cards):
            db.capabilities.import_(card(f"card-{number:03}", self.text(f"pool {number}", 0.15)))
        self._steps()
        for number in range(self.size.profiles):
            preferences = {f"likes {number}": self.text("tea", 0.3)}
            db.profile.update(preferences=preferences, name=f"{self.mark} name {number}")
        summary = db.summary.save("p000", self.text("what there is")).id
        dream = db.dream(scene)
        source = path.with_suffix(".md")
        pages = [f"# {self.mark} heading {n}\n\n{self.text(f'imported {n}', 0.2)}" for n in range(self.size.pages)]
        source.write_text("\n\n".join(pages), "utf-8")
        imported = db.import_(source, project="imported")
        fused = db.topics.merge(topics[-6:-2], self.text("all of it", 0.15)).id
        return World(
            path=path,
            project="p000",
            note=note,
            rev=db.notes.history(note).items[min(2, self.size.revisions - 1)].rev,
            others=tuple(ids[1:400]),
            projects=tuple(projects[1:400]),
            message=db.archive.list(session="long").items[0].id,
            session="long",
            scene=scene,
            scenes=tuple(one.id for one in db.scenes.list(limit=50).items),
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

    def _notes(self) -> tuple[list[str], list[str]]:
        """The ids of all, and their projects. A third is in the first project."""
        ids: list[str] = []
        projects = ["p000" if n % 3 == 0 else f"p{n % self.size.projects:03}" for n in range(self.size.notes)]
        for first in range(0, self.size.notes, 500):
            items = []
            for number in range(first, min(first + 500, self.size.notes)):
                kind, status = _KINDS[number % len(_KINDS)]
                items.append(
                    {
                        "text": self.text(f"note {number} on pool {number % 17}"),
                        "project": projects[number],
                        "kind": kind,
                        "status": status,
                        "tags": [f"{self.mark} tag {number % 40} of many", "pool"],
                        "metadata": {"rationale": self.text(f"reason {number}", 0.04)},
                        "at": NOW - DAY + number,
                    }
                )
            ids += [note.id for note in self.db.remember_many(items)]
        for id in ids[-40:-2:4]:
            self.db.notes.trash(id)
        self.db.notes.archive(ids[-1])
        self.db.remember(self.text("a note of a project of its own"), project=f"{self.mark} own".strip())
        return ids, projects

    def _famous(self, ids: list[str]) -> str:
        """The first note: revised often, linked to many, and many are linked to it."""
        for number in range(self.size.revisions):
            self.db.notes.update(ids[0], text=self.text(f"wording {number}"))
        self.db.notes.update(ids[0], links=ids[1:251])
        for id in ids[1 : min(101, len(ids) // 2)]:
            self.db.notes.link(id, ids[0])
        return ids[0]

    def _conversation(self) -> tuple[str, list[str]]:
        """A scene of many turns, many others, and a session of messages. The topics are those of the first."""
        topics = []
        first = self.db.search(self.text("turn about the pool", 0.4), NOW - DAY, auto_create=True, session="first")
        for number in range(self.size.turns):
            at = NOW - DAY + number * MINUTE
            said = self.text(f"turn {number} about the pool", 0.4)
            turn = self.db.search(said, at, session="first", directed_l2_id=first.scene_id)
            self.db.update(turn.new_topic_id, self.text(f"reply {number}", 0.4), at + 1)
            topics.append(turn.new_topic_id)
        for number in range(self.size.scenes):
            said = f"{self.mark} garden {number} needs water"
            self.db.search(said, NOW - number * MINUTE, session=f"s{number}", auto_create=True)
        self.db.archive.append_many(
            {
                "text": self.text(f"message {n}"),
                "session": "long",
                "role": "user",
                "speaker": f"Mara {self.mark}".strip(),
                "at": NOW - DAY + n,
            }
            for n in range(self.size.messages)
        )
        return first.scene_id, topics

    def _graphs(self) -> tuple[str, list[str], str]:
        """A graph of long nodes around a hub, and small graphs."""
        nodes, knowledge = [], self.db.knowledge
        for number in range(self.size.nodes):
            node = knowledge.put("pools", f"pool {number}", self.text(f"node {number}", 0.3), node_type="pool")
            nodes.append(node.id)
        graph = str(node.graph_id)
        edge = ""
        for number in range(1, self.size.nodes):
            label = long_text(f"{self.mark} label", 150)
            edge = knowledge.connect(graph, [nodes[0], nodes[number]], "part_of", label=label).id
        for number in range(self.size.graphs):
            knowledge.create_graph(f"{self.mark} graph {number} of many with a name that is rather long".strip())
        return graph, nodes, edge

    def _steps(self) -> None:
        for session in ("run", *(f"run {number} {self.mark}".strip() for number in range(self.size.sessions))):
            self.db.trajectory.append_many(
                session,
                [
                    {
                        "type": "tool_call",
                        "payload": json.dumps({"tool": f"tool {n % 5}", "path": self.text(f"file {n}", 0.35)}),
                        "at": NOW - DAY + n,
                    }
                    for n in range(self.size.steps if session == "run" else 2)
                ],
            )


def card(name: str, pool: str) -> dict[str, Any]:
    """A long card on how to measure a pool."""
    steps = [f"step-{number}" for number in range(10)]
    return {
        "format": "memhop-capability/v2",
        "name": name,
        "type": "composite",
        "summary": f"how to measure {pool}",
        "trigger": f"measure {pool[:40]}",
        "resources": [
            {"type": "skill", "name": one, "ref": f"skills/{name}/{one}.md", "description": long_text("s", 300)}
            for one in steps
        ],
        "workflow": {"steps": [{"ref": one, "action": long_text("do", 300)} for one in steps]},
    }
