"""What is known of one thing."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result
from memhop.api.results.procedures import Usage
from memhop.api.results.recall import Explanation


@dataclass(frozen=True, slots=True)
class Named(Result):
    """A thing that an id stands for: its kind, and its words on one line, cut to 200 characters."""

    id: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Related(Result):
    """Another thing, and how it has to do with this one. `id` is None for what has none, such as a session."""

    relation: str
    id: str | None
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Past(Result):
    """Something that happened to it. `by`: who did it, None where nobody said."""

    at: int
    what: str
    by: str | None


@dataclass(frozen=True, slots=True)
class VectorState(Result):
    """Whether there is a vector of it in a space: "present", "pending" (`backfill` makes it) or "failed"."""

    space: str
    state: str


@dataclass(frozen=True, slots=True)
class About(Result):
    """Everything about one thing.

    Attributes:
        kind: note, message, scene, topic, graph, node, edge, fact, card or step.
        layer: L2 to L7.
        text: Its words, whole.
        project: None where the layer has no projects.
        record: As `get` of its namespace returns it.
        origin: Where it comes from: session, scene, topic, import, source, what it was drawn from.
        links: What it names otherwise. linked_by: What names it. Of each relation the first 50; `left_out` counts.
        history: What happened to it, the oldest first.
        usage: Of scenes, notes and cards; else None.
        searched: Whether recall looks at it; and in which spaces it has `vectors`.
        standing: Whether a query would find it; None: no query was given.
    """

    id: str
    kind: str
    layer: str
    text: str
    project: str | None
    at: int
    record: Result
    origin: tuple[Related, ...]
    links: tuple[Related, ...]
    linked_by: tuple[Related, ...]
    left_out: int
    history: tuple[Past, ...]
    usage: Usage | None
    searched: bool
    vectors: tuple[VectorState, ...]
    standing: Explanation | None
