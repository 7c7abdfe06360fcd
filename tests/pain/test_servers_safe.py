"""Rows 73 and 76: names that are paths, and pages of strangers, as a server meets them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.support.http_server import Answered, ask, request
from tests.support.serving import Server, serving

NAMES = [
    "../../x", "..%2fx", "..\\x", "C:\\x", "\\\\srv\\x", "a/../../b", "a/b", "NUL", "con", "com1", ".", "..", "",
    "x" * 5000, "x\0y", "x\ny", "x.meh", "~root", "*", " ", "é", "alice ", "%2e%2e",
]  # fmt: skip
HELLO = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder) as running:
        (folder / "secret.meh").write_bytes(b"outside")
        (running.root / "linked.meh").symlink_to(folder / "secret.meh")
        yield running


def sent(server: Server, data: bytes) -> Answered:
    return ask(urlsplit(server.url).port or 0, data)


def files(server: Server) -> dict[str, bytes]:
    """All there is in the folder, and around it."""
    around = server.root.parent
    return {str(path.relative_to(around)): path.read_bytes() for path in sorted(around.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_row_73_a_tenant_is_never_a_path(server: Server, name: str) -> None:
    """`../` in the name of a project or user read, wrote and deleted outside of the folder."""
    operator = server.token("*")
    before = files(server)
    escaped = quote(name, safe="")
    tries = [
        request("POST", f"/mcp/{escaped}", "Accept: application/json, text/event-stream", token=operator, body=HELLO),
        request("POST", f"/mcp/{quote(name, safe='/%')}", token=operator, body=HELLO),
        request("GET", f"/sse/{escaped}", token=operator),
        request("POST", f"/messages/{escaped}/?session_id={'0' * 32}", token=operator, body=HELLO),
        request("DELETE", f"/mcp/{escaped}", token=operator),
    ]
    if name.isprintable() and name.isascii() and name == name.strip():  # HTTP takes blanks around a value away
        tries += [
            request("GET", "/api/v1/notes", f"Memhop-Tenant: {name}", token=operator),
            request("POST", "/api/v1/notes", f"Memhop-Tenant: {name}", token=operator, body=b'{"text": "a note"}'),
        ]
    for data in tries:
        answered = sent(server, data)
        assert 400 <= answered.status < 500, (data[:80], answered)
        assert str(server.root).encode() not in answered.body
        assert b"Traceback" not in answered.body
    assert {path: data for path, data in files(server).items() if not _grows(path)} == {
        path: data for path, data in before.items() if not _grows(path)
    }


def test_row_73_a_link_in_the_folder_is_not_followed(server: Server) -> None:
    before = (server.root.parent / "secret.meh").read_bytes()
    client = server.client("linked")
    call = {"name": "memhop_remember", "arguments": {"text": "a note"}}
    accept = {"Accept": "application/json, text/event-stream"}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answers = [
        client.get("/api/v1/notes"),
        client.post("/api/v1/notes", json={"text": "a note"}),
        client.post("/mcp/linked", json=asked, headers=accept),
    ]
    assert [answered.status_code for answered in answers] == [422, 422, 200]
    assert answers[2].json()["result"]["isError"] is True
    assert not [answered for answered in answers if str(server.root) in answered.text]
    assert (server.root.parent / "secret.meh").read_bytes() == before


def _grows(path: str) -> bool:
    return Path(path).name.startswith(("audit.jsonl", "stderr", "tokens.json"))


def test_row_73_a_name_in_another_case_is_the_same_tenant_and_no_other_file(server: Server) -> None:
    """On file systems that ignore case, `Bob` and `bob` were one file with two owners."""
    client = server.client("Bob")
    assert client.post("/api/v1/notes", json={"text": "kept in lower case"}).is_success
    made = {path.name for path in server.root.iterdir()}
    assert "bob.meh" in made
    assert "Bob.meh" not in made
    assert server.client("bob").get("/api/v1/notes").json()["total"] == 1


def test_row_73_imports_never_read_paths_of_clients(server: Server) -> None:
    """A path in a request was opened by the server."""
    client = server.client("carol")
    outside = server.root.parent / "secret.meh"
    for argument in (
        {"path": str(outside)},
        {"path": "../secret.meh"},
        {"file": str(outside)},
        {"path": "/etc/passwd"},
    ):
        for path in ("/api/v1/import", "/api/v1/capabilities"):
            answered = client.post(path, json=argument)
            assert 400 <= answered.status_code < 500, answered.text
            assert "outside" not in answered.text
            assert "localhost" not in answered.text


FORMS: list[dict[str, Any]] = [
    {"lines": ("Content-Type: application/x-www-form-urlencoded",), "body": b"force=true"},
    {"lines": ("Content-Type: text/plain",), "body": b'{"force": true}'},
    {"lines": ("Content-Type: multipart/form-data; boundary=x",), "body": b"--x--"},
    {"lines": (), "body": b'{"force": true}'},
    {"lines": ("Content-Type: application/json",), "body": b'{"force": true}'},
]


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_row_76_a_page_elsewhere_deletes_nothing(server: Server, form: dict[str, Any]) -> None:
    """28 calls, DELETE among them, took whatever a form of any page sent: no token, no look at where it came from."""
    client = server.client("dave")
    note = client.post("/api/v1/notes", json={"text": "must stay"}).json()
    paths = [("POST", f"/api/v1/notes/{note['id']}/purge"), ("DELETE", f"/api/v1/notes/{note['id']}")]
    paths += [("POST", "/api/v1/projects/purge"), ("POST", "/api/v1/maintenance/compact"), ("POST", "/mcp/dave")]
    token = server.token("dave")
    for method, path in paths:
        for origin in ("Origin: https://evil.example", "Origin: null", "Origin: http://127.0.0.1:1"):
            for known in (None, token):  # even a page that found out a token
                lines = (origin, *form["lines"])
                answered = sent(server, request(method, path, *lines, token=known, body=form["body"], json_type=False))
                assert answered.status == 403, (method, path, answered)
        anonymous = request(method, path, *form["lines"], body=form["body"], json_type=False)
        assert sent(server, anonymous).status == 401
        if b"json" not in repr(form["lines"]).encode():  # what a form can send, by who has a token
            known_form = request(method, path, *form["lines"], token=token, body=form["body"], json_type=False)
            assert sent(server, known_form).status == 415
    assert client.get(f"/api/v1/notes/{note['id']}").json()["text"] == "must stay"
