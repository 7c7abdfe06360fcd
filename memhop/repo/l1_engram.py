"""L1 Engram: one node per scene, weighted hyperedges between nodes.

The agent loop writes two kinds of edge: `temporal` between scenes that follow each other in one session, and
`co_occurrence` between the scene a turn went to and the scenes that its recall brought up.
"""

from __future__ import annotations

from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.record import Id, Kind, Listing, Ms, Record, Share, all_of, label


def engram_id(scene: int) -> int:
    """One node per scene, so that the scene's id is its natural key."""
    return key_hash("engram", scene)


class Engram(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The association node of a scene. `importance` is in 0..1."""

    KIND: ClassVar[Kind] = Kind.ENGRAM
    scene: Id
    importance: Share = 1.0
    created_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(all_of(self.KIND), self.created_at)]


class Hyperedge(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Scenes that belong together. `weight` is in 0..1 and holds at `updated_at`."""

    KIND: ClassVar[Kind] = Kind.HYPEREDGE
    relation: str  # co_occurrence | temporal
    scenes: tuple[Id, ...]  # ascending, at least two
    weight: Share
    updated_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [Listing(edges_of(scene), self.updated_at) for scene in self.scenes]


def edge_id(relation: str, scenes: tuple[int, ...]) -> int:
    """Equal relation and members give the same edge."""
    return key_hash("hyperedge", relation, *scenes)


def edges_of(scene: int) -> int:
    """The group of edges that touch a scene."""
    return label("edges", scene)


def reinforced(weight: float, by: float) -> float:
    """A weight in 0..1 moved towards 1 by `by` in 0..1: repeated evidence adds up and never overshoots."""
    return weight + (1.0 - weight) * by
