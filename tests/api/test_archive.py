"""Messages: kept word for word, in order, found by session and by the host's own name for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memhop import InvalidRequest, NotFound
from tests.support.memories import DAY, HOUR, MINUTE, NO_ID, NOW, every, memory


def test_messages_come_back_as_they_were_given(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        ids = db.archive.append_many(
            [
                {"text": "hi  there\x00", "role": "user", "speaker": "Mara", "at": NOW - HOUR, "session": "s1",
                 "external_id": "D1:1", "project": "p"},
                {"text": "hello"},
            ]
        )  # fmt: skip
        first, second = (db.archive.get(id_) for id_ in ids)
        assert (first.text, first.role, first.speaker, first.at) == ("hi  there\x00", "user", "Mara", NOW - HOUR)
        assert (first.session, first.external_id, first.project) == ("s1", "D1:1", "p")
        assert (second.role, second.speaker, second.session, second.at) == ("user", None, None, NOW)
        assert (second.scene_id, second.topic_id, second.project) == (None, None, "default")


def test_equal_messages_are_all_kept(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        ids = db.archive.append_many([{"text": "yes", "session": "s", "at": NOW}] * 3)
        assert len(set(ids)) == 3
        assert len(db.archive.list(session="s").items) == 3


def test_one_commit_for_many(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        before = db.stats().commit
        db.archive.append_many({"text": f"turn {n}"} for n in range(50))
        assert db.stats().commit == before + 1
        assert db.archive.append_many([]) == ()
        assert db.stats().commit == before + 1


class TestExternalId:
    def test_known_ones_keep_their_id(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            turns = [{"text": f"turn {n}", "session": "s", "external_id": f"x{n}", "at": NOW - n} for n in range(5)]
            first = db.archive.append_many(turns[:3])
            again = db.archive.append_many(turns)
            assert again[:3] == first
            assert len(every(db.archive.list)) == 5
            found = db.archive.find(session="s", external_id="x4")
            assert found is not None
            assert found.text == "turn 4"
            assert db.archive.find(session="other", external_id="x4") is None

    def test_twice_in_one_call(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            one, two = db.archive.append_many([{"text": "same", "external_id": "x"}] * 2)
            assert one == two
            assert len(db.archive.list().items) == 1

    @pytest.mark.parametrize("known", [True, False], ids=["stored before", "in the same call"])
    def test_other_words_are_refused_and_nothing_is_written(self, tmp_path: Path, known: bool) -> None:
        with memory(tmp_path / "a.meh") as db:
            first = {"text": "was said", "external_id": "x"}
            if known:
                db.archive.append_many([first])
            before = db.stats().head_digest
            with pytest.raises(InvalidRequest) as refused:
                db.archive.append_many([{"text": "new"}, first, {"text": "was not said", "external_id": "x"}])
            assert refused.value.field == "items[2].external_id"
            assert db.stats().head_digest == before


class TestListing:
    def test_by_time_and_by_session(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            turns = [
                {"text": f"turn {n}", "session": f"s{n % 2}", "at": NOW - DAY + (n * 7 % 10) * MINUTE}
                for n in range(10)
            ]
            db.archive.append_many(turns)
            by_time = [turn["text"] for turn in sorted(turns, key=lambda turn: str(turn["at"]))]
            assert [message.text for message in every(db.archive.list)] == by_time
            assert [message.text for message in every(db.archive.list, newest_first=True)] == by_time[::-1]
            odd = [text for text in by_time if int(str(text)[-1]) % 2]
            assert [message.text for message in every(db.archive.list, session="s1")] == odd
            assert db.archive.list(session="no such").items == ()

    def test_a_session_name_that_is_no_text_is_refused(self, tmp_path: Path) -> None:
        """`list(session=5)` answered with the messages of session "5"; "" with an arbitrary group."""
        with memory(tmp_path / "a.meh") as db:
            db.archive.append_many([{"text": "a", "session": "5"}])
            for session in (5, "", True, ["5"]):
                with pytest.raises(InvalidRequest) as refused:
                    db.archive.list(session=session)  # type: ignore[arg-type]
                assert refused.value.field == "session"


class TestErasure:
    def test_a_message_and_its_traces_leave_the_file(self, tmp_path: Path) -> None:
        """Keywords of the topic and the name of the scene are made of the message; they go with it."""
        path = tmp_path / "a.meh"
        with memory(path) as db:
            found = db.search("my passport number is QXZ918273", NOW - HOUR, session="s")
            reply = db.update(found.new_topic_id, "I will keep it in mind", NOW - HOUR + 1)
            db.checkpoint()
            assert "qxz918273" in db.scenes.get(found.scene_id).name.lower()
            db.forget(found.message_id, hard=True)
            with pytest.raises(NotFound):
                db.archive.get(found.message_id)
            assert db.topics.get(found.new_topic_id).user_keywords == ()
            assert [message.id for message in db.topics.messages(found.new_topic_id)] == [reply.id]
            assert db.recall("passport QXZ918273").hits == ()
            db.compact()
            assert b"qxz918273" not in path.read_bytes().lower()
        with memory(path) as db:
            assert db.archive.get(reply.id).text == "I will keep it in mind"

    def test_a_second_message_of_the_user_takes_its_words_along(self, tmp_path: Path) -> None:
        """A user's message appended by `update` lends its keywords to the agent's; erasing it cleared the others."""
        path = tmp_path / "a.meh"
        with memory(path) as db:
            found = db.search("where do we sail?", NOW - HOUR)
            second = db.update(found.new_topic_id, "my secret is WWVV5566", NOW - HOUR + 1, role="user")
            db.forget(second.id, hard=True)
            topic = db.topics.get(found.new_topic_id)
            assert "sail" in " ".join(topic.user_keywords)
            assert "wwvv5566" not in " ".join((*topic.agent_keywords, *topic.user_keywords)).lower()
            db.compact()
            assert b"wwvv5566" not in path.read_bytes().lower()

    def test_the_last_message_takes_the_topic_and_the_scene_along(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = db.search("one turn", NOW - HOUR)
            reply = db.update(found.new_topic_id, "one reply TTRR11", NOW - HOUR + 1)
            db.forget(found.message_id, hard=True)
            db.forget(reply.id, hard=True)
            with pytest.raises(NotFound):
                db.topics.get(found.new_topic_id)
            with pytest.raises(NotFound):
                db.scenes.get(found.scene_id)  # its name and dates told of nothing else
            assert db.scenes.list().items == ()
            assert db.archive.list().items == ()

    def test_both_in_the_other_order(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = db.search("one turn KKLL22", NOW - HOUR)
            reply = db.update(found.new_topic_id, "one reply TTRR11", NOW - HOUR + 1)
            more = db.update(found.new_topic_id, "more SSDD33", NOW - HOUR + 2)
            db.forget(found.message_id, hard=True)
            db.forget(reply.id, hard=True)
            topic = db.topics.get(found.new_topic_id)
            assert topic.message_ids == (more.id,)
            assert "ttrr11" not in " ".join((*topic.agent_keywords, *topic.user_keywords)).lower()


def test_get_of_another_kind_is_not_found(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("a note")
        for id_ in (note.id, NO_ID):
            with pytest.raises(NotFound):
                db.archive.get(id_)


def test_erasure_reaches_kept_history(tmp_path: Path) -> None:
    """Earlier versions of the topic and the scene hold keywords of the message, and were kept with the history."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        found = db.search("my passport number is QXZ918273", NOW - HOUR, session="s")
        reply = db.update(found.new_topic_id, "I will keep it in mind", NOW - HOUR + 1)
        db.forget(found.message_id, hard=True)
    for prepared in (False, True):
        with memory(path) as db:
            assert db.recovery.clean
            assert db.topics.get(found.new_topic_id).message_ids == (reply.id,)
            assert db.scenes.list().items == (db.scenes.get(found.scene_id),)
            assert [topic.id for topic in db.topics.list(found.scene_id).items] == [found.new_topic_id]
            assert (b"qxz918273" in path.read_bytes().lower()) is not prepared
            db.compact(keep_history=True)
            assert db.verify(deep=True).ok


class TestList:
    """By session, topic, time and word, alone and together, in pages of any size, in either direction."""

    def test_by_time_word_session_and_topic(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            turn = db.search("Which PAINT?", NOW - DAY, session="s1")
            db.update(turn.new_topic_id, "paint it with epoxy", NOW - DAY + MINUTE)
            db.archive.append_many(
                {
                    "text": f"line {number} of {'paint' if number % 3 else 'tar'}",
                    "session": "log",
                    "at": NOW - HOUR + number,
                }
                for number in range(30)
            )

            def found(**asked: Any) -> list[str]:
                pages = [every(db.archive.list, page=size, **asked) for size in (1, 4, 100)]
                assert pages[0] == pages[1] == pages[2]
                newest = every(db.archive.list, newest_first=True, **asked)
                assert newest == pages[0][::-1]
                return [message.text for message in pages[0]]

            assert len(found()) == 32
            assert found(topic_id=turn.new_topic_id) == ["Which PAINT?", "paint it with epoxy"]
            assert found(topic_id=turn.new_topic_id, session="log") == []
            assert found(topic_id=turn.new_topic_id, until=NOW - DAY + 1) == ["Which PAINT?"]
            assert found(keyword="Paint", until=NOW - HOUR) == ["Which PAINT?", "paint it with epoxy"]
            assert found(since=NOW - HOUR + 3, until=NOW - HOUR + 6, keyword="paint") == [
                "line 4 of paint",
                "line 5 of paint",
            ]
            assert found(session="log", since=NOW - HOUR + 28) == ["line 28 of paint", "line 29 of paint"]
            assert found(since=NOW) == found(until=0) == found(since=NOW, until=NOW - DAY) == []
            assert len(found(keyword="tar")) == 10

    def test_it_stops_at_the_end_of_the_span(self, tmp_path: Path) -> None:
        """What lies beyond is neither read nor counted as damaged, and no cursor leads there."""
        with memory(tmp_path / "a.meh") as db:
            db.archive.append_many({"text": f"line {number}", "at": NOW - 1000 + number} for number in range(500))
            page = db.archive.list(since=NOW - 1000 + 10, until=NOW - 1000 + 20, limit=10)
            assert (len(page.items), page.next) == (10, None)
            page = db.archive.list(since=NOW - 1000 + 10, until=NOW - 1000 + 20, limit=10, newest_first=True)
            assert (len(page.items), page.next) == (10, None)
            assert page.items[0].text == "line 19"

    def test_what_does_not_do_is_refused(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for asked in ({"since": "yesterday"}, {"until": -1}, {"keyword": ""}, {"keyword": 5}, {"topic_id": "x"}):
                with pytest.raises(InvalidRequest) as caught:
                    db.archive.list(**asked)
                assert caught.value.field in asked
            with pytest.raises(NotFound):
                db.archive.list(topic_id=NO_ID)
