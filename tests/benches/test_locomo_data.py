"""LoCoMo loading: order, times, captions, and the cleaning of evidence."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from benches.locomo_data import CATEGORIES, clean_evidence, load, parse_when

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "locomo_dev.json"


def sample() -> dict[str, Any]:
    """One conversation of two sessions, stored out of order, with every oddity of the real file."""
    note = {"session": 2, "speaker": "Ann", "text": "Ann has a kite.", "dia_ids": ["D2:1", "D7:7"]}
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_10_date_time": "12:05 am on 1 January, 2024",
            "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "Happy new year!"}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "Look", "blip_caption": "a red kite"},
                {"speaker": "Bo", "dia_id": "D2:2", "text": "Lovely.", "blip_caption": None},
            ],
            "session_11_date_time": "1:00 pm on 2 January, 2024",
        },
        "qa": [
            {"question": "Kite?", "answer": "red", "evidence": ["D2:01; D10:1"], "category": 4},
            {
                "question": "When?",
                "answer": 2024,
                "evidence": ["D:10:1", "D10:1", "D9:9"],
                "evidence_corrected": ["D2:2"],
                "category": 2,
            },
            {"question": "Why?", "answer": "?", "evidence": ["D", "D99:1"], "category": 3},
        ],
        "observations": [note],
    }


def write(folder: Path, *samples: dict[str, Any]) -> Path:
    path = folder / "locomo.json"
    path.write_text(json.dumps(samples), encoding="utf-8")
    return path


def test_turns_come_in_the_order_of_sessions_by_number(tmp_path: Path) -> None:
    (conversation,) = load(write(tmp_path, sample())).conversations
    assert [turn.dia_id for turn in conversation.turns] == ["D2:1", "D2:2", "D10:1"]
    assert [turn.session for turn in conversation.turns] == [2, 2, 10]
    assert conversation.speakers == ("Ann", "Bo")
    assert conversation.session_count == 2, "a date without turns is no session"


def test_a_caption_follows_the_text_and_only_where_there_is_one(tmp_path: Path) -> None:
    (conversation,) = load(write(tmp_path, sample())).conversations
    texts = [turn.text for turn in conversation.turns]
    assert texts == ["Look [shares a red kite]", "Lovely.", "Happy new year!"]


def test_a_turn_is_one_second_after_the_one_before(tmp_path: Path) -> None:
    (conversation,) = load(write(tmp_path, sample())).conversations
    first, second, later = (turn.at_ms for turn in conversation.turns)
    assert first == 1_683_554_160_000
    assert second == first + 1000
    assert later == parse_when("12:05 am on 1 January, 2024") == 1_704_067_500_000


def test_questions_carry_cleaned_evidence_and_the_audit(tmp_path: Path) -> None:
    (conversation,) = load(write(tmp_path, sample())).conversations
    kite, when = conversation.questions
    assert (kite.category, kite.evidence, kite.corrected) == ("single-hop", ("D2:1", "D10:1"), None)
    assert (when.category, when.evidence, when.corrected) == ("temporal", ("D10:1",), ("D2:2",))
    assert kite.audited == kite.evidence
    assert when.audited == ("D2:2",)
    assert conversation.without_evidence == 1


def test_observations_keep_only_known_turns(tmp_path: Path) -> None:
    (conversation,) = load(write(tmp_path, sample())).conversations
    (note,) = conversation.observations
    assert (note.session, note.speaker, note.text) == (2, "Ann", "Ann has a kite.")
    assert note.dia_ids == ("D2:1",)


def test_a_sample_may_come_without_observations(tmp_path: Path) -> None:
    bare = sample()
    del bare["observations"]
    (conversation,) = load(write(tmp_path, bare)).conversations
    assert conversation.observations == ()


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, sample())
    assert load(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D9:1 D4:4 D4:6"], ("D9:1", "D4:4", "D4:6")),
        (["D:11:26"], ("D11:26",)),
        (["D30:05"], ("D30:5",)),
        (["D"], ()),
        (["D10:19"], ()),
        (["D8:6", "D8:6"], ("D8:6",)),
        ([], ()),
    ],
)
def test_evidence_is_cleaned(raw: list[str], cleaned: tuple[str, ...]) -> None:
    known = {"D8:6", "D9:17", "D9:1", "D4:4", "D4:6", "D11:26", "D30:5"}
    assert clean_evidence(raw, known) == cleaned


def test_a_turn_id_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    doubled = sample()
    doubled["conversation"]["session_10"][0]["dia_id"] = "D2:1"
    with pytest.raises(ValueError, match="conv-1: a turn id occurs twice"):
        load(write(tmp_path, doubled))


def test_an_unknown_category_is_refused(tmp_path: Path) -> None:
    strange = sample()
    strange["qa"][0]["category"] = 6
    with pytest.raises(ValueError, match="unknown question category 6"):
        load(write(tmp_path, strange))


def test_a_date_in_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="2023-05-08"):
        parse_when("2023-05-08 13:56")


@pytest.mark.skipif(not SHARED.exists(), reason=f"no {SHARED}: the data is never shipped")
def test_the_development_half_is_what_the_figures_were_measured_on() -> None:
    data = load(SHARED)
    conversations = data.conversations
    assert [c.sample_id for c in conversations] == [f"conv-{n}" for n in (26, 30, 41, 42, 43)]
    assert [len(c.turns) for c in conversations] == [419, 369, 663, 629, 680]
    assert [len(c.questions) for c in conversations] == [197, 105, 193, 260, 242]
    assert sum(c.without_evidence for c in conversations) == 2
    asked = [question.category for c in conversations for question in c.questions]
    counts = {name: asked.count(name) for name in CATEGORIES.values()}
    assert counts == {
        "multi-hop": 142,
        "temporal": 156,
        "open-domain": 44,
        "single-hop": 418,
        "adversarial": 237,
    }
    for conversation in conversations:
        times = [turn.at_ms for turn in conversation.turns]
        assert times == sorted(times), f"{conversation.sample_id}: order and time disagree"
