"""`memhop.toml` and the environment: what is read, what is refused, and that nothing is set for nobody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import memhop
from memhop.common.errors import ConfigError
from memhop.common.settings import Config
from memhop.common.settings_file import SECTIONS, load, load_config, options, searched, variable_of

SOURCES = Path(memhop.__file__).parent
GUIDE = (SOURCES.parent / "INTEGRATION_GUIDE.md").read_text("utf-8")


def written(folder: Path, text: str, name: str = "memhop.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def refused(path: Path | None, env: Mapping[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as error:
        load_config(path, env)
    return error.value


@cache
def _code() -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(SOURCES.rglob("*.py")) if path.stem != "settings")


class TestOrder:
    def test_nothing_said_is_the_defaults(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert load_config() == load_config(None, {}) == Config()

    def test_the_environment_is_stronger_than_the_file(self, tmp_path: Path) -> None:
        path = written(tmp_path, "[recall]\nlimit = 20\npage = 30\n")
        found = load(path, {"MEMHOP_RECALL_LIMIT": "7", "MEMHOP_FILE": "a.meh", "MEMHOP_MODELS": "x", "HOME": "y"})
        assert (found.config.recall.limit, found.config.recall.page) == (7, 30)
        assert found.config.memory.file == "a.meh"
        assert found.origins["recall.limit"] == "MEMHOP_RECALL_LIMIT"
        assert found.origins["recall.page"] == str(path)
        assert found.origins["memory.file"] == "MEMHOP_FILE"
        assert found.origins["recall.token_budget"] == "default"

    def test_a_newer_name_of_a_variable_is_stronger_than_the_older(self) -> None:
        env = {"MEMHOP_FILE": "old.meh", "MEMHOP_MEMORY_FILE": "new.meh"}
        assert load_config(None, env).memory.file == "new.meh"

    def test_one_file_is_read_the_first_that_is_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        env = {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path / "home")}
        places = [
            (None, {"MEMHOP_CONFIG": str(written(tmp_path, "[recall]\nlimit = 2", "named.toml"))}, 2),
            (None, {}, 3),
        ]
        own = written(tmp_path / "xdg", "[recall]\nlimit = 4\n[model]\nkey_command = 'pass x'", "memhop/memhop.toml")
        assert load_config(None, env).recall.limit == 4
        assert load_config(None).recall.limit == 10
        written(tmp_path, "[recall]\nlimit = 3")
        for path, more, limit in places:
            assert load_config(path, env | more).recall.limit == limit
        assert load_config(own, env | {"MEMHOP_CONFIG": "elsewhere.toml"}).recall.limit == 4
        assert [place for place, _ in searched(env)] == [Path("memhop.toml"), own]

    def test_the_home_folder_without_xdg(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        written(tmp_path, "[recall]\nlimit = 5", "home/.config/memhop/memhop.toml")
        assert load_config(None, {"HOME": str(tmp_path / "home")}).recall.limit == 5


class TestValues:
    def test_every_kind_of_value(self, tmp_path: Path) -> None:
        path = written(
            tmp_path,
            "[memory]\nwait = 3\n[notify]\nsubscribers = ['a', 'b']\nallow_remote = true\n[retention.days]\nbug = 30\n"
            "[retention.projects.web]\nbug = 3\n[secrets.projects]\nweb = 'refuse'\n"
            "[schemas.default.kinds.bug]\nstatuses = ['open', 'closed']\n",
        )
        config = load_config(path)
        assert config.memory.wait == 3.0
        assert isinstance(config.memory.wait, float)
        assert config.notify.subscribers == ("a", "b")
        assert config.notify.allow_remote is True
        assert config.retention.days == {"bug": 30}
        assert config.retention.projects == {"web": {"bug": 3}}
        assert config.secrets.projects == {"web": "refuse"}
        assert config.schemas["default"]["kinds"]["bug"]["statuses"] == ["open", "closed"]

    def test_values_of_the_environment(self) -> None:
        env = {
            "MEMHOP_MEMORY_WAIT": "2.5",
            "MEMHOP_NOTIFY_ALLOW_REMOTE": "Yes",
            "MEMHOP_NOTIFY_SUBSCRIBERS": "a, b,",
            "MEMHOP_SECRETS_POLICY": "refuse",
        }
        config = load_config(None, env)
        assert (config.memory.wait, config.notify.allow_remote, config.secrets.policy) == (2.5, True, "refuse")
        assert config.notify.subscribers == ("a", "b")

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("[recall]\nlimit = 0", "recall.limit"),
            ("[recall]\nlimit = 1001", "recall.limit"),
            ("[recall]\nlimit = 2.0", "recall.limit"),
            ("[recall]\nlimit = true", "recall.limit"),
            ("[recall]\nlimit = '2'", "recall.limit"),
            ("[memory]\nwait = nan", "memory.wait"),
            ("[memory]\nwait = true", "memory.wait"),
            ("[memory]\nfile = 3", "memory.file"),
            ('[memory]\nactor = "a\\u0007"', "memory.actor"),
            ("[memory]\ndurability = 'perhaps'", "memory.durability"),
            ("[notify]\nallow_remote = 1", "notify.allow_remote"),
            ("[notify]\nsubscribers = 'a'", "notify.subscribers"),
            ("[notify]\nsubscribers = [1]", "notify.subscribers"),
            ("[retention]\ndays = 3", "retention.days"),
            ("[retention.days]\nbug = -1", "retention.days.bug"),
            ("[retention.days]\nbug = 'never'", "retention.days.bug"),
            ("[retention.projects]\nweb = 3", "retention.projects.web"),
            ("[secrets.projects]\nweb = 'hide'", "secrets.projects.web"),
            ("recall = 3", "recall"),
            ("schemas = 3", "schemas"),
        ],
    )
    def test_what_does_not_do_is_named(self, text: str, place: str, tmp_path: Path) -> None:
        path = written(tmp_path, text)
        error = refused(path)
        assert error.field == f"{path}: {place}"
        assert error.allowed

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("MEMHOP_RECALL_LIMIT", "many"),
            ("MEMHOP_RECALL_LIMIT", "0"),
            ("MEMHOP_MEMORY_WAIT", "inf"),
            ("MEMHOP_NOTIFY_ALLOW_REMOTE", "perhaps"),
            ("MEMHOP_RETENTION_DAYS", "{}"),
            ("MEMHOP_RECALL_LIMTI", "3"),
            ("MEMHOP_SECRETS_NOTHING", "3"),
        ],
    )
    def test_a_variable_that_does_not_do_is_named(self, variable: str, value: str) -> None:
        assert refused(None, {variable: value}).field == variable

    def test_what_is_misspelt_is_told_with_what_was_meant(self, tmp_path: Path) -> None:
        assert "recall was meant" in refused(written(tmp_path, "[recal]\nlimit = 3")).message
        assert "limit was meant" in refused(written(tmp_path, "[recall]\nlimits = 3")).message
        assert refused(None, {"MEMHOP_RECALL_LIMTI": "3"}).allowed == "MEMHOP_RECALL_LIMIT"


class TestFiles:
    @pytest.mark.parametrize(
        "data", [b"[recall\n", b"\xff", b"[recall]\nlimit = 1\nlimit = 2", b"x = " + b"[" * 100_000]
    )
    def test_what_is_no_toml_is_refused_with_its_name(self, data: bytes, tmp_path: Path) -> None:
        path = tmp_path / "bad.toml"
        path.write_bytes(data)
        assert refused(path).field == str(path)

    def test_a_file_that_was_asked_for_and_is_not_there(self, tmp_path: Path) -> None:
        assert refused(tmp_path / "none.toml").field == str(tmp_path / "none.toml")
        assert refused(None, {"MEMHOP_CONFIG": str(tmp_path)}).field == str(tmp_path)
        assert refused(Path("a\0b")).field == "config"

    def test_a_huge_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "huge.toml"
        path.write_bytes(b"#" * (1024 * 1024 + 1))
        assert "too large" in refused(path).message

    @pytest.mark.parametrize("text", ["[model]\napi_key = 'sk-1'", "[model]\nkey = 'x'", "openai_token = 'x'"])
    def test_a_key_is_refused_and_not_shown(self, text: str, tmp_path: Path) -> None:
        error = refused(written(tmp_path, text))
        assert error.hint
        assert "OPENAI_API_KEY" in error.hint
        assert "sk-1" not in str(error)

    @pytest.mark.parametrize(
        "text",
        ["[model]\nkey_command = 'touch x'", "[model]\nbase_url = 'http://evil'", "[notify]\nallow_remote = true"],
    )
    def test_a_file_that_came_with_the_folder_runs_nothing_and_sends_nothing_elsewhere(
        self, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """To enter a project of somebody else's and ask the memory would else run a command of theirs."""
        path = written(tmp_path, text)
        monkeypatch.chdir(tmp_path)
        error = refused(None, {})
        assert error.field is not None
        assert error.field.startswith("memhop.toml: ")
        assert load_config(path, {})


class TestOptions:
    @pytest.mark.parametrize(("section", "name"), [(section, name) for section, name, _ in options()])
    def test_every_option_is_read_by_somebody(self, section: str, name: str) -> None:
        """B26: a limit for searches and one for lists stood in the settings, and no code looked at them."""
        code = _code()
        handed_over = re.search(rf"config\.{section}\b(?!\.\w)", code)  # to what calls it by one of these names
        read = re.search(rf"\.{section}\.{name}\b", code)
        read = read or (handed_over and re.search(rf"\b(?:section|settings|config|chosen)\.{name}\b", code))
        assert read, f"nobody reads {section}.{name}"

    @pytest.mark.parametrize(("section", "name"), [(section, name) for section, name, _ in options()])
    def test_every_option_is_in_the_guide_with_its_default(self, section: str, name: str) -> None:
        assert re.search(rf"^\| `{section}\.{name}` \|", GUIDE, re.MULTILINE), f"{section}.{name} is not documented"

    def test_every_default_is_one_that_may_be_set(self, tmp_path: Path) -> None:
        for section, name, option in options():
            value = option.default
            if isinstance(value, str | bool | int | float):
                text = (
                    repr(value).lower()
                    if isinstance(value, bool)
                    else f'"{value}"'
                    if isinstance(value, str)
                    else value
                )
                assert load_config(written(tmp_path, f"[{section}]\n{name} = {text}")) == Config()
                if not isinstance(value, str) or value:
                    assert load_config(None, {variable_of(section, name): str(value).lower()})

    def test_sections_are_all_of_config(self) -> None:
        assert set(SECTIONS) | {"schemas"} == {field.name for field in fields(Config)}


def test_a_table_in_the_program_is_checked_like_a_file() -> None:
    config = load_config({"retention": {"days": {"note": 30}}, "schemas": {"web": {"kinds": {}}}})
    assert (config.retention.days, config.recall.limit, config.schemas) == ({"note": 30}, 10, {"web": {"kinds": {}}})
    assert load_config({}) == Config()
    assert load_config({"recall": {"limit": 5}}, {"MEMHOP_RECALL_LIMIT": "7"}).recall.limit == 7


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"retantion": {}}, "config"),
        ({5: {}}, "config"),
        ({"recall": {"limit": 0}}, "config: recall.limit"),
        ({"recall": {"limt": 5}}, "config: recall"),
        ({"recall": {7: 5}}, "config: recall"),
        ({"recall": 5}, "config: recall"),
        ({"schemas": 5}, "config: schemas"),
    ],
)
def test_a_table_that_does_not_do_is_named(table: Any, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(table)
    assert caught.value.field == field
