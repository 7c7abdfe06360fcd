"""The agent loop: `search` recalls and stores the user's turn in one commit; `update` appends a reply.

Which scene a turn joins. A scene must earn it by its *best* evidence, never by the sum over its topics, or the
largest scene would swallow everything. For each scene in question

    affinity = coverage + continuity - crowding

    coverage    0..1, share of the turn's idf mass that one message of the scene holds, in at least three words
    continuity  0.6 * exp(-gap / 30 min) for the scene of the session's last turn (of the last turn, without sessions)
    crowding    0 up to 40 topics, then growing by 0.1 with each doubling

and the best scene is joined when its affinity reaches 0.5; otherwise a new scene begins. Within one session and a
few minutes a conversation thus stays in its scene without sharing a word; after hours, or in another session, only
clear evidence leads back to an older scene.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from memhop.common.clock import time_or_now, zone_of
from memhop.common.config import LIMITS, check_choice, check_project, check_text, name_or
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex, to_hex
from memhop.models.offline_keywords import keywords
from memhop.repo import l2_context, l4_archive
from memhop.repo.l1_engram import Engram, Hyperedge, edge_id, engram_id, reinforced
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l3_knowledge import Graph
from memhop.repo.l4_archive import Message
from memhop.repo.record import DEFAULT_PROJECT, Kind, Layer, all_of, project_key, project_label
from memhop.search.channels import coverage_by_unit
from memhop.search.mentions import spans
from memhop.search.query import ROLES, Request
from memhop.search.sparse import Workspace

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store
    from memhop.search.recall import Recalled, Recaller

JOIN_AT = 0.5
CONTINUITY = 0.6
CONTINUITY_MS = 30 * 60_000
CROWDED_TOPICS = 40
CROWDING = 0.1
ENOUGH_TERMS = 3  # in common with one message, for its coverage to count in full
CANDIDATES = 50  # units whose scenes are weighed
KEYWORDS = 12  # kept per message
EDGE_STEP = 0.3  # how far one shared recall moves an edge's weight towards 1
NEWEST_TOPICS = 3  # of each scene brought to mind, in the reply
EDGE_SCENES = 2  # other scenes that one turn links to


class Chosen(NamedTuple):
    """Keywords of a message, most telling first, and the model that chose them; "": the offline method."""

    keywords: tuple[str, ...]
    by: str = ""


class OfflineWords:
    """How the keywords of a turn are chosen, before it is stored and without any lock."""

    def of(self, text: str, speaker: str, at: int) -> Chosen:
        """The keywords of what somebody said at a time. Raises nothing."""
        return Chosen(tuple(keywords(text, KEYWORDS)))

    def settle(self, batch: Batch) -> None:
        """Write down in the commit of the turn what choosing them has cost."""


class Turn(NamedTuple):
    """The arguments of `DB.search`, unchecked."""

    text: str
    timestamp: object
    session: str | None
    speaker: str | None
    project: str | None
    external_id: str | None
    directed_l2_id: str | None
    directed_l3_id: str | None
    auto_create: bool
    limit: int
    token_budget: int
    universal: str  # the project that is searched along with others; "": none
    redacted: int  # how much was taken out of the text


class Searched(NamedTuple):
    """Where the turn went, and what was recalled before it was stored."""

    recalled: Recalled
    scene: Scene
    new_scene: bool
    topic: Topic
    message: Message
    contexts: tuple[Topic, ...]
    associated: tuple[Topic, ...]


def search(recaller: Recaller, turn: Turn, words: OfflineWords) -> Searched:
    """Recall, then store the turn; see `DB.search`."""
    store = recaller.store
    now = store.clock.now_ms()
    text = check_text(turn.text, field="text")
    at = time_or_now(turn.timestamp, field="timestamp", now_ms=now)
    session = name_or("", turn.session, field="session")
    speaker = name_or("", turn.speaker, field="speaker")
    project = DEFAULT_PROJECT if turn.project is None else check_project(turn.project)
    external_id = name_or("", turn.external_id, field="external_id")
    directed = None if turn.directed_l2_id is None else from_hex(turn.directed_l2_id, field="directed_l2_id")
    graph = None if turn.directed_l3_id is None else from_hex(turn.directed_l3_id, field="directed_l3_id")
    if directed is not None and turn.auto_create:
        raise InvalidRequest("it contradicts directed_l2_id", field="auto_create", allowed="one of the two")
    scene = None if directed is None else store.get(Scene, directed, field="directed_l2_id")
    if graph is not None:
        store.get(Graph, graph, field="directed_l3_id")
    request = Request(
        text=text,
        limit=turn.limit,
        token_budget=turn.token_budget,
        project=turn.project if graph is None else None,  # what is in a graph is of no project
        universal=turn.universal,
        graph=turn.directed_l3_id,
        at=at,
    )
    recalled = recaller.recall(request)
    chosen = words.of(text, speaker, at)
    named = spans(text, at, zone_of(turn.timestamp))
    with store.writing() as batch:
        if graph is not None:
            store.get(Graph, graph, field="directed_l3_id")  # it may have been deleted since it was looked in
        known = known_message(store, Message(text=text, session=session, external_id=external_id))
        if known is not None and not (known.topic and known.scene):
            raise InvalidRequest(
                f"it names message {to_hex(known.id)}, which was stored without a turn",
                field="external_id",
                allowed="the name of a turn, or a new one",
            )
        if known is not None:
            return _again(store, recalled, known)
        if scene is None and not turn.auto_create:
            scene = choose_scene(store, recalled.query.terms, at=at, session=session, project=project)
        new_scene = scene is None
        if scene is None:
            name = l2_context.scene_name(chosen.keywords, text, at)
            scene = batch.new(
                Scene(name=name, project=project, session=session, created_at=at, last_at=at, fresh=1),
                name,
                session,
                at,
            )
            batch.put(Engram(scene=scene.id, created_at=at), engram_id(scene.id))
            _link_in_time(store, batch, scene, session, at)
        else:
            scene = batch.put(msgspec.structs.replace(scene, last_at=max(scene.last_at, at), fresh=scene.fresh + 1))
        topic = Topic(
            scene=scene.id,
            project=project,
            user_keywords=chosen.keywords,
            refined_by=chosen.by,
            user_at=at,
            graphs=(graph,) if graph else (),
        )
        topic = batch.new(topic, scene.id, at, text)
        message = Message(
            text=text,
            role="user",
            speaker=speaker,
            at=at,
            session=session,
            project=project,
            external_id=external_id,
            scene=scene.id,
            topic=topic.id,
            spans=named,
            redacted=turn.redacted,
        )
        message = batch.new(message, session, at, speaker, text)
        topic = batch.put(msgspec.structs.replace(topic, messages=(message.id,)))
        _link_by_recall(store, batch, scene, recalled, at)
        words.settle(batch)
    contexts = _contexts(store, scene, topic, recalled)
    associated = _newest_topics(store, [activated.scene for activated in recalled.associated])
    return Searched(recalled, scene, new_scene, topic, message, contexts, associated)


def known_message(
    store: Store, message: Message, pending: Mapping[int, Message] | None = None, *, field: str = "external_id"
) -> Message | None:
    """The message which the session of `message` knows by its external id already, if any.

    Args:
        pending: Messages of the same call, by the group of their external id.
        field: Named in the error.

    Raises:
        InvalidRequest: it says something else.
    """
    if not message.external_id:
        return None
    group = l4_archive.external_message(message.session, message.external_id)
    known = pending.get(group) if pending else None
    if known is None:
        page = store.listed(Message, group, limit=1)
        known = page[0][1] if page else None
    if known is not None and known.text != message.text:
        raise InvalidRequest(
            f"it names message {to_hex(known.id)}, which says something else",
            field=field,
            allowed="one external_id per message of a session",
        )
    return known


def _again(store: Store, recalled: Recalled, message: Message) -> Searched:
    """The same turn once more, after a crash of the host, say: nothing is stored."""
    topic = store.get(Topic, message.topic)
    scene = store.get(Scene, topic.scene)
    contexts = _contexts(store, scene, topic, recalled)
    associated = _newest_topics(store, [activated.scene for activated in recalled.associated])
    return Searched(recalled, scene, False, topic, message, contexts, associated)


def update(
    store: Store,
    *,
    topic_id: str,
    text: str,
    timestamp: object,
    role: str,
    speaker: str | None,
    external_id: str | None,
    words: OfflineWords,
    redacted: int,
) -> Message:
    """Append a reply to a topic; see `DB.update`."""
    now = store.clock.now_ms()
    id_ = from_hex(topic_id, field="topic_id")
    said = check_text(text, field="text")
    at = time_or_now(timestamp, field="timestamp", now_ms=now)
    check_choice(role, field="role", choices=ROLES)
    who = name_or("", speaker, field="speaker")
    name = name_or("", external_id, field="external_id")
    chosen = words.of(said, who, at)
    named = spans(said, at, zone_of(timestamp))

    def fill(batch: Batch) -> Message:
        topic = store.get(Topic, id_, field="topic_id")
        first = store.readable(Message, topic.messages[0]) if topic.messages else None
        session = first.session if first else ""
        known = known_message(store, Message(text=said, session=session, external_id=name))
        if known is not None:
            return known
        if len(topic.messages) >= LIMITS.replies:
            raise InvalidRequest(
                "the topic is full", field="topic_id", allowed=f"a topic of fewer than {LIMITS.replies} messages"
            )
        message = batch.new(
            Message(
                text=said,
                role=role,
                speaker=who,
                at=at,
                session=session,
                project=topic.project,
                external_id=name,
                scene=topic.scene,
                topic=topic.id,
                spans=named,
                redacted=redacted,
            ),
            topic.id,
            at,
            who,
            said,
        )
        merged = tuple(dict.fromkeys((*topic.agent_keywords, *chosen.keywords)))[: 2 * KEYWORDS]
        batch.put(
            msgspec.structs.replace(
                topic,
                messages=(*topic.messages, message.id),
                agent_keywords=merged,
                agent_at=max(topic.agent_at, at),
                refined_by=topic.refined_by if chosen.by else "",  # a reply that no model has seen waits for one
            )
        )
        words.settle(batch)
        scene = store.readable(Scene, topic.scene)
        if scene is not None:
            batch.put(msgspec.structs.replace(scene, last_at=max(scene.last_at, at), fresh=scene.fresh + 1))
        return message

    return store.write(fill)


def project_of(store: Store, topic_id: str) -> str:
    """The project of a topic. Raises NotFound, InvalidRequest."""
    return store.get(Topic, from_hex(topic_id, field="topic_id"), field="topic_id").project


def choose_scene(store: Store, terms: tuple[str, ...], *, at: int, session: str, project: str) -> Scene | None:
    """The scene a turn joins, or None for a new one. The rule is in the module's docstring."""
    views = store.views
    affinity: dict[int, float] = {}
    units = views.units
    in_scene = units.live & (units.column("layer") == Layer.MESSAGES) & (units.column("scene") != 0)
    in_scene &= units.column("project") == project_label(project)
    docs, held = coverage_by_unit(terms, views, Workspace(), ENOUGH_TERMS, in_scene)
    for row in np.lexsort((docs, -held))[:CANDIDATES].tolist():
        message = store.readable(Message, int(units.ids[docs[row]]))
        if message is not None and message.scene:
            affinity[message.scene] = max(affinity.get(message.scene, 0.0), float(held[row]))
    last = _last_turn(store, session, at)
    if last is not None and last.scene and project_key(last.project) == project_key(project):
        gap = max(0, at - last.at)
        affinity[last.scene] = affinity.get(last.scene, 0.0) + CONTINUITY * math.exp(-gap / CONTINUITY_MS)
    ranked = []
    for scene, value in affinity.items():
        topics = views.groups.count(l2_context.topics_of(scene))
        crowding = CROWDING * math.log2(topics / CROWDED_TOPICS) if topics > CROWDED_TOPICS else 0.0
        ranked.append((value - crowding, scene))
    if not ranked:
        return None
    value, scene_id = max(ranked, key=lambda pair: (pair[0], -pair[1]))
    return store.readable(Scene, scene_id) if value >= JOIN_AT else None


def _last_turn(store: Store, session: str, at: int) -> Message | None:
    """The newest message up to `at`, of the session if it has a name, of all otherwise."""
    group = l4_archive.session_group(session) if session else all_of(Kind.MESSAGE)
    page = store.listed(Message, group, after=(at + 1, 0), limit=1, descending=True)
    return page[0][1] if page else None


def _link_in_time(store: Store, batch: Batch, scene: Scene, session: str, at: int) -> None:
    last = _last_turn(store, session, at)
    if last is not None and last.scene and last.scene != scene.id:
        _reinforce(store, batch, "temporal", scene.id, last.scene, EDGE_STEP, at)


def _link_by_recall(store: Store, batch: Batch, scene: Scene, recalled: Recalled, at: int) -> None:
    """Scenes whose words this turn brought up belong to it, more so the more of its words they hold."""
    linked: list[int] = []
    for hit in recalled.hits:
        other = hit.record.scene if isinstance(hit.record, Message) else 0
        if other and other != scene.id and other not in linked:
            linked.append(other)
    for other in linked[:EDGE_SCENES]:
        _reinforce(store, batch, "co_occurrence", scene.id, other, EDGE_STEP * recalled.coverage, at)


def _reinforce(store: Store, batch: Batch, relation: str, one: int, other: int, by: float, at: int) -> None:
    if by < 0.01:
        return
    scenes = (min(one, other), max(one, other))
    id_ = edge_id(relation, scenes)
    known = batch.find(Hyperedge, id_)
    if known is not None:
        at = max(at, known.updated_at)
    weight = reinforced(known.weight_at(at) if known else 0.0, by)
    batch.put(Hyperedge(relation=relation, scenes=scenes, weight=round(weight, 4), updated_at=at), id_)


def _contexts(store: Store, scene: Scene, newest: Topic, recalled: Recalled) -> tuple[Topic, ...]:
    """Topics of the scene: those of the hits first, in their order, then the newest; the new one is not among them."""
    chosen: dict[int, Topic] = {}
    for hit in recalled.hits:
        if isinstance(hit.record, Message) and hit.record.scene == scene.id and hit.record.topic:
            topic = store.readable(Topic, hit.record.topic)
            if topic is not None:
                chosen.setdefault(topic.id, topic)
    for topic in _newest_roots(store, scene.id, LIMITS.contexts + 1):
        chosen.setdefault(topic.id, topic)
    chosen.pop(newest.id, None)
    return tuple(chosen.values())[: LIMITS.contexts]


def _newest_topics(store: Store, scenes: list[Scene]) -> tuple[Topic, ...]:
    return tuple(topic for scene in scenes for topic in _newest_roots(store, scene.id, NEWEST_TOPICS))


def _newest_roots(store: Store, scene: int, most: int) -> list[Topic]:
    """Topics of a scene that are part of no other, newest first: a fused topic stands for what it has absorbed."""
    found: list[Topic] = []
    after = None
    group = l2_context.topics_of(scene)
    while len(found) < most and (page := store.listed(Topic, group, after=after, limit=most, descending=True)):
        found += [topic for _, topic in page if topic.depth == 1]
        after = page[-1][0]
    return found[:most]
