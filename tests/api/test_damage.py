"""A flipped bit anywhere in a file: the memory opens, or refuses by a typed error, and invents nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from memhop import DB, Corrupt, HashEmbedder, MemhopError
from memhop.core.format import SYNC
from memhop.repo.record import Kind
from tests.support.memories import HOUR, NOW, every, memory, texts

QUERIES = ("kayak shed", "lettuce", "piano 猫", "yesterday")
HEADERS = 8_192
SAMPLES = 700


class Original(NamedTuple):
    """A small memory with a checkpoint and a tail, and all that it says."""

    raw: bytes
    texts: frozenset[str]
    said: tuple[object, ...]


def _fill(db: DB) -> None:
    db.remember_many(["a kayak in the shed", "slugs in the lettuce", {"text": "first wording", "external_id": "x"}])
    db.archive.append_many(
        {"text": f"turn {n} about the piano", "session": "s", "at": NOW - HOUR + n} for n in range(4)
    )
    db.backfill()
    db.checkpoint()
    db.remember("second wording", external_id="x", metadata={"deep": [1, {"a": None}]})
    found = db.search("家に小さな猫がいる", NOW - HOUR, session="t")
    db.update(found.new_topic_id, "a cat in the kayak")
    db.forget(db.notes.list(limit=1).items[0].id)
    db.profile.update(name="Ada")
    node = db.knowledge.put("boats", "kayak hull", "laminated epoxy")
    paddle = db.knowledge.put("boats", "paddle", "ash")
    db.knowledge.connect(str(node.graph_id), [node.id, paddle.id], "part_of")
    db.facts.assert_("kayak", "is in", "the shed", valid_from=NOW - HOUR)
    db.facts.assert_("kayak", "is in", "the lake")
    db.backfill()


def _says(db: DB) -> tuple[object, ...]:
    """Everything a reader can get, in an order that does not depend on how indexes are kept."""
    scenes = every(db.scenes.list)
    return (
        [(note.id, note.text, note.tier, note.metadata) for note in every(db.notes.list, tier="all")],
        [(message.id, message.text, message.session) for message in every(db.archive.list)],
        [[topic.message_ids for topic in db.topics.list(scene.id).items] for scene in scenes],
        [
            (graph.name, [node.content for node in db.knowledge.nodes(graph.id).items])
            for graph in every(db.knowledge.graphs)
        ],
        [
            [(edge.relation, edge.node_ids) for edge in db.knowledge.edges(graph.id).items]
            for graph in every(db.knowledge.graphs)
        ],
        [fact.to_dict() for fact in every(db.facts.list, include_closed=True)],
        db.profile.get().name,
        [[(hit.id, hit.text) for hit in db.recall(query, limit=20).hits] for query in QUERIES],
    )


def _texts(db: DB) -> Iterator[str]:
    """Every text a reader can get; a listing that is refused is left out, recall must always answer."""
    for query in QUERIES:
        for tier in ("active", "trashed"):
            yield from (hit.text for hit in db.recall(query, limit=20, tier=tier).hits)
    for listing in (db.notes.list, db.archive.list):
        try:
            yield from (item.text for item in every(listing))
        except MemhopError:
            continue
    try:
        yield from (fact.value for fact in every(db.facts.list, include_closed=True))
    except MemhopError:
        return


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    path = tmp_path_factory.mktemp("damage") / "a.meh"
    with memory(path, embedder=HashEmbedder(16)) as db:
        _fill(db)
        said = _says(db)
        texts = frozenset(_texts(db)) | {"first wording"}  # an older version is what was stored, too
    raw = path.read_bytes()
    assert len(raw) < 40 * 1024
    return Original(raw, texts, said)


def _check(original: Original, raw: bytes, path: Path) -> str:
    """Returns what became of the file: refused, differs or same. Fails where damage is silent."""
    path.write_bytes(raw)
    for side in path.parent.glob(f"{path.name}.*"):
        side.unlink()
    try:
        with memory(path, embedder=HashEmbedder(16), durability="none") as db:
            report = db.verify(deep=True)
            clean = report.ok and db.recovery.clean
            for text in _texts(db):
                assert text in original.texts, f"{text!r} was never stored"
            try:
                said = _says(db)
            except MemhopError:
                assert not clean
                return "differs"
            assert clean is False or said == original.said, "other words, and nothing says why"
            return "same" if said == original.said else "differs"
    except MemhopError:
        return "refused"


def _places(raw: bytes) -> list[int]:
    """The headers' used bytes, whatever surrounds a sync marker, and a seeded sample of the rest."""
    places = {half + at for half in (0, HEADERS // 2) for at in range(0, 128, 2)}
    at = raw.find(SYNC, HEADERS)
    while at >= 0:
        places |= {at + step for step in range(-4, 36, 3)}
        at = raw.find(SYNC, at + 1)
    chosen = sorted(place for place in places if 0 <= place < len(raw))
    rng = random.Random(20260528)
    if len(chosen) > SAMPLES:
        chosen = sorted(rng.sample(chosen, SAMPLES))
    return sorted({*chosen, *rng.sample(range(HEADERS, len(raw)), SAMPLES // 2)})


@pytest.mark.parametrize("share", range(8))
def test_any_flipped_bit_is_told_or_harmless(tmp_path: Path, original: Original, share: int) -> None:
    rng = random.Random(share)
    outcomes = []
    for place in _places(original.raw)[share::8]:
        raw = bytearray(original.raw)
        raw[place] ^= 1 << rng.randrange(8)
        outcomes.append(_check(original, bytes(raw), tmp_path / "a.meh"))
    assert outcomes.count("same") > len(outcomes) // 10, "one flipped bit must not take everything"
    assert "differs" in outcomes or "refused" in outcomes


def test_the_file_as_it_is(tmp_path: Path, original: Original) -> None:
    assert _check(original, original.raw, tmp_path / "a.meh") == "same"


@pytest.mark.parametrize("zeros", [1, 8, 64, 4_096])
def test_holes_of_zeros(tmp_path: Path, original: Original, zeros: int) -> None:
    rng = random.Random(zeros)
    for _ in range(25):
        place = rng.randrange(0, len(original.raw) - zeros)
        raw = original.raw[:place] + bytes(zeros) + original.raw[place + zeros :]
        _check(original, raw, tmp_path / "a.meh")


def test_a_shortened_file(tmp_path: Path, original: Original) -> None:
    rng = random.Random(7)
    for length in (0, 1, 4_095, 4_096, HEADERS - 1, HEADERS, HEADERS + 1, *rng.sample(range(len(original.raw)), 40)):
        _check(original, original.raw[:length], tmp_path / "a.meh")


def test_junk_behind_the_end(tmp_path: Path, original: Original) -> None:
    rng = random.Random(8)
    for length in (1, 7, 100, 5_000):
        _check(original, original.raw + rng.randbytes(length), tmp_path / "a.meh")


def test_a_damaged_memory_goes_on_working(tmp_path: Path, original: Original) -> None:
    """One rotten note does not stop the others from being found, nor new ones from being written."""
    raw = bytearray(original.raw)
    at = raw.rindex(b"slugs in the lettuce")
    raw[at] ^= 4
    path = tmp_path / "a.meh"
    path.write_bytes(raw)
    with memory(path, embedder=HashEmbedder(16)) as db:
        assert not db.verify().ok
        assert db.recall("kayak shed").hits[0].text == "a kayak in the shed"
        note = db.remember("written after the damage")
        assert db.recall("written after the damage", layers=["notes"]).hits[0].id == note.id
        assert all("slugs in" not in text and "lettuce" not in text for text in _texts(db))
    with memory(path) as db:
        assert db.notes.get(note.id).text == "written after the damage"


NOT_WRITTEN = {
    Kind.CAPABILITY, Kind.TOKEN_SLAB, Kind.TOKEN_BASIS, Kind.CONTEXT_SLAB, Kind.PROFILE_LINE,
    Kind.DREAM, Kind.DREAM_STEP, Kind.SPENDING, Kind.MAINTENANCE,
}  # fmt: skip


@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name.lower())
def test_one_damaged_record_of_each_kind_stops_nothing(tmp_path: Path, kind: Kind) -> None:
    """One rotten byte in the record of a vector space, a usage counter or a slab made every recall, every commit or
    every checkpoint raise Corrupt; a checkpoint that is due is taken by `remember`, which then raised as well."""
    path = tmp_path / "a.meh"
    with memory(tmp_path / "other.meh") as db:
        db.remember("a canoe in the loft")
        db.export(tmp_path / "other.jsonl")
    with memory(path, embedder=HashEmbedder(16)) as db:
        db.import_(tmp_path / "other.jsonl")
        for number, text in enumerate(("marine epoxy", "yacht varnish", "epoxy or varnish?")):
            db.search(text, NOW - 9 * HOUR * 24 + number * HOUR * 24, session=f"s{number}")
        _fill(db)
        db.remember("punctuation only gets no vector, unlike this")
        db.remember("!?")
        db.backfill()
        db.trajectory.append("s", "tool")
        db.recall("kayak")
        db.checkpoint()
        file = db._store.file
        ids = list(file.ids(int(kind)))
        places = [sum(file.payload_at(located[1])) - 1 for id_ in ids if (located := file.locate(id_))]
    if kind in NOT_WRITTEN:
        assert not places, "nothing writes them in this test"
        return
    raw = bytearray(path.read_bytes())
    raw[places[-1]] ^= 8
    path.write_bytes(raw)
    with memory(path, embedder=HashEmbedder(16)) as db:
        assert not db.verify().ok
        for query in QUERIES:
            db.recall(query, limit=50)
        db.why_not(db.remember("a note that is not damaged").id, "kayak")
        assert "a note that is not damaged" in texts(db.recall("not damaged", layers=["notes"]))
        found = db.search("epoxy or varnish?", NOW, session="s2")
        db.update(found.new_topic_id, "varnish")
        hull = db.knowledge.put("boats", "kayak hull", "roto-moulded")
        oar = db.knowledge.put("boats", "oar")
        db.knowledge.connect(str(hull.graph_id), [hull.id, oar.id])
        db.knowledge.subgraph(str(hull.graph_id), hull.id, max_depth=3)
        db.facts.assert_("kayak", "is in", "the boathouse")
        assert db.facts.list("kayak").items[-1].value == "the boathouse"
        db.pending()
        assert db.backfill().reason is None
        damaged = [page.damaged for page in (db.notes.list(tier="all"), db.archive.list(), db.scenes.list())]
        assert damaged == [int(kind is listed) for listed in (Kind.NOTE, Kind.MESSAGE, Kind.SCENE)]
        assert db.imports.list().damaged == int(kind is Kind.IMPORT)
        assert db.import_(tmp_path / "other.jsonl").rejected == 0
        db.stats()
        assert db.checkpoint()
        if kind not in (Kind.SPACE, Kind.GRAPH, Kind.KNOWLEDGE, Kind.USAGE, Kind.HYPEREDGE, Kind.EMBED_FAILURE):
            with pytest.raises(Corrupt):
                db.compact()  # it refuses to drop what it cannot read
        assert db.recall("kayak").hits


def test_listings_count_what_they_leave_out(tmp_path: Path) -> None:
    """A damaged record made the page that holds it, and all pages behind it, unreadable."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember_many([{"text": f"note number {number}", "at": NOW - number * HOUR} for number in range(9)])
        db.checkpoint()
    raw = bytearray(path.read_bytes())
    raw[raw.rindex(b"note number 4") + 12] ^= 1  # now "note number 5", were it believed
    path.write_bytes(raw)
    with memory(path) as db:
        page = db.notes.list(sort="at", limit=5)
        assert [note.text[-1] for note in page.items] == ["0", "1", "2", "3"]
        assert page.damaged == 1
        assert [note.text[-1] for note in every(db.notes.list, sort="at")] == ["0", "1", "2", "3", "5", "6", "7", "8"]
        assert db.stats().unreadable >= 1
