"""The packs are what they say: fair halves, paraphrases that share no word, pairs one value apart."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Iterable

import pytest
import Stemmer

from benches.packs import SPLITS, LookAlike, Note, Packs, Question, Subject, load

FUNCTION_WORDS = frozenset(
    "a about after all also an and any anybody anything are as at be because been before being between but by can "
    "could did do does done due each every for from had has have having he her here him his how i if in into is it its "
    "just may me might more most must my no nor not of off on one ones only onto or other our out over own same shall "
    "she should so some somebody something such t s than that the their them then there these they this those to too "
    "up us very was we were what when where which while who whom whose why will with without would you your".split()
)
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def packs() -> Packs:
    return load()


def every_note(packs: Packs) -> list[Note]:
    alike = [note for item in packs.lookalikes for note in item.notes]
    changing = [note for subject in every_subject(packs) for note in subject.notes]
    return [*packs.notes, *packs.multilingual, *alike, *changing]


def every_subject(packs: Packs) -> list[Subject]:
    return [*packs.subjects, *packs.more_subjects]


def every_question(packs: Packs) -> list[Question]:
    return [*packs.questions, *packs.multilingual_questions]


def digest(id: str) -> bytes:
    return hashlib.sha256(f"split-1:{id}".encode()).digest()


def stems(texts: Iterable[str]) -> set[str]:
    stemmer = Stemmer.Stemmer("english")
    words = (word for text in texts for word in re.findall(r"[a-z0-9]+", text.casefold()))
    return {stemmer.stemWord(word) for word in words if word not in FUNCTION_WORDS}


def pieces(text: str) -> list[str]:
    """Words and numbers; single Han characters; punctuation left out."""
    return re.findall(r"[a-z0-9$°]+(?:[.,:-][a-z0-9]+)*|[一-鿿]", text.casefold())


def test_there_are_enough_of_each(packs: Packs) -> None:
    assert len(packs.notes) >= 300
    assert len({note.project for note in packs.notes}) >= 6
    assert len(packs.questions) >= 160
    assert len(packs.lookalikes) >= 70
    assert sum(item.language == "zh" for item in packs.lookalikes) >= 20
    assert len(packs.subjects) >= 50
    assert sum(len(subject.past) for subject in packs.subjects) >= 25
    assert len(packs.more_subjects) >= 90
    assert sum(subject.language == "zh" for subject in packs.more_subjects) >= 30
    assert sum(len(subject.past) for subject in packs.more_subjects) >= 40
    assert len(packs.multilingual) >= 250
    assert len(packs.multilingual_questions) >= 110


def test_ids_and_texts_occur_once(packs: Packs) -> None:
    notes = every_note(packs)
    asked = [question.id for question in every_question(packs)]
    asked += [item.id for item in packs.lookalikes] + [subject.id for subject in every_subject(packs)]
    for values in ([note.id for note in notes], [note.text for note in notes], asked):
        assert [value for value, count in Counter(values).items() if count > 1] == []


def test_answers_are_notes_of_the_right_project(packs: Packs) -> None:
    for questions, notes in (
        (packs.questions, packs.notes),
        (packs.multilingual_questions, packs.multilingual),
    ):
        by_id = {note.id: note for note in notes}
        for question in questions:
            assert question.answers, question
            assert len(set(question.answers)) == len(question.answers), question
            for answer in question.answers:
                assert question.project in (None, by_id[answer].project), question


def test_times_spread_over_months_and_end_before_the_questions(packs: Packs) -> None:
    times = [note.at_ms for note in packs.notes]
    assert max(times) - min(times) > 270 * DAY_MS
    assert max(note.at_ms for note in every_note(packs)) < packs.asked_at_ms


def test_halves_follow_the_digest_of_the_id(packs: Packs) -> None:
    items: list[LookAlike | Subject] = [*packs.lookalikes, *packs.subjects]
    for item in items:
        assert item.split == SPLITS[digest(item.id)[0] % 2], item.id
    for questions in (packs.questions, packs.multilingual_questions):
        for type in {question.type for question in questions}:
            chosen = sorted((q for q in questions if q.type == type), key=lambda question: digest(question.id))
            assert [q.split for q in chosen] == [SPLITS[place % 2] for place in range(len(chosen))], type


def test_what_is_only_to_tune_on_is_not_held(packs: Packs) -> None:
    assert {subject.split for subject in packs.more_subjects} == {"dev"}


def test_neither_half_is_much_larger(packs: Packs) -> None:
    for items in (packs.questions, packs.lookalikes, packs.subjects, packs.multilingual_questions):
        dev = sum(item.split == "dev" for item in items)
        assert 0.45 < dev / len(items) < 0.55


def test_types_are_balanced(packs: Packs) -> None:
    counts = Counter(question.type for question in packs.questions)
    assert set(counts) == {"code", "typo", "chinese", "temporal", "paraphrase", "several", "across"}
    assert 0.2 < counts["paraphrase"] / len(packs.questions) < 0.3
    assert min(counts.values()) >= 15
    for question in packs.questions:
        assert (question.project is None) == (question.type == "across"), question
        assert (len(question.answers) > 1) == (question.type in ("several", "across")), question


def test_a_paraphrase_shares_no_stem_with_its_note(packs: Packs) -> None:
    by_id = {note.id: note for note in packs.notes}
    for question in packs.questions:
        if question.type == "paraphrase":
            notes = [by_id[answer] for answer in question.answers]
            seen = stems(text for note in notes for text in (note.text, note.kind, *note.tags))
            assert stems([question.text]) & seen == set(), question


def test_look_alikes_differ_in_one_value(packs: Packs) -> None:
    """One run of at most three pieces; who did what to whom has the same words in another order."""
    for item in packs.lookalikes:
        assert item.asked in {note.id for note in item.notes}, item.id
        first, *others = [pieces(note.text) for note in item.notes]
        for other in others:
            assert first != other, item.id
            if item.differs == "roles":
                assert sorted(first) == sorted(other), item.id
                continue
            changes = [
                change
                for change in difflib.SequenceMatcher(None, first, other, autojunk=False).get_opcodes()
                if change[0] != "equal"
            ]
            assert len(changes) == 1, (item.id, changes)
            _, start, end, other_start, other_end = changes[0]
            assert max(end - start, other_end - other_start) <= 3, (item.id, changes)


def test_the_asked_look_alike_is_as_often_the_older_as_the_newer(packs: Packs) -> None:
    """A ranker that always prefers the newer note gains nothing."""
    newest = sum(item.asked == max(item.notes, key=lambda note: note.at_ms).id for item in packs.lookalikes)
    assert 0.4 < newest / len(packs.lookalikes) < 0.6


def test_subjects_go_from_old_to_new_and_the_past_is_not_the_present(packs: Packs) -> None:
    for subject in every_subject(packs):
        times = [note.at_ms for note in subject.notes]
        assert 2 <= len(times) <= 4, subject.id
        assert times == sorted(set(times)), subject.id
        older = {note.id for note in subject.notes[:-1]}
        assert all(answer in older for _, answer in subject.past), subject.id


def test_turns_have_speakers_and_notes_have_none(packs: Packs) -> None:
    turns = [note for note in packs.multilingual if note.session is not None]
    assert len(turns) >= 40
    assert all((note.speaker is None) == (note.session is None) for note in packs.multilingual)
