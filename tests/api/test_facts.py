"""`db.facts`: what was so, from when to when, and when that was known."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memhop import DB, InvalidRequest, NotFound
from memhop.api.results import Fact
from memhop.common.clock import ManualClock, to_datetime
from memhop.common.ids import from_hex
from memhop.repo import l3_facts
from tests.api.test_erasure import dangling
from tests.support.memories import DAY, HOUR, NO_ID, NOW, distract, every, memory, texts

SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NEVER = 10**18


def on(day: int) -> int:
    """A day of the calendar of these tests."""
    return NOW - 400 * DAY + day * DAY


def days(fact: Fact) -> tuple[str, int, int | None]:
    """Value and period, in days."""
    until = None if fact.valid_to is None else (fact.valid_to - on(0)) // DAY
    return fact.value, (fact.valid_from - on(0)) // DAY, until


def timeline(db: DB, subject: str = "Ann", predicate: str = "lives in", **arguments: Any) -> list[Any]:
    """All periods that stand."""
    found = every(db.facts.list, subject=subject, predicate=predicate, include_closed=True, **arguments)
    return [days(fact) for fact in found]


def sound(db: DB) -> None:
    assert db.verify(deep=True).ok
    assert not dangling(db)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def tell(tmp_path: Path, clock: ManualClock) -> Any:
    """Asserts where Ann lives, from a day to a day; `tell.db` is the memory."""
    with memory(tmp_path / "a.meh", clock=clock) as db:

        def asserted(value: str, since: int, until: int | None = None, **arguments: Any) -> Fact:
            clock.advance(HOUR)
            end = None if until is None else on(until)
            return db.facts.assert_("Ann", "lives in", value, valid_from=on(since), valid_to=end, **arguments)

        asserted.db = db  # type: ignore[attr-defined]
        yield asserted
        sound(db)


class TestAsserting:
    def test_a_new_value_closes_the_old_one(self, tell: Any, clock: ManualClock) -> None:
        old = tell("Graz", 1)
        new = tell("Linz", 9)
        assert timeline(tell.db) == [("Graz", 1, 9), ("Linz", 9, None)]
        closed = tell.db.facts.get(old.id)
        assert (closed.closed_at, closed.recorded_at) == (clock.now_ms(), old.recorded_at)
        assert (new.closed_at, new.retracted_at, new.recorded_at) == (None, None, clock.now_ms())
        assert [fact.value for fact in tell.db.facts.list("Ann").items] == ["Linz"]
        assert [fact.value for fact in tell.db.facts.list("Ann", as_of=on(8)).items] == ["Graz"]
        assert [fact.value for fact in tell.db.facts.list("Ann", as_of=on(9)).items] == ["Linz"]
        assert tell.db.facts.list("Ann", as_of=on(0)).items == ()

    def test_the_same_again_changes_nothing(self, tell: Any) -> None:
        first = tell("Graz", 1)
        commit = tell.db.stats().commit
        assert tell("Graz", 5) == first
        assert tell("  Graz ", 1) == first
        assert tell.db.stats().commit == commit
        assert tell("graz", 5).value == "graz", "another value: letter case may be all there is to a name"

    def test_two_periods_stay_two(self, tell: Any) -> None:
        tell("Payments", 1)
        tell("Search", 3)
        tell("Payments", 6)
        assert timeline(tell.db) == [("Payments", 1, 3), ("Search", 3, 6), ("Payments", 6, None)]

    def test_what_is_told_late_finds_its_place(self, tell: Any) -> None:
        tell("B", 10)
        assert tell("A", 4).valid_to == on(10)
        tell("C", 6)
        assert timeline(tell.db) == [("A", 4, 6), ("C", 6, 10), ("B", 10, None)]
        tell("B", 8)
        assert timeline(tell.db) == [("A", 4, 6), ("C", 6, 8), ("B", 8, None)], "B began earlier than was known"
        assert tell("Z", 1, 20).valid_to == on(4), "it ends where the next one begins"

    def test_a_period_within_another_one_leaves_its_rest(self, tell: Any) -> None:
        tell("A", 1)
        tell("B", 4, 6)
        assert timeline(tell.db) == [("A", 1, 4), ("B", 4, 6), ("A", 6, None)]
        tell("C", 1, 2)
        assert timeline(tell.db) == [("C", 1, 2), ("A", 2, 4), ("B", 4, 6), ("A", 6, None)]

    def test_ends_that_are_given(self, tell: Any) -> None:
        first = tell("A", 1)
        assert tell("A", 2, 8).id == first.id
        assert timeline(tell.db) == [("A", 1, 8)], "now it is known when it ended"
        tell("A", 8)
        assert timeline(tell.db) == [("A", 1, None)], "and that it went on"
        tell.db.facts.close(first.id, on(5))
        tell("A", 7, 9)
        tell("A", 12, 13)
        assert timeline(tell.db) == [("A", 1, 5), ("A", 7, 9), ("A", 12, 13)]
        tell("A", 5, 12)
        assert timeline(tell.db) == [("A", 1, 13)]

    def test_from_the_same_moment_the_newer_counts(self, tell: Any) -> None:
        wrong = tell("A", 1)
        tell("B", 1)
        assert timeline(tell.db) == [("B", 1, None)]
        assert tell.db.facts.get(wrong.id).retracted_at is not None
        assert {fact.value for fact in every(tell.db.facts.history, subject="ann", predicate="LIVES  IN")} == {"A", "B"}

    def test_names_are_compared_without_case_and_space(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.facts.assert_("Zoë  Ångström", "lives in", "Graz", valid_from=on(1))
            db.facts.assert_("ZOË ångström", "Lives In", "Linz", valid_from=on(2))
            assert [(fact.subject, fact.value) for fact in every(db.facts.list, include_closed=True)] == [
                ("Zoë  Ångström", "Graz"),
                ("Zoë  Ångström", "Linz"),
            ]
            assert timeline(db, "zoë ångström") == [("Graz", 1, 2), ("Linz", 2, None)]
            assert db.facts.assert_("zoë ångström", "lives in", "Bern", valid_from=on(0)).subject == "Zoë  Ångström"

    def test_many_values_at_a_time(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for value in ("tea", "rain", "tea"):
                db.facts.assert_("Ann", "likes", value, valid_from=on(1), many=True)
            assert sorted(timeline(db, predicate="likes")) == [("rain", 1, None), ("tea", 1, None)]
            (tea,) = [fact for fact in db.facts.list("Ann").items if fact.value == "tea"]
            db.facts.close(tea.id, on(5))
            db.facts.assert_("Ann", "likes", "tea", valid_from=on(9), many=True)
            assert sorted(timeline(db, predicate="likes")) == [("rain", 1, None), ("tea", 1, 5), ("tea", 9, None)]

    def test_without_a_time_it_is_that_of_the_source(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.archive.append_many([{"text": "I moved to Graz", "at": on(7), "session": "s"}])
            (message,) = every(db.archive.list)
            note = db.remember("Ann likes tea", at=on(3))
            assert days(db.facts.assert_("Ann", "lives in", "Graz", sources=[message.id]))[1] == 7
            assert days(db.facts.assert_("Ann", "likes", "tea", sources=[note.id, message.id]))[1] == 3
            assert db.facts.assert_("Ann", "is", "here").valid_from == NOW
            (id_,) = db.archive.append_many([{"text": "We moved to Linz two days ago", "at": on(20), "session": "s"}])
            moved = db.archive.get(id_)
            assert moved.spans[0][0] < on(19)
            fact = db.facts.assert_("Ann", "lives in", "Linz", sources=[id_, message.id])
            assert fact.valid_from == moved.spans[0][0]

    def test_sources_add_up_to_a_limit(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            notes = db.remember_many([f"note {number}" for number in range(300)])
            first = db.facts.assert_("Ann", "is", "here", sources=[notes[0].id], confidence=0.4)
            again = db.facts.assert_("Ann", "is", "here", sources=[notes[1].id], confidence=0.6)
            assert (again.id, again.sources) == (first.id, (notes[0].id, notes[1].id))
            assert (first.confidence, again.confidence) == (0.4, 0.6)
            again = db.facts.assert_("Ann", "is", "here", sources=[note.id for note in notes[40:296]])
            assert len(again.sources) == 256

    def test_what_is_no_fact(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            fact = db.facts.assert_("Ann", "is", "here", valid_from=on(5))
            commit = db.stats().commit
            naive = datetime(2026, 1, 1)
            wrong: list[tuple[str, Callable[[], Any]]] = [
                ("subject", lambda: db.facts.assert_("", "is", "here")),
                ("predicate", lambda: db.facts.assert_("Ann", "i\ns", "here")),
                ("value", lambda: db.facts.assert_("Ann", "is", " ")),
                ("value", lambda: db.facts.assert_("Ann", "is", "x" * 65_537)),
                ("value", lambda: db.facts.assert_("Ann", "is", 5)),  # type: ignore[arg-type]
                ("valid_from", lambda: db.facts.assert_("Ann", "is", "there", valid_from=naive)),
                ("valid_to", lambda: db.facts.assert_("Ann", "is", "there", valid_to="2026-01-01")),
                ("valid_to", lambda: db.facts.assert_("Ann", "is", "there", valid_from=on(7), valid_to=on(7))),
                ("valid_to", lambda: db.facts.assert_("Ann", "is", "there", valid_from=on(7), valid_to=on(6))),
                ("valid_to", lambda: db.facts.assert_("Ann", "is", "there", valid_to=NOW)),
                ("many", lambda: db.facts.assert_("Ann", "is", "there", many=1)),  # type: ignore[arg-type]
                ("confidence", lambda: db.facts.assert_("Ann", "is", "there", confidence=1.5)),
                ("sources", lambda: db.facts.assert_("Ann", "is", "there", sources="abc")),
                ("valid_to", lambda: db.facts.close(fact.id, on(5))),
                ("include_closed", lambda: db.facts.list(as_of=on(1), include_closed=True)),
                ("known_at", lambda: db.facts.list(known_at="today")),
                ("limit", lambda: db.facts.list(limit=0)),
                ("cursor", lambda: db.facts.list(cursor="x")),
            ]
            for field, call in wrong:
                with pytest.raises(InvalidRequest) as caught:
                    call()
                assert caught.value.field == field
            for missing in (NO_ID, fact.id):
                with pytest.raises(NotFound):
                    db.facts.assert_("Ann", "is", "there", sources=[missing])
            assert db.stats().commit == commit


class TestTakingBack:
    def test_what_it_had_closed_goes_on(self, tell: Any, clock: ManualClock) -> None:
        tell("Graz", 1)
        wrong = tell("Paris", 5)
        clock.advance(HOUR)
        back = tell.db.facts.retract(wrong.id)
        assert back.retracted_at == clock.now_ms()
        assert timeline(tell.db) == [("Graz", 1, None)]
        assert tell.db.recall("Paris").hits == ()
        assert [fact.value for fact in tell.db.facts.list(known_at=wrong.recorded_at).items] == ["Paris"]
        for call in (tell.db.facts.retract, tell.db.facts.close):
            with pytest.raises(InvalidRequest, match="taken back"):
                call(wrong.id)
        tell("Paris", 5)
        assert timeline(tell.db) == [("Graz", 1, 5), ("Paris", 5, None)]

    def test_what_was_closed_otherwise_stays_closed(self, tell: Any) -> None:
        first = tell("Graz", 1)
        tell.db.facts.close(first.id, on(5))
        second = tell("Linz", 5)
        tell.db.facts.retract(second.id)
        assert timeline(tell.db) == [("Graz", 1, 5)]

    def test_closing(self, tell: Any, clock: ManualClock) -> None:
        first = tell("Graz", 1)
        assert tell.db.facts.close(first.id, on(50)).valid_to == on(50)
        tell("Linz", 60)
        assert tell.db.facts.close(first.id, on(70)).valid_to == on(60), "at most until the next one begins"
        commit = tell.db.stats().commit
        assert tell.db.facts.close(first.id, on(60)).valid_to == on(60)
        assert tell.db.stats().commit == commit
        (last,) = tell.db.facts.list("Ann").items
        assert tell.db.facts.close(last.id).valid_to == clock.now_ms()
        assert tell.db.facts.list("Ann").items == ()
        with pytest.raises(NotFound):
            tell.db.facts.close(NO_ID)


class TestWhatWasKnown:
    def test_a_fact_closed_later_was_open(self, tell: Any, clock: ManualClock) -> None:
        tell("Graz", 1)
        before = clock.now_ms()
        tell("Linz", 9)
        assert timeline(tell.db, known_at=before) == [("Graz", 1, None)]
        assert timeline(tell.db, known_at=before - 1) == []
        (then,) = tell.db.facts.list("Ann", as_of=on(20), known_at=before).items
        assert (then.value, then.valid_to, then.closed_at) == ("Graz", None, None)
        tell.db.compact()
        assert timeline(tell.db, known_at=before) == [("Graz", 1, None)]

    @SLOW
    @given(st.integers(0, 2**32))
    def test_known_at_is_what_the_past_says(self, tmp_path: Path, seed: int) -> None:
        rng = random.Random(seed)
        path = tmp_path / "a.meh"
        path.unlink(missing_ok=True)
        clock = ManualClock(NOW)
        with memory(path, clock=clock, durability="none") as db:
            moments = []
            for _ in range(14):
                live(db, rng)
                moments.append(clock.now_ms())
                clock.advance(rng.choice([0, 1, 5, HOUR]))
                check_periods(db)
            for moment in rng.sample(moments, 5):
                with db.at(to_datetime(moment)) as then:
                    for arguments in ({"include_closed": True}, {"as_of": on(rng.randrange(12))}, {"as_of": NOW}):
                        now_told = every(db.facts.list, known_at=moment, **arguments)
                        then_told = every(then.facts.list, **arguments)
                        assert by_id(now_told) == by_id(then_told), f"seed {seed}, {arguments}"

    def test_a_clock_that_was_set_back(self, tmp_path: Path) -> None:
        """Commits do not go back in time, so neither does what was known."""
        with memory(tmp_path / "a.meh") as db:
            db.facts.assert_("Ann", "lives in", "Graz", valid_from=on(1))
        with memory(tmp_path / "a.meh", clock=ManualClock(NOW - DAY)) as db:
            assert db.facts.assert_("Ann", "lives in", "Linz", valid_from=on(2)).recorded_at == NOW
            assert timeline(db, known_at=NOW - HOUR) == []
            assert timeline(db, known_at=NOW) == [("Graz", 1, 2), ("Linz", 2, None)]

    def test_very_many_changes_are_told_by_the_oldest_kept(self, tell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(l3_facts, "MOST_BELIEFS", 3)
        fact = tell("A", 1, 2)
        for day in range(2, 9):
            assert tell("A", day, day + 1).id == fact.id
        assert timeline(tell.db) == [("A", 1, 9)]
        assert timeline(tell.db, known_at=fact.recorded_at) == [("A", 1, 6)]


def live(db: DB, rng: random.Random) -> None:
    """One more change of some fact or other."""
    known = every(db.facts.list, include_closed=True)
    if known and rng.random() < 0.3:
        fact = rng.choice(known)
        if rng.random() < 0.5:
            db.facts.close(fact.id, fact.valid_from + rng.randrange(1, 5) * DAY)
        else:
            db.facts.retract(fact.id)
        return
    since = rng.randrange(12)
    until = on(since + rng.randrange(1, 6)) if rng.random() < 0.4 else None
    many = rng.random() < 0.2
    predicate = "likes" if many else "lives in"
    db.facts.assert_(
        rng.choice(["Ann", "Bo"]), predicate, rng.choice("ABC"), valid_from=on(since), valid_to=until, many=many
    )


def by_id(facts: list[Fact]) -> list[dict[str, Any]]:
    """Comparable, and without what is always of now."""
    return sorted(({**fact.to_dict(), "confidence": 1} for fact in facts), key=lambda fact: str(fact["id"]))


def check_periods(db: DB) -> None:
    """Of one timeline no two periods overlap, and none is empty."""
    timelines: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for fact in every(db.facts.list, include_closed=True):
        key = (fact.subject, fact.predicate, fact.value if fact.many else "")
        timelines.setdefault(key, []).append((fact.valid_from, fact.valid_to or NEVER))
    for periods in timelines.values():
        assert all(since < until for since, until in periods)
        assert all(one[1] <= other[0] for one, other in pairwise(sorted(periods)))


@SLOW
@given(
    st.lists(
        st.tuples(st.sampled_from("ABC"), st.integers(0, 11), st.none() | st.integers(1, 5)), min_size=1, max_size=10
    )
)
def test_a_timeline_is_what_a_calendar_says(tmp_path: Path, told: list[tuple[str, int, int | None]]) -> None:
    """A calendar with a value or nothing on each day; the last day stands for all that follow."""
    path = tmp_path / "a.meh"
    path.unlink(missing_ok=True)
    calendar: list[str | None] = [None] * 20
    with memory(path, durability="none") as db:
        for value, since, length in told:
            db.facts.assert_(
                "Ann", "lives in", value, valid_from=on(since), valid_to=on(since + length) if length else None
            )
            write(calendar, value, since, None if length is None else since + length)
            assert timeline(db) == runs(calendar), told


def write(calendar: list[str | None], value: str, since: int, until: int | None) -> None:
    begins = [day for day in range(since + 1, len(calendar)) if calendar[day] and calendar[day] != calendar[day - 1]]
    if until is None:
        if calendar[since] == value:
            return
        until = min(begins, default=len(calendar))
    else:
        until = min([until, *(day for day in begins if calendar[day] != value)])
        if calendar[since] == value:  # it ends then, not later
            day = since
            while day < len(calendar) and calendar[day] == value:
                calendar[day] = None
                day += 1
    calendar[since:until] = [value] * (until - since)


def runs(calendar: list[str | None]) -> list[tuple[str, int, int | None]]:
    found: list[tuple[str, int, int | None]] = []
    for day, value in enumerate(calendar):
        if value and found and found[-1][0] == value and found[-1][2] == day:
            found[-1] = (value, found[-1][1], day + 1)
        elif value:
            found.append((value, day, day + 1))
    return [(value, since, None if until == len(calendar) else until) for value, since, until in found]


class TestListing:
    def test_by_subject_predicate_and_page(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for number in range(10):
                db.facts.assert_("Ann", "reads", f"book {number}", valid_from=on(number))
                db.facts.assert_(f"Bo {number}", "reads", "maps", valid_from=on(number))
            assert [fact.value for fact in every(db.facts.list, subject="ANN", page=1)] == ["book 9"]
            assert len(every(db.facts.list, predicate="Reads")) == 11
            assert len(every(db.facts.list, predicate="reads", as_of=on(4))) == 6
            assert len(every(db.facts.list)) == 11
            assert len(every(db.facts.list, include_closed=True, page=7)) == 20
            newest = every(db.facts.list, subject="Ann", include_closed=True, newest_first=True)
            assert [days(fact)[1] for fact in newest] == list(range(9, -1, -1))
            assert db.facts.list("Ann", "writes").items == ()
            assert db.facts.list("Ann", limit=1).next is None
            shown = newest[0].to_dict()
            assert shown["valid_from"].endswith("Z")
            assert shown["valid_to"] is None

    def test_aware_times_of_any_zone(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            zone = timezone(timedelta(hours=5, minutes=30))
            fact = db.facts.assert_("Ann", "is", "here", valid_from=datetime(2025, 9, 5, 21, 2, tzinfo=zone))
            assert fact.valid_from == int(datetime(2025, 9, 5, 15, 32, tzinfo=UTC).timestamp() * 1000)
            assert db.facts.list(as_of=datetime(2025, 9, 5, 15, 31, tzinfo=UTC)).items == ()
            assert len(db.facts.list(as_of=fact.valid_from).items) == 1


class TestErasing:
    def test_a_fact_goes_with_its_last_source(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            one, two = (db.remember(f"the {word} qxzzy is told of") for word in ("first", "second"))
            only = db.facts.assert_("Ann", "has", "the qxzonly", sources=[one.id])
            both = db.facts.assert_("Ann", "owns", "the qxzboth", sources=[one.id, two.id])
            own = db.facts.assert_("Ann", "keeps", "the qxzown", sources=[one.id])
            assert db.facts.assert_("Ann", "keeps", "the qxzown").id == own.id
            db.facts.close(only.id, NOW + DAY)
            db.forget(one.id)
            assert db.facts.get(only.id).sources == (one.id,), "the trash is no end"
            db.forget(one.id, hard=True)
            with pytest.raises(NotFound):
                db.facts.get(only.id)
            assert db.facts.history("Ann", "has").items == ()
            assert db.facts.list(known_at=only.recorded_at, predicate="has").items == ()
            assert "the qxzonly" not in " ".join(texts(db.recall("qxzonly")))
            assert db.facts.get(both.id).sources == (two.id,)
            assert db.facts.get(own.id).sources == ()
            sound(db)
            db.compact(keep_history=True)
            assert b"qxzonly" not in path.read_bytes()
            db.forget(two.id, hard=True)
            assert [fact.value for fact in every(db.facts.list)] == ["the qxzown"]
            assert db.facts.delete(own.id)
            assert not db.facts.delete(own.id)
            with pytest.raises(NotFound):
                db.facts.delete(db.remember("a note").id)
            db.compact(keep_history=True)
            assert b"qxzown" not in path.read_bytes()
            sound(db)


class TestRecalling:
    def facts(self, db: DB) -> None:
        distract(db)
        for value, day in (("Graz", 1), ("Linz", 60), ("Vienna", 200)):
            db.facts.assert_("Ottilie", "lives in", value, valid_from=on(day))
        db.facts.assert_("Bruno", "lives in", "Graz", valid_from=on(1))

    def test_the_present_first_and_the_past_within_reach(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            self.facts(db)
            found = db.recall("where does Ottilie live now?", layers=["knowledge"])
            hits = [hit for hit in found.hits if "Ottilie" in hit.text]
            assert [hit.text for hit in hits] == [
                "Ottilie lives in Vienna", "Ottilie lives in Linz", "Ottilie lives in Graz"
            ]  # fmt: skip
            assert [hit.superseded for hit in hits] == [False, True, True]
            assert [hit.kind for hit in hits] == ["fact"] * 3
            assert (hits[1].valid_from, hits[1].valid_to, hits[0].valid_to) == (on(60), on(200), None)
            assert hits[1].to_dict()["valid_to"].endswith("Z")
            assert db.recall("Ottilie lives where", kinds=["fact"]).hits[0].text == "Ottilie lives in Vienna"
            assert "Ottilie lives in Linz (22 June 2025 to 9 November 2025)" in found.context
            assert "Ottilie lives in Vienna (since 9 November 2025)" in found.context
            note = db.remember("the weather is fine")
            assert db.recall("weather fine").hits[0].id == note.id
            assert db.recall("weather fine").hits[0].valid_from is None

    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("where does Ottilie live?", "Vienna"),
            ("where does Ottilie live in July 2025?", "Linz"),
            ("where does Ottilie live originally?", "Graz"),
            ("is Graz where Ottilie lives?", "Vienna"),
        ],
    )
    def test_the_time_asked_about(self, tmp_path: Path, question: str, answer: str) -> None:
        with memory(tmp_path / "a.meh") as db:
            self.facts(db)
            assert texts(db.recall(question))[0] == f"Ottilie lives in {answer}"
            asked = [db.recall(question, explain=True) for _ in range(2)]
            assert asked[0] == asked[1]
            assert all(sum(hit.parts.values()) == pytest.approx(hit.score) for hit in asked[0].hits)

    def test_a_fact_comes_beside_what_was_said(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            self.facts(db)
            turn = db.search("Ottilie told me that she lives in Vienna these days")
            db.facts.assert_("Ottilie", "lives in", "Vienna", sources=[turn.message_id])
            found = db.recall("where does Ottilie live?", limit=4)
            assert {hit.layer for hit in found.hits[:3]} == {"knowledge", "messages"}
            assert db.why_not(turn.message_id, "where does Ottilie live?").returned


def test_a_record_of_a_fact_may_lie(tmp_path: Path) -> None:
    """What a file says is no order of ours: periods that overlap, are empty, or end before they begin."""
    with memory(tmp_path / "a.meh") as db:
        fact = db.facts.assert_("Ann", "is", "here", valid_from=on(5))
        with db._store.writing() as batch:
            known = db._store.get(l3_facts.Fact, from_hex(fact.id))
            batch.put(msgspec.structs.replace(known, valid_to=on(3)))
            batch.new(msgspec.structs.replace(known, id=0, retracted=True), "a")
            batch.new(msgspec.structs.replace(known, id=0, valid_to=on(3), value="there"), "b")
        assert db.facts.list().items == ()
        for value in ("here", "there", "elsewhere"):
            for day in range(1, 8):
                db.facts.assert_("Ann", "is", value, valid_from=on(day))
        assert db.facts.list().items
        for found in every(db.facts.history, subject="Ann", predicate="is"):
            if found.retracted_at is None:
                db.facts.retract(found.id)
        assert db.facts.list().items == ()
        assert db.recall("Ann").hits == ()
        sound(db)
