"""Recall on the development half of LoCoMo does not fall below where it was, and its scenes do not swallow each other.

Floors are about a point under what was measured. Recall is of turns, not of answers.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from pathlib import Path

import pytest

from benches.locomo import figures_of, measure_memhop
from benches.locomo_data import Conversation, Dataset, load
from memhop import DB, LocalEmbedder
from memhop.search import channels

DATA = Path(os.environ.get("LOCOMO") or Path(__file__).resolve().parents[1] / "../shared/data/locomo_dev.json")
LARGEST_SHARE = 0.35

pytestmark = pytest.mark.skipif(not DATA.is_file(), reason=f"{DATA} is not there; set LOCOMO to its path")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load(DATA)


def _check(dataset: Dataset, embedder: LocalEmbedder | None, floors: dict[str, float]) -> None:
    figures = figures_of(measure_memhop(dataset, embedder), dataset)["original"]
    print({name: figures[name] for name in floors})
    for name, floor in floors.items():
        assert figures[name] >= floor, f"{name} fell to {figures[name]}"


def test_words_alone(dataset: Dataset) -> None:
    _check(dataset, None, {"recall@5": 75, "recall@10": 82.5, "recall@20": 86.8})


def test_a_memory_that_is_read_in_part_finds_as_much(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds that make a recall over a million units cheap, as much smaller as a conversation is smaller than that.

    With them every second term of a question stands in too many turns to be read, and a hundred candidates are left.
    """
    whole = figures_of(measure_memhop(dataset, None), dataset)["original"]
    monkeypatch.setattr(channels, "COMMON", 30)
    monkeypatch.setattr(channels, "CANDIDATES", 100)
    part = figures_of(measure_memhop(dataset, None), dataset)["original"]
    for name in ("recall@5", "recall@10", "recall@20"):
        print(name, whole[name], part[name])
        assert part[name] >= whole[name] - 1.0
    assert part != whole  # or the bounds were not met, and nothing was tested


@pytest.mark.skipif(importlib.util.find_spec("wordllama") is None, reason="wordllama is not installed")
def test_with_the_local_embedder(dataset: Dataset) -> None:
    _check(dataset, LocalEmbedder(), {"recall@5": 75.8, "recall@10": 83.6, "recall@20": 88.2})


def _largest_share(conversation: Conversation, path: Path) -> float:
    """Go through the agent loop: the first speaker asks, the other one replies. Share of the largest scene's turns."""
    sizes: Counter[str] = Counter()
    with DB.open(path, durability="none") as db:
        topic = scene = None
        session = None
        for turn in conversation.turns:
            if turn.speaker == conversation.speakers[0] or topic is None or turn.session != session:
                found = db.search(
                    turn.text, turn.at_ms, session=f"session {turn.session}", speaker=turn.speaker, token_budget=0
                )
                topic, scene, session = found.new_topic_id, found.scene_id, turn.session
            else:
                db.update(topic, turn.text, turn.at_ms, speaker=turn.speaker)
            sizes[str(scene)] += 1
    assert sum(sizes.values()) == len(conversation.turns)
    return max(sizes.values()) / sum(sizes.values())


def test_no_scene_swallows_a_conversation(dataset: Dataset, tmp_path: Path) -> None:
    shares = {
        conversation.sample_id: _largest_share(conversation, tmp_path / f"{conversation.sample_id}.meh")
        for conversation in dataset.conversations
    }
    print({name: round(share, 3) for name, share in shares.items()})
    assert max(shares.values()) < LARGEST_SHARE, shares
