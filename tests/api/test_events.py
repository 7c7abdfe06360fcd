"""`db.events`: the log told as events, the same whoever asks, from wherever, in pages of whatever size."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memhop import DB, InvalidRequest
from memhop.api.results import LogEvent
from memhop.repo import changes
from memhop.repo.changes import TOLD
from tests.support.memories import DAY, NOW, memory


def told(db: DB, since: str | None = None, *, limit: int = 1000) -> list[LogEvent]:
    """All events behind a number, page by page."""
    found: list[LogEvent] = []
    while True:
        page = db.events(since, limit=limit)
        assert not page.gap
        assert len(page.events) <= limit
        found += page.events
        since = page.next
        if since == page.newest:
            return found


def types(db: DB, since: str) -> list[str]:
    return [event.type for event in told(db, since)]


def here(db: DB) -> str:
    return db.events(limit=1).newest


def a_life(db: DB) -> None:
    """Something of all layers, some of it changed, some of it gone."""
    first, second = db.remember_many([{"text": "one", "project": "P"}, {"text": "two", "kind": "bug"}])
    turn = db.search("who repairs the boat?", session="s")
    db.update(turn.new_topic_id, "Jonas does, on Fridays")
    db.forget(first.id)
    db.forget(second.id, hard=True)
    db.knowledge.put("boats", "hull", "of oak")
    db.knowledge.put("boats", "mast", "of pine")
    fact = db.facts.assert_("Ann", "lives in", "Rome", valid_from=NOW - DAY)
    db.facts.assert_("Ann", "lives in", "Oslo")
    db.facts.retract(fact.id)
    db.profile.update(name="Ada")
    db.trajectory.append("s", "tool_call", "x")
    db.remember_many([f"note {number}" for number in range(30)])
    db.dream()
    db.archive.append_many([{"text": f"line {number}", "session": "t"} for number in range(10)])


def test_a_call_and_its_events(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        place = [here(db)]

        def after(call: object) -> list[str]:
            """What was told since the last look; the call was made when its result came here."""
            found = types(db, place[0])
            place[0] = here(db)
            return found

        note = db.remember("a", project="P")
        assert after(note) == ["note_new"]
        assert after(db.remember("b", external_id="x")) == ["note_new"]
        assert after(db.remember("c", external_id="x")) == ["note_edit"]
        assert after(db.remember("a", project="P", tags=["t"])) == ["note_tags"]
        assert after(db.forget(note.id)) == ["note_trash"]
        assert after(db.purge()) == ["note_purge"]
        turn = db.search("who are you?")
        assert after(turn) == ["scene_new", "topic_new", "message_new"]
        assert after(db.update(turn.new_topic_id, "Ada")) == ["message_new", "topic_update"]
        assert after(db.scenes.rename(turn.scene_id, "names")) == ["scene_update"]
        # Its words are struck out of the topic's earlier versions, which makes that no new topic.
        assert sorted(after(db.forget(turn.message_id, hard=True))) == ["message_purge", "topic_update"]
        fact = db.facts.assert_("Ann", "lives in", "Rome", valid_from=NOW - DAY)
        assert after(fact) == ["fact_new"]
        assert after(db.facts.close(fact.id)) == ["fact_close"]
        assert after(db.facts.retract(fact.id)) == ["fact_retract"]
        assert after(db.facts.delete(fact.id)) == ["fact_delete"]
        node = db.knowledge.put("g", "t", "c")
        assert after(node) == ["graph_new", "knowledge_new"]
        assert after(db.knowledge.update(node.id, content="d")) == ["knowledge_update"]
        assert after(db.knowledge.delete(node.id)) == ["knowledge_delete"]
        assert after(db.profile.update(name="Ada")) == ["profile_update"]
        assert after(db.profile.erase()) == ["profile_erase"]
        assert after(db.trajectory.append("s", "tool_call")) == ["trajectory_new"]
        assert after(db.trajectory.delete("s")) == ["trajectory_delete"]
        resource = {"type": "skill", "name": "broom", "ref": "skills/broom", "description": "sweeps"}
        card = {
            "format": "memhop-capability/v2",
            "name": "tidy",
            "type": "skill",
            "summary": "Tidies.",
            "trigger": "dust",
        }
        assert after(db.capabilities.import_({**card, "resources": [resource]})) == ["capability_new"]
        assert after(db.capabilities.record_usage("tidy", True)) == []
        assert after(db.capabilities.deprecate("tidy")) == ["capability_deprecate"]
        assert after(db.capabilities.activate("tidy")) == ["capability_activate"]
        assert after(db.capabilities.delete("tidy")) == ["capability_delete"]
        db.remember("so that there is something")
        db.search("and somebody who asks about the harbour")
        place[0] = here(db)
        found = after(db.dream())
        assert (found[0], found[-1]) == ("dream_start", "dream_end")


def test_nothing_changed_is_no_event(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.remember("said twice")
        db.profile.update(name="Ada")
        card = db.knowledge.put("g", "t", "c")
        place = here(db)
        assert not db.remember("said twice").created
        db.recall("said twice")
        db.profile.update(name="Ada")
        db.knowledge.update(card.id, content="c")
        db.checkpoint()
        assert types(db, place) == []


def test_pages_of_any_size_tell_the_same(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        a_life(db)
        whole = told(db)
        numbers = [int(event.number) for event in whole]
        assert numbers == sorted(set(numbers))
        assert [event.commit for event in whole] == [number >> 20 for number in numbers]
        for limit in (1, 2, 7, 100):
            assert told(db, limit=limit) == whole
        for index in range(0, len(whole), 5):
            assert told(db, whole[index].number) == whole[index + 1 :]


def test_every_handle_tells_the_same(tmp_path: Path) -> None:
    """Reopened, after checkpoints, from another process's view, from the past, and from a copy."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        a_life(db)
        whole = told(db)
        middle = db.stats().commit
        db.checkpoint()
        db.remember("behind the checkpoint")
        db.checkpoint()
        more = told(db)
        assert more[: len(whole)] == whole
        with db.at(middle) as past:
            assert told(past) == whole
        copy = db.backup(tmp_path / "copy.meh")
    for other, mode in ((path, "exclusive"), (path, "shared"), (path, "read"), (Path(copy.path), "read")):
        with memory(other, mode=mode) as db:
            assert told(db, limit=10) == more
            for event in more[::7]:
                assert told(db, event.number) == more[more.index(event) + 1 :]


def test_a_reader_hears_what_others_write(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, mode="shared") as writer, memory(path, mode="read") as reader:
        place = here(reader)
        for round_ in range(5):
            ids = [writer.remember(f"{round_} {number}").id for number in range(4)]
            page = reader.events(place)
            assert [event.id for event in page.events] == ids
            place = page.next
            writer.checkpoint()


def test_events_lead_from_one_state_to_the_next(tmp_path: Path) -> None:
    """Whoever keeps a set of ids by events has what is in the memory, whatever happened. Seeded."""
    for seed in range(3):
        choose = random.Random(seed)
        with memory(tmp_path / f"{seed}.meh", durability="none") as db:
            known: set[str] = set()
            place, notes = "0", [db.remember("first").id]
            for step in range(60):
                match choose.randrange(6):
                    case 0:
                        notes += [note.id for note in db.remember_many([f"{step} {number}" for number in range(5)])]
                    case 1:
                        db.search(f"step {step} of the boat", session=choose.choice("ab"))
                    case 2:
                        db.forget(notes.pop(choose.randrange(len(notes))), hard=True)
                        notes = notes or [db.remember(f"again {step}").id]
                    case 3:
                        db.facts.assert_(choose.choice("AB"), "is in", str(step))
                    case 4:
                        db.checkpoint()
                    case 5:
                        db.dream()
                while True:
                    page = db.events(place, limit=choose.choice((1, 3, 50)))
                    for event in page.events:
                        gone = event.type.endswith(("_purge", "_delete", "_erase"))
                        known = known - {event.id} if gone else known | {event.id}
                    place = page.next
                    if place == page.newest:
                        break
            live = {f"{id_:016x}" for id_, kind, _ in db._store.file.live() if kind in TOLD}
            assert known == live


def test_compaction_leaves_a_gap_and_says_so(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        a_life(db)
        whole, place = told(db), db.events(limit=3).next
        db.compact(keep_history=True)
        assert len(told(db)) <= len(whole)  # those of purged records are gone, their purges are told
        assert [event.number for event in told(db)[-5:]] == [event.number for event in whole[-5:]]
        assert not db.events(place).gap
        end = here(db)
        db.compact()
        page = db.events(place)
        assert (page.gap, page.events) == (True, ())
        assert page.next == page.newest == page.oldest
        assert not db.events(end).gap  # whoever had heard all has missed nothing
        assert not db.events().gap
        note = db.remember("after it")
        assert [event.id for event in db.events(page.next).events] == [note.id]
        assert db.events(page.oldest).gap is False


def test_a_number_of_the_future_is_a_gap(tmp_path: Path) -> None:
    """A memory restored from an older copy: those who followed it have seen what is not there any more."""
    with memory(tmp_path / "a.meh") as db:
        db.remember("a")
        page = db.events(str(10**20))
        assert (page.gap, page.events, page.next) == (True, (), page.newest)


def test_filters(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.remember_many([{"text": "a", "project": "Straße"}, {"text": "b", "project": "Other"}])
        db.search("c", project="Other")
        assert [event.project for event in db.events(project="STRASSE").events] == ["Straße"]
        assert {event.type for event in db.events(types=["note_new"]).events} == {"note_new"}
        assert len(db.events(types=["note_*", "message_*"]).events) == 3
        assert len(db.events(types=["memory_new"]).events) == 2
        assert db.events(types=[]).events == ()
        page = db.events(types=["nothing"])
        assert page.next == page.newest


def test_work_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that nothing passes does not read a whole history in one call."""
    monkeypatch.setattr(changes, "MOST_FRAMES", 10)
    with memory(tmp_path / "a.meh", durability="none") as db:
        for number in range(50):
            db.remember(f"note {number}")
        page = db.events(types=["nothing"])
        assert page.events == ()
        assert int(page.next) < int(page.newest)
        assert len(told(db)) == 50


def test_a_damaged_record_is_counted_and_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember("the first of three")
        db.remember("the second of three")
        db.remember("the third of three")
    data = bytearray(path.read_bytes())
    place = data.find(b"the second of three")
    data[place] ^= 0xFF
    path.write_bytes(data)
    with memory(path) as db:
        page = db.events()
        assert (len(page.events), page.damaged) == (2, 1)


def test_an_erased_word_is_in_no_event(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("the password of the safe")
        db.forget(note.id, hard=True)
        assert "safe" not in str([event.to_dict() for event in told(db)])


@pytest.mark.parametrize("since", [-1, True, 1.5, "x", "-1", "１", "9" * 26, 2**90, b"1", [1]])
def test_what_is_no_number_is_refused(tmp_path: Path, since: object) -> None:
    with memory(tmp_path / "a.meh") as db, pytest.raises(InvalidRequest, match="since"):
        db.events(since)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments", [{"limit": 0}, {"limit": 1001}, {"project": ""}, {"types": "note_new"}, {"types": [1]}]
)
def test_other_arguments_that_do_not_do(tmp_path: Path, arguments: dict[str, object]) -> None:
    with memory(tmp_path / "a.meh") as db, pytest.raises(InvalidRequest):
        db.events(**arguments)  # type: ignore[arg-type]
