"""The process of `memhop serve`: it listens, serves, and when it is told to stop it finishes what it began.

    SIGTERM, SIGINT, SIGHUP    no new connections; running requests have `stop_seconds`; then every memory is
                               checkpointed and closed. A second SIGINT gives up on running requests at once

A request whose thread hangs longer than that is given up: the process ends all the same. What was acknowledged is in
its file in any case.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn

from memhop.common.errors import ConfigError, StorageError
from memhop.common.settings import ServerSection
from memhop.server.http import privatefile
from memhop.server.http.app import build_app
from memhop.server.http.audit import NAME as AUDIT
from memhop.server.http.audit import Audit
from memhop.server.http.calls import Calls
from memhop.server.http.connection import guarded
from memhop.server.http.download import export_routes
from memhop.server.http.events import Listening
from memhop.server.http.gate import Gate
from memhop.server.http.limits import Limits
from memhop.server.http.metrics import Metrics
from memhop.server.http.names import SUFFIX, tenant_of
from memhop.server.http.openapi import openapi_route
from memhop.server.http.rest import nowhere, rest_routes
from memhop.server.http.statefile import NAME as STATE
from memhop.server.http.statefile import claimed
from memhop.server.http.tenants import Tenants
from memhop.server.http.tokens import NAME as TOKENS
from memhop.server.http.tokens import Tokens
from memhop.server.toolsets import toolset

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from memhop.api.db import DB

log = logging.getLogger("memhop.server")
_SWITCH_S: Final = 0.001  # how long a busy thread keeps the others waiting, the one that listens among them
_BACKLOG: Final = 1024
_KEEP_ALIVE_S: Final = 30  # of a connection that nothing is asked on
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
_LOOPBACK: Final = frozenset(("127.0.0.1", "::1", "localhost"))


def serve(
    root: Path,
    settings: ServerSection,
    open_db: Callable[[Path, bool], DB],
    *,
    version: str,
    authenticated: bool = True,
    page: int | None = None,
    tell: Callable[[str], None],
) -> int:
    """Serve until a signal comes.

    Args:
        root: The folder of the memories; made if it is missing.
        open_db: As for `Tenants`.
        authenticated: False: whoever reaches the port may do anything. Only where nobody else can.
        page: As for `Host`.
        tell: Gets one line for people: where it listens, and what is missing.

    Returns:
        The exit code: 0, or 1 where something had to be given up.

    Raises:
        ConfigError: the address is not this machine's own and names are missing, or tokens are not asked for there; the
            folder is open to others.
        Locked: another server has the folder; names it. StorageError: the port is taken.
    """
    _check_reach(settings, authenticated=authenticated)
    if not log.isEnabledFor(logging.DEBUG):
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it has a traceback for every wrong message of a client
    root = privatefile.check_folder(root.expanduser())
    imports = Path(settings.imports).expanduser().resolve() if settings.imports else None
    if imports is not None and not imports.is_dir():
        raise ConfigError("there is no such folder", field="server.imports", allowed="a folder")
    tokens = Tokens(root / TOKENS) if authenticated else None
    known = len(tokens.list()) if tokens is not None else 0
    audit = Audit(root / AUDIT)
    tenants = Tenants(
        root,
        open_db,
        most_open=settings.most_open,
        idle_s=settings.idle_seconds,
        wait_s=settings.request_seconds,
    )
    calls = Calls(
        tenants,
        audit=audit,
        metrics=Metrics(by_tenant=settings.metrics_by_tenant),
        page=page,
        imports=imports,
        readers=settings.readers,
        queue=settings.queue,
        seconds=settings.request_seconds,
    )
    limits = _limits(settings)
    listening = Listening(
        calls,
        check=tokens.check if tokens is not None else None,
        heartbeat_s=settings.heartbeat_seconds,
        most=settings.listeners,
        most_per_tenant=settings.listeners_of_one,
    )

    def ending() -> None:
        listening.stop()
        calls.stop(settings.stop_seconds)

    with claimed(root / STATE) as claim:
        app = build_app(
            calls,
            toolset(settings.tools),
            gate=lambda inside: Gate(
                inside,
                tokens=tokens,
                hosts=settings.allow_hosts,
                origins=settings.allow_origins,
                limits=limits,
                audit=audit,
            ),
            routes=(
                *rest_routes(calls),
                *export_routes(calls),
                *listening.routes(),
                openapi_route(version),
                nowhere(),
            ),
            version=version,
            nonce=claim.nonce,
            body_bytes=settings.body_bytes,
            idle_s=settings.idle_seconds,
        )
        server = _Server(_config(app, limits, settings.stop_seconds), ending)
        bound = _listen(settings.host, settings.port)
        host, port = bound.getsockname()[:2]
        before = sys.getswitchinterval()
        with server.capture_signals():  # from before anybody can know whom to send one
            claim.publish(host, port)
            audit.write("server.start", access=None, tenant="", detail={"pid": os.getpid(), "port": port})
            tell(f"memhop listens at http://{f'[{host}]' if ':' in host else host}:{port} for the memories in {root}")
            if strays := sum(tenant_of(path) is None for path in root.glob(f"*{SUFFIX}")):
                tell(f"{strays} files there are not named as tenants are (a-z, 0-9, _ and -), and are not served")
            if tokens is not None and not known:
                tell(f"nobody has a token yet: memhop token add NAME --root {root}")
            if settings.host not in _LOOPBACK:
                tell("what is sent to it can be read on the way: put a proxy with TLS in front of it")
            sys.setswitchinterval(_SWITCH_S)
            try:
                server.run(sockets=[bound])
            finally:
                sys.setswitchinterval(before)
                left = calls.close(0.0 if server.force_exit else settings.stop_seconds)
                outcome = "gave up" if left else "done"
                audit.write("server.stop", access=None, tenant="", outcome=outcome, detail={"left": left})
    if left:
        tell(f"{left} memories were still in use, and were left as they were")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)  # their threads would keep the process for ever
    return 0


def _check_reach(settings: ServerSection, *, authenticated: bool) -> None:
    """Others than those on this machine must have tokens, and a name to ask for. Raises ConfigError."""
    if settings.host in _LOOPBACK:
        return
    if not authenticated:
        raise ConfigError(
            "without tokens it listens to this machine alone", field="--no-auth", allowed=", ".join(sorted(_LOOPBACK))
        )
    if not settings.allow_hosts:
        raise ConfigError("it needs the names it is asked by", field="--allow-host", allowed="such as memory.example")


def _limits(settings: ServerSection) -> Limits:
    rate = settings.rate
    burst = max(1, round(2 * rate))
    return Limits(
        body_bytes=settings.body_bytes,
        connections=settings.connections,
        rate=rate,
        burst=burst,
        peer_rate=2 * rate,
        peer_burst=2 * burst,
    )


def _config(app: ASGIApp, limits: Limits, stop_seconds: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=guarded(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # or anybody on this machine could say to be anybody
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=math.ceil(stop_seconds) + 1,  # all have their answer by then
        h11_max_incomplete_event_size=limits.head_bytes,
    )


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises StorageError where that is taken, ConfigError if there is no such place."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ConfigError(f"there is no such address: {error.strerror}", field="server.host") from None
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
    except OSError as error:
        found.close()
        raise StorageError(
            f"cannot listen at {host}, port {port}: {error.strerror}", hint="choose another one with --port"
        ) from None
    found.setblocking(False)
    return found


class _Server(uvicorn.Server):
    """A server whose signals end it in order, and are not raised once more when it is done.

    Args:
        ending: Called when it begins to stop, to end what would go on for ever.
    """

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._ending = ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
