"""What is taken in comes with the call or from one folder; what is given out comes page by page, each record once."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from memhop.server.operation import Host, Operation
from memhop.server.operations import OPERATIONS, transfer
from memhop.server.reply import ROOM, size_of
from tests.server.operations.layers import ask, data_of, filled
from tests.support.memories import memory

LINES = "# Boat\n\n- painted with epoxy\n- has an oak hull\n"


def pages(db: DB, **asked: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and all items, page by page."""
    header: dict[str, Any] = {}
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        reply = ask(db, "memhop_export", cursor=cursor, **asked)
        assert not reply.failed, reply.text
        assert "cut" not in reply.data
        assert reply.data["whole"] == (cursor is None and reply.data["next"] is None)
        header = header or reply.data["header"]
        items += reply.data["items"]
        cursor = reply.data["next"]
        if cursor is None:
            return header, items


def as_lines(header: dict[str, Any], items: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in (header, *items))


class TestExport:
    def test_its_pages_are_an_export_that_can_be_imported(self, tmp_path: Path) -> None:
        db, _ = filled(tmp_path / "a.meh")
        with db, memory(tmp_path / "b.meh", durability="none") as other:
            db.remember_many(f"note {number} about the boat" for number in range(60))
            header, items = pages(db, max_chars=4_000)
            assert items[0] != items[-1]
            done = data_of(other, "memhop_import", content=as_lines(header, items))
            assert (done["read"], done["rejected"]) == (len(items), 0)
            assert other.export().digest == db.export().digest

    def test_all_of_it_is_there_whatever_the_size_of_a_page(self, tmp_path: Path) -> None:
        db, _ = filled(tmp_path / "a.meh")
        with db:
            stream = BytesIO()
            db.export(stream)
            whole = [json.loads(line) for line in stream.getvalue().splitlines()]
            for most in (1_000, 3_000, 900_000):
                header, items = pages(db, max_chars=most)
                assert [header, *items] == whole

    def test_a_page_fits_a_reply(self, tmp_path: Path) -> None:
        db, _ = filled(tmp_path / "a.meh")
        with db:
            db.remember_many(f'"note" {number} \\ with\nlines and 漢字 ' * 20 for number in range(40))
            cursor = None
            while True:
                reply = ask(db, "memhop_export", cursor=cursor)
                assert size_of(reply.data) <= ROOM
                assert "cut" not in reply.data
                cursor = reply.data["next"]
                if cursor is None:
                    break
                assert cursor in reply.text
                assert "memhop export" in reply.text

    def test_what_is_written_between_two_pages_moves_nothing(self, tmp_path: Path) -> None:
        """Places are records and not lines: an agent goes on writing while somebody reads its memory."""
        db, ids = filled(tmp_path / "a.meh")
        with db:
            notes = [note.id for note in db.remember_many(f"note {number}" for number in range(30))]
            seen: list[str] = []
            cursor, turn = None, 0
            while True:
                page = data_of(db, "memhop_export", cursor=cursor, max_chars=1_000)
                seen += [one["id"] for one in page["items"]]
                cursor = page["next"]
                if cursor is None:
                    break
                turn += 1
                db.remember(f"meanwhile {turn}")
                db.archive.append_many([{"text": f"meanwhile {turn}"}])
                if seen[-1] == ids.fact:
                    db.facts.delete(ids.fact)
            assert len(seen) == len(set(seen))
            assert set(notes) <= set(seen)

    def test_a_cursor_that_is_none_is_refused(self, tmp_path: Path) -> None:
        db, ids = filled(tmp_path / "a.meh")
        with db:
            for bad in ("x", "fact.", f"fact.{ids.fact}.1", f"secret.{ids.fact}", "../etc.0000000000000000"):
                assert ask(db, "memhop_export", cursor=bad).data["field"] == "cursor"

    def test_one_project(self, tmp_path: Path) -> None:
        db, _ = filled(tmp_path / "a.meh")
        with db:
            db.remember("a note about sails", project="boat")
            header, items = pages(db, project="boat")
            assert header["project"] == "boat"
            assert {one["kind"] for one in items} == {"note"}
            of_server = data_of(db, "memhop_export", Host(project="boat"))
            assert of_server["items"] == items
            assert data_of(db, "memhop_export", Host(project="boat"), project="*")["header"].get("project") is None

    def test_a_record_larger_than_a_reply_is_said_to_be_cut(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.remember("long words " * 5_000)
            reply = ask(db, "memhop_export")
            assert reply.data["cut"]["texts"] == 1
            assert size_of(reply.data) <= ROOM
            whole = OPERATIONS["memhop_export"].call(Host(), db, {}, room=1_000_000)
            assert "cut" not in whole.data


class TestImport:
    def test_what_comes_with_the_call(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            tried = data_of(db, "memhop_import", content=LINES, dry_run=True)
            assert tried["created"] == 2
            assert not db.notes.list().items
            done = data_of(db, "memhop_import", content=LINES, project="boat")
            assert done["created"] == 2
            assert {note.project for note in db.notes.list().items} == {"boat"}
            again = data_of(db, "memhop_import", content=LINES, project="boat")
            assert (again["created"], again["unchanged"]) == (0, 2)
            (entry,) = data_of(db, "memhop_import_list")["items"]
            assert (entry["number"], entry["created"]) == (done["number"], 2)
            shown = data_of(db, "memhop_import_show", number=done["number"])
            assert len(shown["created"]["note"]) == 2
            assert data_of(db, "memhop_import_undo", number=done["number"])["removed"] == 2
            assert ask(db, "memhop_import_undo", number=done["number"]).data["error"] == "InvalidRequest"
            assert not db.notes.list().items

    def test_nothing_of_it_stays_behind_on_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither what came, which is private, nor the copy of what was rejected."""
        spare = tmp_path / "spare"
        spare.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(spare))
        broken = '{"format":"memhop-export","version":1}\n{"id":"00000000000000ab","kind":"note","record":{"text":5}}\n'
        with memory(tmp_path / "a.meh") as db:
            reply = ask(db, "memhop_import", content=broken)
            assert reply.data["rejected"] == 1
            assert reply.data["problems"][0]["reason"] in reply.text
            assert "rejects_path" not in reply.data
            assert ask(db, "memhop_import", content="\x00\x01 nothing known").failed
            assert list(spare.iterdir()) == []

    def test_errors_name_no_place_of_the_server(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for given in (
                {"content": "\x00\x01"},
                {"content": "[]", "format": "chatgpt"},
                {"content": '{"format":"memhop-export","version":99}\n'},
                {"content": "x", "format": "memhop"},
            ):
                reply = ask(db, "memhop_import", **given)
                assert reply.failed, given
                assert "memhop-import-" not in json.dumps(reply.data) + reply.text, reply.text
                assert "/" not in reply.data["message"].replace("JSON/", ""), reply.text

    def test_exactly_one_of_content_and_file(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for given in ({}, {"content": LINES, "file": "x.md"}):
                assert ask(db, "memhop_import", **given).data["field"] == "content"
            assert ask(db, "memhop_import", content="\ud800").data["field"] == "content"
            assert ask(db, "memhop_import", content=LINES, format="wizardry").data["field"] == "format"

    def test_too_much_is_refused_before_it_is_written_anywhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transfer, "MOST_INLINE", 20)
        with memory(tmp_path / "a.meh") as db:
            reply = ask(db, "memhop_import", content=LINES)
            assert reply.data["allowed"] == "at most 20"
            assert "memhop import" in reply.data["hint"]


class TestFolder:
    @pytest.fixture
    def host(self, tmp_path: Path) -> Host:
        folder = tmp_path / "imports"
        folder.mkdir()
        (folder / "boat.md").write_text(LINES)
        (tmp_path / "outside.md").write_text("# Secret\n\n- of another tenant\n")
        return Host(imports=folder)

    def test_a_file_of_it(self, host: Host, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            done = data_of(db, "memhop_import", host, file="boat.md")
            assert done["created"] == 2
            assert "rejects_path" not in done
            assert data_of(db, "memhop_import_list")["items"][0]["source"] == "boat.md"

    @pytest.mark.parametrize(
        "name",
        [
            "../outside.md", "..", ".", "./boat.md", "/etc/passwd", "sub/boat.md", "..\\outside.md", "C:boat.md",
            ".hidden.md", "boat.md\x00", "boat.md\n", "x" * 300, "~", "link.md", "folder", "pipe", "",
        ],
    )  # fmt: skip
    def test_nothing_else(self, name: str, host: Host, tmp_path: Path) -> None:
        """No path, no link, no folder, no device: the memories of other tenants are files of the same machine."""
        assert host.imports is not None
        (host.imports / "link.md").symlink_to(tmp_path / "outside.md")
        (host.imports / "folder").mkdir()
        (host.imports / ".hidden.md").write_text(LINES)
        os.mkfifo(host.imports / "pipe")
        with memory(tmp_path / "a.meh") as db:
            reply = ask(db, "memhop_import", host, file=name)
            assert reply.failed
            assert reply.data["field"] == "file"
            assert reply.data["error"] in ("InvalidRequest", "NotFound")
            assert str(tmp_path) not in json.dumps(reply.data) + reply.text
            assert not db.notes.list().items

    def test_one_that_is_not_there_or_too_large(
        self, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with memory(tmp_path / "a.meh") as db:
            assert ask(db, "memhop_import", host, file="other.md").data["error"] == "NotFound"
            monkeypatch.setattr(transfer, "MOST_FILE", 10)
            assert "too many" in ask(db, "memhop_import", host, file="boat.md").text
            assert ask(db, "memhop_import", Host(), file="boat.md").data["allowed"] == "content"

    def test_whoever_runs_the_server_learns_where_the_rejected_ones_are(self, host: Host, tmp_path: Path) -> None:
        assert host.imports is not None
        header = '{"format":"memhop-export","version":1}\n'
        (host.imports / "broken.jsonl").write_text(header + '{"id":"00000000000000ab","kind":"note","record":5}\n')
        with memory(tmp_path / "a.meh") as db:
            near = data_of(db, "memhop_import", host._replace(local=True), file="broken.jsonl")
            assert Path(near["rejects_path"]).parent == host.imports
            assert "rejects_path" not in data_of(db, "memhop_import", host, file="broken.jsonl")


def test_all_of_it_needs_an_administrator() -> None:
    found: list[Operation] = [
        OPERATIONS[f"memhop_{name}"] for name in ("import", "import_list", "import_undo", "export")
    ]
    assert {one.scope for one in found} == {"admin"}
