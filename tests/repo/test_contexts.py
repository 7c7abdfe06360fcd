"""The basis of token vectors: when it comes, what it does to older rows, and what happens when it is gone."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from memhop import DB
from memhop.api.repair import repair
from memhop.repo import contexts, gathering, slabs
from memhop.repo.record import Kind
from memhop.repo.traces import traces, unit_of_row
from memhop.repo.vectors import ContextSlab, Space, TokenBasis, decode_contexts
from tests.support.embedders import ScriptedContexts
from tests.support.memories import memory, texts

FIT = 12
QUESTIONS = ["word7 word8", "word30 word31", "word55"]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A basis comes early."""
    monkeypatch.setattr(contexts, "FIT_UNITS", FIT)


def add(db: DB, start: int, count: int) -> None:
    """Notes of eight words each that share some with the next ones, remembered and embedded."""
    db.remember_many([" ".join(f"word{n * 3 + k}" for k in range(8)) for n in range(start, start + count)])
    assert db.backfill().remaining == 0


def held(db: DB) -> list[ContextSlab]:
    """The live slabs of token vectors."""
    file = db._store.file
    located = [file.locate(id_) for id_ in sorted(file.ids(int(Kind.CONTEXT_SLAB)))]
    return [decode_contexts(file.buffer(*file.payload_at(at[1])), at[1]) for at in located if at is not None]


def bases(db: DB) -> list[TokenBasis]:
    return sorted(db._store.scan(TokenBasis), key=lambda basis: basis.units)


def answers(db: DB) -> list[list[str]]:
    return [texts(db.recall(question, limit=2)) for question in QUESTIONS]


def test_rows_are_stored_whole_until_there_is_enough_to_fit_a_basis(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", embedder=ScriptedContexts()) as db:
        add(db, 0, FIT - 1)
        assert bases(db) == []
        assert [(slab.basis, slab.codes.shape[1]) for slab in held(db)] == [(0, 96)]
        add(db, FIT - 1, 1)
        (basis,) = bases(db)
        assert (basis.units, basis.dim, basis.width) == (FIT, 96, contexts.WIDTH)
        assert {(slab.basis, slab.codes.shape[1]) for slab in held(db)} == {(0, 96), (basis.id, 64)}
        before = answers(db)
        db.checkpoint()
        assert [(slab.basis, len(slab.owners)) for slab in held(db)] == [(basis.id, FIT)], "the older rows followed"
        assert answers(db) == before
        assert db.verify(deep=True).ok


def test_a_model_of_few_dimensions_needs_no_basis(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", embedder=ScriptedContexts(dim=contexts.WIDTH)) as db:
        add(db, 0, 2 * FIT)
        assert bases(db) == []
        assert {slab.codes.shape[1] for slab in held(db)} == {contexts.WIDTH}


def test_a_memory_that_has_grown_gets_another_basis_and_both_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, embedder=ScriptedContexts()) as db:
        for start, count in ((0, FIT), (FIT, 3 * FIT), (4 * FIT, 12 * FIT)):
            add(db, start, count)
        old, new = bases(db)
        assert (old.units, new.units) == (FIT, 16 * FIT)
        db.checkpoint()
        by_basis = Counter(slab.basis for slab in held(db) for _ in slab.owners)
        assert by_basis == {old.id: 4 * FIT, new.id: 12 * FIT}
        before = answers(db)
        for question, found in zip(QUESTIONS, before, strict=True):
            assert set(question.split()) <= set(found[0].split())
        assert db.verify(deep=True).ok
        db.compact()
        assert answers(db) == before
        assert db.verify(deep=True).ok
    with memory(path, embedder=ScriptedContexts()) as db:
        assert answers(db) == before


def test_the_commit_that_brings_a_basis_can_be_recalled_as_it_was(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", embedder=ScriptedContexts()) as db:
        add(db, 0, FIT - 1)
        commit, before = db.stats().commit, answers(db)
        add(db, FIT - 1, 30)
        db.checkpoint()
        with db.at(commit) as past:
            assert answers(past) == before


def test_slabs_are_cut_to_size_between_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand long texts in one commit made a slab that no frame could hold; and a cut within the vectors of one
    text silenced those in front of it."""
    monkeypatch.setattr(slabs, "MAX_SLAB_BYTES", 1_500)
    with memory(tmp_path / "a.meh", embedder=ScriptedContexts()) as db:
        long = " ".join(f"long{n}" for n in range(600))
        db.remember(long)
        add(db, 0, 3 * FIT)
        assert len(held(db)) > 5
        space = next(iter(db._store.scan(Space)))
        owners = sum(len(slab.owners) for slab in held(db))
        assert owners == 3 * FIT + 1
        pieces = db._store.views.vectors(space.id, space.dim).rows - 3 * FIT
        assert pieces > 3
        db.compact()
        assert db._store.views.vectors(space.id, space.dim).rows == 3 * FIT + pieces
        assert texts(db.recall("long599"))[0] == long
        assert db.verify(deep=True).ok


class TestLoss:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "a.meh"
        with memory(path, embedder=ScriptedContexts()) as db:
            add(db, 0, 2 * FIT)
            self.basis = bases(db)[0].id
            db.checkpoint()
        return path

    def test_without_its_basis_a_slab_is_of_no_use_and_its_texts_wait(self, path: Path) -> None:
        with memory(path, embedder=ScriptedContexts()) as db:
            with db._store.writing() as batch:
                batch.delete(Kind.TOKEN_BASIS, self.basis)
            assert any("basis names" in problem.what for problem in db.verify(deep=True).problems)
        with memory(path, embedder=ScriptedContexts()) as db:
            assert db.pending().without_vector == 2 * FIT
            assert texts(db.recall("word5"))
            assert db.backfill().embedded == 2 * FIT
            assert len(bases(db)) == 1
            assert {use.name: use.ran for use in db.recall("word5").channels}["late"]

    @pytest.mark.parametrize("matrix", [b"", bytes(64 * 96 * 4)], ids=["short", "zeros"])
    def test_a_basis_that_is_none_is_named(self, path: Path, matrix: bytes) -> None:
        with memory(path, embedder=ScriptedContexts()) as db:
            space = next(iter(db._store.scan(Space))).id
            forged = TokenBasis(id=self.basis, space=space, units=FIT, dim=96, width=64, matrix=matrix)
            with db._store.writing() as batch:
                batch.put(forged, self.basis)
            assert any("token basis" in problem.what for problem in db.verify(deep=True).problems)
        with memory(path, embedder=ScriptedContexts()) as db:
            assert db.backfill().embedded == 2 * FIT, "the rows on it are made anew, on another"
            assert texts(db.recall("word5"))

    def test_repair_leaves_slabs_without_a_basis_behind(self, path: Path, tmp_path: Path) -> None:
        with memory(path, embedder=ScriptedContexts()) as db:
            located = db._store.file.locate(self.basis)
            assert located is not None
            start, length = db._store.file.payload_at(located[1])
        raw = bytearray(path.read_bytes())
        raw[start + length // 2] ^= 1
        path.write_bytes(raw)
        repair(path, tmp_path / "new.meh")
        with memory(tmp_path / "new.meh", embedder=ScriptedContexts()) as db:
            assert held(db) == []
            assert db.verify(deep=True).ok
            assert db.backfill().embedded == 2 * FIT


def test_a_compaction_drops_rows_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "GATHER_SLABS", 3)
    with memory(tmp_path / "a.meh", embedder=ScriptedContexts()) as db:
        add(db, 0, 2 * FIT)
        gone = db.recall("word7 word8").hits[0]
        owners = {int(owner) for slab in held(db) for owner in slab.owners}
        db.forget(gone.id, hard=True)
        db.compact()
        left = {int(owner) for slab in held(db) for owner in slab.owners}
        assert len(owners - left) == 1
        assert left < owners


def test_whose_codes_they_are_can_be_traced(tmp_path: Path) -> None:
    """What proves an erasure looks for the codes, not for token ids, which other texts share."""
    with memory(tmp_path / "a.meh", embedder=ScriptedContexts()) as db:
        add(db, 0, 5)
        store = db._store
        (slab_id,) = store.file.ids(int(Kind.CONTEXT_SLAB))
        located = store.file.locate(slab_id)
        assert located is not None
        (slab,) = held(db)
        end = sum(store.file.payload_at(located[1]))
        for place, owner in enumerate(slab.owners.tolist()):
            note = int(store.views.units.ids[int(store.views.ordinals(slab.owners[place : place + 1])[0])])
            first, last = slab.offsets[place : place + 2].tolist()
            rows = [rows for rows in traces(store, {note}).slabs if rows.kind is Kind.CONTEXT_SLAB]
            assert [row for one in rows for row in one.rows] == [slab.codes[first:last].tobytes()]
            for token in (first, last - 1):
                at = end - slab.codes.nbytes + token * 96 + 5
                assert unit_of_row(store, Kind.CONTEXT_SLAB, located[1], at) == (owner, note)


def test_an_older_file_is_embedded_on_and_read_by_both(tmp_path: Path) -> None:
    """A copy made before the basis was fitted goes on by itself."""
    path, copy = tmp_path / "a.meh", tmp_path / "b.meh"
    with memory(path, embedder=ScriptedContexts()) as db:
        add(db, 0, FIT - 1)
    shutil.copyfile(path, copy)
    for one in (path, copy):
        with memory(one, embedder=ScriptedContexts()) as db:
            add(db, 100, FIT)
            (basis,) = bases(db)
            assert np.allclose(basis.rows() @ basis.rows().T, np.eye(64), atol=1e-4)
    assert path.read_bytes() == copy.read_bytes(), "the same words give the same basis"
