"""L2 Context: scenes, and topics inside them.

A scene is a stretch of conversation about one subject. A topic is one turn: what the user said and every reply.
Depth 1 is a root: a raw turn, or a topic fused from others. What a fused topic has absorbed is one deeper, and again
with each further fusion: 2, 3, and 4, which is also where it goes when its scene goes cold. All of it is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from memhop.common.ids import key_hash
from memhop.repo.l4_archive import dated
from memhop.repo.record import (
    REPEATS,
    Count,
    Id,
    Kind,
    Layer,
    Listing,
    Ms,
    Record,
    Unit,
    all_of,
    label,
    project_key,
    project_label,
)

DEEPEST = 4  # depth of what is cold


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
            Listing(scenes_in(self.project), self.last_at),
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
        if not (self.children or self.refined_by or self.edited or self.pinned):
            found.append(Listing(UNREFINED, self.user_at))
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
            project=project_label(self.project),
            flags=REPEATS if self.sources else 0,
        )


DEEPEST = 4  # depth of a topic
NAME_KEYWORDS = 3  # in a scene's name
NAME_CHARS = 120  # of a scene's name, its date aside
_OPENING_CHARS = 40  # of a text that names a scene, for want of keywords

UNREFINED = label("topics", "unrefined", "by a model")  # the group of raw turns that no model has found keywords for
FRESH_SCENES = label("scenes", "fresh", "of dreams")  # the group of scenes that no dream has seen as they are


def fused_id(scene: int, members: tuple[int, ...]) -> int:
    """One fused topic per set of members; `members` ascending."""
    return key_hash("fused", scene, *members)


def scenes_in(project: str) -> int:
    """The group of a project's scenes, by the time of their last turn."""
    return label("scenes", project_key(project))


def statements(topic: Topic) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The summary of a topic, statement by statement, each with the messages it was drawn from.

    What the host wrote has none. Records are not trusted: ends that make no sense give odd pieces, and no error.
    """
    start = end = 0
    cited: list[int] = []
    for following, source in zip(topic.ends, topic.sources, strict=False):
        if following != end and cited:
            yield topic.summary[start:end].strip(), tuple(cited)
            start, cited = end, []
        end = following
        cited.append(source)
    if cited:
        yield topic.summary[start:end].strip(), tuple(cited)
    if rest := topic.summary[end:].strip():
        yield rest, ()


def family(topic: Topic, find: Callable[[int], Topic | None]) -> Iterator[Topic]:
    """The topic, and those it was fused from, and those they were: each once, before its children.

    Children that are gone, damaged or of another scene are left out; a topic that names itself is walked once.
    """
    seen = {topic.id}
    waiting = [topic]
    while waiting:
        found = waiting.pop()
        yield found
        for id_ in reversed(found.children):
            child = None if id_ in seen else find(id_)
            if child is not None and child.scene == topic.scene:
                seen.add(id_)
                waiting.append(child)


def at_depth(topic: Topic, depth: int, find: Callable[[int], Topic | None]) -> Iterator[tuple[Topic, int]]:
    """A topic's family, with the depths they have once the topic is at `depth`: each one below its parent's."""
    depths = {topic.id: depth}
    for member in family(topic, find):
        below = min(DEEPEST, depths[member.id] + 1)
        for id_ in member.children:
            depths.setdefault(id_, below)
        yield member, depths[member.id]


def telling(topics: Iterable[Topic]) -> list[str]:
    """Keywords of these topics, each in one spelling: the most frequent first, equal ones in the order they come."""
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for topic in topics:
        for word in (*topic.user_keywords, *topic.agent_keywords):
            counts[word.casefold()] += 1
            spelling.setdefault(word.casefold(), word)
    return [spelling[word] for word, _ in counts.most_common()]


def topics_of(scene: int) -> int:
    """The group of topics in a scene, by the time of the user's message."""
    return label("topics", scene)


def scene_name(keywords: Sequence[str], text: str, at: int) -> str:
    """A name for people: "walnuts, Mara, cake (8 May 2023)".

    Args:
        keywords: Most telling first; the first three are used, each once whatever its case.
        text: Its beginning stands in where there are no keywords.
        at: A time of the scene, ms; the name ends with its day in UTC, and is that day where nothing else is known.
    """
    telling: dict[str, str] = {}
    for word in keywords:
        telling.setdefault(word.casefold(), word)
    flat = [" ".join(word.split()) for word in telling.values() if not word.isspace()]
    subject = ", ".join(flat[:NAME_KEYWORDS]) or " ".join(text[: 10 * _OPENING_CHARS].split())[:_OPENING_CHARS]
    subject = subject[:NAME_CHARS].strip()
    return f"{subject} ({dated(at)})" if subject else dated(at)
