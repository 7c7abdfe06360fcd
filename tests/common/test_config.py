"""Checks of what a caller gives: each says yes to what is documented, and names field and allowed values otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import InvalidRequest
from memhop.common.config import (
    LIMITS,
    check_choice,
    check_int,
    check_metadata,
    check_name,
    check_names,
    check_text,
    has_substance,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def test_limits_are_positive_and_fit_each_other() -> None:
    assert all(value > 0 for value in LIMITS)
    assert LIMITS.text_bytes < LIMITS.batch_bytes
    assert LIMITS.text_bytes <= 64 * 1024 * 1024, "a frame holds no more"


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), JSON, max_size=4))
def test_metadata_comes_back_as_json_reads_it(value: dict[str, Any]) -> None:
    assert check_metadata(value) == json.loads(json.dumps(value))


def test_metadata_is_a_copy() -> None:
    given_ = {"a": [1, (2, 3)]}
    checked = check_metadata(given_)
    assert checked == {"a": [1, [2, 3]]}
    given_["a"].append(4)
    assert checked == {"a": [1, [2, 3]]}


def test_metadata_of_the_largest_size() -> None:
    room = LIMITS.metadata_bytes - len('{"a": ""}')
    assert len(check_metadata({"a": "x" * room})["a"]) == room
    with pytest.raises(InvalidRequest):
        check_metadata({"a": "x" * (room + 1)})
    with pytest.raises(InvalidRequest):
        check_metadata({"a": "猫" * (room // 3 + 1)})


def test_metadata_that_contains_itself() -> None:
    value: dict[str, Any] = {}
    value["a"] = [value]
    with pytest.raises(InvalidRequest):
        check_metadata(value)


def test_text_of_the_largest_size() -> None:
    assert check_text("é" * 50, field="text", max_bytes=100)
    for text in ("é" * 50 + "a", "a" * 101):
        with pytest.raises(InvalidRequest, match="too many"):
            check_text(text, field="text", max_bytes=100)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=20))
def test_any_text_is_taken_as_it_is_or_refused(text: str) -> None:
    try:
        assert check_text(text, field="text") is text
    except InvalidRequest as error:
        blank = not has_substance(text)
        assert blank or any("\ud800" <= char <= "\udfff" for char in text)
        str(error).encode()


@pytest.mark.parametrize("name", ["a", "ünï", "two words", "猫", "x" * 200, " padded ", "👩‍👩‍👧"[:1]])
def test_names(name: str) -> None:
    assert check_name(name, field="project") == name


def test_no_name() -> None:
    assert check_name("", field="project", blank=True) == ""
    for bad in ("", "a\tb", "x" * 201, None, 5):
        with pytest.raises(InvalidRequest):
            check_name(bad, field="project")


def test_lists_of_names() -> None:
    assert check_names(["b", "a", "b"], field="tags", most=2) == ("b", "a")
    assert check_names({"b", "a"}, field="tags", most=2) == ("a", "b")
    assert check_names((), field="tags", most=2) == ()
    for bad in ("abc", None, {"a": 1}, 5, ["a", "b", "c"], [["a"]]):
        with pytest.raises(InvalidRequest):
            check_names(bad, field="tags", most=2)


def test_numbers_and_choices() -> None:
    assert check_int(3, field="limit", low=1, high=3) == 3
    assert check_choice("b", field="tier", choices=("a", "b")) == "b"
    for number in (0, 4, True, 1.0, "1", None):
        with pytest.raises(InvalidRequest) as refused:
            check_int(number, field="limit", low=1, high=3)
        assert refused.value.allowed == "a whole number from 1 to 3"
    for word in ("c", "", None, 5, ["a"]):
        with pytest.raises(InvalidRequest) as refused:
            check_choice(word, field="tier", choices=("a", "b"))
        assert refused.value.allowed == "a, b"
