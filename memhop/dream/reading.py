"""Walks through records that several stages take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from memhop.repo.l2_context import Topic, topics_of
from memhop.repo.l4_archive import Message
from memhop.repo.record import Record

if TYPE_CHECKING:
    from memhop.repo.store import Store

R = TypeVar("R", bound=Record)


def all_listed(store: Store, record_type: type[R], group: int, *, only: int = 0) -> Iterator[R]:
    """The records that are in a group now, in its order, each as it is when its turn comes; gone ones are left out.

    Args:
        only: The one member that is asked for; 0: all.
    """
    for _, id_ in list(store.members(group)):
        if only in (0, id_) and (record := store.readable(record_type, id_)) is not None:
            yield record


def topics_in(store: Store, scene: int) -> list[Topic]:
    """All topics of a scene, by the time of the user's message."""
    return list(all_listed(store, Topic, topics_of(scene)))


def said_in(store: Store, topic: Topic) -> list[Message]:
    """The messages of a topic in the order of time, those of one time in the order they came."""
    found = [message for id_ in topic.messages if (message := store.readable(Message, id_)) is not None]
    return sorted(found, key=lambda message: message.at)
