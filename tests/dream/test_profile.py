"""Stage "profile": lines about the user with their evidence, and never a word in the host's fields."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from memhop.common.errors import ChatError
from memhop.common.ids import from_hex, to_hex
from memhop.dream.profile import MOST_READ, ProfileStage, sample
from memhop.dream.stage import Change, Desk
from memhop.models.chat import Reply
from memhop.repo.l0_profile import HISTORY, Profile, ProfileChange, ProfileLine, numbered
from tests.api.test_erasure import dangling
from tests.support.memories import MINUTE, NOW, memory

HAPPY = [
    "I am so happy about the kayak, it is wonderful",
    "What a great trip, I love the kayak",
    "I enjoy paddling, it makes me calm and happy",
    "The kayak is beautiful and I am glad",
    "I was excited and proud of my kayak today",
    "Such a good day, I am thankful and cheerful",
]
SAD = [
    "I am sad and angry about the kayak",
    "I hate this, it is terrible",
    "I feel miserable and afraid today",
    "An awful day, I am depressed and lonely",
    "The trip was horrible, I am upset",
    "I am worried and unhappy about all of it",
]


class Model:
    """A chat model that answers by rule; `reply` makes the lines out of the aliases that it is shown."""

    name = "stub"

    def __init__(self, reply: Callable[[list[str]], Any]) -> None:
        self.calls = 0
        self._reply = reply

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        self.calls += 1
        found = self._reply(sorted(set(re.findall(r"\bm\d+\b", user)), key=lambda alias: int(alias[1:])))
        if isinstance(found, Exception):
            raise found
        return Reply(found if isinstance(found, str) else json.dumps({"lines": found}))


def line(name: str, value: object, evidence: list[str], confidence: float = 0.8) -> dict[str, object]:
    return {"name": name, "value": value, "confidence": confidence, "evidence": evidence}


def say(db: DB, texts: list[str], *, start: int = 0, role: str = "user", speaker: str = "") -> list[str]:
    named = {"speaker": speaker} if speaker else {}
    return list(
        db.archive.append_many(
            {"text": text, "role": role, "at": NOW - MINUTE * (1_000 - start - n), "session": "s", **named}
            for n, text in enumerate(texts)
        )
    )


def plan(db: DB, chat: Model | None = None) -> tuple[list[Change], Counter[str]]:
    skipped: Counter[str] = Counter()

    def skip(reason: str, count: int) -> None:
        skipped[reason] += count

    store = db._store
    desk = Desk(store, chat, store.clock.now_ms(), 0, 4, lambda count: None, skip, lambda: False)
    return list(ProfileStage().plan(desk)), skipped


def apply(db: DB, changes: list[Change]) -> int:
    """Write what still holds. Gives the number of changes that do."""
    applied = 0
    with db._store.writing() as batch:
        for change in changes:
            there = {record.id for record in change.puts if db._store.record(record.id) is not None}
            assert there <= {record.id for record in change.reads}, "a record is replaced that was not read"
            if all(db._store.record(record.id) == record for record in (*change.reads, *change.deletes)):
                applied += 1
                for record in change.puts:
                    batch.put(record)
                for record in change.deletes:
                    assert isinstance(record, ProfileLine)
                    batch.delete(record.KIND, record.id, purge=True)
    return applied


def dream(db: DB, chat: Model | None = None) -> Counter[str]:
    changes, skipped = plan(db, chat)
    assert apply(db, changes) == len(changes)
    assert dangling(db) == []
    return skipped


class TestOffline:
    def test_lines_with_evidence_beside_the_hosts_fields(self, tmp_path: Path) -> None:
        """Each dream once overwrote the personality that the host had set, with words and letters of its own."""
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(name="Juno", personality="dry", preferences={"tea": "green"})
            before = db._store.scan(Profile).__next__()
            ids = say(db, HAPPY)
            dream(db)
            found = db.profile.get()
            assert found.mood is not None
            assert found.mood["valence"] > 0.3
            assert (found.name, found.personality, found.preferences) == ("Juno", "dry", {"tea": "green"})
            assert next(db._store.scan(Profile)) == before
            kayak = next(line for line in found.derived if line.name == "term.kayak")
            assert kayak.value == "4"
            assert kayak.evidence == (ids[4], ids[3], ids[1], ids[0])
            assert all(0 < line.confidence < 1 and line.evidence for line in found.derived)

    def test_below_a_minimum_nothing_is_guessed(self, tmp_path: Path) -> None:
        """With nothing to go by, a model was once asked all the same, and answered."""
        with memory(tmp_path / "a.meh") as db:
            assert plan(db)[0] == []
            say(db, HAPPY[:2])
            dream(db)
            found = db.profile.get()
            assert (found.derived, found.mood, found.traits) == ((), None, None)

    def test_a_second_dream_changes_nothing(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            say(db, HAPPY)
            dream(db)
            before = db._store.file.head_digest
            assert plan(db) == ([], Counter())
            say(db, ["an answer"], start=500, role="agent")
            assert plan(db) == ([], Counter())
            assert db._store.file.head_digest != before

    def test_the_same_records_give_the_same_change(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as one, memory(tmp_path / "b.meh") as two:
            say(one, HAPPY + SAD)
            say(two, HAPPY + SAD)
            assert plan(one) == plan(two)

    def test_moods_change_and_the_change_is_noted(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            say(db, HAPPY)
            dream(db)
            first = db.profile.get().mood
            assert first is not None
            assert {change.field for change in db.profile.history().items} >= {"mood.valence"}
            say(db, SAD * 4, start=100)
            dream(db)
            second = db.profile.get().mood
            assert second is not None
            assert second["valence"] < first["valence"]
            noted = next(change for change in db.profile.history().items if change.field == "mood.valence")
            assert (float(noted.before), float(noted.after), noted.by) == (
                first["valence"], second["valence"], "dream"
            )  # fmt: skip
            assert all(change.field.startswith(("mood.", "trait.")) for change in db.profile.history().items)

    def test_what_is_no_longer_said_goes(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            say(db, HAPPY)
            dream(db)
            say(db, [f"the number is {n}" for n in range(MOST_READ)], start=100)
            dream(db)
            found = db.profile.get()
            assert found.mood is None
            assert "term.kayak" not in {line.name for line in found.derived}
            assert db.profile.history().items[0].after == ""

    def test_only_the_user_counts(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            say(db, HAPPY * 5, role="agent")
            dream(db)
            assert db.profile.get().derived == ()

    def test_of_several_people_the_one_who_said_most(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            say(db, SAD, speaker="Bo")
            say(db, [*HAPPY, "I am glad"], start=100, speaker="Ann")
            assert {message.speaker for message in sample(db._store)} == {"Ann"}
            dream(db)
            mood = db.profile.get().mood
            assert mood is not None
            assert mood["valence"] > 0.3

    def test_it_reads_a_bounded_number_of_messages(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            say(db, [f"message {n}" for n in range(MOST_READ + 50)])
            assert [message.text for message in sample(db._store)][:: MOST_READ - 1] == ["message 50", "message 249"]
            say(db, [f"answer {n}" for n in range(2_000)], start=300, role="agent")
            assert sample(db._store) == []


class TestErasing:
    @pytest.mark.parametrize("keep_history", [True, False])
    def test_erasing_a_message_leaves_no_word_of_it(self, tmp_path: Path, keep_history: bool) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            ids = say(db, [f"{text} qxzzy" for text in HAPPY])
            dream(db)
            assert "term.qxzzy" in {line.name for line in db.profile.get().derived}
            say(db, ["qxzzy again"], start=200)
            dream(db)
            for id_ in (*ids, *(message.id for message in db.archive.list().items if "again" in message.text)):
                db.forget(id_, hard=True)
            assert db.profile.get().derived == ()
            dream(db)
            assert dangling(db) == []
            db.compact(keep_history=keep_history)
        assert b"qxzzy" not in path.read_bytes()

    def test_what_was_erased_while_the_stage_was_thinking_does_not_come_back(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            ids = say(db, HAPPY)
            changes, _ = plan(db)
            db.forget(ids[3], hard=True)
            assert apply(db, changes) == 0
            dream(db)
            assert all(ids[3] not in line.evidence for line in db.profile.get().derived)


class TestWithAModel:
    def test_facts_and_preferences(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            ids = say(db, [*HAPPY, "I live in Porto and I drink green tea"])

            def reply(shown: list[str]) -> object:
                return [line("fact.home", "Porto", shown[-1:]), line("preference.tea", "green tea", shown[-1:])]

            model = Model(reply)
            assert dream(db, model) == Counter()
            derived = {line.name: line for line in db.profile.get().derived}
            assert (derived["fact.home"].value, derived["fact.home"].evidence) == ("Porto", (ids[-1],))
            assert derived["preference.tea"].confidence == 0.8
            assert derived["mood.valence"]  # what the model does not give is worked out
            assert plan(db, model) == ([], Counter())
            assert model.calls == 1, "nothing new was said"
            say(db, ["and one more thing"], start=500)
            quiet = Model(lambda shown: [])
            dream(db, quiet)
            assert "fact.home" in {line.name for line in db.profile.get().derived}, "it is kept until it is replaced"
            db.forget(ids[-1], hard=True)
            assert "fact.home" not in {line.name for line in db.profile.get().derived}
            assert all("Porto" not in change.after for change in db.profile.history().items)

    def test_a_small_move_is_none(self, tmp_path: Path) -> None:
        """Each is measured against what is stored, so that many small moves in one direction are seen."""
        with memory(tmp_path / "a.meh") as db:
            say(db, HAPPY)
            seen = []
            for turn, value in enumerate((0.5, 0.53, 0.54, 0.56, 0.52, 0.51)):
                dream(db, Model(lambda shown, value=value: [line("trait.openness", value, shown)]))  # type: ignore[misc]
                say(db, ["and more"], start=100 + turn)
                seen.append((db.profile.get().traits or {})["openness"])
            assert seen == [0.5, 0.5, 0.5, 0.56, 0.56, 0.51]
            assert [change.after for change in db.profile.history().items if "openness" in change.field] == [
                "0.51", "0.56", "0.50"
            ]  # fmt: skip

    def test_too_little_to_ask_about(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            say(db, HAPPY[:3])
            model = Model(lambda shown: [])
            dream(db, model)
            assert model.calls == 0

    def test_it_cannot_write_what_the_host_writes(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.profile.update(name="Juno", preferences={"tea": "green"})
            say(db, HAPPY)

            def reply(shown: list[str]) -> object:
                return [
                    line("name", "happy", shown),
                    line("preferences.tea", "happy", shown),
                    line("sample", "happy", shown),
                    line("mood.valence", 7, shown),
                    line("mood.arousal", "NaN", shown),
                    line("trait.openness", 0.5, shown[:1]),
                    line("trait.evil", 0.5, shown),
                    line("fact.x", "an invented Lisbon", shown),
                    line("fact.y", "happy", ["m999"]),
                    line("fact.z", "happy", shown, 5.0),
                ]

            skipped = dream(db, Model(reply))
            assert sum(skipped.values()) >= 10
            names = {line.name.partition(".")[0] for line in db.profile.get().derived}
            assert names <= {"mood", "term"}
            assert (db.profile.get().name, db.profile.get().preferences) == ("Juno", {"tea": "green"})

    @pytest.mark.parametrize("reply", [ChatError("no route"), "I'd rather not", "", '{"lines": [', "[]"])
    def test_a_model_that_fails_changes_nothing_and_is_asked_again(self, tmp_path: Path, reply: Any) -> None:
        with memory(tmp_path / "a.meh") as db:
            say(db, HAPPY)
            dream(db)
            before = db.profile.get().derived
            model = Model(lambda shown: reply)
            assert dream(db, model)
            assert db.profile.get().derived == before
            assert dream(db, model)
            assert model.calls == 2


class TestHistory:
    def test_it_is_bounded_whoever_writes(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for start in (0, 700):
                with db._store.writing() as batch:
                    for change in numbered(
                        db._store, [ProfileChange(field=f"f{n}", at=NOW) for n in range(start, start + 700)]
                    ):
                        batch.put(change)
            db.profile.update(name="Juno")
            say(db, HAPPY)
            dream(db)
            found = list(db._store.scan(ProfileChange))
            assert len(found) == HISTORY
            newest = sorted(found, key=lambda change: -change.seq)
            assert [change.field for change in newest[:4]][3] == "name"
            assert newest[-1].seq == newest[0].seq - HISTORY + 1


def test_the_mark_of_what_was_read_is_nobodys_to_see(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        say(db, HAPPY)
        dream(db)
        assert "sample" not in {line.name for line in db.profile.get().derived}
        assert "sample" not in db.profile.brief()
        assert to_hex(from_hex("00" * 7 + "ab")) not in db.profile.brief()
