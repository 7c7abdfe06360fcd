"""`db.archive`: L4 messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memhop.api import convert, results
from memhop.api.namespace import Namespace, bounded, check_total, cursor_of, place_of
from memhop.common.clock import LAST_MS, time_or_now, to_ms, zone_of
from memhop.common.config import LIMITS, check_choice, check_int, check_name, check_project, check_text, name_or
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex, to_hex
from memhop.repo import l4_archive
from memhop.repo.record import Kind, Role, all_of

if TYPE_CHECKING:
    from memhop.api.redaction import Guard
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store


ROLES = tuple(role.name.lower() for role in Role if role is not Role.NONE)


_MESSAGE_FIELDS = frozenset(("text", "role", "speaker", "at", "session", "external_id", "project"))


class Archive(Namespace):
    """L4 messages: what was said, word for word. They can be appended and erased, never edited."""

    def append_many(self, messages: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
        """Store many messages in one commit.

        Args:
            messages: Mappings with `text` and optionally `role` (user, agent, system, tool; default user), `speaker`,
                `at` (int ms, UTC, or aware datetime, whose zone says when the days begin that the text speaks of;
                default now), `session`, `external_id`, `project`.

        Returns:
            Their ids, in order. A message whose `external_id` is known in its session keeps its id (and must say
            the same, for messages are not edited).

        Raises:
            InvalidRequest: a value does not do (`items[3].text` names the place); nothing was written.
        """
        store = self._store
        now = store.clock.now_ms()
        guard = self._db._guard
        drafts = [_message(item, now, f"items[{index}]", guard) for index, item in enumerate(bounded(messages))]
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
        self,
        *,
        session: str | None = None,
        topic_id: str | None = None,
        since: object = None,
        until: object = None,
        keyword: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> results.Page:
        """Messages by time: all, or those of which all of this is true.

        Args:
            session: Said in this session.
            topic_id: Said in this topic, or in what it was fused from.
            since, until: Half-open span [since, until) of when it was said; int ms or aware datetime.
            keyword: The text holds it, anywhere in a word, letter case ignored.

        Raises:
            NotFound: no topic has this id. InvalidRequest: an argument does not do.

        Cost: 7 us per message looked at: without `keyword` those of the page, with it up to 10,000, so that a page may
            be short though `next` leads on; `recall(layers=["messages"])` finds whole words without that. With
            `topic_id`, all that was said in the topic.
        """
        start = 0 if since is None else to_ms(since, field="since")
        end = LAST_MS + 1 if until is None else to_ms(until, field="until")
        name = None if session is None else check_name(session, field="session")
        word = (
            None if keyword is None else check_text(keyword, field="keyword", max_bytes=LIMITS.query_chars).casefold()
        )

        def holds(message: l4_archive.Message) -> bool:
            return word is None or word in message.text.casefold()

        if topic_id is not None:
            said = [
                message
                for message in self._said_in(topic_id)
                if start <= message.at < end and holds(message) and name in (None, message.session)
            ]
            return _page_of(said, limit, cursor, newest_first)
        group = all_of(Kind.MESSAGE) if name is None else l4_archive.session_group(name)
        within = None if since is None and until is None else (start, end)
        keep = None if word is None else holds
        return self._page(
            l4_archive.Message, group, convert.message, limit, cursor, newest_first, keep=keep, within=within
        )

    def _said_in(self, topic_id: str) -> Sequence[l4_archive.Message]:
        from memhop.api.scene_context import said_in
        from memhop.repo.l2_context import Topic

        store = self._store
        return said_in(store, store.get(Topic, from_hex(topic_id, field="topic_id"), field="topic_id"))


def _page_of(messages: Iterable[l4_archive.Message], limit: int, cursor: str | None, newest: bool) -> results.Page:
    """A page of messages that are all there, in the order in which they are listed."""
    most, after = check_int(limit, field="limit", low=1, high=LIMITS.results), place_of(cursor)
    placed = sorted((((message.at, message.id), message) for message in messages), reverse=newest, key=_place)
    if after is not None:
        placed = [pair for pair in placed if (pair[0] < after if newest else pair[0] > after)]
    return results.Page(
        items=tuple(convert.message(message) for _, message in placed[:most]),
        next=cursor_of(placed[most - 1][0]) if len(placed) > most else None,
    )


def _place(pair: tuple[tuple[int, int], l4_archive.Message]) -> tuple[int, int]:
    return pair[0]


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


def _message(given: object, now_ms: int, where: str, guard: Guard) -> l4_archive.Message:
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"a {type(given).__name__} is not a message", field=where, allowed="a dict")
    values, redacted = guard.metadata(given, field=where)
    where += "."
    unknown = sorted(set(map(str, values)) - _MESSAGE_FIELDS)
    if unknown:
        raise InvalidRequest("no such field", field=f"{where}{unknown[0]}", allowed=", ".join(sorted(_MESSAGE_FIELDS)))

    def name(field: str, default: str = "") -> str:
        return name_or(default, values.get(field), field=where + field, blank=True)

    from memhop.search.mentions import spans

    text = check_text(values.get("text"), field=f"{where}text")
    at = time_or_now(values.get("at"), field=f"{where}at", now_ms=now_ms)
    return l4_archive.Message(
        text=text,
        role=check_choice(values.get("role", "user"), field=f"{where}role", choices=ROLES),
        speaker=name("speaker"),
        at=at,
        session=name("session"),
        external_id=name("external_id"),
        project=check_project(values.get("project") or "default", field=f"{where}project"),
        spans=spans(text, at, zone_of(values.get("at"))),
        redacted=redacted,
    )
