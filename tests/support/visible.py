"""All that a caller can see of the derived structures: what must not depend on how they came to be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memhop import DB
from tests.support import memories

QUERIES = (
    "kayak",
    "where do slugs eat lettuce?",
    "猫 北京",
    "main.py",
    "kayack",
    "cafe",
    "yesterday",
    "piano kayak shed",
)
OPTIONS: tuple[Mapping[str, Any], ...] = (
    {},
    {"fusion": "rrf"},
    {"tier": "trashed"},
    {"project": "one"},
    {"tags": ["two"]},
)


def seen(
    db: DB, queries: Iterable[str] = QUERIES, options: Iterable[Mapping[str, Any]] = OPTIONS, *, page: int = 3
) -> dict[str, Any]:
    """Every listing, in pages of this size, the counts, and each query with each of the options."""

    def every(listing: Any, **arguments: Any) -> list[Any]:
        return memories.every(listing, page=page, **arguments)

    scenes = every(db.scenes.list)
    stats = db.stats()
    shown: dict[str, Any] = {
        "notes": every(db.notes.list, tier="all"),
        "one": every(db.notes.list, project="one", tier="all", sort="at"),
        "tagged": every(db.notes.list, tags=["two"], tier="all", sort="at"),
        "messages": every(db.archive.list),
        "sessions": [every(db.archive.list, session=name) for name in ("one", "two")],
        "scenes": scenes,
        "topics": [every(lambda scene=scene, **page: db.topics.list(scene.id, **page)) for scene in scenes],
        "graphs": [(graph, db.knowledge.nodes(graph.id, limit=100)) for graph in every(db.knowledge.graphs)],
        "steps": [every(lambda name=name, **page: db.trajectory.read(name, **page)) for name in ("one", "two")],
        "profile": db.profile.get(),
        "pending": db.pending(),
        "counts": (stats.records, stats.units, stats.spaces, stats.commit, stats.unreadable),
    }
    choices = tuple(options)
    for query in queries:
        for chosen in choices:
            found = db.recall(query, limit=50, explain=True, **chosen)
            hits = [(hit.id, hit.text, hit.score, hit.parts, hit.ranks) for hit in found.hits]
            brought = [(scene.id, scene.activation) for scene in found.associated]
            shown[f"{query} {chosen}"] = (hits, found.reason, found.confidence, found.channels, brought)
    return shown
