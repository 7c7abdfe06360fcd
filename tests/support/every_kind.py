"""A small memory that holds a record of every kind, some in a checkpoint and some behind it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from memhop import DB, HashEmbedder
from memhop.common.ids import from_hex
from memhop.core.meh_file import MehFile
from memhop.repo import vectors
from memhop.repo.dreams import Dream, DreamStep, Spending, spending_id
from memhop.repo.imports import Import, ImportStep
from memhop.repo.l0_profile import ProfileChange, ProfileLine, line_id
from memhop.repo.l5_capability import Capability, capability_id
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Kind
from memhop.repo.store import CLOSE_CHECKPOINT_ENTRIES
from memhop.repo.upkeep import Maintenance, maintenance_id
from memhop.repo.vectors import Space, TokenBasis
from tests.support.memories import DAY, HOUR, NOW, memory

Records = dict[int, tuple[int, bytes]]  # id -> (kind, payload)


def every_kind(path: Path) -> None:
    """Write it. Notes link to notes, a message and a scene; one note was reworded twice."""
    with memory(path, embedder=HashEmbedder(16)) as db:
        _fill(db, "early", at=NOW - 9 * DAY)
        db.checkpoint()
        _fill(db, "late", at=NOW - DAY)
        assert db._file.tail_length < CLOSE_CHECKPOINT_ENTRIES, "closing would seal what is to stand behind"
        kinds = {kind for _, kind, _ in db._file.live()}
    assert kinds == set(Kind)


def _fill(db: DB, word: str, *, at: int) -> None:
    turns = ("marine epoxy", "yacht varnish", "epoxy or varnish?")[: 3 if word == "early" else 2]
    for number, text in enumerate(turns):
        found = db.search(f"{text} {word}", at + number * HOUR, session=f"{word}{number}", auto_create=True)
        db.update(found.new_topic_id, f"an answer about {text} {word}", at + number * HOUR + 1)
    (message,) = db.archive.append_many(
        [{"text": f"turn about the piano {word} we bought yesterday", "session": word, "at": at}]
    )
    for wording in ("first", "second", "third"):
        db.remember(f"{wording} wording {word}", external_id="x", project=word)
    shed = db.remember(f"a kayak in the shed {word}", tags=["boat"])
    db.remember(f"it leaks {word}", links=[shed.id, message, found.scene_id])
    db.remember("!?" if word == "early" else "?!")  # no embedder finds anything in it
    db.profile.update(name=word)
    node = db.knowledge.put(f"boats {word}", f"kayak hull {word}", "laminated epoxy")
    paddle = db.knowledge.put(f"boats {word}", f"paddle {word}")
    db.knowledge.connect(str(node.graph_id), [node.id, paddle.id], "part_of", label=word)
    db.facts.assert_("kayak", "is in", f"the shed {word}", valid_from=at, sources=[message])
    db.trajectory.append(word, "tool", "payload")
    db.recall(f"kayak {word}")
    db.backfill()
    with db._store.writing() as batch:
        batch.new(Event(session=word, seq=2, type="said", message=from_hex(message), at=at), word, 2)
        card = Capability(name=f"sail {word}", type="skill", summary="how to sail", sources=(from_hex(message),))
        batch.put(card, capability_id(card.name))
        said = from_hex(message)
        line = ProfileLine(name=f"term.{word}", value="3", confidence=0.5, evidence=(said,), at=at)
        batch.put(line, line_id(line.name))
        batch.new(ProfileChange(field="name", after=word, at=at), word)
        dream = batch.new(Dream(number=1 if word == "early" else 2, started_at=at, state="done"), word)
        batch.new(DreamStep(dream=dream.id, seq=1, stage="compress", base=3, changes=(("why", (said,)),)), word)
        day = at // DAY
        batch.put(Spending(day=day, calls=1), spending_id(day))
        batch.put(Maintenance(at=at, trashed=1), maintenance_id())
        batch_of = batch.new(Import(number=dream.number, format="jsonl", at=at, state="done", created=1), word)
        batch.new(ImportStep(batch=batch_of.id, seq=1, base=3, created=(said,)), word)
        space = next(iter(db._store.scan(Space))).id
        owner = int(db._store.views.units.column("owner")[0])
        tokens = [np.array([3, 5, 70_000], "<u4")]
        tokens_of_one = [np.array([7], "<u2")]
        batch.put_payload(Kind.TOKEN_SLAB, vectors.encode_tokens(space, [owner], tokens), space, word)
        directions = np.eye(4, 16, dtype="<f4").tobytes()
        basis = batch.new(TokenBasis(space=space, units=300, dim=16, width=4, matrix=directions), word)
        codes = [np.array([[1, 2, 3, 127]], np.int8)]
        payload = vectors.encode_contexts(space, basis.id, [owner], tokens_of_one, codes)
        batch.put_payload(Kind.CONTEXT_SLAB, payload, space, word)


def records_of(path: Path) -> Records:
    """All live records of a file, straight from their frames."""
    with MehFile.open(path, create=False) as file:
        return {id_: (kind, file.read(offset)[2]) for id_, kind, offset in file.live()}


def frames_of(path: Path) -> dict[int, tuple[int, int, int]]:
    """id -> (kind, offset of the frame, just past its payload) of all live records."""
    with MehFile.open(path, create=False) as file:
        return {id_: (kind, offset, sum(file.payload_at(offset))) for id_, kind, offset in file.live()}
