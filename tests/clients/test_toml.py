"""One table of a TOML text comes and goes; the rest stays, byte for byte."""

from __future__ import annotations

import tomllib

import pytest

from memhop import InvalidRequest
from memhop.clients.piece import removed
from memhop.clients.toml import Table, _is_kept

TABLE = Table(("mcp_servers", "memhop"))
ENTRY = {"command": "/opt/é", "args": ["mcp", "--file", 'C:\\a "b".meh'], "startup_timeout_sec": 20}
TEXTS = [
    "",
    "# only a comment\n",
    'model = "m" # which one\n\n[profiles.fast]\nmodel = "n"\n',
    '[mcp_servers.other]\ncommand = "x"\nargs = [\n  "a", # first\n  "b",\n]\n\n[mcp_servers.other.env]\nA = "1"\n',
    '[mcp_servers.other]\ncommand = "x"\n\n# about the profile\n[profile]\na = """\n[mcp_servers.memhop]\n"""\n',
    'a = 1\r\n\r\n[b]\r\nc = "d" # e\r\n',
    "\ufeffa = 1\n[b]\nc = 2",
    "[[hooks]]\nx = 1\n[[hooks]]\nx = 2\n",
    'mcp_servers.other.command = "x"\n',
    "a = 1 # one\r\nb = 2\n",
    '[a]\nx = 1\n[mcp_servers.other]\nc = "x"\n[b]\ny = 1\n[mcp_servers.third]\nc = "x" # far away\n',
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_table_comes_and_all_else_stays(text: str) -> None:
    new = TABLE.put(text, ENTRY)
    before = tomllib.loads(text.removeprefix("\ufeff"))
    after = tomllib.loads(new.removeprefix("\ufeff"))
    assert after.pop("mcp_servers") == before.pop("mcp_servers", {}) | {"memhop": ENTRY}
    assert after == before
    assert [line for line in text.splitlines() if "#" in line and line not in new.splitlines()] == []
    assert ("\r\n" in new) == ("\r\n" in text)
    assert new.startswith("\ufeff") == text.startswith("\ufeff")
    assert TABLE.put(new, ENTRY) == new
    assert removed(new, text or None, [TABLE]) == (text or None)


@pytest.mark.parametrize("text", TEXTS)
def test_it_goes_again_though_the_rest_was_changed_meanwhile(text: str) -> None:
    left = removed(TABLE.put(text, ENTRY) + "\n[later]\nx = 1\n", text, [TABLE])
    assert left is not None
    after = tomllib.loads(left.removeprefix("\ufeff"))
    assert after.pop("later") == {"x": 1}
    assert after == tomllib.loads(text.removeprefix("\ufeff"))
    assert [line for line in text.splitlines() if "#" in line and line not in left.splitlines()] == []


def test_it_is_replaced() -> None:
    once = TABLE.put(TEXTS[3], ENTRY)
    new = TABLE.put(once, {"command": "other"})
    assert tomllib.loads(new)["mcp_servers"]["memhop"] == {"command": "other"}
    assert tomllib.loads(new)["mcp_servers"]["other"] == tomllib.loads(TEXTS[3])["mcp_servers"]["other"]


@pytest.mark.parametrize(
    "text",
    ["a = ", "[a\n", "a = 1\na = 2\n", "mcp_servers = 3\n", "mcp_servers = { other = {} }\n", "= 1", '"', "\x00"],
)
def test_what_does_not_do_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        TABLE.put(text, ENTRY)


def test_a_line_that_is_lost_is_seen() -> None:
    """The parser that proves the change does not see comments."""
    assert _is_kept("a = 1 # one\n\nb = 2\n", "a = 1 # one\nc = 3\nb = 2\n")
    assert not _is_kept("a = 1 # one\nb = 2\n", "a = 1\nb = 2\n")
    assert not _is_kept("a = 1\nb = 2\n", "b = 2\na = 1\n")
