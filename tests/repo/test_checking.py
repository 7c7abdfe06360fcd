"""The deep check finds what it is for: records that cannot be read, references into nothing, views that are wrong."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from memhop import DB, HashEmbedder
from memhop.common.ids import from_hex, to_hex
from memhop.core.batch import Write
from memhop.core.disk import DiskFile, FileDisk
from memhop.core.meh_file import MehFile
from memhop.index.entries import EntryPart
from memhop.repo import vectors
from memhop.repo.checking import check
from memhop.repo.codec import RECORD_TYPES, encode
from memhop.repo.l2_context import Scene
from memhop.repo.l4_note import Note
from memhop.repo.record import Kind
from memhop.repo.references import REFERENCES
from memhop.repo.vectors import Space
from memhop.repo.views import Views
from tests.support.every_kind import every_kind
from tests.support.memories import copied, memory

GONE = 0xABCDEF
FIELDS = [(record_type, field) for record_type, fields in REFERENCES.items() for field in fields]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checking") / "a.meh"
    every_kind(path)
    return path


@pytest.fixture
def db(original: Path, tmp_path: Path) -> Iterator[DB]:
    with memory(copied(original, tmp_path / "a.meh"), embedder=HashEmbedder(16)) as opened:
        yield opened


def problems(db: DB) -> list[str]:
    return [problem.what for problem in db.verify(deep=True).problems]


def test_a_sound_memory_passes_and_everything_in_it_is_looked_at(db: DB) -> None:
    quick = db.verify()
    assert quick.ok
    assert quick.references is None
    assert quick.views is None
    for _ in range(2):
        report = db.verify(deep=True)
        assert report.ok
        assert report.commits == db.stats().commit
        assert report.references is not None
        assert report.references > 20
        assert report.views is not None
        assert list(report.views) == ["groups", "units", "postings", "vocabulary", "vectors", "tokens", "contexts"]
        assert all(report.views.values())
        db.recall("kayak varnish kayac", explain=True)  # vectors, tokens and vocabulary are in use from here on
    assert db._store.views.vocabulary_in_use is not None
    assert all(db._store.views.spaces_in_use()[:1])


@pytest.mark.parametrize(("record_type", "field"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("target", ["nothing", "another kind"])
def test_a_reference_that_does_not_resolve_is_named(db: DB, record_type: type[Any], field: str, target: str) -> None:
    store = db._store
    record = next(iter(store.scan(record_type)))
    id_ = GONE if target == "nothing" else next(iter(store.file.ids(Kind.PROFILE)))
    many = isinstance(getattr(record, field), tuple)
    with store.writing() as batch:
        batch.put(msgspec.structs.replace(record, **{field: (id_,) if many else id_}))
    found = [problem for problem in check(store).problems if problem.id == record.id]
    if (record_type, field, target) == (Note, "links", "another kind"):
        assert found == [], "a note may link to anything"
        return
    (problem,) = found
    located = store.file.locate(record.id)
    assert located is not None
    assert (problem.kind, problem.offset) == (record.KIND, located[1])
    expected = "which is not there" if target == "nothing" else "which is of kind profile"
    assert problem.what == f"{field} names {to_hex(id_)}, {expected}"


def test_a_slab_without_its_space_and_one_that_no_index_takes_are_named(db: DB) -> None:
    store = db._store
    (space,) = store.scan(Space)
    good = np.eye(1, 16, dtype="<f4")
    with store.writing() as batch:
        stray = batch.put_payload(Kind.VECTOR_SLAB, vectors.encode_vectors(GONE, [1], good), "stray")
        wide = batch.put_payload(Kind.VECTOR_SLAB, vectors.encode_vectors(space.id, [1], good[:, :8]), "wide")
        long = batch.put_payload(Kind.VECTOR_SLAB, vectors.encode_vectors(space.id, [1], good * 3), "long")
        short = batch.put_payload(Kind.TOKEN_SLAB, vectors.encode_vectors(space.id, [1], good)[:-1], "short")
    found = {problem.id: problem.what for problem in check(store).problems}
    assert found.keys() == {stray, wide, long, short}
    assert found[stray] == f"space names {to_hex(GONE)}, which is not there"
    assert "dimensions" in found[wide]
    assert "unit length" in found[long]


def test_a_record_that_is_no_record_of_its_kind_is_named(db: DB) -> None:
    db._store.file.append([Write(int(Kind.NOTE), GONE, b"\x81\xa4text\x05")])
    assert problems(db) == ["payload of a record of kind 0x31"]


def test_records_of_a_newer_build_are_left_alone(db: DB) -> None:
    note = db.remember("of the future")
    db._store.file.append([Write(0x77, GONE, b"?")])
    db._store.write(lambda batch: batch.put(msgspec.structs.replace(_note(db, note.id), links=(GONE,))))
    assert problems(db) == []


def _note(db: DB, id_: str) -> Note:
    return db._store.get(Note, from_hex(id_))


SPOILT: dict[str, Callable[[Views, int], object]] = {
    "groups: missing": lambda views, id_: views.groups.remove(*_membership(views, id_)),
    "groups: one too many": lambda views, id_: views.groups.add(77, 5, id_),
    "units: missing": lambda views, id_: views.units.delete(id_),
    "units: one too many": lambda views, id_: views.units.set(views.units.ordinal(id_) or 0, "tier", 1),
    "postings: one too many": lambda views, id_: views.bm25.add(views.units.add(GONE), ["unheard"]),
    "vocabulary: one too many": lambda views, id_: views.bm25.add(views.units.add(GONE), ["unheard"]),
    "vocabulary: 'leaks' is missing": lambda views, id_: views.vocabulary()._known.pop("leak"),
    "vectors: missing": lambda views, id_: _spaces(views)[0].drop(_slab(views)),
    "vectors: one too many": lambda views, id_: _spaces(views)[0].put(
        5, np.array([GONE], np.uint64), np.eye(1, 16, dtype=np.float32)
    ),
    "tokens: one too many": lambda views, id_: _spaces(views)[1].put(
        5, np.array([GONE], np.uint64), np.array([0, 1]), np.array([7], np.uint16)
    ),
}


def _membership(views: Views, id_: int) -> tuple[int, int, int]:
    keys, orders, ids, _ = EntryPart(views.groups.seal(0)).table()
    entry = int(np.flatnonzero(ids == id_)[0])
    return int(keys[entry]), int(orders[entry]), id_


def _spaces(views: Views) -> tuple[Any, Any]:
    (indexes, token_indexes, _) = views.spaces_in_use()
    return next(iter(indexes.values())), next(iter(token_indexes.values()))


def _slab(views: Views) -> int:
    (space,) = views.spaces_in_use()[0]
    return views.slabs(space, Kind.VECTOR_SLAB)[0]


@pytest.mark.parametrize("sealed", [False, True], ids=["open", "sealed"])
@pytest.mark.parametrize("what", SPOILT)
def test_a_view_that_differs_from_the_log_is_named(db: DB, what: str, sealed: bool) -> None:
    note = db.remember("the dinghy leaks")
    if sealed:
        db.checkpoint()
    with db._store.lock:
        views = db._store.views
        (space,) = db._store.scan(Space)
        views.vectors(space.id, space.dim)
        views.tokens(space.id)
        views.vocabulary()
        assert check(db._store).problems == ()
        SPOILT[what](views, from_hex(note.id))
    found = check(db._store).problems
    view, _, rest = what.partition(": ")
    assert any(problem.what.startswith(f"{view}: {rest.replace('leaks', 'leak')}") for problem in found), found
    if view in ("groups", "units"):
        assert {(problem.kind, problem.id) for problem in found} >= {(Kind.NOTE, from_hex(note.id))}


def test_a_sealed_view_that_differs_is_found_after_opening(db: DB, tmp_path: Path) -> None:
    """What a checkpoint has sealed is not trusted because its checksum holds."""
    note = db.remember("the dinghy leaks")
    with db._store.lock:
        db._store.views.bm25.add(db._store.views.units.add(GONE), ["unheard"])
    db.checkpoint()
    assert db.verify().ok
    with memory(copied(Path(db.path), tmp_path / "b.meh")) as other:
        assert other.notes.get(note.id).text == "the dinghy leaks"
        found = problems(other)
        assert any(what.startswith("units: one too many") and to_hex(GONE) in what for what in found)
        assert any(what.startswith("postings: one too many") for what in found)


def test_parts_that_make_no_sense_are_a_problem_and_no_crash(db: DB) -> None:
    with db._store.lock:
        views = db._store.views
        views.groups.add(1, 2, 3)
        views.groups._delta[1].append((2, 3, 1))  # the same entry twice
        found = check(db._store)
    assert [problem.what for problem in found.problems] == [
        "the views do not fit together: index part: an entry was added or removed twice;"
    ]
    assert found.views == {}


def test_damage_is_named_once_and_views_are_not_blamed_for_it(db: DB, tmp_path: Path) -> None:
    db.checkpoint()
    raw = bytearray(Path(db.path).read_bytes())
    raw[raw.rindex(b"a kayak in the shed late")] ^= 1
    path = tmp_path / "b.meh"
    path.write_bytes(raw)
    with memory(path, embedder=HashEmbedder(16)) as damaged:
        damaged.recall("kayak")
        assert problems(damaged) == ["frame checksum"]


def test_problems_are_counted_beyond_those_listed(db: DB) -> None:
    writes = [
        Write(int(Kind.SCENE), 10**6 + n, encode(Scene(name="s"))) if n % 2 else
        Write(int(Kind.USAGE), 10**6 + n, encode(RECORD_TYPES[Kind.USAGE](target=GONE)))  # type: ignore[call-arg]
        for n in range(2_400)
    ]  # fmt: skip
    db._store.file.append(writes)
    report = db.verify(deep=True)
    assert report.problem_count == 1_200
    assert len(report.problems) == 1_000


def test_one_thread_writes_while_another_verifies(tmp_path: Path) -> None:
    """The whole file was read with the handle locked; read without the lock, what is written meanwhile must not be
    taken for damage, nor what is in the views already for a difference."""
    done = threading.Event()
    failures: list[BaseException] = []

    def write(db: DB) -> None:
        try:
            for number in range(60):
                note = db.remember(f"note {number} about kayaks", external_id=str(number % 7), links=())
                db.search(f"turn {number}", session="s")
                if number % 5 == 0:
                    db.forget(note.id)
                if number % 10 == 3:
                    db.backfill()
                if number % 10 == 7:
                    db.checkpoint()
                if number in (25, 45):
                    db.compact(keep_history=number == 25)
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16), durability="none") as db:
        writer = threading.Thread(target=write, args=(db,))
        writer.start()
        rounds = 0
        while not done.is_set() or rounds < 3:
            report = db.verify(deep=True)
            assert report.ok, report.problems
            rounds += 1
        writer.join()
    assert not failures


class _Telling(FileDisk):
    """Real files whose reads are announced."""

    def __init__(self) -> None:
        self.reading: Callable[[int], None] = lambda offset: None

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> DiskFile:
        file: Any = super().open(path, create=create, write=write)
        pread = file.pread

        def telling(length: int, offset: int) -> bytes:
            self.reading(offset)
            data: bytes = pread(length, offset)
            return data

        file.pread = telling
        return file  # type: ignore[no-any-return]


def test_a_writer_does_not_wait_for_verify(tmp_path: Path) -> None:
    """A commit is made while verify is in the middle of reading the file."""
    disk = _Telling()
    with MehFile.open(tmp_path / "a.meh", disk=disk) as file:
        for number in range(50):
            file.append([Write(0x31, number + 1, bytes(20_000))])
        written: list[int] = []

        def write_beside(offset: int) -> None:
            if not 300_000 < offset < 900_000:  # in the middle of the log
                return
            disk.reading = lambda offset: None
            thread = threading.Thread(target=lambda: written.append(file.append([Write(0x31, 99, b"new")]).number))
            thread.start()
            thread.join(timeout=30)
            assert written == [51], "the writer waited"

        disk.reading = write_beside
        report = file.verify()
        assert written == [51]
        assert report.ok
        assert report.commits == 50, "as of the moment it began"
        assert file.verify(deep=True).commits == 51


def test_a_reader_verifies_what_another_process_is_writing(tmp_path: Path) -> None:
    """Commits on their way, checkpoints and compactions of others are neither damage nor residue."""
    path = tmp_path / "a.meh"
    memory(path).close()
    code = (
        "import sys, memhop\n"
        "with memhop.DB.open(sys.argv[1], mode='shared') as db:\n"
        "    for n in range(80):\n"
        "        db.remember(f'note {n} about kayaks', external_id=str(n % 7))\n"
        "        if n % 10 == 7: db.checkpoint()\n"
        "        if n % 30 == 20: db.compact(keep_history=n < 30)\n"
    )
    with (
        subprocess.Popen([sys.executable, "-c", code, str(path)]) as writer,
        memory(path, mode="read", embedder=HashEmbedder(16)) as reader,
        memory(path, mode="shared") as other,
    ):
        rounds, commits = 0, set()
        while writer.poll() is None or rounds < 3:
            for db in (reader, other):
                report = db.verify(deep=True)
                assert report.ok, report.problems
                commits.add(report.head_digest)
            rounds += 1
        assert writer.returncode == 0
        assert len(commits) > 1, "nothing was written meanwhile"
        assert reader.verify().head_digest == other.verify().head_digest
