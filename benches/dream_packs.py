"""Does a dream keep apart what must stay apart? Look-alikes and contradictions, before and after one.

    python -m benches.dream_packs [--split dev|held|both] [--embedder none|hash|local] [--json FILE]

Two packs of the project's own, invented, written before anything was measured and halved by hand. Each fills a memory
twice: as turns of a conversation, through `search` and `update`, and as notes. Then a dream without a model.

    look-alikes      two turns of one session that differ in one value, both true (`dream_lookalikes.json`)
                     kept: both stand there word for word; apart: no statement drawn from one of them holds the other's
                     value; both@10: both are among the first ten hits of a question about what they say
    contradictions   two turns weeks apart, the later one changes the earlier (`dream_contradictions.json`)
                     before: asked in the present, the later one comes before the earlier; first: it is the first hit;
                     older@10: the earlier one is among the first ten

A turn is found by its message or by a fused topic of which a statement cites it. In percent of items.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import memhop
from benches import report
from benches.metrics import mean
from benches.packs import FOLDER, SPLITS
from memhop.cli.arguments import embedder_called
from memhop.common.clock import ManualClock

if TYPE_CHECKING:
    from memhop.models.embed import Embedder

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
TOP = 10
WAYS = ("turns", "notes")
DEPTH = 50
FILES = {"lookalikes": "dream_lookalikes", "contradictions": "dream_contradictions", "relations": "relations"}
Figures = dict[str, float | int]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two turns, the earlier first. `group`: in what they differ, or what changed. `known`: see `relations.json`."""

    id: str
    split: str
    group: str
    language: str
    turns: tuple[str, str]
    question: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Pack:
    """`around`: turns with replies about nothing of this, which lie between the others."""

    name: str
    pairs: tuple[Pair, ...]
    around: tuple[tuple[str, str], ...]
    asked_at_ms: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What is said at a time, and the reply."""

    text: str
    reply: str
    at_ms: int
    session: str


class Drawn(NamedTuple):
    """A statement of a fused topic, and the ids of what it cites."""

    topic: str
    text: str
    cited: frozenset[str]


def load(name: str, folder: Path = FOLDER) -> Pack:
    """Read one of `FILES`. Raises OSError, ValueError, KeyError."""
    content = (folder / f"{FILES[name]}.json").read_bytes()
    read = json.loads(content)
    pairs = tuple(
        Pair(
            id=item["id"],
            split=item["split"],
            group=item.get("differs") or item.get("relation") or item["kind"],
            language=item["language"],
            turns=(item["turns"][0], item["turns"][1]),
            question=item["question"],
            known=item.get("known", True),
        )
        for item in read["items"]
    )
    around = tuple((said, reply) for said, reply in read["around"])
    asked_at = int(datetime.fromisoformat(read["asked_at"]).timestamp() * 1000)
    return Pack(name, pairs, around, asked_at, hashlib.sha256(content).hexdigest())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benches.dream_packs", description=__doc__.partition("\n")[0])
    parser.add_argument("--split", choices=[*SPLITS, "both"], default="dev", help="weights are tuned on dev alone")
    parser.add_argument("--embedder", default="none", help="as `memhop recall --embedder`")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(argv)

    packs = [load("lookalikes"), load("contradictions")]
    digest = hashlib.sha256("".join(pack.sha256 for pack in packs).encode()).hexdigest()
    environment = report.environment(seed=0, data_sha256=digest)
    report.print_environment(environment)
    embedder = embedder_called(options.embedder)
    splits = SPLITS if options.split == "both" else (options.split,)
    results: dict[str, object] = {"embedder": options.embedder}
    for pack in packs:
        measured = {way: measure(pack, way, embedder, splits) for way in WAYS}
        results[pack.name] = measured
        rows: list[list[report.Cell]] = [
            [way, split, when, *figures.values()]
            for way, by_split in measured.items()
            for split, by_time in by_split.items()
            for when, figures in by_time.items()
        ]
        columns = list(next(iter(measured["turns"].values()))["before"])
        report.print_table(f"{pack.name}, percent", ["way", "split", "dream", *columns], rows)
    if options.json:
        report.write_json(options.json, environment, results)
    return 0


def conversation(pack: Pack) -> list[Turn]:
    """All turns in order of time, a session a day: look-alikes in one session, contradictions weeks apart."""
    around = cycle(pack.around)
    together = pack.name == "lookalikes"
    sessions: list[list[str]] = []
    for start in range(0, len(pack.pairs), 4):
        earlier, later = zip(*(pair.turns for pair in pack.pairs[start : start + 4]), strict=True)
        sessions += [[*earlier, *later]] if together else [list(earlier)]
    if not together:
        sessions += [
            [pair.turns[1] for pair in pack.pairs[start : start + 4]] for start in range(0, len(pack.pairs), 4)
        ]
    first = pack.asked_at_ms - 2 * len(sessions) * DAY
    return [
        Turn(text, reply, first + 2 * number * DAY + place * 3 * MINUTE, f"session {number}")
        for number, said in enumerate(sessions)
        for place, (text, reply) in enumerate(_mixed(said, around))
    ]


def _mixed(said: Sequence[str], around: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(said):
        if number % 3 == 0:
            yield next(around)
        yield text, "All right, I will remember that."


def measure(
    pack: Pack, way: str, embedder: Embedder | None, splits: Iterable[str] = SPLITS
) -> dict[str, dict[str, Figures]]:
    """Figures by split, before and after a dream."""
    with tempfile.TemporaryDirectory() as folder:
        clock = ManualClock(pack.asked_at_ms)
        with memhop.DB.open(Path(folder) / "a.meh", embedder=embedder, clock=clock, durability="none") as db:
            ids = fill(db, conversation(pack), way)
            _embed(db, embedder)
            before = _figures(db, pack, ids, splits)
            db.dream()
            _embed(db, embedder)
            after = _figures(db, pack, ids, splits)
    return {split: {"before": before[split], "after": after[split]} for split in before}


def _embed(db: memhop.DB, embedder: Embedder | None) -> None:
    if embedder is not None and db.backfill().remaining:
        raise RuntimeError("not everything was embedded")


def fill(db: memhop.DB, turns: Iterable[Turn], way: str) -> dict[str, str]:
    """Store the turns; gives the id of each text."""
    ids = {}
    for turn in turns:
        if way == "notes":
            ids[turn.text] = db.remember(turn.text, at=turn.at_ms).id
            continue
        found = db.search(turn.text, turn.at_ms, session=turn.session, token_budget=0)
        ids[turn.text] = found.message_id
        db.update(found.new_topic_id, turn.reply, turn.at_ms + MINUTE)
    return ids


def _figures(db: memhop.DB, pack: Pack, ids: dict[str, str], splits: Iterable[str]) -> dict[str, Figures]:
    drawn = _drawn(db)
    judge = _alike if pack.name == "lookalikes" else _contrary
    figures: dict[str, Figures] = {}
    for split in splits:
        pairs = [pair for pair in pack.pairs if pair.split == split]
        judged = [judge(db, pair, [ids[text] for text in pair.turns], drawn) for pair in pairs]
        shares = {name: round(100 * mean([each[name] for each in judged]), 1) for name in judged[0]}
        figures[split] = {"n": len(pairs), **shares}
    return figures


def _drawn(db: memhop.DB) -> list[Drawn]:
    """All statements of fused topics."""
    return [
        Drawn(topic.id, each.text, frozenset(each.message_ids))
        for scene in db.scenes.list(limit=1000).items
        for topic in db.topics.list(scene.id, limit=1000).items
        for each in topic.statements
    ]


def _alike(db: memhop.DB, pair: Pair, ids: list[str], drawn: Sequence[Drawn]) -> dict[str, bool]:
    places = _places(db, pair.question, ids, drawn)
    mine = [each for each in drawn if not each.cited.isdisjoint(ids)]
    return {
        "kept": [_text(db, id_) for id_ in ids] == list(pair.turns),
        "apart": all(len(each.cited.intersection(ids)) == 1 and _says(each, pair, ids) for each in mine),
        "both@10": all(place is not None and place < TOP for place in places),
    }


def _says(drawn: Drawn, pair: Pair, ids: Sequence[str]) -> bool:
    """Whether a statement drawn from one of a pair does not say what the other one said."""
    own, other = pair.turns if ids[0] in drawn.cited else reversed(pair.turns)
    return drawn.text.strip() in own or (own in drawn.text and other not in drawn.text)


def _contrary(db: memhop.DB, pair: Pair, ids: list[str], drawn: Sequence[Drawn]) -> dict[str, bool]:
    older, newer = _places(db, pair.question, ids, drawn)
    return {
        "before": newer is not None and (older is None or newer < older),
        "first": newer == 0,
        "older@10": older is not None and older < TOP,
    }


def _places(db: memhop.DB, question: str, ids: Sequence[str], drawn: Sequence[Drawn]) -> list[int | None]:
    """Where each of two texts stands among the hits, itself or as a fused topic that cites it and not the other."""
    hits = [hit.id for hit in db.recall(question, limit=DEPTH, token_budget=0).hits]
    citing = [{each.topic for each in drawn if id_ in each.cited} for id_ in ids]
    places: list[int | None] = []
    for id_, own, others in zip(ids, citing, reversed(citing), strict=True):
        holders = {id_} | (own - others)
        places.append(next((place for place, hit in enumerate(hits) if hit in holders), None))
    return places


def _text(db: memhop.DB, id_: str) -> str:
    try:
        return db.archive.get(id_).text
    except memhop.NotFound:
        return db.notes.get(id_).text


if __name__ == "__main__":
    sys.exit(main())
