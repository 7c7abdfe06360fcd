"""Ways of working found by counting."""

from __future__ import annotations

import json
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from memhop.models.material import Step
from memhop.models.offline import crystallize
from memhop.models.offline_crystallize import FEWEST, LONGEST, repeated


def session(*tools: str, path: str = "src/billing.py") -> list[Step]:
    return [
        Step(number, "tool_call", json.dumps({"tool": tool, "arguments": {"path": path, "number": number}}))
        for number, tool in enumerate(tools, 1)
    ]


FIX = ("run_tests", "read_file", "edit_file")


def test_what_comes_three_times_becomes_a_card() -> None:
    (proposal,) = crystallize(session(*FIX, *FIX, "search", *FIX))
    assert (proposal.action, proposal.target) == ("create", "")
    assert proposal.reason == "run_tests > read_file > edit_file came 3 times"
    card = proposal.card
    assert card["format"] == "memhop-capability/v2"
    assert card["type"] == "composite"
    assert [resource["ref"] for resource in card["resources"]] == list(FIX)
    assert [step["ref"] for step in card["workflow"]["steps"]] == list(FIX)
    assert card["trigger"] == "billing py src"


def test_twice_is_no_habit() -> None:
    assert crystallize(session(*FIX, *FIX)) == ()


def test_what_is_said_and_thought_between_does_not_matter() -> None:
    steps = []
    for number, tool in enumerate(FIX * 3):
        steps += [
            Step(3 * number, "thought", "let me see"),
            Step(3 * number + 1, tool, ""),
            Step(3 * number + 2, "tool_result", "ok"),
        ]
    (proposal,) = crystallize(steps)
    assert [step["ref"] for step in proposal.card["workflow"]["steps"]] == list(FIX)


def test_a_loop_is_found_once_as_itself() -> None:
    """A loop of two holds rows of eight, of seven and so on: they are the loop, rolled."""
    assert [row for row, _ in repeated(list("ab" * 12))] == [("a", "b")]
    assert [row for row, _ in repeated(list("abc" * 10))] == [("a", "b", "c")]
    assert repeated(["read"] * 30) == []


def test_a_row_that_begins_as_it_ends_is_found() -> None:
    assert [
        row for row, _ in repeated(["read", "edit", "read", "x", "read", "edit", "read", "y", "read", "edit", "read"])
    ] == [("read", "edit", "read")]


def test_a_part_of_a_longer_row_is_not_one_of_its_own() -> None:
    rows = [row for row, _ in repeated([*"abcd", "x", *"abcd", "y", *"abcd", "z"])]
    assert rows == [tuple("abcd")]
    more = [row for row, _ in repeated([*"abcd", "x", *"abcd", "y", *"abcd", "z", *"ab", "u", *"ab", "v", *"ab"])]
    assert more == [tuple("abcd"), ("a", "b")]


def test_a_known_card_is_named() -> None:
    steps = session(*FIX * 3)
    (made,) = crystallize(steps)
    (reused,) = crystallize(steps, [made.card])
    assert (reused.action, reused.target, reused.card) == ("reuse", made.card["name"], {})
    short = {"name": "Read then edit", "workflow": {"steps": [{"ref": "read_file"}, {"ref": "edit_file"}]}}
    (merged,) = crystallize(steps, [short])
    assert (merged.action, merged.target) == ("merge", "Read then edit")
    assert merged.card["name"] == "Read then edit"
    assert [step["ref"] for step in merged.card["workflow"]["steps"]] == list(FIX)
    other = {"name": made.card["name"].upper(), "workflow": {"steps": [{"ref": "x"}, {"ref": "y"}]}}
    (named,) = crystallize(steps, [other])
    assert named.action == "create"
    assert named.card["name"].casefold() != other["name"].casefold()


def test_payloads_that_are_no_json_do_not_hurt() -> None:
    """A payload is cut at a length, may be prose, and may be made to hurt."""
    for payload in (
        '{"tool": "a',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"tool": 7, "name": ["x"]}',
        "\ud800",
        "{}",
        "prose",
    ):
        steps = [Step(number, f"step{number % 2}", payload) for number in range(8)]
        (proposal,) = crystallize(steps)
        assert [resource["ref"] for resource in proposal.card["resources"]] == ["step0", "step1"]


def test_known_cards_of_any_form_do_not_hurt() -> None:
    forms: list[dict[str, object]] = [
        {},
        {"name": 7, "workflow": []},
        {"workflow": {"steps": "x"}},
        {"workflow": {"steps": [1, {}]}},
    ]
    assert crystallize(session(*FIX * 3), forms)[0].action == "create"


@given(st.lists(st.sampled_from("abcd"), max_size=120))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_for_every_session(tools: list[str]) -> None:
    taken: set[int] = set()
    for row, places in repeated(tools):
        assert 2 <= len(row) <= LONGEST
        assert len(places) >= FEWEST
        assert len(set(row)) > 1
        for place in places:
            assert tuple(tools[place : place + len(row)]) == row
            here = set(range(place, place + len(row)))
            assert not here & taken
            taken |= here
    assert repeated(tools) == repeated(list(tools))


def test_a_long_session_is_linear() -> None:
    started = time.process_time()
    crystallize(session(*(f"tool{number * number % 17}" for number in range(20_000))))
    assert time.process_time() - started < 10
