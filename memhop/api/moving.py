"""Moving topics between scenes: merging scenes, and splitting one.

Everything that names a scene follows its topics in the same commit: messages, the engram, hyperedges, the usage
counter, links of notes, and what else refers to it. A scene that was merged into another is purged, since its name may
hold words of messages, and later erasing one of those would not look for it any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from memhop.api.erasure import Erasure
from memhop.common.config import LIMITS
from memhop.common.errors import InvalidRequest
from memhop.common.ids import to_hex
from memhop.repo.l1_engram import Engram, Hyperedge, edge_id, edges_of, engram_id, reinforced
from memhop.repo.l2_context import Scene, Topic, family, scene_name, telling, topics_of
from memhop.repo.l4_archive import Message, messages_of
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import Layer, label, linked_to, project_key
from memhop.repo.references import redirected

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store


def merge(store: Store, batch: Batch, primary: int, secondaries: Sequence[int]) -> Scene:
    """Move all that is in the secondary scenes into the primary one; see `Scenes.merge`."""
    into = store.get(Scene, primary, field="primary")
    others = [store.get(Scene, id_, field="secondaries") for id_ in secondaries]
    for other in others:
        if project_key(other.project) != project_key(into.project):
            raise InvalidRequest(
                f"scene {to_hex(other.id)} belongs to project {other.project[:40]!r}",
                field="secondaries",
                allowed=f"scenes of one project, here {into.project[:40]!r}",
            )
    said = {id_ for other in others for id_ in messages_in(store, other.id)}
    topics = [topic for other in others for topic in store.walk(Topic, topics_of(other.id))]
    _check_size(len(said) + len(topics), "secondaries")
    _move(store, batch, topics, said, primary)
    to = dict.fromkeys((other.id for other in others), primary)
    stale = _redirect(store, batch, to)
    _merge_engrams(batch, primary, [other.id for other in others])
    _merge_usage(store, batch, primary, [other.id for other in others])
    into = batch.put(
        msgspec.structs.replace(
            into,
            created_at=min(into.created_at, *(other.created_at for other in others)),
            last_at=max(into.last_at, *(other.last_at for other in others)),
            fresh=max(1, into.fresh + sum(other.fresh for other in others)),
        )
    )
    Erasure(store, batch).erase([*stale, *to])
    return into


def split(store: Store, batch: Batch, id_: int, topic_ids: Collection[int], name: str | None) -> Scene:
    """Move some topics of a scene, with their families, into a new one; see `Scenes.split`."""
    scene = store.get(Scene, id_)
    chosen: dict[int, Topic] = {}
    for topic_id in topic_ids:
        topic = store.get(Topic, topic_id, field="topic_ids")
        if topic.scene != id_:
            raise InvalidRequest(
                f"topic {to_hex(topic_id)} is in another scene", field="topic_ids", allowed="of this one"
            )
        if topic.parent:
            raise InvalidRequest(
                f"topic {to_hex(topic_id)} is part of the fused topic {to_hex(topic.parent)}",
                field="topic_ids",
                allowed="whole groups: name the fused topic, or take it apart first with `topics.unmerge`",
            )
        chosen |= {member.id: member for member in family(topic, lambda found: batch.find(Topic, found))}
    moved = sorted(chosen.values(), key=lambda topic: (topic.user_at, topic.id))
    rest = [topic for topic in store.walk(Topic, topics_of(id_)) if topic.id not in chosen]
    if not moved or not rest:
        raise InvalidRequest(
            "nothing would be left in one of the two scenes", field="topic_ids", allowed="some of its topics, not all"
        )
    said = {message for topic in moved for message in messages_of_topic(store, topic)}
    _check_size(len(said) + len(moved), "topic_ids")
    begin = moved[0].user_at
    new = batch.new(
        Scene(
            name=name or scene_name(telling(moved), _opening(store, moved), begin),
            project=scene.project,
            session=scene.session,
            created_at=begin,
            last_at=_last(moved),
            fresh=max(1, len(said)),
            edited=name is not None,
        ),
        "split",
        id_,
        *sorted(chosen),
    )
    _move(store, batch, moved, said, new.id)
    batch.put(Engram(scene=new.id, created_at=begin), engram_id(new.id))
    engram = batch.find(Engram, engram_id(id_))
    if engram is not None:
        batch.put(msgspec.structs.replace(engram, state=0), engram.id)
    kept = msgspec.structs.replace(scene, last_at=_last(rest), fresh=max(1, scene.fresh))
    if not scene.edited:
        kept = msgspec.structs.replace(kept, name=scene_name(telling(rest), _opening(store, rest), scene.created_at))
    batch.put(kept)
    return new


def messages_in(store: Store, scene: int) -> list[int]:
    """Ids of the messages of a scene, damaged ones among them, in order. Cost: looks at the label of every unit."""
    units = store.views.units
    there = units.live & (units.column("layer") == Layer.MESSAGES) & (units.column("scene") == label("scene", scene))
    return sorted(units.ids[np.flatnonzero(there)].tolist())


def messages_of_topic(store: Store, topic: Topic) -> list[int]:
    """Ids of the messages of a topic: those it names, and those that name it."""
    return list(dict.fromkeys((*topic.messages, *(id_ for _, id_ in store.members(messages_of(topic.id))))))


def _move(store: Store, batch: Batch, topics: Iterable[Topic], said: Iterable[int], scene: int) -> None:
    for topic in topics:
        batch.put(msgspec.structs.replace(topic, scene=scene))
    for id_ in sorted(said):
        message = store.readable(Message, id_)
        if message is not None:
            batch.put(msgspec.structs.replace(message, scene=scene))


def _redirect(store: Store, batch: Batch, to: dict[int, int]) -> list[int]:
    """Let what named the scenes name another. Returns hyperedges that are void now."""
    stale: dict[int, Hyperedge] = {}
    for id_ in to:
        for edge in store.walk(Hyperedge, edges_of(id_)):
            stale[edge.id] = edge
        for _, linked in store.members(linked_to(id_)):
            record = batch.records.get(linked) or store.record(linked)
            if record is not None:
                batch.put(redirected(record, to))
    for _, edge in sorted(stale.items()):
        scenes = tuple(sorted({to.get(scene, scene) for scene in edge.scenes}))
        if len(scenes) < 2:
            continue  # it would join the scene with itself
        joined = edge_id(edge.relation, scenes)
        known = batch.find(Hyperedge, joined)
        if known is not None:
            at = max(known.updated_at, edge.updated_at)
            weight = reinforced(known.weight_at(at), edge.weight_at(at))
            edge = msgspec.structs.replace(edge, weight=round(weight, 4), updated_at=at)
        batch.put(msgspec.structs.replace(edge, scenes=scenes), joined)
    return sorted(stale)


def _merge_engrams(batch: Batch, primary: int, others: Sequence[int]) -> None:
    found = [engram for id_ in (primary, *others) if (engram := batch.find(Engram, engram_id(id_))) is not None]
    if found:
        at = max(engram.since for engram in found)
        merged = msgspec.structs.replace(
            found[0],
            scene=primary,
            importance=round(max(engram.importance_at(at) for engram in found), 4),
            created_at=min(engram.created_at for engram in found),
            active_at=at,
            topics=sum(engram.topics for engram in found),
            state=0,  # the next dream draws the terms anew
            cold=all(engram.cold for engram in found),
        )
        batch.put(merged, engram_id(primary))


def _merge_usage(store: Store, batch: Batch, primary: int, others: Sequence[int]) -> None:
    counter = batch.find(Usage, usage_id(primary)) or Usage(target=primary)
    used = [usage for id_ in others if (usage := store.usage(id_)) is not None]  # what is not written yet included
    for usage in used:
        counter = msgspec.structs.replace(counter.used(usage.hits, usage.last_at), copies=counter.copies + usage.copies)
    if used:
        batch.put(counter, usage_id(primary))


def _check_size(records: int, field: str) -> None:
    if records > LIMITS.batch_items:
        raise InvalidRequest(
            f"{records:,} topics and messages would move", field=field, allowed=f"at most {LIMITS.batch_items:,}"
        )


def _opening(store: Store, topics: Sequence[Topic]) -> str:
    """The first words of the first topic that has any."""
    first = next((topic.messages[0] for topic in topics if topic.messages), 0)
    message = store.readable(Message, first) if first else None
    return message.text if message is not None else ""


def _last(topics: Iterable[Topic]) -> int:
    return max(max(topic.user_at, topic.agent_at) for topic in topics)
