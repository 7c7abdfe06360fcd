"""The stage "engrams": one node per scene, and edges between scenes that have to do with each other.

A scene is looked at when something was said in it since it last was, or its topics are others. Edges are made from it
to

    co_occurrence   scenes that share telling terms: from a Jaccard of the two sets of 0.15 on; the weight is the cosine
    semantic        scenes whose vectors point the same way, where the file has vectors: models differ in how near
                    unrelated texts are to each other, so a cosine is measured against those of a sample of scenes, as
                    (c - median) / (1 - median), from 0.15 on, and must be among the largest tenth
    temporal        the scene before it in the same session
    causal          scenes that a note with links speaks of together, see `_causal`

at most eight of the first two kinds each. Candidates come from groups (which nodes have this term) and from the vector
index, so that a dream costs as much as is new. An edge holds from the time at which both scenes were last active; of
an edge that is there already the stronger one stays, which of two that fade at one rate is the same at any time: so
a second dream changes nothing, and what has faded does not come back. Nodes and edges that have faded are deleted;
what a fused topic of a scene gone cold has absorbed sinks to depth 4.

What has faded goes first. Then come, scene by scene, its edges and last its node, which says that the scene was looked
at: a dream that ends in between leaves nothing out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from memhop.dream.reading import said_in, topics_in
from memhop.dream.stage import Change
from memhop.dream.vectors import Directions
from memhop.dream.wording import Wording
from memhop.models.offline_distill import feelings
from memhop.repo.l1_engram import (
    COLD,
    FADING,
    FORGOTTEN,
    LOOKED_AT,
    Engram,
    Hyperedge,
    edge_id,
    edges_of,
    engram_id,
    nodes_with,
    scene_state,
    term_hash,
)
from memhop.repo.l2_context import DEEPEST, Scene, Topic, topics_of
from memhop.repo.l4_archive import Message, session_group
from memhop.repo.l4_note import Note
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import Kind, all_of, linked_to

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memhop.dream.stage import Desk
    from memhop.repo.store import Store

TERMS: Final = 24  # of a scene
SHARED: Final = 0.5  # how much the rarity of a term counts, see `wording`
LEAST_SIMILARITY: Final = 0.15  # of an edge by terms or vectors
DEGREE: Final = 8  # edges made from one scene by terms, and by vectors
CANDIDATES: Final = 24  # scenes that are compared
WITH_TERM: Final = 64  # newest scenes with a term that are candidates
NEAREST: Final = 100  # units near a scene, whose scenes are candidates
SAMPLE: Final = 48  # scenes whose cosines say what is near
LEAST_SAMPLE: Final = 8
NEAR_SHARE: Final = 0.9  # of pairs of the sample that are less near
TEMPORAL: Final = 0.3  # weight of an edge to the scene before
CAUSAL: Final = 0.3
LEAST_FEELINGS: Final = 3  # words of feeling in a scene, for it to have a mood
_FELT_CHARS: Final = 2_000  # of one message
_PAGE: Final = 1_000


class Woven(NamedTuple):
    """A scene that is being looked at, its node as it will be, and the change that makes it so."""

    scene: Scene
    engram: Engram
    messages: tuple[int, ...]
    change: Change


class Engrams:
    """See the module."""

    name = "engrams"

    def plan(self, desk: Desk) -> Iterator[Change]:
        woven = self._woven(desk)
        gone: set[int] = set()
        if not desk.scene:
            yield from _fading(desk, woven, gone)
        weaving = _Weaving(desk, woven, gone)
        for one in woven.values():
            if desk.stopping():
                return
            yield from weaving.edges(one)
            yield one.change

    def _woven(self, desk: Desk) -> dict[int, Woven]:
        woven: dict[int, Woven] = {}
        wording = Wording(desk.store)
        for id_ in _changed(desk):
            if desk.stopping():
                break
            scene = desk.store.readable(Scene, id_)
            if scene is None:
                continue
            topics = topics_in(desk.store, id_)
            messages = [message for topic in topics for message in said_in(desk.store, topic)]
            desk.looked_at(1 + len(topics))
            known = desk.store.readable(Engram, engram_id(id_))
            engram = _node(wording, scene, topics, messages, known)
            worth = engram.importance_at(desk.now_ms, _use(desk.store, id_, desk.now_ms))
            if worth < FORGOTTEN:
                desk.skip("the scene is forgotten", 1)
                continue
            sunk = _sinking(topics) if worth < COLD else []
            if worth < COLD:
                engram = msgspec.structs.replace(engram, cold=True)
            change = Change(
                "engram",
                f"the scene has {len(topics)} topics and {len(engram.terms)} telling terms",
                reads=(*([known] if known is not None else []), *sunk),
                puts=(engram, *_at_depth(sunk)),
            )
            woven[id_] = Woven(scene, engram, tuple(message.id for message in messages), change)
        return woven


def _changed(desk: Desk) -> list[int]:
    """Scenes whose node is not of what they are now, oldest first, unless they are forgotten."""
    store = desk.store
    found = []
    forgotten = 0
    after = None
    while page := store.places(all_of(Kind.SCENE), after=after, limit=_PAGE):
        with store.lock:
            groups = store.views.groups
            for last_at, id_ in page:
                state = scene_state(last_at, groups.count(topics_of(id_)))
                known = groups.contains(LOOKED_AT, state, engram_id(id_))
                if desk.scene not in (0, id_) or known:
                    continue
                if _forgotten_already(desk, id_, last_at):
                    forgotten += 1
                else:
                    found.append(id_)
        after = page[-1]
    if forgotten:
        desk.skip("the scene is forgotten", forgotten)
    return found


def _forgotten_already(desk: Desk, scene: int, last_at: int) -> bool:
    """Whether a scene has no node, and would have none for long."""
    if desk.store.file.locate(engram_id(scene)) is not None:
        return False
    fresh = Engram(scene=scene, active_at=last_at)
    return fresh.importance_at(desk.now_ms, _use(desk.store, scene, desk.now_ms)) < FORGOTTEN


def _node(wording: Wording, scene: Scene, topics: list[Topic], messages: list[Message], known: Engram | None) -> Engram:
    counts = wording.counted(messages)
    valence, arousal = _mood(messages)
    base = known or Engram(scene=scene.id, created_at=scene.created_at)
    return msgspec.structs.replace(
        base,
        id=engram_id(scene.id),
        topics=len(topics),
        active_at=scene.last_at,
        valence=valence,
        arousal=arousal,
        terms=tuple(sorted(term_hash(term) for term in wording.top(counts, TERMS, rarity=SHARED))),
        state=scene_state(scene.last_at, len(topics)),
        cold=False,
    )


def _mood(messages: list[Message]) -> tuple[float, float]:
    """Valence and arousal of what was said, by words of feeling; neutral where there are too few to tell."""
    felt = [feeling for message in messages for feeling in feelings(message.text[:_FELT_CHARS])]
    if len(felt) < LEAST_FEELINGS:
        return 0.0, 0.0
    valence, arousal = (sum(feeling[axis] for feeling in felt) / len(felt) for axis in (0, 1))
    return round(valence, 2), round(max(0.0, arousal), 2)


def _use(store: Store, scene: int, now_ms: int) -> float:
    counted = store.readable(Usage, usage_id(scene))
    return counted.strength(now_ms) if counted is not None else 0.0


def _sinking(topics: list[Topic]) -> list[Topic]:
    """What fused topics have absorbed and is not at the last depth yet."""
    return [topic for topic in topics if 1 < topic.depth < DEEPEST and not (topic.pinned or topic.edited)]


def _at_depth(topics: list[Topic]) -> list[Topic]:
    return [msgspec.structs.replace(topic, depth=DEEPEST) for topic in topics]


class _Weaving:
    """Edges from the scenes of one dream. `gone`: nodes and edges that this dream deletes."""

    def __init__(self, desk: Desk, woven: dict[int, Woven], gone: set[int]) -> None:
        self._desk = desk
        self._store = desk.store
        self._woven = woven
        self._gone = gone
        self._made: dict[int, Hyperedge] = {}  # an edge is met from both of its ends
        self._with_term: dict[int, list[int]] = {}
        self._nodes: dict[int, Engram | None] = {id_: one.engram for id_, one in woven.items()}
        self._directions = Directions(desk.store)
        self._centroids: dict[int, NDArray[np.float32] | None] = {}
        self._bar = self._near() if woven and self._directions.any else None
        for id_, one in woven.items():
            for term in one.engram.terms:
                self._with_term.setdefault(term, []).append(id_)
        for term, ids in self._with_term.items():
            ids += [id_ for id_ in self._stored_with(term) if id_ not in woven]
            del ids[WITH_TERM:]

    def edges(self, one: Woven) -> Iterator[Change]:
        """The edges from a scene that are not there yet, or weaker."""
        found: dict[tuple[str, int], float] = {}
        for other, weight in self._by_terms(one):
            found["co_occurrence", other] = weight
        for other, weight in self._by_vectors(one):
            found["semantic", other] = weight
        before = self._before(one)
        if before:
            found["temporal", before] = TEMPORAL
        for other in self._causal(one):
            found["causal", other] = CAUSAL
        for (relation, other), weight in sorted(found.items()):
            change = self._edge(one, relation, other, round(weight, 4))
            if change is not None:
                yield change

    def _edge(self, one: Woven, relation: str, other: int, weight: float) -> Change | None:
        node = self._node(other)
        if node is None:
            return None
        scenes = (min(one.scene.id, other), max(one.scene.id, other))
        at = min(one.engram.since, node.since)
        edge = Hyperedge(id=edge_id(relation, scenes), relation=relation, scenes=scenes, weight=weight, updated_at=at)
        if edge.weight_at(self._desk.now_ms) < FORGOTTEN:
            return None
        known = self._made.get(edge.id)
        if known is None and edge.id not in self._gone:
            known = self._store.readable(Hyperedge, edge.id)
        if known is not None:
            both = max(at, known.updated_at)
            if known.weight_at(both) >= edge.weight_at(both) - 1e-4:
                return None
        self._made[edge.id] = edge
        return Change(
            "edge", f"two scenes belong together: {relation}", reads=(known,) if known is not None else (), puts=(edge,)
        )

    def _by_terms(self, one: Woven) -> list[tuple[int, float]]:
        mine = set(one.engram.terms)
        shared = Counter(id_ for term in one.engram.terms for id_ in self._with_term[term])
        del shared[one.scene.id]
        likely = sorted(shared.items(), key=lambda pair: (-pair[1], pair[0]))[:CANDIDATES]
        found = []
        for id_, _ in likely:
            node = self._node(id_)
            terms = set(node.terms) if node is not None else set()
            both = len(mine & terms)
            if both / max(1, len(mine | terms)) >= LEAST_SIMILARITY:
                found.append((id_, both / sqrt(len(mine) * len(terms))))
        return _best(found)

    def _by_vectors(self, one: Woven) -> list[tuple[int, float]]:
        mine = self._centroid(one.scene.id)
        if self._bar is None or mine is None:
            return []
        median, least = self._bar
        near: Counter[int] = Counter()
        for id_ in self._directions.near(mine, NEAREST):
            message = self._store.readable(Message, id_)
            if message is not None and message.scene not in (0, one.scene.id):
                near[message.scene] += 1
        likely = sorted(near.items(), key=lambda pair: (-pair[1], pair[0]))[:CANDIDATES]
        found = []
        for id_, _ in likely:
            theirs = self._centroid(id_)
            cosine = float(mine @ theirs) if theirs is not None else 0.0
            weight = min(1.0, (cosine - median) / (1.0 - median))
            if cosine > least and weight >= LEAST_SIMILARITY:
                found.append((id_, weight))
        return _best(found)

    def _before(self, one: Woven) -> int:
        """The scene before it in the same session; 0: none."""
        if not one.scene.session or not one.messages:
            return 0
        first = self._store.readable(Message, one.messages[0])
        if first is None:
            return 0
        group, place = session_group(one.scene.session), (first.at, first.id)
        page = self._store.listed(Message, group, after=place, limit=1, descending=True)
        scene = page[0][1].scene if page else 0
        return scene if scene != one.scene.id else 0

    def _causal(self, one: Woven) -> list[int]:
        """Scenes of other messages which a note links to besides a message of this one."""
        found: dict[int, None] = {}
        for id_ in (one.scene.id, *one.messages):
            for _, note in self._store.listed(Note, linked_to(id_), limit=DEGREE):
                for link in note.links:
                    linked = self._store.record(link)
                    scene = linked.scene if isinstance(linked, Message) else link if isinstance(linked, Scene) else 0
                    if scene and scene != one.scene.id:
                        found[scene] = None
        return sorted(found)[:DEGREE]

    def _stored_with(self, term: int) -> list[int]:
        page = self._store.listed(Engram, nodes_with(term), limit=WITH_TERM, descending=True)
        found = [engram for _, engram in page if engram.id not in self._gone]
        for engram in found:
            self._nodes.setdefault(engram.scene, engram)
        return [engram.scene for engram in found]

    def _node(self, scene: int) -> Engram | None:
        if scene not in self._nodes:
            id_ = engram_id(scene)
            self._nodes[scene] = None if id_ in self._gone else self._store.readable(Engram, id_)
        return self._nodes[scene]

    def _centroid(self, scene: int) -> NDArray[np.float32] | None:
        if scene not in self._centroids:
            one = self._woven.get(scene)
            if one is not None:
                messages = one.messages
            else:
                topics = topics_in(self._store, scene)
                messages = tuple(message for topic in topics for message in topic.messages)
            self._centroids[scene] = self._directions.mean(messages)
        return self._centroids[scene]

    def _near(self) -> tuple[float, float] | None:
        """(median, least that is near) of the cosines between scenes, by a sample spread evenly over time."""
        import numpy as np

        places = [id_ for _, id_ in self._store.members(all_of(Kind.SCENE))]
        chosen = places if len(places) <= SAMPLE else [places[i * len(places) // SAMPLE] for i in range(SAMPLE)]
        vectors = [vector for id_ in chosen if (vector := self._centroid(id_)) is not None]
        if len(vectors) < LEAST_SAMPLE:
            return None
        matrix = np.stack(vectors)
        cosines = np.sort((matrix @ matrix.T)[np.triu_indices(len(vectors), 1)])
        median = float(cosines[len(cosines) // 2])
        return (median, float(cosines[int(NEAR_SHARE * len(cosines))])) if median < 1.0 else None


def _best(found: list[tuple[int, float]]) -> list[tuple[int, float]]:
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:DEGREE]


def _fading(desk: Desk, woven: dict[int, Woven], gone: set[int]) -> Iterator[Change]:
    """What has faded below a threshold since: edges and nodes to delete, which join `gone`, and scenes gone cold."""
    store, now = desk.store, desk.now_ms
    due = list(takewhile(lambda place: place[0] <= now, store.members(FADING)))
    for _, id_ in due:
        if desk.stopping():
            return
        desk.looked_at(1)
        if id_ in gone:
            continue
        match store.record(id_):
            case Hyperedge() as edge:
                if edge.weight_at(now, min(_use(store, scene, now) for scene in edge.scenes)) < FORGOTTEN:
                    gone.add(edge.id)
                    yield Change("edge", "the association has faded", reads=(edge,), deletes=(edge,))
            case Engram() as engram if engram.scene not in woven:
                worth = engram.importance_at(now, _use(store, engram.scene, now))
                if worth < FORGOTTEN:
                    change = _forgotten(store, engram, gone)
                    gone.update(record.id for record in change.deletes)
                    yield change
                elif worth < COLD and not engram.cold:
                    sunk = _sinking(topics_in(store, engram.scene))
                    cold = msgspec.structs.replace(engram, cold=True)
                    yield Change(
                        "engram", "the scene has gone cold", reads=(engram, *sunk), puts=(cold, *_at_depth(sunk))
                    )


def _forgotten(store: Store, engram: Engram, gone: set[int]) -> Change:
    """The node and its edges, without those that go already."""
    edges = (edge for edge in store.walk(Hyperedge, edges_of(engram.scene)) if edge.id not in gone)
    whole = (engram, *edges)
    return Change("engram", "the scene is forgotten", reads=whole, deletes=whole)
