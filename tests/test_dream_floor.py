"""A dream over the development half of LoCoMo costs recall nothing, loses nothing, and ends.

What `measure` checks on the way: every message is there word for word, a second dream changes nothing, two copies of a
file with the same clock give the same export.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benches.dream import COLUMNS, figures, grown, measure
from benches.locomo_data import Dataset, load

DATA = Path(os.environ.get("LOCOMO") or Path(__file__).resolve().parents[1] / "../shared/data/locomo_dev.json")
CONVERSATIONS = {"appended": 5, "agent loop": 1}


@pytest.mark.skipif(not DATA.is_file(), reason=f"{DATA} is not there; set LOCOMO to its path")
@pytest.mark.parametrize("way", list(CONVERSATIONS))
def test_recall_after_a_dream_is_no_worse(way: str) -> None:
    whole = load(DATA)
    dataset = Dataset(whole.conversations[: CONVERSATIONS[way]], whole.sha256)
    ranked, sizes = measure(dataset, None, way)
    found = figures(ranked, dataset)
    print({name: {group: found[name][group]["recall@20"] for group in found[name]} for name in found})
    assert all(one.fused and one.edges for one in sizes)
    assert found["without"] == found["before"] or way == "agent loop"  # there, association was at work before, too
    assert found["after"]["all"]["recall@10"] >= found["before"]["all"]["recall@10"]
    assert found["after"]["multi-hop"]["recall@20"] >= found["without"]["multi-hop"]["recall@20"]
    one_question = 100 / found["after"]["all"]["questions"]
    for column in COLUMNS:
        assert found["after"]["all"][column] >= found["before"]["all"][column] - one_question, column


def test_a_dream_costs_what_is_new() -> None:
    """Linear in the messages, nearly nothing where nothing is new."""
    small, large = (grown(count) for count in (500, 4_000))
    print(small, large)
    assert large["first"] < 3 * 8 * max(small["first"], 0.2)
    assert large["changed then"] == 0
    assert large["unchanged"] < 0.1 * large["first"]
    assert large["1 % more"] < 0.25 * large["first"]
