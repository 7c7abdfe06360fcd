"""An export taken in: the same records under the same ids, whatever is there already; a bad line is told."""

from __future__ import annotations

import json
import random
import stat
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from memhop import DB, BadFormat, HashEmbedder, InvalidRequest, NotFound, StorageError
from memhop.api import import_journal, results
from memhop.common.clock import ManualClock
from memhop.common.config import LIMITS
from memhop.repo.record import Kind
from tests.support.every_kind import every_kind
from tests.support.memories import DAY, HOUR, NO_ID, NOW, every, memory
from tests.support.processes import Starter

HEADER = {"format": "memhop-export", "version": 1}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a memory with a record of every kind."""
    folder = tmp_path_factory.mktemp("exported")
    every_kind(folder / "a.meh")
    with memory(folder / "a.meh") as db:
        db.export(folder / "e.jsonl")
    return folder / "e.jsonl"


def counts(report: results.ImportReport) -> dict[str, int]:
    """Those that are not 0. They always add up."""
    names = ("created", "updated", "unchanged", "skipped", "rejected")
    found = {name: count for name in names if (count := getattr(report, name))}
    assert sum(found.values()) == report.read
    return found


def note_line(id_: str = NO_ID, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "kind": "note", "record": {"text": "a kayak in the shed", "at": NOW, **fields}}


def written(path: Path, *lines: Any, header: Any = HEADER) -> Path:
    """A file of these lines, each a value to be said as JSON, or bytes as they are."""
    said = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in (header, *lines))
    path.write_bytes(b"\n".join(said) + b"\n")
    return path


@pytest.mark.parametrize("shuffled", [False, True])
def test_all_layers_come_back_as_they_were(tmp_path: Path, exported: Path, shuffled: bool) -> None:
    """In whatever order the lines are."""
    source = exported
    if shuffled:
        head, *rest = exported.read_bytes().splitlines()
        random.Random(5).shuffle(rest)
        source = tmp_path / "shuffled.jsonl"
        source.write_bytes(b"\n".join((head, *rest)))
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(source)
        assert counts(report) == {"created": len(exported.read_bytes().splitlines()) - 1}
        assert (report.remarks, report.problems, report.rejects_path) == ({}, (), None)
        db.export(tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_bytes() == exported.read_bytes()
        assert db.verify(deep=True).ok
        db.checkpoint()
    with memory(tmp_path / "a.meh") as db:
        assert db.export().digest == db.export(tmp_path / "third").digest
        assert db.recall("kayak shed").hits


def test_twice_is_once(tmp_path: Path, exported: Path) -> None:
    """Nothing is written the second time, and no vector is lost."""
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16)) as db:
        db.import_(exported)
        db.backfill()
        before = db.pending(), db.stats().commit, db.export().digest, db.stats().records
        report = db.import_(exported)
        assert set(counts(report)) == {"unchanged"}
        assert report.number is None
        assert (db.pending(), db.stats().commit, db.export().digest, db.stats().records) == before
        assert len(db.imports.list().items) == 1


def test_fields_of_a_newer_build_come_along(tmp_path: Path) -> None:
    line = note_line(mood_of_tomorrow=[1, {"a": None}])
    with memory(tmp_path / "a.meh") as db:
        db.import_(written(tmp_path / "in", line))
        db.export(tmp_path / "out")
        (there,) = [json.loads(text) for text in (tmp_path / "out").read_text().splitlines()[1:]]
        assert there["record"]["mood_of_tomorrow"] == [1, {"a": None}]
        assert set(counts(db.import_(tmp_path / "in"))) == {"unchanged"}
        line["record"]["mood_of_tomorrow"] = [2]
        line["record"]["updated_at"] = NOW + 1
        assert set(counts(db.import_(written(tmp_path / "in", line), on_conflict="overwrite"))) == {"updated"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"nonsense", "no JSON"),
        (b'{"id": "00000000000000ab", "kind": "no', "no JSON"),
        (b'{"id":"00000000000000ab","kind":"note","record":{"text":"\xff\xfe"}}', "UTF-8"),
        (b'{"id":"00000000000000ab","kind":"note","record":{"text":"a","at":NaN}}', "no JSON"),
        (b'{"id":"00000000000000ab","kind":"note","record":{"text":"\\ud800"}}', "no JSON"),
        (b'{"a":' + b"[" * 100_000, "nested too deep"),
        ([1, 2], "no JSON object"),
        ({"id": NO_ID, "kind": "memory", "record": {}}, "unknown kind"),
        ({"id": NO_ID, "kind": "space", "record": {}}, "unknown kind"),
        ({"id": NO_ID, "kind": ["note"], "record": {}}, "unknown kind"),
        ({"id": NO_ID, "kind": "note", "record": "text"}, "no object"),
        ({"id": NO_ID, "kind": "note", "record": {}}, "missing required field `text`"),
        ({"id": NO_ID, "kind": "note", "record": {"text": "a", "id": 5}}, "no object"),
        (note_line("0" * 16), "is not an id"),
        (note_line("xyz"), "is not an id"),
        ({"id": 171, "kind": "note", "record": {"text": "a"}}, "is not an id"),
        (note_line(text="  "), "blank"),
        (note_line(text=7), "Expected `str`"),
        (note_line(text="x" * (LIMITS.text_bytes + 1)), "too many"),
        (note_line(at=-1), ">= 0"),
        (note_line(at=10**30), "at"),
        (note_line(at=1.5), "Expected `int`"),
        (note_line(tier=3), "<= 2"),
        (note_line(project="a\nb"), "does not do"),
        (note_line(kind="k" * 201), "does not do"),
        (note_line(rev=-4), "rev and copies"),
        (note_line(rev=10**30), "rev"),
        (note_line(copies=2**70), "copies"),
        (note_line(links=["xyz"]), "is not an id"),
        (note_line(links=[171]), "is not an id"),
        (note_line(links=[NO_ID], link_types=["fixes", "fixes"]), "as many types"),
        (note_line(link_types=["likes"], links=[NO_ID]), "regex"),
        (note_line(metadata={"a": 10**30}), "beyond 64 bits"),
        (note_line(metadata={"a": "x" * LIMITS.metadata_bytes}), "too many"),
        (note_line(mood=10**30), "beyond 64 bits"),
        (note_line(tags=["t"] * 3 + [f"t{n}" for n in range(65)]), "too many"),
        ({"id": NO_ID, "kind": "profile", "record": {"name": "x"}}, "not that of this profile"),
        ({"id": NO_ID, "kind": "usage", "record": {"target": NO_ID}}, "not that of this usage"),
        ({"id": NO_ID, "kind": "message", "record": {"text": "a", "role": "king"}}, "regex"),
        ({"id": NO_ID, "kind": "message", "record": {"text": "a", "spans": [[5, 4]]}}, "ends before"),
        ({"id": NO_ID, "kind": "event", "record": {"session": "s", "seq": -1, "type": "t"}}, ">= 0"),
    ],
)  # fmt: skip
def test_a_bad_line_is_told_and_kept_and_stops_nothing(tmp_path: Path, line: Any, reason: str) -> None:
    good = note_line("00000000000000cd", text="a sound note")
    source = written(tmp_path / "in", line, good)
    raw = source.read_bytes().splitlines()[1]
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(source)
        assert counts(report) == {"rejected": 1, "created": 1}
        (problem,) = report.problems
        assert problem.place == "line 2"
        assert reason in problem.reason
        assert len(problem.reason) < 300
        assert [note.text for note in every(db.notes.list)] == ["a sound note"]
        assert report.rejects_path == str(tmp_path / "in.rejects")
        assert (tmp_path / "in.rejects").read_bytes() == raw + b"\n"
        assert stat.S_IMODE((tmp_path / "in.rejects").stat().st_mode) == 0o600
        assert db.verify(deep=True).ok


def test_a_cut_file_gives_what_is_whole(tmp_path: Path, exported: Path) -> None:
    data = exported.read_bytes()
    (tmp_path / "cut").write_bytes(data[: len(data) * 2 // 3])
    whole = data[: len(data) * 2 // 3].count(b"\n") - 1
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(tmp_path / "cut")
        assert report.read == whole + 1
        assert "may be cut" in report.problems[0].reason
        assert db.verify(deep=True).ok, "what refers to what is not there lost the reference"
        done = db.import_(exported)
        assert done.rejected == 0
        assert db.verify(deep=True).ok


def test_a_line_that_is_too_long_is_stepped_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memhop.api.import_lines.LIMITS", LIMITS._replace(line_bytes=1000))
    for size in (999, 1000, 1001, 1500, 5000):
        base = len(json.dumps(note_line(text=""))) + 1  # with its line end
        source = written(tmp_path / "in", note_line(text="x" * (size - base)), note_line("00000000000000cd", text="a"))
        with memory(tmp_path / f"{size}.meh") as db:
            report = db.import_(source, rejects=tmp_path / f"{size}.rejects")
            assert counts(report) == ({"created": 2} if size <= 1000 else {"created": 1, "rejected": 1}), size


def test_an_id_twice_in_a_file_counts_once(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(written(tmp_path / "in", note_line(text="first"), note_line(text="second")))
        assert counts(report) == {"created": 1, "rejected": 1}
        assert db.notes.get(NO_ID).text == "first"


def test_what_is_no_export_is_refused(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        newer = written(tmp_path / "newer", header=HEADER | {"version": 7})
        with pytest.raises(BadFormat, match=r"version 7, this build reads up to version 1"):
            db.import_(newer)
        for number, header in enumerate(
            (HEADER | {"version": True}, HEADER | {"version": 0}, {"format": HEADER["format"]})
        ):
            with pytest.raises(BadFormat, match="without a version"):
                db.import_(written(tmp_path / f"odd{number}", header=header))
        (tmp_path / "empty").touch()
        with pytest.raises(BadFormat, match="no export"):
            db.import_(tmp_path / "empty", format="memhop")
        with pytest.raises(StorageError):
            db.import_(tmp_path / "missing")
        with pytest.raises(InvalidRequest) as error:
            db.import_(tmp_path, format="memhop")
        assert error.value.field == "path"
        for wrong in (
            {"format": "jpeg"}, {"on_conflict": "never"}, {"project": ""}, {"dry_run": 1}, {"progress": 5},
            {"rejects": "a\0"}, {"rejects": tmp_path / "newer"},
        ):  # fmt: skip
            with pytest.raises(InvalidRequest) as error:
                db.import_(written(tmp_path / "fine", note_line()), **wrong)
            assert error.value.field == next(iter(wrong))
        assert db.stats().commit == 0


def test_rejects_never_replace_a_file(tmp_path: Path) -> None:
    source = written(tmp_path / "in", b"nonsense")
    (tmp_path / "in.rejects").write_text("mine")
    with memory(tmp_path / "a.meh") as db:
        assert db.import_(source).rejects_path == str(tmp_path / "in.rejects-2")
        assert db.import_(source).rejects_path == str(tmp_path / "in.rejects-3")
        assert db.import_(source, rejects=tmp_path / "given").rejects_path == str(tmp_path / "given")
        report = db.import_(source, rejects=tmp_path / "nowhere" / "x")
        assert (report.rejected, report.rejects_path) == (1, None)
        assert "could not be copied" in next(iter(report.remarks))
    assert (tmp_path / "in.rejects").read_text() == "mine"


def test_only_a_hundred_problems_are_listed(tmp_path: Path) -> None:
    source = written(tmp_path / "in", *[b"nonsense"] * 150)
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(source)
        assert (report.rejected, len(report.problems)) == (150, 100)
        assert (tmp_path / "in.rejects").read_bytes().count(b"\n") == 150


def two(tmp_path: Path, change: Callable[[DB], object]) -> tuple[Path, DB]:
    """The export of a memory that was changed a day later, and a memory that has not."""
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        db.remember("a kayak in the shed", external_id="x", at=NOW - DAY, metadata={"wet": True})
        db.knowledge.put("boats", "kayak", "leaks")
        db.export(tmp_path / "before")
        clock.advance(DAY)
        change(db)
        db.export(tmp_path / "after")
    db = memory(tmp_path / "b.meh", clock=clock)
    db.import_(tmp_path / "before")
    return tmp_path / "after", db


def reworded(db: DB) -> None:
    db.remember("a kayak in the lake", external_id="x", metadata={"wet": False})
    db.knowledge.put("boats", "kayak", "mended")


@pytest.mark.parametrize("how", ["newer", "overwrite", "skip"])
def test_newer_wins_or_what_is_said(tmp_path: Path, how: str) -> None:
    after, db = two(tmp_path, reworded)
    with db:
        (note,) = db.notes.list().items
        report = db.import_(after, on_conflict=how)
        now = db.notes.get(note.id)
        (graph,) = db.knowledge.graphs().items
        (node,) = db.knowledge.nodes(graph.id).items
        if how == "skip":
            assert counts(report) == {"unchanged": 1, "skipped": 3}
            assert (now.text, node.content) == ("a kayak in the shed", "leaks")
            assert report.remarks == {"the memory has another version": 2, "a note keeps the history it has here": 1}
        else:
            assert counts(report) == {"unchanged": 1, "updated": 2, "skipped": 1}
            assert (now.text, now.metadata, node.content) == ("a kayak in the lake", {"wet": False}, "mended")
            assert (now.rev, now.updated_at) == (2, NOW + DAY)
            assert set(counts(db.import_(after, on_conflict=how))) == {"unchanged", "skipped"}, "nothing is left to do"
        back = db.import_(tmp_path / "before", on_conflict=how)
        text = db.notes.get(note.id).text
        if how == "overwrite":
            assert text == "a kayak in the shed"
        elif how == "newer":
            assert (back.skipped, text) == (2, "a kayak in the lake"), "an older file overwrites nothing"
        assert db.verify(deep=True).ok


def test_messages_never_change(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        (id_,) = db.archive.append_many([{"text": "we bought a piano", "session": "s", "at": NOW - DAY}])
        db.export(tmp_path / "e")
        forged = (tmp_path / "e").read_text().replace("bought", "sold")
        (tmp_path / "forged").write_text(forged)
        for how in ("newer", "overwrite"):
            report = db.import_(tmp_path / "forged", on_conflict=how)
            assert counts(report) == {"rejected": 1}
            assert "never changes" in report.problems[0].reason
        assert db.archive.get(id_).text == "we bought a piano"


def test_a_message_that_found_its_place_elsewhere_is_placed(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db, memory(tmp_path / "b.meh") as other:
        said = [{"text": f"the kayak leaks at seam {n}", "session": "s", "at": NOW - HOUR + n} for n in range(8)]
        db.archive.append_many(said)
        db.export(tmp_path / "loose")
        other.import_(tmp_path / "loose")
        db.dream()
        db.export(tmp_path / "placed")
        report = other.import_(tmp_path / "placed")
        assert report.updated == 8
        assert other.export().digest == db.export().digest
        assert set(counts(other.import_(tmp_path / "loose"))) == {"unchanged"}, "and is not taken out of it again"
        assert other.verify(deep=True).ok


def test_an_id_of_another_kind_is_a_conflict(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("a note")
        line = {"id": note.id, "kind": "message", "record": {"text": "a message", "at": NOW}}
        report = db.import_(written(tmp_path / "in", line))
        assert counts(report) == {"rejected": 1}
        assert "another kind" in report.problems[0].reason


def test_one_name_is_one_note_and_one_message(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.remember("mine", external_id="x")
        db.archive.append_many([{"text": "mine", "session": "s", "external_id": "x", "at": NOW}])
        message = {"text": "theirs", "session": "s", "external_id": "x", "at": NOW}
        report = db.import_(
            written(
                tmp_path / "in",
                note_line(external_id="x"),
                {"id": "00000000000000cd", "kind": "message", "record": message},
            )
        )
        assert counts(report) == {"rejected": 2}


def test_references_that_lead_nowhere_are_left_out_or_reject(tmp_path: Path) -> None:
    """Also where what they lead to is rejected later in the file."""
    gone, fact = "00000000000000ff", "00000000000000cd"
    with memory(tmp_path / "a.meh") as db:
        report = db.import_(
            written(
                tmp_path / "in",
                note_line("00000000000000a1", links=[gone, "00000000000000a2"], link_types=["fixes", "causes"]),
                note_line("00000000000000a2", text="named by the first", links=[fact]),
                {"id": "00000000000000b1", "kind": "note_revision", "record": {"note": gone, "rev": 1}},
                {
                    "id": fact,
                    "kind": "fact",
                    "record": {"subject": "a", "predicate": "b", "value": "c", "sources": [gone]},
                },
            )
        )
        assert counts(report) == {"created": 2, "rejected": 2}
        assert [problem.place for problem in report.problems] == ["line 4", "line 5"]
        assert "neither in the file nor in the memory" in report.problems[1].reason
        assert report.remarks == {"references to what is neither in the file nor in the memory were left out": 2}
        assert db.notes.get("00000000000000a1").links == ("00000000000000a2",)
        assert db.notes.get("00000000000000a2").links == ()
        assert db.verify(deep=True).ok


def test_what_meant_nothing_without_a_rejected_record_goes_too(tmp_path: Path) -> None:
    """A topic of nothing but a message that is refused: the scene stays, the topic does not, and the counts add up."""
    scene, topic, message = ("00000000000000a1", "00000000000000a2", "00000000000000a3")
    with memory(tmp_path / "a.meh") as db:
        db.archive.append_many([{"text": "mine", "session": "s", "external_id": "x", "at": NOW}])
        report = db.import_(
            written(
                tmp_path / "in",
                {"id": scene, "kind": "scene", "record": {"name": "a scene"}},
                {"id": topic, "kind": "topic", "record": {"scene": scene, "messages": [message]}},
                {
                    "id": message,
                    "kind": "message",
                    "record": {"text": "theirs", "session": "s", "external_id": "x", "at": NOW, "topic": topic},
                },
            )
        )
        assert counts(report) == {"created": 1, "rejected": 2}
        assert {kind for _, kind, _ in db._file.live()} >= {Kind.SCENE}
        assert db.verify(deep=True).ok


def test_a_dry_run_tells_the_same_and_writes_nothing(tmp_path: Path, exported: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(exported.read_bytes() + b"nonsense\n")
    with memory(tmp_path / "a.meh") as db:
        db.remember("mine")
        before = sorted(path.name for path in tmp_path.iterdir()), db.export().digest, db.stats().commit
        told = db.import_(source, dry_run=True)
        assert (sorted(path.name for path in tmp_path.iterdir()), db.export().digest, db.stats().commit) == before
        assert (told.number, told.rejects_path, told.dry_run) == (None, None, True)
        done = db.import_(source)
        assert counts(told) == counts(done)
        assert (told.problems, told.remarks) == (done.problems, done.remarks)
    with memory(tmp_path / "a.meh", mode="read") as db:
        assert set(counts(db.import_(source, dry_run=True))) == {"unchanged", "rejected"}


def test_another_project(tmp_path: Path, exported: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.import_(exported, project="boats")
        assert {note.project for note in every(db.notes.list)} == {"boats"}
        assert {message.project for message in every(db.archive.list)} == {"boats"}
        assert set(counts(db.import_(exported, project="boats"))) == {"unchanged"}


def test_progress_is_told(tmp_path: Path, exported: Path) -> None:
    told: list[tuple[int, int]] = []
    with memory(tmp_path / "a.meh") as db:
        db.import_(exported, progress=lambda done, total: told.append((done, total)))
        assert told == sorted(told)
        assert told[-1] == (2 * exported.stat().st_size,) * 2
        told.clear()
        db.export(progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (83, 83)


def import_slowly(link: Connection, path: Path, source: Path) -> None:
    """Stops once so many commits are made."""

    import_journal.COMMIT_RECORDS = 7
    seen = 0

    def told(done: int, total: int) -> None:
        nonlocal seen
        seen += done > total // 2
        if seen == 5:
            link.send(done)
            link.recv()

    with memory(path, mode="shared") as db:
        db.import_(source, progress=told)


def test_killed_in_the_middle_it_goes_on(tmp_path: Path, exported: Path, start: Starter) -> None:
    path = tmp_path / "a.meh"
    worker = start(import_slowly, path, exported)
    worker.hear()
    worker.kill()
    with memory(path) as db:
        (entry,) = db.imports.list().items
        assert (entry.number, entry.state) == (1, "running")
        assert 0 < entry.created < 83
        report = db.import_(exported)
        assert counts(report) == {"created": 83 - entry.created, "unchanged": entry.created}
        db.export(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == exported.read_bytes()
        assert db.verify(deep=True).ok


def test_killed_in_the_middle_it_can_be_taken_back(tmp_path: Path, exported: Path, start: Starter) -> None:
    path = tmp_path / "a.meh"
    worker = start(import_slowly, path, exported)
    worker.hear()
    worker.kill()
    with memory(path) as db:
        db.imports.undo(1)
        assert db.export().records == 0
        assert db.verify(deep=True).ok


def test_two_memories_in_one(tmp_path: Path, exported: Path) -> None:
    """Others write between its commits, and it sees what they wrote."""
    with memory(tmp_path / "a.meh", mode="shared") as db, memory(tmp_path / "a.meh", mode="shared") as other:
        told = 0

        def write(done: int, total: int) -> None:
            nonlocal told
            told += 1
            if told % 40 == 0:
                other.remember(f"between {told}")

        db.import_(exported, progress=write)
        assert db.verify(deep=True).ok
        assert len(every(db.notes.list)) == 8 + told // 40


@pytest.fixture
def undoable(tmp_path: Path, exported: Path) -> Iterator[DB]:
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16)) as db:
        db.remember("mine, and not imported")
        db.search("was it the kayak?", NOW - HOUR, session="mine")
        db.import_(exported)
        db.backfill()
        yield db


@pytest.mark.parametrize("compacted", [False, True])
def test_undo_takes_back_what_was_created(undoable: DB, tmp_path: Path, exported: Path, compacted: bool) -> None:
    db = undoable
    with memory(tmp_path / "b.meh") as fresh:
        fresh.remember("mine, and not imported")
        fresh.search("was it the kayak?", NOW - HOUR, session="mine")
        expected = fresh.export().digest
    shown = db.imports.show(1)
    assert sum(map(len, shown.created.values())) == 83
    assert (shown.updated, shown.gone, shown.changed) == ({}, 0, 0)
    if compacted:
        db.compact()
    done = db.imports.undo(1)
    assert (done.stayed, done.reverted) == ((), 0)
    assert db.export().digest == expected
    assert db.verify(deep=True).ok
    assert [entry.state for entry in db.imports.list().items] == ["undone"]
    with pytest.raises(InvalidRequest, match="undone before"):
        db.imports.undo(1)
    db.compact()
    raw = (tmp_path / "a.meh").read_bytes()
    assert b"laminated epoxy" not in raw, "nothing derived keeps a word"
    assert set(counts(db.import_(exported))) == {"created"}, "and it can be imported again"


def test_undo_leaves_what_was_changed_since(undoable: DB) -> None:
    db = undoable
    changed = next(note for note in every(db.notes.list) if note.text == "third wording late")
    db.remember("a fourth wording", external_id="x", project=changed.project)
    graph = next(graph for graph in every(db.knowledge.graphs) if graph.name == "boats late")
    mine = db.knowledge.put("boats late", "my own node")
    done = db.imports.undo(1)
    assert db.notes.get(changed.id).text == "a fourth wording"
    assert db.knowledge.get(mine.id).title == "my own node"
    assert {(stayed.kind, stayed.reason) for stayed in done.stayed} == {
        ("note", "it was changed since"),
        ("graph", "it holds what the import did not bring"),
    }
    assert {stayed.id for stayed in done.stayed} == {changed.id, graph.id}
    assert done.stayed_in_all == 2
    assert db.verify(deep=True).ok


def test_undo_after_a_dream_reaches_what_the_dream_made(tmp_path: Path) -> None:
    """A dream places imported messages, which is no change of theirs; with them goes what it made of them."""
    with memory(tmp_path / "a.meh") as db:
        db.archive.append_many(
            {"text": f"the kayak leaks at seam {n}, says Ann", "session": "s", "at": NOW - HOUR + n} for n in range(12)
        )
        db.export(tmp_path / "e")
    with memory(tmp_path / "b.meh") as db:
        db.import_(tmp_path / "e")
        assert db.dream().changed
        db.imports.undo(1)
        assert every(db.archive.list) == []
        assert every(db.scenes.list) == []
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("compacted", [False, True])
def test_undo_turns_back_what_was_updated(tmp_path: Path, compacted: bool) -> None:
    """A note by its revisions, also after a compaction; other records as long as the file has its past."""
    after, db = two(tmp_path, reworded)
    with db:
        (note,) = db.notes.list().items
        db.import_(after)
        if compacted:
            db.compact()
        done = db.imports.undo(2)
        now = db.notes.get(note.id)
        assert (now.text, now.metadata, now.rev) == ("a kayak in the shed", {"wet": True}, 3)
        (graph,) = db.knowledge.graphs().items
        (node,) = db.knowledge.nodes(graph.id).items
        assert node.content == ("mended" if compacted else "leaks")
        assert done.reverted == (1 if compacted else 2)
        assert [stayed.kind for stayed in done.stayed] == (["knowledge"] if compacted else [])
        assert db.verify(deep=True).ok


def test_undo_leaves_an_update_that_was_changed_since(tmp_path: Path) -> None:
    after, db = two(tmp_path, reworded)
    with db:
        (note,) = db.notes.list().items
        db.import_(after)
        db.remember("a kayak in the sea", external_id="x")
        db.forget(note.id)
        done = db.imports.undo(2)
        assert [(stayed.id, stayed.reason) for stayed in done.stayed] == [(note.id, "it was changed since")]
        db.forget(note.id, hard=True)
        assert db.imports.undo(1).stayed[0].reason == "it was erased since"


def test_what_was_not_imported_cannot_be_undone(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        for call in (db.imports.undo, db.imports.show):
            with pytest.raises(InvalidRequest, match="there is no import 1"):
                call(1)
            with pytest.raises(InvalidRequest):
                call("1")  # type: ignore[arg-type]


def test_an_import_that_fails_says_so_and_can_be_taken_back(tmp_path: Path, exported: Path) -> None:
    class Enough(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done == total:
            raise Enough

    with memory(tmp_path / "a.meh") as db:
        with pytest.raises(Enough):
            db.import_(exported, progress=stop)
        assert [entry.state for entry in db.imports.list().items] == ["stopped"]
        db.imports.undo(1)
        assert db.export().records == 0


def test_an_import_that_is_undone_while_it_runs_stops(tmp_path: Path, exported: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("memhop.api.import_journal.COMMIT_RECORDS", 10)
    with memory(tmp_path / "a.meh") as db:

        def undo(done: int, total: int) -> None:
            if db.imports.list().items and db.imports.list().items[0].state == "running":
                db.imports.undo(1)

        with pytest.raises(StorageError, match="undone while"):
            db.import_(exported, progress=undo)
        assert [entry.state for entry in db.imports.list().items] == ["undone"]
        assert db.export().records == 0


def test_one_project_alone(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        for project in ("Boats", "garden"):
            note = db.remember(f"a note of {project}", project=project, external_id="x")
            db.remember(f"another wording of {project}", project=project, external_id="x")
            db.search(f"what of {project}?", NOW - DAY, session=project, project=project, auto_create=True)
            db.recall(f"wording of {project}", project=project)
            db.facts.assert_(project, "is", "a subject", sources=[note.id])
        db.facts.assert_("all", "is", "one")
        db.profile.update(name="Ann")
        done = db.export(tmp_path / "e", project="boats")
        head, *lines = map(json.loads, (tmp_path / "e").read_text().splitlines())
        assert head == HEADER | {"project": "boats"}
        kinds = sorted({line["kind"] for line in lines})
        assert kinds == ["engram", "fact", "message", "note", "note_revision", "scene", "topic", "usage"]
        assert "garden" not in (tmp_path / "e").read_text()
        assert done.records == len(lines)
        assert db.export(tmp_path / "e", project="boats", overwrite=True).digest == done.digest
        assert db.export(project="nothing").records == 0
    with memory(tmp_path / "b.meh") as db:
        assert set(counts(db.import_(tmp_path / "e"))) == {"created"}
        assert db.export(project="BOATS").records == done.records
        assert db.verify(deep=True).ok
        with pytest.raises(NotFound):
            db.notes.get(NO_ID)


def test_a_stream_gets_the_same_bytes(tmp_path: Path, exported: Path) -> None:
    import io

    with memory(tmp_path / "a.meh") as db:
        db.import_(exported)
        stream = io.BytesIO()
        done = db.export(stream)
        assert stream.getvalue() == exported.read_bytes()
        assert (done.path, done.bytes) == (None, len(stream.getvalue()))
    with memory(tmp_path / "a.meh", mode="read") as db:
        assert db.export().digest == done.digest


def test_any_damage_to_a_file_is_told_and_breaks_nothing(tmp_path: Path, exported: Path) -> None:
    """Bytes flipped, cut out, doubled, and values swapped between lines: whatever goes in leaves a sound memory."""
    rng = random.Random(20261130)
    whole = exported.read_bytes()
    ids = [json.loads(line)["id"].encode() for line in whole.splitlines()[1:]]
    with memory(tmp_path / "a.meh", durability="none") as db:
        for number in range(60):
            data = bytearray(whole)
            for _ in range(rng.randrange(1, 40)):
                at = rng.randrange(50, len(data))
                match rng.randrange(5):
                    case 0:
                        data[at] ^= 1 << rng.randrange(8)
                    case 1:
                        del data[at : at + rng.randrange(1, 60)]
                    case 2:
                        data[at:at] = data[at : at + rng.randrange(1, 200)]
                    case 3:
                        data[at:at] = rng.choice([b"0", b"-1", b"null", b"[]", b"{}", b'"', b"9" * 30, b"\n"])
                    case _:
                        one, other = rng.sample(ids, 2)
                        data = bytearray(bytes(data).replace(one, other, rng.randrange(1, 4)))
            (tmp_path / "in").write_bytes(data)
            how = ("newer", "overwrite", "skip")[number % 3]
            counts(db.import_(tmp_path / "in", on_conflict=how, rejects=tmp_path / f"r{number}"))
            report = db.verify(deep=True)
            assert report.ok, (number, report.problems)
        db.checkpoint()
        for entry in every(db.imports.list):
            db.imports.undo(entry.number)
            assert db.verify(deep=True).ok


def test_a_session_stays_listed_when_its_first_steps_go(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.trajectory.append("work", "tool", "imported")
        db.export(tmp_path / "e")
    with memory(tmp_path / "b.meh") as db:
        db.import_(tmp_path / "e")
        db.trajectory.append("work", "tool", "mine")
        db.imports.undo(1)
        assert [step.payload for step in every(db.trajectory.read, session="work")] == ["mine"]
        assert [session.session for session in every(db.trajectory.sessions)] == ["work"]
