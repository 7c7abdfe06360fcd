"""Items 16, 17 and 19 of the acceptance list, and what of B7 and B39 concerns a server without a page."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from memhop import DB
from memhop.server.http.events import PATH as EVENTS
from memhop.server.http.routes import PREFIX
from tests.cli.running import memhop
from tests.support.http_server import ask, request
from tests.support.mcp_server import Served
from tests.support.processes import HANG_S, Starter
from tests.support.serving import Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("accepted"), settings={"heartbeat_seconds": 1, "rate": 5000.0}) as running:
        yield running


# -- 16: everybody at once on one file -----------------------------------------------------------------------


def test_item_16_two_clients_a_server_and_the_command_line_share_a_file(server: Server, start: Starter) -> None:
    """All four write at the same time, one of them is killed, and nothing that was acknowledged is lost."""
    path, each = server.path("shared"), 15
    web = server.client("shared")
    kept: list[str] = []
    with Served(start, path) as one, Served(start, path) as two:
        asked = []
        for name, client in (("one", one), ("two", two)):
            client.handshake()
            asked += [(client, client.start_call("memhop_remember", text=f"{name} {n}")) for n in range(each)]
        poster = threading.Thread(target=lambda: kept.extend([posted(web, f"web {n}") for n in range(each)]))
        poster.start()
        typed = [memhop("remember", f"typed {n}", "--file", path) for n in range(2)]
        assert [one.code for one in typed] == [0, 0], typed
        for client, call in asked:
            assert client.answer(call)["result"]["structuredContent"]["created"]
        poster.join(HANG_S)
        assert len(kept) == each
        wanted = {f"{name} {n}" for name in ("one", "two", "web") for n in range(each)} | {"typed 0", "typed 1"}
        for page in (
            one.data("memhop_note_list", limit=100),
            two.data("memhop_note_list", limit=100),
            web.get(f"{PREFIX}/notes", params={"limit": 100}).json(),
            json.loads(memhop("list", "--limit", "100", "--json", "--file", path).out),
        ):
            assert {item["text"] for item in page["items"]} == wanted, "each sees what the others stored"
        hanging = one.start_call("memhop_remember", text="perhaps")
        one.kill()
        assert two.data("memhop_remember", text="after the kill")["created"]
        assert posted(web, "over the web, after the kill")
        assert memhop("recall", "kill", "--file", path).code == 0
        assert not one.answered(hanging) or "perhaps" in texts(web)
    assert texts(web) >= wanted | {"after the kill", "over the web, after the kill"}
    with DB.open(path, mode="read") as db:
        assert db.verify(deep=True).ok


def test_item_16_whoever_has_a_file_for_itself_is_named_and_waited_for(server: Server, start: Starter) -> None:
    path = server.path("held")
    with Served(start, path, "--wait", "0.2") as client:
        client.handshake()
        with DB.open(path):
            refused = client.call("memhop_remember", text="tea")
            assert refused["isError"]
            assert f"process {os.getpid()}" in str(refused["content"]), "it says who holds the lock"
        assert client.data("memhop_remember", text="tea")["created"]


def posted(client: httpx.Client, text: str) -> str:
    made = client.post(f"{PREFIX}/notes", json={"text": text})
    made.raise_for_status()
    return str(made.json()["id"])


def texts(client: httpx.Client) -> set[str]:
    return {item["text"] for item in client.get(f"{PREFIX}/notes", params={"limit": 100}).json()["items"]}


# -- 17: what is no request of ours --------------------------------------------------------------------------


def test_item_17_strangers_and_nonsense_get_a_clean_refusal_and_the_server_lives(server: Server) -> None:
    port = urlsplit(server.url).port or 0
    token = server.token("seventeen")
    body = b'{"text": "a note"}'
    notes = f"{PREFIX}/notes"
    told = {
        "a foreign origin": request("POST", notes, "Origin: http://evil.example", token=token, body=body),
        "a foreign host": request("GET", notes, host="evil.example", token=token),
        "no token": request("GET", notes),
        "two slashes": request("GET", "//", token=token),
        "a bad host": request("GET", "/healthz", host="["),
        "an oversize body": request("POST", notes, "Content-Length: 9999999999", token=token),
        "no JSON": request("POST", notes, token=token, body=b"{"),
        "no number": request("GET", f"{notes}?limit=abc", token=token),
        "a number below": request("GET", f"{notes}?limit=-1", token=token),
        "half a number": request("GET", f"{notes}?limit=2.5", token=token),
    }
    for what, data in told.items():
        answered = ask(port, data)
        assert 400 <= answered.status < 500, what
        assert answered.json()["message"], what
        assert b"Traceback" not in answered.body
        assert str(server.root).encode() not in answered.body
    clipped = ask(port, request("GET", f"{notes}?limit=1000000000", token=token))
    assert (clipped.status, "lowered" in str(clipped.json())) == (200, True)
    assert server.process.poll() is None
    assert httpx.get(f"{server.url}/healthz").json()["status"] == "ok"


# -- 19: stopping ---------------------------------------------------------------------------------------------


def test_item_19_stop_ends_the_recorded_process_and_no_other(tmp_path: Path, server: Server) -> None:
    with serving(tmp_path) as mine:
        holding = mine.client("alice")
        posted(holding, "a note")
        assert memhop("status", "--root", mine.root).code == 0
        assert memhop("stop", "--root", tmp_path / "elsewhere").code != 0, "nothing runs there"
        stopped = memhop("stop", "--root", mine.root, "--json")
        assert json.loads(stopped.out) == {"stopped": True, "pid": mine.process.pid}
        assert mine.process.wait(HANG_S) == 0
        assert memhop("stop", "--root", mine.root).code == 1, "and it does not say that it stopped anything"
        assert memhop("status", "--root", mine.root).code == 1
    assert server.process.poll() is None
    assert httpx.get(f"{server.url}/healthz").status_code == 200


# -- B7 and B39 -----------------------------------------------------------------------------------------------


def test_b7_a_name_with_signs_of_markup_is_a_name(server: Server) -> None:
    """A project's name closed an attribute of a page and ran there. It comes as data, letter by letter."""
    name, client = 'x" onmouseenter="alert(1)', server.client("seven")
    client.post(f"{PREFIX}/notes", json={"text": "a note", "project": name}).raise_for_status()
    answer = client.get(f"{PREFIX}/projects")
    assert [one["name"] for one in answer.json()["items"]] == [name]
    assert answer.headers["content-type"].startswith("application/json")
    assert client.get(f"{PREFIX}/notes", params={"project": name}).json()["items"][0]["project"] == name


def test_b39_a_new_kind_and_project_are_told_at_once(server: Server) -> None:
    """Filters of an open page did not learn of a new kind. A listener hears of it, and every listing has it."""
    client = server.client("thirty-nine")
    posted(client, "the first")
    with client.stream("GET", EVENTS) as stream:
        new = {"text": "another", "kind": "recipe", "project": "kitchen"}
        client.post(f"{PREFIX}/notes", json=new).raise_for_status()
        heard = next(json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: {"))
    assert (heard["type"], heard["project"]) == ("note_new", "kitchen")
    note = client.get(f"{PREFIX}/notes/{heard['id']}").json()
    assert note["kind"] == "recipe"
    assert client.get(f"{PREFIX}/projects/count", params={"project": "kitchen"}).json()["kinds"] == {"recipe": 1}
    (listed,) = client.get(f"{PREFIX}/notes", params={"kinds": "recipe"}).json()["items"]
    assert listed["id"] == heard["id"]
