"""`db.archive`: L4 messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memhop.api import convert, results
from memhop.api.namespace import Namespace, bounded, check_total
from memhop.common.clock import time_or_now, zone_of
from memhop.common.config import check_choice, check_name, check_project, check_text, name_or
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
