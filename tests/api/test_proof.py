"""Receipts: an erasure that is complete says so, and one that is not names every place where something is left."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memhop import HashEmbedder, InvalidRequest, NotFound, WriteRefused
from memhop.api import needles, proof
from memhop.common.clock import ManualClock
from memhop.common.ids import from_hex
from memhop.repo.l4_note import Note
from memhop.repo.record import Kind
from memhop.repo.traces import Rows, Traces, remaining_terms, traces
from tests.api.test_erasure import dangling, offset_of, own_rows, rot
from tests.support.embedders import ScriptedTokens
from tests.support.memories import HOUR, NOW, copied, distract, memory

SECRET = "the safe behind the painting opens with qxzzy 4711"
LONG = "".join(f"chapter {n}: “the vault” holds {n * n} bars of qxzzy gold,\nguarded. " for n in range(400))


class TestReceipt:
    def test_of_a_note_with_everything(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path, embedder=HashEmbedder(64)) as db:
            distract(db)
            for text in (SECRET, "velvet: " + SECRET, SECRET + " in the cellar"):
                gone = db.remember(text, external_id="x", metadata={"qxzzy-metadata-key": ["qxzzy-metadata-value"]})
                db.backfill()
            db.remember("about it", links=[gone.id])
            db.remember("also about it", links=[gone.id])
            db.recall("safe painting")
            db.checkpoint()
            rows = own_rows(db, [gone.id])
            before = db.stats().file_bytes
            done = db.forget(gone.id, hard=True, prove=True)
            receipt = done.receipt
            assert receipt is not None
            assert receipt.complete
            assert (done.tier, done.changed, receipt.id, receipt.kind) == (None, True, gone.id, "note")
            reached = dict(receipt.reached)
            assert reached["versions"] == 3
            assert reached["vectors"] == 3
            assert reached["links in other notes"] == 2
            assert reached["usage counters"] == 1
            assert reached["terms"] >= 3
            stats = db.stats()
            assert (receipt.commit, receipt.head_digest) == (stats.commit, stats.head_digest)
            assert (receipt.bytes_before >= before, receipt.bytes_after) == (True, stats.file_bytes)
            assert receipt.erased_at == NOW
            assert receipt.searched[0] == (str(path), path.stat().st_size, 0)
            raw = path.read_bytes()
            assert b"qxzzy" not in raw
            assert not [row for row in rows if row in raw]
            assert any("HashEmbedder" in text or "hash" in text for text in receipt.not_reached)
            assert "qxzzy" not in json.dumps(done.to_dict()), "a receipt must not repeat what was erased"
            assert dangling(db) == []
            assert db.verify(deep=True).ok

    def test_of_a_message(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path, embedder=ScriptedTokens()) as db:
            db.search("something else entirely", NOW - HOUR, session="t", auto_create=True)
            found = db.search(LONG, NOW - HOUR + 1, session="s", auto_create=True)
            db.backfill()
            receipt = db.forget(found.message_id, hard=True, prove=True).receipt
            assert receipt is not None
            assert receipt.complete, receipt
            reached = dict(receipt.reached)
            assert (reached["versions"], reached["topics"], reached["scenes"], reached["engrams"]) == (1, 1, 1, 1)
            assert reached["token rows"] == 1
            assert b"qxzzy" not in path.read_bytes()

    def test_it_needs_hard_and_a_record(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            note = db.remember(SECRET)
            for arguments, field in (
                ({"prove": True}, "prove"),
                ({"hard": True, "also": [tmp_path]}, "also"),
                ({"hard": True, "prove": True, "also": [tmp_path / "nothing"]}, "also"),
                ({"hard": True, "prove": True, "also": str(tmp_path)}, "also"),
                ({"hard": True, "prove": True, "also": [5]}, "also"),
            ):
                with pytest.raises(InvalidRequest) as refused:
                    db.forget(note.id, **arguments)
                assert refused.value.field == field
            node = db.knowledge.put("graph", "node")
            with pytest.raises(NotFound):
                db.forget(node.id, hard=True, prove=True)
            assert db.notes.get(note.id).text == SECRET

    @pytest.mark.parametrize("seal", [True, False])
    def test_the_same_words_in_another_record_are_no_failure(self, tmp_path: Path, seal: bool) -> None:
        """The other record is named: its words stand in the file by right, and so does its vector."""
        with memory(tmp_path / "a.meh", embedder=HashEmbedder(64)) as db:
            distract(db)
            gone = db.remember(SECRET, tags=["a-rather-long-tag"])
            same = db.remember(SECRET, project="elsewhere")
            quoting = db.search(f"they say that {SECRET}, is it so?", NOW - HOUR, session="s")
            db.remember("a word", tags=["A-Rather-Long-Tag"])
            db.backfill()
            if seal:
                db.checkpoint()
            receipt = db.forget(gone.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert receipt.complete, receipt
            named = next(text for text in receipt.not_reached if "other records" in text)
            assert same.id in named
            assert quoting.message_id in named
            assert gone.id not in named
            assert db.notes.get(same.id).text == SECRET

    def test_of_a_note_that_lost_a_link_before(self, tmp_path: Path) -> None:
        """The tombstone that struck out its older versions is none of its versions, and not damaged."""
        with memory(tmp_path / "a.meh") as db:
            first = db.remember("the first of both")
            second = db.remember(SECRET, links=[first.id])
            db.forget(first.id, hard=True)
            receipt = db.forget(second.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert dict(receipt.reached)["versions"] == 2
            assert not any("damaged" in text for text in receipt.not_reached)
            assert receipt.complete

    def test_a_short_text_is_not_searched_for_and_that_is_said(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            distract(db)
            receipt = db.forget(db.remember("4711").id, hard=True, prove=True).receipt
            assert receipt is not None
            assert receipt.complete
            assert any("not searched for" in text for text in receipt.not_reached)

    def test_of_a_damaged_note(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            distract(db)
            gone = db.remember(SECRET)
            db.checkpoint()
            offset = offset_of(db, gone.id)
        rot(path, offset)
        with memory(path) as db:
            receipt = db.forget(gone.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert receipt.complete
            assert dict(receipt.reached)["versions"] == 1
            assert any("damaged" in text for text in receipt.not_reached)
            assert b"qxzzy" not in path.read_bytes()

    def test_a_file_that_cannot_be_compacted_is_not_clean(self, tmp_path: Path) -> None:
        """Another record is damaged, compaction refuses; the record is erased, its bytes are not, and that is said."""
        path = tmp_path / "a.meh"
        with memory(path, embedder=HashEmbedder(64)) as db:
            other, gone = db.remember("some other note"), db.remember(SECRET)
            found = db.search(SECRET, NOW - HOUR, session="s")
            db.update(found.new_topic_id, "a reply", NOW - HOUR)
            db.backfill()
            db.checkpoint()
            offset = offset_of(db, other.id)
        rot(path, offset)
        with memory(path, embedder=HashEmbedder(64)) as db:
            for id_ in (gone.id, found.message_id):
                receipt = db.forget(id_, hard=True, prove=True).receipt
                assert receipt is not None
                assert not receipt.complete
                if id_ == gone.id:
                    assert receipt.searched[0][2] == 3, "both ends of the text, and its vector; the message has its own"
                assert receipt.searched[0][2] >= 2
                assert any("could not be compacted" in text for text in receipt.not_reached)
            with pytest.raises(NotFound):
                db.notes.get(gone.id)


class TestCopies:
    def test_every_file_beside_the_memory_is_searched(self, tmp_path: Path) -> None:
        path = tmp_path / "dir with [brackets]" / "a.meh"
        path.parent.mkdir()
        with memory(path) as db:
            gone = db.remember(LONG)
            db.checkpoint()
            raw = path.read_bytes()
            start = raw.index(b"chapter 100")
            planted = {
                "a.meh.torn-20260528T202640": raw[start : start + 900],  # a piece of the text, torn on both sides
                "a.meh.replaced-1": raw,
                "a.meh.compact": raw[:-500],
                "a.meh.backups/daily/1.meh": raw,
                "a.meh.json": json.dumps({"text": LONG}).encode(),
                "a.meh.jsonl": json.dumps({"text": LONG}, ensure_ascii=False).encode(),
            }
            innocent = {"a.meh.bak": b"nothing of it", "b.meh": raw, "a.mehl": raw}
            for name, content in (planted | innocent).items():
                target = path.parent / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            receipt = db.forget(gone.id, hard=True, prove=True).receipt
            assert receipt is not None
            found = {Path(name).relative_to(path.parent).as_posix(): hits for name, _, hits in receipt.searched}
            assert found.pop("a.meh") == 0
            assert found.pop("a.meh.lock") == 0
            assert found.pop("a.meh.bak") == 0
            assert not (path.parent / "a.meh.compact").exists(), "the compaction has removed it"
            del planted["a.meh.compact"]
            assert set(found) == set(planted)
            assert all(found.values()), found
            assert not receipt.complete
            assert sum("delete it" in text for text in receipt.not_reached) == len(planted)

    def test_vectors_and_token_ids_are_found_in_copies(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path, embedder=ScriptedTokens()) as db:
            gone = db.remember("one three fifteen a bcd efghijk seventeen twenty-two words of " + SECRET)
            db.backfill()
            rows = own_rows(db, [gone.id])
            assert len(rows) == 2
            for number, row in enumerate(rows):
                (tmp_path / f"a.meh.{number}").write_bytes(b"abc" + row + b"def")
            receipt = db.forget(gone.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert [hits for _, _, hits in receipt.searched] == [0, 1, 1, 0]

    def test_further_files_and_folders(self, tmp_path: Path) -> None:
        path, folder = tmp_path / "a.meh", tmp_path / "copies" / "deep"
        folder.mkdir(parents=True)
        with memory(path) as db:
            gone = db.remember(SECRET)
            copy, note = copied(path, folder / "old.meh"), tmp_path / "note.txt"
            note.write_text("nothing", "utf-8")
            receipt = db.forget(gone.id, hard=True, prove=True, also=[tmp_path / "copies", str(note)]).receipt
            assert receipt is not None
            assert {name: hits for name, _, hits in receipt.searched}[str(copy)] >= 1
            assert {name: hits for name, _, hits in receipt.searched}[str(note)] == 0
            assert not receipt.complete

    def test_what_cannot_be_read_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path, copy = tmp_path / "a.meh", tmp_path / "a.meh.bak"
        with memory(path) as db:
            gone = db.remember(SECRET)
            copied(path, copy)
            copy.chmod(0)
            try:
                copy.read_bytes()
            except PermissionError:
                pass
            else:
                pytest.skip("this user reads every file")
            receipt = db.forget(gone.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert any(str(copy) in text and "could not be searched" in text for text in receipt.not_reached)


class TestSharedFile:
    def test_other_handles_forget_too(self, tmp_path: Path) -> None:
        """The other handle still had a recall of the erased note to count."""
        path = tmp_path / "a.meh"
        with (
            memory(path, mode="shared") as one,
            memory(path, mode="shared") as two,
            memory(path, mode="read") as reader,
        ):
            distract(one)
            gone = one.remember(SECRET)
            assert two.recall("what opens the safe?").hits[0].id == gone.id
            assert reader.notes.get(gone.id).text == SECRET
            with pytest.raises(WriteRefused):
                reader.forget(gone.id, hard=True, prove=True)
            receipt = one.forget(gone.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert receipt.complete, receipt
            two.remember("written later")
            for handle in (one, two, reader):
                with pytest.raises(NotFound):
                    handle.notes.get(gone.id)
                assert dangling(handle) == []
                assert sum(use.bytes for use in handle.stats().space) == handle.stats().file_bytes
        assert b"qxzzy" not in path.read_bytes()

    def test_while_others_write(self, tmp_path: Path) -> None:
        """The turn to write is taken before the lock of the handle, as by every other call: else both wait for ever."""
        path = tmp_path / "a.meh"
        with memory(path, mode="shared", durability="none") as one, memory(path, mode="shared", wait=30) as two:
            gone = [one.remember(f"{SECRET} {n}") for n in range(6)]

            def write() -> None:
                for n in range(60):
                    one.remember(f"in between {n}")
                    one.recall("safe")

            threads = [threading.Thread(target=write, daemon=True) for _ in range(2)]
            for thread in threads:
                thread.start()
            receipts = [two.forget(note.id, hard=True, prove=True).receipt for note in gone[:3]]
            receipts += [one.forget(note.id, hard=True, prove=True).receipt for note in gone[3:]]
            for thread in threads:
                thread.join(timeout=60)
                assert not thread.is_alive()
            assert all(receipt is not None and receipt.complete for receipt in receipts), receipts
            assert dangling(two) == []

    def test_a_compaction_by_another_process_during_the_search(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Offsets found in one file were set against the frames of another."""
        path = tmp_path / "a.meh"
        places = proof._places
        done: list[object] = []
        with memory(path, mode="shared") as one, memory(path, mode="shared") as two:
            filler = one.remember("filler " * 500)
            gone = one.remember(SECRET)
            same = one.remember(SECRET, project="elsewhere")

            def meanwhile(where: Path, wanted: list[bytes]) -> Iterator[int]:
                found = list(places(where, wanted))
                if not done:
                    done.append(two.forget(filler.id, hard=True))
                    two.compact()
                    one.refresh()
                return iter(found)

            monkeypatch.setattr(proof, "_places", meanwhile)
            receipt = one.forget(gone.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert receipt.complete, receipt
            assert any(same.id in text for text in receipt.not_reached)


class TestSearching:
    def test_terms_that_stay_behind_are_told(self, tmp_path: Path) -> None:
        """Before the compaction the sealed vocabulary still has them; "painting" belongs to another note as well."""
        with memory(tmp_path / "a.meh") as db:
            gone = db.remember(SECRET)
            db.remember("a painting")
            db.checkpoint()
            terms = traces(db._store, {from_hex(gone.id)}).terms()
            assert "4711" in terms
            db.forget(gone.id, hard=True)
            left, stale = remaining_terms(db._store, terms)
            assert left == 0
            assert 0 < stale < len(terms)
            db.compact()
            assert remaining_terms(db._store, terms) == (stale, 0)

    @pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
    def test_chunks_hide_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
        monkeypatch.setattr(proof, "_CHUNK", chunk)
        path = tmp_path / "file"
        path.write_bytes(b"needle..needle" + b"x" * 100 + b"needlefax" + b"y" * 50 + b"fax" + b"needl")
        wanted = [b"needle", b"fax", b"absent" * 9]
        assert list(proof._places(path, wanted)) == [0, 8, 114, 120, 173]
        assert list(proof._places(path, [])) == []
        path.write_bytes(b"")
        assert list(proof._places(path, wanted)) == []

    def test_pieces_are_cut_at_characters_and_cover_both_ends(self) -> None:
        for text in ("猫" * 1000, "é" * 77 + "x", "a" * 48, "a" * 49, "🎉" * 13, LONG):
            pieces = list(needles._pieces(text, 6))
            assert pieces
            assert all(piece in text and 40 < len(piece.encode()) <= 52 for piece in pieces)
            assert text.startswith(pieces[0])
            assert text.endswith(pieces[-1])
            assert len(pieces) <= needles.PIECES
        assert list(needles._pieces("short", 6)) == []
        assert list(needles._pieces("enough", 6)) == ["enough"]

    def test_needles_of_many_versions_are_bounded(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", durability="none", clock=ManualClock(NOW)) as db:
            for n in range(60):
                gone = db.remember(LONG[n * 300 : n * 300 + 2_000] + str(n), external_id="x")
            found = traces(db._store, {from_hex(gone.id)})
            assert len(found.versions) == 60
            assert len(needles.needles_of(found)) > proof.MOST_NEEDLES
            receipt = db.forget(gone.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert receipt.complete
            assert any("evenly spread" in text for text in receipt.not_reached)

    def test_a_text_is_looked_for_as_json_writes_it_too(self) -> None:
        found = Traces((Note(id=1, text='é "x"\nöl'),), (), frozenset(), ())
        written = ('é "x"\nöl', '\\u00e9 \\"x\\"\\n\\u00f6l', 'é \\"x\\"\\nöl')
        assert needles.needles_of(found) == [text.encode() for text in written]

    def test_a_vector_is_one_needle(self) -> None:
        row = np.arange(384, dtype=np.float32).tobytes()
        found = Traces((Note(id=1, text="a note of words"),), (), frozenset(), (Rows(9, Kind.VECTOR_SLAB, 1, (row,)),))
        assert needles.needles_of(found) == [b"a note of words", row]
