"""L2 Context: scenes, and topics inside them.

A scene is a stretch of conversation about one subject. A topic is one turn: what the user said and every reply.
Depth 1 is a raw turn; 2, 3 and 4 are reached when consolidation absorbs it (kept, colder).
"""

from __future__ import annotations

from typing import ClassVar

from memhop.repo.record import Id, Kind, Layer, Listing, Ms, Record, Unit, all_of, label


class Scene(Record, frozen=True, kw_only=True, omit_defaults=True):
    """`name` is made of the first turn's keywords and its date. Times are message times in ms."""

    KIND: ClassVar[Kind] = Kind.SCENE
    name: str
    project: str = "default"
    session: str = ""
    created_at: Ms = 0
    last_at: Ms = 0

    def listings(self) -> list[Listing]:
        return [
            Listing(all_of(self.KIND), self.last_at),
            Listing(label("scenes", self.project), self.last_at),
        ]


class Topic(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One turn, or a fused group (`children` not empty). `messages` are L4 ids in the order they came."""

    KIND: ClassVar[Kind] = Kind.TOPIC
    scene: Id  # 0: its scene was lost to damage
    project: str = "default"
    depth: int = 1
    parent: Id = 0
    children: tuple[Id, ...] = ()
    user_keywords: tuple[str, ...] = ()
    agent_keywords: tuple[str, ...] = ()
    summary: str = ""
    user_at: Ms = 0
    agent_at: Ms = 0  # 0 until the first reply
    messages: tuple[Id, ...] = ()
    graphs: tuple[Id, ...] = ()

    def listings(self) -> list[Listing]:
        found = [Listing(all_of(self.KIND), self.user_at)]
        if self.scene:
            found.append(Listing(topics_of(self.scene), self.user_at))
        return found

    def unit(self) -> Unit | None:
        if not self.summary:
            return None  # a raw turn is found through its messages
        return Unit(
            text=self.summary,
            plain=self.summary,
            layer=Layer.TOPICS,
            at=self.user_at,
            scene=label("scene", self.scene) if self.scene else 0,
            project=label("project", self.project),
        )


def topics_of(scene: int) -> int:
    """The group of topics in a scene, by the time of the user's message."""
    return label("topics", scene)
