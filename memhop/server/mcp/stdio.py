"""`serve`: one memory for one client, on standard input and output, until either goes.

The process ends when the client closes its input, on SIGTERM, SIGINT and SIGHUP, and when its parent dies, which some
clients do without closing anything. Calls that are under way then get `GRACE_S` to finish; `END_S` after the first sign
the process is gone, whatever hangs. A write is in the file or it is not: ending in the middle loses nothing that was
answered.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server

from memhop.server.faults import told
from memhop.server.mcp.guidance import instructions
from memhop.server.mcp.memory import Memory
from memhop.server.mcp.protocol import Call, Context, build_server
from memhop.server.mcp.streams import Streams
from memhop.server.mcp.wire import Wire
from memhop.server.operation import Host, Operation
from memhop.server.reply import Reply

log = logging.getLogger("memhop.server")
GRACE_S: Final = 1.4  # for calls under way; clients kill what does not end within two seconds
LAST_S: Final = 0.3  # for the errors that those get which did not finish
END_S: Final = 2.5
THREADS: Final = 16  # calls at once; more wait
_NOT_YET: Final = "(The memory is empty so far: {} is made when something is stored.)"
_PARENT_S: Final = 0.5  # how often the parent is looked after
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def serve(wire: Wire, memory: Memory, tools: Mapping[str, Operation], *, host: Host, version: str) -> None:
    """Serve until the end, and end the process. Does not return.

    Args:
        wire: What `wire.claim` gave, before anything else was imported.
        tools: What the client is shown.
    """
    code = 1
    try:
        asyncio.run(_serve(wire, memory, tools, host=host, version=version))
        code = 0
    except Exception as error:  # `leave` would hide it
        log.error("the server failed", exc_info=error)
    finally:
        leave(code)


async def _serve(wire: Wire, memory: Memory, tools: Mapping[str, Operation], *, host: Host, version: str) -> None:
    ending = asyncio.Event()
    _watch(ending, wire.parent)
    streams = Streams(wire)
    server = build_server(tools, caller(memory, host), instructions=instructions(tools), version=version)
    async with anyio.create_task_group() as tasks:
        served = asyncio.Event()
        tasks.start_soon(_until_end, streams.read, (ending,))
        tasks.start_soon(_until_end, streams.write, (ending,))
        tasks.start_soon(_until_end, lambda: _run(server, streams), (ending, served))
        await ending.wait()
        threading.Thread(target=_leave_after, args=(END_S,), daemon=True).start()
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it warns of a client that is gone
        await streams.settle(GRACE_S)
        streams.close()
        with anyio.move_on_after(LAST_S):
            await served.wait()
        tasks.cancel_scope.cancel()
    await anyio.to_thread.run_sync(memory.close, abandon_on_cancel=True)


def caller(memory: Memory, host: Host) -> Call:
    """What asks an operation, in a thread. A call whose client gave up goes on to its end: a write is not lost."""
    threads = anyio.CapacityLimiter(THREADS)

    def ask(operation: Operation, arguments: Mapping[str, Any] | None) -> Reply:
        try:
            with memory.use(writes=not operation.reads) as db:
                reply = operation.call(host, db, arguments)
                if reply.failed:
                    memory.failed(db, reply.data.get("code"))
                if memory.is_empty(db):
                    return reply._replace(text=f"{reply.shown()}\n{_NOT_YET.format(memory.path)}")
                return reply
        except Exception as error:
            return told(error, local=host.local)

    async def call(_: Context, operation: Operation, arguments: Mapping[str, Any] | None) -> Reply:
        return await anyio.to_thread.run_sync(ask, operation, arguments, abandon_on_cancel=True, limiter=threads)

    return call


async def _run(server: Server[Any], streams: Streams) -> None:
    await server.run(streams.incoming, streams.outgoing, server.create_initialization_options())


async def _until_end(work: Callable[[], Awaitable[None]], ends: tuple[asyncio.Event, ...]) -> None:
    """One part of the server, and what is set when it ends, for whatever reason."""
    try:
        await work()
    except OSError:  # nobody reads what is written
        pass
    finally:
        for end in ends:
            end.set()


def _watch(ending: asyncio.Event, parent: int) -> None:
    """Set the event on signals, and when the parent is gone."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            loop.add_signal_handler(number, ending.set)

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_S)
        try:
            loop.call_soon_threadsafe(ending.set)
        except RuntimeError:  # it ended already
            return

    threading.Thread(target=look, name="memhop parent watch", daemon=True).start()


def _leave_after(seconds: float) -> None:
    time.sleep(seconds)
    leave(0)


def leave(code: int) -> None:
    """End the process at once: nothing is left to be done, and threads that hang would be waited for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # it may be closed, or None
            stream.flush()
    os._exit(code)
