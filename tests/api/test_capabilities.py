"""L5 through `db.capabilities`: importing, life, statistics, which cards fit, and what is never written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memhop import DB, InvalidRequest, NotFound, StorageError
from memhop.common.clock import ManualClock
from memhop.common.ids import from_hex
from memhop.repo.builtin import builtin_cards
from memhop.repo.card import CARD_BYTES
from tests.support.memories import HOUR, NOW, distract, every, memory


def card(name: str = "deploy", **changes: Any) -> dict[str, Any]:
    return {
        "format": "memhop-capability/v2",
        "name": name,
        "type": "skill",
        "summary": f"About {name}.",
        "trigger": f"{name} service",
        "resources": [{"type": "skill", "name": name, "ref": f"skills/{name}/SKILL.md", "description": "how to"}],
        **changes,
    }


def written(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return path


class TestImport:
    def test_the_four_kinds_of_source(self, tmp_path: Path) -> None:
        folder = tmp_path / "cards"
        folder.mkdir()
        written(folder / "capability.json", card("of folder"))
        written(folder / "other.json", "not read")
        with memory(tmp_path / "a.meh") as db:
            (of_file,) = db.capabilities.import_(written(tmp_path / "c.json", card("of file"))).cards
            (of_folder,) = db.capabilities.import_(folder).cards
            (of_text,) = db.capabilities.import_("\ufeff " + json.dumps(card("of text"))).cards
            (of_dict,) = db.capabilities.import_(card("of dict")).cards
            found = (of_file, of_folder, of_text, of_dict)
            assert [item.source for item in found] == ["c.json", "capability.json", "text", "data"]
            assert {item.action for item in found} == {"created"}
            for item in found:
                assert (item.card.status, item.card.origin, item.card.created_at) == ("active", "imported", NOW)
                assert db.capabilities.get(item.card.id) == db.capabilities.get(item.card.name.upper()) == item.card
        with memory(tmp_path / "a.meh") as db:
            assert len(every(db.capabilities.list, origin="imported")) == 4
            assert db.verify(deep=True).ok

    def test_a_folder_of_many_takes_over_what_does(self, tmp_path: Path) -> None:
        folder = tmp_path / "cards"
        folder.mkdir()
        for name in ("b", "a"):
            written(folder / f"{name}.json", card(name, icon="x"))
        written(folder / "broken.json", "{")
        written(folder / "odd.json", card("odd", type="manual"))
        written(folder / "twin.json", card("A"))
        written(folder / "readme.txt", "not looked at")
        (folder / "gone.json").symlink_to(folder / "a.json")
        with memory(tmp_path / "a.meh") as db:
            before = db.stats().commit
            found = db.capabilities.import_(folder)
            assert db.stats().commit == before + 1
            assert [(item.source, item.card.name) for item in found.cards] == [("a.json", "a"), ("b.json", "b")]
            assert found.cards[0].remarks == ("icon is not known and was left out",)
            refused = {item.source: (item.field, item.reason) for item in found.errors}
            assert list(refused) == ["broken.json", "gone.json", "odd.json", "twin.json"]
            assert refused["odd.json"][0] == "type"
            assert "link" in refused["gone.json"][1]
            assert "a.json has a card of this name" in refused["twin.json"][1]

    def test_the_same_bytes_change_nothing(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        path = written(tmp_path / "c.json", card())
        with memory(tmp_path / "a.meh", clock=clock) as db:
            first = db.capabilities.import_(path).cards[0].card
            clock.advance(HOUR)
            before = db.stats().head_digest
            again = db.capabilities.import_(path).cards[0]
            assert (again.action, again.card) == ("unchanged", first)
            assert db.stats().head_digest == before

    def test_other_bytes_replace_what_it_says_and_keep_how_it_did(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            db.capabilities.import_(card())
            db.capabilities.record_usage("deploy", True)
            db.capabilities.deprecate("deploy")
            clock.advance(HOUR)
            (item,) = db.capabilities.import_(card(summary="Other words.")).cards
            assert item.action == "updated"
            assert (item.card.summary, item.card.status) == ("Other words.", "deprecated")
            assert (item.card.trigger_count, item.card.success_rate) == (1, 1.0)
            assert (item.card.created_at, item.card.updated_at) == (NOW, NOW + HOUR)

    def test_an_edited_card_can_be_had_back_from_its_file(self, tmp_path: Path) -> None:
        """The digest of the file stayed with a card that said something else by then: importing it did nothing."""
        path = written(tmp_path / "c.json", card())
        with memory(tmp_path / "a.meh") as db:
            imported = db.capabilities.import_(path).cards[0].card
            assert db.capabilities.update("deploy", summary="edited").file_hash is None
            back = db.capabilities.import_(path).cards[0]
            assert (back.action, back.card) == ("updated", imported)

    def test_a_card_hides_the_one_that_comes_along(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            assert db.capabilities.get("agent-read-file").origin == "builtin"
            db.capabilities.import_(card("Agent-Read-File"))
            assert db.capabilities.get("agent-read-file").origin == "imported"
            names = [found.name for found in every(db.capabilities.list)]
            assert "Agent-Read-File" in names
            assert "agent-read-file" not in names
            db.capabilities.deprecate("agent-read-file")
            assert "agent-read-file" not in [found.card.name.casefold() for found in db.capabilities.match("read file")]
            assert db.capabilities.delete("agent-read-file")
            assert db.capabilities.get("agent-read-file").origin == "builtin"


class TestHostilePaths:
    def refused(self, db: DB, source: Any) -> str:
        before = db.stats().head_digest
        with pytest.raises((InvalidRequest, StorageError)) as caught:
            db.capabilities.import_(source)
        assert db.stats().head_digest == before
        assert caught.value.field
        return str(caught.value)

    def test_links_are_not_followed(self, tmp_path: Path) -> None:
        real = tmp_path / "real"
        real.mkdir()
        written(real / "capability.json", card())
        (tmp_path / "file.json").symlink_to(real / "capability.json")
        (tmp_path / "folder").symlink_to(real)
        inside = tmp_path / "inside"
        inside.mkdir()
        (inside / "capability.json").symlink_to("/etc/passwd")
        with memory(tmp_path / "a.meh") as db:
            for source in ("file.json", "folder", "inside"):
                assert "link" in self.refused(db, tmp_path / source), source
            assert "link" in self.refused(db, f"{tmp_path}/folder/."), "a path that ends in /. follows the link"

    def test_only_regular_files_are_read(self, tmp_path: Path) -> None:
        """A pipe without a writer would have hung the call, and /dev/zero filled the memory."""
        os.mkfifo(tmp_path / "pipe.json")
        with memory(tmp_path / "a.meh") as db:
            assert "regular" in self.refused(db, tmp_path / "pipe.json")
            assert "regular" in self.refused(db, "/dev/zero")
            (tmp_path / "empty").mkdir()
            assert "no card" in self.refused(db, tmp_path / "empty")
            assert "cannot be read" in self.refused(db, tmp_path / "missing.json")
            assert "folder" in self.refused(db, f"{tmp_path}/")

    def test_size_is_capped(self, tmp_path: Path) -> None:
        whole = json.dumps(card())
        with memory(tmp_path / "a.meh") as db:
            fits = written(tmp_path / "fits.json", whole + " " * (CARD_BYTES - len(whole)))
            assert db.capabilities.import_(fits).cards[0].action == "created"
            assert "too many" in self.refused(db, written(tmp_path / "large.json", whole + " " * CARD_BYTES))
            assert "too many" in self.refused(db, whole + " " * CARD_BYTES)
            with (tmp_path / "holes.json").open("wb") as file:
                file.truncate(1 << 40)
            assert "too many" in self.refused(db, tmp_path / "holes.json")

    @pytest.mark.parametrize("source", [None, 5, b"{}", "", "\0", [], "{", '{"a": 1}', {"format": {1}}, {1: 2}])
    def test_other_sources_are_refused(self, tmp_path: Path, source: Any) -> None:
        with memory(tmp_path / "a.meh") as db:
            self.refused(db, source)

    @settings(
        max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(data=st.binary(max_size=60), at=st.integers(0, 400))
    def test_a_mangled_file_is_taken_or_refused(self, tmp_path: Path, data: bytes, at: int) -> None:
        whole = json.dumps(card()).encode()
        path = tmp_path / "c.json"
        path.write_bytes(whole[:at] + data + whole[at + len(data) :])
        with memory(tmp_path / "a.meh") as db:
            with suppress(InvalidRequest):
                db.capabilities.import_(path)
            for found in every(db.capabilities.list, origin="imported"):
                json.dumps(found.to_dict())


class TestLife:
    def test_draft_active_deprecated(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.capabilities.import_(card())
            for status in ("draft", "weird"):
                with pytest.raises(InvalidRequest) as caught:
                    db.capabilities.update("deploy", status=status)
                assert caught.value.field == "status"
                assert "active" in str(caught.value.allowed)
            assert db.capabilities.update("deploy", status="active").status == "active"
            assert db.capabilities.deprecate("deploy").status == "deprecated"
            with pytest.raises(InvalidRequest, match="activate"):
                db.capabilities.update("deploy", status="active")
            assert db.capabilities.activate("deploy").status == "active"

    def test_an_update_is_checked_whole(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            db.capabilities.import_(card())
            before = db.capabilities.get("deploy")
            patches: list[tuple[dict[str, Any], str]] = [
                ({"type": "mcp"}, "resources[0].type"),
                ({"summary": "", "trigger": ""}, "summary"),
                ({"resources": []}, "resources"),
                ({"workflow": {"steps": [{"ref": "x"}]}}, "workflow.steps[0].ref"),
                ({"summary": 5}, "summary"),
            ]
            for patch, field in patches:
                with pytest.raises(InvalidRequest) as caught:
                    db.capabilities.update("deploy", **patch)
                assert caught.value.field == field
            with pytest.raises(InvalidRequest, match="icon"):
                db.capabilities.update("deploy", resources=[{**before.resources[0], "icon": "x"}])
            assert db.capabilities.get("deploy") == before
            clock.advance(HOUR)
            assert db.capabilities.update("deploy") == before, "nothing given, nothing changed"
            after = db.capabilities.update("deploy", summary="", version="", trigger="ship it")
            assert (after.summary, after.version, after.trigger) == ("", "1", "ship it")
            assert (after.created_at, after.updated_at, after.name) == (NOW, NOW + HOUR, "deploy")
            with db.at(db.stats().commit - 1) as past:
                assert past.capabilities.get("deploy") == before

    def test_usage_is_a_running_mean(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            db.capabilities.import_(card())
            assert db.capabilities.get("deploy").success_rate is None
            rates = []
            for success in (True, False, False, True):
                clock.advance(HOUR)
                rates.append(db.capabilities.record_usage("deploy", success).success_rate)
            assert rates == [1.0, 0.5, 1 / 3, 0.5]
            found = db.capabilities.get("deploy")
            assert (found.trigger_count, found.last_triggered_at, found.updated_at) == (4, NOW + 4 * HOUR, NOW)
            with pytest.raises(InvalidRequest):
                db.capabilities.record_usage("deploy", 1)  # type: ignore[arg-type]

    def test_deleting_takes_what_hangs_on_it(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = db.capabilities.import_(card()).cards[0].card
            note = db.remember("the card for releases", links=[found.id])
            db.recall("deploy service")
            db.checkpoint()
            assert db.usage(found.id).hits == 1
            assert db.capabilities.delete("deploy")
            assert not db.capabilities.delete("deploy")
            assert db.notes.get(note.id).links == ()
            assert db.verify(deep=True).ok
            assert db.recall("deploy service", layers=["capabilities"]).hits == ()
            with pytest.raises(NotFound):
                db.usage(found.id)

    def test_an_id_of_something_else_is_no_card(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("a note")
            calls: list[Callable[[], object]] = [
                lambda: db.capabilities.get(note.id),
                lambda: db.capabilities.update(note.id, summary="x"),
                lambda: db.capabilities.activate(note.id),
                lambda: db.capabilities.record_usage(note.id, True),
                lambda: db.capabilities.delete(note.id),
            ]
            for call in calls:
                with pytest.raises(NotFound):
                    call()
            assert db.notes.get(note.id).text == "a note"


class TestBuiltIn:
    def test_they_are_read_only(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            before = db.stats().head_digest
            for known in (db.capabilities.get("memhop-guide").id, "Memhop-Guide"):
                calls: list[Callable[[str], object]] = [
                    lambda name: db.capabilities.update(name, summary="mine"),
                    db.capabilities.activate,
                    db.capabilities.deprecate,
                    lambda name: db.capabilities.record_usage(name, True),
                    db.capabilities.delete,
                ]
                for call in calls:
                    with pytest.raises(InvalidRequest, match="read-only"):
                        call(known)
            assert db.stats().head_digest == before

    def test_they_are_never_written(self, tmp_path: Path) -> None:
        """Whatever is called, no word of them gets into the file."""
        path = tmp_path / "a.meh"
        with memory(path) as db:
            db.capabilities.import_(card())
            for found in every(db.capabilities.list):
                db.search(f"{found.trigger} {found.name}")
                db.capabilities.match(found.summary)
                if found.origin == "builtin":
                    with pytest.raises(InvalidRequest):
                        db.capabilities.record_usage(found.name, True)
            db.checkpoint()
            db.compact()
        data = path.read_bytes()
        for built_in in builtin_cards():
            for text in (
                built_in.summary,
                built_in.resources[0].description,
                *(words.summary for words in built_in.translations.values()),
            ):
                assert text.encode() not in data, built_in.name

    def test_they_speak_chinese(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            english, chinese = (db.capabilities.get("memhop-guide", language=code) for code in ("en", "zh"))
            assert english == db.capabilities.get("memhop-guide")
            assert english.languages == ("zh",)
            assert "记忆" in chinese.summary
            assert "检索" in chinese.resources[0]["description"]
            assert "回答之前" in chinese.workflow["steps"][0]["action"]
            assert [item.id for item in db.capabilities.list(language="zh").items] == [
                item.id for item in db.capabilities.list().items
            ]


class TestList:
    def test_pages_and_filters(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            for number in range(7):
                clock.advance(HOUR)
                db.capabilities.import_(card(f"card {number}", trigger="部署" if number == 3 else "x"))
            clock.advance(HOUR)
            db.capabilities.deprecate("card 2")
            found = every(db.capabilities.list)
            names = [item.name for item in found]
            assert names[:7] == ["card 2", "card 6", "card 5", "card 4", "card 3", "card 1", "card 0"]
            assert names[7:] == sorted(item.name for item in builtin_cards())
            for page in (1, 2, 7, 100):
                assert every(db.capabilities.list, page=page) == found
            assert [item.name for item in every(db.capabilities.list, status="deprecated")] == ["card 2"]
            assert [item.name for item in every(db.capabilities.list, keyword="部署")] == ["card 3"]
            assert {item.type for item in every(db.capabilities.list, type="composite")} == {"composite"}
            assert len(every(db.capabilities.list, origin="imported", keyword="CARD", page=2)) == 7
            assert [item.name for item in every(db.capabilities.list, keyword="忘记")] == ["memhop-forget"]
            for wrong in ({"status": "on"}, {"type": "tool"}, {"origin": "host"}, {"limit": 0}, {"cursor": "x"}):
                with pytest.raises(InvalidRequest):
                    db.capabilities.list(**wrong)


class TestMatching:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("Please read the file config.toml and tell me which port the server uses", "agent-read-file"),
            ("run the tests and show me what fails", "agent-run-command"),
            ("what did we decide about the database last month?", "memhop-recall"),
            ("please remember this: the door code is 4711", "memhop-remember"),
            ("make a backup of the memory before we go on", "memhop-backup"),
            ("上网查一下今天的最新消息", "agent-web-search"),
            ("请记住这个电话号码", "memhop-remember"),
        ],
    )
    def test_what_is_asked_for_comes_first(self, tmp_path: Path, text: str, name: str) -> None:
        with memory(tmp_path / "a.meh") as db:
            distract(db)
            found = db.capabilities.match(text)
            assert found[0].card.name == name
            assert db.search(text).capabilities[0] == found[0].card
            for match in found:
                assert match.score == pytest.approx(sum(match.parts.values()))
                assert match.terms

    def test_small_talk_brings_up_no_card(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for text in ("hello", "We start tomorrow", "My sister looks great in that photo!", "今天天气很好", "!?"):
                assert db.capabilities.match(text) == (), text

    def test_cards_of_the_file_are_ranked_among_the_others(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            distract(db)
            db.remember_many([f"kayak number {n} was deployed to the service" for n in range(30)])
            db.capabilities.import_(card("deploy"))
            db.capabilities.import_(card("rollback", trigger="deploy service back", summary="after a failed deploy"))
            found = [match.card.name for match in db.capabilities.match("deploy the service again", limit=2)]
            assert found == ["deploy", "rollback"], (
                "thirty notes with the same words stand in front of them in a recall"
            )
            assert [item.name for item in db.search("deploy the service again").capabilities] == found

    def test_the_name_speaks_loudest(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.capabilities.import_(card("walnut harvest", trigger="x", summary="y"))
            db.capabilities.import_(card("autumn", trigger="z", summary="walnut harvest"))
            first, second = db.capabilities.match("walnut harvest")
            assert (first.card.name, second.card.name) == ("walnut harvest", "autumn")
            assert first.parts["name"] > first.parts.get("words", 0)

    def test_drafts_and_deprecated_cards_are_not_offered(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.capabilities.import_(card())
            assert db.capabilities.match("deploy service")
            db.capabilities.deprecate("deploy")
            assert not db.capabilities.match("deploy service")
            assert not db.recall("deploy service", layers=["capabilities"]).hits
            db.capabilities.activate("deploy")
            assert db.capabilities.match("deploy service")

    def test_success_lifts_and_failure_sinks_among_equals(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for name in ("alpha", "beta", "gamma"):
                db.capabilities.import_(card(name, trigger="deploy service", summary="same words"))
            for name, success in (("gamma", True), ("alpha", False)):
                for _ in range(5):
                    db.capabilities.record_usage(name, success)
            found = db.capabilities.match("deploy service")
            assert [match.card.name for match in found] == ["gamma", "beta", "alpha"]
            used = {match.card.name: match.parts.get("usage", 0.0) for match in found}
            assert used["gamma"] > 0 == used["beta"] > used["alpha"]
            assert abs(used["gamma"]) <= 0.1 * (found[0].score - used["gamma"]) + 1e-12

    def test_a_reply_counts_a_card_once(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            id_ = db.capabilities.import_(card()).cards[0].card.id
            db.capabilities.match("deploy service")
            assert db.usage(id_).hits == 0
            db.search("deploy service")
            assert db.usage(id_).hits == 1

    def test_english_loads_no_dictionary(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            db.capabilities.import_(card("deploy", translations={"zh": {"trigger": "部署服务"}}))
            db.checkpoint()  # or opening would index its Chinese words
        code = (
            f"import sys, memhop\nwith memhop.DB.open({str(path)!r}) as db:\n"
            "    assert db.capabilities.match('deploy service')[0].card.name == 'deploy'\n"
            "    assert 'jieba' not in sys.modules\n    db.capabilities.match('部署服务')\n"
            "    assert 'jieba' in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_erasing_a_message_takes_the_cards_drawn_from_it(tmp_path: Path) -> None:
    """A card may hold words of the steps it was made from, and these may quote the message."""
    from memhop.repo.l5_capability import Capability, capability_id

    with memory(tmp_path / "a.meh") as db:
        (message,) = db.archive.append_many([{"text": "the vault opens with walnut"}])
        stored = Capability(
            name="open vault", type="skill", summary="say walnut", origin="crystallized", sources=(from_hex(message),)
        )
        with db._store.writing() as batch:
            batch.put(stored, capability_id(stored.name))
        note = db.remember("see the card", links=[db.capabilities.get("open vault").id])
        receipt = db.forget(message, hard=True, prove=True).receipt
        assert receipt is not None
        assert receipt.complete, receipt.not_reached
        with pytest.raises(NotFound):
            db.capabilities.get("open vault")
        assert db.notes.get(note.id).links == ()
        assert db.verify(deep=True).ok
        assert b"walnut" not in (tmp_path / "a.meh").read_bytes()
