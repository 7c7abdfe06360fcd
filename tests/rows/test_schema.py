"""Kinds of notes: what is filled in, what is refused, and how projects lay their own rules over the built-in ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memhop import Config, ConfigError, InvalidRequest
from memhop.repo.schema import BUILT_IN, Schemas
from tests.support.memories import memory

SCHEMAS = {
    "default": {"kinds": {"incident": {"statuses": ["raging", "out"], "open": ["raging"], "status": "raging"}}},
    "Web": {
        "kinds": {
            "bug": {"required": ["severity", "area"], "defaults": {"severity": "major"}},
            "plan": {"statuses": ["sketch", "completed"], "status": "sketch"},
        }
    },
}


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_h1_each_built_in_kind_with_each_status(tmp_path: Path, kind: str) -> None:
    """Section 1.2, exhaustively: defaults are filled in, every listed status does, any other one is refused by name."""
    schema = BUILT_IN[kind]
    with memory(tmp_path / "a.meh") as db:
        for status in (None, ""):
            note = db.remember(f"{kind} {status}", kind=kind, status=status)
            assert note.status == (schema.status or None)
            assert note.metadata == dict(schema.defaults)
            assert db.notes.get(note.id).metadata == note.metadata
        for status in schema.statuses or ("whatever",):
            assert db.remember(f"{kind} {status}", kind=kind, status=status).status == status
        commit = db.stats().commit
        for status in ("nonsense", "n/a", "Open", "OPEN"):
            if schema.statuses:
                with pytest.raises(InvalidRequest) as refused:
                    db.remember("new", kind=kind, status=status)
                assert refused.value.field == "status"
                assert refused.value.allowed == ", ".join(schema.statuses)
                with pytest.raises(InvalidRequest) as refused:
                    db.notes.update(note.id, status=status)
                assert refused.value.allowed == ", ".join(schema.statuses)
        assert db.stats().commit == commit
        assert db.remember("as it is", kind="my-own-kind", status="n/a", metadata={"x": 1}).metadata == {"x": 1}


def test_h1_what_the_caller_says_stands(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("a", kind="bug", metadata={"severity": "critical", "files": None, "own": None})
        assert note.metadata == {"severity": "critical", "files": [], "own": None}, "null means the default, if any"
        other = db.remember("b", kind="bug")
        note.metadata["files"].append("x")
        assert other.metadata["files"] == [] == db.remember("c", kind="bug").metadata["files"]
        items = db.remember_many([{"text": "d", "kind": "plan"}, {"text": "e", "kind": "plan", "status": "completed"}])
        assert [item.status for item in items] == ["pending", "completed"]
        with pytest.raises(InvalidRequest) as refused:
            db.remember_many(["good", {"text": "bad", "kind": "bug", "status": "done"}])
        assert refused.value.field == "items[1].status"
        assert len(db.notes.list().items) == 5


def test_b19_project_kinds_are_laid_over_the_others(tmp_path: Path) -> None:
    """A project with kinds of its own lost all built-in rules: a bug could have the status "nonsense"."""
    with memory(tmp_path / "a.meh", config=Config(schemas=SCHEMAS)) as db:
        note = db.remember("slow", project="web", kind="bug", metadata={"area": "db"})
        assert (note.status, note.metadata) == ("open", {"severity": "major", "files": [], "area": "db"})
        with pytest.raises(InvalidRequest) as refused:
            db.remember("slow", project="WEB", kind="bug", status="nonsense", metadata={"area": "db"})
        assert refused.value.allowed == "open, in_progress, fixed, wont_fix, cant_repro"
        assert db.remember("p", project="web", kind="plan").status == "sketch"
        with pytest.raises(InvalidRequest):
            db.remember("p", project="web", kind="plan", status="pending")
        for project in ("web", "elsewhere"):
            assert db.remember("fire", project=project, kind="incident").status == "raging"
        assert db.remember("p", project="elsewhere", kind="plan").status == "pending"


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "__class__", "hasOwnProperty", "default"])
def test_b19_names_that_a_language_knows_are_names_like_others(tmp_path: Path, name: str) -> None:
    with memory(tmp_path / "a.meh", config=Config(schemas=SCHEMAS)) as db:
        with pytest.raises(InvalidRequest):
            db.remember("x", project=name, kind="bug", status="nonsense")
        assert db.remember("x", project=name, kind="bug").status == "open"
        assert db.remember("x", kind=name if name != "default" else "constructor").status is None
    assert Schemas({name: {"kinds": {name: {"statuses": ["a"]}}}}).of(name, name).statuses == ("a",)


@pytest.mark.parametrize("kind", ["Bug", "BUG", "Progressive_Summary", "ınsight".replace("ı", "I")])
def test_b19_a_kind_that_differs_by_case_alone_is_refused(tmp_path: Path, kind: str) -> None:
    """Kind "Bug" escaped the rules of "bug"."""
    with memory(tmp_path / "a.meh") as db:
        with pytest.raises(InvalidRequest) as refused:
            db.remember("x", kind=kind)
        assert (refused.value.field, refused.value.allowed) == ("kind", kind.casefold())
        note = db.remember("x")
        with pytest.raises(InvalidRequest):
            db.notes.update(note.id, kind=kind)


def test_b20_required_without_defaults(tmp_path: Path) -> None:
    """A schema with `required` and no `defaults` raised a TypeError at each store."""
    config = Config(schemas={"default": {"kinds": {"decision": {"required": ["by"]}, "spec": {"required": ["url"]}}}})
    with memory(tmp_path / "a.meh", config=config) as db:
        for metadata in (None, {}, {"by": None}):
            with pytest.raises(InvalidRequest) as refused:
                db.remember("x", kind="decision", metadata=metadata)
            assert refused.value.field == "metadata.by"
        note = db.remember("x", kind="decision", metadata={"by": "Ann"})
        assert db.remember("y", kind="spec", metadata={"url": ""}).metadata == {"url": ""}
        with pytest.raises(InvalidRequest):
            db.notes.update(note.id, metadata={"by": None})
        with pytest.raises(InvalidRequest):
            db.notes.update(note.id, kind="spec")
        assert db.notes.update(note.id, kind="spec", metadata={"url": "u"}).changed


BAD: list[tuple[str, Any]] = [
    ("schemas", [1]),
    ("schemas.web", []),
    ("schemas.web", {"kind": {}}),
    ("schemas.web", {"kinds": []}),
    ("schemas.web.kinds.bug", {"kinds": {"bug": 5}}),
    ("schemas.web.kinds.bug.colour", {"kinds": {"bug": {"colour": "red"}}}),
    ("schemas.web.kinds.bug.statuses", {"kinds": {"bug": {"statuses": "open"}}}),
    ("schemas.web.kinds.bug.statuses", {"kinds": {"bug": {"statuses": [""]}}}),
    ("schemas.web.kinds.bug.statuses", {"kinds": {"bug": {"statuses": ["a\nb"]}}}),
    ("schemas.web.kinds.bug.open", {"kinds": {"bug": {"open": ["nope"]}}}),
    ("schemas.web.kinds.bug.terminal", {"kinds": {"bug": {"terminal": ["open"]}}}),
    ("schemas.web.kinds.bug.status", {"kinds": {"bug": {"status": "nope"}}}),
    ("schemas.web.kinds.bug.status", {"kinds": {"bug": {"status": 5}}}),
    ("schemas.web.kinds.bug.required", {"kinds": {"bug": {"required": [5]}}}),
    ("schemas.web.kinds.bug.defaults", {"kinds": {"bug": {"defaults": []}}}),
    ("schemas.web.kinds.bug.defaults", {"kinds": {"bug": {"defaults": {"a": {1, 2}}}}}),
    ("schemas.web.kinds.bug.defaults", {"kinds": {"bug": {"defaults": {"a": float("nan")}}}}),
    ("schemas.web.kinds. ", {"kinds": {" ": {}}}),
]


@pytest.mark.parametrize(("key", "table"), BAD, ids=[f"{key}-{number}" for number, (key, _) in enumerate(BAD)])
def test_b20_a_bad_schema_is_refused_when_the_memory_is_opened(tmp_path: Path, key: str, table: Any) -> None:
    """With its key, and before a file is made."""
    path = tmp_path / "a.meh"
    schemas = table if key == "schemas" else {"web": table}
    with pytest.raises(ConfigError) as refused:
        memory(path, config=Config(schemas=schemas))
    assert refused.value.field == key
    assert refused.value.allowed
    assert not path.exists()


def test_b20_the_same_project_twice_is_refused() -> None:
    with pytest.raises(ConfigError):
        Schemas({"web": {}, "WEB": {}})


def test_b21_the_valid_ones_are_told_whatever_the_names_hold(tmp_path: Path) -> None:
    """A status or a project with a slash in it turned the list of valid ones into "Internal error"."""
    with memory(tmp_path / "a.meh") as db, pytest.raises(InvalidRequest) as refused:
        db.remember("x", project="a/b", kind="bug", status="n/a")
    assert "open, in_progress, fixed, wont_fix, cant_repro" in str(refused.value)
    assert "'n/a'" in str(refused.value)


def test_b22_an_empty_status_is_the_default_one(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("x", kind="bug", status="")
        assert note.status == "open"
        db.notes.update(note.id, status="fixed")
        assert db.notes.update(note.id, status="").changed
        assert db.notes.get(note.id).status == "open"
