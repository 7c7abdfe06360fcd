"""Deleting a scene or a topic: what goes with it, for good and in one commit.

A topic takes along the topics it was fused from and what was said in all of them; a scene, its topics. What is made
of messages goes with them, see `erasure`. A topic that had the deleted one among its children stays without it, and
with a summary of what is left. A damaged scene or topic can be deleted too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from memhop.api import results
from memhop.api.erasure import Erasure
from memhop.api.moving import messages_in, messages_of_topic
from memhop.common.config import LIMITS
from memhop.common.errors import InvalidRequest, NotFound
from memhop.common.ids import to_hex
from memhop.repo.batch import Batch
from memhop.repo.l2_context import Topic, topics_of
from memhop.repo.record import Kind

if TYPE_CHECKING:
    from memhop.repo.store import Store


def delete_scene(store: Store, id_: int, *, dry_run: bool) -> results.Deleted:
    """See `Scenes.delete`."""
    if dry_run:
        with store.lock:
            return _scene(store, Batch(store), id_, dry_run)
    with store.writing() as batch:
        return _scene(store, batch, id_, dry_run)


def delete_topic(store: Store, id_: int, *, dry_run: bool) -> results.Deleted:
    """See `Topics.delete`."""
    if dry_run:
        with store.lock:
            return _topic(store, Batch(store), id_, dry_run)
    with store.writing() as batch:
        return _topic(store, batch, id_, dry_run)


def _scene(store: Store, batch: Batch, id_: int, dry_run: bool) -> results.Deleted:
    _check(store, Kind.SCENE, id_)
    topics = [topic for _, topic in store.members(topics_of(id_))]
    said = set(messages_in(store, id_))
    for topic in store.walk(Topic, topics_of(id_)):
        said |= set(messages_of_topic(store, topic))
    return _erase(store, batch, id_, [*topics, *sorted(said), id_], dry_run)


def _topic(store: Store, batch: Batch, id_: int, dry_run: bool) -> results.Deleted:
    _check(store, Kind.TOPIC, id_)
    topic = store.readable(Topic, id_) or Topic(id=id_, scene=0)
    closure = _closure(topic, store.walk(Topic, topics_of(topic.scene)) if topic.scene else store.scan(Topic))
    said = {message for member in closure for message in messages_of_topic(store, member)}
    return _erase(store, batch, id_, [*(member.id for member in closure), *sorted(said)], dry_run)


def _check(store: Store, kind: Kind, id_: int) -> None:
    """There is such a record, damaged or not. Raises NotFound."""
    located = store.file.locate(id_)
    if located is None or located[0] != kind:
        raise NotFound(f"no {kind.name.lower()} has the id {to_hex(id_)}", field="id")


def _closure(topic: Topic, around: Iterable[Topic]) -> list[Topic]:
    """The topic and all below it, by what it and they name as children, and by what names them as parent."""
    there = {other.id: other for other in around}
    below: dict[int, list[int]] = {}
    for other in there.values():
        below.setdefault(other.parent, []).append(other.id)
    found = {topic.id: topic}
    waiting = [topic]
    while waiting:
        current = waiting.pop()
        for id_ in (*current.children, *below.get(current.id, ())):
            if id_ in there and id_ not in found:
                found[id_] = there[id_]
                waiting.append(there[id_])
    return list(found.values())


def _erase(store: Store, batch: Batch, id_: int, ids: list[int], dry_run: bool) -> results.Deleted:
    """Erase records, the last of `ids` first."""
    if len(ids) > LIMITS.batch_items:
        raise InvalidRequest(f"{len(ids):,} records would go", field="id", allowed=f"at most {LIMITS.batch_items:,}")
    erasure = Erasure(store, batch)
    erasure.erase(ids)
    counts = Counter(kind.name.lower() for kind in erasure.gone.values())
    messages = sorted(gone for gone, kind in erasure.gone.items() if kind is Kind.MESSAGE)
    staying = [record for other, record in batch.records.items() if other not in erasure.gone]
    done = "would be erased; nothing was changed" if dry_run else "erased for good; compact() removes the bytes"
    return results.Deleted(
        id=to_hex(id_),
        dry_run=dry_run,
        erased=dict(sorted(counts.items())),
        changed=dict(sorted(Counter(record.KIND.name.lower() for record in staying).items())),
        message_ids=tuple(map(to_hex, messages[: LIMITS.results])),
        reason="; ".join((done, *erasure.remarks())),
    )
