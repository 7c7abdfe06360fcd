"""What the scenes of the hits bring to mind, and how little that may change of the order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from memhop import DB
from memhop.common.ids import from_hex
from memhop.repo.l1_engram import EDGE_DECAY, NODE_DECAY, Engram, Hyperedge, edge_id, engram_id
from memhop.repo.l2_context import Scene
from memhop.repo.l6_usage import Usage, usage_id
from memhop.search.association import DAMPING, THRESHOLD, Spreading
from tests.support.memories import DAY, MINUTE, NOW, memory


@pytest.fixture
def db(tmp_path: Path) -> Iterator[DB]:
    with memory(tmp_path / "a.meh") as opened:
        yield opened


def scenes(db: DB, count: int) -> list[int]:
    with db._store.writing() as batch:
        made = [batch.new(Scene(name=f"scene {number}", last_at=NOW), number).id for number in range(count)]
        for id_ in made:
            batch.put(Engram(scene=id_, active_at=NOW), engram_id(id_))
    return made


def join(db: DB, weight: float, *members: int, at: int = NOW) -> None:
    ordered = tuple(sorted(members))
    with db._store.writing() as batch:
        batch.put(
            Hyperedge(relation="semantic", scenes=ordered, weight=weight, updated_at=at), edge_id("semantic", ordered)
        )


def reached(db: DB, start: dict[int, float], at: int = NOW) -> dict[int, float]:
    with db._store.lock:
        return Spreading(db._store, at).activate(start)


def test_activation_flows_two_hops_and_fades(db: DB) -> None:
    a, b, c, d = scenes(db, 4)
    join(db, 0.9, a, b)
    join(db, 0.8, b, c)
    join(db, 1.0, c, d)
    first, second = 0.9 * DAMPING, 0.9 * DAMPING * 0.8 * DAMPING
    assert reached(db, {a: 1.0}) == {b: pytest.approx(first), c: pytest.approx(second)}
    assert reached(db, {a: THRESHOLD}) == {}


def test_an_edge_of_several_scenes_reaches_all_of_them(db: DB) -> None:
    a, b, c = scenes(db, 3)
    join(db, 0.6, a, b, c)
    assert reached(db, {a: 1.0}) == {b: pytest.approx(0.3), c: pytest.approx(0.3)}


def test_circles_add_nothing(db: DB) -> None:
    """Two scenes that each bring up the other once climbed with every hop."""
    a, b, c = scenes(db, 3)
    for one, other in ((a, b), (b, c), (c, a)):
        join(db, 1.0, one, other)
    assert reached(db, {a: 1.0}) == {b: pytest.approx(0.5), c: pytest.approx(0.5)}
    assert a not in reached(db, {a: 0.2})


def test_weights_and_importance_are_those_of_the_time_of_the_question(db: DB) -> None:
    a, b = scenes(db, 2)
    join(db, 1.0, a, b)
    for days in (0, 10, 60):
        expected = 0.5 * math.exp(-(EDGE_DECAY + NODE_DECAY) * days * DAY)
        assert reached(db, {a: 1.0}, NOW + days * DAY) == {b: pytest.approx(expected)}
    assert reached(db, {a: 1.0}, NOW + 400 * DAY) == {}


def test_use_lends_strength(db: DB) -> None:
    a, b = scenes(db, 2)
    join(db, 0.4, a, b)
    with db._store.writing() as batch:
        for id_ in (a, b):
            batch.put(Usage(target=id_, hits=20, last_at=NOW), usage_id(id_))
    assert reached(db, {a: 1.0}) == {b: pytest.approx(0.3)}


def test_what_is_forgotten_does_not_come_to_mind(db: DB) -> None:
    a, b = scenes(db, 2)
    join(db, 1.0, a, b)
    with db._store.writing() as batch:
        batch.delete(Engram.KIND, engram_id(b))
    assert reached(db, {a: 1.0}) == {}


def test_association_helps_behind_the_best_hits_and_is_told(db: DB) -> None:
    """Of equal turns, one whose scene is brought to mind comes first; the ten best stay where they were."""
    at = NOW - DAY
    strong = db.search("epoxy seals the kayak seam", at, session="strong", auto_create=True)
    for number in range(1, 30):
        text = f"kayak seam number {number}" if number < 12 else f"seam number {number}"
        db.search(text, at + number * MINUTE, session=f"s{number}", auto_create=True)
    for edge in list(db._store.scan(Hyperedge)):
        with db._store.writing() as batch:
            batch.delete(edge.KIND, edge.id)
    before = db.recall("epoxy kayak seam", limit=30).hits
    assert len(before) == 30
    assert all("association" not in hit.parts for hit in before)
    last = before[-1]
    join(db, 1.0, from_hex(strong.scene_id), from_hex(last.scene_id or ""))
    after = db.recall("epoxy kayak seam", limit=30)
    assert [hit.id for hit in after.hits[:12]] == [hit.id for hit in before[:12]]
    (place,) = (place for place, hit in enumerate(after.hits) if hit.id == last.id)
    assert place == 12
    lifted = after.hits[place]
    assert lifted.parts["association"] > 0
    assert math.fsum(lifted.parts.values()) == lifted.score
    assert [scene.id for scene in after.associated] == [last.scene_id]
    assert [hit.id for hit in db.recall("epoxy kayak seam", limit=10).hits] == [hit.id for hit in before[:10]]
