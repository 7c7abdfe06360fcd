"""The frame around every operation: what goes wrong becomes an answer, and no stranger is told where files are."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

import pytest

from memhop import DB
from memhop.common.errors import Corrupt, Locked, MemhopError, NotFound, ProviderError, StorageError
from memhop.server.operation import READ, WRITE, Answer, Host, Operation, operation
from memhop.server.parameters import Text, Whole
from memhop.server.reply import size_of

LOCAL, REMOTE = Host(local=True), Host()
ANY_DB: Any = None


def made(run: Any, **given: Any) -> Operation:
    table: dict[str, Operation] = {}
    operation("memhop_one", title="One", table=table, **given)(run)
    return table["memhop_one"]


def failing(error: BaseException) -> Operation:
    def run(host: Host, db: DB) -> Answer:
        """Fail."""
        raise error

    return made(run)


PATH = "/home/mara/secret/agent.meh"
ERRORS: list[MemhopError] = [
    StorageError(f"cannot open {PATH}", field="path", hint=f"see {PATH}"),
    Corrupt(f"a frame of {PATH}", offset=77),
    Locked(PATH, pid=1, host="h", purpose="p"),
    ProviderError(f"https://key@models.example refused {PATH}"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_paths_are_told_only_to_whoever_runs_the_server(error: MemhopError) -> None:
    far, near = failing(error).call(REMOTE, ANY_DB, {}), failing(error).call(LOCAL, ANY_DB, {})
    assert far.failed
    assert near.failed
    assert "secret" not in f"{far.data}{far.text}"
    assert "77" not in far.text
    assert far.data["error"] == near.data["error"] == type(error).__name__
    assert far.data["code"] == error.code
    assert far.data["hint"]
    assert error.message in near.text


def test_other_errors_are_told_whole() -> None:
    reply = failing(NotFound("no note 00c0ffee00c0ffee", field="id", hint="list them")).call(REMOTE, ANY_DB, {})
    assert reply.text == "id: no note 00c0ffee00c0ffee. Hint: list them."
    assert reply.data["code"] == 3001


def test_a_fault_of_ours_is_logged_and_the_client_gets_its_number(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "memhop.server"):
        reply = failing(RuntimeError(f"boom {PATH}")).call(LOCAL, ANY_DB, {})
    assert reply.failed
    assert reply.data["error"] == "Internal"
    assert "boom" not in reply.text
    number = reply.data["message"].rsplit(" ", 1)[1]
    assert number in caplog.text
    assert "boom" in caplog.text, "with the traceback"


def test_what_ends_a_process_is_no_answer() -> None:
    for error in (KeyboardInterrupt(), SystemExit(3)):
        with pytest.raises(type(error)):
            failing(error).call(LOCAL, ANY_DB, {})


def test_reading_is_asked_again_for_less_and_writing_never() -> None:
    asked: list[int] = []

    def run(host: Host, db: DB, *, limit: Annotated[int, Whole("Most.", 1, 100)] = 64) -> Answer:
        """List."""
        asked.append(limit)
        return {"items": ["x" * 900] * limit, "next": f"after {limit}"}

    reply = made(run, scope=READ).call(REMOTE, ANY_DB, {}, room=2000)
    assert asked == [64, 32, 16, 8]
    assert reply.data["next"] == "after 8"
    asked.clear()
    reply = made(run, scope=WRITE).call(REMOTE, ANY_DB, {"limit": 99}, room=2000)
    assert asked == [99]
    assert size_of(reply.data) <= 2000
    assert reply.data["cut"]


def test_data_and_text_have_room_each() -> None:
    def run(host: Host, db: DB, *, text: Annotated[str, Text("Words.")]) -> Answer:
        """Say it twice."""
        return {"text": text}, text

    reply = made(run).call(REMOTE, ANY_DB, {"text": "x" * 50_000}, room=3000)
    assert size_of(reply.data) <= 3000
    assert len(reply.text) <= 3000
    assert "characters were cut" in reply.text


def test_a_remark_is_in_the_data_and_in_the_text() -> None:
    def run(host: Host, db: DB, *, limit: Annotated[int, Whole("Most.", 1, 5)] = 2) -> Answer:
        """List."""
        return {"limit": limit}, f"up to {limit}"

    reply = made(run).call(REMOTE, ANY_DB, {"limit": 7})
    assert reply.data == {"limit": 5, "remarks": ["limit 7 was lowered to 5"]}
    assert reply.text == "up to 5\n(limit 7 was lowered to 5)"


def test_a_remark_stands_beside_those_of_the_result() -> None:
    def run(host: Host, db: DB, *, limit: Annotated[int, Whole("Most.", 1, 5)] = 2) -> Answer:
        """Move."""
        return {"remarks": ["a kind is not known there"]}

    assert made(run).call(REMOTE, ANY_DB, {"limit": 7}).data["remarks"] == [
        "a kind is not known there",
        "limit 7 was lowered to 5",
    ]


def test_the_project_of_the_server_stands_for_none(tmp_path: Path) -> None:
    def run(host: Host, db: DB, *, project: Annotated[str | None, Text("Where.")] = None) -> Answer:
        """Tell."""
        return {"project": project}

    one = made(run)
    assert one.call(Host(project="web"), ANY_DB, {}).data == {"project": "web"}
    assert one.call(Host(project="web"), ANY_DB, {"project": "ops"}).data == {"project": "ops"}
    assert one.call(Host(), ANY_DB, {}).data == {"project": None}


def test_a_name_is_entered_once() -> None:
    table: dict[str, Operation] = {}

    def run(host: Host, db: DB) -> Answer:
        """Once."""
        return {}

    operation("memhop_one", title="One", table=table)(run)
    with pytest.raises(AssertionError):
        operation("memhop_one", title="One", table=table)(run)


def test_a_page_of_the_settings_stands_for_a_limit_that_is_not_given() -> None:
    """Only of what has pages, and never more than the operation itself would take."""

    def pages(
        host: Host,
        db: DB,
        *,
        limit: Annotated[int, Whole("Most.", 1, 100)] = 20,
        cursor: Annotated[str | None, Text("From where.")] = None,
    ) -> Answer:
        """List."""
        return {"limit": limit}

    def alone(host: Host, db: DB, *, limit: Annotated[int, Whole("Most.", 1, 100)] = 20) -> Answer:
        """Find."""
        return {"limit": limit}

    for page, given, wanted in ((1, {}, 1), (50, {}, 20), (1, {"limit": 7}, 7), (None, {}, 20)):
        assert made(pages).call(Host(page=page), ANY_DB, given).data["limit"] == wanted
    assert made(alone).call(Host(page=1), ANY_DB, {}).data["limit"] == 20
