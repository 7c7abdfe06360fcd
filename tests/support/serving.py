"""`memhop serve` as a process, with tokens, for tests that speak HTTP to it.

with serving(tmp_path) as server:
    alice = server.client("alice")            # an httpx.Client with a token of alice's
    alice.get("/api/v1/notes").json()
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from memhop.server.http.tokens import NAME, Tokens
from memhop.server.operation import SCOPES

HANG_S = 60.0  # nothing takes nearly as long
_PROGRAM = "import sys\nfrom memhop.cli.main import main\nsys.argv[0] = 'memhop'\nmain()\n"


class Server:
    """A server that runs.

    Attributes:
        root: The folder of its memories.
        url: Where it listens.
        process: It.
    """

    def __init__(self, root: Path, url: str, process: subprocess.Popen[str], closing: ExitStack) -> None:
        self.root, self.url, self.process = root, url, process
        self._closing = closing

    def token(self, tenant: str, scopes: tuple[str, ...] = SCOPES, **more: Any) -> str:
        """A new token."""
        return Tokens(self.root / NAME).add(tenant, scopes, **more)[1]

    def client(self, tenant: str, scopes: tuple[str, ...] = SCOPES, token: str | None = None) -> httpx.Client:
        """Asks with a token of its own, or with the one that is given. Closed with the server."""
        headers = {"Authorization": f"Bearer {token or self.token(tenant, scopes)}"}
        return self._closing.enter_context(httpx.Client(base_url=self.url, headers=headers, timeout=HANG_S))

    def path(self, tenant: str) -> Path:
        """Its file."""
        return self.root / f"{tenant}.meh"

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(HANG_S)


def not_listening(client: httpx.Client, **more: Any) -> httpx.Response:
    """What is answered to one who is not let listen to events. AssertionError: it is, and the stream would not end."""
    with client.stream("GET", "/api/v1/events", **more) as response:
        assert response.status_code != 200, "it may listen"
        response.read()
    return response


@contextmanager
def serving(
    folder: Path, *options: str, settings: Mapping[str, Any] | None = None, wait_s: float = 10.0
) -> Iterator[Server]:
    """Begin to serve `folder/root`, wait until it listens, and end it, whatever happened.

    Args:
        options: Of `memhop serve`.
        settings: Of the section "server".
        wait_s: How long a request waits for a memory that somebody else holds.
    """
    root = folder / "root"
    root.mkdir(mode=0o700, exist_ok=True)
    lines = [f"{name} = {json.dumps(value)}" for name, value in (settings or {}).items()]
    config = folder / "settings.toml"
    config.write_text("\n".join(["[memory]", f"wait = {wait_s}", "[server]", *lines, ""]))
    environment = {**os.environ, "MEMHOP_CONFIG": str(config), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-c", _PROGRAM, "serve", "--root", str(root), "--port", "0", *options]
    with (
        (folder / "stderr").open("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process,
        ExitStack() as closing,
    ):
        try:
            yield Server(root, _address(process, folder / "stderr"), process, closing)
        finally:
            closing.close()
            process.kill()
            process.wait(HANG_S)


def _address(process: subprocess.Popen[str], errors: Path) -> str:
    """Where it says that it listens."""
    assert process.stdout is not None
    until = time.monotonic() + HANG_S
    while select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
        line = process.stdout.readline()
        assert line, f"it ended: {errors.read_text()}"
        if " at http" in line:
            return line.split(" at ", 1)[1].split()[0]
    raise AssertionError("it does not say where it listens")
