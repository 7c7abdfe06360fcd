"""The project's own questions: notes an agent would keep, and what its user would ask, with what answers.

    notes         notes of eight projects; code, typing errors, Chinese, times, paraphrases, several notes, projects
    lookalikes    two or three notes that differ in one value, and a question that asks for one of them
    present       what changed over time, and questions about today and about an older time
    present_more  many more of the same kind, all to tune on
    multilingual  notes and turns in Chinese, Japanese, Korean and mixed scripts

All names and facts are invented. The questions were written before any of them was asked of the engine. `split`
says who may look: weights are tuned on "dev" alone, "held" is for reporting. Look-alikes and subjects are "dev" where
the first byte of SHA-256 over "split-1:" + id is even; questions with a type alternate within it, in order of that
digest. All of present_more is "dev".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "packs"
PACKS = ("notes", "lookalikes", "present", "present_more", "multilingual")
SPLITS = ("dev", "held")


@dataclass(frozen=True, slots=True)
class Note:
    """A note, or a turn of a conversation when it has a session. `at_ms`: Unix milliseconds UTC."""

    id: str
    text: str
    at_ms: int
    project: str = "default"
    kind: str = "note"
    tags: tuple[str, ...] = ()
    session: str | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked and the notes that answer, at least one. `project`: asked within it; None: over all."""

    id: str
    type: str
    split: str
    text: str
    answers: tuple[str, ...]
    project: str | None = None


@dataclass(frozen=True, slots=True)
class LookAlike:
    """Notes that differ in one value. `asked` is the id of the one that the question is about."""

    id: str
    split: str
    differs: str
    language: str
    notes: tuple[Note, ...]
    question: str
    asked: str


@dataclass(frozen=True, slots=True)
class Subject:
    """Notes on one changing value, oldest first; `past` holds questions about older times with their answers."""

    id: str
    split: str
    kind: str
    language: str
    notes: tuple[Note, ...]
    question: str
    past: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Packs:
    """Everything. `asked_at_ms`: when the questions are asked, after the last note."""

    notes: tuple[Note, ...]
    questions: tuple[Question, ...]
    lookalikes: tuple[LookAlike, ...]
    subjects: tuple[Subject, ...]
    more_subjects: tuple[Subject, ...]
    multilingual: tuple[Note, ...]
    multilingual_questions: tuple[Question, ...]
    asked_at_ms: int
    sha256: str
    """Hex digest over all files."""


def load(folder: Path = FOLDER) -> Packs:
    """Read the packs.

    Raises:
        OSError: a file cannot be read.
        ValueError, KeyError: one is not what this module describes, or they disagree on when questions are asked.
    """
    files = {name: (folder / f"{name}.json").read_bytes() for name in PACKS}
    read = {name: json.loads(content) for name, content in files.items()}
    times = {pack["asked_at"] for pack in read.values()}
    if len(times) != 1:
        raise ValueError(f"the packs are asked at different times: {sorted(times)}")
    return Packs(
        notes=_notes(read["notes"]["notes"]),
        questions=_questions(read["notes"]["questions"]),
        lookalikes=tuple(
            LookAlike(
                id=item["id"],
                split=item["split"],
                differs=item["differs"],
                language=item["language"],
                notes=_notes(item["notes"]),
                question=item["question"],
                asked=item["asked"],
            )
            for item in read["lookalikes"]["items"]
        ),
        subjects=_subjects(read["present"]["items"]),
        more_subjects=_subjects(read["present_more"]["items"]),
        multilingual=_notes(read["multilingual"]["notes"]),
        multilingual_questions=_questions(read["multilingual"]["questions"]),
        asked_at_ms=_ms(times.pop()),
        sha256=hashlib.sha256(b"".join(files.values())).hexdigest(),
    )


def _notes(items: Sequence[Mapping[str, Any]]) -> tuple[Note, ...]:
    return tuple(
        Note(
            id=item["id"],
            text=item["text"],
            at_ms=_ms(item["at"]),
            project=item.get("project", "default"),
            kind=item.get("kind", "note"),
            tags=tuple(item.get("tags", ())),
            session=item.get("session"),
            speaker=item.get("speaker"),
        )
        for item in items
    )


def _subjects(items: Sequence[Mapping[str, Any]]) -> tuple[Subject, ...]:
    return tuple(
        Subject(
            id=item["id"],
            split=item["split"],
            kind=item["subject"],
            language=item["language"],
            notes=_notes(item["notes"]),
            question=item["question"],
            past=tuple((asked["question"], asked["answer"]) for asked in item["past"]),
        )
        for item in items
    )


def _questions(items: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    return tuple(
        Question(
            id=item["id"],
            type=item["type"],
            split=item["split"],
            text=item["question"],
            answers=tuple(item["answers"]),
            project=item.get("project"),
        )
        for item in items
    )


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)
