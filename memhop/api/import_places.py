"""The last look of an import of an export: references that two records must say of each other.

    a topic names its messages      and each message its topic, and the topic's scene
    a topic names its children      and each child its parent
    a topic cites messages          that are its own, or of topics it was fused from
    a note is superseded by one     that has a link saying so

Erasing and undoing go from one side to the other. A memory keeps both; a file need not, and what only one side says is
taken out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from memhop.repo.l2_context import DEEPEST, Topic
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l4_supersession import claims
from memhop.repo.record import Record
from memhop.repo.references import references, without

if TYPE_CHECKING:
    from memhop.repo.batch import Batch


def is_placed(record: Record) -> bool:
    """Whether a record says something of another one that must say it, too."""
    match record:
        case Topic():
            return True
        case Message():
            return bool(record.topic)
        case Note():
            return bool(record.superseded_by)
    return False


def straighten(batch: Batch, ids: Iterable[int], replace: Callable[[Record, Record | None], object]) -> None:
    """Make these records straight, and those that lose a mention by that.

    Args:
        replace: Puts a record's remainder in its place, or takes it away for None.
    """
    waiting = list(ids)
    while waiting:  # ends: each turn takes references away
        record = batch.record(waiting.pop())
        rest = straight(batch, record) if record is not None else None
        if record is not None and rest is not record:
            replace(record, rest)
            waiting += [id_ for _, id_ in references(record)]


def straight(batch: Batch, record: Record) -> Record | None:
    """The record without what only it says; the same object if there is nothing of the kind. None: nothing is left."""
    match record:
        case Topic():
            return without(record, set(_unanswered(batch, record)))
        case Message() if record.topic:
            topic = batch.find(Topic, record.topic)
            if topic is None or record.id not in topic.messages:
                return msgspec.structs.replace(record, topic=0, scene=0)
            return record if record.scene == topic.scene else msgspec.structs.replace(record, scene=topic.scene)
        case Note() if record.superseded_by:
            if record.id not in claims(batch.find(Note, record.superseded_by)):
                return msgspec.structs.replace(record, superseded_by=0)
    return record


def _unanswered(batch: Batch, topic: Topic) -> Iterator[int]:
    """What a topic names that does not name it."""
    for id_ in topic.messages:
        message = batch.find(Message, id_)
        if message is None or message.topic != topic.id:
            yield id_
    for id_ in topic.children:
        child = batch.find(Topic, id_)
        if child is None or child.parent != topic.id:
            yield id_
    if topic.parent:
        parent = batch.find(Topic, topic.parent)
        if parent is None or topic.id not in parent.children:
            yield topic.parent
    for id_ in dict.fromkeys(topic.sources):
        message = batch.find(Message, id_)
        if message is None or topic.id not in _above(batch, message):
            yield id_


def _above(batch: Batch, message: Message) -> Iterator[int]:
    """The topic of a message, and those it was fused into."""
    id_ = message.topic
    for _ in range(DEEPEST + 1):
        yield id_
        topic = batch.find(Topic, id_)
        if topic is None or not topic.parent:
            return
        id_ = topic.parent
