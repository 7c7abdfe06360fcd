"""Rows B9, B23, B25, B29 and B33 over HTTP: what a client of REST and events sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.serving import Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("rows")) as one:
        yield one


def stored(client: httpx.Client, project: str, count: int) -> list[str]:
    items = [{"text": f"{project} {number}", "project": project} for number in range(count)]
    found = client.post("/api/v1/notes", json={"items": items})
    assert found.status_code == 200, found.text
    return [one["id"] for one in found.json()["items"]]


@pytest.mark.parametrize("ids", [[], "", "abc", ["abc"], [7], None, [None]])
def test_b9_over_http_ids_that_are_none_move_nothing(server: Server, ids: Any) -> None:
    client = server.client("b9")
    if client.get("/api/v1/projects/count", params={"project": "boat"}).json()["total"] == 0:
        stored(client, "boat", 3)
    refused = client.post("/api/v1/projects/reassign", json={"from_project": "boat", "to_project": "car", "ids": ids})
    assert refused.status_code == 422, refused.text
    assert client.get("/api/v1/projects/count", params={"project": "boat"}).json()["total"] == 3


@pytest.mark.parametrize("path", ["notes", "recall?query=tea", "projects", "messages", "changes"])
@pytest.mark.parametrize("limit", ["abc", "-1", "0", "2.5", ""])
def test_b23_over_http_a_limit_that_is_none_is_refused(server: Server, path: str, limit: str) -> None:
    client = server.client("b23")
    found = client.get(f"/api/v1/{path}{'&' if '?' in path else '?'}limit={limit}")
    assert (found.status_code, found.json()["field"]) == (422, "limit")


def test_b25_over_http_the_total_is_the_same_on_every_page(server: Server) -> None:
    client = server.client("b25")
    ids = set(stored(client, "boat", 45))
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 10}
    while True:
        page = client.get("/api/v1/notes", params=query).json()
        assert page["total"] == 45
        seen += [one["id"] for one in page["items"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert len(seen) == 45
    assert set(seen) == ids


def test_b29_over_http_what_changed_nothing_is_neither_a_success_nor_an_event(server: Server) -> None:
    client = server.client("b29")
    (id_,) = stored(client, "boat", 1)
    newest = client.get("/api/v1/changes").json()["newest"]
    assert client.post(f"/api/v1/notes/{id_}/restore", json={}).status_code == 409, "it is not in the trash"
    assert client.delete(f"/api/v1/notes/{id_[::-1]}").status_code == 404
    assert client.delete(f"/api/v1/notes/{id_}").status_code == 200
    assert client.delete(f"/api/v1/notes/{id_}").status_code == 409
    told = client.get("/api/v1/changes", params={"since": newest}).json()["events"]
    assert [one["type"] for one in told] == ["note_trash"]


def test_b33_over_http_a_move_says_from_where_to_where(server: Server) -> None:
    client = server.client("b33")
    ids = stored(client, "boat", 2)
    with client.stream("GET", "/api/v1/events", params={"project": "boat"}) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "retry: 2000"
        moved = client.post(
            "/api/v1/projects/reassign", json={"to_project": "car", "from_project": "boat", "all": True}
        )
        assert moved.json()["notes"] == 2
        told = [json.loads(next(line for line in lines if line.startswith("data: "))[6:]) for _ in range(2)]
    assert {one["id"] for one in told} == set(ids)
    assert {(one["type"], one["from_project"], one["to_project"]) for one in told} == {("note_reassign", "boat", "car")}
