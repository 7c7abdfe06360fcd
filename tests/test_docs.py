"""Documentation that fails when it is stale: every public call, setting, limit and command stands in the guide."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

import memhop
from memhop.api import backups, results
from memhop.api.archive import Archive
from memhop.api.capabilities import Capabilities
from memhop.api.db import DB
from memhop.api.dreaming import Dreaming
from memhop.api.dreams import Dreams
from memhop.api.facts import Facts
from memhop.api.imports import Imports
from memhop.api.knowledge import Knowledge
from memhop.api.notes import Notes
from memhop.api.profile import Profiles
from memhop.api.projects import Projects
from memhop.api.scenes import Scenes
from memhop.api.summary import Summaries
from memhop.api.topics import Topics
from memhop.api.trajectory import Trajectory
from memhop.common import errors

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "INTEGRATION_GUIDE.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
NAMESPACES = {
    "archive": Archive,
    "notes": Notes,
    "scenes": Scenes,
    "topics": Topics,
    "profile": Profiles,
    "knowledge": Knowledge,
    "facts": Facts,
    "imports": Imports,
    "capabilities": Capabilities,
    "projects": Projects,
    "summary": Summaries,
    "dreams": Dreams,
    "trajectory": Trajectory,
}


def public(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


@pytest.mark.parametrize("name", public(DB))
def test_every_call_of_the_db_is_in_the_guide(name: str) -> None:
    assert re.search(rf"\b(?:db|DB)\.{name}\b|`{name}[(`]", GUIDE), f"DB.{name} is not documented"


@pytest.mark.parametrize("space", NAMESPACES)
def test_every_call_of_a_namespace_is_in_the_guide(space: str) -> None:
    for name in public(NAMESPACES[space]):
        pattern = rf"db\.{space}\.{name}\b|`db\.{space}` \|[^\n]*`{name}\("
        assert re.search(pattern, GUIDE), f"db.{space}.{name} is not documented"


def test_backups_are_in_the_guide() -> None:
    for name in ("list", "verify", "restore"):
        for argument in inspect.signature(getattr(backups, name)).parameters:
            assert re.search(rf"`memhop\.backups\.{name}\([^`]*\b{argument}\b", GUIDE), f"{name}({argument})"
    for field in dataclasses.fields(backups.Backups):
        assert re.search(rf"^\| `{field.name}` \| {field.default} \|", GUIDE, re.MULTILINE), f"Backups.{field.name}"


def test_settings_of_dreams_are_in_the_guide() -> None:
    for field in dataclasses.fields(Dreaming):
        assert re.search(rf"^\| `{field.name}` \| {field.default} \|", GUIDE, re.MULTILINE), f"Dreaming.{field.name}"


@pytest.mark.parametrize(
    "call",
    [
        "backup", "open", "remember", "forget", "purge", "recall", "search", "update", "backfill", "compact", "verify",
        "dream", "export", "import_",
    ],
)  # fmt: skip
def test_every_argument_is_in_the_guide(call: str) -> None:
    for name in inspect.signature(getattr(DB, call)).parameters:
        if name != "self":
            assert re.search(rf"`{name}`|\b{name}=|`[^`\n]*\b{name}\b[^`\n]*`", GUIDE), (
                f"{call}({name}) is not documented"
            )


def test_every_error_is_in_the_guide_with_its_code() -> None:
    for name, error in vars(errors).items():
        if isinstance(error, type) and issubclass(error, errors.MemhopError) and error is not errors.MemhopError:
            assert f"`{name}`" in GUIDE, f"{name} is not documented"
            assert str(error.code) in GUIDE, f"code {error.code} of {name} is not documented"


MAIN_RESULTS = (
    results.Recall, results.Hit, results.SearchResult, results.Receipt, results.Purged, results.DreamReport,
    results.ImportReport,
    results.StageReport,
)  # fmt: skip


@pytest.mark.parametrize("result", MAIN_RESULTS)
def test_every_field_of_the_main_results_is_in_the_guide(result: type) -> None:
    for name in inspect.get_annotations(result):
        assert f"`{name}`" in GUIDE or f"`{name}(" in GUIDE, f"{result.__name__}.{name} is not documented"


def test_every_public_name_is_in_the_guide() -> None:
    for name in memhop.__all__:
        assert name in GUIDE or name == "__version__", f"{name} is not documented"


def test_every_extra_is_in_the_guide() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    for extra in re.findall(r"^(\w+) = \[", section, re.MULTILINE):
        assert f"[{extra}]" in GUIDE, f"the extra {extra} is not documented"


def test_links_to_files_resolve() -> None:
    for text in (GUIDE, README):
        for path in re.findall(r"`((?:memhop|tests|benches)/[\w/.]+\.(?:py|md|json))`", text):
            assert (ROOT / path).exists(), f"{path} is named and does not exist"


def test_the_changelog_knows_this_version() -> None:
    assert f"## {memhop.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_each_promise_names_a_test_that_exists() -> None:
    """A promise without a test is a wish; a renamed test leaves one behind."""
    section = GUIDE.partition("## What is promised\n")[2].partition("\n## ")[0]
    tables = section.partition("| promise | test |")[2]
    rows = [line for line in tables.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 25
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row.split("|")[2])
        assert named, f"no test holds: {row}"
        for path, name in named:
            assert (ROOT / path).exists(), f"{path} does not exist"
            code = (ROOT / path).read_text("utf-8")
            assert not name or re.search(rf"^\s*def {name}\(", code, re.MULTILINE), f"{path}::{name} does not exist"
