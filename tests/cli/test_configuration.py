"""`memhop config`, and what settings and options before a command do to commands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memhop import DB
from memhop.cli.configuration import chat_model, choose
from memhop.common.errors import ConfigError
from tests.cli.running import here, memhop


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "agent.meh"
    with DB.open(path) as db:
        db.remember_many([f"note {number} about tea" for number in range(30)])
        for number in range(5):
            db.search(f"turn {number} about rain", session=f"s{number}", auto_create=True)
    return path


def settings(folder: Path, text: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(text, "utf-8")
    return path


def hits(*args: str | Path, **env: str) -> int:
    return len(here("recall", "tea", "--json", *args, env=env).json()["hits"])


def test_arguments_are_stronger_than_the_environment_and_that_than_the_file(memory: Path, tmp_path: Path) -> None:
    """B26: limits that were set were ignored."""
    file = settings(tmp_path, f"[memory]\nfile = '{memory}'\n[recall]\nlimit = 4\npage = 2\n")
    named = {"MEMHOP_CONFIG": str(file)}
    assert hits("--file", memory) == 10
    assert hits(**named) == 4
    assert hits(**named, MEMHOP_RECALL_LIMIT="5") == 5
    assert hits("--limit", "6", **named, MEMHOP_RECALL_LIMIT="5") == 6
    before = here("--limit", "7", "--json", "recall", "tea", env=named)
    assert len(before.json()["hits"]) == 7
    assert len(here("--limit", "7", "recall", "tea", "--limit", "8", "--json", env=named).json()["hits"]) == 8
    assert len(here("at", "1", "recall", "tea", "--json", env=named).json()["hits"]) == 4
    pages = here("scenes", "list", "--json", env=named).json()
    assert len(pages["items"]) == 2
    assert pages["next"]


def test_the_file_of_the_settings_is_used_and_its_actor_named(tmp_path: Path) -> None:
    path = tmp_path / "own.meh"
    file = settings(tmp_path, f"[memory]\nfile = '{path}'\nactor = 'Ada'\n")
    assert here("--config", file, "remember", "tea").code == 0
    with DB.open(path) as db:
        assert db.notes.list().items[0].actor == "Ada"
    other = tmp_path / "other.meh"
    assert here("--config", file, "--file", other, "remember", "tea").code == 0
    assert other.exists()


def test_show_says_where_each_value_comes_from(tmp_path: Path) -> None:
    file = settings(tmp_path, "[recall]\nlimit = 4\n[model]\nkey_command = 'pass show key'\n")
    ran = here("config", "show", "--json", env={"MEMHOP_CONFIG": str(file), "MEMHOP_RECALL_PAGE": "9"})
    found = ran.json()
    assert found["file"] == str(file)
    assert found["settings"]["recall.limit"] == {"value": 4, "origin": str(file)}
    assert found["settings"]["recall.page"] == {"value": 9, "origin": "MEMHOP_RECALL_PAGE"}
    assert found["settings"]["recall.token_budget"] == {"value": 2000, "origin": "default"}
    assert "pass show" not in ran.out
    assert here("config", "path", env={"MEMHOP_CONFIG": str(file)}).out == f"{file}\n"
    assert here("config", "path", env={"HOME": str(tmp_path)}).code == 1


def test_check_and_every_command_refuse_what_does_not_do(memory: Path, tmp_path: Path) -> None:
    file = settings(tmp_path, "[recall]\nlimits = 4\n")
    env = {"MEMHOP_CONFIG": str(file)}
    for args in (("config", "check"), ("recall", "tea"), ("stats",), ("scenes", "list")):
        ran = here(*args, env=env)
        assert (ran.code, ran.out) == (2, ""), args
        assert f"{file}: recall" in ran.err
        assert "limit" in ran.err
        document = here(*args, "--json", env=env)
        assert (document.code, document.json()["error"]) == (2, "ConfigError")
    assert here("config", "check", env={"HOME": str(tmp_path)}).code == 0


def test_help_and_what_needs_no_settings_work_with_broken_ones(tmp_path: Path) -> None:
    env = {"MEMHOP_CONFIG": str(settings(tmp_path, "broken ["))}
    for args in (("--help",), ("recall", "--help"), ("instructions",), ("completion", "bash"), ("models", "list")):
        assert here(*args, env=env).code == 0


def test_an_option_before_a_command_that_takes_none_is_refused(memory: Path) -> None:
    for args in (
        ("--limit", "3", "stats"),
        ("--project", "x", "scenes", "show", "a"),
        ("--json", "completion", "bash"),
    ):
        ran = here(*args, env={"MEMHOP_FILE": str(memory)})
        assert ran.code == 2
        assert args[0] in ran.err + ran.out


@pytest.mark.parametrize(
    "args",
    [
        ("recall", "tea", "--json"),
        ("recall", "--json", "tea"),
        ("--json", "recall", "tea"),
        ("recall", "--limit", "3", "tea", "--json", "--project", "default"),
        ("--project", "default", "recall", "--json", "--limit", "3", "tea"),
    ],
)
def test_options_may_stand_anywhere(args: tuple[str, ...], memory: Path) -> None:
    """C6: the word behind a flag was taken for its value, and the question was gone."""
    for placed in (("--file", str(memory), *args), (*args, "--file", str(memory))):
        ran = here(*placed)
        assert ran.code == 0
        assert ran.json()["query"] == "tea"


class TestKeys:
    def model(self, tmp_path: Path, text: str, **env: str) -> str | None:
        """The key that the chat model of the settings gets."""
        choose(str(settings(tmp_path, f"[model]\nname = 'm'\n{text}")))
        with pytest.MonkeyPatch.context() as patch:
            for name in ("OPENAI_API_KEY", "MEMHOP_API_KEY"):
                patch.delenv(name, raising=False)
            for name, value in env.items():
                patch.setenv(name, value)
            try:
                model = chat_model()
            finally:
                choose(None)
        assert model is not None
        return model._connection._api_key

    def test_the_key_of_openai_goes_nowhere_else(self, tmp_path: Path) -> None:
        pytest.importorskip("openai")
        assert self.model(tmp_path, "", OPENAI_API_KEY="sk-a") == "sk-a"
        assert self.model(tmp_path, "", OPENAI_API_KEY="sk-a", MEMHOP_API_KEY="sk-b") == "sk-b"
        elsewhere = "base_url = 'http://127.0.0.1:9/v1'"
        assert self.model(tmp_path, elsewhere, OPENAI_API_KEY="sk-a") is None
        assert self.model(tmp_path, elsewhere, OPENAI_API_KEY="sk-a", MEMHOP_API_KEY="sk-b") == "sk-b"

    def test_a_command_prints_the_key_without_a_shell(self, tmp_path: Path) -> None:
        pytest.importorskip("openai")
        script = tmp_path / "key.py"
        script.write_text("import sys; print('sk-' + sys.argv[1])")
        command = f"key_command = '''{sys.executable} {script} \"$HOME;x\"'''"
        assert self.model(tmp_path, command, OPENAI_API_KEY="sk-a") == "sk-$HOME;x"

    @pytest.mark.parametrize(
        "code", ["print('two words')", "print()", "print('sk-secret'); raise SystemExit(3)", "print('\\u00e4')"]
    )
    def test_a_command_that_fails_is_told_without_what_it_printed(self, code: str, tmp_path: Path) -> None:
        pytest.importorskip("openai")
        script = tmp_path / "key.py"
        script.write_text(code, "utf-8")
        with pytest.raises(ConfigError, match=r"model\.key_command") as error:
            self.model(tmp_path, f"key_command = '''{sys.executable} {script}'''")
        assert "secret" not in str(error.value)
        for bad in ("'''\"'''", "'/nowhere/at/all'"):
            with pytest.raises(ConfigError, match=r"model\.key_command"):
                self.model(tmp_path, f"key_command = {bad}")


def test_a_settings_file_in_the_working_folder_is_read(memory: Path, tmp_path: Path) -> None:
    (tmp_path / "memhop.toml").write_text("[memory]\nfile = 'agent.meh'\n[recall]\nlimit = 3\n", "utf-8")
    ran = memhop("recall", "tea", "--json", cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert len(ran.json()["hits"]) == 3
