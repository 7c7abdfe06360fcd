"""`GET /events`: what has changed, as server-sent events, to be listened to for as long as one likes.

    id: 5242881
    event: note_new
    data: {"number":"5242881","type":"note_new","id":"…","project":"default",…}

`id` is the number of the event. A listener that comes back with it as `Last-Event-ID` (or ?since=) is told what it
missed, from the log, however long ago that was; one that names none is told what happens from now on. Where some of it
is gone, because the memory was compacted or restored, `event: gap` comes first, with an empty id: what was made of
events had better be made anew. Comments come when there was nothing else to say for a while, so that both sides notice
a line that is dead.

Nobody is waited for: what a listener does not take within a heartbeat ends its stream, and it comes back when it can.
A token is looked at again whenever something is sent, so that one which was revoked or has expired hears no more than a
heartbeat longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.routing import Route as PathRoute

from memhop.api.events import filter_of, number_of
from memhop.common.errors import Busy, MemhopError
from memhop.server.faults import told
from memhop.server.http.calls import check_access
from memhop.server.http.feed import Feed
from memhop.server.http.requests import parse_query, who
from memhop.server.http.responses import Refused, refusal, response_of
from memhop.server.http.routes import PREFIX
from memhop.server.operation import READ

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from memhop.api.results import LogEvent
    from memhop.server.http.access import Access
    from memhop.server.http.calls import Calls

PATH = f"{PREFIX}/events"
BACK_MS = 2_000  # a listener whose line broke is asked to wait so long
_BEAT = b": still here\n\n"
_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
_MOST_CHUNK = 64  # events sent at a time
