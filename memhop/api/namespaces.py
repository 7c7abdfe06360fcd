"""The layers as namespaces of `DB`: `db.archive`, `db.notes`, `db.scenes`, `db.topics`, `db.profile`, ….

Conventions: `get` raises NotFound, `find` may return None, `list` returns a page (items and the cursor of the next
page). Ids are 16 hex digits, times int ms or aware datetime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.api import convert, results
from memhop.common.clock import time_or_now
from memhop.common.config import LIMITS, check_choice, check_int, check_name, check_names, check_text, name_or
from memhop.common.errors import InvalidRequest, NotFound
from memhop.common.ids import from_hex, to_hex
from memhop.repo import l2_context, l3_knowledge, l4_archive, l5_capability, l7_trajectory
from memhop.repo.l0_profile import PROFILE_ID, Profile
from memhop.repo.record import Kind, Record, Role, all_of

if TYPE_CHECKING:
    from memhop.api.db import DB
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

ROLES = tuple(role.name.lower() for role in Role if role is not Role.NONE)
_CURSOR = re.compile(r"([0-9]{1,19})\.([0-9a-f]{16})")
_MESSAGE_FIELDS = frozenset(("text", "role", "speaker", "at", "session", "external_id", "project"))


class Namespace:
    """Base: a view on one layer of the store."""

    def __init__(self, db: DB) -> None:
        self._db = db

    @property
    def _store(self) -> Store:
        """The store, up to date with other processes: look once per call, and not under its lock."""
        return self._db._store

    def _page(
        self, record_type: type[Record], group: int, convert_one: Any, limit: int, cursor: str | None, newest: bool
    ) -> results.Page:
        limit = check_int(limit, field="limit", low=1, high=LIMITS.results)
        after = _place(cursor)
        store = self._store
        with store.lock:
            places = store.places(group, after=after, limit=limit + 1, descending=newest)
            found = store.at_places(record_type, places[:limit])
        return results.Page(
            items=tuple(convert_one(record) for _, record in found),
            next=_cursor(places[limit - 1]) if len(places) > limit else None,
            damaged=min(limit, len(places)) - len(found),
        )


def _cursor(place: tuple[int, int]) -> str:
    return f"{place[0]}.{to_hex(place[1])}"


def _place(cursor: str | None) -> tuple[int, int] | None:
    if cursor is None:
        return None
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None or int(match[1]) >= 2**63:
        raise InvalidRequest("not a cursor", field="cursor", allowed="`next` of the page before")
    return int(match[1]), int(match[2], 16)


class Archive(Namespace):
    """L4 messages: what was said, word for word. They can be appended and erased, never edited."""

    def append_many(self, messages: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
        """Store many messages in one commit.

        Args:
            messages: Mappings with `text` and optionally `role` (user, agent, system, tool; default user), `speaker`,
                `at` (int ms or aware datetime; default now), `session`, `external_id`, `project`.

        Returns:
            Their ids, in order. A message whose `external_id` is known in its session keeps its id (and must say
            the same, for messages are not edited).

        Raises:
            InvalidRequest: a value does not do (`items[3].text` names the place); nothing was written.
        """
        store = self._store
        now = store.clock.now_ms()
        drafts = [_message(item, now, f"items[{index}].") for index, item in enumerate(bounded(messages))]
        check_total(draft.text for draft in drafts)
        with store.writing() as batch:
            pending: dict[int, l4_archive.Message] = {}
            stored = [_put(store, batch, message, pending, index) for index, message in enumerate(drafts)]
        return tuple(to_hex(message.id) for message in stored)

    def get(self, id: str) -> results.Message:
        """The message. Raises NotFound, InvalidRequest."""
        return convert.message(self._store.get(l4_archive.Message, from_hex(id)))

    def find(self, *, session: str, external_id: str) -> results.Message | None:
        """The message a host calls `external_id` in a session, or None."""
        group = l4_archive.external_message(
            check_name(session, field="session", blank=True), check_name(external_id, field="external_id")
        )
        found = self._store.listed(l4_archive.Message, group, limit=1)
        return convert.message(found[0][1]) if found else None

    def list(
        self, *, session: str | None = None, limit: int = 50, cursor: str | None = None, newest_first: bool = False
    ) -> results.Page:
        """Messages by time, of one session or of all."""
        group = all_of(Kind.MESSAGE)
        if session is not None:
            group = l4_archive.session_group(check_name(session, field="session"))
        return self._page(l4_archive.Message, group, convert.message, limit, cursor, newest_first)


def _put(
    store: Store, batch: Batch, message: l4_archive.Message, pending: dict[int, l4_archive.Message], index: int
) -> l4_archive.Message:
    from memhop.search.turn import known_message

    known = known_message(store, message, pending, field=f"items[{index}].external_id")
    if known is not None:
        return known
    stored = batch.new(message, message.session, message.at, message.speaker, message.text)
    if message.external_id:
        pending[l4_archive.external_message(message.session, message.external_id)] = stored
    return stored


def bounded(items: Iterable[Any]) -> Iterable[Any]:
    """The items of one call, up to the limit. A str or a dict is refused: it would be taken apart.

    Raises:
        InvalidRequest: not a list, or too many items.
    """
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidRequest(f"a {type(items).__name__} is not a list", field="items", allowed="an iterable of items")
    for index, item in enumerate(items):
        if index >= LIMITS.batch_items:
            raise InvalidRequest(
                "too many items in one call",
                field="items",
                allowed=f"at most {LIMITS.batch_items:,}; use several calls",
            )
        yield item


def check_total(texts: Iterable[str]) -> None:
    """All texts of one call fit into one commit, or InvalidRequest is raised."""
    if sum(len(text.encode()) for text in texts) > LIMITS.batch_bytes:
        raise InvalidRequest(
            "too much text in one call",
            field="items",
            allowed=f"at most {LIMITS.batch_bytes:,} bytes; use several calls",
        )


def _message(values: object, now_ms: int, where: str) -> l4_archive.Message:
    if not isinstance(values, Mapping):
        raise InvalidRequest(f"a {type(values).__name__} is not a message", field=where.rstrip("."), allowed="a dict")
    unknown = sorted(set(map(str, values)) - _MESSAGE_FIELDS)
    if unknown:
        raise InvalidRequest("no such field", field=f"{where}{unknown[0]}", allowed=", ".join(sorted(_MESSAGE_FIELDS)))

    def name(field: str, default: str = "") -> str:
        return name_or(default, values.get(field), field=where + field, blank=True)

    return l4_archive.Message(
        text=check_text(values.get("text"), field=f"{where}text"),
        role=check_choice(values.get("role", "user"), field=f"{where}role", choices=ROLES),
        speaker=name("speaker"),
        at=time_or_now(values.get("at"), field=f"{where}at", now_ms=now_ms),
        session=name("session"),
        external_id=name("external_id"),
        project=name("project", "default") or "default",
    )


class Notes(Namespace):
    """L4 notes: typed, editable through `db.remember(external_id=...)`, listed here."""

    def get(self, id: str) -> results.Note:
        """The note, whatever its tier. Raises NotFound, InvalidRequest."""
        return self._convert(self._store.get(l4_archive.Note, from_hex(id)))

    def list(
        self,
        *,
        project: str | None = None,
        tag: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = True,
    ) -> results.Page:
        """Notes by their time, of one project or with one tag (not both) or all; trashed ones included."""
        if project is not None and tag is not None:
            raise InvalidRequest("give a project or a tag, not both", field="tag", allowed="one of the two")
        group = all_of(Kind.NOTE)
        if project is not None:
            group = l4_archive.notes_in(check_name(project, field="project"))
        elif tag is not None:
            group = l4_archive.tagged(check_name(tag, field="tag"))
        return self._page(l4_archive.Note, group, self._convert, limit, cursor, newest_first)

    def _convert(self, note: l4_archive.Note) -> results.Note:
        usage = self._store.usage(note.id)
        return convert.note(note, copies=usage.copies if usage else 0)


class Scenes(Namespace):
    """L2 scenes."""

    def get(self, id: str) -> results.Scene:
        """The scene. Raises NotFound, InvalidRequest."""
        return self._result(self._store.get(l2_context.Scene, from_hex(id)))

    def list(self, *, limit: int = 50, cursor: str | None = None, newest_first: bool = True) -> results.Page:
        """Scenes by the time of their last turn."""
        return self._page(l2_context.Scene, all_of(Kind.SCENE), self._result, limit, cursor, newest_first)

    def _result(self, scene: l2_context.Scene) -> results.Scene:
        store = self._store
        with store.lock:
            topics = store.views.groups.count(l2_context.topics_of(scene.id))
        return convert.scene(scene, topics)


class Topics(Namespace):
    """L2 topics: the turns of a scene."""

    def get(self, id: str) -> results.Topic:
        """The topic. Raises NotFound, InvalidRequest."""
        return convert.topic(self._store.get(l2_context.Topic, from_hex(id)))

    def list(
        self, scene_id: str, *, limit: int = 50, cursor: str | None = None, newest_first: bool = False
    ) -> results.Page:
        """Topics of a scene by the time of the user's message. Raises NotFound for an unknown scene."""
        scene = self._store.get(l2_context.Scene, from_hex(scene_id, field="scene_id"), field="scene_id")
        group = l2_context.topics_of(scene.id)
        return self._page(l2_context.Topic, group, convert.topic, limit, cursor, newest_first)

    def messages(self, topic_id: str) -> tuple[results.Message, ...]:
        """What was said in a topic, in order."""
        store = self._store
        topic = store.get(l2_context.Topic, from_hex(topic_id, field="topic_id"), field="topic_id")
        found = (store.find(l4_archive.Message, id_) for id_ in topic.messages)
        return tuple(convert.message(message) for message in found if message is not None)


class Profiles(Namespace):
    """L0: who the agent is."""

    def get(self) -> results.Profile:
        """The profile; empty when nothing was set."""
        return convert.profile(self._store.find(Profile, PROFILE_ID) or Profile())

    def update(self, **fields: Any) -> results.Profile:
        """Set some fields and keep the others: name, role, personality (str), preferences, lexicon (dict of str),
        style_traits (list of str).

        Raises:
            InvalidRequest: an unknown field or a value of another type.
        """
        checked = {field: _profile_field(field, value) for field, value in fields.items()}
        if not checked:
            return self.get()
        store = self._store
        now = store.clock.now_ms()

        def fill(batch: Batch) -> Profile:
            current = store.find(Profile, PROFILE_ID) or Profile()
            changed = msgspec.structs.replace(current, **checked)
            return batch.put(msgspec.structs.replace(changed, updated_at=now), PROFILE_ID)

        return convert.profile(store.write(fill))


def _profile_field(field: str, value: object) -> Any:
    if field in ("name", "role"):
        return check_name(value, field=field, blank=True)
    if field == "personality":
        return "" if value == "" else check_text(value, field=field, max_bytes=10_000)
    if field == "style_traits":
        return check_names(value, field=field, most=64)
    if field in ("preferences", "lexicon"):
        allowed = "a dict of at most 1000 str to str"
        if not isinstance(value, dict) or len(value) > 1000:
            raise InvalidRequest("not a dict of str to str", field=field, allowed=allowed)
        return {
            check_name(key, field=field): check_text(item, field=f"{field}.{key}", max_bytes=10_000)
            for key, item in value.items()
        }
    raise InvalidRequest(
        "no such field", field=field, allowed="name, role, personality, preferences, lexicon, style_traits"
    )


class Knowledge(Namespace):
    """L3: named graphs of nodes."""

    def put(
        self, graph: str, title: str, content: str = "", *, node_type: str = "", keywords: Iterable[str] = ()
    ) -> results.KnowledgeNode:
        """Write a node, creating its graph if needed; a node of that title in the graph is replaced."""
        name = check_name(graph, field="graph")
        node_title = check_name(title, field="title")
        body = "" if content == "" else check_text(content, field="content")
        type_name = check_name(node_type, field="node_type", blank=True)
        words = check_names(keywords, field="keywords", most=LIMITS.tags)
        store = self._store
        now = store.clock.now_ms()

        def fill(batch: Batch) -> l3_knowledge.KnowledgeNode:
            graph_id = l3_knowledge.graph_id(name)
            if store.readable(l3_knowledge.Graph, graph_id) is None:
                batch.put(l3_knowledge.Graph(name=name, created_at=now), graph_id)
            node_id = l3_knowledge.node_id(graph_id, node_title)
            known = store.readable(l3_knowledge.KnowledgeNode, node_id)
            node = l3_knowledge.KnowledgeNode(
                graph=graph_id,
                title=node_title,
                content=body,
                node_type=type_name,
                keywords=words,
                created_at=known.created_at if known else now,
                updated_at=now,
            )
            return batch.put(node, node_id)

        return convert.knowledge(store.write(fill))

    def get(self, id: str) -> results.KnowledgeNode:
        """The node. Raises NotFound, InvalidRequest."""
        return convert.knowledge(self._store.get(l3_knowledge.KnowledgeNode, from_hex(id)))

    def graphs(self) -> tuple[results.Graph, ...]:
        """All graphs, by creation."""
        found = self._store.listed(l3_knowledge.Graph, all_of(Kind.GRAPH), limit=LIMITS.results)
        return tuple(convert.graph(graph) for _, graph in found)

    def nodes(self, graph_id: str, *, limit: int = 50, cursor: str | None = None) -> results.Page:
        """Nodes of a graph, by creation. Raises NotFound for an unknown graph."""
        graph = self._store.get(l3_knowledge.Graph, from_hex(graph_id, field="graph_id"), field="graph_id")
        group = l3_knowledge.nodes_of(graph.id)
        return self._page(l3_knowledge.KnowledgeNode, group, convert.knowledge, limit, cursor, False)


class Capabilities(Namespace):
    """L5: what the agent knows how to do. Cards that come with MemHop are read-only."""

    def list(self) -> tuple[results.Capability, ...]:
        """Cards of the file, newest first, then those that come with MemHop."""
        from memhop.search.cards import builtin_cards

        found = self._store.listed(
            l5_capability.Capability, all_of(Kind.CAPABILITY), limit=LIMITS.results, descending=True
        )
        stored = [record for _, record in found]
        names = {card.name.casefold() for card in stored}
        extra = [card for card in builtin_cards() if card.name.casefold() not in names]
        return tuple(convert.capability(card) for card in (*stored, *extra))

    def get(self, name: str) -> results.Capability:
        """The card of this name, case ignored. Raises NotFound."""
        for card in self.list():
            if card.name.casefold() == check_name(name, field="name").strip().casefold():
                return card
        raise NotFound(f"no capability is called {name!r:.60}", field="name")


class Trajectory(Namespace):
    """L7: what the agent did, event by event."""

    def append(self, session: str, type: str, payload: str = "", *, at: object = None) -> results.Event:
        """Append one step to a session; its sequence number is assigned."""
        session_name = check_name(session, field="session")
        type_name = check_name(type, field="type")
        body = "" if payload == "" else check_text(payload, field="payload", max_bytes=64 * 1024)
        store = self._store
        now = store.clock.now_ms()
        moment = time_or_now(at, field="at", now_ms=now)

        def fill(batch: Batch) -> l7_trajectory.Event:
            last = store.views.groups.last(l7_trajectory.events_of(session_name))
            seq = last[0] + 1 if last else 1
            event = l7_trajectory.Event(session=session_name, seq=seq, type=type_name, payload=body, at=moment)
            return batch.new(event, session_name, seq)

        return convert.event(store.write(fill))

    def read(self, session: str, *, limit: int = 100, cursor: str | None = None) -> results.Page:
        """Steps of a session, in order."""
        group = l7_trajectory.events_of(check_name(session, field="session"))
        return self._page(l7_trajectory.Event, group, convert.event, limit, cursor, False)
