"""What one tenant has stored never reaches another: every way in, with every kind of address, id and header.

Two tenants have a memory each, whose every text holds a word of its own. Whatever is asked with the token of the first
one, by whatever path, the word of the second never comes back. The ways in are taken from the tables that the server is
made of: a new operation, route, address or prompt without a row fails.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import httpx
import pytest

from memhop.server.http import download, events
from memhop.server.http.openapi import PATH as OPENAPI
from memhop.server.http.openapi import document
from memhop.server.http.routes import BODIES, PREFIX, ROUTES, Route
from memhop.server.mcp.prompts import PROMPTS
from memhop.server.mcp.resources import ADDRESSES
from memhop.server.operations import OPERATIONS
from tests.support.asked import ROWS, in_order
from tests.support.large_memory import SMALL, World, build
from tests.support.serving import HANG_S, Server, serving

MINE, THEIRS = "quokkaalpha", "wombatbeta"  # the words of alice and of bob
MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
TELLING = [name for name in in_order() if name in OPERATIONS and OPERATIONS[name].reads]
SILENT = {  # they read, but tell nothing that anybody wrote
    "memhop_dream_list", "memhop_dream_show", "memhop_events", "memhop_import_list", "memhop_import_show",
    "memhop_pending", "memhop_project_count", "memhop_project_schema", "memhop_stats", "memhop_status",
    "memhop_trajectory_stats", "memhop_usage", "memhop_verify", "memhop_scene_active_list", "memhop_why_not",
}  # fmt: skip


class Two(NamedTuple):
    """A server with the memories of alice and bob. `token` is one of alice's, for everything in hers."""

    server: Server
    alice: World
    bob: World
    token: str

    def ask(self, method: str, path: str, *, token: str | None = None, **more: Any) -> httpx.Response:
        """A request with a token of alice's; path and headers as they are given."""
        headers = {"Authorization": f"Bearer {token or self.token}", **more.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **more)

    @property
    def client(self) -> httpx.Client:
        return CLIENTS[self.server.url]


CLIENTS: dict[str, httpx.Client] = {}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("tenants")
    root = folder / "root"
    root.mkdir(mode=0o700)
    alice, bob = (build(root / f"{name}.meh", SMALL, mark) for name, mark in (("alice", MINE), ("bob", THEIRS)))
    for page in root.glob("*.md"):
        page.unlink()
    settings = {"tools": "full", "rate": 100_000, "heartbeat_seconds": 1}
    with (
        serving(folder, settings=settings) as server,
        httpx.Client(base_url=server.url, timeout=HANG_S) as client,
    ):
        CLIENTS[server.url] = client
        yield Two(server, alice, bob, server.token("alice"))


def silent_on_bob(answer: httpx.Response) -> str:
    """What was answered, which tells nothing of bob's and is no fault of the server's."""
    told = f"{answer.headers} {answer.text}"
    assert THEIRS not in told.lower()
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    return answer.text


def rest(two: Two, route: Route, arguments: Mapping[str, Any], **more: Any) -> httpx.Response:
    """Ask a route."""
    path, left = route.path, {name: value for name, value in arguments.items() if name not in route.fixed}
    for name in route.in_path:
        path = path.replace(f"{{{name}}}", quote(str(left.pop(name)), safe=""))
    if route.method in BODIES:
        return two.ask(route.method, PREFIX + path, json=left, **more)
    return two.ask(route.method, PREFIX + path, params=left, **more)


def rpc(two: Two, method: str, params: Mapping[str, Any], *, path: str = "/mcp/alice", **more: Any) -> httpx.Response:
    """Ask over MCP."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
    return two.ask("POST", path, json=message, headers={**MCP, **more.pop("headers", {})}, **more)


def in_turn() -> list[Route]:
    """All routes, those that only read first."""
    order = {name: number for number, name in enumerate(in_order())}
    return sorted(ROUTES, key=lambda route: order[route.operation])


def test_row_72_every_way_in_is_known() -> None:
    """A path that is in no table here is asked by no test here."""
    known = {PREFIX + route.path for route in ROUTES} | {events.PATH, download.PATH, OPENAPI}
    assert set(document("1")["paths"]) <= {path.removeprefix(PREFIX) for path in known} | known | {
        "/healthz",
        "/metrics",
    }
    assert {route.operation for route in ROUTES} <= ROWS.keys()
    assert OPERATIONS.keys() <= ROWS.keys()
    assert {one.uri for one in ADDRESSES} == ADDRESSED.keys()
    assert OPERATIONS.keys() >= SILENT
    assert MINE not in THEIRS


def check_route(two: Two, route: Route, *, telling: bool) -> None:
    row = ROWS[route.operation]
    if telling:
        mine = rest(two, route, row(two.alice))
        assert mine.status_code == 200, mine.text
        assert MINE in silent_on_bob(mine).lower(), "or nothing was tested"
    silent_on_bob(rest(two, route, row(two.bob)))  # with ids of bob's
    for named in ("bob", "*", "alice,bob", "../bob"):
        refused = rest(two, route, row(two.alice), headers={"Memhop-Tenant": named})
        assert refused.status_code in (403, 422), refused.text
        silent_on_bob(refused)


def check_tool(two: Two, name: str, *, telling: bool) -> None:
    row = ROWS[name]
    if telling:
        mine = rpc(two, "tools/call", {"name": name, "arguments": row(two.alice)})
        assert MINE in silent_on_bob(mine).lower(), "or nothing was tested"
        assert not mine.json()["result"].get("isError")
    theirs = {"name": name, "arguments": row(two.bob)}
    silent_on_bob(rpc(two, "tools/call", theirs))
    silent_on_bob(rpc(two, "tools/call", theirs, headers={"Memhop-Tenant": "bob"}))
    elsewhere = rpc(two, "tools/call", theirs, path="/mcp/bob")
    assert elsewhere.status_code == 403
    silent_on_bob(elsewhere)


READING = [route for route in in_turn() if OPERATIONS[route.operation].reads]
WRITING = [route for route in in_turn() if not OPERATIONS[route.operation].reads]


@pytest.mark.parametrize("route", READING, ids=lambda route: route.name)
def test_row_72_no_route_tells_of_another_tenant(two: Two, route: Route) -> None:
    """The user was accepted as a filter and ignored on one of several paths: here it is the token, on all of them."""
    check_route(two, route, telling=route.operation not in SILENT)


@pytest.mark.parametrize("name", TELLING)
def test_row_72_no_tool_tells_of_another_tenant(two: Two, name: str) -> None:
    check_tool(two, name, telling=name not in SILENT)


ADDRESSED: dict[str, Callable[[World], str]] = {
    "memhop://brief": lambda _: "memhop://brief",
    "memhop://note/{id}": lambda w: f"memhop://note/{w.note}",
    "memhop://scene/{id}": lambda w: f"memhop://scene/{w.scene}",
}


@pytest.mark.parametrize("uri", ADDRESSED)
def test_row_72_no_resource_tells_of_another_tenant(two: Two, uri: str) -> None:
    mine = rpc(two, "resources/read", {"uri": ADDRESSED[uri](two.alice)})
    assert MINE in silent_on_bob(mine).lower()
    theirs = {"uri": ADDRESSED[uri](two.bob)}
    silent_on_bob(rpc(two, "resources/read", theirs))
    assert rpc(two, "resources/read", theirs, path="/mcp/bob").status_code == 403
    for method in ("resources/list", "resources/templates/list", "tools/list", "prompts/list"):
        assert MINE not in silent_on_bob(rpc(two, method, {})).lower(), "lists tell nobody's words"
        assert rpc(two, method, {}, path="/mcp/bob").status_code == 403


@pytest.mark.parametrize("name", PROMPTS)
def test_row_72_no_prompt_tells_of_another_tenant(two: Two, name: str) -> None:
    silent_on_bob(rpc(two, "prompts/get", {"name": name, "arguments": {"project": "p000"}}))
    assert rpc(two, "prompts/get", {"name": name}, path="/mcp/bob").status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/mcp/bob", "/mcp/bob/", "/mcp//bob", "/mcp/%62ob", "/mcp/BOB", "/mcp/alice/../bob", "/mcp/alice%2F..%2Fbob",
        "/mcp/..%2Froot%2Fbob", "/mcp/bob%00", "/mcp/alice?tenant=bob", "/mcp/alice;bob", "/mcp/bob.meh", "//mcp/bob",
        "/mcp/*", "/mcp/alice,bob", "/mcp/./bob", "/MCP/bob", "/mcp/bob%20", "/mcp/b%6Fb", "/api/v1/../../mcp/bob",
    ],
)  # fmt: skip
def test_row_72_no_spelling_of_a_path_leads_to_another_tenant(two: Two, path: str) -> None:
    """Sent byte by byte, since clients tidy paths up."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memhop_note_list", "arguments": {}},
    }
    told = raw(two, "POST", path, json.dumps(message))
    assert THEIRS not in told.lower()
    if path == "/mcp/alice?tenant=bob":
        assert MINE in told.lower(), "the token's own"
    else:
        assert MINE not in told.lower()
        assert told.split()[1][:1] in "34", told


@pytest.mark.parametrize("path", [events.PATH, download.PATH])
@pytest.mark.parametrize("query", ["", "?since=0", "?tenant=bob", "?project=p000", "?since=0&project=bob"])
def test_row_72_no_stream_tells_of_another_tenant(two: Two, path: str, query: str) -> None:
    bob = two.server.client("bob")
    until = time.monotonic() + HANG_S
    headers = {"Authorization": f"Bearer {two.token}"}
    with two.client.stream("GET", path + query, headers=headers) as answer:
        told = ""
        bob.post(f"{PREFIX}/notes", json={"text": f"{THEIRS} written meanwhile {query}"}).raise_for_status()
        two.ask("POST", f"{PREFIX}/notes", json={"text": f"{MINE} written meanwhile {query} {path}"}).raise_for_status()
        for chunk in answer.iter_text():
            told += chunk
            assert time.monotonic() < until
            if answer.headers["content-type"].startswith("text/event-stream") and ": nothing new" in told:
                break
    assert THEIRS not in told.lower()
    with two.client.stream("GET", path + query, headers={**headers, "Memhop-Tenant": "bob"}) as refused:
        assert refused.status_code == 403


def test_row_72_a_stream_tells_the_events_of_its_own_tenant_alone(two: Two) -> None:
    """Numbers of events of two memories are alike, so that what is looked at are the ids."""
    bob = two.server.client("bob")
    theirs = {one["id"] for one in bob.get(f"{PREFIX}/notes", params={"tier": "all", "limit": 100}).json()["items"]}
    headers = {"Authorization": f"Bearer {two.token}"}
    told = ""
    with two.client.stream("GET", f"{events.PATH}?since=0", headers=headers) as answer:
        for chunk in answer.iter_text():
            told += chunk
            if ": nothing new" in told:
                break
    assert two.alice.note in told
    assert len(theirs) > 10
    assert not [id_ for id_ in theirs if id_ in told]


def test_row_72_a_session_of_the_older_transport_is_of_one_tenant(two: Two) -> None:
    """A session is known by an id that could be guessed or seen: token and tenant must be those that opened it."""
    bob = two.server.token("bob")
    asking = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "memhop_note_list", "arguments": {}},
    }
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    assert two.ask("GET", "/sse/bob").status_code == 403
    headers = {"Authorization": f"Bearer {bob}"}
    with two.client.stream("GET", "/sse/bob", headers=headers) as stream:
        lines = stream.iter_lines()
        place = next(line.partition("data: ")[2] for line in lines if line.startswith("data: "))
        assert place.startswith("/messages/bob/")
        for path in (place, place.replace("bob", "alice"), place.replace("/bob", "//bob")):
            for message in (hello, asking):
                refused = two.ask("POST", path, json=message)
                assert refused.status_code in (400, 403, 404), refused.text
                silent_on_bob(refused)
        assert two.ask("POST", place.replace("bob", "alice"), json=hello, token=bob).status_code == 403
        assert two.ask("POST", place, json=hello, token=bob).status_code == 202
        told = ""
        for line in lines:
            told += line
            if '"id":1' in told.replace(" ", ""):
                break
        assert '"id":7' not in told.replace(" ", ""), "nobody else's question was answered in it"


def test_row_72_what_is_of_the_server_tells_of_no_tenant(two: Two) -> None:
    for path in ("/healthz", OPENAPI):
        told = silent_on_bob(two.ask("GET", path)).lower()
        assert MINE not in told
        assert "bob" not in told
    assert two.ask("GET", "/metrics").status_code == 403, "a tenant's token does not see what others do"
    every = two.server.token("*")
    told = two.ask("GET", "/metrics", token=every).text
    assert "memhop" in told
    assert MINE not in told
    assert THEIRS not in told


def test_row_72_a_token_of_all_tenants_sees_the_one_it_names(two: Two) -> None:
    every = two.server.token("*")
    assert two.ask("GET", f"{PREFIX}/notes", token=every).status_code == 422
    for tenant, word, other in (("alice", MINE, THEIRS), ("bob", THEIRS, MINE)):
        told = two.ask("GET", f"{PREFIX}/notes", token=every, headers={"Memhop-Tenant": tenant}).text.lower()
        assert word in told
        assert other not in told


def test_row_72_nothing_of_it_is_in_the_files_beside_the_memories(two: Two) -> None:
    """Neither the audit file nor what the server prints repeats what was stored or asked."""
    for path in Path(two.server.root).iterdir():
        if path.suffix != ".meh":
            assert THEIRS.encode() not in path.read_bytes().lower(), path.name
    printed = (two.server.root.parent / "stderr").read_text()
    assert THEIRS not in printed.lower()


@pytest.mark.parametrize("route", WRITING, ids=lambda route: route.name)
def test_row_72_no_route_that_writes_tells_or_changes_another_tenant(two: Two, route: Route) -> None:
    """These come last: they change what the others read."""
    before = two.server.path("bob").read_bytes()
    check_route(two, route, telling=False)
    silent_on_bob(rest(two, route, ROWS[route.operation](two.alice)))
    assert two.server.path("bob").read_bytes() == before


@pytest.mark.parametrize("name", [name for name in in_order() if name in OPERATIONS and name not in TELLING])
def test_row_72_no_tool_that_writes_tells_or_changes_another_tenant(two: Two, name: str) -> None:
    before = two.server.path("bob").read_bytes()
    check_tool(two, name, telling=False)
    silent_on_bob(rpc(two, "tools/call", {"name": name, "arguments": ROWS[name](two.alice)}))
    assert two.server.path("bob").read_bytes() == before


def test_row_72_a_token_that_is_none_opens_nothing(two: Two) -> None:
    """And soon it is not even looked at any more."""
    for token in ("memhop_0000000000000000_none", "x", two.token[:-1], two.token + "x"):
        for path in (f"{PREFIX}/notes", events.PATH, download.PATH, "/metrics", "/sse/alice"):
            refused = two.ask("GET", path, token=token)
            assert refused.status_code in (401, 429)
            assert MINE not in silent_on_bob(refused).lower()
        assert rpc(two, "tools/list", {}, token=token).status_code in (401, 429)


def raw(two: Two, method: str, path: str, body: str) -> str:
    """A request with a path that nobody tidies up, and all that comes back."""
    where = urlsplit(two.server.url)
    assert where.hostname is not None
    head = [
        f"{method} {path} HTTP/1.1",
        f"Host: {where.netloc}",
        f"Authorization: Bearer {two.token}",
        "Content-Type: application/json",
        *(f"{name}: {value}" for name, value in MCP.items()),
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    with socket.create_connection((where.hostname, where.port or 80), HANG_S) as line:
        line.sendall("\r\n".join([*head, "", body]).encode())
        told = b""
        while select.select([line], [], [], HANG_S)[0]:
            part = line.recv(65_536)
            if not part:
                break
            told += part
    return told.decode("utf-8", "replace")
