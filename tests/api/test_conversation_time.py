""" "Yesterday" in a message is the day before it was said, where it was said: kept with it, shown, and found by it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

from memhop import DB, InvalidRequest
from memhop.repo.l4_archive import Message
from memhop.repo.record import Kind
from tests.support.memories import DAY, HOUR, NOW, memory, texts

BERLIN = ZoneInfo("Europe/Berlin")


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def day(text: str) -> tuple[int, int]:
    return ms(text), ms(text) + DAY


def in_time(db: DB, question: str) -> list[str]:
    """The texts found by the time that the question names, best first."""
    return [hit.text for hit in db.recall(question, explain=True).hits if hit.parts and "time" in hit.parts]


def chat(db: DB, at: int, *said: str, session: str = "s") -> None:
    db.archive.append_many(
        [{"text": text, "at": at + number * 1000, "session": session} for number, text in enumerate(said)]
    )


@pytest.mark.parametrize("way", ["append_many", "search", "update"])
def test_last_week_of_an_old_message_is_not_last_week_of_today(tmp_path: Path, way: str) -> None:
    """Facts of a memory were dated by the day on which an old conversation was read in: a message of 24 May 2023 that
    said "yesterday" told of yesterday. Of 1,400 dated facts one was right."""
    with memory(tmp_path / "a.meh") as db:
        said, at = "I signed the lease yesterday", datetime(2023, 5, 24, 10, tzinfo=UTC)
        if way == "append_many":
            (id_,) = db.archive.append_many([{"text": said, "at": at}])
        elif way == "search":
            id_ = db.search(said, at).message_id
        else:
            id_ = db.update(db.search("hello", at).new_topic_id, said, at).id
        message = db.archive.get(id_)
        assert message.spans == (day("2023-05-23"),)
        assert message.to_dict()["spans"] == [{"from": "2023-05-23T00:00:00Z", "to": "2023-05-24T00:00:00Z"}]
        assert db.recall("what happened on 23 May 2023?").hits[0].id == id_


def test_the_zone_of_the_message_tells_when_its_days_begin(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        night = datetime(2023, 5, 24, 0, 30, tzinfo=BERLIN)  # still the 23rd in UTC
        ids = db.archive.append_many(
            [{"text": "I saw it yesterday", "at": night}, {"text": "I saw it yesterday", "at": ms("2023-05-23T22:30")}]
        )
        local, plain = (db.archive.get(id_) for id_ in ids)
        assert local.at == plain.at
        assert local.spans == ((ms("2023-05-22T22:00"), ms("2023-05-23T22:00")),)
        assert plain.spans == (day("2023-05-22"),)


@pytest.mark.parametrize(
    ("said", "since", "until"),
    [
        (datetime(2026, 3, 30, 9, tzinfo=BERLIN), "2026-03-28T23:00", "2026-03-29T22:00"),  # of 23 hours
        (datetime(2025, 10, 27, 9, tzinfo=BERLIN), "2025-10-25T22:00", "2025-10-26T23:00"),  # of 25
        (datetime(2024, 3, 1, 0, tzinfo=UTC), "2024-02-29T00:00", "2024-03-01T00:00"),
    ],
)
def test_nights_in_which_clocks_change_and_leap_days(tmp_path: Path, said: datetime, since: str, until: str) -> None:
    with memory(tmp_path / "a.meh") as db:
        (id_,) = db.archive.append_many([{"text": "It rained yesterday", "at": said}])
        assert db.archive.get(id_).spans == ((ms(since), ms(until)),)


def test_a_question_about_a_time_finds_what_was_said_about_it_later(tmp_path: Path) -> None:
    """Who only looks at when something was said finds the chat of that day, and not the message that answers."""
    with memory(tmp_path / "a.meh") as db:
        chat(db, ms("2026-03-10T09:00"), "the boiler hums", "somebody moved the chairs", session="then")
        chat(db, ms("2026-03-17T09:00"), "my sister got engaged last week", "the boiler is quiet", session="later")
        chat(db, ms("2026-05-01T09:00"), "lovely news all around", session="much later")
        found = db.recall("what happened to Ina on 12 March?", explain=True)
        assert found.hits[0].text == "my sister got engaged last week"
        assert found.hits[0].parts["time"] > 0
        assert in_time(db, "what happened on 9 March?") == ["my sister got engaged last week"]
        assert in_time(db, "what happened on 8 March?") == []


def test_what_is_to_come_is_found_by_when_it_is(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        chat(db, NOW - 3 * DAY, "the plumber comes in four days", "the milk is sour")
        assert texts(db.recall("what is on tomorrow?"))[0] == "the plumber comes in four days"
        chat(db, NOW - 2 * DAY, "下周三体检")
        assert texts(db.recall("下周有什么安排？"))[0] == "下周三体检"


def test_filters_hold_for_what_is_found_by_its_time(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        chat(db, ms("2026-03-17T09:00"), "engaged last week", session="one")
        chat(db, ms("2026-03-17T09:00"), "divorced last week", session="two")
        assert texts(db.recall("on 12 March 2026", session="two")) == ["divorced last week"]


def test_an_erased_message_is_not_found_by_its_time(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        (id_,) = db.archive.append_many([{"text": "engaged last week", "at": ms("2026-03-17T09:00")}])
        chat(db, NOW, "something else")
        assert in_time(db, "on 12 March 2026") == ["engaged last week"]
        db.forget(id_, hard=True)
        assert in_time(db, "on 12 March 2026") == []


def test_it_stays_found_after_a_checkpoint_and_by_another_handle(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        chat(db, ms("2026-03-17T09:00"), "engaged last week", "in 2019 she sang")
        db.checkpoint()
        chat(db, ms("2026-03-17T10:00"), "engaged a week ago, I heard")
    with memory(tmp_path / "a.meh", mode="read") as db:
        assert set(in_time(db, "on 11 March 2026")) == {"engaged last week", "engaged a week ago, I heard"}
        assert in_time(db, "in 2019") == ["in 2019 she sang"]
        assert db.verify(deep=True).ok


def test_messages_of_older_builds_are_found_as_before(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        chat(db, ms("2026-03-12T09:00"), "it is so quiet here")
        (id_,) = db.archive.append_many([{"text": "engaged last week", "at": ms("2026-03-17T09:00")}])
        with db._store.writing() as batch:
            record = db._store.get(Message, int(id_, 16))
            batch.put(msgspec.structs.replace(record, spans=()))
        assert in_time(db, "on 12 March 2026") == ["it is so quiet here"]
        assert Kind.MESSAGE in {kind for _, kind, _ in db._file.live()}


def test_a_question_has_a_zone_too(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        chat(db, ms("2026-05-26T22:30"), "the concert begins")  # 00:30 on the 27th in Berlin
        asked = datetime(2026, 5, 28, 9, tzinfo=BERLIN)
        assert texts(db.recall("what was yesterday?", at=asked)) == ["the concert begins"]
        assert texts(db.recall("what was yesterday?", at=asked.astimezone(UTC))) == []


def test_times_of_every_form_go_together(tmp_path: Path) -> None:
    """Naive and aware times were compared somewhere, and the call crashed. One rule: ms and aware, never naive."""
    forms = [
        NOW - HOUR,
        datetime.fromisoformat("2026-05-28T01:00:00+05:30"),
        datetime(2026, 5, 28, 18, tzinfo=UTC),
        None,
    ]
    with memory(tmp_path / "a.meh") as db:
        ids = db.archive.append_many([{"text": f"form {n} began yesterday", "at": at} for n, at in enumerate(forms)])
        assert [db.archive.get(id_).spans[0][0] for id_ in ids] == [
            ms("2026-05-27"), ms("2026-05-26T18:30"), ms("2026-05-27"), ms("2026-05-27"),
        ]  # fmt: skip
        for naive in (datetime(2026, 5, 28), "2026-05-28", "2026-05-28 01:00"):
            with pytest.raises(InvalidRequest, match="at"):
                db.archive.append_many([{"text": "it began yesterday", "at": naive}])
