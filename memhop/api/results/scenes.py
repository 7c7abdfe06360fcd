"""Scenes and topics: what was said, in its order and grouped by subject."""

from __future__ import annotations

from dataclasses import dataclass

from memhop.api.results.base import Result
from memhop.api.results.layers import Message


@dataclass(frozen=True, slots=True)
class Statement(Result):
    """One statement of a summary, and the messages it was drawn from; none for what the host wrote."""

    text: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic(Result):
    """One turn of a scene, or a fused group of turns.

    Attributes:
        scene_id: None if a repair could not save the scene.
        depth: 1 to 4. A turn is at 1, and one deeper with each fused topic it is part of; 4 is cold.
        parent: The fused topic it is part of, None if it is part of none.
        children: Of a fused topic: what it was fused from, in order of time. A turn has none.
        user_keywords, agent_keywords: Most telling first. Those of a fused topic are all in the first.
        summary, statements: Of a fused topic, whole and statement by statement.
        message_ids: Its own, in the order they came; those of a fused topic are its members'.
        refined_by: The model that worked on the keywords, None for the offline method and for the host.
        pinned, edited: By the host; dreams leave such a topic as it is.
    """

    id: str
    scene_id: str | None
    depth: int
    user_keywords: tuple[str, ...]
    agent_keywords: tuple[str, ...]
    summary: str | None
    user_at: int
    agent_at: int | None
    message_ids: tuple[str, ...]
    children: tuple[str, ...]
    knowledge: tuple[str, ...]
    parent: str | None
    statements: tuple[Statement, ...]
    refined_by: str | None
    pinned: bool
    edited: bool


@dataclass(frozen=True, slots=True)
class Scene(Result):
    """A stretch of conversation about one subject.

    `topics` counts those of all depths. `fresh` counts messages which no dream has looked at. `pinned` and `edited` are
    the host's doing; dreams leave such a scene as it is.
    """

    id: str
    name: str
    project: str
    session: str | None
    created_at: int
    last_at: int
    topics: int
    fresh: int
    pinned: bool
    edited: bool


@dataclass(frozen=True, slots=True)
class TopicContext(Result):
    """A topic with what was said in it, in order of time; of a fused one, what was said in its members.

    `left_out` messages did not fit, or cannot be read; `topics.messages` has those that can.
    """

    topic: Topic
    messages: tuple[Message, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class SceneContext(Result):
    """A page of a scene. `next` is the cursor of the following page, None at the end."""

    scene: Scene
    topics: tuple[TopicContext, ...]
    next: str | None
