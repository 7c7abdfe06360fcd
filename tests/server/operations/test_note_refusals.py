"""Whatever a model sends: it is taken, lowered and said, or refused with the parameter and what is allowed; never a
fault, and nothing is half done."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import jsonschema
import pytest

from memhop.common.clock import ManualClock
from memhop.server.http.shapes import schema_of
from memhop.server.operation import READ, Host, Operation
from memhop.server.parameters import Choice, Flag, Id, Listed, Number, Table, Text, Time, Whole
from memhop.server.reply import ROOM, size_of
from tests.server.operations.asking import Client, owned
from tests.support.memories import NO_ID, NOW, memory

OPERATIONS = owned("notes", "note_life", "note_links", "remembering", "recalling", "projects", "summary")
DEEP: Any = None
for _ in range(300):
    DEEP = [DEEP]
HOSTILE: tuple[Any, ...] = (
    10**9, 0, -1, "5", 1.5, None, True, False, 2**70, -(2**70), 1e308, float("nan"), float("inf"), "", " ", "x", "*",
    "\ud800", "a\x00b", "\u202e", "x" * 5_000, "[", "[1", '{"a":1}', "null", [], {}, [[]], [None], ["\ud800"], ["a", 1],
    {"": None}, {"a": float("nan")}, {"id": 5}, {"type": "fixes", "id": NO_ID}, DEEP, [["a"] * 500], ["x" * 500] * 101,
    "2026-13-45", "2026-05-01T00:00:00", "-5", "1e400", "9" * 400, "0000000000000000", "G" * 16, NO_ID, [NO_ID, NO_ID],
)  # fmt: skip


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    path = tmp_path_factory.mktemp("refusals") / "a.meh"
    with memory(path, clock=ManualClock(NOW), durability="none") as db:
        yield Client(db)


NUMBERS = count()


def commits(ask: Client) -> int:
    return ask.db._store.file.commit_number


def needed(ask: Client, operation: Operation) -> dict[str, Any]:
    """Arguments with which the operation does what it is for."""
    number = next(NUMBERS)
    id_ = ask.db.remember(f"note {number}", project="web").id
    other = ask.db.remember(f"other {number}", project="ops").id
    values = {
        "id": id_, "target": other, "text": f"words {number}", "query": "words", "prefix": id_[:8], "rev": 1,
        "project": "web", "old": "web", "new": f"web {number}", "source": "web", "into": "ops", "to_project": "ops",
    }  # fmt: skip
    found = {name: values[name] for name in operation.parameters.needed}
    extra: dict[str, dict[str, Any]] = {
        "memhop_remember": {"text": f"words {number}"},
        "memhop_project_reassign": {"ids": [id_]},
        "memhop_project_purge": {"force": True},
        "memhop_note_purge": {"force": True},
    }
    return found | extra.get(operation.name, {})


CASES = [(name, field) for name, one in OPERATIONS.items() for field in one.parameters.kinds]


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_does_what_it_is_for(ask: Client, name: str) -> None:
    ask(name, **needed(ask, OPERATIONS[name]))


@pytest.mark.parametrize(("name", "field"), CASES)
def test_no_value_of_any_parameter_is_a_fault(ask: Client, name: str, field: str) -> None:
    given = needed(ask, OPERATIONS[name])
    for value in HOSTILE:
        reply = ask.reply(name, **given | {field: value})
        assert size_of(reply.data) <= ROOM
        assert len(reply.shown()) <= ROOM
        if reply.failed:
            assert reply.data["error"] in ("InvalidRequest", "NotFound", "Conflict"), f"{value!r}: {reply.text}"
            assert str(reply.data["field"] or field).split("[")[0].split(".")[0] in (field, *COMPANIONS.get(field, ()))
            assert reply.data["error"] != "InvalidRequest" or reply.data["allowed"]
        if value is None and field not in OPERATIONS[name].parameters.needed and field not in given:
            assert not reply.failed, "null is not given"
        if not reply.failed and OPERATIONS[name].scope != READ:
            given = needed(ask, OPERATIONS[name])  # those are used up


COMPANIONS = {  # what is wrong may be the two together, and the error names the other one
    "ids": ("all",), "all": ("ids", "from_project"), "from_project": ("ids",), "items": ("text",), "text": ("items",),
    "since": ("until",), "kind": ("status", "metadata"), "external_id": ("text",), "idempotency_key": ("text",),
    "force": ("force", "project"), "replace_metadata": ("metadata",), "type": ("target",), "source": ("into",),
    "into": ("source",), "old": ("new",),
}  # fmt: skip


def test_numbers_are_taken_lowered_or_refused(ask: Client) -> None:
    """A limit of a thousand million, of nothing, of less, as text, with a fraction, and null."""
    tried = 0
    for name, operation in OPERATIONS.items():
        for field, kind in operation.parameters.kinds.items():
            if not isinstance(kind, Whole) or field in ("expected_rev", "rev"):
                continue
            tried += 1
            given = needed(ask, operation)
            high = ask(name, **given | {field: 10**10})
            assert high["remarks"] == [f"{field} 10000000000 was lowered to {kind.high}"]
            assert not ask.reply(name, **needed(ask, operation) | {field: None}).failed
            for taken in (str(kind.low + 1), kind.low + 1.0):
                assert not ask.reply(name, **needed(ask, operation) | {field: taken}).failed
            wrong: tuple[Any, ...] = (kind.low - 1, kind.low + 1.5, "many", [], {}, True)
            for refused in wrong:
                error = ask.refusal(name, **given | {field: refused})
                assert (error["field"], error["error"]) == (field, "InvalidRequest")
                assert str(kind.low) in error["allowed"]
    assert tried > 12


def test_unknown_parameters_are_refused(ask: Client) -> None:
    for name, operation in OPERATIONS.items():
        given = needed(ask, operation)
        before = commits(ask)
        error = ask.refusal(name, **given, colour="red")
        assert error["field"] == "colour", name
        assert set(operation.parameters.kinds) == set(error["allowed"].split(", "))
        assert commits(ask) == before, "nothing was done"


def test_missing_parameters_are_named(ask: Client) -> None:
    for name, operation in OPERATIONS.items():
        for field in operation.parameters.needed:
            given = needed(ask, operation)
            del given[field]
            assert ask.refusal(name, **given)["field"] == field


def test_wrong_types_are_refused(ask: Client) -> None:
    wrong: dict[type, tuple[Any, ...]] = {
        Text: (5, [], {}, True), Id: (5, 1.5, [], "abc", "g" * 16, " "), Flag: ("perhaps", 7, [], {}),
        Choice: (5, "nothing of these", []), Time: ("yesterday", [], {}, 1.5), Table: ("x", 5, ["a"], "[]"),
        Number: ("much", [], True), Listed: ([5.5], [[]], ["", ""]),
    }  # fmt: skip
    tried = set()
    for name, operation in OPERATIONS.items():
        given = needed(ask, operation)
        for field, kind in operation.parameters.kinds.items():
            for value in wrong.get(type(kind), ()):
                if type(kind) is Listed and kind.of == Text("", 0) and value == ["", ""]:
                    continue
                error = ask.refusal(name, **given | {field: value})
                assert error["field"].startswith(field), f"{name}({field}={value!r})"
                assert error["allowed"]
                tried.add(type(kind))
    assert tried == set(wrong)


def test_a_batch_with_one_bad_item_stores_nothing(ask: Client) -> None:
    before = commits(ask)
    items: tuple[Any, ...] = (
        {"text": ""}, {"text": " "}, {"text": "\ud800"}, {"text": 5}, {"text": None}, {"text": "a", "at": "soon"}, [],
        7, {"text": "a", "kind": ""}, {"text": "a", "kind": "\x00"}, {"text": "a", "metadata": []},
        {"text": "a", "x": 1}, {"text": "a", "links": [NO_ID]}, {"text": "a", "tags": ["t"] * 65}, None, "text",
        {"text": "a", "status": "\n"},
        {"text": "a", "kind": "bug", "status": "asleep"}, {"text": "a", "metadata": {"a": float("nan")}},
    )  # fmt: skip
    for bad in items:
        error = ask.refusal("memhop_remember", items=[{"text": "good"}, bad])
        assert str(error["field"]).startswith(("items[1]", "links")), bad
    assert commits(ask) == before


@pytest.mark.parametrize("name", OPERATIONS)
def test_data_has_the_shape_that_clients_are_told(ask: Client, name: str) -> None:
    """Clients that check a result against its schema refuse one that does not fit."""
    operation = OPERATIONS[name]
    schema = schema_of(operation.result)
    for host in (ask.host, Host(local=True, project="web")):
        given = needed(ask, operation)
        jsonschema.validate(Client(ask.db, host)(name, **given), schema)
    jsonschema.validate(needed(ask, operation), operation.parameters.schema())
