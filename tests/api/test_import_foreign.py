"""What other programs exported, taken in: by the ids of the source, once, and the counts add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memhop import HashEmbedder, InvalidRequest
from memhop.common.clock import ManualClock, to_iso
from memhop.common.settings import Config, NotesSection
from tests.api.test_import import counts
from tests.support.memories import DAY, HOUR, NOW, every, memory
from tests.support.sources import graph, hemisphere, hinterland, transcript


def test_notes_keep_their_times_counters_and_places(tmp_path: Path) -> None:
    line = {
        "content": "the kayak leaks", "scope": "boats", "tags": ["wet"], "metadata": {"depth": 3}, "recalled": 7,
        "lastRecalledAt": to_iso(NOW - HOUR), "updatedAt": to_iso(NOW - 2 * HOUR),
    }  # fmt: skip
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(hinterland(tmp_path / "in.jsonl", line))
        assert (report.format, report.number) == ("hinterland", 1)
        (note,) = db.notes.list().items
        assert (note.text, note.project, note.tags) == ("the kayak leaks", "boats", ("wet",))
        assert (note.at, note.created_at, note.updated_at) == (NOW - DAY, NOW - DAY, NOW - 2 * HOUR)
        assert (note.source, note.external_id, note.rev) == ("hinterland", "hinterland:m1", 1)
        assert note.metadata["depth"] == 3
        usage = db.usage(note.id)
        assert usage is not None
        assert (usage.hits, usage.last_at) == (7, NOW - HOUR)
        assert db.recall("kayak").hits[0].id == note.id


def test_the_same_source_again_changes_nothing(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16)) as db:
        sources = (
            hinterland(tmp_path / "h.jsonl", {}, {}, b"broken"),
            hemisphere(
                tmp_path / "m.db",
                [(1, "bug", "open", "login fails", "2", None, None), (2, "fact", "", "b", "", None, None)],
            ),
            graph(
                tmp_path / "memory.jsonl",
                {"Ann": ["likes tea"], "Bob": []},
                [("Ann", "knows", "Bob"), ("Ann", "knows", "Zed")],
            ),
            transcript(tmp_path / "t.jsonl", ["does the kayak leak?", "it does"]),
        )  # fmt: skip
        first = [counts(db.import_(source)) for source in sources]
        assert first == [
            {"created": 2, "rejected": 1}, {"created": 2}, {"created": 3, "rejected": 1}, {"created": 2},
        ]  # fmt: skip
        db.backfill()
        before = db.pending(), db.stats().commit, db.export().digest
        again = [counts(db.import_(source)) for source in sources]
        assert again == [
            {"unchanged": 2, "rejected": 1}, {"unchanged": 2}, {"unchanged": 3, "rejected": 1}, {"unchanged": 2},
        ]  # fmt: skip
        assert (db.pending(), db.stats().commit, db.export().digest) == before
        assert db.verify(deep=True).ok


def test_tiers_links_and_statuses(tmp_path: Path) -> None:
    """Links are resolved whatever the order; one that leads nowhere is told, and so is a status that does not exist."""
    seconds = NOW // 1000
    rows = [
        (1, "bug", "in_progress", "login fails", "2,3,99", None, None),
        (2, "decision", "maybe", "use postgres", "", seconds - 60, None),
        (3, "note", "", "an old page", "1", seconds - 90, seconds - 60),
    ]
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(hemisphere(tmp_path / "m.db", rows))
        assert counts(report) == {"created": 3}
        assert report.remarks == {
            "links to what the source does not have were left out": 1,
            "statuses that the kind does not have were kept as metadata.source_status": 1,
        }
        notes = {note.external_id: note for note in every(db.notes.list, tier="all")}
        bug, decision, page = (notes[f"hemisphere:{number}"] for number in (1, 2, 3))
        assert (bug.tier, decision.tier, page.tier) == ("active", "archived", "trashed")
        assert (bug.status, decision.status) == ("in_progress", "proposed")
        assert decision.metadata["source_status"] == "maybe"
        assert (bug.links, page.links) == ((decision.id, page.id), (bug.id,))
        assert bug.rev == 1
        assert db.imports.undo(1).removed == 3
        assert every(db.notes.list) == []


def test_newer_wins_older_does_not(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    with memory(tmp_path / "a.meh") as db:
        db.import_(hinterland(source, {"content": "first"}))
        (note,) = db.notes.list().items
        newer = {"content": "second", "updatedAt": to_iso(NOW - HOUR)}
        assert counts(db.import_(hinterland(source, newer), on_conflict="skip")) == {"skipped": 1}
        assert counts(db.import_(hinterland(source, newer))) == {"updated": 1}
        now = db.notes.get(note.id)
        assert (now.text, now.rev, now.updated_at) == ("second", 2, NOW - HOUR)
        report = db.import_(hinterland(source, {"content": "first"}))
        assert counts(report) == {"skipped": 1}
        assert report.remarks == {"the memory's version is the newer one": 1}
        assert db.notes.get(note.id).text == "second"
        assert counts(db.import_(source, on_conflict="overwrite")) == {"updated": 1}
        assert db.notes.get(note.id).text == "first"
        db.imports.undo(db.imports.list().items[0].number)
        assert db.notes.get(note.id).text == "second"


def test_what_somebody_changed_here_stays(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        db.import_(hinterland(source, {"content": "first"}))
        db.remember("mine", external_id="hinterland:m1")
        older = {"content": "second", "updatedAt": to_iso(NOW - HOUR)}
        assert counts(db.import_(hinterland(source, older))) == {"skipped": 1}
        (note,) = db.notes.list().items
        assert note.text == "mine"


def test_a_source_without_times(tmp_path: Path) -> None:
    """A folder of pages: taken for now, and told; another wording is the newer one unless somebody touched the note."""
    folder = tmp_path / "pages"
    folder.mkdir()
    page = folder / "kayak.md"
    page.write_text("---\ntitle: Kayak\ntype: fact\n---\nThe kayak leaks.\n")
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        report = db.import_(folder)
        assert report.format == "markdown"
        assert report.remarks == {"without a time: taken for now": 1}
        (note,) = db.notes.list().items
        clock.advance(DAY)
        assert set(counts(db.import_(folder))) == {"unchanged"}
        page.write_text("---\ntitle: Kayak\ntype: fact\n---\nThe kayak is mended.\n")
        assert counts(db.import_(folder)) == {"updated": 1}
        clock.advance(DAY)
        assert "mended" in db.notes.get(note.id).text
        db.remember("my own words", external_id=str(note.external_id), kind="fact")
        assert counts(db.import_(folder)) == {"skipped": 1}
        assert db.notes.get(note.id).text == "my own words"


def test_a_graph_grows(tmp_path: Path) -> None:
    """A file without ids and times: what has more to say is taken, what says something else is not."""
    source = tmp_path / "memory.jsonl"
    with memory(tmp_path / "a.meh") as db:
        db.import_(graph(source, {"Ann": ["likes tea"], "Bob": ["is tall"]}, [("Ann", "knows", "Bob")]))
        (there,) = db.knowledge.graphs().items
        report = db.import_(
            graph(source, {"Ann": ["likes tea", "lives in Linz"], "Bob": ["is short"]}, [("Bob", "causal", "Ann")])
        )
        assert counts(report) == {"created": 1, "updated": 1, "skipped": 1}
        ann, bob = sorted(every(db.knowledge.nodes, graph_id=there.id), key=lambda node: node.title)
        assert (ann.content, bob.content) == ("likes tea\nlives in Linz", "is tall")
        edges = {(edge.relation, edge.label, edge.node_ids) for edge in every(db.knowledge.edges, graph_id=there.id)}
        assert edges == {("custom", "knows", (ann.id, bob.id)), ("causal", None, (bob.id, ann.id))}
        assert counts(db.import_(source, on_conflict="overwrite")) == {"unchanged": 2, "updated": 1}
        assert db.verify(deep=True).ok


def test_messages_are_said_once(tmp_path: Path) -> None:
    turns = ["does the kayak leak?", "at the seam", "which one?"]
    with memory(tmp_path / "a.meh") as db:
        db.import_(transcript(tmp_path / "t.jsonl", turns))
        said = every(db.archive.list, session="s1")
        assert [(message.text, message.role, message.at) for message in said] == [
            (text, ("user", "agent")[n % 2], NOW - DAY + n * 1000) for n, text in enumerate(turns)
        ]
        changed = transcript(tmp_path / "t.jsonl", ["does the canoe leak?", *turns[1:], "the left"])
        report = db.import_(changed, on_conflict="overwrite")
        assert counts(report) == {"created": 1, "unchanged": 2, "rejected": 1}
        assert "says something else" in report.problems[0].reason
        assert json.loads(Path(str(report.rejects_path)).read_bytes())["text"] == "does the canoe leak?"
        assert db.recall("which seam leaks").hits


def test_another_project_and_a_dry_run(tmp_path: Path) -> None:
    source = hinterland(tmp_path / "in.jsonl", {}, {"scope": "work"}, b"broken")
    with memory(tmp_path / "a.meh") as db:
        before = db.export().digest, sorted(path.name for path in tmp_path.iterdir())
        told = db.import_(source, project="all", dry_run=True)
        assert (db.export().digest, sorted(path.name for path in tmp_path.iterdir())) == before
        assert counts(told) == counts(db.import_(source, project="all")) == {"created": 2, "rejected": 1}
        assert {note.project for note in every(db.notes.list)} == {"all"}


def test_the_same_words_are_one_note_unless_told_otherwise(tmp_path: Path) -> None:
    source = hinterland(tmp_path / "in.jsonl", *[{"content": "the same words"}] * 5)
    with memory(tmp_path / "a.meh") as db:
        assert counts(db.import_(source)) == {"created": 1, "unchanged": 4}
        assert counts(db.import_(source)) == {"unchanged": 5}
    with memory(tmp_path / "b.meh", config=Config(notes=NotesSection(dedupe="off"))) as db:
        assert counts(db.import_(source)) == {"created": 5}


def test_odd_items_are_rejected_and_the_rest_is_kept(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"content": "fine"},
        {"content": "x" * (4 * 1024 * 1024 + 1)},
        {"metadata": {"a": "x" * 70_000}},
        {"tags": [str(n) for n in range(99)]},
    ]
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(hinterland(tmp_path / "in.jsonl", *lines))
        assert report.created >= 1
        assert report.created + report.rejected == 4
        assert len({problem.place for problem in report.problems}) == report.rejected


def test_times_to_come_are_taken_for_now(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(hinterland(tmp_path / "in.jsonl", {"createdAt": to_iso(NOW + 30 * DAY)}))
        assert "a time in the future was taken for now" in report.remarks
        (note,) = db.notes.list().items
        assert note.at == NOW


def test_what_nobody_knows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(range(256)) * 9)
    with memory(tmp_path / "a.meh") as db:
        with pytest.raises(InvalidRequest) as error:
            db.import_(tmp_path / "photo.jpg")
        assert error.value.field == "format"
        assert "hinterland" in str(error.value.allowed)
        with pytest.raises(InvalidRequest):
            db.import_(tmp_path / "photo.jpg", format="hinterland")
        assert db.stats().commit == 0


def test_what_supersedes_what_is_kept_and_taken_back(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "old.md").write_text("---\ntitle: Old\ntype: decision\n---\nWe use MySQL.\n\n- supersedes [[New]]\n")
    (folder / "new.md").write_text("---\ntitle: New\ntype: decision\n---\nWe use Postgres.\n\n- supersedes [[Old]]\n")
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(folder)
        notes = {note.external_id: note for note in every(db.notes.list)}
        superseded = [note for note in notes.values() if note.superseded_by]
        assert len(superseded) == 1, "they cannot supersede each other"
        assert any("supersede each other" in remark for remark in report.remarks)
        assert superseded[0].status == "superseded"
        assert db.verify(deep=True).ok
        assert db.imports.undo(1).stayed == ()
        assert every(db.notes.list, tier="all") == []
