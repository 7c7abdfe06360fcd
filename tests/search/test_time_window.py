"""Dates and spans in a question become half-open windows, relative to when it is asked."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memhop.common.clock import to_datetime
from memhop.search.time_window import asks_event, asks_first, windows, without_times

DAY = 86_400_000
ASKED = "2026-05-28T20:26"  # a Thursday


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def spans(text: str, asked: str = ASKED) -> list[tuple[str, str]]:
    """Windows as (first day, day after the last)."""
    found = windows(text, ms(asked))
    for edge in (edge for window in found for edge in window):
        assert edge % DAY == 0
    return [(to_datetime(since).date().isoformat(), to_datetime(until).date().isoformat()) for since, until in found]


ONE = [
    ("what happened today?", "2026-05-28", "2026-05-29"),
    ("what happened YESTERDAY?", "2026-05-27", "2026-05-28"),
    ("last night's dinner", "2026-05-27", "2026-05-28"),
    ("the day before yesterday", "2026-05-26", "2026-05-27"),
    ("what broke last week?", "2026-05-18", "2026-05-25"),
    ("what broke this week?", "2026-05-25", "2026-06-01"),
    ("last weekend", "2026-05-23", "2026-05-25"),
    ("this weekend", "2026-05-30", "2026-06-01"),
    ("what broke last month?", "2026-04-01", "2026-05-01"),
    ("this month", "2026-05-01", "2026-06-01"),
    ("previous year", "2025-01-01", "2026-01-01"),
    ("3 days ago", "2026-05-25", "2026-05-26"),
    ("a day ago", "2026-05-27", "2026-05-28"),
    ("two weeks ago", "2026-05-11", "2026-05-18"),
    ("couple of weeks ago", "2026-05-11", "2026-05-18"),
    ("in the last 3 days", "2026-05-25", "2026-05-29"),
    ("the past two months", "2026-03-01", "2026-05-29"),
    ("last Friday", "2026-05-22", "2026-05-23"),
    ("on Thursday", "2026-05-21", "2026-05-22"),
    ("on Wednesday", "2026-05-27", "2026-05-28"),
    ("on 8 May", "2026-05-08", "2026-05-09"),
    ("on 8th of May 2023", "2023-05-08", "2023-05-09"),
    ("May 8th, 2023", "2023-05-08", "2023-05-09"),
    ("on May 30", "2025-05-30", "2025-05-31"),
    ("on 28 May", "2026-05-28", "2026-05-29"),
    ("on 29 May", "2025-05-29", "2025-05-30"),
    ("in March", "2026-03-01", "2026-04-01"),
    ("in December", "2025-12-01", "2026-01-01"),
    ("in May", "2026-05-01", "2026-06-01"),
    ("in Dec. 2024", "2024-12-01", "2025-01-01"),
    ("March 2023", "2023-03-01", "2023-04-01"),
    ("in 2023", "2023-01-01", "2024-01-01"),
    ("2023-05-08", "2023-05-08", "2023-05-09"),
    ("since 2023-05", "2023-05-01", "2023-06-01"),
    ("2023/5/8", "2023-05-08", "2023-05-09"),
    ("on 29 February", "2024-02-29", "2024-03-01"),
    ("2024-02-29", "2024-02-29", "2024-03-01"),
    ("今天做了什么", "2026-05-28", "2026-05-29"),
    ("昨天的会议", "2026-05-27", "2026-05-28"),
    ("前天", "2026-05-26", "2026-05-27"),
    ("上周的决定", "2026-05-18", "2026-05-25"),
    ("上上周", "2026-05-11", "2026-05-18"),
    ("这个星期", "2026-05-25", "2026-06-01"),
    ("上周五", "2026-05-22", "2026-05-23"),
    ("这周日", "2026-05-31", "2026-06-01"),
    ("上个月", "2026-04-01", "2026-05-01"),
    ("本月", "2026-05-01", "2026-06-01"),
    ("去年", "2025-01-01", "2026-01-01"),
    ("三天前", "2026-05-25", "2026-05-26"),
    ("十二天前", "2026-05-16", "2026-05-17"),
    ("二十天前", "2026-05-08", "2026-05-09"),
    ("二三十天前", "2026-05-08", "2026-05-09"),
    ("两周前", "2026-05-11", "2026-05-18"),
    ("5月8日", "2026-05-08", "2026-05-09"),
    ("2023年5月8号", "2023-05-08", "2023-05-09"),
    ("去年三月", "2025-03-01", "2025-04-01"),
    ("十二月", "2025-12-01", "2026-01-01"),
    ("2023年", "2023-01-01", "2024-01-01"),
]


@pytest.mark.parametrize(("text", "first", "end"), ONE, ids=[ascii(text) for text, _, _ in ONE])
def test_one_window(text: str, first: str, end: str) -> None:
    assert spans(text) == [(first, end)]


@pytest.mark.parametrize(
    "text",
    ["", "the kayak leaks", "may I ask?", "march on", "31 June", "2023-13-45", "room 2023", "version 3.11", "99月",
     "2月30日", "in the second week", "sunday best", "agost", "0 days", "30 February"],
)  # fmt: skip
def test_no_window(text: str) -> None:
    assert spans(text) == []


def test_several() -> None:
    assert spans("between 2023-05-08 and 9 May 2023, or yesterday") == [
        ("2023-05-08", "2023-05-09"),
        ("2023-05-09", "2023-05-10"),
        ("2026-05-27", "2026-05-28"),
    ]
    assert spans("yesterday, I mean yesterday") == [("2026-05-27", "2026-05-28")]


@pytest.mark.parametrize(
    ("asked", "text", "first", "end"),
    [
        ("2024-02-29T12:00", "last year", "2023-01-01", "2024-01-01"),
        ("2024-02-29T12:00", "today", "2024-02-29", "2024-03-01"),
        ("2024-03-01T00:00", "yesterday", "2024-02-29", "2024-03-01"),
        ("2023-03-01T00:00", "yesterday", "2023-02-28", "2023-03-01"),
        ("2024-02-28T12:00", "on 29 February", "2020-02-29", "2020-03-01"),
        ("2103-01-01T12:00", "on 29 February", "2096-02-29", "2096-03-01"),  # 2100 is no leap year
        ("2026-03-29T01:30", "yesterday", "2026-03-28", "2026-03-29"),  # the night the clocks change in Europe
        ("2026-03-30T00:00", "last week", "2026-03-23", "2026-03-30"),
        ("2026-10-26T00:00", "yesterday", "2026-10-25", "2026-10-26"),
        ("2026-01-01T00:00", "last month", "2025-12-01", "2026-01-01"),
        ("2026-01-01T00:00", "last week", "2025-12-22", "2025-12-29"),
        ("2026-12-31T23:59", "this month", "2026-12-01", "2027-01-01"),
    ],
)
def test_edges_of_the_calendar(asked: str, text: str, first: str, end: str) -> None:
    assert spans(text, asked) == [(first, end)]


PIECES = st.sampled_from(
    "last this past previous in on of since early the day week weekend month year days ago today yesterday tonight "
    "may march 31 30 29 0 999 1999 9999 0001 2023 st th , - / . 上 上上 这 个 周 月 年 日 天 前 去 今 三 十 二十 两 "
    "〇 friday sept night 一二 \u0663 couple a ten".split()
)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    st.one_of(
        st.lists(PIECES, max_size=12).map("".join),
        st.lists(PIECES, max_size=12).map(" ".join),
        st.text(alphabet=st.characters(exclude_categories=()), max_size=40),
    ),
    st.integers(0, 253_402_300_799_999),
)
@example("in the past 999 years", 0)
@example("999 years ago, 999 months ago", 0)
@example("today, this week, this weekend, this month, this year", 253_402_300_799_999)
@example("in the last 3 days", 253_402_300_799_999)
@example("9999-12-31 and 9999-12", ms(ASKED))
@example("前年二月二十九日", ms(ASKED))
@example("十十月三十三日", ms(ASKED))
def test_any_text_gives_well_formed_windows(text: str, asked_at: int) -> None:
    found = windows(text, asked_at)
    assert found == sorted(set(found))
    for since, until in found:
        assert since < until
        assert since % DAY == until % DAY == 0
        assert until - since <= 1_100 * 366 * DAY


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.dates(date(1971, 1, 1), date(2400, 1, 1)), st.integers(0, DAY - 1))
def test_dates_written_out_are_found_again(day: date, at: int) -> None:
    asked = ms("2400-06-01")
    expected = [(ms(day.isoformat()), ms((day + timedelta(days=1)).isoformat()))]
    for text in (day.isoformat(), f"on {day.day} {day:%B} {day.year}", f"{day:%b} {day.day}, {day.year}",
                 f"{day.year}年{day.month}月{day.day}日"):  # fmt: skip
        assert windows(text, asked + at) == expected, text


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("last autumn", "2025-09-01", "2025-12-01"),
        ("last fall's budget", "2025-09-01", "2025-12-01"),
        ("last winter", "2025-12-01", "2026-03-01"),
        ("last spring", "2025-03-01", "2025-06-01"),  # this year's is not over in May
        ("去年冬天", "2025-12-01", "2026-03-01"),
        ("去年秋天", "2025-09-01", "2025-12-01"),
        ("今年春天", "2026-03-01", "2026-06-01"),
    ],
)
def test_seasons(text: str, since: str, until: str) -> None:
    assert (since, until) in spans(text)


def test_no_season_beyond_the_calendar() -> None:
    assert spans("今年冬天", "9999-12-30T00:00") == []


def test_a_coming_season_is_no_window() -> None:
    assert spans("what are we doing in the summer?") == []


def test_without_times_nothing_says_when() -> None:
    assert without_times("the wall in March").split() == ["the", "wall"]
    assert without_times("the wall on 2026-05-03").split() == ["the", "wall", "on"]
    assert without_times("去年冬天太极班几点开始").strip() == "太极班几点开始"
    assert without_times("三月的时候林静住哪儿").strip() == "的时候林静住哪儿"


@pytest.mark.parametrize(
    ("text", "beginning", "event"),
    [
        ("where does Leo live?", False, False),
        ("where did Leo live before the war?", True, True),
        ("what was the plan originally?", True, True),
        ("what did Leo buy?", False, True),
        ("安安演了什么角色", False, True),
        ("现在改成什么了？", False, False),
        ("以前住在哪里", True, False),
        ("would Leo like the sea?", False, True),
        ("他去过日本吗", False, True),
        ("去过哪些地方", False, True),
        ("年货的预算超过多少", False, False),
        ("过年在哪里吃饭", False, False),
    ],
)
def test_what_a_question_is_about(text: str, beginning: bool, event: bool) -> None:
    assert asks_first(text) is beginning
    assert asks_event(text) is event
