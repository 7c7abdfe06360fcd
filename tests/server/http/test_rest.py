"""REST over real sockets: the table is whole, what is asked reaches the operation, and errors are errors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx
import pytest

from memhop.api import results
from memhop.server.http.openapi import document
from memhop.server.http.routes import PREFIX, ROUTES, Route
from memhop.server.operation import READ
from memhop.server.operations import OPERATIONS
from memhop.server.parameters import Fields, Flag, Id, Kind, Listed, Number, Table, Time, Whole
from tests.support.serving import Server, not_listening, serving

WITHOUT_ROUTE: set[str] = set()  # operations that are for models alone
READING_FOR_ADMINS = {"memhop_verify", "memhop_export", "memhop_import_list", "memhop_import_show"}
NOWHERE = "00000000000000aa"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("rest")) as one:
        yield one


@pytest.fixture(scope="module")
def alice(server: Server) -> httpx.Client:
    return server.client("alice")


def test_every_operation_has_a_route_and_every_route_an_operation() -> None:
    routed = {route.operation for route in ROUTES}
    assert routed == OPERATIONS.keys() - WITHOUT_ROUTE
    assert OPERATIONS.keys() >= WITHOUT_ROUTE
    for route in ROUTES:
        assert {*route.in_path, *route.fixed} <= route.asks.parameters.kinds.keys(), route
        assert (route.of is not None) == (route.asks.result is results.Page), route
    assert max(Counter((route.method, route.path) for route in ROUTES).values()) == 1
    assert max(Counter(route.name for route in ROUTES).values()) == 1


def test_every_route_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[3] / "INTEGRATION_GUIDE.md").read_text("utf-8")
    lines = guide.partition("| below `/api/v1` |")[2].splitlines()[2:]
    told = set()
    for line in takewhile(lambda one: one.startswith("|"), lines):
        path, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for method, cell in zip(("GET", "POST", "PATCH", "DELETE"), cells, strict=True):
            if cell:
                told.add((method, path.strip("`"), cell))
    assert told == {(route.method, route.path, shown(route)) for route in ROUTES}


def shown(route: Route) -> str:
    fixed = ", ".join(f"{name}={json.dumps(value)}" for name, value in route.fixed.items())
    return f"`{route.operation}`" + (f" ({fixed})" if fixed else "")


def test_get_is_for_what_only_reads() -> None:
    for route in ROUTES:
        if route.method == "GET":
            assert route.asks.scope == READ or route.operation in READING_FOR_ADMINS, route
        elif route.path != "/recall":
            assert route.asks.scope != READ, f"{route} only reads"


def test_a_path_with_words_is_not_taken_for_one_with_an_id() -> None:
    """/notes/duplicates must come before /notes/{id}."""
    seen: list[list[str]] = []
    for route in ROUTES:
        parts = route.path.split("/")
        for before in seen:
            hides = len(before) == len(parts) and all(
                a == b or a[:1] == "{" for a, b in zip(before, parts, strict=True)
            )
            assert not hides or before == parts, f"{route.path} is never reached"
        seen.append(parts)


def test_the_life_of_a_note(alice: httpx.Client) -> None:
    made = alice.post("/api/v1/notes", json={"text": "We chose epoxy since it cures in the cold", "kind": "decision"})
    assert made.status_code == 200
    id_ = made.json()["id"]
    assert [one["id"] for one in alice.get("/api/v1/notes").json()["items"]] == [id_]
    for found in (
        alice.get("/api/v1/recall", params={"query": "why epoxy?", "kinds": "decision"}),
        alice.post("/api/v1/recall", json={"query": "why epoxy?", "kinds": ["decision"]}),
    ):
        assert found.json()["hits"][0]["id"] == id_
        assert "cures in the cold" in found.json()["context"]
    changed = alice.patch(f"/api/v1/notes/{id_}", json={"status": "approved", "expected_rev": 1})
    assert changed.json()["rev"] == 2
    stale = alice.patch(f"/api/v1/notes/{id_}", json={"status": "rejected", "expected_rev": 1})
    assert (stale.status_code, stale.json()["error"]) == (409, "Conflict")
    for act, tier in (("archive", "archived"), ("unarchive", "active")):
        assert alice.post(f"/api/v1/notes/{id_}/{act}", json={}).json()["tier"] == tier
    assert alice.post(f"/api/v1/notes/{id_}/pin", json={}).status_code == 200
    assert alice.get(f"/api/v1/notes/{id_}").json()["pinned"] is True
    assert alice.delete(f"/api/v1/notes/{id_}").json()["tier"] == "trashed"
    assert len(alice.get(f"/api/v1/notes/{id_}/history").json()["items"]) == 6
    assert alice.post(f"/api/v1/notes/{id_}/restore", json={}).json()["tier"] == "active"
    assert alice.post(f"/api/v1/notes/{id_}/purge", json={"force": True}).status_code == 200
    assert alice.get(f"/api/v1/notes/{id_}").status_code == 404


def test_an_act_that_changes_nothing_is_no_success(alice: httpx.Client) -> None:
    """B29: a delete of what was gone said 200 and false, and everybody was told that it was deleted."""
    id_ = alice.post("/api/v1/notes", json={"text": "it is thrown away twice"}).json()["id"]
    assert alice.delete(f"/api/v1/notes/{id_}").status_code == 200
    again = alice.delete(f"/api/v1/notes/{id_}")
    assert again.status_code == 409
    assert "trash" in again.json()["message"]
    for path in (f"/api/v1/facts/{NOWHERE}", "/api/v1/trajectory?session_id=nothing", "/api/v1/capabilities/nothing"):
        gone = alice.delete(path)
        assert (gone.status_code, gone.json()["error"]) == (404, "NotFound"), path


def test_a_request_with_its_key_again_does_nothing_again(alice: httpx.Client) -> None:
    key = {"Idempotency-Key": "one act"}
    first = alice.post("/api/v1/notes", json={"text": "sent twice"}, headers=key).json()
    again = alice.post("/api/v1/notes", json={"text": "sent twice"}, headers=key).json()
    assert (again["id"], again["created"]) == (first["id"], False)
    other = alice.post("/api/v1/notes", json={"text": "sent with other words"}, headers=key)
    assert (other.status_code, other.json()["field"]) == (422, "idempotency_key")
    differs = alice.post("/api/v1/notes", json={"text": "x", "idempotency_key": "another"}, headers=key)
    assert (differs.status_code, differs.json()["field"]) == (422, "idempotency_key")


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ("limit=5", 200, None),
        ("limit=%205%20", 200, None),
        ("limit=1000000000", 200, None),
        ("limit=0", 422, "limit"),
        ("limit=-1", 422, "limit"),
        ("limit=1.5", 422, "limit"),
        ("limit=null", 422, "limit"),
        ("limit=x", 422, "limit"),
        ("limit=", 422, "limit"),
        ("limit=1&limit=2", 422, "limit"),
        ("pinned=true", 200, None),
        ("pinned=maybe", 422, "pinned"),
        ("kinds=bug&kinds=plan", 200, None),
        ("kinds=bug", 200, None),
        ("kinds=%5B%22bug%22%2C%22plan%22%5D", 200, None),
        ("tier=nowhere", 422, "tier"),
        ("since=yesterday", 422, "since"),
        ("since=2026-01-01", 200, None),
        ("limits=5", 422, "limits"),
        ("%FF=1", 422, "query"),
        ("kinds=%FF", 422, "query"),
        ("&".join(f"a{number}=1" for number in range(300)), 422, "query"),
        ("cursor=junk", 422, "cursor"),
    ],
)
def test_queries(alice: httpx.Client, query: str, status: int, field: str | None) -> None:
    found = alice.get(f"/api/v1/notes?{query}")
    assert (found.status_code, found.json().get("field")) == (status, field), found.text
    if query == "limit=1000000000":
        assert "lowered" in found.json()["remarks"][0]


@pytest.mark.parametrize(
    ("body", "kind", "status", "error"),
    [
        (b'{"text": "fine, and long enough"}', "application/json", 200, None),
        (b'{"text": "fine, too, and long enough"}', "Application/JSON; charset=utf-8", 200, None),
        (b'{"text": "a form"}', "text/plain", 415, "WrongMediaType"),
        (b"text=a+form", "application/x-www-form-urlencoded", 415, "WrongMediaType"),
        (b'{"text": "nothing said"}', "", 415, "WrongMediaType"),
        (b"", "application/json", 422, "InvalidRequest"),
        (b"{", "application/json", 400, "BadRequest"),
        (b"[]", "application/json", 400, "BadRequest"),
        (b'"text"', "application/json", 400, "BadRequest"),
        (b"null", "application/json", 400, "BadRequest"),
        (b'{"text": "\xff"}', "application/json", 400, "BadRequest"),
        (b'{"text": "x", "metadata": {"a": NaN}}', "application/json", 400, "BadRequest"),
        (b"[" * 100_000, "application/json", 400, "BadRequest"),
        (b'{"text": 5}', "application/json", 422, "InvalidRequest"),
        (b'{"text": "\\ud800"}', "application/json", 422, "InvalidRequest"),
        (b'{"text": "a\\u0000b"}', "application/json", 200, None),
        (b'{"text": "x", "tekst": "y"}', "application/json", 422, "InvalidRequest"),
    ],
)
def test_bodies(alice: httpx.Client, body: bytes, kind: str, status: int, error: str | None) -> None:
    found = alice.post("/api/v1/notes", content=body, headers={"Content-Type": kind} if kind else {})
    assert (found.status_code, found.json().get("error")) == (status, error), found.text


def test_what_the_path_says_is_not_said_again(alice: httpx.Client) -> None:
    id_ = alice.post("/api/v1/notes", json={"text": "with a path of its own"}).json()["id"]
    for body in ({"id": id_, "text": "x"}, {"id": NOWHERE, "text": "x"}):
        found = alice.patch(f"/api/v1/notes/{id_}", json=body)
        assert (found.status_code, found.json()["field"]) == (422, "id")
    found = alice.post(f"/api/v1/notes/{id_}/pin", json={"pinned": False})
    assert (found.status_code, found.json()["field"]) == (422, "pinned")
    found = alice.post(f"/api/v1/notes/{id_}/archive?project=x", json={})
    assert (found.status_code, found.json()["field"]) == (422, "project")


def test_paths_and_methods_that_are_not_there(alice: httpx.Client) -> None:
    for path in ("/api/v1/nothing", "/api/v1/", "/api/v1/notes/a/b/c"):
        found = alice.get(path)
        assert (found.status_code, found.json()["error"]) == (404, "NoSuchPath")
    found = alice.put("/api/v1/notes", json={})
    assert (found.status_code, found.headers["allow"]) == (405, "GET, POST")
    assert found.json()["error"] == "MethodNotAllowed"
    assert alice.get("/api/v1/notes/no-id").json()["field"] == "id"


def test_a_token_decides_what_may_be_done(server: Server, alice: httpx.Client) -> None:
    id_ = alice.post("/api/v1/notes", json={"text": "alice keeps her spare key under the mat"}).json()["id"]
    reader = server.client("alice", ("read",))
    assert reader.get(f"/api/v1/notes/{id_}").status_code == 200
    for refused in (
        reader.post("/api/v1/notes", json={"text": "x"}),
        reader.delete(f"/api/v1/notes/{id_}"),
        reader.post("/api/v1/maintenance/compact", json={}),
        reader.get("/api/v1/export"),
        server.client("alice", ("write",)).get(f"/api/v1/notes/{id_}"),
        server.client("bob").get(f"/api/v1/notes/{id_}", headers={"Memhop-Tenant": "alice"}),
        not_listening(server.client("bob"), headers={"Memhop-Tenant": "alice"}),
        server.client("bob").get("/api/v1/export", headers={"Memhop-Tenant": "alice"}),
    ):
        assert (refused.status_code, refused.json()["error"]) == (403, "Forbidden")
        assert "spare key" not in refused.text
    assert httpx.get(server.url + "/api/v1/notes").status_code == 401
    assert httpx.get(server.url + "/api/v1/openapi.json").status_code == 401
    assert server.client("bob").get(f"/api/v1/notes/{id_}").status_code == 404


def test_an_operators_token_says_whose_memory(server: Server, alice: httpx.Client) -> None:
    alice.post("/api/v1/notes", json={"text": "there is something of alice's"})
    every = server.client("*")
    missing = every.get("/api/v1/notes")
    assert (missing.status_code, missing.json()["field"]) == (422, "Memhop-Tenant")
    assert every.get("/api/v1/notes", headers={"Memhop-Tenant": "alice"}).json()["total"] > 0
    assert every.get("/api/v1/notes", headers={"Memhop-Tenant": "nobody-yet"}).status_code == 404
    for name in ("../alice", "con", "a b", "x" * 65, ""):
        assert every.get("/api/v1/notes", headers={"Memhop-Tenant": name}).status_code == 422, name
    assert not server.path("nobody-yet").exists()


def test_large_replies_say_what_was_cut(server: Server) -> None:
    big = server.client("big")
    for number in range(15):
        text = f"note {number}: " + "words and words " * 6_000
        assert big.post("/api/v1/notes", json={"text": text}).status_code == 200
    found = big.get("/api/v1/notes", params={"limit": 100, "text_chars": 100_000})
    assert found.status_code == 200
    assert len(found.text) < 1_200_000


def test_an_export_comes_whole_and_goes_in_again(server: Server, alice: httpx.Client) -> None:
    alice.post("/api/v1/notes", json={"text": "goes out and in again", "project": "boat"})
    got = alice.get("/api/v1/export")
    assert got.status_code == 200
    assert got.headers["content-type"] == "application/jsonl"
    assert len(got.content) == int(got.headers["content-length"])
    lines = got.text.splitlines()
    assert json.loads(lines[0]) == {"format": "memhop-export", "version": 1}
    assert len(lines) - 1 == int(got.headers["memhop-records"])
    other = server.client("other")
    report = other.post("/api/v1/import", json={"content": got.text})
    assert report.status_code == 200, report.text
    assert report.json()["rejected"] == 0
    assert other.get("/api/v1/export").headers["memhop-digest"] == got.headers["memhop-digest"]
    of_boat = alice.get("/api/v1/export", params={"project": "boat"}).text
    assert "goes out and in again" in of_boat
    assert json.loads(of_boat.splitlines()[0])["project"] == "boat"
    assert alice.get("/api/v1/export", params={"projekt": "boat"}).json()["field"] == "projekt"
    assert [path.name for path in server.root.iterdir() if "export" in path.name] == []


def value_of(kind: Kind) -> Any:
    """Some value that a parameter takes."""
    if isinstance(kind, Id):
        return NOWHERE
    if isinstance(kind, Whole | Number):
        return kind.low if kind.low > 0 else kind.low + 1
    if isinstance(kind, Flag):
        return True
    if isinstance(kind, Time):
        return "2026-01-02T03:04:05Z"
    if isinstance(kind, Listed):
        return [value_of(kind.of)] * max(1, kind.low)
    if isinstance(kind, Fields):
        return {name: value_of(kind.of[name]) for name in kind.needed}
    if isinstance(kind, Table):
        return {"a": "b"}
    return getattr(kind, "choices", ("some words",))[0]


def asked(client: httpx.Client, route: Route, *, everything: bool) -> httpx.Response:
    """Ask a route with the arguments it needs, or with all it has."""
    parameters = route.asks.parameters
    names = [name for name in (parameters.kinds if everything else parameters.needed) if name not in route.fixed]
    values = {name: value_of(parameters.kinds[name]) for name in names}
    path = PREFIX + route.path.format(**{name: values.pop(name) for name in route.in_path})
    if route.method in ("GET", "DELETE"):
        shown = {name: json.dumps(one) if isinstance(one, dict) else one for name, one in values.items()}
        return client.request(route.method, path, params=shown)
    return client.request(route.method, path, json=values)


def test_every_route_answers_as_documented(server: Server) -> None:
    """With a few arguments and with all, on an empty memory and on one that holds something."""
    client = server.client("routes")
    paths = document("1")["paths"]
    tried: set[int] = set()
    for everything in (False, True):
        for route in ROUTES:
            found = asked(client, route, everything=everything)
            said = f"{route.method} {route.path}: {found.status_code} {found.text[:300]}"
            assert str(found.status_code) in paths[PREFIX + route.path][route.method.lower()]["responses"], said
            assert found.status_code < 500, said
            assert found.headers["content-type"] == "application/json"
            assert found.headers["x-content-type-options"] == "nosniff"
            assert isinstance(found.json(), dict)
            if found.status_code != 200:
                assert set(found.json()) == {"error", "code", "message", "field", "allowed", "hint"}, said
            tried.add(found.status_code)
    assert tried >= {200, 404, 422}


def test_getting_changes_nothing(server: Server) -> None:
    client = server.client("reading")
    id_ = client.post("/api/v1/notes", json={"text": "some words that are only read"}).json()["id"]
    before = client.get("/api/v1/export").text
    newest = client.get("/api/v1/changes").json()["newest"]
    for route in ROUTES:
        if route.method == "GET":
            for everything in (False, True):
                asked(client, route, everything=everything)
    client.get(f"/api/v1/notes/{id_}")
    after = client.get("/api/v1/changes", params={"since": newest}).json()
    assert after["events"] == []
    assert client.get("/api/v1/export").text == before
