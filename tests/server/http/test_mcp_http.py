"""MCP over HTTP, with the official client: both forms of the protocol, and the older transport with its sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from memhop.server.toolsets import CORE
from tests.support.serving import HANG_S, Server, serving

MODES = ("auto", "legacy")
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("mcp")) as running:
        yield running


def run(test: Callable[[], Awaitable[object]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(HANG_S):
            await test()

    asyncio.run(bounded())


@asynccontextmanager
async def client(server: Server, tenant: str, mode: str, token: str | None = None) -> AsyncIterator[Client]:
    """The official client. `mode` "sse": over the older transport."""
    headers = {"Authorization": f"Bearer {token or server.token(tenant)}"}
    if mode == "sse":
        async with Client(sse_client(f"{server.url}/sse/{tenant}", headers=headers), mode="legacy") as found:
            yield found
        return
    async with httpx2.AsyncClient(headers=headers, timeout=HANG_S) as http:
        transport = streamable_http_client(f"{server.url}/mcp/{tenant}", http_client=http)
        async with Client(transport, mode=mode) as found:
            yield found


async def data(one: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await one.call_tool(name, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@pytest.mark.parametrize("mode", [*MODES, "sse"])
def test_a_session(server: Server, mode: str) -> None:
    tenant = f"session-{mode}"

    async def test() -> None:
        async with client(server, tenant, mode) as one:
            tools = (await one.list_tools()).tools
            assert [tool.name for tool in tools] == list(CORE)
            made = await data(one, "memhop_remember", text="Mara is allergic to walnuts", kind="fact")
            found = await one.call_tool("memhop_recall", {"query": "what must Mara not eat?"})
            assert "walnuts" in str(found.content)
            assert (await data(one, "memhop_note_get", id=made["id"]))["text"] == "Mara is allergic to walnuts"
            wrong = await one.call_tool("memhop_note_get", {"id": "zzz"})
            assert wrong.is_error
            assert "16 hex digits" in str(wrong.content)
            brief = await one.read_resource("memhop://brief")
            assert "1 fact" in str(brief.contents)

    run(test)


@pytest.mark.parametrize("mode", [*MODES, "sse"])
def test_twenty_calls_at_once_are_all_stored(server: Server, mode: str) -> None:
    tenant = f"twenty-{mode}"

    async def test() -> None:
        async with client(server, tenant, mode) as one:
            await asyncio.gather(*(data(one, "memhop_remember", text=f"note {number}") for number in range(20)))
            items = (await data(one, "memhop_note_list", limit=50))["items"]
            assert {item["text"] for item in items} == {f"note {number}" for number in range(20)}

    run(test)


@pytest.mark.parametrize("mode", [*MODES, "sse"])
def test_the_token_decides_not_the_path(server: Server, mode: str) -> None:
    """Bob's token opens nothing of alice's, whatever the address says."""
    bob = server.token("bob")
    server.client("alice").post("/api/v1/notes", json={"text": "alice's secret"})

    async def test() -> None:
        with pytest.raises((BaseExceptionGroup, httpx2.HTTPStatusError)) as caught:
            async with client(server, "alice", mode, token=bob) as one:
                await one.list_tools()
        said = str(_leaf(caught.value))
        assert ("403" if mode == "sse" else "error response") in said  # all that the client tells

    run(test)
    answer = httpx.post(
        f"{server.url}/mcp/alice", json=call("memhop_recall", query="secret"), headers=HEADERS | bearer(bob)
    )
    assert answer.status_code == 403
    assert "secret" not in answer.text


def test_a_token_that_only_reads_cannot_write(server: Server) -> None:
    token = server.token("reader", ("read",))

    async def test() -> None:
        async with client(server, "reader", "legacy", token=token) as one:
            refused = await one.call_tool("memhop_remember", {"text": "tea"})
            assert refused.is_error
            assert "does not allow" in str(refused.content)
            assert not (await one.call_tool("memhop_recall", {"query": "tea"})).is_error

    run(test)
    assert not server.path("reader").exists()


def test_one_token_for_every_tenant(server: Server) -> None:
    token = server.token("*")

    async def test() -> None:
        for tenant in ("one", "two"):
            async with client(server, tenant, "auto", token=token) as one:
                await data(one, "memhop_remember", text=f"this is {tenant}'s")
                items = (await data(one, "memhop_note_list"))["items"]
                assert [item["text"] for item in items] == [f"this is {tenant}'s"]

    run(test)


def test_a_session_belongs_to_the_token_and_tenant_that_opened_it(server: Server) -> None:
    """Who knows the number of a session of somebody else's gets the answer that there is none, and nothing is done."""
    alice, bob, everybody = server.token("alice"), server.token("bob"), server.token("*")
    with httpx.stream("GET", f"{server.url}/sse/alice", headers=bearer(alice), timeout=HANG_S) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: endpoint"
        path = next(lines).removeprefix("data: ")
        assert path.startswith("/messages/alice/?session_id=")
        question = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

        def asked(path: str, token: str) -> int:
            return httpx.post(f"{server.url}{path}", json=question, headers=bearer(token)).status_code

        assert asked(path, bob) == 403
        assert asked(path.replace("alice", "bob"), bob) == 404
        assert asked(path, everybody) == 404, "another token than the one that opened it"
        assert asked(path.replace("alice", "bob"), everybody) == 404
        assert asked(path, server.token("alice")) == 404
        assert asked(path, alice) == 202
        headers = bearer(alice) | {"Content-Type": "application/json"}
        assert httpx.post(f"{server.url}{path}", content=b"no JSON", headers=headers).status_code == 400
    with httpx.stream("GET", f"{server.url}/sse/alice", headers=bearer(everybody), timeout=HANG_S) as stream:
        lines = stream.iter_lines()  # to be held on to, or the stream ends
        next(lines)
        path = next(lines).removeprefix("data: ")
        assert asked(path.replace("alice", "bob"), everybody) == 404, "a tenant the session was not opened for"
        assert asked(path, everybody) == 202


def test_a_session_of_a_token_that_was_revoked_is_over(server: Server) -> None:
    from memhop.server.http.tokens import NAME, Tokens

    tokens = Tokens(server.root / NAME)
    info, secret = tokens.add("alice", ("read",))
    with httpx.stream("GET", f"{server.url}/sse/alice", headers=bearer(secret), timeout=HANG_S) as stream:
        lines = stream.iter_lines()
        next(lines)
        path = next(lines).removeprefix("data: ")
        tokens.revoke(info.id)
        question = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert httpx.post(f"{server.url}{path}", json=question, headers=bearer(secret)).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mcp/alice", 405),
        ("DELETE", "/mcp/alice", 405),
        ("POST", "/sse/alice", 405),
        ("GET", "/messages/alice/", 405),
        ("POST", "/mcp/no%20name", 422),
        ("POST", "/mcp/nul", 422),
        ("POST", "/mcp", 404),
        ("POST", "/messages/alice/", 400),
        ("POST", "/messages/alice/?session_id=1", 400),
        ("POST", "/messages/alice/?session_id=00000000000000000000000000000000", 404),
    ],
)
def test_what_the_paths_take(server: Server, method: str, path: str, status: int) -> None:
    headers = HEADERS | bearer(server.token("alice")) | {"Content-Type": "application/json"}
    answer = httpx.request(method, f"{server.url}{path}", headers=headers, content=b"{}" if method == "POST" else None)
    assert answer.status_code == status
    if status == 405:
        assert answer.headers["allow"] == ("GET" if "sse" in path else "POST")


def test_requests_stand_alone(server: Server) -> None:
    """No handshake is needed, and no session is made: any process could answer the next request."""
    headers = HEADERS | bearer(server.token("alone"))
    answer = httpx.post(f"{server.url}/mcp/alone", json=call("memhop_remember", text="tea"), headers=headers)
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers
    assert answer.json()["result"]["structuredContent"]["text"] == "tea"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"[" * 100_000, b'{"id":1e999}'])
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28", "1999-01-01", ""])
def test_what_is_no_message(server: Server, body: bytes, version: str) -> None:
    headers = HEADERS | bearer(server.token("alice")) | {"Content-Type": "application/json"}
    headers["MCP-Protocol-Version"] = version
    answer = httpx.post(f"{server.url}/mcp/alice", content=body, headers=headers, timeout=HANG_S)
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in answer.text
    assert httpx.get(f"{server.url}/healthz").status_code == 200


def call(name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def test_nothing_of_this_was_said_on_its_streams(server: Server) -> None:
    """The last one here: all the wrong messages above have left no traceback."""
    assert json.loads(httpx.get(f"{server.url}/healthz").text)["status"] == "ok"
    assert (server.root.parent / "stderr").read_text() == ""
