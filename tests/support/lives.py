"""Lives of a memory that leave a record of every kind, told in chapters. The same calls give the same bytes."""

from __future__ import annotations

import numpy as np

from memhop import DB, HashEmbedder
from memhop.common.clock import ManualClock
from memhop.core.meh_file import MehFile
from memhop.repo.batch import Batch
from memhop.repo.l5_capability import Capability, capability_id
from memhop.repo.record import Kind
from memhop.repo.vectors import EmbedFailure, Space, TokenBasis, encode_contexts, encode_tokens, failure_id, space_id
from tests.support.memories import DAY, HOUR, NOW
from tests.support.simulated_disk import SimulatedDisk
from tests.support.workload import PATH

TOKEN_SPACE = space_id("a static model", 8, "none")
CARD = Capability(name="Varnish a hull", type="skill", summary="sand, dust, varnish", trigger="a dull hull")
QUERIES = ("kayak shed", "slugs lettuce", "piano 猫", "epoxy varnish", "yesterday", "varnish a hull")


def start(disk: SimulatedDisk) -> DB:
    """A memory on a simulated disk, its clock standing at NOW."""
    file = MehFile.open(PATH, disk=disk, now_ms=ManualClock(NOW).now_ms)
    return DB(file, embedder=HashEmbedder(16), clock=ManualClock(NOW))


def notes_and_turns(db: DB) -> None:
    """Messages, notes, a profile, events, scenes with topics, engrams and edges, knowledge."""
    for number, text in enumerate(("marine epoxy for the kayak", "yacht varnish", "epoxy or varnish?")):
        found = db.search(text, NOW - 9 * DAY + number * DAY, session=f"s{number}")
        db.update(found.new_topic_id, f"reply {number} about the kayak")
    db.remember_many(
        [
            "a kayak in the shed",
            {"text": "slugs in the lettuce", "kind": "fact", "tags": ["garden"], "project": "home", "at": NOW - DAY},
            {"text": "first wording", "external_id": "x", "metadata": {"deep": [1, {"a": None}]}},
        ]
    )
    db.archive.append_many(
        {"text": f"turn {n} about the piano", "session": "music", "speaker": "Ada", "at": NOW - HOUR + n}
        for n in range(3)
    )
    db.profile.update(name="Ada", preferences={"tea": "green"})
    db.knowledge.put("boats", "kayak hull", "laminated epoxy", keywords=["boat"])
    db.trajectory.append("music", "tool", '{"name": "metronome"}')


def derived(db: DB) -> None:
    """Vectors and their space, token ids, token vectors on a basis, an embed failure, usage counters, a card."""
    db.backfill()

    def fill(batch: Batch) -> Capability:
        batch.put(Space(model="a static model", dim=8, digest="none", created_at=NOW), TOKEN_SPACE)
        owners = [1, 2]
        tokens = [np.array([3, 5, 8], np.uint16), np.array([1], np.uint16)]
        batch.put_payload(Kind.TOKEN_SLAB, encode_tokens(TOKEN_SPACE, owners, tokens), TOKEN_SPACE, "first")
        directions = np.eye(2, 8, dtype="<f4").tobytes()
        basis = batch.new(TokenBasis(space=TOKEN_SPACE, units=300, dim=8, width=2, matrix=directions), "first")
        codes = [np.array([[3, 127], [127, 5], [1, 127]], np.int8), np.array([[-127, 1]], np.int8)]
        payload = encode_contexts(TOKEN_SPACE, basis.id, owners, tokens, codes)
        batch.put_payload(Kind.CONTEXT_SLAB, payload, TOKEN_SPACE, "first")
        failure = EmbedFailure(owner=7, space=TOKEN_SPACE, attempts=2, retry_at=NOW + HOUR, reason="too long")
        batch.put(failure, failure_id(7, TOKEN_SPACE))
        return batch.put(CARD, capability_id(CARD.name))

    db._store.write(fill)
    db.recall("kayak shed")  # counted with the next commit


def changes(db: DB) -> None:
    """A second version, a note in the trash, one erased, another language."""
    db.remember("second wording", external_id="x")
    found = db.search("家に小さな猫がいる", NOW - HOUR, session="cats")
    db.update(found.new_topic_id, "a cat in the kayak")
    trashed = db.remember("a note for the trash")
    erased = db.remember("a note to be erased")
    db.forget(trashed.id)
    db.forget(erased.id, hard=True)
    db.remember("written last")


def kinds_of(db: DB) -> set[Kind]:
    """The kinds of which a live record is in the file."""
    return {Kind(kind) for _, kind, _ in db._store.file.live()}
