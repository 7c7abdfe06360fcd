"""Dreams that begin by themselves: when they are due, that nobody waits for them, and what becomes of failures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memhop import DB, ChatError, Closed, Dreaming, InvalidRequest, WriteRefused
from memhop.dream.stage import Change, Desk
from tests.dream.test_pipeline import dreams_with, talk
from tests.support.chat import Chat
from tests.support.memories import NOW, memory
from tests.support.stages import Stage, fuse, rename


def ask(desk: Desk) -> Iterator[Change]:
    """Asks the model about each fresh scene, then sees them."""
    for change in fuse(desk):
        assert desk.chat is not None
        desk.chat.complete("", "", max_tokens=5)
        yield change


def triggers(db: DB) -> list[tuple[str, str | None]]:
    return [(report.trigger, report.scene) for report in db.dreams.list().items][::-1]


def test_a_scene_with_enough_turns_is_dreamt_of(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", dreaming=Dreaming(topics=4, capacity=None)) as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        (scene,) = set(talk(db, turns=3))
        db._dreamer.wait()
        assert triggers(db) == []
        talk(db, turns=1)
        db._dreamer.wait()
        assert triggers(db) == [("turns", scene)]
        assert db.scenes.get(scene).topics == 6


def test_too_many_fresh_scenes_are_all_dreamt_of(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", dreaming=Dreaming(topics=None, capacity=3)) as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        for number in range(4):
            db.search(f"subject {number}", NOW, session=f"s{number}", auto_create=True)
        db._dreamer.wait()
        assert triggers(db) == [("scenes", None)]
        db.search("one more", NOW, session="s9", auto_create=True)
        db._dreamer.wait()
        assert len(triggers(db)) == 1


def test_what_a_dream_leaves_makes_no_other_one_due(tmp_path: Path) -> None:
    """A scene that is left fresh, for want of budget say, would otherwise be dreamt of after every turn."""
    with memory(tmp_path / "a.meh", dreaming=Dreaming(topics=2, capacity=1)) as db:
        runs = []

        def idle(desk: Desk) -> Iterator[Change]:
            runs.append(desk.scene)
            return iter(())

        dreams_with(db, Stage(idle))
        for turn in range(6):
            db.search(f"word {turn}", NOW + turn, session="one")
            db._dreamer.wait()
        assert len(runs) == 1


def test_silence_makes_a_dream_due(tmp_path: Path) -> None:
    settings = Dreaming(topics=None, capacity=None, idle_seconds=1)
    with memory(tmp_path / "a.meh", dreaming=settings) as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        talk(db, turns=2)
        assert db._dreamer.running
        db._dreamer.wait()
        assert triggers(db) == [("idle", None)]
        assert not db._dreamer.running


def test_nothing_happens_by_itself_unless_asked(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        talk(db, turns=50)
        assert not db._dreamer.running
        assert triggers(db) == []


def test_nobody_waits_for_a_model_that_a_dream_waits_for(tmp_path: Path) -> None:
    """The model says nothing until this test lets it; every call of the agent returns meanwhile, and is kept."""
    chat = Chat(held=True)
    settings = Dreaming(topics=2, capacity=None)
    with memory(tmp_path / "a.meh", llm=chat, dreaming=settings) as db:
        dreams_with(db, Stage(ask, by_scene=True))
        talk(db, turns=2)
        assert chat.waiting.wait(60)
        note = db.remember("the kettle whistles")
        assert db.recall("kettle").hits[0].id == note.id
        found = db.search("does the kettle whistle?", NOW, session="two")
        db.update(found.new_topic_id, "it does", NOW)
        assert db.notes.get(note.id).text == "the kettle whistles"
        db.checkpoint()
        db.export()
        assert triggers(db) == [], "it has not got a reply yet"
        chat.release.set()
        db._dreamer.wait()
        assert triggers(db)[0][0] == "turns"
        assert db.recall("kettle").hits


def test_two_wishes_are_one_dream_after_the_other(tmp_path: Path) -> None:
    chat = Chat(held=True)
    with memory(tmp_path / "a.meh", llm=chat, dreaming=Dreaming(topics=2, capacity=None)) as db:
        running: list[int] = []

        def watched(desk: Desk) -> Iterator[Change]:
            running.append(1)
            assert len(running) == 1, "one at a time"
            yield from ask(desk)
            running.pop()

        dreams_with(db, Stage(watched))
        talk(db, turns=2)
        assert chat.waiting.wait(60)
        chat.release.set()
        assert db.dream().state == "done"
        db._dreamer.wait()
        assert db.dreams.failures == 0


@pytest.mark.parametrize("fault", [ChatError("the service is away"), RuntimeError("a mistake\nof ours")])
def test_a_failure_is_kept_and_does_not_come_again_at_once(tmp_path: Path, fault: Exception) -> None:
    calls = []

    def fails(desk: Desk) -> Iterator[Change]:
        calls.append(1)
        yield from ()
        raise fault

    with memory(tmp_path / "a.meh", dreaming=Dreaming(topics=1, capacity=None)) as db:
        dreams_with(db, Stage(fails), Stage(rename))
        for turn in range(5):
            db.search(f"word {turn}", NOW + turn, session="one")
            db._dreamer.wait()
        assert len(calls) == 1
        assert db.dreams.failures == 1
        assert db.dreams.last_error == " ".join(str(fault).split())
        renamed = isinstance(fault, ChatError)  # the other stages go on without the model
        assert db.scenes.list().items[0].name.startswith("named") is renamed


def test_a_mistake_of_a_stage_is_raised_to_who_asked_for_the_dream(tmp_path: Path) -> None:
    def breaks(desk: Desk) -> Iterator[Change]:
        yield from rename(desk)
        raise RuntimeError("a mistake of ours")

    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(breaks))
        talk(db, turns=1)
        with pytest.raises(RuntimeError, match="a mistake"):
            db.dream()
        report = db.dreams.show(1)
        assert (report.state, report.changed) == ("stopped", 1)
        assert report.notices == ("breaks: it broke off with RuntimeError",)


def test_closing_ends_a_dream_at_the_next_opportunity(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    chat = Chat(held=True)
    with memory(path, llm=chat, dreaming=Dreaming(topics=2, capacity=None)) as db:
        dreams_with(db, Stage(ask, by_scene=True))
        talk(db, turns=6)
        assert chat.waiting.wait(60)
        thread = db._dreamer._thread
        assert thread is not None
        db._dreamer._closing.set()
        chat.release.set()
        thread.join(60)
        assert not thread.is_alive()
    assert len(chat.asked) == 1
    with memory(path) as db:
        assert db.dreams.show(1).state == "stopped"
        assert dreams_with(db, Stage(fuse, by_scene=True)).dream().state == "done"


def test_a_model_that_does_not_answer_does_not_keep_the_memory_from_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memhop.api import dreaming

    monkeypatch.setattr(dreaming, "CLOSE_WAIT_S", 0.05)
    chat = Chat(held=True)
    db = memory(tmp_path / "a.meh", llm=chat, dreaming=Dreaming(topics=2, capacity=None))
    dreams_with(db, Stage(ask, by_scene=True))
    talk(db, turns=2)
    assert chat.waiting.wait(60)
    thread = db._dreamer._thread
    db.close()
    chat.release.set()
    assert thread is not None
    thread.join(60)
    with memory(tmp_path / "a.meh") as db:
        assert db.verify(deep=True).ok
        db.close()
        with pytest.raises(Closed):
            db.dream()


def test_a_forked_child_has_no_dreams(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", dreaming=Dreaming(topics=1)) as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        talk(db, turns=1)
        db._dreamer.wait()
        child = os.fork()
        if not child:
            try:
                db.dream()
            except Closed:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_reading_handle_may_only_preview(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        talk(db, turns=4)
        before = path.read_bytes()
        with memory(path, mode="read") as reader:
            dreams_with(reader, Stage(fuse, by_scene=True))
            with pytest.raises(WriteRefused):
                reader.dream()
            assert reader.dream(dry_run=True).changed == 7
        with db.at(4) as past:
            dreams_with(past, Stage(fuse, by_scene=True))
            assert past.dream(dry_run=True).changed == 4
        assert path.read_bytes() == before


def test_a_killed_preview_is_cleared_away(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        talk(db, turns=4)
        for suffix in (".preview", ".preview.lock"):
            (tmp_path / f"a.meh{suffix}").write_bytes(b"left behind")
        db.dream(dry_run=True)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.meh", "a.meh.lock"]


def test_time_is_over_and_the_next_dream_goes_on(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        talk(db)
        report = db.dream(max_seconds=0)
        assert (report.state, report.number, report.stages) == ("stopped", None, ())
        assert db.dream().state == "done"


@pytest.mark.parametrize(
    "values",
    [
        {"topics": 0}, {"topics": True}, {"topics": "many"}, {"capacity": -1}, {"idle_seconds": 0}, {"max_share": 0},
        {"max_share": 1.5}, {"max_share": float("nan")}, {"min_topics": 1}, {"min_topics": None},
    ],
)  # fmt: skip
def test_settings_are_checked(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as error:
        Dreaming(**values)
    assert error.value.field == next(iter(values))


@pytest.mark.parametrize("options", [{"llm": 3}, {"dreaming": 3}, {"budget": 3}, {"llm_on_write": True}])
def test_arguments_are_checked_at_open(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as error:
        memory(tmp_path / "a.meh", **options)
    assert error.value.field == next(iter(options))
    with memory(tmp_path / "a.meh") as db:
        for wrong in (-1, "soon", float("nan"), True):
            with pytest.raises(InvalidRequest):
                db.dream(max_seconds=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest):
            db.dream("no id")
