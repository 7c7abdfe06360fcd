"""`db.profile`: what the host sets, key by key; the history; the brief; erasing all of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memhop import DB, InvalidRequest
from memhop.common.clock import ManualClock
from memhop.common.ids import from_hex, to_hex
from memhop.repo.l0_profile import HISTORY, SHOWN_CHARS, Profile, ProfileLine, brief, line_id
from tests.support.memories import HOUR, NOW, every, memory


def derive(db: DB, *lines: tuple[str, str, float]) -> str:
    """Store derived lines with one message as evidence; gives its id."""
    (said,) = db.archive.append_many([{"text": "what they were drawn from", "at": NOW}])
    with db._store.writing() as batch:
        for name, value, confidence in lines:
            batch.put(
                ProfileLine(name=name, value=value, confidence=confidence, evidence=(from_hex(said),), at=NOW),
                line_id(name),
            )
    return str(said)


LINES = (
    ("mood.valence", "0.42", 0.6),
    ("mood.arousal", "-0.10", 0.6),
    ("trait.openness", "0.80", 0.4),
    ("term.sailing", "12", 0.7),
    ("term.walnuts", "5", 0.5),
    ("preference.tea", "green", 0.9),
    ("fact.home", "Porto", 0.8),
)


class TestUpdate:
    def test_keys_are_set_one_by_one(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(preferences={"tea": "green", "editor": "vim"}, lexicon={"cuppa": "tea"})
            found = db.profile.update(preferences={"editor": None, "city": "Porto", "nothing": None})
            assert found.preferences == {"tea": "green", "city": "Porto"}
            assert found.lexicon == {"cuppa": "tea"}
            assert db.profile.update(preferences={}).preferences == {"tea": "green", "city": "Porto"}

    def test_nothing_new_writes_nothing(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(name="Ada", preferences={"tea": "green"})
            before = db.stats().commit
            db.profile.update(name="Ada", preferences={"tea": "green", "city": None})
            assert db.stats().commit == before

    def test_the_number_of_keys_is_bounded_over_all_calls(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(preferences={f"key {n}": "x" for n in range(1_000)})
            with pytest.raises(InvalidRequest) as raised:
                db.profile.update(preferences={"one more": "x"})
            assert raised.value.field == "preferences"
            db.profile.update(preferences={"key 0": None, "one more": "x"})
            assert len(db.profile.get().preferences) == 1_000


class TestHistory:
    def test_what_when_and_by_whom(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            db.profile.update(name="Ada", style_traits=["dry", "terse"])
            clock.advance(HOUR)
            db.profile.update(name="Eve", preferences={"tea": "green"})
            db.profile.update(preferences={"tea": None})
            noted = [(one.field, one.before, one.after, one.by, one.at) for one in every(db.profile.history, page=2)]
            assert noted == [
                ("preferences.tea", "green", "", "host", NOW + HOUR),
                ("preferences.tea", "", "green", "host", NOW + HOUR),
                ("name", "Ada", "Eve", "host", NOW + HOUR),
                ("style_traits", "", "dry, terse", "host", NOW),
                ("name", "", "Ada", "host", NOW),
            ]

    def test_it_is_bounded(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", durability="none") as db:
            db.profile.update(personality="x" * 10_000)
            assert len(db.profile.history().items[0].after) == SHOWN_CHARS
            db.profile.update(preferences={f"key {n}": "x" for n in range(900)})
            db.profile.update(lexicon={f"key {n}": "x" for n in range(900)})
            found = every(db.profile.history, page=500)
            assert len(found) == HISTORY
            assert {one.field.partition(".")[0] for one in found[:900]} == {"lexicon"}
            assert {one.field.partition(".")[0] for one in found[900:]} == {"preferences"}


class TestDerived:
    def test_they_stand_apart_with_their_evidence(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(name="Ada", preferences={"tea": "black"})
            said = derive(db, *LINES)
            found = db.profile.get()
            assert found.mood == {"valence": 0.42, "arousal": -0.1}
            assert found.traits == {"openness": 0.8}
            assert found.preferences == {"tea": "black"}
            assert [line.name for line in found.derived] == sorted(name for name, _, _ in LINES)
            assert all((line.evidence, line.at) == ((said,), NOW) for line in found.derived)
            json.dumps(found.to_dict())
            assert db.search("hello", NOW).profile == db.profile.get()

    def test_values_that_are_no_numbers_are_left_out(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            derive(db, ("mood.valence", "nan", 0.5), ("mood.arousal", "1e999", 0.5), ("trait.openness", "much", 0.5))
            assert (db.profile.get().mood, db.profile.get().traits) == (None, None)


class TestBrief:
    def test_the_host_comes_first_and_is_never_crowded_out(self, tmp_path: Path) -> None:
        """Keys of a machine once stood in front of the user's, in the order of the alphabet."""
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(name="Ada", role="cook", personality="dry", preferences={"zzz": "kept"})
            said = derive(db, *LINES, *((f"fact.a{n}", f"value {n}", 1.0) for n in range(40)))
            text = db.profile.brief()
            lines = text.splitlines()
            assert lines[:4] == ["name: Ada", "role: cook", "personality: dry", "preferences: zzz=kept"]
            assert "observed preferences: tea=green (90%)" in lines
            assert "mood: arousal -0.10 (60%), valence 0.42 (60%)" in lines
            assert lines[-1] == "often: sailing, walnuts"
            assert said not in text
            assert text == db.profile.get().brief

    @pytest.mark.parametrize("most", [50, 80, 200, 1_000])
    def test_it_keeps_within_bounds(self, tmp_path: Path, most: int) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(
                name="n" * 200,
                preferences={f"key {n}": "long\nvalue " * 100 for n in range(50)},
                style_traits=[f"trait {n}" for n in range(20)],
            )
            derive(db, *LINES)
            text = db.profile.brief(max_chars=most)
            assert 0 < len(text) <= most
            assert text.startswith("name: nnn")

    def test_of_nothing(self) -> None:
        assert brief(Profile()) == ""


class TestErase:
    @pytest.mark.parametrize("keep_history", [True, False])
    def test_all_of_it_goes(self, tmp_path: Path, keep_history: bool) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            db.profile.update(name="qxzzy")
            db.profile.update(name="Ada", lexicon={"qxzzy": "x"})
            derive(db, ("term.qxzzy", "3", 0.5))
            erased = db.profile.erase()
            assert erased.erased == {"profile": 1, "profile_line": 1, "profile_change": 3}
            assert (db.profile.get().name, db.profile.get().derived, db.profile.history().items) == ("", (), ())
            assert db.profile.erase().erased == {}
            db.profile.update(role="cook")
            assert [one.field for one in db.profile.history().items] == ["role"]
            assert db.verify(deep=True).ok
            db.compact(keep_history=keep_history)
        assert b"qxzzy" not in path.read_bytes()


def test_a_line_goes_with_the_message_it_was_drawn_from(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        said = derive(db, *LINES)
        foreseen = db.forget(said, hard=True)
        assert foreseen.changed
        assert db.profile.get().derived == ()
        assert to_hex(line_id("fact.home")) not in {to_hex(line.id) for line in db._store.scan(ProfileLine)}
