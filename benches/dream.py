"""What a dream without a model does to a memory: what it costs recall, what it costs in time, and whether it ends.

    python -m benches.dream DATA [--embedder none|local|minilm|onnx:FOLDER] [--messages 100000] [--json FILE]

LoCoMo: every conversation is filled in two ways, appended and through the agent loop, asked, dreamed over, and asked
again, without and with association. Printed is evidence recall by category (the questions of `benches.locomo`), and
checked that every message is there word for word, that a second dream changes nothing, and that two copies of a file
with the same clock give the same export. Then synthetic conversations of a tenth of, and of all `--messages`: CPU
seconds of the first dream, of one over unchanged data and of one after a hundredth more, and peak memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benches import report
from benches.locomo import DEPTH, SEED, messages_of, scores
from benches.locomo_data import Conversation, Dataset, load
from memhop import DB
from memhop.cli.arguments import embedder_called
from memhop.common.clock import ManualClock
from memhop.common.config import LIMITS
from memhop.repo.record import Layer
from memhop.search import tuning

if TYPE_CHECKING:
    from memhop.models.embed import Embedder

HOUR_MS: Final = 3_600_000
WAYS: Final = ("appended", "agent loop")
COLUMNS: Final = ("recall@5", "recall@10", "recall@20", "recall@50", "all@10")
_EPOCH_MS: Final = 1_700_000_000_000
_BATCH: Final = 5_000


class Ranked(NamedTuple):
    """Per question the ids of the turns found: before the dream, after it without association, and with it."""

    before: list[list[str]]
    without: list[list[str]]
    after: list[list[str]]


class Sizes(NamedTuple):
    """What one conversation came to."""

    scenes: int
    topics: int
    fused: int
    edges: int
    seconds: float


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.dream", description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="locomo json")
    parser.add_argument("--embedder", default="none", help="as `memhop recall --embedder`")
    parser.add_argument("--messages", type=int, default=100_000, help="of the largest synthetic memory; 0: none")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)
    dataset = load(options.data)
    environment = report.environment(seed=SEED, data_sha256=dataset.sha256)
    report.print_environment(environment)
    embedder = embedder_called(options.embedder)
    results: dict[str, Any] = {"embedder": options.embedder}
    for way in WAYS:
        ranked, sizes = measure(dataset, embedder, way)
        results[way] = figures(ranked, dataset) | {"sizes": [one._asdict() for one in sizes]}
        _print(way, results[way], sizes)
    if options.messages:
        rows = [grown(count) for count in (options.messages // 10, options.messages)]
        results |= {f"of_{one['messages']}": one for one in rows}
        report.print_table("Growth, CPU seconds", list(rows[0]), [list(one.values()) for one in rows])
    if options.json:
        report.write_json(options.json, environment, results)
    return 0


def measure(dataset: Dataset, embedder: Embedder | None, way: str) -> tuple[Ranked, list[Sizes]]:
    """Fill, ask, dream, ask. Raises RuntimeError if something was lost, or a second dream found something to do."""
    ranked = Ranked([], [], [])
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        for conversation in dataset.conversations:
            path = Path(folder) / f"{conversation.sample_id}.meh"
            with _memory(path, conversation, embedder) as db:
                _fill(db, conversation, way, embedded=embedder is not None)
            digests = {_dreamt(Path(shutil.copy(path, path.with_suffix(f".{copy}"))), conversation) for copy in (1, 2)}
            _settled(len(digests) == 1, "the same file with the same clock gave two memories")
            with _memory(path, conversation, embedder) as db:
                ranked.before.extend(_ask(db, conversation))
                start = time.process_time()
                _settled(db.dream().state == "done", "the dream did not end")
                spent = time.process_time() - start
                with association(0.0):
                    ranked.without.extend(_ask(db, conversation))
                ranked.after.extend(_ask(db, conversation))
                sizes.append(_sizes(db, spent))
                _settled(_all_there(db, conversation), "a message is not what was said")
                _settled(db.dream().changed == 0, "a second dream changed something")
    return ranked, sizes


@contextmanager
def association(weight: float) -> Iterator[None]:
    """Recall with another weight of association."""
    known = tuning.WEIGHTS[Layer.MESSAGES]
    tuning.WEIGHTS[Layer.MESSAGES] = known._replace(association=weight)
    try:
        yield
    finally:
        tuning.WEIGHTS[Layer.MESSAGES] = known


def figures(ranked: Ranked, dataset: Dataset) -> dict[str, Any]:
    """Evidence recall in percent of all questions and by category, for each of the three."""
    questions = [question for conversation in dataset.conversations for question in conversation.questions]
    categories = sorted({question.category for question in questions})
    found: dict[str, Any] = {}
    for name, lists in ranked._asdict().items():
        found[name] = {
            "all": scores(lists, questions, lambda question: question.evidence),
            **{
                category: scores(lists, questions, lambda question: question.evidence, category)
                for category in categories
            },
        }
    return found


def grown(count: int) -> dict[str, Any]:
    """The figures of a synthetic memory, measured in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_grown, (count,))


def _grown(count: int) -> dict[str, Any]:
    chance = random.Random(SEED)
    talk = synthetic(chance)
    clock = ManualClock(_EPOCH_MS)
    with tempfile.TemporaryDirectory() as folder, DB.open(Path(folder) / "a.meh", clock=clock, durability="none") as db:

        def append(many: int) -> None:
            for start in range(0, many, _BATCH):
                items = [next(talk) for _ in range(min(_BATCH, many - start))]
                clock.advance(max(0, items[-1]["at"] + HOUR_MS - clock.now_ms()))
                db.archive.append_many(items)

        append(count)
        db.checkpoint()
        first, changed = _dreamed(db)
        unchanged, nothing = _dreamed(db)
        append(count // 100)
        more, _ = _dreamed(db)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "messages": count,
        "first": round(first, 2),
        "records changed": changed,
        "unchanged": round(unchanged, 3),
        "changed then": nothing,
        "1 % more": round(more, 2),
        "peak MiB": round(peak),
    }


def _dreamed(db: DB) -> tuple[float, int]:
    """CPU seconds of dreams until one has nothing left to do for its bounds, and the records they changed."""
    start, changed = time.process_time(), 0
    while True:
        found = db.dream()
        changed += found.changed
        if not any("share" in reason for stage in found.stages for reason in stage.skipped):
            return time.process_time() - start, changed


def synthetic(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Items of `archive.append_many` without end: sessions of about 18 turns on two to four subjects, one in 90 min."""
    syllables = [consonant + vowel for consonant in "bcdfgklmnprst" for vowel in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.choice((2, 3, 3)))) for _ in range(12_000)]
    subjects = [chance.choices(words, k=40) for _ in range(400)]
    common = "we went there and it was really good because they said you can have some more of it tomorrow".split()
    at, session = _EPOCH_MS, 0
    while True:
        session, at = session + 1, at + 90 * 60_000
        for _ in range(chance.randint(2, 4)):
            subject = chance.choice(subjects)
            for turn in range(chance.randint(4, 8)):
                mixed = (
                    chance.choice(subject if kind < 0.4 else common if kind < 0.88 else words)
                    for kind in (chance.random() for _ in range(chance.randint(8, 25)))
                )
                at += 20_000
                yield {
                    "text": " ".join(mixed) + ".",
                    "role": "user" if turn % 2 == 0 else "agent",
                    "speaker": "Ann" if turn % 2 == 0 else "Bot",
                    "at": at,
                    "session": f"session {session}",
                }


def _memory(path: Path, conversation: Conversation, embedder: Embedder | None) -> DB:
    clock = ManualClock(conversation.turns[-1].at_ms + HOUR_MS)
    return DB.open(path, embedder=embedder, clock=clock, durability="none")


def _dreamt(path: Path, conversation: Conversation) -> str:
    """The digest of a memory after a dream."""
    with _memory(path, conversation, None) as db:
        db.dream()
        return db.export().digest


def _fill(db: DB, conversation: Conversation, way: str, *, embedded: bool) -> None:
    if way == "appended":
        db.archive.append_many(messages_of(conversation))
    else:
        through_the_loop(db, conversation)
    if embedded:
        _settled(not db.backfill().remaining, "some turns were not embedded")


def through_the_loop(db: DB, conversation: Conversation) -> None:
    """The first speaker asks, the other one replies."""
    topic = session = None
    for turn, item in zip(conversation.turns, messages_of(conversation), strict=True):
        if turn.speaker == conversation.speakers[0] or topic is None or turn.session != session:
            found = db.search(
                turn.text,
                turn.at_ms,
                session=item["session"],
                speaker=turn.speaker,
                external_id=turn.dia_id,
                token_budget=0,
            )
            topic, session = found.new_topic_id, turn.session
        else:
            db.update(topic, turn.text, turn.at_ms, speaker=turn.speaker, external_id=turn.dia_id)


def _ask(db: DB, conversation: Conversation) -> Iterator[list[str]]:
    for question in conversation.questions:
        found = db.recall(question.text, limit=DEPTH, token_budget=0, at=conversation.turns[-1].at_ms)
        yield [hit.external_id or "" for hit in found.hits]


def _all_there(db: DB, conversation: Conversation) -> bool:
    for turn in conversation.turns:
        message = db.archive.find(session=f"session {turn.session}", external_id=turn.dia_id)
        if message is None or message.text != turn.text:
            return False
    return True


def _sizes(db: DB, seconds: float) -> Sizes:
    records = db.stats().records
    scenes = [scene.id for scene in db.scenes.list(limit=LIMITS.results).items]
    fused = sum(bool(topic.children) for scene in scenes for topic in db.topics.list(scene, limit=LIMITS.results).items)
    return Sizes(len(scenes), records.get("topic", 0), fused, records.get("hyperedge", 0), round(seconds, 2))


def _print(way: str, found: Mapping[str, Any], sizes: Sequence[Sizes]) -> None:
    names = {"before": "before", "without": "after, without association", "after": "after"}
    for group in ("all", "multi-hop"):
        rows = [[shown, *(found[name][group][column] for column in COLUMNS)] for name, shown in names.items()]
        report.print_table(f"Evidence recall in percent, {way}, {group}", ["", *COLUMNS], rows)
    header = ["", *Sizes._fields]
    report.print_table(
        f"What the dreams made, {way}", header, [["", *(sum(column) for column in zip(*sizes, strict=True))]]
    )


def _settled(holds: bool, otherwise: str) -> None:
    if not holds:
        raise RuntimeError(otherwise)


if __name__ == "__main__":
    raise SystemExit(main())
