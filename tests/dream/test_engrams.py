"""One node per scene, edges between scenes that have to do with each other, and what becomes of them over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from memhop import DB, HashEmbedder
from memhop.common.clock import ManualClock
from memhop.common.ids import to_hex
from memhop.dream.engrams import DEGREE, LEAST_SIMILARITY, TERMS, Engrams
from memhop.dream.placing import Placing
from memhop.repo.l1_engram import (
    CALM,
    COLD,
    EDGE_DECAY,
    FORGOTTEN,
    NODE_DECAY,
    USE,
    Engram,
    Hyperedge,
    edge_id,
    engram_id,
    nodes_with,
    term_hash,
)
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l4_archive import Message
from memhop.repo.l6_usage import Usage, usage_id
from tests.support.dreaming import dream_of, skipped
from tests.support.embedders import DIM, Scripted
from tests.support.memories import DAY, HOUR, MINUTE, NOW, memory

KAYAK = "kayak paddle river seam epoxy stern hull"
ROSES = "roses garden prune spray spots soil"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[DB]:
    with memory(tmp_path / "a.meh", clock=clock) as opened:
        yield opened
        assert opened.verify(deep=True).ok


def scene(db: DB, session: str, text: str, *, at: int = NOW - DAY, turns: int = 3) -> int:
    """A scene in which a text is said some times. Gives its id."""
    db.archive.append_many(
        [
            {"text": f"{text} {session}", "at": at + number * MINUTE, "session": session, "role": role}
            for number, role in enumerate(["user", "agent"] * turns)
        ]
    )
    dream_of(db, Placing())
    (found,) = (scene.id for scene in db._store.scan(Scene) if scene.session == session)
    return found


def edges(db: DB, relation: str = "co_occurrence") -> dict[tuple[int, ...], Hyperedge]:
    return {edge.scenes: edge for edge in db._store.scan(Hyperedge) if edge.relation == relation}


def pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


def test_scenes_that_share_telling_terms_are_joined(db: DB) -> None:
    one, two = scene(db, "one", KAYAK), scene(db, "two", KAYAK, at=NOW - 2 * DAY)
    other = scene(db, "three", ROSES, at=NOW - 3 * DAY)
    dream_of(db, Engrams())
    nodes = {engram.scene: engram for engram in db._store.scan(Engram)}
    assert nodes.keys() == {one, two, other}
    assert term_hash("kayak") in nodes[one].terms
    assert len(nodes[one].terms) <= TERMS
    (edge,) = edges(db).values()
    assert edge.scenes == pair(one, two)
    mine, theirs = set(nodes[one].terms), set(nodes[two].terms)
    assert len(mine & theirs) / len(mine | theirs) >= LEAST_SIMILARITY
    assert edge.weight == pytest.approx(len(mine & theirs) / math.sqrt(len(mine) * len(theirs)), abs=1e-4)
    assert edge.updated_at == min(db._store.get(Scene, id_).last_at for id_ in (one, two))


def test_names_of_speakers_do_not_join_scenes(db: DB) -> None:
    for number, words in enumerate(("kayak river", "roses garden")):
        texts = [f"Caroline, {words}", f"Melanie, {words}"]
        db.archive.append_many(
            [
                {"text": text, "speaker": who, "at": NOW - DAY + number * HOUR, "session": f"s{number}"}
                for text, who in zip(texts, ("Melanie", "Caroline"), strict=True)
            ]
        )
    dream_of(db, Placing(), Engrams())
    assert not edges(db)
    assert all(term_hash("carolin") not in engram.terms for engram in db._store.scan(Engram))


def test_a_second_dream_changes_nothing_however_late(db: DB, clock: ManualClock) -> None:
    """Decay did not accumulate: each dream raised the weights to what it found again, so that nothing was forgotten."""
    scene(db, "one", KAYAK)
    scene(db, "two", KAYAK, at=NOW - 2 * DAY)
    dream_of(db, Engrams())
    (before,) = edges(db).values()
    clock.advance(20 * DAY)
    assert dream_of(db, Engrams()).changed == 0
    (after,) = edges(db).values()
    assert after == before
    aged = after.weight * math.exp(-EDGE_DECAY * (clock.now_ms() - after.updated_at))
    assert after.weight_at(clock.now_ms()) == pytest.approx(aged)


def test_what_has_faded_is_deleted_and_does_not_come_back(db: DB, clock: ManualClock) -> None:
    one, two = scene(db, "one", KAYAK), scene(db, "two", KAYAK, at=NOW - 2 * DAY)
    dream_of(db, Engrams())
    (edge,) = edges(db).values()
    clock.advance(math.ceil(math.log(edge.weight / FORGOTTEN) / EDGE_DECAY))
    dream_of(db, Engrams())
    assert not edges(db)
    assert {engram.scene for engram in db._store.scan(Engram)} == {one, two}
    assert dream_of(db, Engrams()).changed == 0
    clock.advance(math.ceil(math.log(1 / FORGOTTEN) / NODE_DECAY))
    dream_of(db, Engrams())
    assert not list(db._store.scan(Engram))
    assert dream_of(db, Engrams()).changed == 0
    assert len(list(db._store.scan(Message))) == 12
    db.archive.append_many([{"text": KAYAK, "session": "one", "at": clock.now_ms() - HOUR}])
    dream_of(db, Placing(), Engrams())
    (node,) = db._store.scan(Engram)
    assert node.active_at == clock.now_ms() - HOUR  # another scene of the session, and as fresh as what was said in it


def test_what_a_cold_scene_absorbed_sinks_to_the_last_depth(db: DB, clock: ManualClock) -> None:
    found = scene(db, "one", KAYAK)
    topics = sorted(db._store.scan(Topic), key=lambda topic: topic.user_at)
    with db._store.writing() as batch:
        batch.put(msgspec.structs.replace(topics[0], depth=2, parent=topics[2].id))
        batch.put(msgspec.structs.replace(topics[1], depth=2, pinned=True))
    dream_of(db, Engrams())
    assert not db._store.get(Engram, engram_id(found)).cold
    clock.advance(math.ceil(math.log(1 / COLD) / NODE_DECAY))
    dream_of(db, Engrams())
    assert db._store.get(Engram, engram_id(found)).cold
    assert [db._store.get(Topic, topic.id).depth for topic in topics] == [4, 2, 1]
    assert dream_of(db, Engrams()).changed == 0


def test_use_keeps_what_would_be_forgotten(db: DB, clock: ManualClock) -> None:
    one, two = scene(db, "one", KAYAK), scene(db, "two", KAYAK, at=NOW - 2 * DAY)
    dream_of(db, Engrams())
    (edge,) = edges(db).values()
    clock.advance(math.ceil(math.log(edge.weight / FORGOTTEN) / EDGE_DECAY))
    with db._store.writing() as batch:
        for id_ in (one, two):
            batch.put(Usage(target=id_, hits=20, last_at=clock.now_ms()), usage_id(id_))
    assert dream_of(db, Engrams()).changed == 0
    assert edges(db)
    with db._store.writing() as batch:
        batch.put(Usage(target=two, hits=1, last_at=NOW), usage_id(two))  # both must be in use
    dream_of(db, Engrams())
    assert not edges(db)


def test_old_conversations_are_not_read_again_and_again(db: DB, clock: ManualClock) -> None:
    scene(db, "one", KAYAK, at=NOW - 3000 * DAY)
    report = dream_of(db, Engrams())
    assert (report.changed, report.stages[0].read) == (0, 0)


def test_scenes_of_one_session_follow_each_other(db: DB) -> None:
    one = scene(db, "one", KAYAK, at=NOW - 2 * DAY)
    db.archive.append_many([{"text": ROSES, "session": "one", "at": NOW - DAY}])
    dream_of(db, Placing(), Engrams())
    (two,) = (scene.id for scene in db._store.scan(Scene) if scene.id != one)
    assert edges(db, "temporal").keys() == {pair(one, two)}


def test_a_note_that_links_two_conversations_is_a_cause(db: DB) -> None:
    one, two = scene(db, "one", KAYAK, at=NOW - 2 * DAY), scene(db, "two", ROSES)
    first = {message.scene: to_hex(message.id) for message in db._store.scan(Message)}
    db.remember("the roses grow where the kayak stood", links=[first[one], first[two]])
    dream_of(db, Engrams())
    assert edges(db, "causal").keys() == {pair(one, two)}


def test_near_vectors_join_scenes_that_share_no_word(tmp_path: Path) -> None:
    """Ten subjects; the words of two of them are synonyms to the model."""
    words = [f"word{number}" for number in range(30)]

    def synonyms(texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        model = HashEmbedder(DIM)
        return model.embed([text.replace("word27 word28 word29", "word0 word1 word2") for text in texts])

    with memory(tmp_path / "a.meh", embedder=Scripted(synonyms)) as db:
        found = [
            scene(db, f"s{number}", " ".join(words[3 * number : 3 * number + 3]), at=NOW - DAY + number * HOUR)
            for number in range(10)
        ]
        db.backfill()
        dream_of(db, Engrams())
        made = edges(db, "semantic")
        assert len(made) <= 4  # a tenth of the pairs
        assert max(made.values(), key=lambda edge: edge.weight).scenes == pair(found[0], found[9])
        assert dream_of(db, Engrams()).changed == 0
        assert db.verify(deep=True).ok


def test_a_scene_has_a_bounded_number_of_edges(db: DB) -> None:
    for number in range(DEGREE + 4):
        scene(db, f"s{number}", KAYAK, at=NOW - DAY + number * HOUR, turns=1)
    dream_of(db, Engrams())
    made = len(edges(db))
    assert made <= DEGREE * (DEGREE + 4)
    last = scene(db, "last", KAYAK, at=NOW - HOUR, turns=1)
    dream_of(db, Engrams())
    assert sum(last in edge.scenes for edge in edges(db).values()) == DEGREE


def test_an_edge_of_the_agent_loop_stays_if_it_is_the_stronger(db: DB) -> None:
    one, two = scene(db, "one", KAYAK), scene(db, "two", KAYAK, at=NOW - 2 * DAY)
    strong = Hyperedge(relation="co_occurrence", scenes=pair(one, two), weight=1.0, updated_at=NOW - 3 * DAY)
    with db._store.writing() as batch:
        batch.put(strong, edge_id("co_occurrence", strong.scenes))
    dream_of(db, Engrams())
    (edge,) = edges(db).values()
    assert edge.weight == 1.0


def test_a_dream_for_one_scene_looks_at_it_alone(db: DB) -> None:
    one = scene(db, "one", KAYAK)
    scene(db, "two", ROSES)
    db._dreamer.stages = lambda *, model: (Engrams(),)
    db.dream(scene=to_hex(one))
    assert [engram.scene for engram in db._store.scan(Engram)] == [one]


def test_an_erased_message_takes_the_words_of_its_scene_along(db: DB) -> None:
    found = scene(db, "one", KAYAK)
    db.archive.append_many([{"text": "my password is quagga", "session": "one", "at": NOW - DAY + HOUR}])
    dream_of(db, Placing(), Engrams())
    assert term_hash("quagga") in db._store.get(Engram, engram_id(found)).terms
    (secret,) = (message for message in db._store.scan(Message) if "quagga" in message.text)
    db.forget(to_hex(secret.id), hard=True)
    assert db._store.get(Engram, engram_id(found)).terms == ()
    assert db._store.places(nodes_with(term_hash("quagga")), limit=1) == []
    dream_of(db, Engrams())
    terms = db._store.get(Engram, engram_id(found)).terms
    assert term_hash("kayak") in terms
    assert term_hash("quagga") not in terms


def test_a_damaged_vector_or_node_is_done_without(db: DB) -> None:
    one = scene(db, "one", KAYAK)
    with db._store.writing() as batch:
        lonely = Hyperedge(relation="semantic", scenes=(1, one) if one > 1 else (one, 2), weight=0.9, updated_at=NOW)
        batch.put(lonely, edge_id("semantic", lonely.scenes))
    report = dream_of(db, Engrams())
    assert skipped(report, "engrams") == {}
    with db._store.writing() as batch:
        batch.delete(lonely.KIND, edge_id("semantic", lonely.scenes))


def test_emotion_slows_forgetting_and_never_stops_it() -> None:
    calm, moved = Engram(scene=1, active_at=NOW), Engram(scene=1, active_at=NOW, valence=-1.0, arousal=1.0)
    later = NOW + 120 * DAY
    assert calm.importance_at(later) == pytest.approx(0.5)
    assert moved.importance_at(later) == pytest.approx(0.5 ** (1 - CALM))
    assert moved.importance_at(NOW + 3000 * DAY) < FORGOTTEN
    assert calm.importance_at(NOW - DAY) == 1.0  # a clock that was set back


def test_use_is_bounded_and_fades() -> None:
    edge = Hyperedge(relation="semantic", scenes=(1, 2), weight=0.4, updated_at=NOW)
    assert edge.weight_at(NOW, 1.0) == pytest.approx(0.4 + USE)
    assert msgspec.structs.replace(edge, weight=0.95).weight_at(NOW, 1.0) == 1.0
    often = Usage(target=1, hits=10**9, last_at=NOW)
    assert often.strength(NOW) == 1.0
    assert often.strength(NOW + 30 * DAY) == pytest.approx(0.5)
    assert Usage(target=1).strength(NOW) == 0.0


def test_places_in_time_are_those_of_the_formula() -> None:
    """Nodes and edges are listed by when they fall under a threshold: at that time and not before."""
    for record, under in (
        (Engram(scene=1, active_at=NOW), COLD),
        (Engram(scene=1, active_at=NOW, cold=True, valence=0.8, arousal=0.5), FORGOTTEN),
        (Hyperedge(relation="semantic", scenes=(1, 2), weight=0.31, updated_at=NOW), FORGOTTEN),
    ):
        worth = record.importance_at if isinstance(record, Engram) else record.weight_at
        (at,) = (listing.order for listing in record.listings() if listing.order > NOW + DAY)
        assert worth(at) <= under < worth(at - 1000)


def test_old_scenes_are_forgotten_in_one_dream(tmp_path: Path) -> None:
    """The stage planned to delete a forgotten node together with an edge that it had deleted a moment before: the
    change was skipped, and the next dream, over unchanged data, had something to do."""
    clock = ManualClock(NOW - 900 * DAY)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        for text in ("the kayak hull needs epoxy", "epoxy for the kayak hull", "kayak hull epoxy cured"):
            db.search(text, clock.now_ms(), session="s", auto_create=True)
            clock.advance(DAY)
        assert list(db._store.scan(Hyperedge))
        clock.advance(900 * DAY)
        first = db.dream()
        assert all("changed meanwhile" not in stage.skipped for stage in first.stages)
        assert not list(db._store.scan(Engram))
        assert not list(db._store.scan(Hyperedge))
        assert db.dream().number is None
