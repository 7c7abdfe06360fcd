"""Lines on a wire, and how many requests are taken before one is answered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import mcp_types as types
import pytest
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from memhop.server.mcp.streams import MOST_UNANSWERED, Refusal, Streams, parsed, serialized
from memhop.server.mcp.wire import Wire, lines, write

MOST = 1_000


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\n\n \n\r\nb", [b"a\r", b"b"]),
        (b"", []),
        (b"\n\n", []),
        (b"x" * MOST + b"\n", [b"x" * MOST]),
        (b"x" * (MOST + 1) + b"\nb\n", [None, b"b"]),
        (b"x" * (MOST + 1), [None]),
        (b"x" * 5 * MOST + b"\n" + b"y" * 5 * MOST + b"\nb", [None, None, b"b"]),
    ],
)
def test_lines(sent: bytes, read: list[bytes | None], pipe: tuple[int, int]) -> None:
    write(pipe[1], sent)
    os.close(pipe[1])
    assert list(lines(pipe[0], MOST)) == read


def test_lines_in_many_small_pieces(pipe: tuple[int, int]) -> None:
    found: list[bytes | None] = []
    source = lines(pipe[0], 10)
    for piece in (b"one", b" more\ntw", b"o\nthis is too", b" long by far", b" indeed\nthree\n"):
        write(pipe[1], piece)
    os.close(pipe[1])
    found = list(source)
    assert found == [b"one more", b"two", None, b"three"]


def test_a_wire_that_is_gone_has_no_lines() -> None:
    assert list(lines(-1)) == []


def test_what_cannot_be_written_becomes_an_error() -> None:
    line = serialized(types.JSONRPCResponse(jsonrpc="2.0", id=7, result={"text": "\udc80"}))
    assert b'"id":7' in line
    assert b'"error"' in line
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


def test_a_refusal_of_an_id_that_cannot_be_written_has_none() -> None:
    found = parsed(b'{"jsonrpc":"2.0","id":"\\ud800","method":5}')
    assert isinstance(found, Refusal)
    assert found.answer.id is None


def test_no_more_requests_are_taken_than_can_be_kept(pipe: tuple[int, int]) -> None:
    """A client that sends for ever and is never answered fills the pipe, not the memory of the server."""
    nowhere = os.open(os.devnull, os.O_WRONLY)

    async def run() -> None:
        streams = Streams(Wire(pipe[0], nowhere, os.getppid()))
        taken: list[SessionMessage] = []

        async def take() -> None:
            async with streams.incoming:
                async for found in streams.incoming:
                    assert isinstance(found, SessionMessage)
                    taken.append(found)

        tasks = [asyncio.create_task(one()) for one in (streams.read, streams.write, take)]
        await _until(lambda: len(taken) == MOST_UNANSWERED)
        for number in range(3):
            await streams.outgoing.send(SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=number, result={})))
            await _until(partial(_are, taken, MOST_UNANSWERED + number + 1))
        cancelled = taken[3].metadata
        assert isinstance(cancelled, ServerMessageMetadata)
        assert cancelled.on_request_unanswered is not None
        await cancelled.on_request_unanswered()
        await _until(partial(_are, taken, MOST_UNANSWERED + 4))
        streams.close()
        await streams.outgoing.aclose()
        for task in tasks[1:]:
            await task
        tasks[0].cancel()
        with suppress(asyncio.CancelledError):
            await tasks[0]
        assert len(taken) == MOST_UNANSWERED + 4

    request = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n'
    write(pipe[1], b"".join(request % number for number in range(MOST_UNANSWERED + 200)))
    os.close(pipe[1])
    asyncio.run(run())
    os.close(nowhere)


def _are(taken: list[SessionMessage], count: int) -> bool:
    return len(taken) == count


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)
