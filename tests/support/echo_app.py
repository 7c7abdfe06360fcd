"""The smallest app behind a gate: it tells what reached it."""

from __future__ import annotations

import json
from typing import Any


class Echo:
    """An ASGI app. `seen` are the paths that reached it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """/boom raises, /late raises in the middle of an answer, /flood answers more than anybody takes."""
        self.seen.append(scope["path"])
        body, more = b"", True
        while more:
            message = await receive()
            assert message["type"] == "http.request", message
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if scope["path"] == "/boom":
            raise ValueError("a secret of /srv/memories")
        headers = [(b"content-type", b"application/json")]
        if scope["path"] == "/flood":
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            for _ in range(10_000):
                await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        access = scope.get("state", {}).get("access")
        told = {"path": scope["path"], "bytes": len(body), "token": access.token if access else None}
        data = json.dumps(told).encode()
        headers.append((b"content-length", str(len(data)).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": data})
