"""`memhop mcp install | uninstall | clients` on real files, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memhop.clients.hooks import HOOKED
from memhop.clients.table import CLIENTS
from tests.cli.running import COMMAND, Ran, environment, here
from tests.support.processes import HANG_S

WRITTEN = [name for name, one in CLIENTS.items() if one.files]


class Place:
    """A home and a project, and the commands run there."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "a project"
        self.home.mkdir()
        self.project.mkdir()

    @property
    def env(self) -> Mapping[str, str]:
        return {"HOME": str(self.home)}

    def run(self, *words: str | Path) -> Ran:
        return here(*words, env=self.env)

    def file(self, client: str, scope: str = "user") -> Path:
        found = self.run("mcp", "clients", "--json").json()
        return Path(next(row["file"] for row in found if (row["client"], row["scope"]) == (client, scope)))

    def every_file(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(self.home.parent.rglob("*")) if path.is_file()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    found = Place(tmp_path)
    monkeypatch.chdir(found.project)
    return found


def before(client: str) -> str:
    """What a client's own file may hold, comments where it takes them."""
    if CLIENTS[client].form.toml:
        return '# mine\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "x" # other\n'
    if client in ("claude", "claude-desktop"):
        return '{\n  "numStartups": 12,\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}'
    return '\ufeff{\r\n\t// mine\r\n\t"theme": "dark",\r\n\t"mcpServers": {"other": {"command": "x"},},\r\n}\r\n'


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("client", WRITTEN)
def test_it_comes_stays_and_goes_without_a_trace(place: Place, client: str, scope: str) -> None:
    if scope not in CLIENTS[client].files:
        refused = place.run("mcp", "install", client, "--scope", scope, "--yes")
        assert refused.code == 2
        assert "--scope" in refused.err
        return
    hooks = ("--hooks",) if client in HOOKED else ()
    path = place.file(client, scope)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before(client).encode())
    path.chmod(0o640)
    at_first = place.every_file()

    shown = place.run("mcp", "install", client, "--scope", scope, *hooks, "--dry-run")
    assert shown.code == 0, shown
    assert "+" in shown.out
    assert place.every_file() == at_first

    assert place.run("mcp", "install", client, "--scope", scope, *hooks, "--yes").code == 0
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.with_name(path.name + ".before-memhop").read_bytes() == before(client).encode()
    assert b"memhop" in path.read_bytes()
    installed = place.every_file()
    again = place.run("mcp", "install", client, "--scope", scope, *hooks, "--yes")
    assert "nothing to change" in again.out
    assert place.every_file() == installed
    rows = place.run("mcp", "clients", "--json").json()
    assert [row["state"] for row in rows if (row["client"], row["scope"]) == (client, scope)] == ["memory"]

    assert place.run("mcp", "uninstall", client, "--scope", scope, "--yes").code == 0
    assert place.every_file() == at_first
    assert path.stat().st_mode & 0o777 == 0o640
    assert "nothing to change" in place.run("mcp", "uninstall", client, "--scope", scope, "--yes").out


@pytest.mark.parametrize("client", WRITTEN)
def test_a_file_that_was_not_there_is_made_and_goes_again(place: Place, client: str) -> None:
    assert place.run("mcp", "install", client, "--yes").code == 0
    assert place.file(client).exists()
    assert place.run("mcp", "uninstall", client, "--yes").code == 0
    assert place.every_file() == {}


def test_the_command_that_is_written_works_anywhere(place: Place) -> None:
    """Clients start servers with another PATH, in another folder; a project must not be able to put its own modules
    in the place of Python's: with "-m" alone, Python looks into the working folder first."""
    (place.project / "json.py").write_text("raise SystemExit('the module of the project was run')")
    (place.project / "notes.meh").touch()
    assert place.run("mcp", "install", "claude", "--file", "notes.meh", "--project", "web", "--yes").code == 0
    entry = json.loads(place.file("claude").read_text())["mcpServers"]["memhop"]
    command = [entry["command"], *entry["args"]]
    assert command[command.index("--file") + 1] == str(place.project / "notes.meh")
    assert command[command.index("--project") + 1] == "web"
    assert os.path.isabs(command[0])
    done = subprocess.run(
        [*command, "--help"], cwd=place.project, env=environment({"PATH": "/nowhere"}), capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert b"memhop mcp" in done.stdout


def test_the_entry_starts_a_server_that_answers(place: Place) -> None:
    """As a client does it: the words of its file, its own small environment, the handshake."""
    assert place.run("mcp", "install", "cursor", "--file", "agent.meh", "--tools", "notes", "--yes").code == 0
    entry = json.loads(place.file("cursor").read_text())["mcpServers"]["memhop"]
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    env = {"HOME": str(place.home), "PATH": "/nowhere", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(hello).encode() + b"\n",
        cwd="/",
        env=env,
        capture_output=True,
        timeout=HANG_S,
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["id"] == 1
    assert answer["result"]["serverInfo"]["name"] == "memhop"


def test_what_is_printed_is_only_printed(place: Place) -> None:
    for client in CLIENTS:
        ran = place.run("mcp", "install", client, "--print")
        assert ran.code == 0, ran
        said: Any = tomllib.loads(ran.out) if CLIENTS[client].form.toml else json.loads(ran.out)
        assert "memhop" in str(said)
    assert place.every_file() == {}


def test_options_that_nobody_would_look_at_are_refused(place: Place) -> None:
    """Those of the server, in front of the command that sets a client up."""
    ran = place.run("mcp", "--file", "other.meh", "install", "cursor", "--print")
    assert ran.code == 2
    assert "--file" in ran.err
    assert place.run("--limit", "3", "mcp").code == 2
    assert place.run("--limit", "3", "mcp", "install", "cursor", "--print").code == 2
    printed = place.run("--file", "other.meh", "mcp", "install", "cursor", "--print").out
    assert json.loads(printed)["mcpServers"]["memhop"]["args"][-1] == str(place.project / "other.meh")


def test_without_what_changes_toml_it_says_what_to_install(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    ran = place.run("mcp", "install", "codex", "--yes")
    assert ran.code == 2
    assert "memhop[mcp]" in ran.err
    assert place.every_file() == {}


def test_without_a_terminal_it_asks_for_yes(place: Place) -> None:
    ran = place.run("mcp", "install", "cursor")
    assert ran.code == 2
    assert "--yes" in ran.err
    assert place.every_file() == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("emacs",), "claude-desktop"),
        (("claude", "--name", "my_server"), "--name"),
        (("claude", "--name", "servers"), "--name"),
        (("claude", "--tools", "all"), "--tools"),
        (("claude", "--scope", "local"), "--scope"),
        (("claude", "--token-env", "TOKEN"), "--token-env"),
        (("claude", "--http", "ftp://x"), "--http"),
        (("claude", "--http", "http://x", "--token-env", "a b"), "--token-env"),
        (("claude", "--http", "http://x", "--tools", "core"), "--http"),
        (("claude", "--http", "http://x", "--hooks"), "--hooks"),
        (("claude-desktop", "--http", "http://x"), "--http"),
        (("zed", "--hooks"), "CLIENT"),
    ],
)
def test_what_does_not_do_is_refused_and_nothing_is_written(place: Place, words: tuple[str, ...], told: str) -> None:
    ran = place.run("mcp", "install", *words, "--yes")
    assert ran.code == 2, ran
    assert told in ran.err
    assert place.every_file() == {}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"mcpServers": {,}}', "line 1, column 17"),
        (b'{\n  "a": 1,\n  b: 2\n}', "line 3, column 3"),
        (b"\xff\xfe{\x00}\x00", "byte 0 is not UTF-8"),
        (b'{"mcpServers": []}', "mcpServers is no object"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"a": "' + b"x" * (16 * 1024 * 1024) + b'"}', "too large"),
    ],
)
def test_a_file_that_does_not_parse_is_refused_untouched(place: Place, data: bytes, told: str) -> None:
    path = place.file("cursor")
    path.parent.mkdir()
    path.write_bytes(data)
    for command in ("install", "uninstall"):
        ran = place.run("mcp", command, "cursor", "--yes")
        if command == "install" or "no object" not in told:
            assert ran.code == 2, ran
            assert told in ran.err
            assert str(path) in ran.err
    assert place.every_file() == {str(path): data}
    assert "broken" in place.run("mcp", "clients").out or "no object" in told


def test_a_link_stays_a_link(place: Place) -> None:
    """People keep such files in a repository of their own, and link to them."""
    path = place.file("cursor")
    path.parent.mkdir()
    kept = place.home / "dotfiles.json"
    kept.write_text('{"mcpServers": {}}')
    path.symlink_to(kept)
    assert place.run("mcp", "install", "cursor", "--yes").code == 0
    assert path.is_symlink()
    assert "memhop" in json.loads(kept.read_text())["mcpServers"]
    assert place.run("mcp", "uninstall", "cursor", "--yes").code == 0
    assert path.is_symlink()
    assert kept.read_text() == '{"mcpServers": {}}'


def test_what_the_client_wrote_meanwhile_stays(place: Place) -> None:
    path = place.file("claude")
    path.write_text('{"numStartups": 1}')
    assert place.run("mcp", "install", "claude", "--yes").code == 0
    state = json.loads(path.read_text())
    state["numStartups"] = 2
    path.write_text(json.dumps(state))
    assert place.run("mcp", "install", "claude", "--tools", "full", "--yes").code == 0
    assert json.loads(path.with_name(path.name + ".before-memhop").read_text()) == {"numStartups": 1}
    assert place.run("mcp", "uninstall", "claude", "--yes").code == 0
    assert json.loads(path.read_text()) == {"numStartups": 2}


def test_two_memories_in_one_client(place: Place) -> None:
    path = place.file("cursor")
    path.parent.mkdir()
    path.write_text("{ }")
    assert place.run("mcp", "install", "cursor", "--yes").code == 0
    assert place.run("mcp", "install", "cursor", "--name", "work", "--file", "work.meh", "--yes").code == 0
    servers = json.loads(place.file("cursor").read_text())["mcpServers"]
    assert set(servers) == {"memhop", "work"}
    assert place.run("mcp", "uninstall", "cursor", "--yes").code == 0
    assert set(json.loads(place.file("cursor").read_text())["mcpServers"]) == {"work"}
    assert place.run("mcp", "uninstall", "cursor", "--name", "work", "--yes").code == 0
    assert place.every_file() == {str(path): b"{ }"}


def test_installs_at_once_do_not_lose_each_other(place: Place) -> None:
    path = place.file("cursor")
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "mcpServers": {}\n}\n')
    names = [f"memory-{number}" for number in range(4)]
    env = environment(place.env)
    running = [
        subprocess.Popen(
            [*COMMAND, "mcp", "install", "cursor", "--name", name, "--yes"], env=env, stdout=subprocess.DEVNULL
        )
        for name in names
    ]
    try:
        assert [one.wait(HANG_S) for one in running] == [0] * len(names)
    finally:
        for one in running:
            one.kill()
    text = path.read_text()
    assert "// mine" in text
    assert all(f'"{name}"' in text for name in names)
    assert {one.name for one in path.parent.iterdir()} == {path.name, f"{path.name}.before-memhop"}


def test_a_folder_that_takes_no_files_is_told(place: Place) -> None:
    path = place.file("cursor")
    path.parent.write_text("a file where a folder should be")
    ran = place.run("mcp", "install", "cursor", "--yes")
    assert ran.code == 1, ran
    assert len(ran.err.splitlines()) == 1


def test_json_tells_what_was_done(place: Place) -> None:
    said = place.run("mcp", "install", "claude", "--hooks", "--yes", "--json").json()
    assert [one["changed"] for one in said["files"]] == [True, True]
    assert said["files"][0]["diff"].startswith("---")
    assert place.run("mcp", "uninstall", "claude", "--dry-run", "--json").json()["dry_run"] is True


def test_settings_somebody_named_are_those_of_the_server(place: Place) -> None:
    """A file of the working folder is not named by that: it may be somebody else's."""
    (place.project / "memhop.toml").write_text('[memory]\nfile = "here.meh"\n')
    own = place.home / "own.toml"
    own.write_text('[memory]\nfile = "own.meh"\n')
    assert "--config" not in place.run("mcp", "install", "cursor", "--print").out
    assert "here.meh" in place.run("mcp", "install", "cursor", "--print").out
    printed = place.run("--config", str(own), "mcp", "install", "cursor", "--print").out
    assert json.loads(printed)["mcpServers"]["memhop"]["args"][:5] == [
        "-P",
        "-m",
        "memhop.cli.main",
        "--config",
        str(own),
    ]


def test_instructions_are_written_for_each_client_that_reads_a_file(place: Place) -> None:
    for client, one in CLIENTS.items():
        ran = place.run("instructions", "--for", client, "--write", "--yes")
        assert ran.code == (0 if "project" in one.told else 2), (client, ran)
    assert len(place.every_file()) == len({one.told["project"] for one in CLIENTS.values() if "project" in one.told})
    for client, one in CLIENTS.items():
        if "project" in one.told:
            place.run("instructions", "--for", client, "--remove", "--yes")
    assert place.every_file() == {}


def test_instructions_stand_beside_what_was_there(place: Place) -> None:
    path = place.project / "CLAUDE.md"
    path.write_text("# Rules\nUse tabs.")
    assert place.run("instructions", "--write", "--yes").code == 0
    assert path.read_text().startswith("# Rules\nUse tabs.\n\n<!-- memhop:start -->\n## Memory\n")
    path.write_text(path.read_text().replace("Use it without being asked.", "An older wording.") + "\nMore rules.\n")
    assert place.run("instructions", "--write", "--yes").code == 0
    assert path.read_text().count("## Memory") == 1
    assert "An older wording." not in path.read_text()
    assert place.run("instructions", "--remove", "--yes").code == 0
    assert path.read_text() == "# Rules\nUse tabs.\nMore rules.\n"
    assert [one.name for one in place.project.iterdir()] == ["CLAUDE.md"]


def test_what_serves_all_projects_has_one_memory_of_its_own(place: Place, tmp_path: Path) -> None:
    """It was memory.meh of whatever folder the command was typed in."""

    def memory_of(*words: str | Path) -> str:
        shown = place.run("mcp", "install", "claude", "--print", *words)
        args = json.loads(shown.out)["mcpServers"]["memhop"]["args"]
        return str(args[args.index("--file") + 1])

    own = place.home / ".local/share/memhop/memory.meh"
    assert memory_of() == str(own)
    assert memory_of("--scope", "project") == str(place.project / "memory.meh")
    assert memory_of("--file", "memory.meh") == str(place.project / "memory.meh")
    (place.project / "memhop.toml").write_text('[memory]\nfile = "team.meh"\n', "utf-8")
    assert memory_of() == str(place.project / "team.meh")
    (place.project / "memhop.toml").unlink()

    assert not own.parent.exists()
    assert place.run("mcp", "install", "claude", "--yes").code == 0
    assert own.parent.stat().st_mode & 0o777 == 0o700
    assert not own.exists(), "it is made when something is stored"
