"""The times a message speaks of, resolved against the moment and the place where it was said."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memhop.common.clock import to_datetime
from memhop.repo.l4_archive import MOST_SPANS
from memhop.search import dates
from memhop.search.mentions import SEARCHED_CHARS, spans
from memhop.search.said import Said
from memhop.search.time_words import mentions

SAID = "2023-05-24T10:30"  # a Wednesday


def ms(text: str, zone: tzinfo = UTC) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def shown(edge: int, zone: tzinfo = UTC) -> str:
    moment = to_datetime(edge).astimezone(zone)
    return f"{moment:%Y-%m-%d}" if (moment.hour, moment.minute) == (0, 0) else f"{moment:%Y-%m-%d %H:%M}"


def named(text: str, said: str = SAID, zone: tzinfo = UTC) -> list[tuple[str, str]]:
    return [(shown(since, zone), shown(until, zone)) for since, until in spans(text, ms(said, zone), zone)]


ONE = [
    ("I saw her yesterday.", "2023-05-23", "2023-05-24"),
    ("Yesterday's rain!", "2023-05-23", "2023-05-24"),
    ("busy today", "2023-05-24", "2023-05-25"),
    ("tomorrow, then", "2023-05-25", "2023-05-26"),
    ("we flew the day before yesterday", "2023-05-22", "2023-05-23"),
    ("she lands the day after tomorrow", "2023-05-26", "2023-05-27"),
    ("I ran this morning", "2023-05-24 05:00", "2023-05-24 12:00"),
    ("we danced last night", "2023-05-23 18:00", "2023-05-24 06:00"),
    ("dinner tonight?", "2023-05-24 18:00", "2023-05-25 06:00"),
    ("it snowed yesterday evening", "2023-05-23 17:00", "2023-05-24"),
    ("call me tomorrow afternoon", "2023-05-25 12:00", "2023-05-25 18:00"),
    ("we moved last week", "2023-05-15", "2023-05-22"),
    ("the week before last was hell", "2023-05-08", "2023-05-15"),
    ("next week I start", "2023-05-29", "2023-06-05"),
    ("next month we marry", "2023-06-01", "2023-07-01"),
    ("I quit last year", "2022-01-01", "2023-01-01"),
    ("hiking last weekend", "2023-05-20", "2023-05-22"),
    ("this weekend we sail", "2023-05-27", "2023-05-29"),
    ("we went camping over the weekend", "2023-05-20", "2023-05-22"),
    ("we will go camping over the weekend", "2023-05-27", "2023-05-29"),
    ("two days ago my cat died", "2023-05-22", "2023-05-23"),
    ("three weeks ago", "2023-04-30", "2023-05-07"),
    ("a couple of weeks ago", "2023-05-07", "2023-05-14"),
    ("a few days ago", "2023-05-19", "2023-05-23"),
    ("half a year ago", "2022-11-10", "2022-12-11"),
    ("it opens in two weeks", "2023-06-04", "2023-06-11"),
    ("we will be there in 3 days", "2023-05-27", "2023-05-28"),
    ("two weeks from now", "2023-06-04", "2023-06-11"),
    ("in two weeks' time", "2023-06-04", "2023-06-11"),
    ("the past 3 days were hot", "2023-05-21", "2023-05-25"),
    ("the next two weeks", "2023-05-24", "2023-06-12"),
    ("I met Jo last Friday", "2023-05-19", "2023-05-20"),
    ("I met Jo on Friday", "2023-05-19", "2023-05-20"),
    ("I'll meet Jo on Friday", "2023-05-26", "2023-05-27"),
    ("The demo is on Friday", "2023-05-26", "2023-05-27"),
    ("next Friday works", "2023-05-26", "2023-05-27"),
    ("this Friday", "2023-05-26", "2023-05-27"),
    ("this past Monday", "2023-05-22", "2023-05-23"),
    ("this coming Monday", "2023-05-29", "2023-05-30"),
    ("See you Friday evening!", "2023-05-26 17:00", "2023-05-27"),
    ("due by Monday", "2023-05-29", "2023-05-30"),
    ("ill since Monday", "2023-05-22", "2023-05-23"),
    ("in 2021 I lived in Oslo", "2021-01-01", "2022-01-01"),
    ("on 8 May we met", "2023-05-08", "2023-05-09"),
    ("on may 8 we met", "2023-05-08", "2023-05-09"),
    ("may 8th was great", "2023-05-08", "2023-05-09"),
    ("the 8th of May, 2022", "2022-05-08", "2022-05-09"),
    ("May 8, 2022.", "2022-05-08", "2022-05-09"),
    ("We married on 3 November", "2022-11-03", "2022-11-04"),
    ("We will marry on 3 November", "2023-11-03", "2023-11-04"),
    ("Her birthday is 3 November", "2023-11-03", "2023-11-04"),
    ("Her birthday is 30 December", "2022-12-30", "2022-12-31"),
    ("the 29th of February", "2024-02-29", "2024-03-01"),
    ("we are going in June", "2023-06-01", "2023-07-01"),
    ("we went in June", "2022-06-01", "2022-07-01"),
    ("I started in may", "2023-05-01", "2023-06-01"),
    ("since last December", "2022-12-01", "2023-01-01"),
    ("early in March, 3 people quit", "2023-03-01", "2023-04-01"),
    ("March 2022", "2022-03-01", "2022-04-01"),
    ("in Dec. 2021", "2021-12-01", "2022-01-01"),
    ("2023-05-08T09:00 deploy", "2023-05-08", "2023-05-09"),
    ("released 2023-04", "2023-04-01", "2023-05-01"),
    ("last summer", "2022-06-01", "2022-09-01"),
    ("the summer of 2021", "2021-06-01", "2021-09-01"),
    ("next spring", "2024-03-01", "2024-06-01"),
    ("我昨天去了医院", "2023-05-23", "2023-05-24"),
    ("大前天买的", "2023-05-21", "2023-05-22"),
    ("后天考试", "2023-05-26", "2023-05-27"),
    ("今晚吃火锅", "2023-05-24 17:00", "2023-05-25"),
    ("明天下午开会", "2023-05-25 12:00", "2023-05-25 18:00"),
    ("上周五搬的家", "2023-05-19", "2023-05-20"),
    ("上个星期日爬山", "2023-05-21", "2023-05-22"),
    ("下周三交稿", "2023-05-31", "2023-06-01"),
    ("周五要开会", "2023-05-26", "2023-05-27"),
    ("周一见了老张", "2023-05-22", "2023-05-23"),
    ("下个月去日本", "2023-06-01", "2023-07-01"),
    ("下个月3号动手术", "2023-06-03", "2023-06-04"),
    ("上上周", "2023-05-08", "2023-05-15"),
    ("这周末有空", "2023-05-27", "2023-05-29"),
    ("三天前丢了钱包", "2023-05-21", "2023-05-22"),
    ("3天后出发", "2023-05-27", "2023-05-28"),
    ("两周后复查", "2023-06-04", "2023-06-11"),
    ("半年前离职", "2022-11-10", "2022-12-11"),
    ("几天前见过", "2023-05-19", "2023-05-23"),
    ("过去三天都在下雨", "2023-05-21", "2023-05-25"),
    ("2023年5月8日签的合同", "2023-05-08", "2023-05-09"),
    ("5月8号", "2023-05-08", "2023-05-09"),
    ("去年三月", "2022-03-01", "2022-04-01"),
    ("去年冬天", "2022-12-01", "2023-03-01"),
    ("明年结婚", "2024-01-01", "2025-01-01"),
    ("2021年毕业", "2021-01-01", "2022-01-01"),
    ("上個禮拜五", "2023-05-19", "2023-05-20"),
]


@pytest.mark.parametrize(("text", "since", "until"), ONE, ids=[ascii(text) for text, _, _ in ONE])
def test_one_time(text: str, since: str, until: str) -> None:
    assert named(text) == [(since, until)]


@pytest.mark.parametrize(
    "text",
    [
        "", "may I ask?", "It may 3 times", "you may be right", "They march 5 miles a day", "march on", "in a second",
        "at last", "the last of them", "it lasted for two weeks", "I painted it in two weeks", "twice in a week",
        "every Friday", "on Fridays", "each Monday", "sunday best", "the sun is out", "Sun and wed", "the next day",
        "31 June", "2023-13-45", "version 2023.5", "$1999.95", "call 555-2010-12", "in 1965", "spring onions", "a fall",
        "at 5:30 Jan rang", "one day", "some day soon", "a month of work", "this may hurt", "room 2023", "9999-12 x",
        "以前天天跑步", "今后再说", "三个月", "每周五", "晚上周围很黑", "天气不错", "十月前完成不了", "周一到周五上班",
        "目前年收入不错", "以后天天来", "一周一次",
    ],
)  # fmt: skip
def test_no_time(text: str) -> None:
    assert named(text) == []


def test_several_ascending_and_each_once() -> None:
    text = "Tomorrow the plumber; yesterday the roof. Yesterday, I said. 昨天 again, and on 8 May the cellar"
    assert named(text) == [
        ("2023-05-08", "2023-05-09"),
        ("2023-05-23", "2023-05-24"),
        ("2023-05-25", "2023-05-26"),
    ]


def test_the_first_eight_are_kept() -> None:
    text = " ".join(f"2023-04-{day:02}" for day in range(30, 0, -1))
    found = named(text)
    assert len(found) == MOST_SPANS
    assert found[0] == ("2023-04-23", "2023-04-24")


@pytest.mark.parametrize(
    ("said", "zone", "text", "since", "until"),
    [
        # just after midnight in Tokyo it is still the day before in UTC
        ("2023-05-24T00:30", "Asia/Tokyo", "yesterday", "2023-05-22T15:00", "2023-05-23T15:00"),
        ("2023-05-23T22:00", "America/Los_Angeles", "today", "2023-05-23T07:00", "2023-05-24T07:00"),
        # the day of 23 hours and the day of 25
        ("2026-03-30T09:00", "Europe/Berlin", "yesterday", "2026-03-28T23:00", "2026-03-29T22:00"),
        ("2026-10-26T09:00", "Europe/Berlin", "昨天", "2026-10-24T22:00", "2026-10-25T23:00"),
        # in the hour that comes twice, and in the one that does not exist
        ("2026-10-25T02:30", "Europe/Berlin", "today", "2026-10-24T22:00", "2026-10-25T23:00"),
        ("2026-03-29T02:30", "Europe/Berlin", "today", "2026-03-28T23:00", "2026-03-29T22:00"),
        # a week over the change: bounds by the clock, not by seven times 24 hours
        ("2026-04-01T12:00", "Europe/Berlin", "last week", "2026-03-22T23:00", "2026-03-29T22:00"),
        # where clocks change at midnight, a day begins at one
        ("2018-11-05T12:00", "America/Sao_Paulo", "yesterday", "2018-11-04T03:00", "2018-11-05T02:00"),
        # a day that was left out altogether
        ("2012-01-01T12:00", "Pacific/Apia", "yesterday", "2011-12-30T10:00", "2011-12-31T10:00"),
    ],
)
def test_days_begin_by_the_clocks_of_the_place(said: str, zone: str, text: str, since: str, until: str) -> None:
    place = ZoneInfo(zone)
    assert spans(text, ms(said, place), place) == ((ms(since), ms(until)),)


def test_a_fixed_offset_is_a_place_too() -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    (span,) = spans("yesterday", ms("2023-05-24T01:00", india), india)
    assert span == (ms("2023-05-22T18:30"), ms("2023-05-23T18:30"))


@pytest.mark.parametrize(
    ("said", "text", "since", "until"),
    [
        ("2024-03-01T00:00", "yesterday", "2024-02-29", "2024-03-01"),
        ("2023-03-01T00:00", "yesterday", "2023-02-28", "2023-03-01"),
        ("2024-02-29T12:00", "a year ago", "2022-08-31", "2023-08-31"),
        ("2024-02-29T12:00", "last year", "2023-01-01", "2024-01-01"),
        ("2024-02-29T12:00", "next year", "2025-01-01", "2026-01-01"),
        ("2025-01-01T12:00", "I was born on 29 February", "2024-02-29", "2024-03-01"),
        ("2101-01-01T12:00", "We meet on 29 February", "2104-02-29", "2104-03-01"),
        ("2023-12-31T23:59", "tomorrow", "2024-01-01", "2024-01-02"),
    ],
)
def test_edges_of_the_calendar(said: str, text: str, since: str, until: str) -> None:
    assert named(text, said) == [(since, until)]


def test_nothing_beyond_what_a_time_can_be() -> None:
    assert spans("yesterday, last year, 1969-12-31", 0) == ()
    assert spans("tomorrow, next week, next year, in 3 weeks", ms("9999-12-31T12:00")) == ()
    assert spans("today", 3_600_000, timezone(timedelta(hours=14))) == ()  # begins before 1970


PIECES = st.sampled_from(
    "last this past previous next coming in on of since by until the a an few couple half day days week weeks weekend "
    "month year ago from now before after today yesterday tomorrow tonight morning night may May March march jan "
    "Sunday friday spring summer 31 30 29 8th 0 999 1999 2023 2023-05-08 , . - / ' 上 上上 下 这 个 周 月 年 日 天 "
    "前 后 去 今 明 三 十 半 几 末 春 晚上 İ ’".split()
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=14).map(" ".join),
    st.lists(PIECES, max_size=14).map("".join),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=40),
)


@settings(max_examples=500, derandomize=True, deadline=None)
@given(TEXTS, st.integers(0, 253_402_300_799_999))
@example("in the next 999 years", 253_402_300_799_999)
@example("999 years ago", 0)
def test_any_text_gives_well_formed_spans(text: str, at: int) -> None:
    found = spans(text, at)
    assert list(found) == sorted(set(found))
    assert len(found) <= MOST_SPANS
    assert all(0 <= since < until <= 253_402_300_799_999 for since, until in found)


@settings(max_examples=500, derandomize=True, deadline=None)
@given(TEXTS)
def test_looking_around_the_telling_words_alone_misses_nothing(text: str) -> None:
    """Most of a message is passed over unread: all that is found in the whole is found around its anchors."""
    at = ms(SAID)
    said = Said(text, to_datetime(at).date(), asked=False)
    whole = [span for each in mentions(said) if (span := dates.in_ms(each.stretch, UTC))]
    assert set(spans(text, at)) == set(whole[:MOST_SPANS])


def test_the_first_characters_of_a_document_count() -> None:
    assert len(spans("yesterday " + "x" * SEARCHED_CHARS, ms(SAID))) == 1
    assert spans("x" * SEARCHED_CHARS + " yesterday", ms(SAID)) == ()


@pytest.mark.parametrize(
    "piece",
    ["last ", "the week before ", "may 8 ", "1", "2023-", "in ", " ", "a few of ", "上", "三天", "十", "2023年"],
)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    """A text made to send the pattern back and forth costs no more than its length says."""
    text = ("yesterday 昨天 " + piece * SEARCHED_CHARS)[: SEARCHED_CHARS - 20] + " yesterday"
    start = time.process_time()
    spans(text, ms(SAID))
    assert time.process_time() - start < 2.0
