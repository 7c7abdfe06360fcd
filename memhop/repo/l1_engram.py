"""L1 Engram: one node per scene, weighted hyperedges between nodes.

The agent loop writes two kinds of edge: `temporal` between scenes that follow each other in one session, and
`co_occurrence` between the scene a turn went to and the scenes that its recall brought up. Consolidation adds
`co_occurrence` by shared terms, `semantic` by near vectors, `temporal` for scenes it placed itself, and `causal` from
links.

Forgetting. What a record stores is a value and the time of activity at which it held; what it is worth is worked out
when somebody asks, and is never written back. So decay accumulates whatever consolidation does, and what has faded
does not come back unless the scenes themselves are active again:

    weight(t)     = base * exp(-le * h) + U * u      h   hours from `updated_at` to t, at least 0
    importance(t) = base * exp(-ln * h) + U * u      h   hours from `active_at` to t, at least 0

    le = ln 2 / 60 d     edges halve in 60 days
    ln = ln 2 / 120 d * (1 - 0.5 * min(1, |valence| * arousal))     nodes in 120, in up to 240 with much emotion
    u  in 0..1           use: of a scene, from its counter, see `l6_usage.Usage.strength`; of an edge, of its least
                         used scene
    U  = 0.2             the most that use can add

both cut off at 1. Half-lives of days (35 h for edges is what the first systems of this kind took) forget a conversation
that goes on weekly before its next session; 60 days keep an association of 0.3 above the threshold for five months.
Emotion slows forgetting and never stops it. Two edges that fade do so at one rate, so that which of two is the stronger
does not depend on when it is asked.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import msgspec

from memhop.common.ids import key_hash
from memhop.repo.record import Count, Id, Kind, Listing, Ms, Record, Share, all_of, label

_DAY_MS = 86_400_000
EDGE_DECAY = math.log(2) / (60 * _DAY_MS)  # per ms
NODE_DECAY = math.log(2) / (120 * _DAY_MS)  # per ms, without emotion
CALM = 0.5  # share of a node's decay that the strongest emotion takes away
USE = 0.2  # the most that use adds to a weight or an importance
FORGOTTEN = 0.05  # what is worth less is deleted
COLD = 0.15  # below, what a scene's fused topics absorbed is sunk to the last depth
_LAST = 253_402_300_799_999  # ms; the end of the year 9999

TermHash = Annotated[int, msgspec.Meta(ge=1)]
Feeling = Annotated[float, msgspec.Meta(ge=-1.0, le=1.0)]


def engram_id(scene: int) -> int:
    """One node per scene, so that the scene's id is its natural key."""
    return key_hash("engram", scene)


class Engram(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The association node of a scene. `importance` in 0..1 is its base, at `active_at`.

    Attributes:
        topics: How many the scene had.
        active_at: When something was last said in it; 0 until consolidation looked at it.
        valence, arousal: The mood of what was said, -1..1 and 0..1.
        terms: Hashes of the words that tell most of the scene, by `term_hash`, ascending.
        state: What of the scene was looked at, see `scene_state`; 0: nothing, or no longer all of it.
        cold: What its fused topics absorbed was sunk.
    """

    KIND: ClassVar[Kind] = Kind.ENGRAM
    scene: Id
    importance: Share = 1.0
    created_at: Ms = 0
    topics: Count = 0
    active_at: Ms = 0
    valence: Feeling = 0.0
    arousal: Share = 0.0
    terms: tuple[TermHash, ...] = ()
    state: Count = 0
    cold: bool = False

    @property
    def since(self) -> int:
        """The time from which it fades, in ms."""
        return self.active_at or self.created_at

    @property
    def decay(self) -> float:
        """Its rate, per ms."""
        return NODE_DECAY * (1.0 - CALM * min(1.0, abs(self.valence) * self.arousal))

    def importance_at(self, now_ms: int, use: float = 0.0) -> float:
        """What it is worth, 0..1. `use` in 0..1."""
        return min(1.0, _faded(self.importance, now_ms - self.since, self.decay) + USE * use)

    def listings(self) -> list[Listing]:
        # Orders of the second one follow from the constants above: if they change, so must views.LAYOUT_VERSION.
        falls_under = FORGOTTEN if self.cold else COLD
        found = [
            Listing(all_of(self.KIND), self.created_at),
            Listing(FADING, _falls(self.importance, self.since, self.decay, falls_under)),
        ]
        if self.state:
            found.append(Listing(LOOKED_AT, self.state))
        found += [Listing(nodes_with(term), self.since) for term in self.terms]
        return found


class Hyperedge(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Scenes that belong together. `weight` is in 0..1 and holds at `updated_at`, a time of activity in its scenes."""

    KIND: ClassVar[Kind] = Kind.HYPEREDGE
    relation: str  # co_occurrence | semantic | temporal | causal
    scenes: tuple[Id, ...]  # ascending, at least two
    weight: Share
    updated_at: Ms = 0

    def weight_at(self, now_ms: int, use: float = 0.0) -> float:
        """What it is worth, 0..1. `use` in 0..1."""
        return min(1.0, _faded(self.weight, now_ms - self.updated_at, EDGE_DECAY) + USE * use)

    def listings(self) -> list[Listing]:
        found = [Listing(edges_of(scene), self.updated_at) for scene in self.scenes]
        found.append(Listing(FADING, _falls(self.weight, self.updated_at, EDGE_DECAY, FORGOTTEN)))
        return found


FADING = label("engrams", "fading")  # the group of nodes and edges by when, without use, something is to be done
LOOKED_AT = label("engrams", "looked at")  # the group of nodes by `state`, to ask whether a scene is as it was


def edge_id(relation: str, scenes: tuple[int, ...]) -> int:
    """Equal relation and members give the same edge."""
    return key_hash("hyperedge", relation, *scenes)


def edges_of(scene: int) -> int:
    """The group of edges that touch a scene."""
    return label("edges", scene)


def term_hash(term: str) -> int:
    """An index term in `Engram.terms`."""
    return key_hash("term", term)


def nodes_with(term: int) -> int:
    """The group of nodes that have a term, given by its hash."""
    return label("nodes-with", term)


def scene_state(last_at: int, topics: int) -> int:
    """What tells that a scene is as it was: when something was last said in it, and how many topics it has."""
    return key_hash("scene-state", last_at, topics) >> 1  # the order of a listing has 63 bits


def reinforced(weight: float, by: float) -> float:
    """A weight in 0..1 moved towards 1 by `by` in 0..1: repeated evidence adds up and never overshoots."""
    return weight + (1.0 - weight) * by


def _faded(value: float, ms: int, rate: float) -> float:
    return value * math.exp(-rate * max(0, ms))


def _falls(value: float, since: int, rate: float, under: float) -> int:
    """The time in ms at which a value falls under another one."""
    return since if value <= under else min(_LAST, since + math.ceil(math.log(value / under) / rate))
