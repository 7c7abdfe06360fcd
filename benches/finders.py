"""The engine and its peers behind one door: a memory full of notes, questions, ranked ids.

What a system reads of a note: its text and tags, of a turn its speaker and text; the engine gets the same as fields,
and its times too. A question with a project is asked within it: the engine filters, a peer gets an index of that
project alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import memhop
from benches.baselines import Baseline, EmbedderAlone
from benches.packs import Note
from memhop.common.clock import ManualClock

if TYPE_CHECKING:
    from memhop.models.embed import Embedder

DEPTH = 50
"""How many ids a ranking holds at most."""


class Ask(NamedTuple):
    """One question. `project` None: over everything."""

    text: str
    project: str | None = None


class Finder(Protocol):
    """A way to find notes. Tables print `name`."""

    name: str

    def find(self, notes: Sequence[Note], asks: Sequence[Ask], at_ms: int) -> list[list[str]]:
        """Fill an empty memory with `notes` and ask everything.

        Args:
            notes: Ids occur once.
            asks: In any order.
            at_ms: When it is asked, Unix milliseconds UTC, after the last note.

        Returns:
            For every question, in order, at most `DEPTH` ids, best first.
        """
        ...


class Engine:
    """MemHop through its public API, a fresh file for every memory."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self.name = "memhop" if embedder is None else f"memhop + {embedder.name}"

    def find(self, notes: Sequence[Note], asks: Sequence[Ask], at_ms: int) -> list[list[str]]:
        """RuntimeError when the embedder leaves notes without a vector."""
        with (
            tempfile.TemporaryDirectory() as folder,
            memhop.DB.open(Path(folder) / "bench.meh", embedder=self._embedder, clock=ManualClock(at_ms)) as db,
        ):
            db.remember_many([_as_note(note) for note in notes if note.session is None])
            db.archive.append_many([_as_message(note) for note in notes if note.session is not None])
            self.filled(db)
            db.checkpoint()
            if self._embedder is not None:
                filled = db.backfill()
                if filled.remaining:
                    raise RuntimeError(f"{filled.remaining} notes were not embedded: {filled.reason}")
            answers = [
                db.recall(
                    ask.text,
                    limit=DEPTH,
                    token_budget=0,
                    layers=("messages", "notes"),
                    project=ask.project,
                    at=at_ms,
                )
                for ask in asks
            ]
        return [[hit.external_id or "" for hit in answer.hits] for answer in answers]

    def filled(self, db: memhop.DB) -> None:
        """Called when the notes are in, before anything is asked."""


class Peer:
    """A baseline over the same texts."""

    def __init__(self, baseline: Baseline[Any]) -> None:
        self._baseline = baseline
        self.name = baseline.name

    def find(self, notes: Sequence[Note], asks: Sequence[Ask], at_ms: int) -> list[list[str]]:
        """Times are nothing to a baseline."""
        ranked: list[list[str]] = [[] for _ in asks]
        for project in dict.fromkeys(ask.project for ask in asks):
            chosen = [note for note in notes if project in (None, note.project)]
            texts = [_read(note) for note in chosen]
            for place, ask in enumerate(asks):
                if ask.project == project:
                    ranked[place] = [chosen[row].id for row in self._baseline.rows(texts, ask.text, DEPTH)]
        return ranked


def finders(embedder: Embedder | None, peers: Sequence[Baseline[Any]]) -> list[Finder]:
    """The engine, its embedder alone if it has one, and the peers, in this order."""
    found: list[Finder] = [Engine(embedder)]
    if embedder is not None:

        def embed(texts: Sequence[str], query: bool) -> Any:
            return embedder.embed(texts, query=query)

        found.append(Peer(EmbedderAlone(embed, f"{embedder.name} alone")))
    return found + [Peer(baseline) for baseline in peers]


def _as_note(note: Note) -> dict[str, Any]:
    return {
        "text": note.text,
        "project": note.project,
        "kind": note.kind,
        "tags": note.tags,
        "at": note.at_ms,
        "external_id": note.id,
    }


def _as_message(note: Note) -> dict[str, Any]:
    return {
        "text": note.text,
        "speaker": note.speaker,
        "session": note.session,
        "at": note.at_ms,
        "external_id": note.id,
    }


def _read(note: Note) -> str:
    said = note.text if note.speaker is None else f"{note.speaker}: {note.text}"
    return " ".join((said, *note.tags))
