"""Spreading activation over L1 (Collins and Loftus 1975): which other scenes the hits bring to mind.

Activation starts at the scenes of the hits, flows along hyperedges times what they weigh at the time of the question
and a damping factor, and stops after a few hops or when it is too weak. A scene keeps the strongest activation that
reached it and is visited again only for a stronger one, so that cycles add nothing. In the end it is multiplied by the
scene's importance: what is nearly forgotten does not come to mind. Weights and importance decay, see `repo/l1_engram`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from memhop.repo.l1_engram import Engram, Hyperedge, edges_of, engram_id
from memhop.repo.l2_context import Scene
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import project_key

if TYPE_CHECKING:
    from memhop.repo.store import Store

HOPS: Final = 2
DAMPING: Final = 0.5  # per hop
THRESHOLD: Final = 0.05  # weaker activation is not followed
EDGES_PER_SCENE: Final = 64  # the newest ones


class Activated(NamedTuple):
    """A scene brought up, with how strongly (0..1)."""

    scene: Scene
    activation: float


class Spreading:
    """L1 as one recall sees it, at one time; what was read once is not read again. Hold the store's lock."""

    def __init__(self, store: Store, now_ms: int) -> None:
        self._store = store
        self._now_ms = now_ms
        self._edges: dict[int, list[tuple[float, tuple[int, ...]]]] = {}
        self._uses: dict[int, float] = {}

    def activate(self, start: Mapping[int, float]) -> dict[int, float]:
        """The scenes that the start scenes bring up, and how strongly, 0..1; start scenes are not among them.

        Args:
            start: Scene id to activation in 0..1.
        """
        reached = dict(start)
        frontier = dict(start)
        for _ in range(HOPS):
            following: dict[int, float] = {}
            for scene, activation in sorted(frontier.items()):
                for weight, members in self._edges_of(scene):
                    passed = activation * weight * DAMPING
                    if passed < THRESHOLD:
                        continue
                    for other in members:
                        if passed > reached.get(other, 0.0):
                            reached[other] = following[other] = passed
            frontier = following
        found = {id_: activation * self._importance(id_) for id_, activation in reached.items() if id_ not in start}
        return {id_: activation for id_, activation in found.items() if activation > 0}

    def strongest(self, start: Mapping[int, float], limit: int) -> list[tuple[int, float]]:
        """The same, strongest first, equal ones by id; at most `limit`."""
        return sorted(self.activate(start).items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def associate(self, start: Mapping[int, float], limit: int, projects: Collection[str] = ()) -> list[Activated]:
        """The strongest as scenes, at most `limit`; only those of these projects, by their keys, if there are any."""
        found: list[Activated] = []
        activated = self.activate(start)
        for id_ in sorted(activated, key=lambda one: (-activated[one], one)):
            if len(found) == limit:
                break
            scene = self._store.readable(Scene, id_)
            if scene is not None and (not projects or project_key(scene.project) in projects):
                found.append(Activated(scene, activated[id_]))
        return found

    def _edges_of(self, scene: int) -> list[tuple[float, tuple[int, ...]]]:
        if scene not in self._edges:
            page = self._store.listed(Hyperedge, edges_of(scene), limit=EDGES_PER_SCENE, descending=True)
            self._edges[scene] = [
                (edge.weight_at(self._now_ms, min(map(self._use, edge.scenes))), edge.scenes) for _, edge in page
            ]
        return self._edges[scene]

    def _importance(self, scene: int) -> float:
        engram = self._store.readable(Engram, engram_id(scene))
        return engram.importance_at(self._now_ms, self._use(scene)) if engram is not None else 0.0

    def _use(self, scene: int) -> float:
        if scene not in self._uses:
            counted = self._store.readable(Usage, usage_id(scene))
            self._uses[scene] = counted.strength(self._now_ms) if counted is not None else 0.0
        return self._uses[scene]
