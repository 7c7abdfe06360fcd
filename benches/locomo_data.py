"""LoCoMo conversations as frozen records, and the one rule by which evidence is cleaned.

The file is the public release by Snap Research (CC BY-NC 4.0): it is read from outside the
repository and never copied into it. Every figure printed by a bench names the SHA-256 of the file
it was measured on.

    conversation ─┬─ turns         ("D3:7": session 3, seventh turn), in the order they were said
                  ├─ questions     each with the turns that answer it
                  └─ observations  short facts about a speaker, with the turns they come from

Evidence is cleaned so that figures compare with what others publish: find `D:?(\\d+):(\\d+)` in
each string, strip leading zeros, drop ids the conversation does not have, drop repeats. A question
left with none is not asked.
"""

import hashlib
import json
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CATEGORIES: Mapping[int, str] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
"""Numbers in the file to names, as the authors' own scoring code treats them."""

_EVIDENCE_ID = re.compile(r"D:?(\d+):(\d+)")
_SESSION_KEY = re.compile(r"session_(\d+)")
_WHEN_FORMAT = "%I:%M %p on %d %B, %Y"
_MS_PER_SECOND = 1000


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said.

    `text` is what was typed, followed by ` [shares CAPTION]` when an image went with it. `at_ms` is
    the session's start (Unix milliseconds, UTC) plus one second for every turn before this one, so
    order survives sorting by time.
    """

    dia_id: str
    session: int
    speaker: str
    text: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Question:
    """One question and the turns that answer it.

    `evidence` is cleaned, in the file's order, never empty. `corrected` is what a public audit
    cites instead, cleaned by the same rule (it may come out empty), or None where the audit found
    nothing wrong.
    """

    text: str
    category: str
    evidence: tuple[str, ...]
    corrected: tuple[str, ...] | None

    @property
    def audited(self) -> tuple[str, ...]:
        """The corrected evidence where there is some, else the original."""
        return self.evidence if self.corrected is None else self.corrected


@dataclass(frozen=True, slots=True)
class Observation:
    """A short fact about a speaker, used as an isolated note. `dia_ids`: cleaned, may be empty."""

    session: int
    speaker: str
    text: str
    dia_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Two speakers over many sessions; turns in the order said, questions only with evidence."""

    sample_id: str
    speakers: tuple[str, str]
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    observations: tuple[Observation, ...]
    without_evidence: int
    """Questions of the file that were left out because no evidence survived cleaning."""

    @property
    def session_count(self) -> int:
        """Sessions with at least one turn."""
        return len({turn.session for turn in self.turns})


@dataclass(frozen=True, slots=True)
class Dataset:
    """Every conversation of a file. `sha256` is the hex digest of its bytes."""

    conversations: tuple[Conversation, ...]
    sha256: str


def load(path: Path | str) -> Dataset:
    """Read and clean a LoCoMo file.

    Args:
        path: A JSON file in the released form; `evidence_corrected` and `observations` may be
            missing.

    Returns:
        Its conversations in the order of the file, and the digest of its bytes.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not JSON, a session's date is not like "1:56 pm on 8 May, 2023", a turn id
            occurs twice in one conversation, or a category is none of 1..5.
        KeyError: a field every sample must have is missing.
    """
    raw = Path(path).read_bytes()
    samples: list[dict[str, Any]] = json.loads(raw)
    return Dataset(tuple(_conversation(s) for s in samples), hashlib.sha256(raw).hexdigest())


def parse_when(text: str) -> int:
    """The start of a session, "1:56 pm on 8 May, 2023" taken as UTC, in Unix milliseconds.

    Raises ValueError when the text has another form.

    >>> parse_when("1:56 pm on 8 May, 2023")
    1683554160000
    """
    start = datetime.strptime(text, _WHEN_FORMAT).replace(tzinfo=UTC)
    return int(start.timestamp()) * _MS_PER_SECOND


def clean_evidence(raw: Iterable[str], known: Container[str]) -> tuple[str, ...]:
    """Turn ids found in `raw`, normalised, those not `known` dropped, first occurrence kept.

    >>> clean_evidence(["D8:6; D9:17", "D:11:26", "D30:05", "D"], {"D8:6", "D11:26", "D30:5"})
    ('D8:6', 'D11:26', 'D30:5')
    """
    pairs = (pair for text in raw for pair in _EVIDENCE_ID.findall(text))
    found = (f"D{int(session)}:{int(turn)}" for session, turn in pairs)
    return tuple(dict.fromkeys(dia_id for dia_id in found if dia_id in known))


def render_turn(text: str, caption: str | None) -> str:
    """What a turn says: its text, then the caption of the image shared with it, if any."""
    return f"{text} [shares {caption}]" if caption else text


def _conversation(sample: Mapping[str, Any]) -> Conversation:
    talk = sample["conversation"]
    turns = _turns(talk)
    known = {turn.dia_id for turn in turns}
    if len(known) != len(turns):
        raise ValueError(f"{sample['sample_id']}: a turn id occurs twice")
    asked = [_question(qa, known) for qa in sample["qa"]]
    questions = tuple(question for question in asked if question is not None)
    return Conversation(
        sample_id=sample["sample_id"],
        speakers=(talk["speaker_a"], talk["speaker_b"]),
        turns=turns,
        questions=questions,
        observations=tuple(_observation(o, known) for o in sample.get("observations", ())),
        without_evidence=len(asked) - len(questions),
    )


def _turns(talk: Mapping[str, Any]) -> tuple[Turn, ...]:
    # The file lists dates of sessions that have no turns: the turn lists decide, not the dates.
    matches = (_SESSION_KEY.fullmatch(key) for key in talk)
    numbers = sorted(int(match.group(1)) for match in matches if match)
    turns: list[Turn] = []
    for number in numbers:
        start_ms = parse_when(talk[f"session_{number}_date_time"])
        turns.extend(
            Turn(
                dia_id=said["dia_id"],
                session=number,
                speaker=said["speaker"],
                text=render_turn(said["text"], said.get("blip_caption")),
                at_ms=start_ms + index * _MS_PER_SECOND,
            )
            for index, said in enumerate(talk[f"session_{number}"])
        )
    return tuple(turns)


def _question(qa: Mapping[str, Any], known: Container[str]) -> Question | None:
    category = CATEGORIES.get(qa["category"])
    if category is None:
        raise ValueError(f"unknown question category {qa['category']!r}")
    evidence = clean_evidence(qa["evidence"], known)
    if not evidence:
        return None
    corrected = qa.get("evidence_corrected")
    return Question(
        text=qa["question"],
        category=category,
        evidence=evidence,
        corrected=None if corrected is None else clean_evidence(corrected, known),
    )


def _observation(raw: Mapping[str, Any], known: Container[str]) -> Observation:
    return Observation(
        session=raw["session"],
        speaker=raw["speaker"],
        text=raw["text"],
        dia_ids=clean_evidence(raw["dia_ids"], known),
    )
