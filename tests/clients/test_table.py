"""What an entry looks like in each client, and which form OpenCode's file is in."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memhop import InvalidRequest
from memhop.clients.entry import Server
from memhop.clients.hooks import EVENTS, HOOKED, Hooks
from memhop.clients.piece import Block, brought, removed
from memhop.clients.table import CLIENTS, SCOPES, client_of, entry_of, form_of, piece_of, token_input

LOCAL = Server(("/opt/memhop", "mcp", "--file", "/m.meh"))
REMOTE = Server(url="http://127.0.0.1:8750/mcp/ada", token_env="MEMHOP_TOKEN")
NAMES = {"project", "home", "config", "app", "claude", "claude_json", "codex"}


def entry(client: str, server: Server, text: str = "") -> Any:
    form = form_of(CLIENTS[client], text)
    return entry_of(CLIENTS[client], form, server)


@pytest.mark.parametrize("name", CLIENTS)
def test_each_client_gets_a_command_with_its_arguments(name: str) -> None:
    made = entry(name, LOCAL)
    command = made["command"] if isinstance(made["command"], list) else [made["command"], *made["args"]]
    assert command == list(LOCAL.command)
    form = form_of(CLIENTS[name], "")
    text = piece_of(form, "memhop").put("", made)
    assert piece_of(form, "memhop").held(text) == made


@pytest.mark.parametrize("name", CLIENTS)
def test_templates_name_what_there_is(name: str) -> None:
    client = CLIENTS[name]
    for files in (client.files, client.told, HOOKED[name].files if name in HOOKED else {}):
        assert set(files) <= set(SCOPES)
        for template in [one for templates in files.values() for one in templates]:
            assert set(re.findall(r"{(\w+)}", template)) <= NAMES
            assert ("{project}" in template) == (template in files.get("project", ()))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("claude", {"type": "http", "url": REMOTE.url, "headers": {"Authorization": "Bearer ${MEMHOP_TOKEN}"}}),
        ("cursor", {"url": REMOTE.url, "headers": {"Authorization": "Bearer ${env:MEMHOP_TOKEN}"}}),
        ("vscode", {"type": "http", "url": REMOTE.url, "headers": {"Authorization": "Bearer ${input:memhop-token}"}}),
        ("gemini", {"httpUrl": REMOTE.url, "headers": {"Authorization": "Bearer ${MEMHOP_TOKEN}"}}),
        ("windsurf", {"serverUrl": REMOTE.url, "headers": {"Authorization": "Bearer ${env:MEMHOP_TOKEN}"}}),
        ("codex", {"url": REMOTE.url, "bearer_token_env_var": "MEMHOP_TOKEN", "tool_timeout_sec": 60}),
    ],
)
def test_a_server_that_runs(name: str, wanted: Any) -> None:
    """Each client has its own word for the address; Claude Code refuses an address without a type."""
    assert entry(name, REMOTE) == wanted


@pytest.mark.parametrize("name", ["claude-desktop", "junie"])
def test_clients_that_reach_no_server(name: str) -> None:
    with pytest.raises(InvalidRequest, match="--http"):
        entry(name, REMOTE)


@pytest.mark.parametrize("name", ["zed", "cline", "continue", "antigravity", "jetbrains"])
def test_a_token_never_stands_in_a_file(name: str) -> None:
    with pytest.raises(InvalidRequest, match="--token-env"):
        entry(name, REMOTE)
    assert "headers" not in entry(name, REMOTE._replace(token_env=""))


def test_vs_code_asks_for_the_token_once() -> None:
    asked = token_input(CLIENTS["vscode"], REMOTE)
    assert asked is not None
    piece, wanted = asked
    before = '{"inputs": [{"id": "other", "type": "promptString"}]}'
    text = brought(before, [asked])
    assert brought(text, [asked]) == text
    assert piece.held(text) == wanted
    assert piece.take(text) == before
    assert token_input(CLIENTS["vscode"], LOCAL) is None
    assert token_input(CLIENTS["cursor"], REMOTE) is None


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", ("mcp",)),
        ('{"mcp": {"other": {"type": "local", "command": ["x"]}}}', ("mcp",)),
        ('{"mcp": {"servers": {"type": "local", "command": ["x"]}}}', ("mcp",)),  # a server called "servers"
        ('{"mcp": {"servers": {"other": {"type": "local"}}}}', ("mcp", "servers")),
        ('{"mcp": {"timeout": {"startup": 1}, "servers": {}}}', ("mcp", "servers")),
    ],
)
def test_the_form_of_opencode_is_seen(text: str, keys: tuple[str, ...]) -> None:
    form = form_of(CLIENTS["opencode"], text)
    assert form.keys == keys
    assert ("enabled" in entry("opencode", LOCAL, text)) == (keys == ("mcp",))


def test_an_unknown_client_is_told_all() -> None:
    with pytest.raises(InvalidRequest) as refused:
        client_of("emacs")
    assert set(str(refused.value.allowed).split(", ")) == set(CLIENTS)


@pytest.mark.parametrize("client", HOOKED)
def test_hooks_of_others_stay_also_in_the_same_group(client: str) -> None:
    hooks = Hooks(HOOKED[client])
    ours = hooks.wanted(dict.fromkeys(EVENTS, "python -P -m memhop.cli.hook stop --client y"))
    assert hooks.take(hooks.put("", ours)) in ("{}\n", '{\n  "version": 1\n}\n')
    name = HOOKED[client].events["stop"]
    mine: Any = {"type": "command", "command": "echo memhop hook-like"}
    groups: Any = [ours[name][0], mine] if HOOKED[client].flat else [{"hooks": [mine, *ours[name][0]["hooks"]]}]
    text = brought(None, [(Just(name), groups)])
    left = hooks.take(text)
    assert hooks.held(left) is None
    assert "echo memhop hook-like" in left


class Just:
    """A whole list of hooks, as somebody else wrote it."""

    def __init__(self, event: str) -> None:
        self._event = event

    def held(self, text: str) -> Any:
        return None

    def put(self, text: str, value: Any) -> str:
        from memhop.clients.splice import put

        return put(text, ("hooks", self._event), value)

    def take(self, text: str) -> str:
        return text


@pytest.mark.parametrize(
    "command",
    [
        "memhop hook stop",
        "/usr/bin/memhop hook stop --client codex",
        "'/opt/a b/memhop' hook stop",
        "/opt/python -P -m memhop.cli.hook stop",
        "/opt/python -m memhop.cli.hook stop --file /a.meh",
    ],
)
def test_hooks_written_by_hand_or_by_another_python_are_ours(command: str) -> None:
    hooks = Hooks(HOOKED["claude"])
    text = brought(None, [(Just("Stop"), [{"hooks": [{"type": "command", "command": command}]}])])
    assert hooks.held(text) is not None
    assert hooks.take(text) == "{}\n"


BLOCK = Block("<!-- memhop:start -->", "<!-- memhop:end -->")
VALUE = "<!-- memhop:start -->\n## Memory\nUse it.\n<!-- memhop:end -->"


@pytest.mark.parametrize(
    "text", ["", "# Mine\n", "# Mine", "# Mine\n\n\n", "# Mine\r\n\r\ntext\r\n", "\ufeff# Mine", "\n"]
)
def test_a_block_comes_once_and_goes_without_a_trace(text: str) -> None:
    once = BLOCK.put(text, VALUE)
    assert BLOCK.held(once) == VALUE
    assert BLOCK.put(once, VALUE) == once
    assert BLOCK.take(once) == text
    assert once.replace("\r\n", "").count("\r") == 0
    newer = BLOCK.put(once, VALUE.replace("Use it.", "Use it more."))
    assert newer.count("## Memory") == 1
    assert BLOCK.take(newer + "added behind\n").endswith("added behind\n")
    assert removed(once, None, [BLOCK]) == (text or None)


@pytest.mark.parametrize(
    "text", [VALUE + VALUE, "<!-- memhop:start -->\n", "<!-- memhop:end -->\n<!-- memhop:start -->\n"]
)
def test_marks_that_do_not_pair_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="memhop:start"):
        BLOCK.put(text, VALUE)
