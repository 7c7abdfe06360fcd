"""The times a message speaks of: kept with it, checked when read, and listed by how long they are."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhop.common.errors import Corrupt
from memhop.repo import codec
from memhop.repo.l4_archive import MOST_SPANS, SPAN_GROUPS, Message, ordered_span, span_order, spans_of
from memhop.repo.record import Kind, Listing

MINUTE = 60_000
DAY = 86_400_000
GROUPS = {spans_of(longest): longest for longest in SPAN_GROUPS}


def listed(*spans: tuple[int, int]) -> list[Listing]:
    return [place for place in Message(text="x", spans=spans).listings() if place.key in GROUPS]


@pytest.mark.parametrize(
    ("days", "group"), [(1, 0), (25 / 24, 0), (2, 1), (8, 1), (9, 2), (31, 2), (33, 3), (366, 3), (732, 3)]
)
def test_a_span_is_listed_by_its_length(days: float, group: int) -> None:
    since = 20_000 * DAY
    until = since + int(days * DAY)
    assert listed((since, until)) == [
        Listing(spans_of(SPAN_GROUPS[group]), span_order(since, (until - since) // MINUTE))
    ]


def test_a_span_that_nearly_every_window_meets_is_kept_and_not_listed() -> None:
    message = Message(text="x", spans=((0, 10_000 * DAY),))
    assert listed(*message.spans) == []
    assert codec.decode(Kind.MESSAGE, 7, codec.encode(message), 0) == msgspec.structs.replace(message, id=7)


@given(st.integers(0, 253_402_300_000_000), st.integers(1, SPAN_GROUPS[-1] * MINUTE))
def test_its_place_tells_the_span_to_the_minute(since: int, length: int) -> None:
    until = min(since + length, 253_402_300_799_999)
    if since % MINUTE and until - since > SPAN_GROUPS[-1] * MINUTE - MINUTE:
        return
    (place,) = listed((since, until))
    assert place.order < 2**63
    first, last = ordered_span(place.order)
    assert since - MINUTE < first <= since
    assert until <= last < until + MINUTE
    assert (last - first) // MINUTE <= GROUPS[place.key]
    assert span_order(since) <= place.order < span_order(since + MINUTE)


@pytest.mark.parametrize(
    "spans",
    [((5, 5),), ((6, 5),), ((0, 1), (3, 2)), ((-1, 5),), ((0, 2**60),), ((1, 2, 3),), ((1,),), (("a", 2),),
     tuple((n, n + 1) for n in range(MOST_SPANS + 1))],
)  # fmt: skip
def test_what_is_no_span_is_damage(spans: object) -> None:
    payload = msgspec.msgpack.encode({"text": "x", "spans": spans})
    with pytest.raises(Corrupt):
        codec.decode(Kind.MESSAGE, 1, payload, 0)


def test_a_message_of_an_older_build_has_none() -> None:
    old = codec.decode(Kind.MESSAGE, 1, msgspec.msgpack.encode({"text": "x", "at": 5}), 0)
    assert isinstance(old, Message)
    assert old.spans == ()
    assert b"spans" not in codec.encode(old)
