"""Every reply fits, whatever is in the memory: 5,000 long notes, long messages, large graphs, hundreds of projects.

What a client pays for an answer is its text and its structured content; clients refuse or cut what is larger than
25,000 tokens, and 25,000 characters are far below that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memhop import DB
from memhop.server.operation import Host
from memhop.server.parameters import Fields, Flag, Kind, Listed, Number, Whole
from memhop.server.reply import Reply, size_of
from tests.support import asked
from tests.support.asked import ROWS, all_operations
from tests.support.large_memory import LARGE, World, open_fast
from tests.support.memories import copied

MOST = 25_000
UNBOUNDED = 10**12
TABLE = all_operations()
READERS = [name for name in asked.in_order() if name in TABLE and TABLE[name].reads]
WRITERS = [name for name in asked.in_order() if name in TABLE and not TABLE[name].reads]
PAGED = [name for name, one in TABLE.items() if "cursor" in one.parameters.kinds]
ITEMS = {"memhop_knowledge_get": "Nodes", "memhop_scene_topics": "topics"}  # where they are not called items
FAILING = {"memhop_backfill": "embedder"}  # what is refused in this memory, and over which field
SMALLER: dict[str, dict[str, Any]] = {  # what is paged through where all of it would take long
    "memhop_note_list": {"project": "p001"},
    "memory_list": {"project": "p001"},
    "memhop_note_duplicates": {"project": "p001"},
    "memhop_export": {"project": "p001"},
}
HOST = Host()


@pytest.fixture(scope="module")
def db(large: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DB]:
    with open_fast(copied(large.path, tmp_path_factory.mktemp("bounded") / "a.meh")) as opened:
        yield opened


def characters(name: str, reply: Reply) -> int:
    """What a client gets."""
    return len(reply.shown()) + (size_of(reply.data) if TABLE[name].structured else 0)


def ask(db: DB, name: str, arguments: Any, **options: Any) -> Reply:
    return TABLE[name].call(HOST, db, arguments, **options)


def test_every_operation_is_asked() -> None:
    assert ROWS.keys() == TABLE.keys()


@pytest.mark.parametrize("name", READERS)
def test_a_reply_on_defaults_fits_and_says_what_was_cut(db: DB, large: World, name: str) -> None:
    reply = ask(db, name, ROWS[name](large))
    assert reply.failed == (name in FAILING), reply.shown()
    assert reply.data.get("field") == FAILING.get(name) or not reply.failed
    assert 2 < characters(name, reply) < MOST
    whole = ask(db, name, ROWS[name](large), room=UNBOUNDED)
    if size_of(whole.data) > size_of(reply.data):
        assert reply.data.get("cut") or reply.data.get("next") or reply.data.get("rest"), "nothing says that it was cut"
        if "cut" in reply.data and not TABLE[name].structured:
            assert "cut" in reply.text


@pytest.mark.parametrize("name", PAGED)
def test_the_cursor_leads_on_to_everything_exactly_once(db: DB, large: World, name: str) -> None:
    """Page by page as clients get them, against one listing without bounds."""
    arguments = {**ROWS[name](large), **SMALLER.get(name, {})}
    most = "limit" if "limit" in TABLE[name].parameters.kinds else "max_chars"
    whole = [key_of(one) or one for one in paged(db, name, {**arguments, most: 1_000_000}, room=UNBOUNDED)]
    seen = [key_of(one) or one for one in paged(db, name, arguments)]
    assert seen == whole
    assert whole or name == "memhop_scene_active_list"


def test_all_notes_can_be_paged_through(db: DB) -> None:
    listed: list[str] = []
    cursor = None
    while True:
        page = db.notes.list(tier="all", sort="created", newest_first=False, limit=1000, cursor=cursor)
        listed += [note.id for note in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert len(listed) > LARGE.notes
    wanted = {"tier": "all", "sort": "created", "newest_first": False}
    assert [one["id"] for one in paged(db, "memhop_note_list", wanted)] == listed


def paged(db: DB, name: str, arguments: dict[str, Any], **options: Any) -> Iterator[Any]:
    """All items of a listing, by its cursors."""
    cursor: dict[str, Any] = {}
    for _ in range(2_000):
        reply = ask(db, name, {**arguments, **cursor}, **options)
        assert not reply.failed, reply.shown()
        if not options:
            assert characters(name, reply) < MOST
        yield from reply.data[ITEMS.get(name, "items")]
        if not reply.data.get("next"):
            return
        cursor = {"cursor": reply.data["next"]}
    raise AssertionError(f"{name} never ends")


def key_of(item: Any) -> Any:
    """What an item is known by: the first of its names, or of those of what is in it."""
    if isinstance(item, dict):
        names = [item[name] for name in ("id", "ID", "Id", "seq", "number", "rev", "name", "session") if item.get(name)]
        return names[0] if names else next(filter(None, map(key_of, item.values())), None)
    if isinstance(item, list):
        return next(filter(None, map(key_of, item)), None)
    return None


def numbers() -> Iterator[tuple[str, str, Kind]]:
    """Every parameter that takes a number, of every operation."""
    for name, one in TABLE.items():
        for parameter, kind in one.parameters.kinds.items():
            if isinstance(kind, Whole | Number):
                yield name, parameter, kind
            inner = kind.of if isinstance(kind, Listed) else kind
            assert not isinstance(inner, Whole | Number) or inner is kind, "lists of numbers need a test of their own"
            if isinstance(inner, Fields):
                assert not any(isinstance(one, Whole | Number) for one in inner.of.values()), f"{name}({parameter})"


WRONG: tuple[Any, ...] = ("x", True, [], {}, "", "1.5.2", float("inf"), float("nan"))


@pytest.mark.parametrize(("name", "parameter", "kind"), [*numbers()])
def test_a_number_is_taken_lowered_or_refused(db: DB, large: World, name: str, parameter: str, kind: Kind) -> None:
    """Of what models send for a number nothing is guessed at, and nothing is ignored without a word."""
    assert isinstance(kind, Whole | Number)
    row = {**ROWS[name](large), **SMALLER.get(name, {})}
    for value in (*WRONG, kind.low - 1, str(kind.low - 1)):
        check_refused(ask(db, name, {**row, parameter: value}), parameter, kind)
    enough = max(int(kind.low), min(5, int(kind.high)))
    for value in (enough, str(enough), float(enough)):
        found = bound(name, {**row, parameter: value})
        assert (found.failed, found.data) == (False, {"remarks": []})
    assert bound(name, {**row, parameter: None}).failed == (parameter in TABLE[name].parameters.needed)
    if isinstance(kind, Number):
        check_refused(ask(db, name, {**row, parameter: kind.high + 1}), parameter, kind)
        return
    check_refused(ask(db, name, {**row, parameter: enough + 0.5}), parameter, kind)
    if parameter == "number":  # it names something
        unknown = ask(db, name, {**row, parameter: kind.high})
        assert (unknown.failed, unknown.data["field"]) == (True, parameter)
        return
    asking = ask if TABLE[name].reads else lambda _, *given: bound(*given)
    high = asking(db, name, {**row, parameter: 10**18})
    assert not high.failed, high.shown()
    assert f"{parameter} {10**18} was lowered to {kind.high}" in high.data["remarks"]
    assert characters(name, high) < MOST


def check_refused(reply: Reply, parameter: str, kind: Whole | Number) -> None:
    assert reply.failed, reply.data
    assert reply.data["error"] == "InvalidRequest"
    assert reply.data["field"] == parameter
    assert f"{shown(kind.low)}..{shown(kind.high)}" in reply.data["allowed"].replace(",", "")


def shown(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


def bound(name: str, arguments: dict[str, Any]) -> Reply:
    from memhop import MemhopError
    from memhop.server.faults import told

    try:
        values = TABLE[name].parameters.bind(arguments)
    except MemhopError as error:
        return told(error, local=True)
    return Reply({"remarks": list(values.remarks)})


def flags() -> Iterator[tuple[str, str]]:
    for name, one in TABLE.items():
        yield from ((name, parameter) for parameter, kind in one.parameters.kinds.items() if isinstance(kind, Flag))


@pytest.mark.parametrize(("name", "parameter"), [*flags()])
def test_a_flag_is_yes_or_no(large: World, name: str, parameter: str) -> None:
    row = ROWS[name](large)
    for value in ("true", False, 1, "no"):
        assert not bound(name, {**row, parameter: value}).failed
    assert bound(name, {**row, parameter: None}).failed == (parameter in TABLE[name].parameters.needed)
    no_flags: tuple[Any, ...] = ("perhaps", 2, 1.5, [], {}, "")
    for wrong in no_flags:
        refused = bound(name, {**row, parameter: wrong})
        assert refused.failed
        assert (refused.data["field"], refused.data["allowed"]) == (parameter, "true or false")


@pytest.mark.parametrize("name", WRITERS)
def test_a_reply_of_what_writes_fits(db: DB, large: World, name: str) -> None:
    """These come last: they change what the others read."""
    reply = ask(db, name, ROWS[name](large))
    assert reply.failed == (name in FAILING), reply.shown()
    assert reply.data.get("field") == FAILING.get(name) or not reply.failed
    assert 2 < characters(name, reply) < MOST
