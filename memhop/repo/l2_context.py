"""L2 Context: scenes, and topics inside them.

A scene is a stretch of conversation about one subject. A topic is one turn: what the user said and every reply.
Depth 1 is a root: a raw turn, or a topic fused from others. What a fused topic has absorbed is one deeper, and again
with each further fusion: 2, 3, and 4, which is also where it goes when its scene goes cold. All of it is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.l4_archive import dated
from memhop.repo.record import Count, Id, Kind, Layer, Listing, Ms, Record, Unit, all_of, label


class Scene(Record, frozen=True, kw_only=True, omit_defaults=True):
    """`name` is made of its most telling keywords and its date. Times are message times in ms.

    `fresh` counts messages that no dream has looked at. A scene that is `pinned`, or `edited` by the host, is left
    as it is by consolidation.
    """

    KIND: ClassVar[Kind] = Kind.SCENE
    name: str
    project: str = "default"
    session: str = ""
    created_at: Ms = 0
    last_at: Ms = 0
    fresh: Count = 0
    pinned: bool = False
    edited: bool = False

    def listings(self) -> list[Listing]:
        found = [
            Listing(all_of(self.KIND), self.last_at),
            Listing(label("scenes", self.project), self.last_at),
        ]
        if self.fresh:
            found.append(Listing(FRESH_SCENES, self.last_at))
        return found


class Topic(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One turn, or a fused group (`children` not empty). `messages` are L4 ids in the order they came.

    A fused topic has a summary made of statements: statement k is `summary[ends[k - 1] : ends[k]]`, and `sources[k]` a
    message it was drawn from; one drawn from several messages is named several times, by the same end. `refined_by` is
    the model that last worked on the keywords; "" is the offline method.
    """

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
    sources: tuple[Id, ...] = ()
    ends: tuple[Count, ...] = ()
    refined_by: str = ""
    pinned: bool = False
    edited: bool = False

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


DEEPEST = 4  # depth of a topic
NAME_WORDS = 3  # in a scene's name
FRESH_SCENES = label("scenes", "fresh", "of dreams")  # the group of scenes that no dream has seen as they are


def scene_name(words: Sequence[str], text: str, at: int) -> str:
    """A name for people: up to three telling words, the beginning of `text` where there are none, and the day."""
    subject = ", ".join(words[:NAME_WORDS]) or " ".join(text.split())[:40]
    return f"{subject[:120]} ({dated(at)})"


def fused_id(scene: int, members: tuple[int, ...]) -> int:
    """One fused topic per set of members; `members` ascending."""
    return key_hash("fused", scene, *members)


def topics_of(scene: int) -> int:
    """The group of topics in a scene, by the time of the user's message."""
    return label("topics", scene)
