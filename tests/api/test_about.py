"""`DB.lookup` and `DB.about`: what an id stands for, and all that is known of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop import DB, InvalidRequest, NotFound
from memhop.common.clock import ManualClock
from tests.support.memories import NOW


@pytest.fixture
def db(tmp_path: Path) -> DB:
    return DB.open(tmp_path / "a.meh", clock=ManualClock(NOW))


def test_an_id_is_found_by_its_first_digits(db: DB) -> None:
    with db:
        note = db.remember("one\n two  three " + "x" * 300)
        (found,) = db.lookup(note.id[:6])
        assert (found.id, found.kind) == (note.id, "note")
        assert found.text.startswith("one two three xxx")
        assert len(found.text) == 200
        assert db.lookup(f" {note.id.upper()} ") == (found,)
        assert db.lookup(note.id, kinds=["note", "scene"]) == (found,)
        assert db.lookup(note.id, kinds=["scene"]) == ()
        assert db.lookup("0" * 16) == ()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"prefix": "abcde"}, "prefix"),
        ({"prefix": "a" * 17}, "prefix"),
        ({"prefix": "ghijkl"}, "prefix"),
        ({"prefix": 123456}, "prefix"),
        ({"prefix": "abcdef", "kinds": "note"}, "kinds"),
        ({"prefix": "abcdef", "kinds": ["engram"]}, "kinds"),
        ({"prefix": "abcdef", "limit": 0}, "limit"),
    ],
)
def test_what_is_no_beginning_is_refused(arguments: dict[str, object], field: str, db: DB) -> None:
    with db, pytest.raises(InvalidRequest) as error:
        db.lookup(**arguments)  # type: ignore[arg-type]
    assert error.value.field == field


def test_several_come_in_the_order_of_their_ids(db: DB) -> None:
    with db:
        notes = db.remember_many([f"note {number}" for number in range(4000)])
        groups: dict[str, list[str]] = {}
        for note in notes:
            groups.setdefault(note.id[:6], []).append(note.id)
        prefix, ids = max(groups.items(), key=lambda group: (len(group[1]), group[0]))
        assert [found.id for found in db.lookup(prefix)] == sorted(ids)


def test_what_an_import_made_says_so(tmp_path: Path) -> None:
    with DB.open(tmp_path / "from.meh") as source:
        source.remember("from elsewhere", external_id="e")
        source.export(tmp_path / "export.jsonl")
    with DB.open(tmp_path / "to.meh") as db:
        db.import_(tmp_path / "export.jsonl")
        note = db.notes.list().items[0]
        about = db.about(note.id)
    assert [one.text for one in about.origin if one.relation == "made by"] == ["import 1 of export.jsonl (memhop)"]
    assert about.record == note
    assert about.to_dict()["record"]["external_id"] == "e"


def test_a_superseded_note_and_its_successor_name_each_other(db: DB) -> None:
    with db:
        old = db.remember("Mara lives in Rome")
        new = db.remember("Mara lives in Oslo")
        db.notes.link(new.id, old.id, "supersedes")
        forth, back = db.about(new.id, query="where does Mara live?"), db.about(old.id, query="where does Mara live?")
    assert [(one.relation, one.id) for one in forth.links] == [("supersedes", old.id)]
    assert (new.id, "superseded_by") in [(one.id, one.relation) for one in back.links]
    assert forth.standing is not None
    assert forth.standing.returned
    assert any("link" in one.what for one in forth.history)


def test_what_was_erased_is_no_longer_told(db: DB) -> None:
    with db:
        said = db.search("we bake with rye", session="s")
        note = db.remember("rye", links=[said.message_id])
        fact = db.facts.assert_("we", "bake with", "rye", sources=[said.message_id])
        relations = {one.id: one.relation for one in db.about(said.message_id).linked_by}
        assert relations == {note.id: "related", fact.id: "drawn from it"}
        db.forget(said.message_id, hard=True)
        with pytest.raises(NotFound):
            db.about(said.message_id)
        assert db.about(note.id).links == ()


def test_an_id_of_nothing_is_not_found(db: DB) -> None:
    with db:
        for id_ in ("0123456789abcdef",):
            with pytest.raises(NotFound):
                db.about(id_)
        with pytest.raises(InvalidRequest):
            db.about("abc")
