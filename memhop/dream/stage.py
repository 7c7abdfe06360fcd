"""What a stage of a dream is: it looks at the memory, perhaps asks a model, and proposes changes. It never writes.

A change is applied whole or not at all, and only if every record it was planned on is still what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from memhop.models.chat import ChatModel
    from memhop.repo.record import Record
    from memhop.repo.store import Store


class Change(NamedTuple):
    """One proposal.

    Attributes:
        what: One word for counting, such as "topic", "edge", "scene", "line".
        why: One line for people: what was found, and what follows from it.
        reads: Records as they were when this was planned, all of `puts` that exist already among them. If one of them
            is another by now, the change is skipped.
        puts: Records to write, ids filled in.
        deletes: Derived records to delete: engrams, hyperedges, profile lines. Nothing else is ever deleted.
    """

    what: str
    why: str
    reads: tuple[Record, ...] = ()
    puts: tuple[Record, ...] = ()
    deletes: tuple[Record, ...] = ()


class Desk(NamedTuple):
    """What a stage works with. Nothing of it may be used to write.

    Attributes:
        store: For reading. Its lock is not held; take it for views, and never while a model is asked.
        chat: The model for text work, metered; None: the offline forms are used.
        now_ms: When this dream began; a stage has no other clock.
        scene: The one scene asked for; 0: all that are fresh.
        min_topics: Topics of depth 1 that a scene needs before some of them are fused.
        looked_at: Call with a number of records for the report's `read`.
        skip: Call with a reason in a few words, for every thing that was considered and is left, and with how many
            (default 1). Equal reasons are counted together.
        stopping: Whether the dream is to end: a stage returns at the next opportunity.
    """

    store: Store
    chat: ChatModel | None
    now_ms: int
    scene: int
    min_topics: int
    looked_at: Callable[[int], None]
    skip: Callable[[str, int], None]
    stopping: Callable[[], bool]


class Stage(Protocol):
    """One stage. Stages run one after another, each on what those before it have written.

    A stage that plans on all of a scene, and then says that the scene has been looked at, sets `by_scene = True`: what
    it proposes about one scene, in a row, is made in one commit, or, if the dream ends in the middle of it, not at all.
    """

    @property
    def name(self) -> str:
        """Short, such as "compress"."""
        ...

    def plan(self, desk: Desk) -> Iterator[Change]:
        """Changes, as they are found. Between two of them others may write, and earlier ones are being applied.

        Same records, same clock, same model replies: same changes in the same order.

        Raises:
            ChatError: the model cannot be used at all. Replies that do not do are skipped, not raised.
        """
        ...
