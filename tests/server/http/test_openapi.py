"""The OpenAPI document is valid, and the server does what it says, whatever is sent to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, negative_data_rejection, positive_data_acceptance
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from memhop.server.http.openapi import PATH, document
from memhop.server.http.routes import PREFIX, ROUTES
from tests.server.http.test_shapes import parts
from tests.support.every_kind import every_kind
from tests.support.serving import Server, serving

DOCUMENT = document("1")
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
EXAMPLES = 100 if os.environ.get("MEMHOP_NIGHTLY") else 2  # of each operation, as documented and otherwise
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)]
# A value that can mean one thing only is taken, such as "5" for 5; one that is well formed may be refused all the same,
# such as an id of nothing. Tokens that are guessed end in 429: that there is no way without one is tested by itself.
NOT_SO = [negative_data_rejection, positive_data_acceptance, ignored_auth]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("openapi")) as one:
        yield one


@pytest.fixture(scope="module")
def session(server: Server) -> Iterator[requests.Session]:
    with requests.Session() as one:
        one.headers["Authorization"] = f"Bearer {server.token('anybody')}"
        yield one


def test_the_document_is_valid() -> None:
    OPENAPI_31_VALIDATOR.validate(DOCUMENT)
    assert DOCUMENT["info"]["version"] == "1"
    named = {one["$ref"] for one in parts(DOCUMENT) if "$ref" in one}
    for reference in named:
        found: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
    listed = [one["operationId"] for path in DOCUMENT["paths"].values() for one in path.values()]
    assert len(set(listed)) == len(listed)
    assert len(listed) == len(OPERATIONS)


def test_a_document_that_is_not_valid_is_seen() -> None:
    assert not OPENAPI_31_VALIDATOR.is_valid({**DOCUMENT, "paths": {"/x": {"get": {"responses": 5}}}})


def test_the_server_shows_it(server: Server) -> None:
    found = server.client("anybody", ("read",)).get(PATH)
    assert found.json()["paths"] == DOCUMENT["paths"]
    assert found.headers["content-type"] == "application/json"
    assert httpx.get(server.url + PATH).status_code == 401


def test_nothing_is_answered_without_a_token(server: Server) -> None:
    with httpx.Client(base_url=server.url) as stranger:
        for path, methods in DOCUMENT["paths"].items():
            for method in methods:
                json: dict[str, str] | None = {} if method in ("post", "patch") else None
                found = stranger.request(method.upper(), path.replace("{", "").replace("}", ""), json=json)
                assert (found.status_code, found.json()["error"]) == (401, "Unauthorized"), path


def test_what_is_read_has_the_shape_that_is_documented(server: Server) -> None:
    """Of a memory that holds something of every kind: each page, and each thing by its id."""
    every_kind(server.path("kinds"))
    client = server.client("kinds")
    told = client.get("/api/v1/changes", params={"limit": 200}).json()["events"]
    ids = {one["type"].removesuffix("_new"): one["id"] for one in told if one["type"].endswith("_new")}
    linked = client.get("/api/v1/recall", params={"query": "it leaks", "kinds": "note"}).json()["hits"][0]["id"]
    node, graph = ids["knowledge"], ids["graph"]
    values = {
        "/about/{id}": linked, "/notes/{id}": linked, "/recall/why-not": linked, "/usage/{id}": linked,
        "/knowledge/graphs/{id}": graph, "/knowledge/nodes/{id}": node, "/facts/{id}": ids["fact"],
        "/messages/{id}": ids["message"], "/capabilities/{id}": ids["capability"], "scene_id": ids["scene"],
        "topic_id": ids["topic"], "graph_id": graph, "number": 1, "session_id": "late", "subject": "kayak",
        "predicate": "is in", "project": "default", "text": "sail", "query": "kayak", "prefix": linked[:8],
        "start_node_id": node, "from_node_id": node, "to_node_id": node,
    }  # fmt: skip
    empty: set[str] = set()
    for route in (route for route in ROUTES if route.method == "GET"):
        needed = {*route.asks.parameters.needed, *route.in_path}
        of_path = next((value for start, value in values.items() if route.path.startswith(start)), None)
        given = {name: of_path if name == "id" else values[name] for name in needed}
        path = PREFIX + route.path.format(**given)
        query = {name: value for name, value in given.items() if name not in route.in_path}
        if route.path == "/knowledge/edges":
            query["graph_id"] = graph  # one of two that say where
        found = client.get(path, params=query)
        assert found.status_code == 200, f"{route.path} {given}: {found.text}"
        answer = DOCUMENT["paths"][PREFIX + route.path]["get"]["responses"]["200"]["content"]["application/json"]
        shape = DOCUMENT["components"]["schemas"][answer["schema"]["$ref"].rpartition("/")[2]]
        Draft202012Validator(shape).validate(found.json())
        if route.of is not None:
            fields = {field for item in found.json()["items"] for field in item}
            assert len(fields & shape["properties"]["items"]["items"]["properties"].keys()) >= len(fields) / 2, route
            empty |= set() if fields else {route.path}
    assert empty <= {"/notes/duplicates"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method.upper()} {one.path}")
def test_the_server_does_what_the_document_says(operation: Any, server: Server, session: requests.Session) -> None:
    """No fault of the server, nothing that is not documented: status, type and shape of each answer."""
    if operation.path == "/api/v1/events":
        pytest.skip("it does not end: test_events.py")
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @given(case=operation.as_strategy(mode))
        @settings(
            max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def ask(case: Any) -> None:
            case.call_and_validate(base_url=server.url, session=session, excluded_checks=NOT_SO)

        ask()
