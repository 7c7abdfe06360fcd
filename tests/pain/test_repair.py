"""Row 7: a repair that writes what cannot be loaded. Ours verifies what it wrote, and lists what it could not save."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import memhop
from memhop import BadFormat, HashEmbedder, InvalidRequest, Locked, NotFound, StorageError
from memhop.api.results import Repaired
from memhop.common.ids import from_hex, to_hex
from memhop.core.format import COMMIT, GENESIS, HEADER_OFFSETS, HEADER_SIZE, LOG_START, MANIFEST, SEGMENT
from memhop.core.frame import Window, examine, sync_marks
from memhop.core.header import decode_header
from memhop.repo import codec
from memhop.repo.record import Kind
from memhop.repo.references import references
from tests.support.every_kind import Records, every_kind, frames_of, records_of
from tests.support.memories import copied, memory, texts

SEEDS = 4


class Original(NamedTuple):
    """A memory with every kind of record: its bytes, its records, and where each frame and its payload end."""

    raw: bytes
    records: Records
    frames: dict[int, tuple[int, int, int]]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    path = tmp_path_factory.mktemp("repair") / "a.meh"
    every_kind(path)
    raw = path.read_bytes()
    return Original(raw, records_of(path), frames_of(path))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Alone in a folder, so that whatever is left beside it shows."""
    (tmp_path / "source").mkdir()
    return tmp_path / "source" / "a.meh"


def repaired(raw: bytes | bytearray, source: Path) -> Repaired:
    """Repair these bytes. The source and its folder are as before, the new file verifies and holds what is said."""
    source.write_bytes(raw)
    source.chmod(0o400)
    before = source.stat()
    target = source.parent.parent / "new.meh"
    target.unlink(missing_ok=True)
    report = memhop.repair(source, target)
    after = source.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_ino) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
        before.st_ino,
    )
    assert source.read_bytes() == raw
    assert os.listdir(source.parent) == [source.name]
    assert sorted(path.name for path in target.parent.iterdir()) == ["new.meh", "source"]
    assert target.stat().st_mode & 0o777 == 0o600
    source.chmod(0o600)
    with memory(target, embedder=HashEmbedder(16)) as db:
        assert db.recovery.clean
        verified = db.verify(deep=True)
        assert verified.ok, verified.problems
        assert (verified.head_digest, verified.records, verified.commits) == (
            report.head_digest,
            report.records,
            report.commits,
        )
    held: dict[str, list[str]] = {}
    for id_, (kind, _) in sorted(records_of(target).items()):
        held.setdefault(Kind(kind).name.lower(), []).append(to_hex(id_))
    assert report.saved == {kind: tuple(ids) for kind, ids in held.items()}
    with memory(copied(target, target.with_name("copy.meh")), embedder=HashEmbedder(16)) as db:
        db.recall("varnish kayak piano")
        note = db.remember("goes on")
        assert note.id in {hit.id for hit in db.recall("goes on").hits}
        assert db.backfill().reason is None
    for side in ("new.meh.lock", "copy.meh", "copy.meh.lock"):
        target.with_name(side).unlink()
    return report


def check_saved(original: Original, report: Repaired, lost: set[int]) -> None:
    """All but the lost records are there byte for byte, apart from those which referred to them."""
    now = records_of(Path(report.path))
    dropped = {from_hex(record.id) for record in report.mended if not record.kept}
    changed = {from_hex(record.id) for record in report.mended if record.kept}
    assert now.keys() == original.records.keys() - lost - dropped
    gone = lost | dropped
    for id_, (kind, payload) in original.records.items():
        if id_ in gone:
            continue
        if id_ not in changed:
            assert now[id_] == (kind, payload)
        if kind in codec.RECORD_TYPES:
            record = codec.decode(kind, id_, payload, 0)
            named = {(field, target) for field, target in references(record) if target in gone}
            assert bool(named) == (id_ in changed)
            kept = codec.decode(kind, id_, now[id_][1], 0)
            assert [*references(kept)] == [pair for pair in references(record) if pair not in named]
    for mended in report.mended:
        assert {from_hex(target) for _, target in mended.gone} <= gone


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name.lower())
def test_row_7_a_repaired_file_verifies_and_lists_what_was_lost(
    original: Original, source: Path, kind: Kind, seed: int
) -> None:
    """One random byte of one record of each kind."""
    rng = random.Random(f"{kind.name} {seed}")
    id_ = rng.choice([id_ for id_, frame in original.frames.items() if frame[0] == kind])
    _, offset, end = original.frames[id_]
    payload = len(original.records[id_][1])
    at = rng.randrange(end - payload, end) if seed else rng.randrange(offset, end - payload)
    raw = bytearray(original.raw)
    raw[at] ^= rng.randrange(1, 256)
    report = repaired(raw, source)
    if at < end - payload:
        assert report.lost == (), "one wrong byte of a head is put right"
        assert report.damage
        check_saved(original, report, set())
        return
    (lost,) = report.lost
    assert (lost.layer, lost.kind, lost.id) == (kind.layer, kind.name.lower(), to_hex(id_))
    assert (lost.offset, lost.what) == (offset, "frame checksum")
    assert lost.bytes >= end - offset
    check_saved(original, report, {id_})


def test_what_is_left_of_a_record_whose_scene_was_lost(original: Original, source: Path) -> None:
    """Words stay: the messages of a lost scene lose their place, not their text."""
    id_ = next(id_ for id_, frame in original.frames.items() if frame[0] == Kind.SCENE)
    raw = bytearray(original.raw)
    raw[original.frames[id_][2] - 1] ^= 1
    report = repaired(raw, source)
    fates = {(record.kind, record.kept) for record in report.mended}
    assert fates >= {("engram", False), ("message", True), ("topic", True)}
    with memory(Path(report.path)) as db:
        mended = [record.id for record in report.mended if record.kind == "message"]
        assert all(db.archive.get(message).scene_id is None for message in mended)
        (topic,) = (record.id for record in report.mended if record.kind == "topic")
        assert db.topics.get(topic).scene_id is None
        assert {message.id for message in db.topics.messages(topic)} == set(mended)
        assert db.update(topic, "one more answer").scene_id is None


def test_an_older_version_is_counted_and_not_brought_back(original: Original, source: Path) -> None:
    """Nor are the revisions of a note that is lost, which hold its earlier wordings: they are dropped with it."""
    raw = bytearray(original.raw)
    raw[raw.rindex(b"third wording late")] ^= 1
    report = repaired(raw, source)
    (lost,) = report.lost
    assert lost.older_versions == 2
    with memory(Path(report.path)) as db:
        assert lost.id is not None
        with pytest.raises(NotFound):
            db.notes.get(lost.id)
        assert not any("wording late" in text for text in texts(db.recall("wording late", limit=50)))
    dropped = [mended for mended in report.mended if mended.kind == "note_revision"]
    assert [(mended.gone, mended.kept) for mended in dropped] == [((("note", lost.id),), False)] * 2
    assert not any(b"wording late" in payload for _, payload in records_of(Path(report.path)).values())
    with memory(Path(report.path)) as db:
        db.compact()
    assert b"wording late" not in Path(report.path).read_bytes()


def _parts(raw: bytes) -> dict[str, list[tuple[int, int]]]:
    """Where the file keeps what is no record: name -> (start, stop)."""
    header = next(found for at in reversed(HEADER_OFFSETS) if (found := decode_header(raw[at : at + HEADER_SIZE])))
    parts: dict[str, list[tuple[int, int]]] = {"header": [(at, at + HEADER_SIZE) for at in HEADER_OFFSETS]}
    names = {GENESIS: "genesis", COMMIT: "commit", SEGMENT: "segment", MANIFEST: "manifest"}

    class Bytes:
        def pread(self, length: int, offset: int) -> bytes:
            return raw[offset : offset + length]

    window = Window(Bytes(), len(raw))
    for offset in sync_marks(window, LOG_START):
        sight = examine(window, header.salt if offset > LOG_START else 0, offset, mend=False)
        if not sight.fault and sight.ref is not None and sight.ref.kind in names:
            parts.setdefault(names[sight.ref.kind], []).append((offset, sight.ref.end))
    return parts


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("part", ["header", "genesis", "commit", "segment", "manifest"])
def test_row_7_damage_outside_of_records_costs_no_record(
    original: Original, source: Path, part: str, seed: int
) -> None:
    parts = _parts(original.raw)
    assert set(parts) == {"header", "genesis", "commit", "segment", "manifest"}
    rng = random.Random(f"{part} {seed}")
    start, stop = rng.choice(parts[part])
    raw = bytearray(original.raw)
    raw[rng.randrange(start, stop)] ^= rng.randrange(1, 256)
    report = repaired(raw, source)
    assert report.lost == ()
    check_saved(original, report, set())


@pytest.mark.parametrize("zeros", [8, 24, 40])
@pytest.mark.parametrize("part", ["header", "genesis", "commit", "segment", "manifest"])
def test_row_7_a_wiped_head_outside_of_records_costs_no_record(
    original: Original, source: Path, part: str, zeros: int
) -> None:
    places = _parts(original.raw)[part]
    for start, _ in places[:: 1 + len(places) // 8]:
        raw = bytearray(original.raw)
        raw[start : start + zeros] = bytes(zeros)
        report = repaired(raw, source)
        assert [lost for lost in report.lost if lost.id] == []
        check_saved(original, report, set())


def test_both_headers_gone(original: Original, source: Path) -> None:
    report = repaired(bytes(LOG_START) + original.raw[LOG_START:], source)
    assert report.lost == ()
    assert [problem.what for problem in report.damage][:2] == ["header", "header"]
    check_saved(original, report, set())


def test_a_record_whose_head_is_gone_is_known_from_the_checkpoint(original: Original, source: Path) -> None:
    """In front of a checkpoint its index knows the id; behind it, bytes are named and no id."""
    frames = sorted((offset, id_) for id_, (_, offset, _) in original.frames.items())
    for (offset, id_), known in ((frames[3], True), (frames[-2], False)):
        raw = bytearray(original.raw)
        raw[offset : offset + 24] = bytes(24)
        report = repaired(raw, source)
        (lost,) = report.lost
        assert lost.offset == offset
        if known:
            assert (lost.id, lost.kind) == (to_hex(id_), Kind(original.frames[id_][0]).name.lower())
            check_saved(original, report, {id_})
        else:
            assert (lost.id, lost.kind, lost.layer, lost.what) == (None, None, None, "unreadable bytes")
            assert (
                records_of(Path(report.path)).items()
                >= {other: original.records[other] for _, other in frames[:3]}.items()
            )


def test_a_file_that_was_cut_short(original: Original, source: Path) -> None:
    """What is missing is said; what is there is there word for word, in some version."""
    rng = random.Random(7)
    said: dict[int, set[bytes]] = {}
    lengths = sorted(rng.sample(range(LOG_START + 200, len(original.raw)), 25))
    for length in lengths:
        report = repaired(original.raw[:length], source)
        ends_early = [lost for lost in report.lost if lost.what == "the file is shorter than it was"]
        assert [(lost.id, lost.offset) for lost in ends_early] == [(None, length)]
        for id_, (_, payload) in records_of(Path(report.path)).items():
            said.setdefault(id_, set()).add(payload)
    assert original.records.keys() & said.keys()
    for length in (0, 1, 5000, LOG_START):
        source.write_bytes(original.raw[:length])
        with pytest.raises(BadFormat):
            memhop.repair(source, source.parent.parent / "none.meh")
        assert not list(source.parent.parent.glob("none*"))


def test_a_torn_tail_is_left_out(original: Original, source: Path) -> None:
    report = repaired(original.raw + b"\x01torn" + bytes(3), source)
    assert report.tail_bytes == 5
    assert report.lost == ()
    check_saved(original, report, set())


def test_references_that_were_broken_before_are_mended(tmp_path: Path) -> None:
    """No damage at all: a link whose note is gone keeps a file from passing the deep check, and repair takes it out."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        first, second = db.remember("a kayak"), None
        second = db.remember("it leaks", links=[first.id])
        with db._store.writing() as batch:
            batch.delete(Kind.NOTE, from_hex(first.id))
        assert not db.verify(deep=True).ok
    report = memhop.repair(path, tmp_path / "b.meh")
    assert report.lost == ()
    assert [(record.id, record.gone, record.kept) for record in report.mended] == [
        (second.id, (("links", first.id),), True)
    ]
    with memory(tmp_path / "b.meh") as db:
        assert db.notes.get(second.id).links == ()
        assert db.verify(deep=True).ok


def test_records_this_build_cannot_read_are_lost_and_those_of_a_newer_one_are_kept(tmp_path: Path) -> None:
    from memhop.core.batch import Write

    path = tmp_path / "a.meh"
    with memory(path) as db:
        db._store.file.append([Write(int(Kind.NOTE), 5, b"\x81\xa4text\x05"), Write(0x77, 6, b"of the future")])
    report = memhop.repair(path, tmp_path / "b.meh")
    assert [(lost.kind, lost.id, lost.what) for lost in report.lost] == [
        ("note", to_hex(5), "payload of a record of kind 0x31")
    ]
    assert report.saved == {"0x77": (to_hex(6),)}
    assert records_of(tmp_path / "b.meh") == {6: (0x77, b"of the future")}


class TestTarget:
    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        path, other = tmp_path / "a.meh", tmp_path / "b.meh"
        with memory(path) as db:
            db.remember("a kayak")
        other.write_bytes(b"precious")
        (tmp_path / "link.meh").symlink_to(path)
        before = {entry: entry.read_bytes() for entry in tmp_path.iterdir()}
        for target in (other, path, tmp_path / "link.meh"):
            with pytest.raises(StorageError, match="does not exist yet"):
                memhop.repair(path, target)
        with pytest.raises(StorageError, match="regular file"):
            memhop.repair(path, tmp_path)
        with pytest.raises(StorageError):
            memhop.repair(path, tmp_path / "no such folder" / "b.meh")
        with pytest.raises(StorageError):
            memhop.repair(tmp_path / "no such file.meh", tmp_path / "c.meh")
        for bad in ("", "a\0b", 5, None):
            with pytest.raises(InvalidRequest, match="to"):
                memhop.repair(path, bad)  # type: ignore[arg-type]
        assert {entry: entry.read_bytes() for entry in tmp_path.iterdir()} == before

    def test_it_is_a_file_of_the_same_history(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            db.remember("a kayak")
            before = db.stats()
        memhop.repair(path, tmp_path / "b.meh")
        with memory(tmp_path / "b.meh") as db:
            assert db.stats().commit > before.commit
            assert db.stats().generation == before.generation + 1
            assert texts(db.recall("kayak")) == ["a kayak"]
            db.remember("goes on")

    def test_what_a_killed_repair_left_goes_away_with_the_next(self, tmp_path: Path) -> None:
        path, target = tmp_path / "a.meh", tmp_path / "out" / "b.meh"
        target.parent.mkdir()
        with memory(path) as db:
            db.remember("a kayak")
        code = (
            "import os, signal, sys\n"
            "from memhop.api import repair\n"
            "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
            "repair.check = die\n"  # in the middle: records are written, nothing is checked yet
            "repair.repair(*sys.argv[1:])\n"
        )
        done = subprocess.run([sys.executable, "-c", code, str(path), str(target)], timeout=60)
        assert done.returncode == -signal.SIGKILL
        assert list(target.parent.iterdir())
        assert not target.exists()
        memhop.repair(path, target)
        assert [entry.name for entry in target.parent.iterdir()] == ["b.meh"]

    def test_a_target_in_use_is_refused(self, tmp_path: Path) -> None:
        path, target = tmp_path / "a.meh", tmp_path / "b.meh"
        with memory(path) as db:
            db.remember("a kayak")
        with memory(target):
            with pytest.raises(StorageError):
                memhop.repair(path, target)
            target.unlink()
            with pytest.raises(Locked):
                memhop.repair(path, target)
        assert not target.exists()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Path]:
    """A memory that another process holds open."""
    path = tmp_path / "held" / "a.meh"
    path.parent.mkdir()
    code = (
        "import sys, memhop\n"
        "db = memhop.DB.open(sys.argv[1], purpose='holding')\n"
        "db.remember('a kayak'); print('ready', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield path
        process.kill()


def test_a_file_in_use_is_repaired_without_its_lock(holder: Path, tmp_path: Path) -> None:
    with pytest.raises(Locked):
        memory(holder)
    before = {entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns) for entry in holder.parent.iterdir()}
    report = memhop.repair(holder, tmp_path / "new.meh")
    assert report.lost == ()
    assert {entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns) for entry in holder.parent.iterdir()} == before
    with memory(tmp_path / "new.meh") as db:
        assert texts(db.recall("kayak")) == ["a kayak"]


def test_compaction_that_refuses_a_damaged_file_names_repair(original: Original, tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    raw = bytearray(original.raw)
    raw[raw.rindex(b"third wording late")] ^= 1
    path.write_bytes(raw)
    for keep_history in (False, True):
        with memory(path) as db, pytest.raises(memhop.Corrupt, match="memhop repair --to NEW"):
            db.compact(keep_history=keep_history)
