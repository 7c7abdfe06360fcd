"""`db.facts`: L3, dated facts.

They are a namespace beside `db.knowledge`, as topics are beside scenes: a fact belongs to no graph, and is asked for by
subject, predicate and time. How assertions fit together is told in `repo/l3_timeline`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memhop.api import convert, results
from memhop.api.namespace import Namespace, guarded, ids_of
from memhop.common.clock import to_ms
from memhop.common.config import LIMITS, check_name, check_text
from memhop.common.errors import InvalidRequest, NotFound
from memhop.common.ids import from_hex, to_hex
from memhop.repo import l3_facts, l3_timeline
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_knowledge import KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Kind, Record, all_of
from memhop.repo.references import may_name

if TYPE_CHECKING:
    from memhop.repo.batch import Batch
    from memhop.repo.store import Store


class Facts(Namespace):
    """L3: what was so, from when to when, and when that was known. Nothing is forgotten unless it is deleted.

    Times are int ms or aware datetime; a naive datetime or a text is refused. Subjects and predicates are compared
    without letter case and white space, and kept as they were first written.
    """

    @guarded
    def assert_(
        self,
        subject: str,
        predicate: str,
        value: str,
        *,
        valid_from: object = None,
        valid_to: object = None,
        sources: Sequence[str] = (),
        many: bool = False,
        confidence: float = 1.0,
    ) -> results.Fact:
        """Say that something is or was so.

        Another value of the same subject and predicate ends where this one begins; it is not lost. The same value,
        where it holds already, changes nothing but adds its sources. Without `valid_to` it holds until the next fact
        begins, or still; with one, what held before goes on behind it.

        Args:
            subject, predicate: Names, such as "Ann" and "lives in". value: At most 64 KiB.
            valid_from: Since when. None: the time the first source speaks of, else when it was said, else now.
            valid_to: Until when, exclusive. None: no end is known.
            sources: Ids of the messages, notes, topics, scenes, events or nodes it was drawn from; at most 256 are
                kept. A fact goes with its last source, unless it was asserted without any, too.
            many: The subject may have several such values at a time ("likes"). Say it each time, or never.
            confidence: 0..1; of several assertions of one fact the highest is kept.

        Returns:
            The fact that now says so: a new one, or the one that was known. Its `valid_to` may be earlier than asked
            for: it ends where the next one begins.

        Raises:
            InvalidRequest: an argument does not do, or the period is empty or inverted.
            NotFound: a source is not there.

        Cost: one commit.
        """
        if not isinstance(many, bool):
            raise InvalidRequest(f"{many!r:.40} is not allowed", field="many", allowed="True or False")
        if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
            raise InvalidRequest(
                f"{confidence!r:.40} is not allowed", field="confidence", allowed="a number from 0 to 1"
            )
        who = check_name(subject, field="subject")
        what = check_name(predicate, field="predicate")
        said = check_text(value, field="value", max_bytes=LIMITS.fact_bytes)
        since = None if valid_from is None else to_ms(valid_from, field="valid_from")
        until = None if valid_to is None else to_ms(valid_to, field="valid_to")
        drawn_from = ids_of(sources, field="sources", most=LIMITS.links, least=0)
        store = self._store

        def fill(batch: Batch) -> Fact:
            now = _now(store)
            drawn = [_source(store, id_) for id_ in drawn_from]
            start = since if since is not None else _told_at(drawn[0]) if drawn else now
            if until is not None and until <= start:
                raise InvalidRequest("the period is empty", field="valid_to", allowed="a time after `valid_from`")
            wanted = Fact(
                subject=who,
                predicate=what,
                value=said,
                valid_from=start,
                valid_to=until or 0,
                sources=drawn_from,
                recorded_at=now,
                many=many,
                own=not drawn_from,
                confidence=float(confidence),
            )
            return l3_timeline.put_asserted(store, batch, wanted, most_sources=LIMITS.links)

        return convert.fact(store.write(fill))

    def get(self, id: str) -> results.Fact:
        """The fact. Raises NotFound, InvalidRequest."""
        return convert.fact(self._store.get(Fact, from_hex(id)))

    def list(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        *,
        as_of: object = None,
        known_at: object = None,
        include_closed: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> results.Page:
        """Facts by the beginning of their period, those taken back left out.

        Args:
            subject, predicate: Only of these. None: all.
            as_of: What was so at this time. None: now.
            known_at: As it was known at this time; facts recorded later do not count, and one closed later is still
                open. None: now. The same as asking `db.at(known_at)`, but compaction does not end it; a fact whose
                period was changed more than 256 times is told by the oldest of these before.
            include_closed: All periods, past and to come, rather than those of one time.

        Raises:
            InvalidRequest: an argument does not do, or `as_of` stands beside `include_closed`.

        Cost: reads the facts of the subject or predicate, or all, from the cursor on until there are enough, about 7 us
            each.
        """
        if as_of is not None and include_closed:
            raise InvalidRequest("it contradicts `as_of`", field="include_closed", allowed="one of the two")
        store = self._store
        at = store.clock.now_ms() if as_of is None else to_ms(as_of, field="as_of")
        then = None if known_at is None else to_ms(known_at, field="known_at")

        def choose(fact: Fact) -> results.Fact | None:
            seen = fact if then is None else fact.as_known(then)
            if seen is None or seen.retracted or not (include_closed or seen.holds(at)):
                return None
            return convert.fact(seen)

        return self._page(
            Fact,
            _group(subject, predicate),
            choose,
            limit,
            cursor,
            newest_first,
            keep=lambda fact: choose(fact) is not None,
        )

    def history(
        self,
        subject: str,
        predicate: str,
        *,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> results.Page:
        """All facts on a subject and predicate by the beginning of their period, those taken back among them."""
        return self._page(Fact, _group(subject, predicate), convert.fact, limit, cursor, newest_first)

    def close(self, id: str, valid_to: object = None) -> results.Fact:
        """Say that a fact ends, or ended, or that it ended at another time; at most where the next one begins.

        Args:
            valid_to: When, exclusive. None: now.

        Raises:
            NotFound: no fact has this id. InvalidRequest: the time is not after its beginning, or it was taken back.
        """
        until = None if valid_to is None else to_ms(valid_to, field="valid_to")
        id_ = from_hex(id)
        store = self._store

        def fill(batch: Batch) -> Fact:
            now = _now(store)
            fact = _standing(store, id_)
            end = now if until is None else until
            if end <= fact.valid_from:
                raise InvalidRequest("the period would be empty", field="valid_to", allowed="a time after `valid_from`")
            return l3_timeline.put_closed(store, batch, fact, end, now)

        return convert.fact(store.write(fill))

    def retract(self, id: str) -> results.Fact:
        """Say that a fact never was so: it was asserted in error. `history` and `known_at` still tell of it.

        The fact that ended only because this one was asserted goes on as before.

        Raises:
            NotFound: no fact has this id. InvalidRequest: it was taken back already.
        """
        id_ = from_hex(id)
        store = self._store

        def fill(batch: Batch) -> Fact:
            return l3_timeline.put_retracted(store, batch, _standing(store, id_), _now(store))

        return convert.fact(store.write(fill))

    def delete(self, id: str) -> bool:
        """Erase a fact for good, and all that was ever known of it. What it had closed stays closed.

        Returns:
            False: no record has this id.

        Raises:
            NotFound: the id is that of something else.
        """
        from memhop.api.erasure import erase_record

        return erase_record(self._store, Kind.FACT, from_hex(id), field="id")


def _group(subject: str | None, predicate: str | None) -> int:
    who = None if subject is None else check_name(subject, field="subject")
    what = None if predicate is None else check_name(predicate, field="predicate")
    if who is not None:
        return l3_facts.about(who) if what is None else l3_facts.told(who, what)
    return all_of(Kind.FACT) if what is None else l3_facts.telling(what)


def _now(store: Store) -> int:
    """When what is written now is recorded: never before the newest commit, as commits do not go back in time."""
    return max(store.clock.now_ms(), store.file.commit_time_ms)


def _standing(store: Store, id_: int) -> Fact:
    fact = store.get(Fact, id_)
    if fact.retracted:
        raise InvalidRequest("it was taken back already", field="id", allowed="a fact that stands")
    return fact


def _source(store: Store, id_: int) -> Record:
    located = store.file.locate(id_)
    if located is None or not may_name(Fact, "sources", located[0]):
        raise NotFound(f"no message, note, topic, scene, event or node has the id {to_hex(id_)}", field="sources")
    record = store.record(id_)
    if record is None:
        raise NotFound(f"{to_hex(id_)} is damaged", field="sources")
    return record


def _told_at(source: Record) -> int:
    """The first time a source speaks of, else when it was said."""
    match source:
        case Message() if source.spans:
            return source.spans[0][0]
        case Message() | Note() | Event():
            return source.at
        case Topic():
            return source.user_at
        case Scene() | KnowledgeNode():
            return source.created_at
    raise AssertionError(source)
