"""`db.trajectory`: L7."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from memhop.api import convert, results
from memhop.api.namespace import Namespace, bounded, check_total, cursor_of
from memhop.common.clock import time_or_now, to_ms
from memhop.common.config import LIMITS, check_int, check_name
from memhop.common.errors import InvalidRequest
from memhop.common.ids import from_hex, to_hex
from memhop.repo.l4_archive import Message
from memhop.repo.l7_trajectory import SESSIONS, Event, events_of, fitted
from memhop.repo.record import Kind

if TYPE_CHECKING:
    from memhop.api.redaction import Guard
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store

_PAGE = 1_000  # events looked at in a step, and at most as many deleted in one commit
_LAST = 2**64 - 1
_FIELDS = frozenset(("type", "payload", "at", "message_id"))


class Trajectory(Namespace):
    """L7: what the agent did, event by event, by session. Nothing is dropped unless it is asked for."""

    def append(
        self, session: str, type: str, payload: str = "", *, at: object = None, message_id: str | None = None
    ) -> results.Event:
        """Append one step to a session; its sequence number is assigned, counting from 1.

        Args:
            session: The host's name for a run of the agent.
            type: What kind of step, such as tool_call, tool_result, llm_output, turn_end.
            payload: What was called or came back, at most 4 MiB. The first 4,096 bytes of it are kept, whole
                characters; the result says how much was cut.
            at: When; int ms or aware datetime. None: now.
            message_id: The L4 message it belongs to.

        Raises:
            InvalidRequest: an argument does not do. NotFound: no message has this id. Nothing is written then.

        Cost: the same however long the session is.
        """
        step = {"type": type, "payload": payload, "at": at, "message_id": message_id}
        return convert.event(self._append(session, [step])[0])

    def append_many(self, session: str, events: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
        """Append many steps in one commit.

        Args:
            events: Mappings with `type`, and optionally `payload`, `at`, `message_id`, as for `append`.

        Returns:
            Their ids, in order.

        Raises:
            InvalidRequest, NotFound: as `append`; `field` says which, such as "items[3].type".
        """
        steps = bounded(events)
        return tuple(to_hex(event.id) for event in self._append(session, steps, "items[{}]."))

    def read(
        self,
        session: str,
        *,
        from_seq: int | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> results.Page:
        """Steps of a session, in order. A session that is not known has none.

        Args:
            from_seq: Only the step of this number and later ones. None: all.
            limit: Most steps of the page, 1..1000. cursor: `next` of the page before.
        """
        group = events_of(check_name(session, field="session"))
        if from_seq is None:
            return self._page(Event, group, convert.event, limit, cursor, newest_first)
        first = check_int(from_seq, field="from_seq", low=0, high=2**63 - 1)
        if not newest_first:
            start = cursor or (cursor_of((first - 1, _LAST)) if first else None)
            return self._page(Event, group, convert.event, limit, start, False)
        page = self._page(Event, group, convert.event, limit, cursor, True)
        kept = tuple(event for event in page.items if event.seq >= first)
        return results.Page(kept, page.next if len(kept) == len(page.items) else None, page.damaged)

    def sessions(self, *, limit: int = 50, cursor: str | None = None, newest_first: bool = True) -> results.Page:
        """Sessions that have steps, by the time of their first one.

        Args:
            limit: Most sessions of the page, 1..1000. cursor: `next` of the page before.

        Cost: two records for each session.
        """
        store = self._store

        def summary(first: Event) -> results.Session:
            group = events_of(first.session)
            with store.lock:
                steps, last = store.views.groups.count(group), store.views.groups.last(group)
            newest = store.readable(Event, last[1]) if last else None
            return results.Session(first.session, steps, first.at, newest.at if newest else first.at)

        return self._page(Event, SESSIONS, summary, limit, cursor, newest_first)

    def stats(self, session: str) -> results.TrajectoryStats:
        """How many steps of which types, from when to when. Of a session that is not known: none.

        Cost: reads every step.
        """
        name = check_name(session, field="session")
        by_type: dict[str, int] = {}
        size = cut = steps = 0
        first_at = last_at = None
        for event in self._store.walk(Event, events_of(name)):
            steps += 1
            by_type[event.type] = by_type.get(event.type, 0) + 1
            size += len(event.payload.encode("utf-8", "replace"))
            cut += event.cut_bytes
            first_at = event.at if first_at is None else min(first_at, event.at)
            last_at = event.at if last_at is None else max(last_at, event.at)
        return results.TrajectoryStats(
            session=name,
            steps=steps,
            by_type=dict(sorted(by_type.items())),
            first_at=first_at,
            last_at=last_at,
            bytes=size,
            cut_bytes=cut,
        )

    def delete(self, session: str) -> int:
        """Delete the steps a session has now, and say how many. Cards made from them stay.

        In commits of at most 1,000, oldest first: should the process be killed, the rest is left, and can be deleted.
        The numbers of a session that has no step left begin at 1 again.
        """
        store = self._store
        group = events_of(check_name(session, field="session"))
        with store.lock:
            last = store.views.groups.last(group)
        return _drop(store, group, lambda seq, _: last is not None and seq <= last[0])

    def prune(
        self,
        session: str | None = None,
        *,
        before: object = None,
        keep_last: int | None = None,
        dry_run: bool = False,
    ) -> results.Pruned:
        """Retention: drop old steps. Numbers of those that stay do not change.

        Args:
            session: Of this session. None: of all.
            before: Steps from before this time; int ms or aware datetime.
            keep_last: All steps of a session but its last so many, 0 or more. Exactly one of the two.
            dry_run: Only count.

        Raises:
            InvalidRequest: an argument does not do.

        Cost: with `before`, reads every step of the sessions. Commits as `delete`.
        """
        if (before is None) == (keep_last is None):
            raise InvalidRequest("say how much is to be kept", field="before", allowed="either before or keep_last")
        until = None if before is None else to_ms(before, field="before")
        keep = 0 if keep_last is None else check_int(keep_last, field="keep_last", low=0, high=2**63 - 1)
        store = self._store
        if session is None:
            names = [event.session for event in store.walk(Event, SESSIONS)]
        else:
            names = [check_name(session, field="session")]
        dropped = touched = 0
        for name in names:
            group = events_of(name)
            count = _drop(store, group, _old(store, group, until, keep), dry_run=dry_run)
            dropped += count
            touched += count > 0
        return results.Pruned(events=dropped, sessions=touched, dry_run=dry_run)

    def _append(self, session: object, steps: Iterable[Mapping[str, Any]], where: str = "") -> list[Event]:
        guard = self._db._guard
        name = check_name(guard.given(session, field="session"), field="session")
        store = self._store
        now = store.clock.now_ms()
        drafts = [_draft(name, step, now, where.format(index), guard) for index, step in enumerate(steps)]
        check_total(draft.payload for draft in drafts)
        with store.writing() as batch:
            last = store.views.groups.last(events_of(name))
            first_seq = last[0] + 1 if last else 1
            for index, draft in enumerate(drafts):
                if draft.message:
                    store.get(Message, draft.message, field=f"{where.format(index)}message_id")
            return [_put(batch, draft, first_seq + index) for index, draft in enumerate(drafts)]


def _draft(session: str, given: Mapping[str, Any], now: int, where: str, guard: Guard) -> Event:
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"a {type(given).__name__} is not a step", field=where.rstrip("."), allowed="a dict")
    step, redacted = guard.metadata(given, field=where.rstrip("."))
    unknown = sorted(set(map(str, step)) - _FIELDS)
    if unknown:
        raise InvalidRequest("no such field", field=f"{where}{unknown[0]}", allowed=", ".join(sorted(_FIELDS)))
    payload, cut = fitted(_payload(step.get("payload", ""), f"{where}payload"), LIMITS.payload_bytes)
    message = step.get("message_id")
    return Event(
        session=session,
        seq=0,
        type=check_name(step.get("type"), field=f"{where}type"),
        payload=payload,
        at=time_or_now(step.get("at"), field=f"{where}at", now_ms=now),
        message=0 if message is None else from_hex(message, field=f"{where}message_id"),
        cut_bytes=cut,
        redacted=redacted,
    )


def _payload(value: object, field: str) -> str:
    """Any text, also a blank one: a tool may well have said nothing but a line break."""
    allowed = f"a str of valid Unicode, at most {LIMITS.text_bytes:,} bytes of UTF-8"
    if not isinstance(value, str):
        raise InvalidRequest(f"a {type(value).__name__} is not a text", field=field, allowed=allowed)
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"character {error.start} is a lone surrogate", field=field, allowed=allowed) from None
    if size > LIMITS.text_bytes:
        raise InvalidRequest(f"{size:,} bytes are too many", field=field, allowed=allowed)
    return value


def _put(batch: Batch, draft: Event, seq: int) -> Event:
    return batch.new(msgspec.structs.replace(draft, seq=seq), draft.session, seq)


def _old(store: Store, group: int, before: int | None, keep: int) -> Callable[[int, int], bool]:
    """Says of an event, by number and id, whether it goes."""
    if before is not None:

        def earlier(_: int, id_: int) -> bool:
            event = store.readable(Event, id_)
            return event is not None and event.at < before

        return earlier
    with store.lock:
        kept = store.views.groups.page(group, limit=keep, descending=True) if keep else []
        newest = store.views.groups.last(group)
    first_kept = kept[-1][0] if kept else (newest[0] + 1 if newest else 0)
    return lambda seq, _: seq < first_kept


def _drop(store: Store, group: int, goes: Callable[[int, int], bool], *, dry_run: bool = False) -> int:
    """Delete events of a session, and have the first that stays stand for it. Returns how many."""
    dropped = 0
    after = None
    none_stays = True  # so far: asking the group for its first member would pass by all those dropped, each time
    while True:
        if dry_run:
            places = store.places(group, after=after, limit=_PAGE)
            dropped += sum(goes(*place) for place in places)
        else:
            with store.writing() as batch:
                places = store.places(group, after=after, limit=_PAGE)
                gone = [place for place in places if goes(*place)]
                for _, id_ in gone:
                    batch.delete(Kind.EVENT, id_)
                if none_stays and gone and gone[0] == places[0]:
                    _open_with_next(store, batch, group, set(gone), places)
                none_stays = none_stays and len(gone) == len(places)
            dropped += len(gone)
        if len(places) < _PAGE:
            return dropped
        after = places[-1]


def _open_with_next(
    store: Store, batch: Batch, group: int, gone: set[tuple[int, int]], places: list[tuple[int, int]]
) -> None:
    """The first event that stays stands for its session."""
    behind = store.places(group, after=places[-1], limit=_PAGE)
    for place in (*places, *behind):
        event = None if place in gone else batch.find(Event, place[1])
        if event is not None:
            if not event.opens:
                batch.put(msgspec.structs.replace(event, first=True))
            return
