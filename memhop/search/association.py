"""Spreading activation over L1 (Collins and Loftus 1975): which other scenes the hits bring to mind.

Activation starts at the scenes of the hits, flows along hyperedges times their weight and a damping factor, and stops
after a few hops or when it is too weak. A scene keeps the strongest activation that reached it, so that cycles add
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from memhop.repo.l1_engram import Hyperedge, edges_of
from memhop.repo.l2_context import Scene

if TYPE_CHECKING:
    from memhop.repo.store import Store

HOPS = 2
DAMPING = 0.5  # per hop
THRESHOLD = 0.05  # weaker activation is not followed
EDGES_PER_SCENE = 64  # the newest ones


class Activated(NamedTuple):
    """A scene brought up, with how strongly (0..1)."""

    scene: Scene
    activation: float


def associate(store: Store, start: Mapping[int, float], limit: int) -> list[Activated]:
    """Scenes that the start scenes bring up, strongest first, equal ones by id; start scenes are not among them.

    Args:
        start: Scene id to activation in 0..1.
    """
    reached = dict(start)
    frontier = dict(start)
    for _ in range(HOPS):
        following: dict[int, float] = {}
        for scene, activation in sorted(frontier.items()):
            for _, edge in store.listed(Hyperedge, edges_of(scene), limit=EDGES_PER_SCENE, descending=True):
                passed = activation * edge.weight * DAMPING
                if passed < THRESHOLD:
                    continue
                for other in edge.scenes:
                    if passed > reached.get(other, 0.0):
                        reached[other] = following[other] = passed
        frontier = following
    found = sorted(
        ((activation, id_) for id_, activation in reached.items() if id_ not in start),
        key=lambda pair: (-pair[0], pair[1]),
    )
    scenes = ((store.readable(Scene, id_), activation) for activation, id_ in found)
    return [Activated(scene, activation) for scene, activation in scenes if scene is not None][:limit]
