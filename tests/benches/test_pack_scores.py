"""What the packs measure, on rankings written down by hand, and the peers that are measured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benches import pack_scores
from benches.baselines import Bm25sJieba, Bm25sTuned, Fts5, Fts5Trigram
from benches.finders import Ask, Engine, Finder, Peer
from benches.locomo_data import Conversation, Dataset, Observation, Turn
from benches.locomo_data import Question as LocomoQuestion
from benches.metrics import KTooLarge, covered_at_k, is_before
from benches.packs import LookAlike, Note, Packs, Question, Subject

NOW = 1_780_000_000_000


def note(id: str, text: str, project: str = "default", at_ms: int = NOW - 1000) -> Note:
    return Note(id=id, text=text, at_ms=at_ms, project=project)


class Written:
    """Rankings by question text."""

    name = "written"

    def __init__(self, rankings: dict[str, list[str]]) -> None:
        self._rankings = rankings

    def find(self, notes: Sequence[Note], asks: Sequence[Ask], at_ms: int) -> list[list[str]]:
        return [self._rankings[ask.text] for ask in asks]


def packs(
    notes: tuple[Note, ...] = (),
    questions: tuple[Question, ...] = (),
    lookalikes: tuple[LookAlike, ...] = (),
    subjects: tuple[Subject, ...] = (),
) -> Packs:
    return Packs(notes, questions, lookalikes, subjects, subjects, notes, questions, NOW, "")


def test_is_before_wants_it_found_and_ahead_of_every_other() -> None:
    assert is_before(["x", "a", "b"], "a", {"b"})
    assert is_before(["a"], "a", {"b"})
    assert not is_before(["x", "b", "a"], "a", {"b"})
    assert not is_before(["x"], "a", {"b"})
    assert not is_before([], "a", {"b"})
    with pytest.raises(ValueError, match="before itself"):
        is_before(["a"], "a", {"a"})


def test_coverage_counts_the_turns_behind_what_was_found() -> None:
    sources = {"o1": ("D1:1", "D1:2"), "o2": ("D1:2",), "o3": ("D2:1",)}
    assert [covered_at_k(["o2", "o9", "o3"], sources, ["D1:2", "D2:1"], k) for k in (1, 2, 3)] == [0.5, 0.5, 1]
    assert covered_at_k(["o1"], sources, ["D1:2"], 1) == 1
    assert covered_at_k(["D1:2"], sources, ["D1:2"], 1) == 0, "a turn is not an observation"
    with pytest.raises(ValueError, match="without evidence"):
        covered_at_k(["o1"], sources, [], 5)


def test_recall_is_by_split_and_type() -> None:
    notes = tuple(note(f"n{number}", f"text {number}") for number in range(40))
    questions = (
        Question("q1", "code", "dev", "one", ("n1", "n2")),
        Question("q2", "typo", "dev", "two", ("n3",)),
        Question("q3", "typo", "held", "three", ("n3",)),
    )
    finder = Written({"one": ["n1", "n9"], "two": ["n9", "n3"], "three": []})
    figures = pack_scores.notes(finder, packs(notes, questions), ("dev", "held"))
    assert figures["dev"]["all"] == {"n": 2, "recall@1": 25, "recall@5": 75, "recall@10": 75}
    assert figures["dev"]["code"] == {"n": 1, "recall@1": 50, "recall@5": 50, "recall@10": 50}
    assert figures["held"] == {name: {"n": 1, "recall@1": 0, "recall@5": 0, "recall@10": 0} for name in ("all", "typo")}


def test_a_project_too_small_for_recall_at_10_is_refused() -> None:
    notes = tuple(note(f"n{number}", "text", project="big" if number else "small") for number in range(60))
    questions = (Question("q1", "code", "dev", "one", ("n0",), project="small"),)
    with pytest.raises(KTooLarge):
        pack_scores.notes(Written({"one": []}), packs(notes, questions), ("dev",))


def test_a_look_alike_passes_when_it_is_found_first() -> None:
    def item(id: str, language: str) -> LookAlike:
        return LookAlike(id, "dev", "number", language, (note(id + "a", "1"), note(id + "b", "2")), id, id + "a")

    finder = Written({"p": ["zz", "pa", "pb"], "q": ["qb", "qa"], "r": ["zz"]})
    figures = pack_scores.lookalikes(
        finder, packs(lookalikes=(item("p", "en"), item("q", "en"), item("r", "zh"))), ["dev"]
    )
    assert figures["dev"]["en"] == {"n": 2, "first": 50, "recall@10": 100}
    assert figures["dev"]["zh"] == {"n": 1, "first": 0, "recall@10": 0}
    assert figures["dev"]["number"] == figures["dev"]["all"] == {"n": 3, "first": 33.33, "recall@10": 66.67}


def test_the_present_wants_the_newest_first_and_keeps_the_older() -> None:
    notes = (note("old", "1"), note("mid", "2"), note("new", "3"))
    subject = Subject("s", "dev", "owner", "en", notes, "now?", (("then?", "mid"), ("once?", "old")))
    other = Subject("t", "dev", "owner", "zh", notes, "now!", ())
    finder = Written(
        {
            "now?": ["zz", "new", "old", "mid"],
            "then?": ["mid", "old"],
            "once?": ["mid", "old"],
            "now!": ["new", "old"],
        }
    )
    figures = pack_scores.present(finder, packs(subjects=(subject, other)), ["dev"])
    assert figures["dev"]["en"] == {"n": 1, "before": 100, "first": 0, "older@10": 100, "n past": 2, "past": 50}
    assert figures["dev"]["zh"] == {"n": 1, "before": 100, "first": 100, "older@10": 0, "n past": 0}
    assert figures["dev"]["all"]["older@10"] == 50


def test_observations_count_the_turns_they_come_from() -> None:
    turns = tuple(Turn(f"D1:{number}", 1, "Ann", "said", NOW + number) for number in range(1, 41))
    made = tuple(Observation(1, "Ann", f"fact {number}", (f"D1:{number}",)) for number in range(1, 36))
    questions = (
        LocomoQuestion("both", "temporal", ("D1:1", "D1:2", "D1:40"), None),
        LocomoQuestion("neither", "temporal", ("D1:40",), None),
    )
    conversation = Conversation("c", ("Ann", "Bo"), turns, questions, made, 0)
    finder = Written({"both": ["o0", "o7"]})
    figures = pack_scores.observations(finder, Dataset((conversation,), ""))
    assert figures["temporal"] == figures["all"] == {"n": 1, "recall@1": 50, "recall@5": 50, "recall@10": 50}


@pytest.mark.parametrize(
    "finder", [Engine(), *map(Peer, (Fts5(), Fts5("unicode61"), Fts5Trigram(), Bm25sTuned(), Bm25sJieba()))]
)
def test_every_finder_answers_in_order_and_within_the_project(finder: Finder) -> None:
    notes = [
        note("a", "the heron sleeps on one leg", "birds"),
        note("b", "the heron statue was sold", "art"),
        Note("c", "herons eat frogs", NOW - 500, session="talk", speaker="Ann"),
        note("d", "nothing of the kind", "birds"),
    ]
    asks = [Ask("heron", "art"), Ask("heron", "birds"), Ask("frogs")]
    assert finder.find(notes, asks, NOW) == [["b"], ["a"], ["c"]]


def test_tuned_bm25_stems_and_drops_function_words() -> None:
    notes = [note("a", "the of and was sold"), note("b", "statues")]
    assert Peer(Bm25sTuned()).find(notes, [Ask("the statue of the and")], NOW) == [["b"]]


def test_jieba_words_find_chinese_and_trigrams_need_three_characters() -> None:
    notes = [note("a", "备用钥匙放在楼下"), note("b", "周末去钓鱼")]
    asks = [Ask("钥匙在哪"), Ask("备用钥匙")]
    assert Peer(Bm25sJieba()).find(notes, asks, NOW) == [["a"], ["a"]]
    assert Peer(Fts5Trigram()).find(notes, [Ask("钥匙"), Ask("备用钥匙")], NOW) == [[], ["a"]]
