"""Messages on a wire: one line of JSON each, read in a thread of their own.

Nobody waits for that thread at the end, since a read cannot be interrupted. Whatever comes, the server lives: a line
that is no message is answered with an error, under the id it names if it names one, so that no client waits for ever.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Final, NamedTuple

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from memhop.server.mcp.wire import MOST_LINE, Wire, lines, write

log = logging.getLogger("memhop.server")
MOST_UNANSWERED: Final = 1_000  # requests; more are not read before one of them is answered
_TOO_LONG: Final = f"a message has at most {MOST_LINE >> 20} MiB"


class Refusal(NamedTuple):
    """What is answered to a line that is no message."""

    answer: types.JSONRPCError


class Streams:
    """The messages of a client.

    Attributes:
        incoming, outgoing: As the server of the protocol takes them.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._unanswered = 0  # requests that were read
        self._settled = asyncio.Event()
        self._received: MemoryObjectSendStream[SessionMessage | Exception]
        self._sent: MemoryObjectReceiveStream[SessionMessage]
        self._received, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.outgoing, self._sent = anyio.create_memory_object_stream[SessionMessage](0)

    async def settle(self, seconds: float) -> None:
        """Wait until all requests are answered, but no longer than that."""
        with anyio.move_on_after(seconds):
            while self._unanswered:
                self._settled.clear()
                await self._settled.wait()

    def close(self) -> None:
        """End the server of the protocol; what it has not answered it answers with an error."""
        self._received.close()

    async def read(self) -> None:
        """Pass on what comes, until the client ends it."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def listen() -> None:
            with suppress(RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                for line in lines(self._wire.incoming):
                    asyncio.run_coroutine_threadsafe(self._pass_on(parsed(line)), loop).result()
                loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=listen, name="memhop reader", daemon=True).start()
        await ended.wait()

    async def write(self) -> None:
        """Write what the server sends, until it ends. Raises OSError when nobody reads any more."""
        async with self._sent:
            async for sent in self._sent:
                data = serialized(sent.message)
                await anyio.to_thread.run_sync(write, self._wire.outgoing, data, abandon_on_cancel=True)
                if isinstance(sent.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._settle_one()

    async def _pass_on(self, found: types.JSONRPCMessage | Refusal) -> None:
        if isinstance(found, Refusal):
            self._unanswered += 1
            await self.outgoing.send(SessionMessage(found.answer))
            return
        metadata = None
        if isinstance(found, types.JSONRPCRequest):
            while self._unanswered >= MOST_UNANSWERED:
                self._settled.clear()
                await self._settled.wait()
            self._unanswered += 1
            metadata = ServerMessageMetadata(on_request_unanswered=self._was_cancelled)
        await self._received.send(SessionMessage(found, metadata))

    async def _was_cancelled(self) -> None:
        self._settle_one()

    def _settle_one(self) -> None:
        self._unanswered -= 1
        self._settled.set()


def parsed(line: bytes | None) -> types.JSONRPCMessage | Refusal:
    """The message in a line; None: the line was too long."""
    if line is None:
        return _refusal(None, types.INVALID_REQUEST, _TOO_LONG)
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not isinstance(message, types.JSONRPCNotification):
            return message
    except ValueError:
        message = None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return _refusal(None, types.PARSE_ERROR, "that is no JSON")
    if isinstance(value, list):
        return _refusal(None, types.INVALID_REQUEST, "this protocol has no batches: one message in each line")
    if message is not None and "id" not in value:  # else it is a request with an id that cannot be one
        return message
    id_ = value.get("id") if isinstance(value, dict) else None
    if isinstance(id_, bool) or not isinstance(id_, int | str):
        id_ = None
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return _refusal(id_, types.PARSE_ERROR, f"byte {error.start} is not UTF-8")
    return _refusal(id_, types.INVALID_REQUEST, "that is no message of JSON-RPC 2.0")


def serialized(message: types.JSONRPCMessage) -> bytes:
    """A message as a line. One that cannot be written becomes an error under its id: the client must not wait."""
    try:
        return _line(message)
    except ValueError as error:  # such as half of a surrogate pair
        log.error("an answer could not be written", exc_info=error)
        error_of = types.ErrorData(code=types.INTERNAL_ERROR, message="the answer could not be written")
        return _line(types.JSONRPCError(jsonrpc="2.0", id=getattr(message, "id", None), error=error_of))


def _line(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _refusal(id_: int | str | None, code: int, message: str) -> Refusal:
    error = types.ErrorData(code=code, message=message)
    try:
        answer = types.JSONRPCError(jsonrpc="2.0", id=id_, error=error)
        _line(answer)
    except ValueError:  # an id that cannot be written
        answer = types.JSONRPCError(jsonrpc="2.0", id=None, error=error)
    return Refusal(answer)
