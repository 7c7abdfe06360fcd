"""What is measured about a way to find notes, on each pack; the figures `benches.notes` explains.

Percentages of questions or items, in groups, "all" first; "n" is how many there were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from benches.finders import Ask, Finder
from benches.locomo_data import Conversation, Dataset
from benches.metrics import all_evidence_at_k, check_k, covered_at_k, is_before, mean, recall_at_k
from benches.packs import LookAlike, Note, Packs, Question, Subject

CUTS = (1, 5, 10)
Figures = dict[str, float | int]
Groups = dict[str, Figures]
Item = TypeVar("Item")
Answer = TypeVar("Answer")


def notes(finder: Finder, packs: Packs, splits: Iterable[str]) -> dict[str, Groups]:
    """By split and type of question, "all" first."""
    return by_split(finder, packs.notes, packs.questions, packs.asked_at_ms, splits)


def multilingual(finder: Finder, packs: Packs, splits: Iterable[str]) -> dict[str, Groups]:
    """By split and type of question, "all" first."""
    return by_split(finder, packs.multilingual, packs.multilingual_questions, packs.asked_at_ms, splits)


def by_split(
    finder: Finder, notes: Sequence[Note], questions: Sequence[Question], at_ms: int, splits: Iterable[str]
) -> dict[str, Groups]:
    """Recall at `CUTS` in percent, by split and type of question, "all" first."""
    projects = {question.project for question in questions}
    check_k(max(CUTS), min(sum(project in (None, note.project) for note in notes) for project in projects))
    found = finder.find(notes, [Ask(question.text, question.project) for question in questions], at_ms)
    pairs = list(zip(questions, found, strict=True))
    figures: dict[str, Groups] = {}
    for split in splits:
        chosen = [(question, ranked) for question, ranked in pairs if question.split == split]
        groups = grouped(chosen, lambda question: question.type)
        figures[split] = {name: recalls(group) for name, group in groups.items()}
    return figures


def recalls(pairs: Sequence[tuple[Question, Sequence[str]]]) -> Figures:
    """Means over questions of the share of their answers found, in percent."""
    figures: Figures = {"n": len(pairs)}
    for k in CUTS:
        figures[f"recall@{k}"] = percent(recall_at_k(ranked, question.answers, k) for question, ranked in pairs)
    return figures


def lookalikes(finder: Finder, packs: Packs, splits: Iterable[str]) -> dict[str, Groups]:
    """By split, then language and what differs, "all" first."""
    items = packs.lookalikes
    memory = (*packs.notes, *(note for item in items for note in item.notes))
    found = finder.find(memory, [Ask(item.question) for item in items], packs.asked_at_ms)
    figures: dict[str, Groups] = {}
    for split in splits:
        chosen = [pair for pair in zip(items, found, strict=True) if pair[0].split == split]
        groups = grouped(chosen, lambda item: item.language) | grouped(chosen, lambda item: item.differs)
        figures[split] = {name: asked_first(group) for name, group in groups.items()}
    return figures


def asked_first(pairs: Sequence[tuple[LookAlike, Sequence[str]]]) -> Figures:
    """In percent of items: the asked note before its look-alikes; and whether it is in the first ten at all."""
    others = [{note.id for note in item.notes} - {item.asked} for item, _ in pairs]
    return {
        "n": len(pairs),
        "first": percent(
            is_before(ranked, item.asked, rest) for (item, ranked), rest in zip(pairs, others, strict=True)
        ),
        "recall@10": percent(recall_at_k(ranked, [item.asked], 10) for item, ranked in pairs),
    }


def present(finder: Finder, packs: Packs, splits: Iterable[str]) -> dict[str, Groups]:
    """By split, then language, "all" first."""
    return _of_subjects(finder, packs, packs.subjects, splits)


def present_more(finder: Finder, packs: Packs, splits: Iterable[str]) -> dict[str, Groups]:
    """As `present`; splits of which the pack has nothing are left out."""
    there = {subject.split for subject in packs.more_subjects}
    return _of_subjects(finder, packs, packs.more_subjects, [split for split in splits if split in there])


def _of_subjects(finder: Finder, packs: Packs, subjects: Sequence[Subject], splits: Iterable[str]) -> dict[str, Groups]:
    memory = (*packs.notes, *(note for subject in subjects for note in subject.notes))
    asks = [Ask(subject.question) for subject in subjects]
    asks += [Ask(text) for subject in subjects for text, _ in subject.past]
    found = finder.find(memory, asks, packs.asked_at_ms)
    about_past = iter(found[len(subjects) :])
    answered = [
        (subject, (ranked, [next(about_past) for _ in subject.past]))
        for subject, ranked in zip(subjects, found, strict=False)
    ]
    return {
        split: {
            name: present_first(group)
            for name, group in grouped(
                [pair for pair in answered if pair[0].split == split], lambda subject: subject.language
            ).items()
        }
        for split in splits
    }


def present_first(pairs: Sequence[tuple[Subject, tuple[Sequence[str], Sequence[Sequence[str]]]]]) -> Figures:
    """In percent of subjects, "past" in percent of questions about an older time.

    Each subject comes with the ranking for the present and one for every question about the past.
    """
    before, first, older, past = [], [], [], []
    for subject, (ranked, rankings) in pairs:
        ids = [note.id for note in subject.notes]
        before.append(is_before(ranked, ids[-1], ids[:-1]))
        first.append(list(ranked[:1]) == ids[-1:])
        older.append(all_evidence_at_k(ranked, ids[:-1], 10))
        past += [
            is_before(of_past, answer, set(ids) - {answer})
            for of_past, (_, answer) in zip(rankings, subject.past, strict=True)
        ]
    figures: Figures = {
        "n": len(pairs),
        "before": percent(before),
        "first": percent(first),
        "older@10": percent(older),
        "n past": len(past),
    }
    return figures | ({"past": percent(past)} if past else {})


def observations(finder: Finder, dataset: Dataset) -> Groups:
    """Each conversation's observations in a memory of their own; by category of question, "all" first."""
    answered: list[tuple[str, list[float]]] = []
    for conversation in dataset.conversations:
        notes, sources = as_notes(conversation)
        check_k(max(CUTS), len(notes))
        covered = {dia_id for turns in sources.values() for dia_id in turns}
        questions = [
            (question, wanted)
            for question in conversation.questions
            if (wanted := [dia_id for dia_id in question.evidence if dia_id in covered])
        ]
        found = finder.find(notes, [Ask(question.text) for question, _ in questions], conversation.turns[-1].at_ms)
        answered += [
            (question.category, [covered_at_k(ranked, sources, wanted, k) for k in CUTS])
            for (question, wanted), ranked in zip(questions, found, strict=True)
        ]
    figures: Groups = {}
    for name in ("all", *sorted({category for category, _ in answered})):
        shares = [values for category, values in answered if name in ("all", category)]
        recall = {f"recall@{k}": percent(column) for k, column in zip(CUTS, zip(*shares, strict=True), strict=True)}
        figures[name] = {"n": len(shares), **recall}
    return figures


def as_notes(conversation: Conversation) -> tuple[list[Note], dict[str, tuple[str, ...]]]:
    """Its observations as notes at the start of their sessions, and the turns that each note comes from."""
    starts: dict[int, int] = {}
    for turn in conversation.turns:
        starts.setdefault(turn.session, turn.at_ms)
    notes = []
    sources = {}
    for number, observation in enumerate(conversation.observations):
        note = Note(id=f"o{number}", text=observation.text, at_ms=starts[observation.session])
        notes.append(note)
        sources[note.id] = observation.dia_ids
    return notes, sources


def grouped(pairs: Sequence[tuple[Item, Answer]], key: Callable[[Item], str]) -> dict[str, list[tuple[Item, Answer]]]:
    """All pairs under "all", then those of each key, keys in order."""
    groups = {"all": list(pairs)}
    for name in sorted({key(item) for item, _ in pairs}):
        groups[name] = [pair for pair in pairs if key(pair[0]) == name]
    return groups


def percent(values: Iterable[float]) -> float:
    """The mean in percent. ValueError when there are none."""
    return round(100 * mean(list(values)), 2)
