"""What the demo does and measures; nothing here prints.

kill_writer      a real process stores turns and dies by SIGKILL in the middle of it
check_survivors  the file is opened again: is every acknowledged turn there, word for word?
store_rest       the conversation goes on where the file says it stopped
ask_all          the questions, with the rank of each line that answers them
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memhop.cli.demo_data import Question, Turn, demo_clock, store_turn
from memhop.common.errors import MemhopError, StorageError

if TYPE_CHECKING:
    import memhop
    from memhop import DB
    from memhop.api.results import Message, Recall

HITS = 10
DEPTHS = (1, 5, 10)
_PAGE = 500
_TIMING_ROUNDS = 4  # further recalls of each question, for the percentiles


class Killed(NamedTuple):
    """The life of the writer process. `acknowledged` are the message ids it reported, by turn number from 0."""

    process: int
    exit_code: int
    acknowledged: tuple[str, ...]


class Survivors(NamedTuple):
    """What a reopened file holds. `unacknowledged` turns were durable before the process could say so."""

    open_ms: float
    recovery: dict[str, Any]
    acknowledged: int
    found: int
    lost: tuple[int, ...]
    unacknowledged: int
    whole: bool  # what is stored is a prefix of the conversation, word for word
    message_ids: tuple[str, ...]
    topic_id: str


class Asked(NamedTuple):
    """A question and what came back. `ranks` gives each line of its evidence its place among the hits, or None."""

    question: Question
    recall: Recall
    ms: float
    ranks: dict[int, int | None]
    evidence_ids: frozenset[str]

    def found_within(self, depth: int) -> int:
        """How many lines of the evidence are among the first `depth` hits."""
        return sum(1 for rank in self.ranks.values() if rank is not None and rank <= depth)


class Spread(NamedTuple):
    """Percentiles in milliseconds of `calls` measured calls."""

    calls: int
    p50: float
    p95: float
    most: float


def kill_writer(path: Path, kill_after: int, step: Callable[[], None]) -> Killed:
    """Start a writer and kill it without warning once it has acknowledged `kill_after` turns.

    Raises:
        MemhopError: the writer ended by itself before that.
    """
    command = [sys.executable, "-m", "memhop.cli.demo_writer", str(path)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        acknowledged: list[str] = []
        try:
            for line in writer.stdout:
                if not line.endswith(b"\n"):
                    break  # the kill tore the report itself: that turn was never acknowledged
                acknowledged.append(line.split()[1].decode("ascii"))
                if len(acknowledged) == kill_after:
                    writer.kill()
                step()
        finally:
            writer.kill()
        said = writer.stderr.read().decode("utf-8", "replace").strip()
        code = writer.wait()
    if len(acknowledged) < kill_after:
        reason = said.splitlines()[-1] if said else "it said nothing"
        raise MemhopError(f"the writer process ended after {len(acknowledged)} turns: {reason}")
    return Killed(writer.pid, code, tuple(acknowledged))


def open_demo(path: Path, embedder: memhop.LocalEmbedder | None = None) -> DB:
    """The demo's memory."""
    from memhop import DB

    return DB.open(path, purpose="memhop demo", clock=demo_clock(), embedder=embedder)


def check_survivors(db: DB, open_ms: float, turns: Sequence[Turn], killed: Killed) -> Survivors:
    """Look up every acknowledged turn by its id, and read the whole archive beside that."""
    report = db.recovery
    lost = [
        number
        for number, (turn, message_id) in enumerate(zip(turns, killed.acknowledged, strict=False))
        if not _is_stored(db, message_id, turn)
    ]
    stored = list(all_messages(db))
    same = len(stored) <= len(turns) and all(map(_same, stored, turns))
    return Survivors(
        open_ms=open_ms,
        recovery=report.to_dict(),
        acknowledged=len(killed.acknowledged),
        found=len(killed.acknowledged) - len(lost),
        lost=tuple(lost),
        unacknowledged=max(0, len(stored) - len(killed.acknowledged)),
        whole=same,
        message_ids=tuple(message.id for message in stored),
        topic_id=(stored[-1].topic_id or "") if stored else "",
    )


def store_rest(
    db: DB, turns: Sequence[Turn], survivors: Survivors, step: Callable[[], None]
) -> tuple[tuple[str, ...], Spread]:
    """Store what is missing.

    Returns:
        The message ids of all turns, and how long each turn took until it was durable.
    """
    ids, topic_id, took = list(survivors.message_ids), survivors.topic_id, []
    for turn in turns[len(ids) :]:
        start = time.perf_counter()
        message_id, topic_id = store_turn(db, turn, topic_id)
        took.append(_ms_since(start))
        ids.append(message_id)
        step()
    return tuple(ids), spread(took)


def ask_all(
    db: DB, questions: Sequence[Question], message_ids: Sequence[str], step: Callable[[], None]
) -> tuple[tuple[Asked, ...], Spread]:
    """Ask every question as of the time it is asked.

    Returns:
        The answers, and the spread over further recalls of the same questions, when all is loaded.
    """
    asked = []
    for question in questions:
        start = time.perf_counter()
        found = db.recall(question.text, limit=HITS, at=question.asked_at)
        took = _ms_since(start)
        places = {hit.id: rank for rank, hit in enumerate(found.hits, 1)}
        ranks = {line: places.get(message_ids[line]) for line in question.evidence}
        evidence_ids = frozenset(message_ids[line] for line in question.evidence)
        asked.append(Asked(question, found, took, ranks, evidence_ids))
        step()
    took_ms = []
    for _ in range(_TIMING_ROUNDS):
        for question in questions:
            start = time.perf_counter()
            db.recall(question.text, limit=HITS, at=question.asked_at)
            took_ms.append(_ms_since(start))
    return tuple(asked), spread(took_ms)


def evidence_found(asked: Sequence[Asked], depth: int) -> tuple[int, int]:
    """Lines of evidence among the first `depth` hits of their questions, and how many there are in all."""
    return sum(one.found_within(depth) for one in asked), sum(len(one.ranks) for one in asked)


def all_messages(db: DB) -> Iterator[Message]:
    """Every stored message, oldest first."""
    cursor = None
    while True:
        page = db.archive.list(limit=_PAGE, cursor=cursor)
        yield from page.items
        cursor = page.next
        if cursor is None:
            return


def scene_sizes(db: DB) -> list[int]:
    """How many topics each scene holds, largest first."""
    sizes: list[int] = []
    cursor = None
    while True:
        page = db.scenes.list(limit=_PAGE, cursor=cursor)
        sizes += [scene.topics for scene in page.items]
        cursor = page.next
        if cursor is None:
            return sorted(sizes, reverse=True)


def spread(took_ms: Sequence[float]) -> Spread:
    """Percentiles by nearest rank; all 0 when nothing was measured."""
    ordered = sorted(took_ms) or [0.0]

    def percentile(share: int) -> float:
        return round(ordered[max(0, -(-len(ordered) * share // 100) - 1)], 3)

    return Spread(len(took_ms), percentile(50), percentile(95), percentile(100))


def _is_stored(db: DB, message_id: str, turn: Turn) -> bool:
    try:
        return _same(db.archive.get(message_id), turn)
    except (LookupError, StorageError):
        return False


def _same(message: Message, turn: Turn) -> bool:
    return (message.text, message.speaker, message.role, message.at, message.session) == (
        turn.text,
        turn.speaker,
        turn.role,
        turn.at,
        turn.session,
    )


def _ms_since(start: float) -> float:
    return (time.perf_counter() - start) * 1000
