"""`GET /export`: a memory as JSON lines.

The export is first written to a file without a name beside the memories, then sent from there. So a fault is found
before anything is sent, its length and digest are known, and a slow client holds a file, but no memory and no thread.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as PathRoute

from memhop.common.errors import StorageError
from memhop.server.http.responses import Endpoint
from memhop.server.http.rest import query_of, who
from memhop.server.http.routes import PREFIX
from memhop.server.operation import ADMIN
from memhop.server.parameters import Kind, Text, check_fields

if TYPE_CHECKING:
    from memhop.api import results
    from memhop.api.db import DB
    from memhop.server.http.calls import Calls

PATH = f"{PREFIX}/export"
JSON_LINES = "application/jsonl"
PARAMETERS: dict[str, Kind] = {"project": Text("Only of this project.")}
NAME = "export"  # in the metrics
_CHUNK = 256 * 1024


def export_routes(calls: Calls) -> list[PathRoute]:
    """Where to get an export."""
    return [PathRoute(PATH, Endpoint({"GET": partial(_answer, calls)}))]


async def _answer(calls: Calls, request: Request) -> Response:
    access, tenant = who(request)
    given = check_fields(query_of(request, PARAMETERS), PARAMETERS, (), "", [])
    file = _Spool(calls.tenants.root)

    def write(db: DB) -> results.Exported:
        return db.export(cast("BinaryIO", file), **given)

    try:
        made = await calls.ask(access, tenant, NAME, ADMIN, write, reads=True)
    except BaseException:
        file.give_up()
        raise
    headers = {
        "Content-Length": str(made.bytes),
        "Content-Disposition": 'attachment; filename="memhop-export.jsonl"',
        "Memhop-Records": str(made.records),
        "Memhop-Damaged": str(made.damaged),
        "Memhop-Digest": made.digest,
    }
    return StreamingResponse(file.read(), headers=headers, media_type=JSON_LINES)


class _Spool:
    """The file in between. An export that nobody waits for any more is ended by its next write."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, prefix=".export-")  # noqa: SIM115  (closed by its two ends)
        self._lock = threading.Lock()
        self._given_up = False

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._given_up:
                raise StorageError("nobody waits for this export any more")
            try:
                self._file.write(data)
            except OSError as error:
                raise StorageError(f"no room for an export: {error.strerror}") from error

    def give_up(self) -> None:
        """Close it, whoever writes to it."""
        with self._lock:
            self._given_up = True
            self._file.close()

    async def read(self) -> AsyncIterator[bytes]:
        """What is in it, part by part; then it is closed."""
        try:
            await asyncio.to_thread(self._file.seek, 0)
            while part := await asyncio.to_thread(self._file.read, _CHUNK):
                yield part
        finally:
            self._file.close()
